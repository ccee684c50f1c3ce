"""
Agents and workspaces.

What they remember are the records of the scope of their kind and id, whichever door they came in by: so an agent or a
workspace that nobody created, but whose scope holds records, is there as well. It has its id for a name, and, since nobody
switched its memory off, its memory is on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, RecordChanged
from commonplace.governance.access import require_role
from commonplace.governance.work_folders import WorkFolders
from commonplace.memory.lifecycle import bury
from commonplace.memory.validate import check_label
from commonplace.ports.journal import Entries
from commonplace.service.account import Account, Journaled
from commonplace.service.desk import Desk
from commonplace.values.agent_profile import AgentProfile, check_profile, needs_admin
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
    """
    `models` are the names of the language models that an agent may have; None: nobody looks before it speaks. `folders` says whose agent
    reads where.
    """

    def __init__(self, desk: Desk, models: Sequence[str] | None = None, folders: WorkFolders | None = None) -> None:
        self._desk = desk
        self._models = models
        self._folders = folders or WorkFolders()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the language models that may be asked for; the first speaks if nobody asks."""
        return tuple(self._models or ())

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

    async def profile(self, who: Principal, agent: str) -> AgentProfile:
        """How an agent is set up that the caller talks to; one that nobody set up is as any other."""
        scope = Scope("agent", agent)
        async with self._desk.account(who, "owner.get", scope=scope):
            await self._desk.require(who, scope)
            owner = await self._desk.store.keys.owner(who.tenant, "agent", agent)
            return (owner.profile if owner else None) or AgentProfile()

    async def create(
        self,
        who: Principal,
        kind: OwnerKind,
        name: str,
        *,
        id: str | None = None,
        memory_enabled: bool = False,
        profile: AgentProfile | None = None,
    ) -> Owner:
        """
        Raises:
            Conflict: the id is taken.
            Forbidden: only an admin may set up so much.
        """
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
                profile=await self._allowed(who, None, profile),
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
        profile: AgentProfile | None = None,
    ) -> Owner:
        """
        Give a new name, switch its memory on or off, or set it up anew. None leaves as it is.

        Raises:
            Forbidden: only an admin may set up so much.
        """
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "owner.change", scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            async for _ in attempts(_ATTEMPTS):
                row = await desk.store.keys.owner(who.tenant, kind, id)
                owner = row or await self.known(who, kind, id)
                changed = replace(
                    owner,
                    name=owner.name if name is None else check_label("name", name),
                    memory_enabled=owner.memory_enabled if memory_enabled is None else memory_enabled,
                    profile=await self._allowed(who, owner.profile, profile),
                    # Later than any other: so it shows whether the row is still the one that was looked at.
                    updated_at=max(utc(desk.clock.now()), owner.updated_at + timedelta(milliseconds=1)),
                )
                entries = _told(account, "owner.changed", changed)
                # What one may do was judged by what was there: somebody else's change is not undone unseen.
                with suppress(Conflict):
                    await desk.store.keys.put_owner(changed, entries, new=row is None, expected=row and row.updated_at)
                    return changed
            raise Conflict("Others keep changing it. Try again.")

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
            if owner.profile is not None and needs_admin(owner.profile, AgentProfile()) is not None:
                # Made again it would have what an admin had taken from it.
                require_role(who, "admin")
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

    async def _allowed(
        self, who: Principal, before: AgentProfile | None, after: AgentProfile | None
    ) -> AgentProfile | None:
        """The profile that the owner has from now on."""
        if after is None or after == before:
            return before
        check_profile(after)
        field = needs_admin(before or AgentProfile(), after)
        if field is not None and not who.is_at_least("admin"):
            raise Forbidden(
                f"Only an admin may change {field} so. A writer may change the persona and the model, and allow fewer tools.",
                field=field,
            )
        await asyncio.to_thread(self._require_machine, who, before or AgentProfile(), after)
        if after.model is not None and self._models is not None and after.model not in self._models:
            raise InvalidInput(
                f"The model {after.model!r:.80} may not be used here. Write one of: {', '.join(self._models)}. The operator "
                "allows others by models in [llm].",
                models=list(self._models),
            )
        return after

    def _require_machine(self, who: Principal, before: AgentProfile, after: AgentProfile) -> None:
        """
        An admin is one tenant's, and the machine is every tenant's: what runs there, or is given a variable of the daemon, is
        the operator's to say; what is read there lies below the roots.

        Raises:
            Forbidden, FolderForbidden.
        """
        if who.operator:
            return
        for server in after.mcp_servers:
            if server not in before.mcp_servers and (server.command is not None or server.token_env is not None):
                raise Forbidden(
                    "Only the operator may add an MCP server that is a command, or that is sent a variable of the daemon. Name "
                    "one by its url alone, or ask the operator.",
                    field="mcp_servers",
                )
        paths = {*after.skills, *after.resources} - {*before.skills, *before.resources}
        for path in paths:
            if not path.startswith(("http://", "https://")):
                self._folders.require(who, path)

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
