"""Counters that several daemons spend from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.moment import to_ms

_SQL = statements("sql/quotas.sql")
_MILLISECOND = timedelta(milliseconds=1)


class SqlQuotas:
    """Satisfies the port `Quotas`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def spend(
        self, tenant: str, name: str, window: timedelta, amounts: Mapping[str, int], limits: Mapping[str, int]
    ) -> bool:
        if any(amount > limits.get(counter, amount) for counter, amount in amounts.items()):
            return False  # More than a whole window has.
        params = {
            **self._window(tenant, name, window),
            "beginning": json.dumps({counter: max(amount, 0) for counter, amount in amounts.items()}),
            "amounts": json.dumps(dict(amounts)),
            "limits": json.dumps(dict(limits)),
        }

        async def work(connection: Connection) -> bool:
            return bool(await rows(connection, _SQL["spend"], params))

        return await self._transactions.write(work)

    async def spent(self, tenant: str, name: str, window: timedelta) -> dict[str, int]:
        for (spent,) in await self._transactions.ask(_SQL["spent"], self._window(tenant, name, window)):
            return spent
        return {}

    async def trim_quotas(self) -> int:
        return await self._transactions.count(_SQL["trim_quotas"], {"now": to_ms(self._transactions.now())})

    def _window(self, tenant: str, name: str, window: timedelta) -> dict[str, Any]:
        now = to_ms(self._transactions.now())
        return {"tenant": tenant, "name": name, "duration": window // _MILLISECOND, "now": now}
