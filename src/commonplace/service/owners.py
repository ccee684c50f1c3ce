"""
Agents and workspaces.

What they remember are the records of the scope of their kind and id, whichever door they came in by: so an agent or a
workspace that nobody created, but whose scope holds records, is there as well. It has its id for a name, and, since nobody
switched its memory off, its memory is on.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from commonplace.errors import InvalidInput, NotFound, RecordChanged
from commonplace.governance.access import require_role
from commonplace.memory.lifecycle import bury
from commonplace.memory.validate import check_label
from commonplace.ports.journal import Entries
from commonplace.service.account import Account, Journaled
from commonplace.service.desk import Desk
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import Owner, OwnerKind, Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.retry import attempts
from commonplace.values.scope import Scope

_PAGE: Final = 500
_ATTEMPTS: Final = 50
_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_TAKEN: Final = frozenset({"learnings"})
"""What stands where an agent's id would, in the addresses of the native door."""
_REMOVED: Final = "the {kind} it belongs to was removed"


class Owners:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def owners(self, who: Principal, kind: OwnerKind) -> list[Owner]:
        """Those in reach, by name."""
        desk = self._desk
        async with desk.account(who, "owner.list"):
            owners = {owner.id: owner for owner in await desk.store.keys.owners(who.tenant, kind)}
            for mark in await desk.store.recall.marks(who.tenant, None):
                scope = mark.scope
                if scope.kind == kind and scope.id not in owners and mark.passages and who.reaches(scope):
                    implied = await self._implied(who, kind, scope.id)
                    owners.update({implied.id: implied} if implied else {})
            reached = [owner for owner in owners.values() if who.reaches(Scope(kind, owner.id))]
            return sorted(reached, key=lambda owner: (owner.name, owner.id))

    async def owner(self, who: Principal, kind: OwnerKind, id: str) -> Owner:
        scope = Scope(kind, id)
        async with self._desk.account(who, "owner.get", scope=scope):
            await self._desk.require(who, scope)
            return await self.known(who, kind, id)

    async def create(
        self, who: Principal, kind: OwnerKind, name: str, *, id: str | None = None, memory_enabled: bool = False
    ) -> Owner:
        """Raises Conflict where the id is taken."""
        desk = self._desk
        async with desk.account(who, "owner.create") as account:
            require_role(who, "writer")
            if id is not None and not _ID.fullmatch(id):
                raise InvalidInput("An id has 1 to 128 letters, digits, dots, colons, dashes or underscores.")
            if id in _TAKEN:
                raise InvalidInput(f"{id!r} is a word in the addresses of /v1. Choose another id.")
            now = utc(desk.clock.now())
            owner = Owner(
                kind=kind,
                id=id or new_id(now),
                tenant=who.tenant,
                name=check_label("name", name),
                created_at=now,
                updated_at=now,
                memory_enabled=memory_enabled,
            )
            account.scope = Scope(kind, owner.id)
            await desk.require(who, account.scope)
            await desk.store.keys.put_owner(owner, _told(account, "owner.created", owner), new=True)
            return owner

    async def change(
        self,
        who: Principal,
        kind: OwnerKind,
        id: str,
        *,
        name: str | None = None,
        memory_enabled: bool | None = None,
    ) -> Owner:
        """Give a new name, or switch its memory on or off. None leaves as it is."""
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "owner.change", scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            is_new = await desk.store.keys.owner(who.tenant, kind, id) is None
            owner = await self.known(who, kind, id)
            changed = replace(
                owner,
                name=owner.name if name is None else check_label("name", name),
                memory_enabled=owner.memory_enabled if memory_enabled is None else memory_enabled,
                updated_at=max(utc(desk.clock.now()), owner.updated_at),
            )
            await desk.store.keys.put_owner(changed, _told(account, "owner.changed", changed), new=is_new)
            return changed

    async def remove(self, who: Principal, kind: OwnerKind, id: str) -> int:
        """
        Remove an agent or a workspace, and leave a tombstone for every record of its scope. Stopped in the middle, it can
        be asked for again. Answers how many records that were.
        """
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "owner.remove", scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            owner = await self.known(who, kind, id)
            removed = await self._bury_all(who, scope, _REMOVED.format(kind=kind))
            account.details["records"] = removed
            entries = _told(account, "owner.removed", owner)
            if await desk.store.keys.owner(who.tenant, kind, id) is None:
                await desk.store.journal.note(entries)
            else:
                await desk.store.keys.remove_owner(who.tenant, kind, id, entries)
            return removed

    async def _bury_all(self, who: Principal, scope: Scope, reason: str) -> int:
        desk, removed = self._desk, 0
        journaled = Journaled(desk.store.records, desk.account(who, "record.delete", scope=scope))
        filter = Filter(scopes=(scope,), states=ALL_STATES - {"deleted"})
        async for _ in attempts(_ATTEMPTS):
            # Those that were buried are no longer found, so the first page is always the next one.
            while page := (await desk.store.records.find(who.tenant, filter, "oldest", _PAGE, None)).records:
                now = desk.clock.now()
                count = await bury(journaled, page, change="deleted", now=now, actor=who.actor, reason=reason)
                removed += count
                if not count:
                    break
            else:
                return removed
        raise RecordChanged("Others keep writing to it. Stop them first, then remove it.")

    async def known(self, who: Principal, kind: OwnerKind, id: str) -> Owner:
        owner = await self._desk.store.keys.owner(who.tenant, kind, id) or await self._implied(who, kind, id)
        if owner is None:
            raise NotFound(f"There is no such {kind}. Create it first, or write into its scope.")
        return owner

    async def _implied(self, who: Principal, kind: OwnerKind, id: str) -> Owner | None:
        """An owner that is there because its scope holds records."""
        page = await self._desk.store.records.find(who.tenant, Filter(scopes=(Scope(kind, id),)), "newest", 1, None)
        if not page.records:
            return None
        [last] = page.records
        return Owner(
            kind=kind,
            id=id,
            tenant=who.tenant,
            name=id,
            created_at=last.created_at,
            updated_at=last.updated_at,
            memory_enabled=kind == "agent",
        )


def _told(account: Account, type: str, owner: Owner) -> Entries:  # noqa: A002 - as events call it
    scope = Scope(owner.kind, owner.id)
    news = account.news(type, scope=scope, data={"kind": owner.kind, "id": owner.id})
    return Entries(audit=(account.row("ok", scope=scope),), events=(news,))
