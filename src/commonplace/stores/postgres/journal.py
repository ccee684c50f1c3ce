"""The audit and the replies."""

from __future__ import annotations

import json
from typing import cast

from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.groups import Position, audit_page, packed_id
from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.rows import ms, some
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.rows import stored_audit_of
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.moment import from_ms, to_ms

_SQL = statements("sql/journal.sql")


class SqlJournal:
    """Satisfies the port `Journal`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def note(self, entries: Entries) -> None:
        async def work(connection: Connection) -> tuple[None, Entries]:
            await self._transactions.keep(connection, entries)
            return None, entries

        await self._transactions.write_beside(work)

    async def audit(self, tenant: str | None, query: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
        begin = None if cursor is None else Position.parse(cursor)
        last_at, last_number = begin.before if begin else (None, None)
        params = {
            "tenant": tenant,
            "last_at": last_at,
            "last_number": last_number,
            "actions": some(query.actions),
            "outcomes": some(query.outcomes),
            "actor": query.actor,
            "record": query.record,
            "packed": None if query.record is None else packed_id(query.record),
            "run": query.run,
            "doors": some(query.doors),
            "since": ms(query.since),
            "until": ms(query.until),
            "limit": max(limit, 0) + 1,
        }
        sql = _SQL["audit" if query.record is None else "audit_of_record"]
        stored = map(stored_audit_of, await self._transactions.ask(sql, params))
        return audit_page(stored, query.record, begin, limit)

    async def reply(self, tenant: str, owner: str, key: str) -> IdempotentReply | None:
        params = {"tenant": tenant, "owner": owner, "key": key, "now": to_ms(self._transactions.now())}
        for fingerprint, expires_at, results_json in await self._transactions.ask(_SQL["reply"], params):
            results = cast("list[tuple[str, int, str]]", json.loads(results_json))
            return IdempotentReply(
                tenant=tenant,
                owner=owner,
                key=key,
                fingerprint=bytes(fingerprint),
                expires_at=from_ms(expires_at),
                results=tuple((id, version, outcome) for id, version, outcome in results),
            )
        return None

    async def trim_replies(self) -> int:
        return await self._transactions.count(_SQL["trim_replies"], {"now": to_ms(self._transactions.now())})
