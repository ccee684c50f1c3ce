"""Records as rows, rows as records, and the way of rows into a table."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from psycopg import sql

from commonplace.errors import InvalidInput, StoreCorrupt
from commonplace.stores.damage import DamageLog
from commonplace.stores.postgres.connection import Connection
from commonplace.stores.rows import moment as moment
from commonplace.stores.rows import ms as ms
from commonplace.values.moment import from_ms, to_ms, utc
from commonplace.values.record import Json, Provenance, Record
from commonplace.values.scope import Scope

_FEW = 40


@dataclass(frozen=True, slots=True)
class Table:
    """A table we fill, with the types its columns are sent as."""

    name: str
    columns: Mapping[str, str]


_VERSION: dict[str, str] = {
    "tenant": "int4",
    "number": "int8",
    "version": "int4",
    "scope": "int8",
    "content": "int8",
    "id": "uuid",
    "kind": "text",
    "key": "text",
    "source": "text",
    "tags": "text[]",
    "metadata": "text",
    "pinned": "bool",
    "importance": "int4",
    "trust": "text",
    "visibility": "text",
    "at": "int8",
    "expires_at": "int8",
    "session": "text",
    "position": "int8",
    "speaker": "text",
    "run": "text",
    "message": "text",
    "file": "text",
    "demoted": "bool",
    "superseded_by": "text",
    "deleted_at": "int8",
    "change": "text",
    "actor": "text",
    "reason": "text",
    "restores": "int4",
    "created_at": "int8",
    "updated_at": "int8",
}
VERSIONS = Table("versions", _VERSION)
RECORDS = Table("records", {**_VERSION, "seq": "int8", "once": "bytea"})
CONTENTS = Table(
    "contents",
    {"tenant": "int4", "number": "int8", "record": "int8", "speaker": "text", "at": "int8", "text": "text"},
)
PASSAGES = Table(
    "passages",
    {
        "tenant": "int4",
        "content": "int8",
        "n": "int4",
        "record": "int8",
        "scope": "int8",
        "start": "int4",
        "stop": "int4",
        "length": "int4",
        "terms": "bytea",
        "words": "int8[]",
    },
)
VECTORS = Table(
    "vectors",
    {"tenant": "int4", "content": "int8", "n": "int4", "embedder": "int4", "scope": "int8", "signed": "halfvec"},
)
DEPARTURES = Table("departures", {"tenant": "int4", "scope": "int8", "seq": "int8", "number": "int8"})

PASSAGE_BITS = 12
TENANT_BITS = 32


def tenant_of(number: int) -> int:
    """The tenant in whose rows a scope, a record or a content is."""
    return number >> TENANT_BITS


def passage_number(content: int, n: int) -> int:
    return content << PASSAGE_BITS | n


def split_passage(number: int) -> tuple[int, int]:
    return number >> PASSAGE_BITS, number & (1 << PASSAGE_BITS) - 1


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A version with the store's own numbers."""

    number: int
    scope: int
    content: int
    once: bytes | None
    record: Record


_UNREADABLE = "A record of the store is damaged and cannot be read. `commonplace check` names it."


def is_live(record: Record) -> bool:
    """Whether it can be found at all; whether it has expired is for the reader to see."""
    return record.deleted_at is None and record.superseded_by is None and not record.demoted


def metadata_text(metadata: Mapping[str, Json]) -> str:
    try:
        return json.dumps(metadata, ensure_ascii=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInput("The metadata is not JSON.") from error


def canonical(metadata: Mapping[str, Json]) -> str:
    """The same for metadata that mean the same."""
    return json.dumps(metadata, sort_keys=True)


def settled(record: Record) -> Record:
    """The record as it will be read back: times in UTC and whole milliseconds, tags a tuple."""
    return replace(
        record,
        tags=tuple(record.tags),
        created_at=utc(record.created_at),
        updated_at=utc(record.updated_at),
        at=record.at and utc(record.at),
        expires_at=record.expires_at and utc(record.expires_at),
        deleted_at=record.deleted_at and utc(record.deleted_at),
    )


def as_uuid(id: str) -> uuid.UUID | None:
    """None for what cannot be the id of a record here."""
    try:
        value = uuid.UUID(id)
    except ValueError:
        return None
    return value if str(value) == id else None


def some(values: Sequence[str]) -> list[str] | None:
    """As a parameter: None, which narrows nothing, where there are none."""
    return list(values) or None


def version_row(record: Record, number: int, scope: int, content: int) -> tuple[Any, ...]:
    """A row of `versions`, and the first part of one of `records`."""
    id = as_uuid(record.id)
    if id is None:
        raise InvalidInput("A record's id is a UUID, written in small letters.")
    origin = record.provenance
    return (
        tenant_of(number), number, record.version, scope, content, id, record.kind, record.key, record.source,
        list(record.tags), metadata_text(record.metadata), record.pinned, record.importance, record.trust,
        record.visibility, ms(record.at), ms(record.expires_at), record.session, record.position, record.speaker,
        origin.run, origin.message, origin.file, record.demoted, record.superseded_by, ms(record.deleted_at),
        record.change, record.actor, record.reason, record.restores, to_ms(record.created_at), to_ms(record.updated_at),
    )  # fmt: skip


def stored_record_of(row: Sequence[Any]) -> StoredRecord:
    """Read a row of the views `held` and `past`. Raises StoreCorrupt: it cannot be one; the error's details name it."""
    stored_record, lost = salvaged(row)
    if lost:
        raise StoreCorrupt(_UNREADABLE, id=stored_record.record.id, reason=", ".join(lost))
    return stored_record


def readable(stored_rows: Iterable[Sequence[Any]], damage: DamageLog) -> Iterator[StoredRecord]:
    """Those of the rows that are records; of the others somebody is told."""
    for row in stored_rows:
        stored_record, lost = salvaged(row)
        if lost:
            damage.note(stored_record.record.id, f"{', '.join(lost)}: no valid JSON")
        else:
            yield stored_record


def _metadata(text: str, lost: list[str]) -> dict[str, Json]:
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Json]", value)
    lost.append("metadata")
    return {}


def is_object(metadata: str) -> bool:
    """Whether it is what `metadata_text` writes."""
    lost: list[str] = []
    _metadata(metadata, lost)
    return not lost


def salvaged(row: Sequence[Any]) -> tuple[StoredRecord, list[str]]:
    """As `stored_record_of`, but parts that cannot be read are left out: their names come back, too."""
    lost: list[str] = []
    (
        _, number, version, scope, content, once, scope_kind, scope_id, tenant, id, text, kind, key, source, tags,
        metadata, pinned, importance, trust, visibility, at, expires_at, session, position, speaker, run, message, file,
        demoted, superseded_by, deleted_at, change, actor, reason, restores, created_at, updated_at,
    ) = row  # fmt: skip
    record = Record(
        id=str(id),
        scope=Scope(scope_kind, scope_id),
        text=text,
        created_at=from_ms(created_at),
        updated_at=from_ms(updated_at),
        tenant=tenant,
        version=version,
        kind=kind,
        key=key,
        source=source,
        tags=tuple(tags),
        metadata=_metadata(metadata, lost),
        pinned=pinned,
        importance=importance,
        trust=trust,
        visibility=visibility,
        at=moment(at),
        expires_at=moment(expires_at),
        session=session,
        position=position,
        speaker=speaker,
        provenance=Provenance(run=run, message=message, file=file),
        demoted=demoted,
        superseded_by=superseded_by,
        deleted_at=moment(deleted_at),
        change=change,
        actor=actor,
        reason=reason,
        restores=restores,
    )
    return StoredRecord(number, scope, content, once, record), lost


def are_few(values: Sequence[tuple[Any, ...]]) -> bool:
    """Whether these rows can be inserted within a pipeline."""
    return len(values) <= _FEW


async def insert(connection: Connection, table: Table, values: Sequence[tuple[Any, ...]]) -> None:
    """A few rows by pipelined INSERTs, many by COPY, which cannot be part of a pipeline."""
    if not values:
        return
    names = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    if are_few(values):
        marks = sql.SQL(", ").join([sql.SQL("%b")] * len(table.columns))
        command = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table.name), names, marks)
        await connection.cursor().executemany(command, values)
        return
    command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table.name), names)
    async with connection.cursor().copy(command) as copy:
        copy.set_types(list(table.columns.values()))
        for row in values:
            await copy.write_row(row)
