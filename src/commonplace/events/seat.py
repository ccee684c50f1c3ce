"""
One listener's place before something that goes on: the log of events, or the ring of a session.

A seat has a short queue. A reader that does not keep up is warned, and then disconnected, since one slow reader must cost
neither the others nor the memory of the process. It is told after which event something is missing, and finds that where the
events are kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

from commonplace.events.frames import note_frame

QUEUE: Final = 256
SHORTEST_QUEUE: Final = 16
LONGEST_QUEUE: Final = 2_048
LAST_WORDS: Final = 1.0
"""Seconds in which a reader takes what is queued for it, once nobody is to listen any more."""

_WARN_AT: Final = 0.75
_CALM_BELOW: Final = 0.375
_SLICE: Final = 64
_STUCK: Final = 30.0

T = TypeVar("T")


class Teller(Protocol[T]):
    """What seats stand before. `position` is the id of the last event that it has told those who joined."""

    @property
    def position(self) -> int: ...

    @property
    def closed(self) -> bool: ...

    def admit(self, seat: Seat[T]) -> None: ...

    def join(self, seat: Seat[T]) -> None: ...

    def leave(self, seat: Seat[T]) -> None: ...


class Seat(Generic[T]):
    """
    `join` it once the listener has the events up to some id: `frames` then gets every later event the listener may hear of, in
    order, each once. `listener` is what its teller has to know of who sits here.
    """

    __slots__ = (
        "_awake",
        "_limit",
        "_queue",
        "_size",
        "_teller",
        "_unmentioned",
        "_warned",
        "_warning",
        "after",
        "doubted",
        "ended",
        "listener",
    )

    def __init__(self, teller: Teller[T], listener: T, size: int = QUEUE) -> None:
        self._teller = teller
        self._size = size
        self._queue: deque[bytes] = deque()
        self._awake = asyncio.Event()
        self._limit: asyncio.Timeout | None = None
        self._warned = False
        self._warning: bytes | None = None
        self._unmentioned = 0
        self.listener = listener
        self.after = 0
        self.doubted = False
        self.ended = False

    def __enter__(self) -> Self:
        self._teller.admit(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._teller.leave(self)

    def join(self, after: int) -> bool:
        """
        Hear every event after this one from now on. False: others were told later ones already, so that some would be
        missed; read on where they are kept, then try again.
        """
        if after < self._teller.position:
            return False
        self.after = after
        self._teller.join(self)
        return True

    async def frames(self, seconds: float) -> list[bytes]:
        """
        What to write, as soon as there is something. Empty: `seconds` have passed, or the seat has `ended` and everything was
        written.
        """
        if not self._awake.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._awake.wait()
        frames = [] if self._warning is None else [self._warning]
        frames += [self._queue.popleft() for _ in range(min(len(self._queue), _SLICE))]
        self._warning = None
        if len(self._queue) < self._size * _CALM_BELOW:
            self._warned = False
            if self._unmentioned:
                frames.append(note_frame("workspace_events_missed", count=self._unmentioned))
                self._unmentioned = 0
        if not self._queue and not self.ended:
            self._awake.clear()
        return frames

    def offer(self, id: int, frame: bytes) -> None:
        """Queue one more event. A full queue ends the seat: its last frame says after which event something is missing."""
        if len(self._queue) >= self._size:
            self._queue.append(note_frame("client_evicted", reason="queue_overflow", droppedAfter=self.after))
            self.end()
            return
        self._queue.append(frame)
        self.after = id
        if not self._warned and len(self._queue) >= self._size * _WARN_AT:
            self._warned = True
            self._warning = note_frame(
                "slow_client_warning",
                queued=len(self._queue),
                queueSize=len(self._queue),
                maxQueued=self._size,
                lastEventId=id,
            )
        self._awake.set()

    def mention(self, frame: bytes) -> None:
        """
        Queue what happens beside the events, without an id. A reader that does not keep up is told only how many were left out: such a frame
        ends no seat, and takes no place that an event needs.
        """
        if self._unmentioned or len(self._queue) >= self._size * _CALM_BELOW:
            self._unmentioned += 1
        else:
            self._queue.append(frame)
        self._awake.set()

    def doubt(self) -> None:
        """Wake the listener's stream: it asks whether the listener is still welcome, and writes nothing before."""
        self.doubted = True
        self._awake.set()

    def end(self, *, within: float | None = None) -> None:
        """Write what is queued, and end: `within` so many seconds, even if the reader takes nothing any more."""
        self.ended = True
        self._awake.set()
        if within is not None and self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + within)

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """
        Enter it while you write to the listener.

        Raises:
            TimeoutError: it has taken nothing for half a minute.
        """
        async with asyncio.timeout(LAST_WORDS if self._teller.closed else _STUCK) as self._limit:
            yield
        self._limit = None
