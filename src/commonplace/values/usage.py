"""
What models cost: a line for each task, and the day that it is counted in.

Money is whole millionths of a dollar, rounded up, so that sums are exact and nothing is too small to count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Self

MICRO: Final = 1_000_000
COUNTER: Final = "micro_usd"
"""The counter of the port `Quotas` that a day's money is counted with."""
ESTIMATES: Final = "estimated_micro_usd"
"""The counter of what nobody reported, which refuses nothing."""
TOKENS: Final = "tokens"
"""The counter of tokens that were reported, of what is read and what is written."""
ESTIMATED_TOKENS: Final = "estimated_tokens"

Spending = Literal["llm", "chat"]
"""What has a budget of its own a day: what the memory does by itself (`llm`), and chat."""

CHAT: Final = "chat"
"""The purpose that tasks of chat have in the ledger."""

_DAY: Final = timedelta(days=1)
_NAMES: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """
    What one task of a model cost. `session` is no session of anybody's but a name for the work (`memory-extract:<session>`).
    `ok`: whether the task came to something.
    """

    tenant: str
    at: datetime
    session: str
    purpose: str
    model: str
    agent: str | None = None
    workspace: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
    ok: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageTotal:
    """All tasks of one purpose and model, put together."""

    purpose: str
    model: str
    tasks: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SpendingDay:
    """
    A day in UTC, as the port `Quotas` counts it.

    A window of `Quotas` begins with what is first spent, which is no midnight. So each day has a counter of its own, whose
    window is longer than the day: what is given back after midnight is given back to the day it was taken from. The names
    come round again when the window is long over, so that no counters pile up.
    """

    name: str
    window: timedelta
    begins_at: datetime
    ends_at: datetime

    @classmethod
    def of(cls, now: datetime, spending: Spending = "llm") -> Self:
        number = (now - _EPOCH) // _DAY
        begins = _EPOCH + number * _DAY
        return cls(name=f"{spending}:{number % _NAMES}", window=2 * _DAY, begins_at=begins, ends_at=begins + _DAY)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatBudget:
    """What a tenant may spend on chat today, apart from the rest; `estimated` is what nobody reported, which only warns."""

    daily: int = 0
    spent: int = 0
    estimated: int = 0

    @property
    def left(self) -> int:
        return max(self.daily - self.spent, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """
    A tenant's, today, in millionths of a dollar. `spent` holds what calls that have not ended may still cost. `own`: set for
    this tenant, and not the `standard` of the daemon. `chat` is counted apart.
    """

    model: str | None
    daily: int
    standard: int
    own: bool
    spent: int
    resets_at: datetime
    since: datetime
    totals: tuple[UsageTotal, ...]
    latest: tuple[Usage, ...]
    chat: ChatBudget = ChatBudget()

    @property
    def left(self) -> int:
        return max(self.daily - self.spent, 0)


def daily_budget(standard: int, own: int | None) -> int:
    """What a tenant may spend a day: its own budget, else the daemon's. A daemon's of nothing turns models off for all."""
    return standard if own is None or standard == 0 else own


def work_session(work: str, *names: str) -> str:
    """The name that a task's usage is kept under: `work_session("extract", "s1")` is `memory-extract:s1`."""
    return ":".join((f"memory-{work}", *names))


def to_micro(usd: float) -> int:
    return round(usd * MICRO)


def to_usd(micro: int) -> float:
    return micro / MICRO
