# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Which process leads which session. One statement in the writer's transaction decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import apsw

from commonplace.stores.queries import load
from commonplace.stores.rows import lease_of
from commonplace.stores.sqlite.rows import one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.session_lease import LeaseHolder, SessionLease

SQL = load("commonplace.stores.sqlite", "sql/session_leases.sql")
_MS = timedelta(milliseconds=1)


class SqlSessionLeases:
    """Satisfies the port `SessionLeases`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def claim_session(
        self, tenant: str, session: str, claim: str, holder: LeaseHolder, lease: timedelta
    ) -> SessionLease:
        now = self._transactions.now()
        bound = {
            "tenant": tenant,
            "session": session,
            "claim": claim,
            "process": holder.process,
            "url": holder.url,
            "socket": holder.socket,
            "now": now,
            "until": now + lease // _MS,
        }
        [row] = await self._transactions.write(lambda db: rows(db, SQL["claim_session"], bound))
        return lease_of(row)

    async def renew_claims(self, claims: Sequence[str], lease: timedelta) -> list[str]:
        bound = {"claims": json.dumps(list(claims)), "until": self._transactions.now() + lease // _MS}
        return [claim for (claim,) in await self._transactions.write(lambda db: rows(db, SQL["renew_claims"], bound))]

    async def release_claims(self, claims: Sequence[str]) -> int:
        return await self._transactions.change(SQL["release_claims"], {"claims": json.dumps(list(claims))})

    async def session_lease(self, tenant: str, session: str) -> SessionLease | None:
        bound = {"tenant": tenant, "session": session, "now": self._transactions.now()}
        row = await self._transactions.read(lambda db: one(db, SQL["session_lease"], bound))
        return None if row is None else lease_of(row)

    async def session_leases(self) -> list[SessionLease]:
        now = self._transactions.now()
        lease_rows = await self._transactions.read(lambda db: rows(db, SQL["session_leases"], (now,)))
        return [lease_of(row) for row in lease_rows]

    async def end_holders(self, processes: Sequence[str]) -> int:
        return await self._transactions.change(SQL["end_holders"], (json.dumps(list(processes)),))


def holds(db: apsw.Connection, tenant: str, session: str, claim: str) -> bool:
    """Whether this claim is the one that holds: for the transaction of a write under it."""
    return bool(one(db, SQL["holds"], (tenant, session, claim)))
