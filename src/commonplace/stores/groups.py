"""
Audit rows and events that differ in the record alone, kept as one row each: the ids of the records are packed beside what they share.

The ids of an audit row are sorted, so that the first and the last tell, in an index, whether a record can be among them. Events
have the order in which they are told; their row has the id of the last of them.
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from commonplace.errors import InvalidQuery
from commonplace.values.audit import AuditGroup, AuditPage, AuditRow
from commonplace.values.event import Event, News, NewsGroup

Row: TypeAlias = tuple[Any, ...]
_WIDTH = 16


def pack(ids: Iterable[str]) -> bytes:
    return b"".join(bytes.fromhex(id.replace("-", "")) for id in ids)


def pack_sorted(ids: Iterable[str]) -> bytes:
    # Small letters sort as the bytes do.
    return pack(sorted(ids))


def unpack(packed: bytes) -> tuple[str, ...]:
    return tuple(str(uuid.UUID(bytes=packed[at : at + _WIDTH])) for at in range(0, len(packed), _WIDTH))


def packed_id(id: str) -> bytes | None:
    """As it stands among those that are packed; None for what cannot be there."""
    try:
        packed = uuid.UUID(id).bytes
    except ValueError:
        return None
    return packed if unpack(packed) == (id,) else None


# ---- the audit


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page of the audit ended: before the row of this moment and number, or within its group, before the nth."""

    at: int
    number: int
    n: int

    @property
    def before(self) -> tuple[int, int]:
        """Only rows below this moment and number are left."""
        return self.at, self.number + 1 if self.n else self.number

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.at, self.number, self.n]).encode()).decode()

    @classmethod
    def parse(cls, cursor: str) -> Position:
        """
        Raises:
            InvalidQuery: it is none.
        """
        try:
            position: object = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        except (binascii.Error, ValueError):
            position = None
        match position:
            case [int(at), int(number)] if max(abs(at), abs(number)) < 1 << 62:
                # As it was written before there were groups.
                return cls(at, number, 0)
            case [int(at), int(number), int(n)] if max(abs(at), abs(number)) < 1 << 62 and 0 <= n < 1 << 31:
                return cls(at, number, n)
            case _:
                raise InvalidQuery("The cursor is not one that the audit returned. Begin the listing anew.")


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """A row of the table. `packed` are the records of a group."""

    at: int
    number: int
    row: AuditRow
    packed: bytes | None

    def rows(self, record: str | None, begin: Position | None) -> Iterator[tuple[Position, AuditRow]]:
        """Those of one record, or all, the last first, each with the place that comes after it."""
        if self.packed is None:
            yield Position(self.at, self.number, 0), self.row
            return
        group = AuditGroup(self.row, unpack(self.packed))
        within = begin is not None and (begin.at, begin.number) == (self.at, self.number)
        end = begin.n if begin and within else len(group.records)
        for n in reversed(range(min(end, len(group.records)))):
            if record is None or group.records[n] == record:
                yield Position(self.at, self.number, n), group.nth(n)


def audit_page(stored: Iterable[StoredAudit], record: str | None, begin: Position | None, limit: int) -> AuditPage:
    """The first rows. No more is taken of `stored` than they need."""
    page: list[AuditRow] = []
    end: Position | None = None
    for row in stored:
        for place, audit_row in row.rows(record, begin):
            if len(page) >= limit:
                return AuditPage(tuple(page), str(end) if end else None)
            page.append(audit_row)
            end = place
    return AuditPage(tuple(page), None)


# ---- events


def events_of(id: int, news: News, packed: bytes | None) -> Sequence[Event]:
    """What a row of the log tells."""
    if packed is None:
        return [Event(id, news)]
    group = NewsGroup(news, unpack(packed))
    first = id - len(group.records) + 1
    return [Event(first + n, group.nth(n)) for n in range(len(group.records))]


def first_events(stored: Iterable[tuple[int, News, bytes | None]], after: int, limit: int) -> list[Event]:
    """The first after a place. No more is taken of `stored` than they need."""
    events: list[Event] = []
    for row in stored:
        if len(events) >= limit:
            break
        events += [event for event in events_of(*row) if event.id > after]
    return events[:limit]
