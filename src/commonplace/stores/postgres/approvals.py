"""Who approved which version of what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from commonplace.errors import NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.approval import Approval, ApprovalKind, ApprovalState
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.scope import Scope

_SQL = statements("sql/approvals.sql")


class SqlApprovals:
    """Satisfies the port `ApprovalRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_approval(self, tenant: str, approval: Approval, entries: Entries) -> Approval:
        params = {
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
            "self_approved": approval.self_approved,
            "agent": approval.agent,
        }

        async def work(connection: Connection) -> tuple[Approval, Entries]:
            cursor = await connection.execute(_SQL["add_approval"], params)
            if await cursor.fetchall():
                await self._transactions.keep(connection, entries)
                return approval, entries
            [row] = await (await connection.execute(_SQL["same_approval"], params)).fetchall()
            return _approval(row), Entries()

        return await self._transactions.write_beside(work)

    async def approval(self, tenant: str, id: str) -> Approval:
        return _one(await self._read("approval", {"tenant": tenant, "id": id}), id)

    async def approvals_of(self, tenant: str, kind: ApprovalKind, target: str) -> list[Approval]:
        return await self._read("approvals_of", {"tenant": tenant, "kind": kind, "target": target})

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None, limit: int, cursor: str | None = None
    ) -> list[Approval]:
        return await self._read("approvals", {"tenant": tenant, "state": state, "limit": limit, "cursor": cursor})

    async def withdraw_approval(self, tenant: str, id: str, at: datetime, entries: Entries) -> Approval:
        params = {"tenant": tenant, "id": id, "at": to_ms(at)}
        refused = NotFound("There is no such approval, or it is withdrawn.", id=id)
        await self._transactions.change(_SQL["withdraw_approval"], params, entries, refused)
        return await self.approval(tenant, id)

    async def add_author(self, tenant: str, finding: str, subject: str) -> None:
        params = {"tenant": tenant, "finding": finding, "subject": subject}
        await self._transactions.count(_SQL["add_author"], params)

    async def author(self, tenant: str, finding: str) -> str | None:
        params = {"tenant": tenant, "finding": finding}
        result = await self._transactions.ask(_SQL["author"], params)
        return result[0][0] if result else None

    async def _read(self, name: str, params: dict[str, Any]) -> list[Approval]:
        return [_approval(row) for row in await self._transactions.ask(_SQL[name], params)]


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
        self_approved=self_approved,
        agent=agent,
        withdrawn_at=None if withdrawn_at is None else from_ms(withdrawn_at),
    )
