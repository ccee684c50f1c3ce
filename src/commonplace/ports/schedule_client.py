"""How schedules are used: in this process, or over HTTP, the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Whoever only searches memory needs none of them.
    import builtins
    from typing import Unpack

    from commonplace.values.schedule import (
        ScheduleFields,
        SchedulePage,
        SchedulePauseView,
        ScheduleProposal,
        ScheduleView,
    )


class ScheduleClient(Protocol):
    """What an agent is told by itself, in a target: `session:<id>`."""

    async def propose(self, text: str, *, zone: str | None = None, target: str | None = None) -> ScheduleProposal:
        """What a sentence means, with its next three times. Nothing is set. Raises InvalidInput: it says no time."""
        ...

    async def add(self, target: str, **fields: Unpack[ScheduleFields]) -> ScheduleView:
        """
        Set a schedule: `cron` or `at` or `when` (a sentence), and the `prompt`.

        Raises:
            InvalidInput: its time is none, or has passed.
            NotFound: the target is out of reach.
            TooManyRequests: the target has ten that are enabled.
        """
        ...

    async def list(
        self, *, target: str | None = None, everyone: bool = False, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        """The caller's, newest first; with `target`, all of one that is theirs; `everyone`: all, for an admin."""
        ...

    async def get(self, id: str) -> ScheduleView:
        """Raises NotFound."""
        ...

    async def enable(self, id: str) -> ScheduleView:
        """From now on. Raises NotFound; InvalidInput: its only time has passed."""
        ...

    async def disable(self, id: str) -> ScheduleView:
        """Until somebody enables it again. Raises NotFound."""
        ...

    async def run(self, id: str) -> ScheduleView:
        """Play a turn of it now, beside its times. Raises NotFound; Conflict: one is being played."""
        ...

    async def cancel(self, id: str) -> None:
        """Remove it. Raises NotFound."""
        ...

    async def pause(self, target: str | None = None) -> SchedulePauseView:
        """Nothing is said by itself in this target; without one, in the whole tenant, which is for admins."""
        ...

    async def resume(self, target: str | None = None) -> bool:
        """False: it was not paused."""
        ...

    async def pauses(self) -> builtins.list[SchedulePauseView]:
        """What is paused of what is the caller's."""
        ...
