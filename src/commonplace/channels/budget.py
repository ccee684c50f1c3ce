"""
What a room may spend: a pot for each window, which begin at fixed hours, so that a room knows when it is full again. Beside it stands what chat
may cost the tenant in a day.

Real use may refuse a turn. What is only estimated warns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from commonplace.ports.models import Pot
from commonplace.ports.quotas import Quotas
from commonplace.values.channel import RoomBudget
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER, ESTIMATED_TOKENS, ESTIMATES, TOKENS, SpendingDay

THRESHOLDS: Final = (95, 75)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN: Final = timedelta(hours=1)
"""A turn that began in a window is charged to it, also a little later."""
_TOLD_FOR: Final = timedelta(days=366)

WhoseBudget = Literal["room", "day"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomSpending:
    """
    `spent` is real, `estimated` what nobody reported or nobody knows the price of; in millionths of a dollar. The same of tokens. A limit that is
    None refuses nothing. `name` is that of its window, `lasts` how long its counters are kept.
    """

    name: str
    limit: int | None
    spent: int
    estimated: int
    until: datetime
    lasts: timedelta
    token_limit: int | None = None
    tokens: int = 0
    estimated_tokens: int = 0

    @property
    def is_used_up(self) -> bool:
        is_money_gone = self.limit is not None and self.spent >= self.limit
        return is_money_gone or (self.token_limit is not None and self.tokens >= self.token_limit)

    @property
    def percent(self) -> int:
        """Of what is nearer to its end, with what is estimated."""
        shares = [0]
        if self.limit:
            shares.append(100 * (self.spent + self.estimated) // self.limit)
        if self.token_limit:
            shares.append(100 * (self.tokens + self.estimated_tokens) // self.token_limit)
        return max(shares)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetWarning:
    whose: WhoseBudget
    percent: int
    spending: RoomSpending


def room_pot(budget: RoomBudget, scope: Scope, now: datetime) -> tuple[Pot, datetime]:
    """The pot of the window that is running, and when that ends."""
    window = timedelta(hours=budget.hours)
    number = (now - _EPOCH) // window
    pot = Pot(
        name=f"room:{scope}:{number}",
        micro_usd=budget.micro_usd,
        cap="room",
        lasts=window + _MARGIN,
        tokens=budget.tokens,
    )
    return pot, _EPOCH + (number + 1) * window


async def room_spending(quotas: Quotas, tenant: str, budget: RoomBudget, scope: Scope, now: datetime) -> RoomSpending:
    pot, until = room_pot(budget, scope, now)
    spent = await quotas.spent(tenant, f"pot:{pot.name}", pot.lasts)
    return _spending(pot, spent, until)


async def day_spending(quotas: Quotas, tenant: str, limit: int | None, now: datetime) -> RoomSpending:
    """What chat has cost the tenant today, in all its rooms and sessions."""
    day = SpendingDay.of(now, "chat")
    spent = await quotas.spent(tenant, day.name, day.window)
    return _spending(Pot(name=f"day:{day.begins_at:%Y-%m-%d}", micro_usd=limit, lasts=day.window), spent, day.ends_at)


def _spending(pot: Pot, spent: Mapping[str, int], until: datetime) -> RoomSpending:
    return RoomSpending(
        name=pot.name,
        limit=pot.micro_usd,
        spent=spent.get(COUNTER, 0),
        estimated=spent.get(ESTIMATES, 0),
        until=until,
        lasts=pot.lasts,
        token_limit=pot.tokens,
        tokens=spent.get(TOKENS, 0),
        estimated_tokens=spent.get(ESTIMATED_TOKENS, 0),
    )


async def threshold_passed(quotas: Quotas, tenant: str, scope: Scope, spending: RoomSpending) -> int | None:
    """
    The highest threshold that is passed and of which the room was not warned in this window; of each it is warned once, over all daemons.
    """
    for place, threshold in enumerate(THRESHOLDS):
        if spending.percent < threshold:
            continue
        # Whoever is warned of 95 % need not be warned of 75 % afterwards.
        first = False
        for lower in THRESHOLDS[place:]:
            is_new = await _is_first(quotas, tenant, f"warned:{scope}:{spending.name}", str(lower), spending.lasts)
            first = first or (lower == threshold and is_new)
        return threshold if first else None
    return None


async def is_first_notice(quotas: Quotas, tenant: str, scope: Scope, model: str) -> bool:
    """Whether a room was not told yet that nobody knows what a model costs."""
    return await _is_first(quotas, tenant, f"unpriced:{scope}", model[:100] or "none", _TOLD_FOR)


async def _is_first(quotas: Quotas, tenant: str, name: str, counter: str, lasts: timedelta) -> bool:
    return await quotas.spend(tenant, name, lasts, {counter: 1}, {counter: 1})
