"""
What one listener of a seat reads, from the first byte on: what it missed, and then what happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, TypeAlias

from commonplace.errors import StoreError
from commonplace.events.frames import HEARTBEAT, RETRY, note_frame
from commonplace.events.seat import Seat

HEARTBEAT_SECONDS: Final = 15.0

Welcome: TypeAlias = Callable[[], Awaitable[bool]]


class LiveStream:
    """
    Write its `frames`. `welcome` says at each heartbeat, and when the seat is in doubt, whether the listener may still hear.
    """

    def __init__(self, seat: Seat[Any], welcome: Welcome, *, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._welcome = welcome
        self._heartbeat = heartbeat
        self.seat = seat

    def past(self) -> AsyncGenerator[bytes] | None:
        """What the listener missed, in portions, until its seat has joined; None if it wants none of it, and has joined."""
        raise NotImplementedError

    async def frames(self) -> AsyncGenerator[bytes]:
        """What to write, in portions. It ends when the listener has to go, or the past cannot be read on."""
        yield RETRY
        past = self.past()
        if past is not None:
            try:
                async for portion in past:
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

    def _eviction(self) -> bytes:
        return note_frame("client_evicted", reason="key_revoked", droppedAfter=self.seat.after)

    async def _is_welcome(self) -> bool:
        doubted, self.seat.doubted = self.seat.doubted, False
        try:
            return await self._welcome()
        except StoreError:
            # No event can reach anybody while the store is away. Whoever is in doubt comes back later, and is looked at then.
            return not doubted
