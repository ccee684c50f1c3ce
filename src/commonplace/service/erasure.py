"""What goes with a person or a session and lies beside the store: a port, so that who removes these need not know runs."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol


class EraseRuns(Protocol):
    """
    Removes the runs of a person, in which their questions and the replies stand, and their artifacts; with `session` the runs of
    that session alone. Answers how many there were.
    """

    def __call__(self, tenant: str, owner: str, session: str | None = None, /) -> Awaitable[int]: ...


async def erase_nothing(tenant: str, owner: str, session: str | None = None, /) -> int:
    """Where there are none."""
    del tenant, owner, session
    return 0
