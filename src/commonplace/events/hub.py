"""
One follower of the log for every listener of this process.

The follower hands each event to the seats of the listeners that may hear of it. What a reader that was too slow missed is in the
log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from commonplace.errors import StoreClosed, StoreError, TooManyListeners
from commonplace.events.frames import event_frame
from commonplace.events.seat import LAST_WORDS, QUEUE, Seat
from commonplace.ports.events import EventLog
from commonplace.values.event import Event, News

MOST_LISTENERS: Final = 1_200
_PAUSE: Final = 1.0

Hears: TypeAlias = Callable[[News], bool]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TenantListener:
    """Who sits at a seat: it hears of one tenant, and of what `hears` lets through."""

    tenant: str
    hears: Hears


LogSeat: TypeAlias = Seat[TenantListener]


class Hub:
    """`run` it in a task, `close` it before the requests that listen are waited for."""

    def __init__(self, events: EventLog, *, most: int = MOST_LISTENERS) -> None:
        self._events = events
        self._most = most
        self._joined: dict[str, set[LogSeat]] = {}
        self._watching: list[Callable[[Event], None]] = []
        self._seats: set[LogSeat] = set()
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
            seat.end(within=LAST_WORDS)

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
            if seat.listener.tenant == tenant:
                seat.doubt()

    def seat(self, tenant: str, hears: Hears, size: int = QUEUE) -> LogSeat:
        """
        A place for one listener, to be entered with `with`.

        Raises:
            TooManyListeners: all seats are taken.
        """
        if len(self._seats) >= self._most:
            raise TooManyListeners(retry_after=5)
        return Seat(self, TenantListener(tenant, hears), size)

    # ---- for seats

    def admit(self, seat: LogSeat) -> None:
        self._seats.add(seat)
        if self.closed:
            seat.end()

    def join(self, seat: LogSeat) -> None:
        self._joined.setdefault(seat.listener.tenant, set()).add(seat)

    def leave(self, seat: LogSeat) -> None:
        self._seats.discard(seat)
        self._part(seat)

    def _part(self, seat: LogSeat) -> None:
        joined = self._joined.get(seat.listener.tenant, set())
        joined.discard(seat)
        if not joined:
            self._joined.pop(seat.listener.tenant, None)

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            self.position = event.id
            for heard in self._watching:
                heard(event)
            frame: bytes | None = None
            for seat in tuple(self._joined.get(event.news.tenant, ())):
                if event.id <= seat.after or not seat.listener.hears(event.news):
                    continue
                # Made once for all who hear it, and only if somebody does.
                frame = frame or event_frame(event)
                seat.offer(event.id, frame)
                if seat.ended:
                    self._part(seat)
