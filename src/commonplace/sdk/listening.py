"""
The stream of events, without a connection: which request begins it, what its bytes say, and when to come back.

A connection that drops is taken up again where it ended, by the id of the last event heard.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx
from pydantic import ValidationError

from commonplace.sdk.documents import named_scopes, query, texts
from commonplace.sdk.talk import LONGEST_WAIT, Reply, problem, unreachable, wait_named
from commonplace.values.event import Heard
from commonplace.values.scope import Scopes
from commonplace.wire.events import EventAnswer
from commonplace.wire.records import scope_value

SILENCE: Final = 60.0
"""After so many seconds without a heartbeat nobody is there any more."""

_PATIENCE: Final = 10
_PASSING: Final = frozenset({429, 502, 503, 504})


@dataclass(slots=True)
class Frames:
    """Server-sent events out of bytes: each the value of its `data`. Comments and what has no data say nothing."""

    retry: float | None = None
    _decode: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))
    _rest: str = ""
    _data: list[str] = field(default_factory=list[str])

    def feed(self, part: bytes) -> Iterator[str]:
        text = self._rest + self._decode.decode(part)
        # A line break may be cut in two.
        held = text.endswith("\r")
        lines = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ("\r" if held else "")
        for line in lines:
            if not line:
                if self._data:
                    yield "\n".join(self._data)
                self._data = []
            else:
                self._line(line)

    def _line(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "retry" and value.isdecimal():
            self.retry = int(value[:9]) / 1000


class Listening:
    """One listener, over as many connections as it takes."""

    path: Final = "/v1/events"

    def __init__(self, types: Sequence[str], scopes: Scopes, after: int | None) -> None:
        self.query = query({"type": texts(types), "scope": named_scopes(scopes)})
        self._after = after
        self._frames = Frames()
        self._failures = 0
        self._wait: float | None = None

    def begin(self) -> dict[str, str]:
        """The headers of the next connection."""
        retry = self._frames.retry
        self._frames = Frames(retry=retry)
        self._wait = None
        told = {"Accept": "text/event-stream"}
        return told if self._after is None else {**told, "Last-Event-ID": str(self._after)}

    def feed(self, part: bytes) -> Iterator[Heard]:
        for data in self._frames.feed(part):
            try:
                told = EventAnswer.model_validate_json(data)
            except ValidationError:
                # Of a later version; the next one may be ours again.
                continue
            self._failures = 0
            if told.id is not None:
                self._after = told.id
            yield _heard(told)

    def refused(self, reply: Reply) -> None:
        """
        The daemon answered with something else than a stream.

        Raises:
            CommonplaceError: it will not change its mind.
        """
        wait = wait_named(reply)
        if reply.status not in _PASSING or (wait or 0) > LONGEST_WAIT:
            raise problem(reply)
        self._wait = wait
        self._failures += 1
        if self._failures >= _PATIENCE:
            raise problem(reply)

    def dropped(self, error: httpx.TransportError) -> None:
        """
        The connection ended in the middle, or none came about.

        Raises:
            DaemonUnavailable: for a while now.
        """
        self._failures += 1
        if self._failures >= _PATIENCE:
            raise unreachable(error)

    def pause(self) -> float:
        """How long to wait before the next connection: at first a moment, then as long as the daemon asks."""
        shortest = 0.1 * 2 ** min(self._failures, 8)
        most = self._frames.retry if self._frames.retry is not None else 3.0
        return max(self._wait or 0.0, min(shortest, most)) * (1 + random.random() / 4)


def _heard(told: EventAnswer) -> Heard:
    return Heard(
        type=told.type,
        id=told.id,
        at=told.at,
        scope=None if told.scope is None else scope_value(told.scope),
        actor=told.actor,
        client=told.client,
        data=told.data,
    )
