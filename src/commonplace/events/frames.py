"""
Server-sent frames: what a listener reads.

An event has its id, so that a client that reconnects can name the last one it had. A frame about the stream itself (a replay
that ended, a reader that is too slow) has none: no client resumes after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from commonplace.values.event import Event
from commonplace.values.moment import to_iso
from commonplace.values.record import Json

VERSION: Final = 1
RETRY: Final = b"retry: 3000\n\n"
HEARTBEAT: Final = b": heartbeat\n\n"


def document(event: Event) -> dict[str, Json]:
    """An event as the doors show it."""
    news = event.news
    return {
        "id": event.id,
        "v": VERSION,
        "type": news.type,
        "at": to_iso(news.at),
        "scope": None if news.scope is None else str(news.scope),
        "actor": news.actor,
        "client": news.client,
        "data": dict(news.data),
    }


def event_frame(event: Event) -> bytes:
    return frame(event.news.type, document(event), id=event.id)


def mention_frame(event: Event) -> bytes:
    """
    An event of the log in the stream of a session: without an id, since that stream counts its own. `log_id` is its place in the log.
    """
    shape = document(event)
    return frame(event.news.type, {**{key: value for key, value in shape.items() if key != "id"}, "log_id": event.id})


def note_frame(type: str, **data: Json) -> bytes:  # noqa: A002 - as events call it
    """What the stream says about itself, without an id."""
    return frame(type, {"v": VERSION, "type": type, "data": data})


def frame(type: str, document: Mapping[str, Json], *, id: int | None = None) -> bytes:  # noqa: A002 - as events call it
    # JSON in ASCII is one line, whatever it holds.
    text = f"event: {type}\ndata: {json.dumps(document, separators=(',', ':'))}\n\n"
    return (text if id is None else f"id: {id}\n{text}").encode("ascii")
