"""
The last events of one session, in memory: what is published is told at once, and no write to a disk slows it.

Ids begin with 1 and have no gaps. They mean something only in the `epoch` of this ring: a process that starts again begins anew,
and a listener that resumes with an id of before is told so. What has left the ring is told as missing, never passed over
in silence.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from commonplace.errors import TooManyListeners
from commonplace.events.frames import frame, note_frame
from commonplace.events.live import HEARTBEAT_SECONDS, LiveStream, Welcome
from commonplace.events.seat import LAST_WORDS, QUEUE, Seat
from commonplace.ports.clock import Clock
from commonplace.values.json import Json

SIZE: Final = 8_000
HEAVIEST: Final = 8 << 20
"""Characters: a session whose events are long must not fill the memory of the daemon."""
MOST_LISTENERS: Final = 64
_PAGE: Final = 500

E = TypeVar("E")

ResyncReason = Literal["epoch_reset", "ring_evicted"]


@dataclass(frozen=True, slots=True)
class RingEvent(Generic[E]):
    """One event in its place."""

    id: int
    at: datetime
    event: E


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """
    What a listener has to be told before it hears on: after the event `last` some are missing. `epoch_reset`: it is none of this
    ring's.
    """

    reason: ResyncReason
    last: int
    earliest: int


Shape: TypeAlias = Callable[[RingEvent[E]], tuple[str, Mapping[str, Json]] | None]
"""How a door writes an event: its type, and the document of its frame. None: it is not for this listener."""

RingSeat: TypeAlias = Seat[Shape[E]]


class Follower(Protocol[E]):
    """Who hears of each event as it is published, in this process, and has `listeners` of its own. It is quick, and raises nothing."""

    @property
    def listeners(self) -> int: ...

    def hear(self, entry: RingEvent[E]) -> None: ...

    def doubt(self) -> None:
        """As `Ring.doubt`, for those who listen to it."""
        ...

    def end(self) -> None:
        """The ring is closed, and no event comes any more."""
        ...


class Ring(Generic[E]):
    """
    `publish` into it, `close` it when the session ends. `position` is the id of the last event, 0 before the first. It holds at most `size`
    events, and fewer if they are long: those that are `heaviest` characters together.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        size: int = SIZE,
        heaviest: int = HEAVIEST,
        most: int = MOST_LISTENERS,
        epoch: str | None = None,
    ) -> None:
        self._clock = clock
        self._most = most
        self._size = size
        self._heaviest = heaviest
        self._weight = 0
        self._weights: deque[int] = deque()
        self._events: deque[RingEvent[E]] = deque()
        self._seats: set[RingSeat[E]] = set()
        self._joined: set[RingSeat[E]] = set()
        self._followers: list[Follower[E]] = []
        self._changed = asyncio.Event()
        self.epoch = epoch or uuid.uuid4().hex
        self.position = 0
        self.closed = False

    @property
    def earliest(self) -> int:
        """The id of the first event that is still here, or of the next one if none is."""
        return self.position - len(self._events) + 1

    @property
    def listeners(self) -> int:
        return len(self._seats) + sum(follower.listeners for follower in self._followers)

    def lead(self, follower: Follower[E]) -> None:
        """Have it hear every event from now on, before those who sit here."""
        self._followers.append(follower)

    def dismiss(self, follower: Follower[E]) -> None:
        if follower in self._followers:
            self._followers.remove(follower)

    def publish(self, event: E) -> int:
        """Tell it to everybody who listens. Answers its id."""
        self.position += 1
        entry = RingEvent(self.position, self._clock.now(), event)
        self._hold(entry)
        self._wake()
        for follower in tuple(self._followers):
            follower.hear(entry)
        frames: dict[Shape[E], bytes] = {}
        for seat in tuple(self._joined):
            shape = seat.listener
            # Written once for all who read it in this shape.
            if shape not in frames:
                frames[shape] = ring_frame(entry, shape)
            if frames[shape]:
                seat.offer(entry.id, frames[shape])
            if seat.ended:
                self._joined.discard(seat)
        return entry.id

    def _hold(self, entry: RingEvent[E]) -> None:
        self._events.append(entry)
        self._weights.append(len(repr(entry.event)))
        self._weight += self._weights[-1]
        # The last one is there for who comes next, however long it is.
        while len(self._events) > self._size or (self._weight > self._heaviest and len(self._events) > 1):
            self._events.popleft()
            self._weight -= self._weights.popleft()

    def after(self, id: int, limit: int) -> list[RingEvent[E]]:
        """The first events behind this one, of those that are here."""
        start = max(id + 1 - self.earliest, 0)
        return list(islice(self._events, start, start + limit))

    def missed(self, last: int, epoch: str | None = None) -> Missed | None:
        """What is missing for somebody who had the event `last` of `epoch` (None: probably this one)."""
        if last > self.position or epoch not in (None, self.epoch):
            return Missed(reason="epoch_reset", last=last, earliest=self.earliest)
        if last < self.earliest - 1:
            return Missed(reason="ring_evicted", last=last, earliest=self.earliest)
        return None

    def doubt(self) -> None:
        """Ask of every listener again whether it may hear, before it is told the next event."""
        for seat in self._seats:
            seat.doubt()
        for follower in tuple(self._followers):
            follower.doubt()

    def close(self) -> None:
        """Let every listener have what it was told, and go. Nobody hears what is published later."""
        if not self.closed:
            self.closed = True
            for follower in tuple(self._followers):
                follower.end()
        self._wake()
        for seat in list(self._seats):
            seat.end(within=LAST_WORDS)

    def seat(self, shape: Shape[E], size: int = QUEUE) -> RingSeat[E]:
        """
        A place for one listener, to be entered with `with`.

        Raises:
            TooManyListeners: all seats are taken.
        """
        if len(self._seats) >= self._most:
            raise TooManyListeners(retry_after=5)
        return Seat(self, shape, size)

    def follow(self, after: int | None = None, *, epoch: str | None = None) -> AsyncGenerator[RingEvent[E] | Missed]:
        """
        Events in this process: those behind `after` (None: behind the last one), and all that come, until the ring is closed.
        Nothing is queued for the reader; what has left the ring before it came by is told as `Missed`.
        """
        return self._follow(self.position if after is None else after, epoch)

    async def _follow(self, last: int, epoch: str | None) -> AsyncGenerator[RingEvent[E] | Missed]:
        while True:
            # Looked at again and again: the reader may be away for long between two events.
            gap, epoch = self.missed(last, epoch), None
            if gap is not None:
                last = gap.earliest - 1
                yield gap
            elif page := self.after(last, _PAGE):
                last = page[-1].id
                for entry in page:
                    yield entry
            elif self.closed:
                return
            else:
                await self._changed.wait()

    # ---- for seats

    def admit(self, seat: RingSeat[E]) -> None:
        self._seats.add(seat)
        if self.closed:
            seat.end()

    def join(self, seat: RingSeat[E]) -> None:
        self._joined.add(seat)

    def leave(self, seat: RingSeat[E]) -> None:
        self._seats.discard(seat)
        self._joined.discard(seat)

    def _wake(self) -> None:
        """Whoever waits now goes on; whoever comes later waits for the next event."""
        self._changed.set()
        self._changed = asyncio.Event()


class RingStream(LiveStream, Generic[E]):
    """
    The ring as one listener reads it: after the event `resume` (0: from the first on), or with None from now on. `epoch` is
    the ring's that `resume` was told by, if the listener knows.
    """

    def __init__(
        self,
        ring: Ring[E],
        seat: RingSeat[E],
        welcome: Welcome,
        *,
        resume: int | None = None,
        epoch: str | None = None,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(seat, welcome, heartbeat=heartbeat)
        self._ring = ring
        self._shape = seat.listener
        self._resume = resume
        self._epoch = epoch
        if resume is None:
            seat.join(ring.position)

    @property
    def epoch(self) -> str:
        """The ring's own, which a listener names when it comes back."""
        return self._ring.epoch

    def past(self) -> AsyncGenerator[bytes] | None:
        return None if self._resume is None else self._replay(self._resume, self._epoch)

    async def _replay(self, after: int, epoch: str | None) -> AsyncGenerator[bytes]:
        count, last = 0, None
        # Also if the seat has ended: what the ring has is told before the stream ends.
        while True:
            # Looked at before every page: a slow reader may fall out of the ring while it is told the past.
            gap, epoch = self._ring.missed(after, epoch), None
            if gap is not None:
                after = gap.earliest - 1
                yield resync_frame(gap)
            elif page := self._ring.after(after, _PAGE):
                after = last = page[-1].id
                portion = [text for entry in page if (text := ring_frame(entry, self._shape))]
                count += len(portion)
                if portion:
                    yield b"".join(portion)
            elif self.seat.join(after):
                break
        yield note_frame("replay_complete", replayedCount=count, lastReplayedEventId=last, lastEventId=after)


def ring_frame(entry: RingEvent[E], shape: Shape[E]) -> bytes:
    """Nothing, if it is not for whom it would be written."""
    shaped = shape(entry)
    return b"" if shaped is None else frame(*shaped, id=entry.id)


def resync_frame(gap: Missed) -> bytes:
    return note_frame(
        "state_resync_required", reason=gap.reason, lastDeliveredId=gap.last, earliestAvailableId=gap.earliest
    )
