"""Whose sessions and rooms are, and with whom they are shared."""

from __future__ import annotations

from typing import Final

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.governance.access import require_role
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.values.line import check_line
from commonplace.values.member import Member
from commonplace.values.moment import utc
from commonplace.values.principal import Principal, is_unclaimed
from commonplace.values.scope import Scope

SHAREABLE: Final = frozenset({"session", "channel"})


class Members:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def members(self, who: Principal, scope: Scope) -> list[Member]:
        """
        Those whom the scope belongs to, the owner first.

        Raises:
            NotFound: nobody's, or out of the caller's reach.
        """
        async with self._desk.account(who, "member.list", scope=scope) as account:
            require_role(who, "reader")
            return await self._members(who, account, scope)

    async def share(self, who: Principal, scope: Scope, subject: str) -> Member:
        """
        Let somebody else read and write a session or a room. For its owner, and for admins. An admin also says whose notes from before are
        that fit no one person (`is_unclaimed`).

        Raises:
            NotFound: the scope is nobody's yet, or out of reach.
            Forbidden: the caller is a member, but not the owner.
            Conflict: they are a member already.
        """
        async with self._desk.account(who, "member.add", scope=scope) as account:
            require_role(who, "writer")
            if not subject or subject != subject.strip() or "*" in subject:
                raise InvalidInput("Say with whom: the name of a person, or key/<key id>.")
            check_line("subject", subject)
            _require_owner(who, await self._members(who, account, scope))
            member = Member(scope=scope, subject=subject, owner=False, since=utc(self._desk.clock.now()))
            entries = _entries(account, "scope.shared", scope, subject)
            await self._desk.store.members.add_member(who.tenant, member, entries)
            return member

    async def unshare(self, who: Principal, scope: Scope, subject: str) -> None:
        """
        Share a session or a room with somebody no longer. For its owner, for admins, and for the member who leaves.

        Raises:
            NotFound: they are no member, or the scope is out of reach.
            Conflict: it is theirs.
        """
        async with self._desk.account(who, "member.remove", scope=scope) as account:
            require_role(who, "writer")
            members = await self._members(who, account, scope)
            if subject != who.subject:
                _require_owner(who, members)
            if any(member.owner and member.subject == subject for member in members):
                raise Conflict(f"{scope} belongs to {subject!r:.80}. An owner cannot leave.")
            entries = _entries(account, "scope.unshared", scope, subject)
            await self._desk.store.members.remove_member(who.tenant, scope, subject, entries)

    async def _members(self, who: Principal, account: Account, scope: Scope) -> list[Member]:
        if scope.kind not in SHAREABLE and not is_unclaimed(scope):
            raise InvalidInput("Only a session or a room has members: session:<id>, channel:<id>.")
        members = await self._desk.store.members.members(who.tenant, scope)
        if not (members or is_unclaimed(scope)) or not (await self._desk.with_members(who, [scope])).reaches(scope):
            await account.note("denied" if members else "not_found")
            raise NotFound(f"There is no {scope} that you reach. Whoever writes to a session first owns it.")
        return members


def _require_owner(who: Principal, members: list[Member]) -> None:
    if who.role != "admin" and not any(member.owner and member.subject == who.subject for member in members):
        raise Forbidden("Only its owner, or an admin, may do this.")


def _entries(account: Account, type: str, scope: Scope, subject: str) -> Entries:  # noqa: A002 - as events call it
    row = account.row("ok", details={"subject": subject})
    return Entries(audit=(row,), events=(account.news(type, scope=scope, data={"subject": subject}),))
