"""
Agents and workspaces, and the memories under their keys.

An owner's memories are the records of the scope of its kind and id, whichever door they came in by: so an agent or a
workspace that nobody created, but whose scope holds records, is there as well. It has its id for a name, and, since nobody
switched its memory off, its memory is on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast, get_args

from commonplace.errors import Conflict, InvalidInput, NotFound, RecordChanged, RecordNotFound
from commonplace.governance.access import require_role, require_scope, require_trust
from commonplace.memory.lifecycle import bury
from commonplace.memory.validate import check_label
from commonplace.ports.journal import Entries
from commonplace.service.account import Account, Journaled
from commonplace.service.capture import held_under, worth_writing
from commonplace.service.desk import Desk
from commonplace.service.records import Records
from commonplace.values.changes import Changes
from commonplace.values.moment import new_id, utc
from commonplace.values.note import Note
from commonplace.values.principal import Owner, OwnerKind, Principal
from commonplace.values.query import ALL_STATES, Filter, Order
from commonplace.values.record import Provenance, Record, Trust, Written
from commonplace.values.retry import attempts
from commonplace.values.scope import Scope

Source = Literal["manual", "auto", "director"]

MAX_CAPTURED: Final = 2_000
_PAGE: Final = 500
_ATTEMPTS: Final = 50
_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_NO_MEMORIES: Final = frozenset({"turn", "resource"})
_ORDERS: Final[dict[OwnerKind, Order]] = {"agent": "key", "workspace": "pinned"}
_REMOVED: Final = "the {kind} it belongs to was removed"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryDraft:
    """A memory as it is written under its key."""

    key: str
    value: str
    source: Source = "manual"
    pinned: bool = False
    importance: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CapturedFact:
    """What was learned without anybody writing it down: its key, and where it comes from."""

    key: str
    value: str
    source: Literal["auto", "director"] = "auto"
    trust: Trust = "system_generated"
    session: str | None = None
    provenance: Provenance = Provenance()


def shown_key(record: Record) -> str:
    """The key; a record that has none, from a door that needs none, goes by its id."""
    return record.key or f"record:{record.id}"


def shown_source(record: Record) -> Source:
    """One of three: what no person and no director wrote, some program did."""
    return cast(Source, record.source) if record.source in get_args(Source) else "auto"


class Owners:
    def __init__(self, desk: Desk, records: Records) -> None:
        self._desk = desk
        self._records = records

    # ---- agents and workspaces

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
            require_scope(who, scope)
            return await self._known(who, kind, id)

    async def create(
        self, who: Principal, kind: OwnerKind, name: str, *, id: str | None = None, memory_enabled: bool = False
    ) -> Owner:
        """Raises Conflict where the id is taken."""
        desk = self._desk
        async with desk.account(who, "owner.create") as account:
            require_role(who, "writer")
            if id is not None and not _ID.fullmatch(id):
                raise InvalidInput("An id has 1 to 128 letters, digits, dots, colons, dashes or underscores.")
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
            require_scope(who, account.scope)
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
            require_scope(who, scope)
            is_new = await desk.store.keys.owner(who.tenant, kind, id) is None
            owner = await self._known(who, kind, id)
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
            require_scope(who, scope)
            owner = await self._known(who, kind, id)
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
                count = await bury(journaled, page, change="deleted", now=now, actor=who.subject, reason=reason)
                removed += count
                if not count:
                    break
            else:
                return removed
        raise RecordChanged("Others keep writing to it. Stop them first, then remove it.")

    async def _known(self, who: Principal, kind: OwnerKind, id: str) -> Owner:
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

    # ---- memories

    async def memories(
        self,
        who: Principal,
        kind: OwnerKind,
        id: str,
        *,
        source: Source | None = None,
        pinned: bool | None = None,
    ) -> list[Record]:
        """All of them: pinned first, then important, then by key (an agent's) or newest first (a workspace's)."""
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "record.list", scope=scope):
            require_scope(who, scope)
            await self._known(who, kind, id)
            records: list[Record] = []
            cursor: str | None = None
            filter = Filter(scopes=(scope,), pinned=pinned)
            while True:
                page = await desk.store.records.find(who.tenant, filter, _ORDERS[kind], _PAGE, cursor)
                records += [
                    record for record in page.records if _is_memory(record) and source in (None, shown_source(record))
                ]
                if (cursor := page.cursor) is None:
                    break
            if kind == "agent":
                # The store knows no key of a record that goes by its id.
                records.sort(key=lambda record: (not record.pinned, -record.importance, shown_key(record)))
            return records

    async def remember(self, who: Principal, kind: OwnerKind, id: str, memory: MemoryDraft) -> Record:
        """Write a memory under its key. One that is there keeps its id, and all that a memory does not name."""
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "record.put", scope=scope) as account:
            require_role(who, "writer")
            require_scope(who, scope)
            await self._known(who, kind, id)
            async for _ in attempts(_ATTEMPTS):
                record = await held_under(desk.store.records, who.tenant, scope, memory.key)
                if record is not None and record.kind in _NO_MEMORIES and not record.deleted_at:
                    raise Conflict(f"A {record.kind} of this {kind} has that key. Choose another one.")
                try:
                    return await self._written(who, account, scope, memory, record)
                except Conflict:
                    # Somebody was first: what they left decides what is to be done now.
                    continue
            raise RecordChanged

    async def _written(
        self, who: Principal, account: Account, scope: Scope, memory: MemoryDraft, record: Record | None
    ) -> Record:
        desk = self._desk
        engines, journaled = desk.engines(who), Journaled(desk.store.records, account)
        if record is not None and record.state(desk.clock.now()) == "live":
            changes: Changes = {
                "text": memory.value,
                "source": memory.source,
                "pinned": memory.pinned,
                "importance": memory.importance,
            }
            changed = await engines.lifecycle(journaled, who.subject).edit(record.id, changes)
            await account.note_unchanged(changed)
            return changed
        note = Note(
            text=memory.value,
            scope=scope,
            key=memory.key,
            kind="fact",
            source=memory.source,
            pinned=memory.pinned,
            importance=memory.importance,
            visibility="shared",
            expected=record.version if record else 0,
        )
        [write] = await engines.writer(journaled).put([note], actor=who.subject)
        return write.record

    async def edit(self, who: Principal, kind: OwnerKind, id: str, memory: str, changes: Changes) -> Record:
        """Change what is named. The key stays."""
        await self._require_memory(who, "record.edit", Scope(kind, id), memory)
        return await self._records.edit(who, memory, changes)

    async def pin(self, who: Principal, kind: OwnerKind, id: str, memory: str, pinned: bool) -> Record:
        await self._require_memory(who, "record.pin", Scope(kind, id), memory)
        return await self._records.pin(who, memory, pinned)

    async def forget(self, who: Principal, kind: OwnerKind, id: str, memory: str) -> Record:
        await self._require_memory(who, "record.delete", Scope(kind, id), memory)
        return await self._records.delete(who, memory)

    async def upsert_captured(
        self, who: Principal, kind: OwnerKind, id: str, learned: Sequence[CapturedFact]
    ) -> list[Written]:
        """
        Keep what was learned, all of it or none, each value cut to 2,000 characters. A record under the key keeps its pin
        and its importance. What a person wrote or took away is left as it is and not answered.
        """
        desk, scope = self._desk, Scope(kind, id)
        async with desk.account(who, "record.put", scope=scope) as account:
            require_role(who, "writer")
            require_scope(who, scope)
            for fact in learned:
                require_trust(who, fact.trust)
            writer = desk.engines(who).writer(Journaled(desk.store.records, account))
            last = {fact.key: fact for fact in learned}
            notes = [_note(scope, fact) for fact in last.values()]
            async for _ in attempts(_ATTEMPTS):
                fresh = await worth_writing(desk.store.records, who.tenant, notes, desk.clock.now())
                try:
                    return await writer.put(fresh, actor=who.subject) if fresh else []
                except RecordChanged:
                    continue
            raise RecordChanged

    async def _require_memory(self, who: Principal, action: str, scope: Scope, memory: str) -> None:
        desk = self._desk
        async with desk.account(who, action, scope=scope) as account:
            require_role(who, "writer")
            require_scope(who, scope)
            record = await desk.found(who, account, memory)
            if record.scope != scope or not _is_memory(record) or record.state(desk.clock.now()) != "live":
                raise RecordNotFound(f"There is no such memory of this {scope.kind}.")


def _is_memory(record: Record) -> bool:
    """What was said and what was handed in as a document are searched, but are not memories under a key."""
    return record.kind not in _NO_MEMORIES


def _note(scope: Scope, learned: CapturedFact) -> Note:
    return Note(
        text=learned.value[:MAX_CAPTURED],
        scope=scope,
        key=learned.key,
        kind="fact",
        source=learned.source,
        trust=learned.trust,
        visibility="shared",
        session=learned.session,
        provenance=learned.provenance,
    )


def _told(account: Account, type: str, owner: Owner) -> Entries:  # noqa: A002 - as events call it
    scope = Scope(owner.kind, owner.id)
    news = account.news(type, scope=scope, data={"kind": owner.kind, "id": owner.id})
    return Entries(audit=(account.row("ok", scope=scope),), events=(news,))
