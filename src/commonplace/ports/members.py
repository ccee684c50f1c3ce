"""Whose scopes are: sessions and rooms, and with whom they are shared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.member import Member
from commonplace.values.scope import Scope


class MemberRegistry(Protocol):
    """
    A session's first member comes with its first write, as a `SessionClaim` among the write's entries. Each write here keeps its
    `entries` in the same transaction. `tests/contracts/test_members.py` holds each implementation to this.
    """

    async def scopes_of(self, tenant: str, subject: str) -> frozenset[Scope]:
        """All scopes that the subject is a member of."""
        ...

    async def among(self, tenant: str, subject: str, scopes: Collection[Scope]) -> frozenset[Scope]:
        """Those of `scopes` that the subject is a member of, and the sessions that are free: nobody has written to them yet."""
        ...

    async def members(self, tenant: str, scope: Scope) -> list[Member]:
        """The owner first, then by name."""
        ...

    async def add_member(self, tenant: str, member: Member, entries: Entries) -> None:
        """Raises Conflict: they are a member already."""
        ...

    async def remove_member(self, tenant: str, scope: Scope, subject: str, entries: Entries) -> None:
        """Raises NotFound: they are no member."""
        ...

    async def forget_members(self, tenant: str, *, scope: Scope | None = None, subject: str | None = None) -> int:
        """For a purge: every row of a scope, or of a subject. How many there were."""
        ...
