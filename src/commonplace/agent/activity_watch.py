"""What a session does now, gathered from its events; and a word to whoever lists sessions when that has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from commonplace.errors import CommonplaceError
from commonplace.events.ring import Ring, RingEvent
from commonplace.values.session_state import ActivityState
from commonplace.values.turn_event import (
    EventsMissed,
    ModeChanged,
    ModelChanged,
    PermissionAnswered,
    PermissionAsked,
    PermissionVoted,
    PromptQueued,
    PromptWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)

_LAST_WORDS: Final = 2.0
_NEWS: Final = (
    TurnStarted,
    TurnEnded,
    TurnFailed,
    PromptQueued,
    PromptWithdrawn,
    PermissionAsked,
    PermissionAnswered,
    PermissionVoted,
    ModeChanged,
    ModelChanged,
)
"""What is told of outside the session. What a tool does is seen by whoever looks."""


class ActivityWatch:
    """
    Of one session, until its ring is closed; `aclose` it then. `tell` is called when it begins and after each change, or once for several that
    come at once. Nothing waits for it.
    """

    def __init__(self, ring: Ring[TurnEvent], tell: Callable[[ActivityState], Awaitable[None]]) -> None:
        self.tool: str | None = None
        self._tell = tell
        self._is_running = False
        self._asked: set[str] = set()
        self._is_told = True
        self._teller: asyncio.Task[None] | None = None
        self._follower = asyncio.create_task(self._follow(ring))

    @property
    def state(self) -> ActivityState:
        return "asking" if self._asked else "running" if self._is_running else "idle"

    def tell_again(self) -> None:
        """Something else has changed that a list of sessions shows."""
        if not self._follower.done():
            self._say()

    async def aclose(self) -> None:
        """What changed last is told before this returns, unless that takes long."""
        await asyncio.wait({self._follower}, timeout=_LAST_WORDS)
        if self._teller is not None:
            await asyncio.wait({self._teller}, timeout=_LAST_WORDS)
        for task in (self._follower, self._teller):
            if task is not None:
                task.cancel()

    async def _follow(self, ring: Ring[TurnEvent]) -> None:
        self._say()
        async for entry in ring.follow():
            if isinstance(entry, RingEvent):
                self._take(entry.event)
                if isinstance(entry.event, _NEWS):
                    self._say()

    def _take(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self._is_running = True
            case TurnEnded() | TurnFailed() | EventsMissed():
                self._is_running, self.tool = False, None
                self._asked.clear()
            case ToolStarted(title=title):
                self.tool = title
            case ToolEnded():
                self.tool = None
            case PermissionAsked(request=request):
                self._asked.add(request.id)
            case PermissionAnswered(answer=answer):
                self._asked.discard(answer.request)
            case _:
                pass

    def _say(self) -> None:
        self._is_told = False
        if self._teller is None or self._teller.done():
            self._teller = asyncio.create_task(self._tell_all())

    async def _tell_all(self) -> None:
        while not self._is_told:
            self._is_told = True
            try:
                await self._tell(self.state)
            except CommonplaceError:
                # Whoever lists the sessions sees it a little later.
                return
