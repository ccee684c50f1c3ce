"""
What a room may spend: a pot for each window, which begin at fixed hours, so that a room knows when it is full again.

Real use may refuse a turn. What is only estimated warns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from commonplace.ports.models import Pot
from commonplace.ports.quotas import Quotas
from commonplace.values.channel import RoomBudget
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER, ESTIMATES

THRESHOLDS: Final = (95, 75)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN: Final = timedelta(hours=1)
"""A turn that began in a window is charged to it, also a little later."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomSpending:
    """`spent` is real, `estimated` what nobody reported; in millionths of a dollar."""

    limit: int
    spent: int
    estimated: int
    until: datetime

    @property
    def is_used_up(self) -> bool:
        return self.spent >= self.limit


def room_pot(budget: RoomBudget, scope: Scope, now: datetime) -> tuple[Pot, datetime]:
    """The pot of the window that is running, and when that ends."""
    window = timedelta(hours=budget.hours)
    number = (now - _EPOCH) // window
    pot = Pot(name=f"room:{scope}:{number}", micro_usd=budget.micro_usd, cap="room", lasts=window + _MARGIN)
    return pot, _EPOCH + (number + 1) * window


async def room_spending(quotas: Quotas, tenant: str, budget: RoomBudget, scope: Scope, now: datetime) -> RoomSpending:
    pot, until = room_pot(budget, scope, now)
    spent = await quotas.spent(tenant, f"pot:{pot.name}", pot.lasts)
    return RoomSpending(
        limit=budget.micro_usd, spent=spent.get(COUNTER, 0), estimated=spent.get(ESTIMATES, 0), until=until
    )


async def threshold_passed(
    quotas: Quotas, tenant: str, budget: RoomBudget, scope: Scope, now: datetime
) -> tuple[int, RoomSpending] | None:
    """The highest threshold that is passed and was not counters of in this window; each is answered once, over all daemons."""
    spending = await room_spending(quotas, tenant, budget, scope, now)
    pot, _ = room_pot(budget, scope, now)
    percent = 100 * (spending.spent + spending.estimated) // spending.limit
    for place, threshold in enumerate(THRESHOLDS):
        if percent < threshold:
            continue
        # Whoever is counters of 95 % need not be counters of 75 % afterwards.
        first, counters = False, f"warned:{pot.name}"
        for lower in THRESHOLDS[place:]:
            counter = str(lower)
            is_new = await quotas.spend(tenant, counters, pot.lasts, {counter: 1}, {counter: 1})
            first = first or (lower == threshold and is_new)
        return (threshold, spending) if first else None
    return None
