"""
One write transaction.

It locks the scopes it touches in one order and raises their `seq`; then it looks, decides, and writes all rows of the
call at once: few round trips, however many records. A `RecordPlan` is what a call makes of one record; `Writing.store` turns
lives into rows of records, versions, contents, passages and vectors, and keeps the counters of the scopes exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from commonplace.errors import EmbedderChanged, TextTooLarge, WrongDimension
from commonplace.stores.postgres.adapt import Signed, Words
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import Entering, pipelined
from commonplace.stores.postgres.rows import (
    CONTENTS,
    DEPARTURES,
    PASSAGE_BITS,
    PASSAGES,
    RECORDS,
    TENANT_BITS,
    VECTORS,
    VERSIONS,
    StoredRecord,
    are_few,
    insert,
    is_live,
    ms,
    tenant_of,
    version_row,
)
from commonplace.values.record import Passage, Record
from commonplace.values.scope import Scope

_SQL = statements("sql/writes.sql")

Place = tuple[str, Scope]


class Locked(NamedTuple):
    """A scope whose row this transaction holds."""

    number: int
    seq: int


class Known(NamedTuple):
    """An embedder of this store."""

    number: int
    dimension: int


@dataclass(slots=True)
class RecordPlan:
    """What is stored of a record, and the versions this call adds. `anew`: they replace all that is stored."""

    stored: StoredRecord | None = None
    once: bytes | None = None
    anew: bool = False
    added: list[tuple[Record, Sequence[Passage] | None]] = field(
        default_factory=list[tuple[Record, Sequence[Passage] | None]]
    )

    @property
    def current(self) -> Record | None:
        if self.added:
            return self.added[-1][0]
        return self.stored.record if self.stored else None


@dataclass(slots=True)
class _Rows:
    """All that one call writes."""

    records: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    versions: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    contents: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    passages: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    vectors: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    departures: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    archived: list[int] = field(default_factory=list[int])
    copies: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    quiet: dict[int, int] = field(default_factory=dict[int, int])
    awake: dict[int, int] = field(default_factory=dict[int, int])


class Counters:
    """How the live passages of each scope change."""

    def __init__(self) -> None:
        self.passages: Counter[int] = Counter()
        self.terms: Counter[int] = Counter()

    def add(self, scope: int, length: int) -> None:
        self.passages[scope] += 1
        self.terms[scope] += length

    def take(self, scope: int, length: int) -> None:
        self.passages[scope] -= 1
        self.terms[scope] -= length

    async def write(self, connection: Connection) -> None:
        changed = sorted(number for number in self.passages if self.passages[number] or self.terms[number])
        params = [
            {
                "tenant": tenant_of(number),
                "number": number,
                "passages": self.passages[number],
                "terms": self.terms[number],
            }
            for number in changed
        ]
        if params:
            await connection.cursor().executemany(_SQL["count"], params)


def of_numbers(numbers: Iterable[int], name: str = "numbers") -> dict[str, list[int]]:
    """The parameters of a query by numbers: these, and the tenants they belong to."""
    listed = list(numbers)
    return {name: listed, "tenants": sorted({tenant_of(number) for number in listed})}


async def lock(connection: Connection, places: Iterable[Place], *, epochs: int = 0) -> dict[Place, Locked]:
    """Make the scopes that are not there yet, lock them all and raise their `seq`."""
    distinct = list(dict.fromkeys(places))
    params = {
        "tenants": [tenant for tenant, _ in distinct],
        "kinds": [scope.kind for _, scope in distinct],
        "ids": [scope.id for _, scope in distinct],
        "epochs": epochs,
    }
    async with connection.pipeline():
        await connection.execute(_SQL["share_store"])
        await connection.execute(_SQL["make_tenants"], params)
        await connection.execute(_SQL["make_scopes"], params)
        locked = await connection.execute(_SQL["lock_scopes"], params, binary=True)
    result: list[tuple[Any, ...]] = await locked.fetchall()
    return {(tenant, Scope(kind, id)): Locked(number, seq) for tenant, kind, id, number, seq in result}


async def known_embedders(connection: Connection) -> dict[str, Known]:
    return {name: Known(number, dimension) for name, number, dimension in await rows(connection, _SQL["embedders"])}


class Writing:
    """The second half of a write: the scopes are locked, what is held has been read, the lives are decided."""

    def __init__(self, connection: Connection, places: dict[Place, Locked]) -> None:
        self._connection = connection
        self._places = places
        self._rows = _Rows()
        self._counters = Counters()

    async def store(self, lives: Sequence[RecordPlan], beside: Entering) -> None:
        """Write the versions that `lives` add, and what belongs to them."""
        changed = [life for life in lives if life.added]
        if changed:
            await self._prepare(changed)
        if changed or not beside.nothing:
            await self._write(beside)
            beside.check()

    async def _prepare(self, changed: Sequence[RecordPlan]) -> None:
        await self._drop_replaced([life for life in changed if life.anew])
        async with self._connection.pipeline():
            ask = self._connection.execute
            records = await ask(
                _SQL["new_records"], {"count": sum(life.stored is None for life in changed)}, binary=True
            )
            texts = await ask(_SQL["new_contents"], {"count": sum(len(life.added) for life in changed)}, binary=True)
            embedders = await known_embedders(self._connection)
        numbers = iter([serial for (serial,) in await records.fetchall()])
        contents = iter([serial for (serial,) in await texts.fetchall()])
        for life in changed:
            self._plan(life, numbers, contents, embedders)

    async def _drop_replaced(self, lives: Sequence[RecordPlan]) -> None:
        numbers = [life.stored.number for life in lives if life.stored]
        if numbers:
            await drop(self._connection, numbers, self._counters)

    def _plan(
        self, life: RecordPlan, numbers: Iterator[int], contents: Iterator[int], embedders: dict[str, Known]
    ) -> None:
        """Turn one life into rows."""
        stored = life.stored
        last = life.added[-1][0]
        tenant = tenant_of(self._places[last.tenant, last.scope].number)
        number = stored.number if stored else tenant << TENANT_BITS | next(numbers)
        texts: dict[tuple[str, str | None, datetime | None], int] = {}
        found_by: dict[int, Sequence[Passage] | None] = {}
        content = 0
        if stored and not life.anew:
            content = stored.content
            texts[_said(stored.record)] = content
            self._rows.archived.append(number)
        for record, passages in life.added:
            before, source = content, _said(record)
            content = texts.get(source, 0)
            if not content:
                content = texts[source] = tenant << TENANT_BITS | next(contents)
                at = ms(record.at)
                self._rows.contents.append((tenant, content, number, record.speaker, at, record.text))
                self._new_passages(content, before, passages, found_by)
            scope = self._places[record.tenant, record.scope]
            row = version_row(record, number, scope.number, content)
            if record is last:
                self._rows.records.append((*row, scope.seq, life.once))
            else:
                self._rows.versions.append(row)
        scope = self._places[last.tenant, last.scope].number
        for which, passages in found_by.items():
            here = scope if which == content and is_live(last) else None
            self._passage_rows(number, which, here, passages or (), embedders)
        self._turn_over(stored if not life.anew else None, last, content, scope, fresh=content in found_by)
        self._depart(stored, scope, number)

    def _new_passages(
        self,
        content: int,
        before: int,
        passages: Sequence[Passage] | None,
        found_by: dict[int, Sequence[Passage] | None],
    ) -> None:
        if passages is None and before in found_by:
            passages = found_by[before]
        if passages is None and before:
            self._rows.copies.append((before, content))
        else:
            found_by[content] = passages or ()

    def _passage_rows(
        self, number: int, content: int, scope: int | None, passages: Sequence[Passage], embedders: dict[str, Known]
    ) -> None:
        rows_of_passages, vectors = passage_rows(number, content, scope, passages, embedders)
        self._rows.passages.extend(rows_of_passages)
        self._rows.vectors.extend(vectors)
        if scope is not None:
            for passage in passages:
                self._counters.add(scope, passage.length)

    def _turn_over(self, stored: StoredRecord | None, last: Record, content: int, scope: int, *, fresh: bool) -> None:
        """Passages that were there before stop being found, or begin to."""
        was = stored.scope if stored and is_live(stored.record) else None
        now = scope if is_live(last) else None
        stays = stored is not None and stored.content == content and was == now
        if stored and was is not None and not stays:
            self._rows.quiet[stored.content] = was
        if now is not None and not fresh and not stays:
            self._rows.awake[content] = now

    def _depart(self, stored: StoredRecord | None, scope: int, number: int) -> None:
        if stored and stored.scope != scope:
            place = (stored.record.tenant, stored.record.scope)
            self._rows.departures.append((tenant_of(number), stored.scope, self._places[place].seq, number))

    async def _write(self, beside: Entering) -> None:
        planned = self._rows
        tables = (
            (CONTENTS, planned.contents),
            (PASSAGES, planned.passages),
            (VECTORS, planned.vectors),
            (VERSIONS, planned.versions),
            (RECORDS, planned.records),
            (DEPARTURES, planned.departures),
        )
        # COPY cannot be part of a pipeline; a small write is one, and so costs one round trip.
        few = beside.few and all(are_few(values) for _, values in tables)
        async with pipelined(self._connection, few=few):
            if planned.archived:
                await self._connection.execute(_SQL["archive"], of_numbers(planned.archived))
            await self._hush()
            for table, values in tables:
                await insert(self._connection, table, values)
            for old, new in planned.copies:
                params = {"tenant": tenant_of(old), "old": old, "new": new}
                await self._connection.execute(_SQL["copy_passages"], params)
                await self._connection.execute(_SQL["copy_vectors"], params)
            await self._rouse()
            await self._counters.write(self._connection)
            await beside.write(self._connection)

    async def _hush(self) -> None:
        if not self._rows.quiet:
            return
        params = of_numbers(self._rows.quiet, "contents")
        for content, length in await rows(self._connection, _SQL["quiet"], params):
            self._counters.take(self._rows.quiet[content], length)
        await self._connection.execute(_SQL["quiet_vectors"], params)

    async def _rouse(self) -> None:
        if not self._rows.awake:
            return
        awake: list[dict[str, Any]] = []
        for tenant, content, n, length, terms in await rows(
            self._connection, _SQL["sleeping"], of_numbers(self._rows.awake, "contents")
        ):
            scope = self._rows.awake[content]
            words = Words(terms, scope)
            awake.append({"tenant": tenant, "content": content, "n": n, "scope": scope, "words": words})
            self._counters.add(scope, length)
        if awake:
            await self._connection.cursor().executemany(_SQL["wake"], awake)
        vectors = [
            {"tenant": tenant_of(content), "content": content, "scope": scope}
            for content, scope in self._rows.awake.items()
        ]
        await self._connection.cursor().executemany(_SQL["wake_vectors"], vectors)


def _said(record: Record) -> tuple[str, str | None, datetime | None]:
    """What passages and vectors are made from."""
    return record.text, record.speaker, record.at


def passage_rows(
    number: int, content: int, scope: int | None, passages: Sequence[Passage], embedders: dict[str, Known]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of a content's passages and of their vectors. `scope` is None where the record is not live."""
    if len(passages) > 1 << PASSAGE_BITS:
        raise TextTooLarge(f"The text falls into more than {1 << PASSAGE_BITS} passages. Split it.")
    tenant = tenant_of(content)
    rows_of_passages: list[tuple[Any, ...]] = []
    vectors: list[tuple[Any, ...]] = []
    for n, passage in enumerate(passages):
        words = None if scope is None else Words(passage.terms, scope)
        place = (passage.start, passage.stop, passage.length, passage.terms)
        rows_of_passages.append((tenant, content, n, number, scope, *place, words))
        for name, values in passage.vectors.items():
            embedder = embedders.get(name)
            if embedder is None:
                raise EmbedderChanged
            if len(values) != embedder.dimension:
                raise WrongDimension
            vectors.append((tenant, content, n, embedder.number, scope, Signed(values)))
    return rows_of_passages, vectors


async def drop(connection: Connection, numbers: Sequence[int], counters: Counters) -> tuple[int, int]:
    """Remove records with all they ever were. How many records and past versions that was."""
    params = of_numbers(numbers)
    contents = [content for (content,) in await rows(connection, _SQL["contents_of"], params)]
    records = await connection.execute(_SQL["drop_records"], params)
    versions = await connection.execute(_SQL["drop_versions"], params)
    # After the records: whoever adds layers holds on to the record, so that by now they are there to be seen.
    await connection.execute(_SQL["drop_layers"], params)
    texts = of_numbers(contents, "contents")
    await connection.execute(_SQL["drop_contents"], texts)
    await connection.execute(_SQL["drop_vectors"], texts)
    for scope, length in await rows(connection, _SQL["drop_passages"], texts):
        if scope is not None:
            counters.take(scope, length)
    return records.rowcount, versions.rowcount


async def forget_departures(connection: Connection, numbers: Sequence[int]) -> None:
    """Where records came from; the readers of those scopes read anew."""
    params = of_numbers(numbers)
    await connection.execute(_SQL["read_anew"], params)
    await connection.execute(_SQL["drop_departures"], params)


async def own_store(connection: Connection) -> None:
    """Wait until no other transaction writes, and keep others waiting until this one ends."""
    await connection.execute(_SQL["own_store"])
