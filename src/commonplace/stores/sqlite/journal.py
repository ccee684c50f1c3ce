# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The audit, and the answers to requests that may be repeated."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import apsw

from commonplace.errors import InvalidQuery
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import Row, Where, object_of, one, rows, scope_of
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.audit import AuditPage, AuditQuery, AuditRow
from commonplace.values.moment import from_ms, to_ms

SQL = load("commonplace.stores.sqlite", "sql/journal.sql")
_AUDIT = (
    "SELECT number, id, at, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address,"
    " request, details FROM audit"
)
_NOT_OURS = "The cursor is not one that the audit returned."


def _audit_row(row: Row) -> AuditRow:
    (_, id, at, tenant, actor, action, outcome, record, version, scope, *rest) = row
    run, door, key, client, address, request, details = rest
    return AuditRow(
        id=id,
        at=from_ms(at),
        tenant=tenant,
        actor=actor,
        action=action,
        outcome=outcome,
        record=record,
        version=version,
        scope=scope_of(scope),
        run=run,
        door=door,
        key=key,
        client=client,
        address=address,
        request=request,
        details=object_of(details),
    )


def read_audit(db: apsw.Connection, tenant: str | None, query: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
    """By moment, then in the order they were kept, from the last one back."""
    clause = Where()
    for column, value in (("tenant", tenant), ("record", query.record), ("run", query.run), ("actor", query.actor)):
        if value is not None:
            clause.add(f"{column} = {{}}", value)
    clause.any_of("action", query.actions)
    clause.any_of("outcome", query.outcomes)
    clause.any_of("door", query.doors)
    if query.since is not None:
        clause.add("at >= {}", to_ms(query.since))
    if query.until is not None:
        clause.add("at < {}", to_ms(query.until))
    if cursor is not None:
        at, number = _read_cursor(cursor)
        clause.conditions.append("(at, number) < (:at, :number)")
        clause.bound |= {"at": at, "number": number}
    sql = f"{_AUDIT} {clause} ORDER BY at DESC, number DESC LIMIT :limit"
    matches = rows(db, sql, clause.bound | {"limit": limit + 1})
    page = matches[:limit]
    more = len(matches) > limit and page
    return AuditPage(tuple(map(_audit_row, page)), _write_cursor(page[-1]) if more else None)


def _write_cursor(row: Row) -> str:
    return base64.urlsafe_b64encode(json.dumps([row[2], row[0]]).encode()).decode()


def _read_cursor(cursor: str) -> tuple[int, int]:
    try:
        position: Any = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        at, number = position
    except (ValueError, TypeError, binascii.Error):
        raise InvalidQuery(_NOT_OURS) from None
    if not all(type(value) is int and abs(value) < 1 << 63 for value in (at, number)):
        raise InvalidQuery(_NOT_OURS)
    return at, number


class SqlJournal:
    """Satisfies the port `Journal`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def note(self, entries: Entries) -> None:
        await self._transactions.keep(lambda _: None, entries)

    async def audit(self, tenant: str | None, query: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
        return await self._transactions.read(lambda db: read_audit(db, tenant, query, limit, cursor))

    async def reply(self, tenant: str, owner: str, key: str) -> IdempotentReply | None:
        row = await self._transactions.read(
            lambda db: one(db, SQL["reply"], (tenant, owner, key, self._transactions.now()))
        )
        if row is None:
            return None
        fingerprint, expires, results_json = row
        results = tuple((id, version, outcome) for id, version, outcome in json.loads(results_json or "[]"))
        return IdempotentReply(
            tenant=tenant, owner=owner, key=key, fingerprint=fingerprint, expires_at=from_ms(expires), results=results
        )

    async def trim_replies(self) -> int:
        return await self._transactions.change(SQL["trim_replies"], (self._transactions.now(),))
