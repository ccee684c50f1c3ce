"""
The log: a line a request and a line for whatever an operator should know, as JSON, or plain where a person looks on.

A line never holds a query, a body, a key or the message of an error that we did not write ourselves; an unexpected one is
told by its type and by where it happened.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from commonplace.text.scrub import scrub
from commonplace.values.moment import to_iso

LogFormat = Literal["auto", "json", "plain"]

LOGGER: Final = logging.getLogger("commonplace")
_FRAMES: Final = 12


def log(level: int, event: str, error: BaseException | None = None, **fields: object) -> None:
    LOGGER.log(level, event, exc_info=error, extra={"told": fields})


def configure_logs(form: LogFormat = "auto", stream: TextIO | None = None) -> None:
    """Every logger of this process writes to `stream`, else to stderr, a line at a time."""
    target = stream or sys.stderr
    plain = form == "plain" or (form == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(Plain() if plain else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOGGER.setLevel(logging.INFO)


def _told(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says, in order."""
    at = to_iso(datetime.fromtimestamp(record.created, UTC))
    fields: dict[str, Any] = {"time": at, "level": record.levelname.lower()}
    if record.name == LOGGER.name:
        fields["event"] = record.getMessage()
        fields |= {name: value for name, value in getattr(record, "told", {}).items() if value is not None}
    else:
        # Of a library: its words, in case it quotes what it was given.
        fields |= {"event": record.name, "message": scrub(record.getMessage()).text}
    if record.exc_info and record.exc_info[1] is not None:
        fields["raised"] = type(record.exc_info[1]).__name__
        fields["at"] = _places(record.exc_info[1])
    return fields


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_told(record), ensure_ascii=False, default=str)


class Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _told(record)
        time, level, event = fields.pop("time")[11:19], fields.pop("level"), fields.pop("event")
        places = fields.pop("at", [])
        rest = " ".join(f"{name}={value}" for name, value in fields.items())
        return "\n  ".join([f"{time} {level:<7} {event} {rest}".rstrip(), *places])
