# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What models cost, and what a tenant may spend on them in a day."""

from __future__ import annotations

from datetime import datetime

import apsw

from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.rows import usage_of, usage_total_of
from commonplace.stores.sqlite.rows import one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.moment import to_ms
from commonplace.values.usage import Usage, UsageTotal

SQL = load("commonplace.stores.sqlite", "sql/usage.sql")


class SqlUsage:
    """Satisfies the port `UsageLedger`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_usage(self, usage: Usage) -> None:
        labels = (
            usage.tenant,
            to_ms(usage.at),
            usage.session,
            usage.purpose,
            usage.model,
            usage.agent,
            usage.workspace,
        )
        counted = (usage.input_tokens, usage.output_tokens, usage.cost_micro_usd, int(usage.ok))
        await self._transactions.change(SQL["add_usage"], (*labels, *counted))

    async def list_usage(self, tenant: str, limit: int) -> list[Usage]:
        usage_rows = await self._transactions.read(lambda db: rows(db, SQL["usage"], (tenant, limit)))
        return [usage_of(tenant, row) for row in usage_rows]

    async def usage_totals(self, tenant: str, since: datetime, until: datetime) -> list[UsageTotal]:
        bound = (tenant, to_ms(since), to_ms(until))
        total_rows = await self._transactions.read(lambda db: rows(db, SQL["usage_totals"], bound))
        return [usage_total_of(row) for row in total_rows]

    async def budget(self, tenant: str) -> int | None:
        row = await self._transactions.read(lambda db: one(db, SQL["budget"], (tenant,)))
        return None if row is None else row[0]

    async def set_budget(self, tenant: str, micro_usd: int | None, entries: Entries) -> None:
        def change(db: apsw.Connection) -> None:
            if micro_usd is None:
                db.execute(SQL["forget_budget"], (tenant,))
            else:
                db.execute(SQL["set_budget"], (tenant, micro_usd))

        await self._transactions.keep(change, entries)
