"""
What one listener reads, from the first byte on: what it missed, from the log, and then what happens.

Nothing is queued during the replay: the log is read page by page, as fast as the listener takes it, until it has caught
up with the follower. From the next event on the follower queues. So nothing is missed, and nothing comes twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from commonplace.events.frames import event_frame, note_frame
from commonplace.events.hub import Hub, LogSeat
from commonplace.events.live import HEARTBEAT_SECONDS, LiveStream, Welcome
from commonplace.ports.events import EventLog

PAGE: Final = 500


class Stream(LiveStream):
    """`begin` it before the first byte is written, while an error can still be the response; then write its `frames`."""

    def __init__(
        self, events: EventLog, hub: Hub, seat: LogSeat, welcome: Welcome, *, heartbeat: float = HEARTBEAT_SECONDS
    ) -> None:
        super().__init__(seat, welcome, heartbeat=heartbeat)
        self._events = events
        self._hub = hub
        self._listener = seat.listener
        self._resume: int | None = None
        self._range = (1, 0)

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

    def past(self) -> AsyncGenerator[bytes] | None:
        return None if self._resume is None else self._replay(self._resume)

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
            page = await self._events.read_events(after, PAGE, tenant=self._listener.tenant)
            heard = [event for event in page if self._listener.hears(event.news)]
            if heard:
                yield b"".join(map(event_frame, heard))
                count, last = count + len(heard), heard[-1].id
            last_id = page[-1].id if page else after
            after = last_id if len(page) == PAGE else max(last_id, end)
        yield note_frame("replay_complete", replayedCount=count, lastReplayedEventId=last, lastEventId=after)
