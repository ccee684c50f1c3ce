"""Where scheduled turns are played: in sessions, in rooms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from commonplace.values.platform import Bilingual
from commonplace.values.principal import Principal


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """
    A turn to be played in `target`, in the name of `who`. `runs` are the ids that its run may have, the same on every daemon: the first, or, if a daemon stopped
    in the middle of that, the next. `since` is when it was queued first. `is_again`: a daemon may have begun it already.
    """

    who: Principal
    schedule: str
    target: str
    text: str
    runs: tuple[str, ...]
    since: datetime
    is_again: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """
    What became of it. `failed`: why nobody was answered, and `code` its error's; of what was answered, why nobody knows whether the answer was seen. `retry_after`: nothing can be done for so many seconds, such as until the
    day ends whose budget is used up. `run` None: it was not begun. `was_over`: a daemon had played it before.
    """

    run: str | None
    ending: Literal["answered", "cancelled", "failed"]
    reply: str = ""
    failed: str | None = None
    code: str | None = None
    retry_after: int | None = None
    was_over: bool = False


class TargetRules(Protocol):
    """Whose a target is. The names of targets of one kind begin alike: `session:…`, `channel/…`."""

    async def require(self, who: Principal, target: str) -> None:
        """
        Raises:
            NotFound: there is no such target in reach.
            Forbidden: the caller may not speak there.
        """
        ...

    async def reaches(self, who: Principal, target: str) -> bool:
        """Whether the caller may still read what is said there."""
        ...

    async def owns(self, who: Principal, target: str) -> bool:
        """Whether the caller decides what is said there by itself, whoever set it."""
        ...

    async def zone(self, who: Principal, target: str) -> str | None:
        """The time zone of the target; None: it has none of its own."""
        ...

    async def quiet(self, who: Principal, target: str) -> str | None:
        """The hours in which nothing is said there by itself; None: it has none of its own."""
        ...


class ScheduleTarget(Protocol):
    async def refusal(self, who: Principal, target: str) -> str | None:
        """
        Why nothing can be posted there now without somebody having spoken before; None: it can.

        Raises:
            PostingRefused: nothing is posted there until somebody lets it in again: the due time is skipped.
            NotFound, Forbidden: there is no such place any more, or not for this person.
        """
        ...

    async def deliver(self, delivery: Delivery) -> Delivered:
        """
        Play the turn, after those that wait there already, and wait for its end. One that is over already is not played again.

        Raises:
            TooManyRequests: the place is busy. Deliver it later.
        """
        ...

    async def announce(self, who: Principal, target: str, text: Bilingual) -> None:
        """Say something there that is not a turn: that a schedule was disabled, or put off."""
        ...
