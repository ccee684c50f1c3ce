# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Counters that several daemons spend from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import apsw

from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import one
from commonplace.stores.sqlite.transactions import Transactions

SQL = load("commonplace.stores.sqlite", "sql/quotas.sql")


class SqlQuotas:
    """Satisfies the port `Quotas`. What decides is the writer's transaction, which nobody else can be in."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def spend(
        self, tenant: str, name: str, window: timedelta, amounts: Mapping[str, int], limits: Mapping[str, int]
    ) -> bool:
        bound = self._window(tenant, name, window)

        def job(db: apsw.Connection) -> bool:
            row = one(db, SQL["quota"], bound)
            spent: dict[str, int] = {} if row is None else json.loads(row[0])
            after = {counter: max(spent.get(counter, 0) + amount, 0) for counter, amount in amounts.items()}
            if any(counter in limits and total > limits[counter] for counter, total in after.items()):
                return False
            statement = SQL["begin_window" if row is None else "count_spent"]
            db.execute(statement, bound | {"spent": json.dumps(spent | after)})
            return True

        return await self._transactions.write(job)

    async def spent(self, tenant: str, name: str, window: timedelta) -> dict[str, int]:
        bound = self._window(tenant, name, window)
        row = await self._transactions.read(lambda db: one(db, SQL["quota"], bound))
        return {} if row is None else json.loads(row[0])

    async def trim_quotas(self) -> int:
        return await self._transactions.change(SQL["trim_quotas"], (self._transactions.now(),))

    def _window(self, tenant: str, name: str, window: timedelta) -> dict[str, Any]:
        length = window // timedelta(milliseconds=1)
        return {"tenant": tenant, "name": name, "length": length, "now": self._transactions.now()}
