"""
One follower of the log for every listener of this process.

The follower hands each event to the seats of the listeners that may hear of it. A seat has a short queue: a reader that does not
keep up is warned, and then disconnected, since one slow reader must cost neither the others nor the memory of the process. What
it missed is in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeAlias

from commonplace.errors import StoreClosed, StoreError, TooManyListeners
from commonplace.events.frames import event_frame, note_frame
from commonplace.ports.events import EventLog
from commonplace.values.event import Event, News

MOST_LISTENERS: Final = 1_200
QUEUE: Final = 256
SHORTEST_QUEUE: Final = 16
LONGEST_QUEUE: Final = 2_048
_WARN_AT: Final = 0.75
_CALM_BELOW: Final = 0.375
_SLICE: Final = 64
_PAUSE: Final = 1.0
_STUCK: Final = 30.0
_LAST_WORDS: Final = 1.0

Hears: TypeAlias = Callable[[News], bool]

log = logging.getLogger(__name__)


class Hub:
    """`run` it in a task, `close` it before the requests that listen are waited for."""

    def __init__(self, events: EventLog, *, most: int = MOST_LISTENERS) -> None:
        self._events = events
        self._most = most
        self._joined: dict[str, set[Seat]] = {}
        self._watching: list[Callable[[Event], None]] = []
        self._seats: set[Seat] = set()
        self._opened = False
        self.position = 0
        self.closed = False

    @property
    def listeners(self) -> int:
        return len(self._seats)

    async def open(self) -> None:
        """Find the end of the log: later events go to the listeners. The first caller finds it for all."""
        if self._opened:
            return
        _, latest = await self._events.event_range()
        if not self._opened:
            self._opened, self.position = True, latest

    async def run(self) -> None:
        """Follow the log until the store is closed or this is cancelled."""
        while True:
            try:
                await self.open()
                async for events in self._events.follow_events(self.position):
                    self._tell(events)
                return
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("the log of events cannot be followed: %s", error.code)
                await asyncio.sleep(_PAUSE)

    def close(self) -> None:
        """Disconnect every listener now, and accept no more. The hub may still run, for those who `watch`."""
        self.closed = True
        for seat in list(self._seats):
            seat.end(within=_LAST_WORDS)

    def watch(self, heard: Callable[[Event], None]) -> None:
        """Call `heard` with every event of every tenant. For this process itself; it must be quick."""
        self._watching.append(heard)

    @contextmanager
    def watched(self, heard: Callable[[Event], None]) -> Generator[None]:
        """As `watch`, for a while."""
        self.watch(heard)
        try:
            yield
        finally:
            self._watching.remove(heard)

    def doubt(self, tenant: str) -> None:
        """Whether its listeners may still hear is to be looked at before they hear more."""
        for seat in self._seats:
            if seat.tenant == tenant:
                seat.doubt()

    def seat(self, tenant: str, hears: Hears, size: int = QUEUE) -> Seat:
        """
        A place for one listener, to be entered with `with`.

        Raises:
            TooManyListeners: all seats are taken.
        """
        if len(self._seats) >= self._most:
            raise TooManyListeners(retry_after=5)
        return Seat(self, tenant, hears, size)

    # ---- for seats

    def admit(self, seat: Seat) -> None:
        self._seats.add(seat)
        if self.closed:
            seat.end()

    def join(self, seat: Seat) -> None:
        self._joined.setdefault(seat.tenant, set()).add(seat)

    def leave(self, seat: Seat) -> None:
        self._seats.discard(seat)
        self._part(seat)

    def _part(self, seat: Seat) -> None:
        joined = self._joined.get(seat.tenant, set())
        joined.discard(seat)
        if not joined:
            self._joined.pop(seat.tenant, None)

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            self.position = event.id
            for heard in self._watching:
                heard(event)
            frame: bytes | None = None
            for seat in tuple(self._joined.get(event.news.tenant, ())):
                if event.id <= seat.after or not seat.hears(event.news):
                    continue
                # Made once for all who hear it, and only if somebody does.
                frame = frame or event_frame(event)
                seat.offer(event.id, frame)
                if seat.ended:
                    self._part(seat)


class Seat:
    """
    One listener's place. `join` it once the listener has the events up to some id: `frames` then gets every later event the
    listener may hear of, in order, each once.
    """

    __slots__ = (
        "_awake",
        "_hub",
        "_limit",
        "_queue",
        "_size",
        "_warned",
        "_warning",
        "after",
        "doubted",
        "ended",
        "hears",
        "tenant",
    )

    def __init__(self, hub: Hub, tenant: str, hears: Hears, size: int) -> None:
        self._hub = hub
        self._size = size
        self._queue: deque[bytes] = deque()
        self._awake = asyncio.Event()
        self._limit: asyncio.Timeout | None = None
        self._warned = False
        self._warning: bytes | None = None
        self.tenant = tenant
        self.hears = hears
        self.after = 0
        self.doubted = False
        self.ended = False

    def __enter__(self) -> Self:
        self._hub.admit(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hub.leave(self)

    def join(self, after: int) -> bool:
        """
        Hear every event after this one from now on. False: the follower has gone past it already, so that some would be
        missed; read on in the log, then try again.
        """
        if after < self._hub.position:
            return False
        self.after = after
        self._hub.join(self)
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
                "slow_client_warning", queued=len(self._queue), maxQueued=self._size, lastEventId=id
            )
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
        async with asyncio.timeout(_LAST_WORDS if self._hub.closed else _STUCK) as self._limit:
            yield
        self._limit = None
