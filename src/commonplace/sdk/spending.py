"""What language models cost, as the clients have it."""

from __future__ import annotations

from commonplace.sdk.calls import budgets
from commonplace.sdk.reviewing import AsyncReviewer, Reviewer
from commonplace.values.usage import Budget


class AsyncSpender(AsyncReviewer):
    async def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        """Today's budget, what it went into on the last `days` days (UTC), and the latest tasks. For admins."""
        return await self._run(budgets.budgets(days, limit))

    async def set_budget(self, daily_usd: float | None) -> Budget:
        """Set what the tenant may spend in a day: 0 turns models off, None goes back to the daemon's setting. For admins."""
        return await self._run(budgets.set_budget(daily_usd))


class Spender(Reviewer):
    def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        """Today's budget, what it went into on the last `days` days (UTC), and the latest tasks. For admins."""
        return self._run(budgets.budgets(days, limit))

    def set_budget(self, daily_usd: float | None) -> Budget:
        """Set what the tenant may spend in a day: 0 turns models off, None goes back to the daemon's setting. For admins."""
        return self._run(budgets.set_budget(daily_usd))
