# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The audit, and the answers to requests that may be repeated."""

from __future__ import annotations

import json
from contextlib import closing

import apsw

from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.groups import Position, audit_page, packed_id
from commonplace.stores.queries import load
from commonplace.stores.rows import stored_audit_of
from commonplace.stores.sqlite.rows import Where, one
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.moment import from_ms, to_ms

SQL = load("commonplace.stores.sqlite", "sql/journal.sql")


def _narrowed(tenant: str | None, query: AuditQuery, begin: Position | None) -> Where:
    """All that a query asks for but the record."""
    clause = Where()
    for column, value in (("tenant", tenant), ("run", query.run), ("actor", query.actor)):
        if value is not None:
            clause.add(f"{column} = {{}}", value)
    clause.any_of("action", query.actions)
    clause.any_of("outcome", query.outcomes)
    clause.any_of("door", query.doors)
    if query.since is not None:
        clause.add("at >= {}", to_ms(query.since))
    if query.until is not None:
        clause.add("at < {}", to_ms(query.until))
    if begin is not None:
        at, number = begin.before
        clause.conditions.append("(at, number) < (:at, :number)")
        clause.bound |= {"at": at, "number": number}
    return clause


def _of_record(clause: Where) -> str:
    """Rows that name a record, and groups that hold it."""
    alone = Where([*clause.conditions, "record = :record"])
    grouped = Where([*clause.conditions, SQL["in_group"]])
    return f"{SQL['audit']} {alone} UNION ALL {SQL['audit']} {grouped}"


def read_audit(db: apsw.Connection, tenant: str | None, query: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
    """By moment, then in the order they were kept, from the last one back."""
    begin = None if cursor is None else Position.parse(cursor)
    clause = _narrowed(tenant, query, begin)
    sql = f"{SQL['audit']} {clause}"
    if query.record is not None:
        sql = _of_record(clause)
        clause.bound |= {"record": query.record, "packed": packed_id(query.record)}
    sql += " ORDER BY at DESC, number DESC LIMIT :limit"
    with closing(db.execute(sql, clause.bound | {"limit": limit + 1})) as stored:
        return audit_page(map(stored_audit_of, stored), query.record, begin, limit)


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
