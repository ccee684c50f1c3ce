"""
The stream of events, without a connection: which request begins it, what its frames say, and when to come back.

A connection that drops is taken up again where it ended, by the id of the last event heard.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final, Generic, TypeVar

import httpx
from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from commonplace.sdk.documents import named_scopes, query, texts
from commonplace.sdk.talk import LONGEST_WAIT, PASSING, HttpReply, problem, unreachable, wait_named
from commonplace.values.event import Heard
from commonplace.values.retry import Backoff
from commonplace.values.scope import Scopes
from commonplace.wire.events import EventAnswer

SILENCE: Final = 60.0
"""After so many seconds without a heartbeat nobody is there any more."""

MAX_FRAME: Final = 16 << 20
"""Bytes. No event of ours is nearly as large."""

_PATIENCE: Final = 10
_RETRY: Final = 3.0
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 25.6


E = TypeVar("E")


class FrameListener(Generic[E]):
    """One listener at `path`, over as many connections as it takes. `after` is the id of the last event it had."""

    def __init__(self, path: str, after: int | None, query: tuple[tuple[str, str], ...] = ()) -> None:
        self.path = path
        self.query = query
        self._after = after
        self._retry = _RETRY
        self._failures = 0
        self._wait: float | None = None

    def rewind(self) -> None:
        """Hear everything there is, from the first event on."""
        self._after = 0

    def begin(self) -> dict[str, str]:
        """The headers of the next connection."""
        self._wait = None
        headers = {"Accept": "text/event-stream"}
        return headers if self._after is None else {**headers, "Last-Event-ID": str(self._after)}

    def opened(self, headers: Mapping[str, str]) -> None:
        """The daemon answers with a stream."""

    def event_of(self, frame: ServerSentEvent) -> E | None:
        """The event that a frame tells; None for one that tells of the stream itself."""
        raise NotImplementedError

    def answer_of(self, frame: ServerSentEvent) -> EventAnswer | None:
        """What a frame says; None for one without an event, or with one of a later version."""
        if frame.retry is not None:
            self._retry = min(max(frame.retry, 0), _LONGEST_PAUSE * 1000) / 1000
        try:
            answer = EventAnswer.model_validate_json(frame.data)
        except ValidationError:
            return None
        self._failures = 0
        if answer.id is not None:
            self._after = answer.id
        return answer

    def refused(self, reply: HttpReply) -> None:
        """
        The daemon answered with something else than a stream.

        Raises:
            CommonplaceError: it will not change its mind.
        """
        wait = wait_named(reply)
        if reply.status not in PASSING or (wait or 0) > LONGEST_WAIT:
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
        backoff = Backoff(first=_FIRST_PAUSE, longest=self._retry)
        return max(self._wait or 0.0, backoff.after(self._failures + 1)) * random.uniform(1.0, 1.25)


class EventListener(FrameListener[Heard]):
    """Of what happens in the memory."""

    def __init__(self, types: Sequence[str], scopes: Scopes, after: int | None) -> None:
        super().__init__("/v1/events", after, query({"type": texts(types), "scope": named_scopes(scopes)}))

    def event_of(self, frame: ServerSentEvent) -> Heard | None:
        answer = self.answer_of(frame)
        return None if answer is None else Heard(**{name: value for name, value in answer if name != "v"})
