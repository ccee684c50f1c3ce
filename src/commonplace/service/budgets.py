"""What language models cost, and how much they may cost in a day."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from commonplace.errors import Forbidden, InvalidInput
from commonplace.governance.access import require_role
from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.values.principal import Principal
from commonplace.values.usage import COUNTER, ESTIMATES, Budget, ChatBudget, SpendingDay, daily_budget, to_micro, to_usd

MAX_DAYS: Final = 366
MAX_LINES: Final = 1_000
MAX_MICRO_USD: Final = 10**12


class Budgets:
    """
    `standard` is the daily budget of a tenant that has none of its own, `chat` what every tenant may spend on chat beside it,
    `model` the name of the daemon's model.
    """

    def __init__(self, desk: Desk, *, standard: int, chat: int, model: str | None) -> None:
        self._desk = desk
        self._standard = standard
        self._chat = chat
        self._model = model

    async def read(self, who: Principal, *, days: int = 1, limit: int = 20) -> Budget:
        """The budget, what it went into on the last `days` days (UTC, today included), and the latest lines."""
        async with self._desk.account(who, "budget.read"):
            _require_all(who)
            if not 1 <= days <= MAX_DAYS or not 0 <= limit <= MAX_LINES:
                raise InvalidInput(f"Ask for 1 to {MAX_DAYS} days and at most {MAX_LINES:,} lines.")
            return await self._read(who.tenant, days, limit)

    async def set(self, who: Principal, micro_usd: int | None) -> Budget:
        """
        Set the tenant's own daily budget, or (None) go back to the daemon's.

        Raises:
            Forbidden: not an admin; or it is more than the daemon's, which only the operator may allow.
        """
        desk = self._desk
        async with desk.account(who, "budget.set") as account:
            _require_all(who)
            if micro_usd is not None and not 0 <= micro_usd <= MAX_MICRO_USD:
                raise InvalidInput("A daily budget is 0 to 1,000,000 US dollars.")
            if micro_usd is not None and micro_usd > self._standard and not who.operator:
                most = to_usd(self._standard)
                raise Forbidden(f"Only the operator may allow a tenant more than {most:g} US dollars a day.")
            row = account.row("ok", details={"daily_usd": None if micro_usd is None else to_usd(micro_usd)})
            await desk.store.usage.set_budget(who.tenant, micro_usd, Entries(audit=(row,)))
            account.noted = True
            return await self._read(who.tenant, 1, 0)

    async def set_usd(self, who: Principal, daily_usd: float | None) -> Budget:
        """As `set`, in US dollars."""
        return await self.set(who, None if daily_usd is None else to_micro(daily_usd))

    async def _read(self, tenant: str, days: int, limit: int) -> Budget:
        store = self._desk.store
        now = self._desk.clock.now()
        today, chat = SpendingDay.of(now), SpendingDay.of(now, "chat")
        since = today.begins_at - timedelta(days=days - 1)
        own = await store.usage.budget(tenant)
        spent = await store.quotas.spent(tenant, today.name, today.window)
        talk = await store.quotas.spent(tenant, chat.name, chat.window)
        return Budget(
            model=self._model,
            daily=daily_budget(self._standard, own),
            standard=self._standard,
            own=own is not None,
            spent=spent.get(COUNTER, 0),
            resets_at=today.ends_at,
            since=since,
            totals=tuple(await store.usage.usage_totals(tenant, since, today.ends_at)),
            latest=tuple(await store.usage.list_usage(tenant, limit)) if limit else (),
            chat=ChatBudget(daily=self._chat, spent=talk.get(COUNTER, 0), estimated=talk.get(ESTIMATES, 0)),
        )


def _require_all(who: Principal) -> None:
    require_role(who, "admin")
    if who.scopes is not None:
        raise Forbidden("A budget is for the whole tenant. This needs an admin's key that reaches every scope.")
