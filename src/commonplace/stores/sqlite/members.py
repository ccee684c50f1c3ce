# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Whose scopes are."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.member import Member
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.scope import Scope

SQL = load("commonplace.stores.sqlite", "sql/members.sql")


class SqlMembers:
    """Satisfies the port `MemberRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def scopes_of(self, tenant: str, subject: str) -> frozenset[Scope]:
        result = await self._transactions.read(lambda db: rows(db, SQL["scopes_of"], (tenant, subject)))
        return frozenset(Scope.parse(scope) for (scope,) in result)

    async def among(self, tenant: str, subject: str, scopes: Collection[Scope]) -> frozenset[Scope]:
        names = json.dumps([str(scope) for scope in scopes])
        bound = {"tenant": tenant, "subject": subject, "scopes": names}
        result = await self._transactions.read(lambda db: rows(db, SQL["among"], bound))
        return frozenset(Scope.parse(scope) for (scope,) in result)

    async def members(self, tenant: str, scope: Scope) -> list[Member]:
        result = await self._transactions.read(lambda db: rows(db, SQL["members"], (tenant, str(scope))))
        return [
            Member(scope=scope, subject=subject, owner=bool(owner), since=from_ms(since))
            for subject, owner, since in result
        ]

    async def add_member(self, tenant: str, member: Member, entries: Entries) -> None:
        values = (tenant, str(member.scope), member.subject, int(member.owner), to_ms(member.since))

        def add(db: apsw.Connection) -> None:
            try:
                db.execute(SQL["add_member"], values)
            except apsw.ConstraintError as error:
                raise Conflict(f"{member.subject!r:.80} is a member already.") from error

        await self._transactions.keep(add, entries)

    async def remove_member(self, tenant: str, scope: Scope, subject: str, entries: Entries) -> None:
        def remove(db: apsw.Connection) -> None:
            db.execute(SQL["remove_member"], (tenant, str(scope), subject))
            if not db.changes():
                raise NotFound(f"{subject!r:.80} is no member of {scope}.")

        await self._transactions.keep(remove, entries)

    async def forget_members(self, tenant: str, *, scope: Scope | None = None, subject: str | None = None) -> int:
        bound = {"tenant": tenant, "scope": None if scope is None else str(scope), "subject": subject}
        return await self._transactions.change(SQL["forget_members"], bound)
