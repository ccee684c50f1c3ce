"""Records and every version of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from commonplace.errors import Conflict, InvalidInput, RecordChanged, RecordNotFound, StoreError
from commonplace.ports.journal import Beside, BesidePurge, Entries
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import NOTHING, Entering
from commonplace.stores.postgres.reads import filter_params, read_cursor, write_cursor
from commonplace.stores.postgres.rows import Held, as_uuid, canonical, held_of, settled, tenant_of
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.writes import (
    Counters,
    Locked,
    Place,
    RecordPlan,
    Writing,
    drop,
    forget_departures,
    lock,
)
from commonplace.values.query import Filter, Order, Page
from commonplace.values.record import Draft, Lineage, Outcome, Record, Written
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

_SQL = statements("sql/records.sql")
_PURGED_TABLES = (b"passages", b"vectors", b"departures")
_ROUNDS = 10
_NOT_WIPED = (
    "The records are gone, but old bytes of theirs may still be in the files of the database. Run VACUUM FULL contents, "
    "layers, records, versions, jobs in the store's schema when nobody else is using it."
)

Key = tuple[Place, str]
Mark = tuple[Place, bytes]
Session = tuple[Place, str]
Id = tuple[str, str]


class SqlRecords:
    """Satisfies the port `RecordStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        drafts = [replace(draft, record=settled(draft.record)) for draft in drafts]

        async def work(connection: Connection) -> tuple[list[Written], Entries]:
            places = await lock(connection, [_place(draft.record) for draft in drafts])
            deciding = _Put(await _held_for(connection, drafts, places))
            written = [deciding.decide(draft) for draft in drafts]
            entries = beside(written) if beside else NOTHING
            await Writing(connection, places).store(deciding.lives, self._entering(entries))
            return written, entries

        written = await self._transactions.write_beside(work) if drafts or beside else []
        await self._transactions.database.grown(len(written))
        return written

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        drafts = [replace(draft, record=settled(draft.record)) for draft in drafts]

        async def work(connection: Connection) -> tuple[list[Record], Entries]:
            asked = [(draft.record.tenant, draft.record.id) for draft in drafts]
            places = await _lock_with(connection, asked, [_place(draft.record) for draft in drafts])
            held = await _by_id(connection, asked)
            lives = {id: RecordPlan(stored=found, once=found.once) for id, found in held.items()}
            revised = [_revise(lives, draft) for draft in drafts]
            await _leave_taken_marks(connection, list(lives.values()), places)
            entries = beside([Written(record, "updated") for record in revised]) if beside else NOTHING
            await Writing(connection, places).store(list(lives.values()), self._entering(entries))
            return revised, entries

        return await self._transactions.write_beside(work) if drafts or beside else []

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        async def work(connection: Connection) -> tuple[list[Written], Entries]:
            asked = [(lineage.versions[-1].tenant, lineage.versions[-1].id) for lineage in lineages]
            mentioned = [_place(record) for lineage in lineages for record in lineage.versions]
            places = await _lock_with(connection, asked, mentioned)
            lives = {
                id: RecordPlan(stored=found, once=found.once) for id, found in (await _by_id(connection, asked)).items()
            }
            for lineage in lineages:
                await _refuse_another_life(connection, lives, lineage)
            written = [_bring_in(lives, lineage) for lineage in lineages]
            entries = beside(written) if beside else NOTHING
            await Writing(connection, places).store(list(lives.values()), self._entering(entries))
            return written, entries

        for lineage in lineages:
            _check_lineage(lineage)
        written = await self._transactions.write_beside(work) if lineages or beside else []
        await self._transactions.database.grown(len(written))
        return written

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        found = await self._transactions.ask(_SQL["by_id"], _id_params([(tenant, id) for id in ids]))
        records = {held.record.id: held.record for held in map(held_of, found)}
        if missing := [id for id in ids if id not in records]:
            raise RecordNotFound(ids=missing)
        return [records[id] for id in ids]

    async def history(self, tenant: str, id: str) -> list[Record]:
        known = as_uuid(id)
        found = await self._transactions.ask(_SQL["history"], {"tenant": tenant, "id": known}) if known else []
        if not found:
            raise RecordNotFound(ids=[id])
        return [held_of(row).record for row in found]

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        place = read_cursor(cursor, order)

        async def work(connection: Connection) -> Page:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            if params is None or limit < 1:
                return Page((), None)
            asked = {**params, **place, "limit": limit + 1}
            records = [held.record for held in await _page(connection, f"find_{order}", asked)]
            if len(records) <= limit:
                return Page(tuple(records), None)
            snapshot = place["snapshot"] or (await rows(connection, _SQL["snapshot"]))[0][0]
            return Page(tuple(records[:limit]), write_cursor(order, snapshot, records[limit - 1]))

        return await self._transactions.read(work)

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        async def work(connection: Connection) -> list[Lineage]:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            if params is None:
                return []
            last = None if after is None else as_uuid(after)
            if after is not None and last is None:
                raise InvalidInput("The id to go on from is not a record's id.")
            found = await _page(connection, "find_id", {**params, "last_id": last, "limit": limit})
            past: dict[int, list[Record]] = {held.number: [] for held in found}
            asked = {"tenant": params["tenant"], "numbers": list(past)}
            for row in await rows(connection, _SQL["pasts"], asked):
                version = held_of(row)
                past[version.number].append(version.record)
            return [Lineage((*past[held.number], held.record), {}, held.once) for held in found]

        return await self._transactions.read(work)

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        async def work(connection: Connection) -> tuple[Purged, Entries]:
            found = await self._lock_matching(connection, tenant, filters)
            entries = beside([found[number] for number in sorted(found)]) if beside else NOTHING
            records, versions = await _drop(connection, sorted(found))
            await self._transactions.keep(connection, entries)
            return Purged(records, records + versions), entries

        purged = await self._transactions.write_beside(work)
        if purged.records:
            try:
                await self._transactions.database.outside(_wipe)
            except StoreError as error:
                raise type(error)(_NOT_WIPED) from error
        return purged

    def _entering(self, entries: Entries) -> Entering:
        return Entering(entries, self._transactions.now())

    async def _lock_matching(self, connection: Connection, tenant: str, filters: Sequence[Filter]) -> dict[int, str]:
        """The records to purge, ids by numbers, all in scopes that are locked and whose readers must read anew."""
        locked: set[Place] = set()
        for _ in range(_ROUNDS):
            found: dict[int, str] = {}
            wanted: set[Place] = set()
            for filter in filters:
                params = await filter_params(connection, tenant, filter, self._transactions.now())
                if params is not None:
                    places = await rows(connection, _SQL["matching_places"], params)
                    found |= {number: str(record) for number, record, _, _ in places}
                    wanted |= {(tenant, Scope(kind, id)) for _, _, kind, id in places}
            missing = wanted - locked
            if not missing:
                return found
            await lock(connection, sorted(missing), epochs=1)
            locked |= missing
        raise RecordChanged("The records to purge kept moving. Nothing was purged; try again.")


async def _drop(connection: Connection, numbers: Sequence[int]) -> tuple[int, int]:
    """How many records and past versions were dropped."""
    if not numbers:
        return 0, 0
    counters = Counters()
    dropped = await drop(connection, numbers, counters)
    await forget_departures(connection, numbers)
    await counters.write(connection)
    return dropped


async def _wipe(connection: Connection) -> None:
    """
    VACUUM gives space back but leaves old bytes in it; what held the text itself is written anew, or what quotes it: the metadata of
    a record that follows a file, and the tasks that told of that file.
    """
    await connection.execute(b"VACUUM FULL contents, layers, records, versions, jobs")
    for table in _PURGED_TABLES:
        await connection.execute(b"VACUUM " + table)


async def _page(connection: Connection, name: str, params: dict[str, Any]) -> list[Held]:
    """The records of a page in its order: numbers first, so that no text is read to be thrown away."""
    numbers = [number for (number,) in await rows(connection, _SQL[name], params)]
    if not numbers:
        return []
    asked = {"tenant": params["tenant"], "numbers": numbers}
    found = {held.number: held for held in map(held_of, await rows(connection, _SQL["by_number"], asked))}
    return [found[number] for number in numbers]


def _place(record: Record) -> Place:
    return record.tenant, record.scope


def _id_params(asked: Iterable[Id]) -> dict[str, list[Any]]:
    known = [(tenant, as_uuid(id)) for tenant, id in dict.fromkeys(asked)]
    return {"tenants": [tenant for tenant, id in known if id], "ids": [id for _, id in known if id]}


async def _by_id(connection: Connection, asked: Iterable[Id]) -> dict[Id, Held]:
    found = map(held_of, await rows(connection, _SQL["by_id"], _id_params(asked)))
    return {(held.record.tenant, held.record.id): held for held in found}


async def _lock_with(connection: Connection, asked: Sequence[Id], places: Sequence[Place]) -> dict[Place, Locked]:
    """Lock these scopes and those where the records asked for are; again, if one moved before its scope was locked."""
    locked: dict[Place, Locked] = {}
    for _ in range(_ROUNDS):
        now = await rows(connection, _SQL["places"], _id_params(asked))
        wanted = {*places, *((tenant, Scope(kind, id)) for tenant, kind, id in now)}
        if wanted <= locked.keys():
            return locked
        locked |= await lock(connection, sorted(wanted - locked.keys()))
    raise RecordChanged("The records kept moving. Nothing was written; try again.")


class _Taken:
    """What the scopes of a put hold already, by key and by mark."""

    def __init__(self) -> None:
        self.keys: dict[Key, Held] = {}
        self.marks: dict[Mark, Held] = {}
        self.next_places: dict[Session, int] = {}


async def _held_for(connection: Connection, drafts: Sequence[Draft], places: dict[Place, Locked]) -> _Taken:
    taken = _Taken()
    keys = {(places[_place(d.record)].number, d.record.key) for d in drafts if d.record.key is not None}
    if keys:
        asked = {"scopes": [scope for scope, _ in keys], "keys": [key for _, key in keys]}
        for held in map(held_of, await rows(connection, _SQL["by_key"], asked)):
            taken.keys[_place(held.record), held.record.key or ""] = held
    marks = {(places[_place(d.record)].number, d.once) for d in drafts if d.once is not None}
    if marks:
        asked = {"scopes": [scope for scope, _ in marks], "marks": [mark for _, mark in marks]}
        for held in map(held_of, await rows(connection, _SQL["by_once"], asked)):
            taken.marks[_place(held.record), held.once or b""] = held
    sessions = {(_place(d.record), d.record.session) for d in drafts if d.appends and d.record.session is not None}
    if sessions:
        named = {(places[place].number, session): (place, session) for place, session in sessions}
        asked = {"scopes": [scope for scope, _ in named], "sessions": [session for _, session in named]}
        for scope, session, last in await rows(connection, _SQL["last_places"], asked):
            taken.next_places[named[scope, session]] = 0 if last is None else last + 1
    return taken


class _Put:
    """Decides what each draft of a put becomes, in order, drafts of the same call included."""

    def __init__(self, taken: _Taken) -> None:
        by_number = {
            held.number: RecordPlan(stored=held, once=held.once)
            for held in (*taken.keys.values(), *taken.marks.values())
        }
        self.lives = list(by_number.values())
        self._keys = {key: by_number[held.number] for key, held in taken.keys.items()}
        self._marks = {mark: by_number[held.number] for mark, held in taken.marks.items()}
        self._next_places = taken.next_places

    def decide(self, draft: Draft) -> Written:
        record = draft.record
        place = _place(record)
        if draft.once is not None and (marked := self._marks.get((place, draft.once))) and marked.current:
            return Written(marked.current, "unchanged")
        life = self._keys.get((place, record.key)) if record.key is not None else None
        held = life.current if life else None
        if draft.expected is not None and draft.expected != (held.version if held else 0):
            raise RecordChanged(key=record.key, held=held.version if held else 0)
        if life is None or held is None:
            life = RecordPlan()
            self.lives.append(life)
            written = Written(replace(record, version=1, position=self._position(draft)), "created")
        else:
            written = _next(held, record, draft.keeps)
        if written.outcome != "unchanged":
            life.added.append((written.record, draft.passages))
        self._remember(life, draft, place)
        return written

    def _position(self, draft: Draft) -> int | None:
        """The place the draft has, or the one after the last of its session."""
        record = draft.record
        session = (_place(record), record.session or "")
        position = self._next_places[session] if draft.appends and record.session is not None else record.position
        if position is not None and session in self._next_places:
            self._next_places[session] = max(self._next_places[session], position + 1)
        return position

    def _remember(self, life: RecordPlan, draft: Draft, place: Place) -> None:
        if draft.record.key is not None:
            self._keys[place, draft.record.key] = life
        if draft.once is not None and life.added:
            life.once = draft.once
            self._marks[place, draft.once] = life


def _next(held: Record, draft: Record, keeps: Iterable[str]) -> Written:
    """The version after `held`, or `held` itself where nothing but the moment differs."""
    kept: dict[str, Any] = {name: getattr(held, name) for name in keeps}
    draft = replace(draft, **kept)
    same = replace(
        draft,
        id=held.id,
        version=held.version,
        created_at=held.created_at,
        updated_at=held.updated_at,
        change=held.change,
        actor=held.actor,
        reason=held.reason,
        restores=held.restores,
        metadata=held.metadata,
    )
    if same == held and canonical(draft.metadata) == canonical(held.metadata):
        return Written(held, "unchanged")
    change = draft.change
    if change == "created":
        change = "restored" if held.deleted_at is not None else "edited"
    outcome: Outcome = "updated"
    return Written(_following(held, replace(draft, id=held.id, change=change)), outcome)


def _following(held: Record, draft: Record) -> Record:
    """No version is older than the one before it, whatever the writers' clocks say."""
    moment = max(draft.updated_at, held.updated_at)
    return replace(draft, version=held.version + 1, created_at=held.created_at, updated_at=moment)


def _revise(lives: dict[Id, RecordPlan], draft: Draft) -> Record:
    if draft.expected is None:
        raise InvalidInput("A revision names the version it was made from.")
    id = (draft.record.tenant, draft.record.id)
    held = lives[id].current if id in lives else None
    if held is None and draft.expected:
        raise RecordNotFound(ids=[draft.record.id])
    if held is not None and draft.expected != held.version:
        raise RecordChanged(id=held.id, held=held.version)
    revised = _following(held, draft.record) if held else replace(draft.record, version=1)
    lives.setdefault(id, RecordPlan(once=draft.once)).added.append((revised, draft.passages))
    return revised


async def _leave_taken_marks(connection: Connection, lives: Sequence[RecordPlan], places: dict[Place, Locked]) -> None:
    """A record that moves to a scope where its mark is taken moves without it: there the mark keeps its meaning."""
    moving = [
        (places[_place(life.current)].number, life)
        for life in lives
        if life.stored and life.current and life.once is not None and life.stored.record.scope != life.current.scope
    ]
    if not moving:
        return
    asked = {"scopes": [scope for scope, _ in moving], "marks": [life.once for _, life in moving]}
    taken = {(held.scope, held.once) for held in map(held_of, await rows(connection, _SQL["by_once"], asked))}
    for scope, life in moving:
        if (scope, life.once) in taken:
            life.once = None
        taken.add((scope, life.once))


def _check_lineage(lineage: Lineage) -> None:
    versions = [record.version for record in lineage.versions]
    names = {(record.tenant, record.id) for record in lineage.versions}
    if not versions or len(names) != 1 or versions != sorted(set(versions)) or versions[0] < 1:
        raise InvalidInput("A lineage is the versions of one record, oldest first.")


async def _refuse_another_life(connection: Connection, lives: dict[Id, RecordPlan], lineage: Lineage) -> None:
    last = lineage.versions[-1]
    life = lives.get((last.tenant, last.id))
    if life is None or life.stored is None or life.stored.record.version >= last.version:
        return
    asked = {"tenant": tenant_of(life.stored.number), "numbers": [life.stored.number]}
    past = [held_of(row).record for row in await rows(connection, _SQL["pasts"], asked)]
    if not lineage.continues([*past, life.stored.record]):
        raise Conflict(f"The record {last.id} was changed here in another way. It was left as it is.", id=last.id)


def _bring_in(lives: dict[Id, RecordPlan], lineage: Lineage) -> Written:
    last = lineage.versions[-1]
    life = lives.setdefault((last.tenant, last.id), RecordPlan())
    held = life.current
    if held is not None and held.version >= last.version:
        return Written(held, "unchanged")
    life.anew = life.stored is not None
    life.once = lineage.once
    life.added = [(record, lineage.passages.get(record.text, ())) for record in lineage.versions]
    return Written(last, "created" if held is None else "updated")
