"""Records and every version of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from commonplace.errors import Conflict, InvalidInput, RecordChanged, RecordNotFound, StoreError
from commonplace.ports.journal import Beside, BesidePurge, Entries
from commonplace.stores.damage import DamageLog
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import NOTHING, Entering
from commonplace.stores.postgres.reads import filter_params, read_cursor, write_cursor
from commonplace.stores.postgres.rows import (
    StoredRecord,
    as_uuid,
    canonical,
    salvaged,
    settled,
    stored_record_of,
    tenant_of,
)
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
from commonplace.values.record import Draft, Lineage, Outcome, Record, Salvage, Unreadable, Written
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

_SQL = statements("sql/records.sql")
SalvagedRow: TypeAlias = tuple[StoredRecord, list[str]]
"""A record, and the names of its parts that could not be read."""
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
            deciding = _Put(await _records_for(connection, drafts, places))
            results = [deciding.decide(draft) for draft in drafts]
            entries = beside(results) if beside else NOTHING
            await Writing(connection, places).store(deciding.lives, self._entering(entries))
            return results, entries

        results = await self._transactions.write_beside(work) if drafts or beside else []
        await self._transactions.database.grown(len(results))
        return results

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        drafts = [replace(draft, record=settled(draft.record)) for draft in drafts]

        async def work(connection: Connection) -> tuple[list[Record], Entries]:
            ids = [(draft.record.tenant, draft.record.id) for draft in drafts]
            places = await _lock_with(connection, ids, [_place(draft.record) for draft in drafts])
            current_by_id = await _by_id(connection, ids)
            lives = {
                id: RecordPlan(stored=stored_record, once=stored_record.once)
                for id, stored_record in current_by_id.items()
            }
            revised = [_revise(lives, draft) for draft in drafts]
            await _leave_taken_marks(connection, list(lives.values()), places)
            entries = beside([Written(record, "updated") for record in revised]) if beside else NOTHING
            await Writing(connection, places).store(list(lives.values()), self._entering(entries))
            return revised, entries

        return await self._transactions.write_beside(work) if drafts or beside else []

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        async def work(connection: Connection) -> tuple[list[Written], Entries]:
            ids = [(lineage.versions[-1].tenant, lineage.versions[-1].id) for lineage in lineages]
            mentioned = [_place(record) for lineage in lineages for record in lineage.versions]
            places = await _lock_with(connection, ids, mentioned)
            lives = {
                id: RecordPlan(stored=stored_record, once=stored_record.once)
                for id, stored_record in (await _by_id(connection, ids)).items()
            }
            for lineage in lineages:
                await _refuse_another_life(connection, lives, lineage)
            results = [_bring_in(lives, lineage) for lineage in lineages]
            entries = beside(results) if beside else NOTHING
            await Writing(connection, places).store(list(lives.values()), self._entering(entries))
            return results, entries

        for lineage in lineages:
            _check_lineage(lineage)
        results = await self._transactions.write_beside(work) if lineages or beside else []
        await self._transactions.database.grown(len(results))
        return results

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        record_rows = await self._transactions.ask(_SQL["by_id"], _id_params([(tenant, id) for id in ids]))
        records = {
            stored_record.record.id: stored_record.record for stored_record in map(stored_record_of, record_rows)
        }
        if missing := [id for id in ids if id not in records]:
            raise RecordNotFound(ids=missing)
        return [records[id] for id in ids]

    async def history(self, tenant: str, id: str) -> list[Record]:
        record_id = as_uuid(id)
        record_rows = (
            await self._transactions.ask(_SQL["history"], {"tenant": tenant, "id": record_id}) if record_id else []
        )
        if not record_rows:
            raise RecordNotFound(ids=[id])
        return [stored_record_of(row).record for row in record_rows]

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        place = read_cursor(cursor, order)

        async def work(connection: Connection) -> Page:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            if params is None or limit < 1:
                return Page((), None)
            page_params = {**params, **place, "limit": limit + 1}
            page = await _salvaged_page(connection, f"find_{order}", page_params)
            records = _without_damaged(page[:limit], self._transactions.damage)
            if len(page) <= limit:
                return Page(records, None)
            snapshot = place["snapshot"] or (await rows(connection, _SQL["snapshot"]))[0][0]
            return Page(records, write_cursor(order, snapshot, page[limit - 1][0].record))

        return await self._transactions.read(work)

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        async def work(connection: Connection) -> list[Lineage]:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            if params is None:
                return []
            last = None if after is None else as_uuid(after)
            if after is not None and last is None:
                raise InvalidInput("The id to go on from is not a record's id.")
            page = [
                head
                for head, _ in await _salvaged_page(connection, "find_id", {**params, "last_id": last, "limit": limit})
            ]
            past: dict[int, list[Record]] = {stored_record.number: [] for stored_record in page}
            past_params = {"tenant": params["tenant"], "numbers": list(past)}
            for row in await rows(connection, _SQL["pasts"], past_params):
                version = stored_record_of(row)
                past[version.number].append(version.record)
            return [
                Lineage((*past[stored_record.number], stored_record.record), {}, stored_record.once)
                for stored_record in page
            ]

        return await self._transactions.read(work)

    async def salvage(self, tenant: str, filter: Filter, after: str | None, limit: int) -> Salvage:
        async def work(connection: Connection) -> Salvage:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            last = None if after is None else as_uuid(after)
            if params is None:
                return Salvage((), (), None)
            page = await _salvaged_page(connection, "find_id", {**params, "last_id": last, "limit": limit})
            past: dict[int, list[SalvagedRow]] = {stored_record.number: [] for stored_record, _ in page}
            past_params = {"tenant": params["tenant"], "numbers": list(past)}
            for row in await rows(connection, _SQL["pasts"], past_params):
                version = salvaged(row)
                past[version[0].number].append(version)
            unreadable = [
                _lost(stored_record, lost)
                for current in page
                for stored_record, lost in (*past[current[0].number], current)
                if lost
            ]
            lineages = [
                Lineage((*(stored.record for stored, _ in past[head.number]), head.record), {}, head.once)
                for head, _ in page
            ]
            return Salvage(tuple(lineages), tuple(unreadable), page[-1][0].record.id if page else None)

        return await self._transactions.read(work)

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        async def work(connection: Connection) -> tuple[Purged, Entries]:
            ids_by_number = await self._lock_matching(connection, tenant, filters)
            entries = beside([ids_by_number[number] for number in sorted(ids_by_number)]) if beside else NOTHING
            records, versions = await _drop(connection, sorted(ids_by_number))
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
            ids_by_number: dict[int, str] = {}
            scopes: set[Place] = set()
            for filter in filters:
                params = await filter_params(connection, tenant, filter, self._transactions.now())
                if params is not None:
                    places = await rows(connection, _SQL["matching_places"], params)
                    ids_by_number |= {number: str(record) for number, record, _, _ in places}
                    scopes |= {(tenant, Scope(kind, id)) for _, _, kind, id in places}
            missing = scopes - locked
            if not missing:
                return ids_by_number
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


async def _salvaged_page(connection: Connection, name: str, params: dict[str, Any]) -> list[SalvagedRow]:
    """The records of a page in its order, also those that are damaged: numbers first, so that no text is read to be thrown away."""
    numbers = [number for (number,) in await rows(connection, _SQL[name], params)]
    if not numbers:
        return []
    stored_rows = await rows(connection, _SQL["by_number"], {"tenant": params["tenant"], "numbers": numbers})
    by_number = {stored_record.number: (stored_record, lost) for stored_record, lost in map(salvaged, stored_rows)}
    return [by_number[number] for number in numbers]


def _without_damaged(page: Sequence[SalvagedRow], damage: DamageLog) -> tuple[Record, ...]:
    for stored_record, lost in page:
        if lost:
            item = _lost(stored_record, lost)
            damage.note(item.id, item.reason)
    return tuple(stored_record.record for stored_record, lost in page if not lost)


def _lost(stored_record: StoredRecord, lost: Sequence[str]) -> Unreadable:
    record = stored_record.record
    return Unreadable(id=record.id, reason=f"{', '.join(lost)} of version {record.version} left out: no valid JSON")


def _place(record: Record) -> Place:
    return record.tenant, record.scope


def _id_params(ids: Iterable[Id]) -> dict[str, list[Any]]:
    pairs = [(tenant, as_uuid(id)) for tenant, id in dict.fromkeys(ids)]
    return {"tenants": [tenant for tenant, id in pairs if id], "ids": [id for _, id in pairs if id]}


async def _by_id(connection: Connection, ids: Iterable[Id]) -> dict[Id, StoredRecord]:
    stored_records = map(stored_record_of, await rows(connection, _SQL["by_id"], _id_params(ids)))
    return {(stored_record.record.tenant, stored_record.record.id): stored_record for stored_record in stored_records}


async def _lock_with(connection: Connection, ids: Sequence[Id], places: Sequence[Place]) -> dict[Place, Locked]:
    """Lock these scopes and those where the records asked for are; again, if one moved before its scope was locked."""
    locked: dict[Place, Locked] = {}
    for _ in range(_ROUNDS):
        now = await rows(connection, _SQL["places"], _id_params(ids))
        scopes = {*places, *((tenant, Scope(kind, id)) for tenant, kind, id in now)}
        if scopes <= locked.keys():
            return locked
        locked |= await lock(connection, sorted(scopes - locked.keys()))
    raise RecordChanged("The records kept moving. Nothing was written; try again.")


class _Taken:
    """What the scopes of a put hold already, by key and by mark."""

    def __init__(self) -> None:
        self.keys: dict[Key, StoredRecord] = {}
        self.marks: dict[Mark, StoredRecord] = {}
        self.next_places: dict[Session, int] = {}


async def _records_for(connection: Connection, drafts: Sequence[Draft], places: dict[Place, Locked]) -> _Taken:
    taken = _Taken()
    keys = {(places[_place(d.record)].number, d.record.key) for d in drafts if d.record.key is not None}
    if keys:
        params = {"scopes": [scope for scope, _ in keys], "keys": [key for _, key in keys]}
        for stored_record in map(stored_record_of, await rows(connection, _SQL["by_key"], params)):
            taken.keys[_place(stored_record.record), stored_record.record.key or ""] = stored_record
    marks = {(places[_place(d.record)].number, d.once) for d in drafts if d.once is not None}
    if marks:
        params = {"scopes": [scope for scope, _ in marks], "marks": [mark for _, mark in marks]}
        for stored_record in map(stored_record_of, await rows(connection, _SQL["by_once"], params)):
            taken.marks[_place(stored_record.record), stored_record.once or b""] = stored_record
    sessions = {(_place(d.record), d.record.session) for d in drafts if d.appends and d.record.session is not None}
    if sessions:
        sessions_by_number = {(places[place].number, session): (place, session) for place, session in sessions}
        params = {
            "scopes": [scope for scope, _ in sessions_by_number],
            "sessions": [session for _, session in sessions_by_number],
        }
        for scope, session, last in await rows(connection, _SQL["last_places"], params):
            taken.next_places[sessions_by_number[scope, session]] = 0 if last is None else last + 1
    return taken


class _Put:
    """Decides what each draft of a put becomes, in order, drafts of the same call included."""

    def __init__(self, taken: _Taken) -> None:
        by_number = {
            stored_record.number: RecordPlan(stored=stored_record, once=stored_record.once)
            for stored_record in (*taken.keys.values(), *taken.marks.values())
        }
        self.lives = list(by_number.values())
        self._keys = {key: by_number[stored_record.number] for key, stored_record in taken.keys.items()}
        self._marks = {mark: by_number[stored_record.number] for mark, stored_record in taken.marks.items()}
        self._next_places = taken.next_places

    def decide(self, draft: Draft) -> Written:
        record = draft.record
        place = _place(record)
        if draft.once is not None and (marked := self._marks.get((place, draft.once))) and marked.current:
            return Written(marked.current, "unchanged")
        life = self._keys.get((place, record.key)) if record.key is not None else None
        current = life.current if life else None
        if draft.expected is not None and draft.expected != (current.version if current else 0):
            raise RecordChanged(key=record.key, held=current.version if current else 0)
        if life is None or current is None:
            life = RecordPlan()
            self.lives.append(life)
            result = Written(replace(record, version=1, position=self._position(draft)), "created")
        else:
            result = _next(current, record, draft.keeps)
        if result.outcome != "unchanged":
            life.added.append((result.record, draft.passages))
        self._remember(life, draft, place)
        return result

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


def _next(current: Record, draft: Record, keeps: Iterable[str]) -> Written:
    """The version after `current`, or `current` itself where nothing but the moment differs."""
    kept_fields: dict[str, Any] = {name: getattr(current, name) for name in keeps}
    draft = replace(draft, **kept_fields)
    same = replace(
        draft,
        id=current.id,
        version=current.version,
        created_at=current.created_at,
        updated_at=current.updated_at,
        change=current.change,
        actor=current.actor,
        reason=current.reason,
        restores=current.restores,
        metadata=current.metadata,
    )
    if same == current and canonical(draft.metadata) == canonical(current.metadata):
        return Written(current, "unchanged")
    change = draft.change
    if change == "created":
        change = "restored" if current.deleted_at is not None else "edited"
    outcome: Outcome = "updated"
    return Written(_following(current, replace(draft, id=current.id, change=change)), outcome)


def _following(current: Record, draft: Record) -> Record:
    """No version is older than the one before it, whatever the writers' clocks say."""
    moment = max(draft.updated_at, current.updated_at)
    return replace(draft, version=current.version + 1, created_at=current.created_at, updated_at=moment)


def _revise(lives: dict[Id, RecordPlan], draft: Draft) -> Record:
    if draft.expected is None:
        raise InvalidInput("A revision names the version it was made from.")
    id = (draft.record.tenant, draft.record.id)
    current = lives[id].current if id in lives else None
    if current is None and draft.expected:
        raise RecordNotFound(ids=[draft.record.id])
    if current is not None and draft.expected != current.version:
        raise RecordChanged(id=current.id, held=current.version)
    revised = _following(current, draft.record) if current else replace(draft.record, version=1)
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
    params = {"scopes": [scope for scope, _ in moving], "marks": [life.once for _, life in moving]}
    taken = {
        (stored_record.scope, stored_record.once)
        for stored_record in map(stored_record_of, await rows(connection, _SQL["by_once"], params))
    }
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
    params = {"tenant": tenant_of(life.stored.number), "numbers": [life.stored.number]}
    past = [stored_record_of(row).record for row in await rows(connection, _SQL["pasts"], params)]
    if not lineage.continues([*past, life.stored.record]):
        raise Conflict(f"The record {last.id} was changed here in another way. It was left as it is.", id=last.id)


def _bring_in(lives: dict[Id, RecordPlan], lineage: Lineage) -> Written:
    last = lineage.versions[-1]
    life = lives.setdefault((last.tenant, last.id), RecordPlan())
    current = life.current
    if current is not None and current.version >= last.version:
        return Written(current, "unchanged")
    life.anew = life.stored is not None
    life.once = lineage.once
    life.added = [(record, lineage.passages.get(record.text, ())) for record in lineage.versions]
    return Written(last, "created" if current is None else "updated")
