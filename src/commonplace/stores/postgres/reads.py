"""Filters as parameters, and cursors: where a listing stands, so that its next page can go on from there."""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import datetime
from typing import Any, cast

from commonplace.errors import InvalidQuery
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.rows import as_uuid, ms, some
from commonplace.values.moment import to_ms
from commonplace.values.query import ALL_STATES, LIVE, Filter, Order
from commonplace.values.record import Record

_SQL = statements("sql/records.sql")
_SNAPSHOT = re.compile(r"\d{1,19}:\d{1,19}:[\d,]*")
_BEGIN: dict[str, Any] = {
    "snapshot": None,
    "last_updated": None,
    "last_id": None,
    "last_pinned": None,
    "last_importance": None,
    "last_key": None,
    "last_session": None,
    "last_position": None,
}
_TYPES: dict[str, tuple[type, ...]] = {
    "snapshot": (str,),
    "last_updated": (int,),
    "last_id": (str,),
    "last_pinned": (bool,),
    "last_importance": (int,),
    "last_key": (str, type(None)),
    "last_session": (str, type(None)),
    "last_position": (int, type(None)),
}


async def filter_params(connection: Connection, tenant: str, filter: Filter, now: datetime) -> dict[str, Any] | None:
    """What the block `fits` asks for. None where nothing can fit: the tenant or all the scopes are unknown."""
    tenants = await rows(connection, _SQL["tenant"], {"tenant": tenant})
    if not tenants:
        return None
    number = tenants[0][0]
    scopes: list[int] | None = None
    if filter.scopes is not None:
        names = {"tenant": number, "kinds": [s.kind for s in filter.scopes], "ids": [s.id for s in filter.scopes]}
        scopes = [scope for (scope,) in await rows(connection, _SQL["scope_numbers"], names)]
        if not scopes:
            return None
    ever_in: int | None = None
    if filter.ever_in is not None:
        names = {"tenant": number, "kinds": [filter.ever_in.kind], "ids": [filter.ever_in.id]}
        once = await rows(connection, _SQL["scope_numbers"], names)
        if not once:
            return None
        ever_in = once[0][0]
    ids = [uuid for uuid in map(as_uuid, filter.ids) if uuid]
    return {
        "tenant": number,
        "scopes": scopes if scopes is None or len(scopes) > 1 else None,
        "scope": scopes[0] if scopes is not None and len(scopes) == 1 else None,
        "live": filter.states == LIVE,
        "ids": ids if filter.ids else None,
        "kinds": some(filter.kinds),
        "sources": some(filter.sources),
        "tags": some(filter.tags),
        "trust": some(filter.trust),
        "visibility": filter.visibility,
        "sessions": some(filter.sessions),
        "speaker": filter.speaker,
        "key": filter.key,
        "key_prefix": filter.key_prefix,
        "superseded_by": filter.superseded_by,
        "pinned": filter.pinned,
        "ever_in": ever_in,
        "told_by": filter.told_by,
        "since": ms(filter.since),
        "until": ms(filter.until),
        "states": None if filter.states in (ALL_STATES, LIVE) else sorted(filter.states),
        "now": to_ms(now),
    }


async def matching(connection: Connection, tenant: str, filter: Filter, now: datetime) -> list[int]:
    """The numbers of the records that fit."""
    params = await filter_params(connection, tenant, filter, now)
    if params is None:
        return []
    return [number for (number,) in await rows(connection, _SQL["matching"], params)]


def write_cursor(order: Order, snapshot: str, last: Record) -> str:
    place = {
        "order": order,
        "snapshot": snapshot,
        "last_updated": to_ms(last.updated_at),
        "last_id": last.id,
        "last_pinned": last.pinned,
        "last_importance": last.importance,
        "last_key": last.key,
        "last_session": last.session,
        "last_position": last.position,
    }
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def read_cursor(cursor: str | None, order: Order) -> dict[str, Any]:
    """
    The parameters that continue a listing; all None where it begins.

    Raises:
        InvalidQuery: the cursor is not one of ours, or of another order.
    """
    if cursor is None:
        return dict(_BEGIN)
    try:
        value: object = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (binascii.Error, ValueError):
        value = None
    if not isinstance(value, dict):
        raise InvalidQuery("The cursor is not one of ours. Begin the listing anew.")
    place = cast("dict[str, Any]", value)
    if place.pop("order", None) != order:
        raise InvalidQuery("The cursor belongs to a listing in another order. Begin the listing anew.")
    good = place.keys() == _TYPES.keys() and all(isinstance(place[name], kinds) for name, kinds in _TYPES.items())
    if not good or as_uuid(place["last_id"]) is None or not _SNAPSHOT.fullmatch(place["snapshot"]):
        raise InvalidQuery("The cursor is not one of ours. Begin the listing anew.")
    return place
