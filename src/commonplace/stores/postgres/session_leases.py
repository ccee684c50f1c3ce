"""Which process leads which session. One statement decides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.transactions import SHARE, Transactions
from commonplace.stores.rows import lease_of
from commonplace.values.moment import to_ms
from commonplace.values.session_lease import LeaseHolder, SessionLease

_SQL = statements("sql/session_leases.sql")


class SqlSessionLeases:
    """Satisfies the port `SessionLeases`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def claim_session(
        self, tenant: str, session: str, claim: str, holder: LeaseHolder, lease: timedelta
    ) -> SessionLease:
        params = {
            "tenant": tenant,
            "session": session,
            "claim": claim,
            "process": holder.process,
            "url": holder.url,
            "socket": holder.socket,
            **self._times(lease),
        }
        [row] = await self._write("claim_session", params)
        return lease_of(row)

    async def renew_claims(self, claims: Sequence[str], lease: timedelta) -> list[str]:
        params = {"claims": list(claims), **self._times(lease)}
        return [claim for (claim,) in await self._write("renew_claims", params)]

    async def release_claims(self, claims: Sequence[str]) -> int:
        return await self._transactions.count(_SQL["release_claims"], {"claims": list(claims)})

    async def session_lease(self, tenant: str, session: str) -> SessionLease | None:
        params = {"tenant": tenant, "session": session, "now": to_ms(self._transactions.now())}
        lease_rows = await self._transactions.ask(_SQL["session_lease"], params)
        return lease_of(lease_rows[0]) if lease_rows else None

    async def session_leases(self) -> list[SessionLease]:
        params = {"now": to_ms(self._transactions.now())}
        return [lease_of(row) for row in await self._transactions.ask(_SQL["session_leases"], params)]

    async def end_holders(self, processes: Sequence[str]) -> int:
        return await self._transactions.count(_SQL["end_holders"], {"processes": list(processes)})

    async def _write(self, statement: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            # No restore goes on meanwhile.
            await connection.execute(SHARE)
            return await rows(connection, _SQL[statement], params)

        return await self._transactions.write(work)

    def _times(self, lease: timedelta) -> dict[str, int]:
        now = self._transactions.now()
        return {"now": to_ms(now), "until": to_ms(now + lease)}


async def holds(connection: Connection, tenant: str, session: str, claim: str) -> bool:
    """Whether this claim is the one that holds, and nobody takes it over until the transaction ends."""
    params = {"tenant": tenant, "session": session, "claim": claim}
    return bool(await rows(connection, _SQL["holds"], params))
