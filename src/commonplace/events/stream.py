"""
What one listener reads, from the first byte on: what it missed, from the log, and then what happens.

Nothing is queued during the replay: the log is read page by page, as fast as the listener takes it, until it has caught
up with the follower. From the next event on the follower queues. So nothing is missed, and nothing comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, TypeAlias

from commonplace.errors import StoreError
from commonplace.events.frames import HEARTBEAT, RETRY, event_frame, note_frame
from commonplace.events.hub import Hub, Seat
from commonplace.ports.events import EventLog

HEARTBEAT_SECONDS: Final = 15.0
PAGE: Final = 500

Welcome: TypeAlias = Callable[[], Awaitable[bool]]


class Stream:
    """
    `begin` it before the first byte is written, while an error can still be the response; then write its `frames`.
    `welcome` says at each heartbeat, and when the hub is in doubt, whether the listener may still hear.
    """

    def __init__(
        self, events: EventLog, hub: Hub, seat: Seat, welcome: Welcome, *, heartbeat: float = HEARTBEAT_SECONDS
    ) -> None:
        self._events = events
        self._hub = hub
        self._welcome = welcome
        self._heartbeat = heartbeat
        self._resume: int | None = None
        self._range = (1, 0)
        self.seat = seat

    async def begin(self, resume: int | None) -> None:
        """
        Go on after the event `resume`, or (None) with what happens from now on: every event that is kept after this
        returns is told.

        Raises:
            StoreError: the log cannot be read.
        """
        self._resume = resume
        await self._hub.open()
        self._range = await self._events.event_range()
        if resume is None:
            self.seat.join(max(self._range[1], self._hub.position))

    async def frames(self) -> AsyncGenerator[bytes]:
        """What to write, in portions. It ends when the listener has to go, or the past cannot be read on."""
        yield RETRY
        if self._resume is not None:
            try:
                async for portion in self._replay(self._resume):
                    if self.seat.doubted and not await self._is_welcome():
                        yield self._eviction()
                        return
                    yield portion
            except StoreError:
                # The client comes back, and names the last event it had.
                return
        now = asyncio.get_running_loop().time
        beat = now() + self._heartbeat
        while True:
            frames = await self.seat.frames(max(beat - now(), 0))
            if (self.seat.doubted or now() >= beat) and not await self._is_welcome():
                yield self._eviction()
                return
            if frames:
                yield b"".join(frames)
            elif self.seat.ended:
                return
            if now() >= beat:
                yield HEARTBEAT
                beat = now() + self._heartbeat

    async def _replay(self, resume: int) -> AsyncGenerator[bytes]:
        earliest, latest = self._range
        after, count, last = resume, 0, None
        if resume > latest or resume < earliest - 1:
            reason = "epoch_reset" if resume > latest else "ring_evicted"
            after = earliest - 1
            yield note_frame(
                "state_resync_required", reason=reason, lastDeliveredId=resume, earliestAvailableId=earliest
            )
        while not self.seat.ended and (after < latest or not self.seat.join(after)):
            # A page that is not full has all up to where the log ended before it was read.
            end = max(latest, self._hub.position)
            page = await self._events.read_events(after, PAGE, tenant=self.seat.tenant)
            heard = [event for event in page if self.seat.hears(event.news)]
            if heard:
                yield b"".join(map(event_frame, heard))
                count, last = count + len(heard), heard[-1].id
            last_id = page[-1].id if page else after
            after = last_id if len(page) == PAGE else max(last_id, end)
        yield note_frame("replay_complete", replayedCount=count, lastReplayedEventId=last, lastEventId=after)

    def _eviction(self) -> bytes:
        return note_frame("client_evicted", reason="key_revoked", droppedAfter=self.seat.after)

    async def _is_welcome(self) -> bool:
        doubted, self.seat.doubted = self.seat.doubted, False
        try:
            return await self._welcome()
        except StoreError:
            # No event can reach anybody while the store is away. Whoever is in doubt comes back later, and is looked at then.
            return not doubted
