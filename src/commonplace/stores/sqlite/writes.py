# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Writing records: everything here runs inside one transaction of the writer thread."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import apsw

from commonplace.errors import Conflict, EmbedderChanged, RecordChanged, RecordNotFound, WrongDimension
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import CURRENT, PAST, Row, id_bytes, live, one, record, rows, shared
from commonplace.text.postings import written_hashes
from commonplace.values.record import Draft, Lineage, Passage, Record, Written
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

SQL = load("commonplace.stores.sqlite", "sql/writes.sql")
PASSAGES = 4096


@dataclass(slots=True)
class _Tally:
    """What a write did to one scope."""

    seq: int
    passages: int = 0
    terms: int = 0
    epoch: int = 0


@dataclass(slots=True)
class _StoredRecord:
    number: int
    scope: int
    content: int
    record: Record


@dataclass(slots=True)
class _Pending:
    """Rows of new records, gathered so that a batch is a few `executemany` calls."""

    contents: list[Row] = field(default_factory=list[Row])
    passages: list[Row] = field(default_factory=list[Row])
    vectors: list[Row] = field(default_factory=list[Row])
    words: list[Row] = field(default_factory=list[Row])
    records: list[Row] = field(default_factory=list[Row])


def words_of(scope: int, terms: bytes) -> str:
    """The FTS text of a passage: each term's hash behind its scope."""
    mark = f"{scope:x}z"
    return mark + written_hashes(terms).replace(" ", " " + mark) if terms else ""


def check_vector(dimensions: Mapping[str, int], name: str, vector: bytes) -> None:
    if name not in dimensions:
        raise EmbedderChanged(f"The store keeps no vectors of {name}. Run `commonplace reindex` to take it in.")
    if len(vector) != dimensions[name]:
        raise WrongDimension


class Writing:
    """One write transaction. `finish` must be called last."""

    def __init__(self, db: apsw.Connection, records: int = 1) -> None:
        self._db = db
        self._ahead = min(max(records, 1), PASSAGES)
        embedders: list[tuple[str, int, int]] = rows(db, "SELECT name, number, dimension FROM embedders")
        self._embedders = {name: number for name, number, _ in embedders}
        self._dimensions = {name: dimension for name, _, dimension in embedders}
        self._scopes: dict[tuple[str, Scope], int] = {}
        self._tallies: dict[int, _Tally] = {}
        self._pending = _Pending()
        self._pending_marks: set[tuple[int, str | bytes]] = set()
        self._free: dict[str, list[int]] = defaultdict(list)
        self._places: dict[tuple[int, str], int] = {}
        self._left: set[int] = set()

    def put(self, draft: Draft) -> Written:
        record, scope = draft.record, self._scope(draft.record.tenant, draft.record.scope)
        if duplicate := self._find("held_by_mark", scope, draft.once):
            return Written(duplicate.record, "unchanged")
        current = self._find("held_by_key", scope, record.key)
        if current is None:
            if draft.expected:
                raise RecordChanged(f"No record has the key {record.key!r} in {record.scope}.")
            place = record.position
            if draft.appends and record.session is not None:
                place = self._next_place(scope, record.session)
            if (place, 1) != (record.position, record.version):
                record = replace(record, position=place, version=1)
            self._add(record, draft, scope)
            return Written(record, "created")
        if draft.expected is not None and draft.expected != current.record.version:
            raise RecordChanged
        kept_fields = {name: getattr(current.record, name) for name in draft.keeps}
        following = replace(
            record,
            **kept_fields,
            id=current.record.id,
            version=current.record.version,
            created_at=current.record.created_at,
        )
        if _same(following, current.record):
            return Written(current.record, "unchanged")
        change = record.change
        if change == "created":
            change = "edited" if current.record.deleted_at is None else "restored"
        return Written(self._follow(current, replace(draft, record=replace(following, change=change))), "updated")

    def revise(self, draft: Draft) -> Record:
        self._flush()
        row = one(self._db, SQL["held_by_id"], (id_bytes(draft.record.id), draft.record.tenant))
        if row is None and draft.expected == 0:
            if self._find("held_by_key", self._scope(draft.record.tenant, draft.record.scope), draft.record.key):
                raise _taken(draft.record)
            return self.put(draft).record
        if row is None:
            raise RecordNotFound
        current = _StoredRecord(row[0], row[1], row[2], self._record(row[0]))
        if draft.expected != current.record.version:
            raise RecordChanged
        return self._follow(current, draft)

    def load(self, lineage: Lineage) -> Written:
        self._flush()
        last = lineage.versions[-1]
        row = one(self._db, "SELECT number FROM records WHERE id = ?", (id_bytes(last.id),))
        if row is not None:
            current = self._record(row[0])
            if current.tenant != last.tenant:
                raise Conflict(f"The record {last.id} belongs to another tenant of this store.")
            if current.version >= last.version:
                return Written(current, "unchanged")
            past = [record(version) for version in rows(self._db, f"{PAST} WHERE v.number = ?", (row[0],))]
            if not lineage.continues([*past, current]):
                raise Conflict(
                    f"The record {last.id} was changed here in another way. It was left as it is.", id=last.id
                )
            self.purge([row[0]])
        self._bring(lineage)
        return Written(last, "updated" if row else "created")

    def move(self, number: int, tenant: str, target: Scope) -> None:
        """
        Put a record into another scope with all its versions, as if it had always been there. A mark or a key that is taken there is
        left behind.
        """
        self._flush()
        [(start, content, is_live)] = rows(self._db, SQL["placed"], (number,))
        scope = self._scope(tenant, target)
        if is_live:
            self._retire(content, start)
        for old, _ in rows(self._db, SQL["contents_of"], {"number": number}):
            self._move_vectors(old, -start, -scope)
        for (place,) in rows(self._db, SQL["scopes_of"], {"number": number}):
            self._tally(place).epoch = 1
        bound = {"number": number, "scope": scope, "seq": self._tally(scope).seq}
        for name in ("leave_mark", "leave_key", "move_versions", "move_record"):
            self._db.execute(SQL[name], bound)
        if is_live:
            self._move_vectors(content, -scope, scope)
            self._enliven(scope, rows(self._db, SQL["passages_of"], {"content": content}))

    def ids(self, numbers: Sequence[int]) -> list[str]:
        sql = "SELECT id FROM records WHERE number = ?"
        return [str(uuid.UUID(bytes=self._db.execute(sql, (number,)).get)) for number in numbers]

    def purge(self, numbers: Sequence[int]) -> Purged:
        self._flush()
        versions = 0
        for number in numbers:
            current = self._record(number)
            for content, scope in rows(self._db, SQL["contents_of"], {"number": number}):
                if live(current) and content == self._content(number):
                    self._retire(content, scope)
                for embedder in self._embedders.values():
                    self._db.execute(SQL["drop_vectors"], {"embedder": embedder, "scope": scope, "content": content})
                self._db.execute(SQL["drop_passages"], {"content": content})
                self._db.execute(SQL["drop_content"], (content,))
                self._tally(scope).epoch = 1
            self._left.update(scope for (scope,) in rows(self._db, SQL["scopes_of"], {"number": number}))
            self._db.execute(SQL["drop_versions"], (number,))
            versions += self._db.changes()
            self._db.execute(SQL["drop_layers"], (number,))
            self._db.execute(SQL["drop_record"], (number,))
        return Purged(len(numbers), versions + len(numbers))

    def forget_scopes(self) -> None:
        """After a purge: the names of scopes that nothing is left of."""
        for scope in self._left:
            self._db.execute(SQL["forget_scope"], {"scope": scope})

    def finish(self) -> None:
        self._flush()
        for scope, tally in self._tallies.items():
            self._db.execute(
                SQL["move_on"],
                {"scope": scope, "epoch": tally.epoch, "passages": tally.passages, "terms": tally.terms},
            )

    # ---- one record

    def _add(self, record: Record, draft: Draft, scope: int) -> None:
        content, number = self._number("contents"), self._number("records")
        tally = self._tally(scope)
        self._pending.contents.append((content, number, record.text))
        self._shelve(content, draft.passages or (), scope if live(record) else -scope)
        if live(record):
            self._enliven(scope, _numbered(content, draft.passages or ()))
        columns = shared(record, content)
        self._pending.records.append((number, id_bytes(record.id), scope, tally.seq, draft.once, *columns))
        if record.key is not None:
            self._pending_marks.add((scope, record.key))
        if draft.once is not None:
            self._pending_marks.add((scope, draft.once))

    def _follow(self, current: _StoredRecord, draft: Draft) -> Record:
        """Write `draft` as the version after `current`."""
        self._flush()
        before = current.record
        after = replace(
            draft.record, version=before.version + 1, updated_at=max(draft.record.updated_at, before.updated_at)
        )
        scope, content = self._scope(after.tenant, after.scope), current.content
        if live(before):
            self._retire(current.content, current.scope)
        self._db.execute(SQL["keep_version"], (current.number,))
        if (after.text, after.speaker, after.at) != (before.text, before.speaker, before.at):
            content = self._number("contents")
            self._pending.contents.append((content, current.number, after.text))
            self._shelve(content, draft.passages or (), -scope)
            self._flush()
        if scope != current.scope:
            for old, _ in rows(self._db, SQL["contents_of"], {"number": current.number}):
                self._move_vectors(old, -current.scope, -scope)
            self._db.execute(SQL["leave_mark"], {"number": current.number, "scope": scope})
            # The record vanishes from the scope it leaves without a row there: caches start anew.
            self._tally(current.scope).epoch = 1
        values = (scope, self._tally(scope).seq, *shared(after, content), current.number)
        try:
            self._db.execute(SQL["change_record"], values)
        except apsw.ConstraintError as error:
            raise _taken(after) from error
        if live(after):
            self._move_vectors(content, -scope, scope)
            self._enliven(scope, rows(self._db, SQL["passages_of"], {"content": content}))
            self._flush()
        self._tally(current.scope)
        return after

    def _bring(self, lineage: Lineage) -> None:
        """Insert a whole life as it was elsewhere."""
        last, number, contents = lineage.versions[-1], self._number("records"), dict[str, int]()
        scope = self._scope(last.tenant, last.scope)
        for version in lineage.versions:
            if version.text not in contents:
                contents[version.text] = self._number("contents")
                self._pending.contents.append((contents[version.text], number, version.text))
                self._shelve(contents[version.text], lineage.passages.get(version.text, ()), -scope)
        tally = self._tally(scope)
        columns = shared(last, contents[last.text])
        self._pending.records.append((number, id_bytes(last.id), scope, tally.seq, lineage.once, *columns))
        self._flush()
        for version in lineage.versions[:-1]:
            where = self._scope(version.tenant, version.scope)
            self._db.execute(SQL["add_version"], (number, where, *shared(version, contents[version.text])))
        if live(last):
            self._move_vectors(contents[last.text], -scope, scope)
            self._enliven(scope, rows(self._db, SQL["passages_of"], {"content": contents[last.text]}))

    # ---- passages, words, vectors

    def _shelve(self, content: int, passages: Sequence[Passage], scope: int) -> None:
        """Keep passages and vectors; `scope` is negative where they are not live (yet)."""
        for n, passage in enumerate(passages):
            number = content * PASSAGES + n
            self._pending.passages.append((number, passage.start, passage.stop, passage.length, passage.terms))
            for name, vector in passage.vectors.items():
                check_vector(self._dimensions, name, vector)
                self._pending.vectors.append((self._embedders[name], scope, number, vector))

    def _enliven(self, scope: int, passages: Iterable[Row]) -> None:
        """Make passages findable. Their vectors stand under the scope already."""
        tally = self._tally(scope)
        for number, length, terms in passages:
            self._pending.words.append((number, words_of(scope, terms)))
            tally.passages += 1
            tally.terms += length

    def _retire(self, content: int, scope: int) -> None:
        tally = self._tally(scope)
        for number, length, _ in rows(self._db, SQL["passages_of"], {"content": content}):
            self._db.execute(SQL["drop_words"], (number,))
            tally.passages -= 1
            tally.terms -= length
        self._move_vectors(content, scope, -scope)

    def _move_vectors(self, content: int, start: int, to: int) -> None:
        for embedder in self._embedders.values():
            self._db.execute(SQL["move_vectors"], {"embedder": embedder, "content": content, "from": start, "to": to})

    # ---- small change

    def _find(self, name: str, scope: int, mark: str | bytes | None) -> _StoredRecord | None:
        if mark is None:
            return None
        if (scope, mark) in self._pending_marks:
            self._flush()
        row = one(self._db, SQL[name], (scope, mark))
        return None if row is None else _StoredRecord(row[0], row[1], row[2], self._record(row[0]))

    def _record(self, number: int) -> Record:
        row = one(self._db, f"{CURRENT} WHERE v.number = ?", (number,))
        if row is None:
            raise RecordNotFound
        return record(row)

    def _content(self, number: int) -> int:
        row = one(self._db, "SELECT content FROM records WHERE number = ?", (number,))
        return row[0] if row else 0

    def _next_place(self, scope: int, session: str) -> int:
        place = self._places.get((scope, session))
        if place is None:
            place = int(self._db.execute(SQL["next_place"], (scope, session)).get)
        self._places[(scope, session)] = place + 1
        return place

    def _scope(self, tenant: str, scope: Scope) -> int:
        number = self._scopes.get((tenant, scope))
        if number is None:
            where = (tenant, scope.kind, scope.id)
            self._db.execute(SQL["add_scope"], where)
            number = self._db.execute(SQL["scope_number"], where).get
            self._scopes[(tenant, scope)] = number
        return number

    def _tally(self, scope: int) -> _Tally:
        tally = self._tallies.get(scope)
        if tally is None:
            tally = self._tallies[scope] = _Tally(self._db.execute(SQL["next_seq"], (scope,)).get)
        return tally

    def _number(self, name: str) -> int:
        """A number never used before. Taken some at a time; what is left over is skipped, not reused."""
        free = self._free[name]
        if not free:
            first = self._db.execute(SQL["take_numbers"], {"name": name, "many": self._ahead}).get
            free.extend(range(first + self._ahead - 1, first - 1, -1))
        return free.pop()

    def _flush(self) -> None:
        pending = self._pending
        for name in ("contents", "passages", "vectors", "words", "records"):
            gathered: list[Row] = getattr(pending, name)
            if gathered:
                self._insert(SQL[_ADDING[name]], gathered)
                gathered.clear()
        self._pending_marks.clear()

    def _insert(self, sql: str, gathered: list[Row]) -> None:
        try:
            self._db.executemany(sql, gathered)
        except apsw.ConstraintError as error:
            raise Conflict("A record with that id, key or mark is there already.") from error


_ADDING = {
    "contents": "add_content",
    "passages": "add_passage",
    "vectors": "add_vector",
    "words": "add_words",
    "records": "add_record",
}


def _numbered(content: int, passages: Sequence[Passage]) -> Iterable[Row]:
    for n, passage in enumerate(passages):
        yield content * PASSAGES + n, passage.length, passage.terms


def _taken(record: Record) -> Conflict:
    return Conflict(f"The key {record.key!r} is taken in {record.scope}. Give the record another key.")


def _same(following: Record, other: Record) -> bool:
    """Alike but for the moment and the making of the version."""
    stamps = {"updated_at": other.updated_at, "change": other.change, "actor": other.actor, "reason": other.reason}
    return replace(following, **stamps, restores=other.restores) == other
