"""
Keeps a channel connected to its platform: one piece of work that listens, begun again with back-off and jitter whenever it ends.

A platform's client says `connected()` when it is, and raises when it is no longer. `PlatformRefused` (wrong credentials) is tried again seldom;
`retry_after` of a PlatformError is honoured.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from commonplace.errors import CommonplaceError
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused
from commonplace.values.moment import utc
from commonplace.values.platform import ConnectionEntry, ConnectionState, ConnectionStatus

LOGGER: Final = logging.getLogger("commonplace")
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
REFUSED_PAUSE: Final = 300.0
_ENTRIES: Final = 200

Listen = Callable[[], Awaitable[None]]


class Connection:
    """`first_pause` and `longest_pause` in seconds; `chance` gives numbers from 0 to 1, for the jitter; `sleep` waits."""

    def __init__(
        self,
        channel: str,
        clock: Clock,
        *,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._chance = chance
        self._sleep = sleep
        self._log: deque[ConnectionEntry] = deque(maxlen=_ENTRIES)
        self.state = ConnectionState(status="stopped", since=utc(clock.now()))

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return tuple(self._log)

    def note(self, event: str, detail: str = "") -> None:
        """Write a line of the log; never what was said, nor a secret."""
        self._log.append(ConnectionEntry(at=utc(self._clock.now()), event=event, detail=detail[:500]))
        LOGGER.info("channel", extra={"told": {"channel": self._channel, "event": event, "detail": detail[:500]}})

    def connected(self) -> None:
        """The platform took us: the next failure is a first one."""
        self._become("connected")

    @asynccontextmanager
    async def keep(self, listen: Listen) -> AsyncGenerator[None]:
        """Listen until the block is left, again and again."""
        task = asyncio.create_task(self._listen(listen))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            self._become("stopped")

    async def _listen(self, listen: Listen) -> None:
        while True:
            attempts = self.state.attempts if self.state.status != "stopped" else 0
            self._become("connecting", attempts=attempts)
            try:
                await listen()
                pause = self._failed(PlatformError("The platform closed the connection."))
            except CommonplaceError as error:
                pause = self._failed(error)
            except Exception as error:
                # The top of a worker: a fault of ours costs a pause, not the channel.
                LOGGER.error("unexpected", exc_info=error, extra={"told": {"channel": self._channel}})
                pause = self._failed(PlatformError(f"Unexpected {type(error).__name__}."))
            await self._sleep(pause)

    def _failed(self, error: CommonplaceError) -> float:
        """How long to wait before the next attempt."""
        attempts = self.state.attempts + 1
        is_refused = isinstance(error, PlatformRefused)
        self._become("refused" if is_refused else "waiting", error=error.message, attempts=attempts)
        if is_refused:
            return REFUSED_PAUSE
        pause = min(self._longest_pause, self._first_pause * 2 ** min(attempts - 1, 16))
        retry_after = error.retry_after if isinstance(error, PlatformError) else None
        return max(pause * (0.5 + 0.5 * self._chance()), retry_after or 0.0)

    def _become(self, status: ConnectionStatus, *, error: str | None = None, attempts: int = 0) -> None:
        if status != self.state.status or error != self.state.error:
            self.note(status, error or "")
        self.state = ConnectionState(status=status, since=utc(self._clock.now()), error=error, attempts=attempts)
