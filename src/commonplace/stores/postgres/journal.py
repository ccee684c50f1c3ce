"""The audit and the replies."""

from __future__ import annotations

import base64
import binascii
import json
from typing import cast

from commonplace.errors import InvalidQuery
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.entries import audit_row_of
from commonplace.stores.postgres.rows import ms, some
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.moment import from_ms, to_ms

_SQL = statements("sql/journal.sql")
_BIGGEST = 1 << 62


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
        last_at, last_number = _read_cursor(cursor)
        if limit < 1:
            return AuditPage((), None)
        params = {
            "tenant": tenant,
            "last_at": last_at,
            "last_number": last_number,
            "actions": some(query.actions),
            "outcomes": some(query.outcomes),
            "actor": query.actor,
            "record": query.record,
            "run": query.run,
            "doors": some(query.doors),
            "since": ms(query.since),
            "until": ms(query.until),
            "limit": limit + 1,
        }
        audit_rows = await self._transactions.ask(_SQL["audit"], params)
        rows = tuple(audit_row_of(row[1:]) for row in audit_rows[:limit])
        if len(audit_rows) <= limit:
            return AuditPage(rows, None)
        return AuditPage(rows, _write_cursor(to_ms(rows[-1].at), audit_rows[limit - 1][0]))

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


def _write_cursor(at: int, number: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([at, number]).encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[int | None, int | None]:
    if cursor is None:
        return None, None
    try:
        position: object = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (binascii.Error, ValueError):
        position = None
    match position:
        case [int(at), int(number)] if abs(at) < _BIGGEST and abs(number) < _BIGGEST:
            return at, number
        case _:
            raise InvalidQuery("The cursor is not one of ours. Begin the listing anew.")
