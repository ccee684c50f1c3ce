"""What models cost, and what a tenant may spend on them in a day."""

from __future__ import annotations

from datetime import datetime

from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.rows import usage_of, usage_total_of
from commonplace.values.moment import to_ms
from commonplace.values.usage import Usage, UsageTotal

_SQL = statements("sql/usage.sql")


class SqlUsage:
    """Satisfies the port `UsageLedger`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_usage(self, usage: Usage) -> None:
        params = {
            "tenant": usage.tenant,
            "at": to_ms(usage.at),
            "session": usage.session,
            "purpose": usage.purpose,
            "model": usage.model,
            "agent": usage.agent,
            "workspace": usage.workspace,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": usage.cost_micro_usd,
            "ok": usage.ok,
        }

        async def work(connection: Connection) -> tuple[None, Entries]:
            await self._transactions.keep(connection, Entries(), (_SQL["add_usage"], params))
            return None, Entries()

        await self._transactions.write_beside(work)

    async def list_usage(self, tenant: str, limit: int) -> list[Usage]:
        usage_rows = await self._transactions.ask(_SQL["usage"], {"tenant": tenant, "limit": limit})
        return [usage_of(tenant, row) for row in usage_rows]

    async def usage_totals(self, tenant: str, since: datetime, until: datetime) -> list[UsageTotal]:
        params = {"tenant": tenant, "since": to_ms(since), "until": to_ms(until)}
        total_rows = await self._transactions.ask(_SQL["usage_totals"], params)
        return [usage_total_of(row) for row in total_rows]

    async def budget(self, tenant: str) -> int | None:
        budget_rows = await self._transactions.ask(_SQL["budget"], {"tenant": tenant})
        return int(budget_rows[0][0]) if budget_rows else None

    async def set_budget(self, tenant: str, micro_usd: int | None, entries: Entries) -> None:
        params = {"tenant": tenant, "daily": micro_usd}
        change = _SQL["forget_budget" if micro_usd is None else "set_budget"]

        async def work(connection: Connection) -> tuple[None, Entries]:
            await self._transactions.keep(connection, entries, (change, params))
            return None, entries

        await self._transactions.write_beside(work)
