"""Whose scopes are."""

from __future__ import annotations

from collections.abc import Collection

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.member import Member
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.scope import Scope

_SQL = statements("sql/members.sql")


class SqlMembers:
    """Satisfies the port `MemberRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def scopes_of(self, tenant: str, subject: str) -> frozenset[Scope]:
        result = await self._transactions.ask(_SQL["scopes_of"], {"tenant": tenant, "subject": subject})
        return frozenset(Scope.parse(scope) for (scope,) in result)

    async def among(self, tenant: str, subject: str, scopes: Collection[Scope]) -> frozenset[Scope]:
        params = {"tenant": tenant, "subject": subject, "scopes": [str(scope) for scope in scopes]}
        return frozenset(Scope.parse(scope) for (scope,) in await self._transactions.ask(_SQL["among"], params))

    async def members(self, tenant: str, scope: Scope) -> list[Member]:
        result = await self._transactions.ask(_SQL["members"], {"tenant": tenant, "scope": str(scope)})
        return [
            Member(scope=scope, subject=subject, owner=owner, since=from_ms(since)) for subject, owner, since in result
        ]

    async def add_member(self, tenant: str, member: Member, entries: Entries) -> None:
        params = {
            "tenant": tenant,
            "scope": str(member.scope),
            "subject": member.subject,
            "owner": member.owner,
            "since": to_ms(member.since),
        }
        refused = Conflict(f"{member.subject!r:.80} is a member already.")
        await self._transactions.change(_SQL["add_member"], params, entries, refused)

    async def remove_member(self, tenant: str, scope: Scope, subject: str, entries: Entries) -> None:
        params = {"tenant": tenant, "scope": str(scope), "subject": subject}
        refused = NotFound(f"{subject!r:.80} is no member of {scope}.")
        await self._transactions.change(_SQL["remove_member"], params, entries, refused)

    async def forget_members(self, tenant: str, *, scope: Scope | None = None, subject: str | None = None) -> int:
        params = {"tenant": tenant, "scope": None if scope is None else str(scope), "subject": subject}
        return await self._transactions.count(_SQL["forget_members"], params)
