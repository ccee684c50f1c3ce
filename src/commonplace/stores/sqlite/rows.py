# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Records as rows and back."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from commonplace.errors import CommonplaceError, StoreCorrupt
from commonplace.stores.rows import moment as moment
from commonplace.stores.rows import ms as ms
from commonplace.stores.rows import object_of as object_of
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.record import Provenance, Record
from commonplace.values.scope import Scope

# The columns that both `records` and `versions` have, in this order. `version` and `content` come first.
SHARED = (
    "version, content, kind, key, source, tags, metadata, pinned, importance, trust, visibility, at, expires_at, session,"
    " position, speaker, provenance, demoted, superseded_by, deleted_at, created_at, updated_at, change, actor, reason,"
    " restores"
)
SHARED_NAMES = tuple(name.strip() for name in SHARED.split(","))
# What `record` reads: id, tenant, scope kind, scope id, text, then SHARED without content.
_FIELDS = ", ".join(f"v.{name}" for name in SHARED_NAMES if name != "content")
CURRENT = (
    f"SELECT v.number, v.id, s.tenant, s.kind, s.id, c.text, {_FIELDS} FROM records v"
    " JOIN scopes s ON s.number = v.scope JOIN contents c ON c.number = v.content"
)
PAST = (
    f"SELECT v.number, r.id, s.tenant, s.kind, s.id, c.text, {_FIELDS} FROM versions v"
    " JOIN records r ON r.number = v.number JOIN scopes s ON s.number = v.scope JOIN contents c ON c.number = v.content"
)
Row = tuple[Any, ...]
_UNREADABLE = "A record of the store is damaged and cannot be read. `commonplace check` names it."


@dataclass(slots=True)
class Where:
    """Conditions, and what is bound to them."""

    conditions: list[str] = field(default_factory=list[str])
    bound: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, condition: str, value: object) -> None:
        """`condition` holds one `{}` for the value."""
        name = f"f{len(self.bound)}"
        self.conditions.append(condition.format(f":{name}"))
        self.bound[name] = value

    def any_of(self, column: str, values: Sequence[Any]) -> None:
        """Nothing narrows nothing."""
        if values:
            self.one_of(column, values)

    def one_of(self, column: str, values: Sequence[Any] | None) -> None:
        """None narrows nothing, nothing fits nothing."""
        if values is not None:
            self.add(f"{column} IN (SELECT value FROM json_each({{}}))", json.dumps(list(values)))

    def __str__(self) -> str:
        return f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


def to_json(value: object) -> str | None:
    """Compact JSON, or None for what is empty."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


def id_bytes(id: str | None) -> bytes | None:
    return uuid.UUID(id).bytes if id else None


def shared(record: Record, content: int) -> Row:
    """The values of SHARED."""
    provenance = record.provenance
    where = {
        name: value
        for name, value in (("run", provenance.run), ("message", provenance.message), ("file", provenance.file))
        if value
    }
    return (
        record.version,
        content,
        record.kind,
        record.key,
        record.source,
        to_json(record.tags),
        to_json(record.metadata),
        int(record.pinned),
        record.importance,
        record.trust,
        record.visibility,
        ms(record.at),
        ms(record.expires_at),
        record.session,
        record.position,
        record.speaker,
        to_json(where),
        int(record.demoted),
        id_bytes(record.superseded_by),
        ms(record.deleted_at),
        to_ms(record.created_at),
        to_ms(record.updated_at),
        record.change,
        record.actor,
        record.reason,
        record.restores,
    )


def record(row: Row) -> Record:
    """A row of CURRENT or PAST. Raises StoreCorrupt: it cannot be one; the error's details name it."""
    try:
        return _record(row, None)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, CommonplaceError) as error:
        raise StoreCorrupt(_UNREADABLE, id=name_of(row), reason=_reason(error)) from error


def salvaged(row: Row) -> tuple[Record, list[str]]:
    """As `record`, but parts that cannot be read are left out: their names come back, too."""
    lost: list[str] = []
    try:
        return _record(row, lost), lost
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, CommonplaceError) as error:
        raise StoreCorrupt(_UNREADABLE, id=name_of(row), reason=_reason(error)) from error


def name_of(row: Row) -> str:
    """The id of a row that may be damaged, else its number."""
    number, id, *_ = row
    return str(uuid.UUID(bytes=id)) if isinstance(id, bytes) and len(id) == 16 else f"number {number}"


def _reason(error: Exception) -> str:
    return error.code if isinstance(error, CommonplaceError) else type(error).__name__


def _part(name: str, text: str | None, kind: type, lost: list[str] | None) -> Any:
    """A column of JSON; what is empty where it is none, and `lost` may be added to."""
    try:
        value: Any = json.loads(text) if text else kind()
        if not isinstance(value, kind):
            raise TypeError(name)
    except (ValueError, TypeError):
        if lost is None:
            raise
        lost.append(name)
        return kind()
    return value


def _record(row: Row, lost: list[str] | None) -> Record:
    (_, id, tenant, kind, scope, text, version, what, key, source, tags, metadata, pinned, importance, trust, *rest) = (
        row
    )
    (visibility, at, expires, session, position, speaker, where, demoted, superseded, deleted, *last) = rest
    created, updated, change, actor, reason, restores = last
    if not isinstance(text, str):
        raise TypeError("text")
    return Record(
        id=str(uuid.UUID(bytes=id)),
        tenant=tenant,
        scope=Scope(kind, scope),
        text=text,
        version=version,
        kind=what,
        key=key,
        source=source,
        tags=tuple(_part("tags", tags, list, lost)),
        metadata=_part("metadata", metadata, dict, lost),
        pinned=bool(pinned),
        importance=importance,
        trust=trust,
        visibility=visibility,
        at=moment(at),
        expires_at=moment(expires),
        session=session,
        position=position,
        speaker=speaker,
        provenance=Provenance(**_part("provenance", where, dict, lost)),
        demoted=bool(demoted),
        superseded_by=str(uuid.UUID(bytes=superseded)) if superseded else None,
        deleted_at=moment(deleted),
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        change=change,
        actor=actor,
        reason=reason,
        restores=restores,
    )


def rows(db: apsw.Connection, sql: str, bindings: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
    return list(db.execute(sql, bindings))


def one(db: apsw.Connection, sql: str, bindings: Sequence[Any] | dict[str, Any] = ()) -> Row | None:
    return db.execute(sql, bindings).fetchone()


def live(record: Record) -> bool:
    """Whether a search may find it, as far as its own row tells. Expiry is judged when it is read."""
    return record.deleted_at is None and record.superseded_by is None and not record.demoted
