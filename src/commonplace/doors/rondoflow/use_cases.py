"""
The memories of agents and workspaces under their keys.

An owner's memories are the records of the scope of its kind and id, whichever door they came in by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast, get_args

from commonplace.errors import Conflict, RecordChanged, RecordNotFound
from commonplace.governance.access import own_trust, require_role
from commonplace.service.account import Account, Journaled, with_outcome
from commonplace.service.capture import held_under, worth_writing
from commonplace.service.desk import Desk
from commonplace.service.owners import Owners
from commonplace.service.records import Records
from commonplace.values.changes import Changes
from commonplace.values.note import Note
from commonplace.values.principal import OwnerKind, Principal
from commonplace.values.query import Filter, Order
from commonplace.values.record import Provenance, Record, Trust, Written
from commonplace.values.retry import attempts
from commonplace.values.scope import Scope

Source = Literal["manual", "auto", "director"]

MAX_CAPTURED: Final = 2_000
_PAGE: Final = 500
_ATTEMPTS: Final = 50
_NO_MEMORIES: Final = frozenset({"turn", "resource"})
_ORDERS: Final[dict[OwnerKind, Order]] = {"agent": "key", "workspace": "pinned"}


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


class KeyedMemories:
    def __init__(self, desk: Desk, records: Records, owners: Owners) -> None:
        self._desk = desk
        self._records = records
        self._owners = owners

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
            await desk.require(who, scope)
            await self._owners.known(who, kind, id)
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
            await desk.require(who, scope)
            await self._owners.known(who, kind, id)
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
            changed = await engines.lifecycle(journaled, who.actor).edit(record.id, changes)
            return await account.answer(changed, before=record)
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
        [write] = await engines.writer(journaled).put([note], actor=who.actor)
        return with_outcome(write).record

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
            await desk.require(who, scope)
            learned = [replace(fact, trust=own_trust(who, fact.trust)) for fact in learned]
            writer = desk.engines(who).writer(Journaled(desk.store.records, account))
            last = {fact.key: fact for fact in learned}
            notes = [_note(scope, fact) for fact in last.values()]
            async for _ in attempts(_ATTEMPTS):
                fresh = await worth_writing(desk.store.records, who.tenant, notes, desk.clock.now())
                try:
                    return await writer.put(fresh, actor=who.actor) if fresh else []
                except RecordChanged:
                    continue
            raise RecordChanged

    async def _require_memory(self, who: Principal, action: str, scope: Scope, memory: str) -> None:
        desk = self._desk
        async with desk.account(who, action, scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
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
