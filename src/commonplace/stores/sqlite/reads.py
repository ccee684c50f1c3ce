# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Reading records: by id, by filter, page by page."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import apsw

from commonplace.errors import InvalidQuery, RecordNotFound, StoreCorrupt
from commonplace.stores.damage import DamageLog
from commonplace.stores.sqlite.rows import CURRENT, PAST, Row, Where, id_bytes, one, record, rows
from commonplace.stores.sqlite.salvage import DAMAGED, attempt, life, numbers, readable
from commonplace.stores.sqlite.salvage import page as page_by_one
from commonplace.values.moment import to_ms
from commonplace.values.query import ALL_STATES, Filter, Order, Page
from commonplace.values.record import Lineage, Record, Salvage, Unreadable
from commonplace.values.scope import Scope

_LIVE = "v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0"
STATE = (
    "CASE WHEN v.deleted_at IS NOT NULL THEN 'deleted' WHEN v.superseded_by IS NOT NULL THEN 'superseded'"
    " WHEN v.demoted THEN 'demoted' WHEN v.expires_at <= :now THEN 'expired' ELSE 'live' END"
)
# Sort expressions, all in one direction, the record's number last; `pinned` and `key` turn numbers round for that.
_ORDERS: dict[Order, tuple[tuple[str, ...], str]] = {
    "newest": (("v.updated_at", "v.number"), "DESC"),
    "oldest": (("v.updated_at", "v.number"), "ASC"),
    "pinned": (("v.pinned", "v.importance", "v.updated_at", "v.number"), "DESC"),
    "key": (("-v.pinned", "-v.importance", "v.key IS NULL", "ifnull(v.key, '')", "v.number"), "ASC"),
    "position": (("v.session IS NULL", "ifnull(v.session, '')", "ifnull(v.position, -1)", "v.number"), "ASC"),
}


def scope_numbers(db: apsw.Connection, tenant: str, scopes: Sequence[Scope] | None) -> list[int]:
    if scopes is None:
        return [row[0] for row in rows(db, "SELECT number FROM scopes WHERE tenant = ?", (tenant,))]
    sql = "SELECT number FROM scopes WHERE tenant = ? AND kind = ? AND id = ?"
    return [row[0] for scope in dict.fromkeys(scopes) for row in rows(db, sql, (tenant, scope.kind, scope.id))]


def where(db: apsw.Connection, tenant: str, filter: Filter, now: int) -> Where:
    """The filter as SQL over `records v`."""
    clause = Where(bound={"now": now})
    numbers = scope_numbers(db, tenant, filter.scopes)
    if len(numbers) == 1:
        # Only so can an index of the scope tell the order, too.
        clause.add("v.scope = {}", numbers[0])
    else:
        clause.add("v.scope IN (SELECT value FROM json_each({}))", json.dumps(numbers))
    if filter.ids:
        marks = ", ".join(f"x'{hex_id}'" for hex_id in map(_id_hex, filter.ids) if hex_id)
        clause.conditions.append(f"v.id IN ({marks})")
    clause.any_of("v.kind", filter.kinds)
    clause.any_of("v.source", filter.sources)
    clause.any_of("v.trust", filter.trust)
    clause.any_of("v.session", filter.sessions)
    for tag in filter.tags:
        fits = "EXISTS (SELECT 1 FROM json_each(v.tags) WHERE value = {})"
        clause.add(f"CASE WHEN json_valid(v.tags) THEN {fits} ELSE 0 END", tag)
    _single_values(clause, filter)
    _any_version(db, tenant, clause, filter)
    if filter.states == frozenset({"live"}):
        clause.conditions.append(f"{_LIVE} AND (v.expires_at IS NULL OR v.expires_at > :now)")
    elif filter.states != ALL_STATES:
        clause.any_of(STATE, sorted(filter.states))
    return clause


def _id_hex(id: str) -> str | None:
    try:
        return uuid.UUID(id).hex
    except ValueError:
        return None


def _single_values(clause: Where, filter: Filter) -> None:
    for column, value in (("visibility", filter.visibility), ("speaker", filter.speaker), ("key", filter.key)):
        if value is not None:
            clause.add(f"v.{column} = {{}}", value)
    if filter.key_prefix is not None:
        clause.add("substr(v.key, 1, length({0})) = {0}", filter.key_prefix)
    if filter.superseded_by is not None:
        clause.conditions.append(f"v.superseded_by = x'{_id_hex(filter.superseded_by) or ''}'")
    if filter.pinned is not None:
        clause.add("v.pinned = {}", int(filter.pinned))
    if filter.since is not None:
        clause.add("ifnull(v.at, v.created_at) >= {}", to_ms(filter.since))
    if filter.until is not None:
        clause.add("ifnull(v.at, v.created_at) < {}", to_ms(filter.until))


def _any_version(db: apsw.Connection, tenant: str, clause: Where, filter: Filter) -> None:
    if filter.ever_in is not None:
        [scope] = scope_numbers(db, tenant, [filter.ever_in]) or [0]
        clause.add("(v.scope = {0} OR v.number IN (SELECT o.number FROM versions o WHERE o.scope = {0}))", scope)
    if filter.told_by is not None:
        past = "SELECT o.number FROM versions o WHERE {0} IN (o.speaker, o.actor)"
        clause.add(f"({{0}} IN (v.speaker, v.actor) OR v.number IN ({past}))", filter.told_by)


def matching(db: apsw.Connection, tenant: str, filter: Filter, now: int, damage: DamageLog | None) -> list[int]:
    """The numbers of the records that fit; of a damaged store those that can be read, unless that is not enough (no `damage`)."""
    clause = where(db, tenant, filter, now)
    sql = f"SELECT v.number FROM records v WHERE {' AND '.join(clause.conditions)}"
    try:
        heads = rows(db, sql, clause.bound)
    except DAMAGED:
        if damage is None:
            raise
        heads = [*numbers(db, clause, (), damage)]
    return [row[0] for row in heads]


def get(db: apsw.Connection, tenant: str, ids: Sequence[str]) -> list[Record]:
    return [_current(db, tenant, id)[1] for id in ids]


def history(db: apsw.Connection, tenant: str, id: str) -> list[Record]:
    number, current = _current(db, tenant, id)
    past = [record(row) for row in rows(db, f"{PAST} WHERE v.number = ? ORDER BY v.version", (number,))]
    return [*past, current]


def _current(db: apsw.Connection, tenant: str, id: str) -> tuple[int, Record]:
    try:
        key = id_bytes(id)
    except ValueError:
        raise RecordNotFound(f"{id!r} is not a record's id.") from None
    row = one(db, f"{CURRENT} WHERE v.id = ? AND s.tenant = ?", (key, tenant))
    if row is None:
        raise RecordNotFound
    return row[0], record(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    filter: Filter
    order: Order
    limit: int
    cursor: str | None


def find(db: apsw.Connection, tenant: str, query: PageRequest, now: int, damage: DamageLog) -> Page:
    clause = where(db, tenant, query.filter, now)
    keys, direction = _ORDERS[query.order]
    began = now
    if query.cursor is not None:
        began, *last = _read_cursor(query.cursor, query.order, len(keys))
        names = [f":c{i}" for i in range(len(keys))]
        clause.bound.update(zip((name[1:] for name in names), last, strict=True))
        sign = "<" if direction == "DESC" else ">"
        clause.conditions.append(f"({', '.join(keys)}) {sign} ({', '.join(names)})")
        # What was written since the first page may have been told already, at its old place.
        clause.add("v.updated_at <= {}", began)
    order = ", ".join(f"{key} {direction}" for key in keys)
    # Numbers first, so that no text is read to be thrown away.
    page = f"SELECT v.number FROM records v WHERE {' AND '.join(clause.conditions)} ORDER BY {order} LIMIT :limit"
    sql = (
        CURRENT.replace(" FROM records v", f", {', '.join(keys)} FROM records v")
        + f" WHERE v.number IN ({page}) ORDER BY {order}"
    )
    most = query.limit + 1
    matches = attempt(
        lambda: rows(db, sql, clause.bound | {"limit": most}),
        lambda: page_by_one(db, clause, keys, descending=direction == "DESC", limit=most, damage=damage),
    )
    page_rows = matches[: query.limit]
    cursor = None
    if len(matches) > query.limit and page_rows:
        if query.cursor is None:
            began = max(now, _last_write(db, scope_numbers(db, tenant, query.filter.scopes)))
        cursor = _write_cursor(query.order, (began, *page_rows[-1][-len(keys) :]))
    return Page(tuple(readable([row[: -len(keys)] for row in page_rows], damage)), cursor)


def _last_write(db: apsw.Connection, scopes: Sequence[int]) -> int:
    """It may lie ahead: another machine's clock did, or ours was put back. What was there then is not to be left out."""
    latest = "(SELECT max(v.updated_at) FROM records v WHERE v.scope = j.value)"
    return rows(db, f"SELECT ifnull(max({latest}), 0) FROM json_each(?) j", (json.dumps(list(scopes)),))[0][0]


def _write_cursor(order: Order, last: Row) -> str:
    return base64.urlsafe_b64encode(json.dumps([order, *last]).encode()).decode()


def _read_cursor(cursor: str, order: Order, keys: int) -> list[Any]:
    try:
        cursor_order, *last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, binascii.Error):
        raise InvalidQuery("The cursor is not one that a listing returned.") from None
    if cursor_order != order or len(last) != keys + 1:
        raise InvalidQuery("The cursor belongs to a listing of another order.")
    if not all(isinstance(value, str) or (isinstance(value, int) and abs(value) < 1 << 63) for value in last):
        raise InvalidQuery("The cursor is not one that a listing returned.")
    return last


def lineages(db: apsw.Connection, tenant: str, query: PageRequest, now: int) -> list[Lineage]:
    """`query.cursor` is the id of the last record returned; the order is that of ids."""
    matches = _heads(db, tenant, query, now)
    return [Lineage(tuple(history(db, tenant, str(uuid.UUID(bytes=id)))), {}, once) for _, id, once in matches]


def salvage(db: apsw.Connection, tenant: str, query: PageRequest, now: int, damage: DamageLog) -> Salvage:
    """As `lineages`. Once its index cannot be read, `query.cursor` is a number, and the id up to which records were returned by then."""
    by_number, bound = _salvage_cursor(query.cursor)
    scan = DamageLog()
    lineage_list: list[Lineage] = []
    unreadable: list[Unreadable] = []
    try:
        if by_number is not None:
            raise StoreCorrupt
        heads = _heads(db, tenant, query, now)
        after = str(uuid.UUID(bytes=heads[-1][1])) if heads else None
    except (*DAMAGED, ValueError):
        clause = where(db, tenant, query.filter, now)
        heads = [*islice(numbers(db, clause, ("v.once",), scan, by_number or 0), query.limit)]
        after = f"#{heads[-1][0]} {bound}" if heads else None
    for number, id, once in heads:
        if by_number is not None and isinstance(id, bytes) and id.hex() <= bound:
            continue
        lineage, problems = _life(db, tenant, number, id, once)
        unreadable += problems
        lineage_list += [lineage] if lineage else []
    unreadable += scan.items
    for item in unreadable:
        damage.note(item.id, item.reason)
    return Salvage(tuple(lineage_list), tuple(unreadable), after)


def _salvage_cursor(cursor: str | None) -> tuple[int | None, str]:
    """The number to go on from, None while the index is read, and the id up to which records were returned before."""
    if cursor is None or not cursor.startswith("#"):
        return None, uuid.UUID(cursor).hex if cursor else ""
    number, _, bound = cursor[1:].partition(" ")
    return int(number), bound


def _heads(db: apsw.Connection, tenant: str, query: PageRequest, now: int) -> list[Row]:
    """Number, id and mark of the records of a page, in the order of their ids."""
    clause = where(db, tenant, query.filter, now)
    if query.cursor is not None:
        clause.conditions.append(f"v.id > x'{uuid.UUID(query.cursor).hex}'")
    sql = f"SELECT v.number, v.id, v.once FROM records v WHERE {' AND '.join(clause.conditions)} ORDER BY v.id LIMIT :limit"
    return rows(db, sql, clause.bound | {"limit": query.limit})


def _life(
    db: apsw.Connection, tenant: str, number: int, id: bytes, once: bytes | None
) -> tuple[Lineage | None, list[Unreadable]]:
    try:
        versions = history(db, tenant, str(uuid.UUID(bytes=id)))
        if all(record.version == place for place, record in enumerate(versions, start=1)):
            return Lineage(tuple(versions), {}, once), []
    except (*DAMAGED, RecordNotFound, ValueError, TypeError):
        pass
    return life(db, number, id, once)
