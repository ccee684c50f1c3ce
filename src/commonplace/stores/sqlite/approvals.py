# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Who approved which version of what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from commonplace.errors import NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.approval import Approval, ApprovalKind, ApprovalState
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.scope import Scope

SQL = load("commonplace.stores.sqlite", "sql/approvals.sql")
_NO_ENTRIES = Entries()


class SqlApprovals:
    """Satisfies the port `ApprovalRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_approval(self, tenant: str, approval: Approval, entries: Entries) -> Approval:
        bound = {
            "tenant": tenant,
            "id": approval.id,
            "kind": approval.kind,
            "target": approval.target,
            "version": approval.version,
            "state": approval.state,
            "subject": approval.subject,
            "actor": approval.actor,
            "created_at": to_ms(approval.created_at),
            "scope": None if approval.scope is None else str(approval.scope),
            "self_approved": int(approval.self_approved),
            "agent": int(approval.agent),
        }

        def add(db: apsw.Connection) -> Approval:
            db.execute(SQL["add_approval"], bound)
            if db.changes():
                return approval
            [row] = rows(db, SQL["same_approval"], bound)
            return _approval(row)

        return await self._transactions.keep_beside(add, lambda result: entries if result is approval else _NO_ENTRIES)

    async def approval(self, tenant: str, id: str) -> Approval:
        return _one(await self._read("approval", {"tenant": tenant, "id": id}), id)

    async def approvals_of(self, tenant: str, kind: ApprovalKind, target: str) -> list[Approval]:
        return await self._read("approvals_of", {"tenant": tenant, "kind": kind, "target": target})

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None, limit: int, cursor: str | None = None
    ) -> list[Approval]:
        return await self._read("approvals", {"tenant": tenant, "state": state, "limit": limit, "cursor": cursor})

    async def withdraw_approval(self, tenant: str, id: str, at: datetime, entries: Entries) -> Approval:
        bound = {"tenant": tenant, "id": id, "at": to_ms(at)}

        def withdraw(db: apsw.Connection) -> Approval:
            db.execute(SQL["withdraw_approval"], bound)
            if not db.changes():
                raise NotFound("There is no such approval, or it is withdrawn.", id=id)
            return _one([_approval(row) for row in rows(db, SQL["approval"], {"tenant": tenant, "id": id})], id)

        return await self._transactions.keep(withdraw, entries)

    async def add_author(self, tenant: str, finding: str, subject: str) -> None:
        bound = {"tenant": tenant, "finding": finding, "subject": subject}
        await self._transactions.change(SQL["add_author"], bound)

    async def author(self, tenant: str, finding: str) -> str | None:
        bound = {"tenant": tenant, "finding": finding}
        result = await self._transactions.read(lambda db: rows(db, SQL["author"], bound))
        return result[0][0] if result else None

    async def _read(self, name: str, bound: dict[str, Any]) -> list[Approval]:
        return [_approval(row) for row in await self._transactions.read(lambda db: rows(db, SQL[name], bound))]


def _one(approvals: list[Approval], id: str) -> Approval:
    if not approvals:
        raise NotFound("There is no such approval.", id=id)
    return approvals[0]


def _approval(row: tuple[Any, ...]) -> Approval:
    id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at = row
    return Approval(
        id=id,
        kind=kind,
        target=target,
        version=version,
        state=state,
        subject=subject,
        actor=actor,
        created_at=from_ms(created_at),
        scope=None if scope is None else Scope.parse(scope),
        self_approved=bool(self_approved),
        agent=bool(agent),
        withdrawn_at=None if withdrawn_at is None else from_ms(withdrawn_at),
    )
