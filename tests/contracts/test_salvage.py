# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Rows that cannot be read: of every store the others come out, and these are named."""

from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from psycopg import sql

from commonplace.errors import StoreCorrupt
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Lineage, Record, Unreadable
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
ALL = Filter(states=ALL_STATES)


def harm(kind: str, tmp_path: Path, request: pytest.FixtureRequest, id: str) -> None:
    """Make the metadata of a record something that is no JSON."""
    if kind == "sqlite":
        db = apsw.Connection(str(tmp_path / "store1.db"))
        db.execute("UPDATE records SET metadata = '{' WHERE id = ?", (bytes.fromhex(id.replace("-", "")),))
        db.close()
        return
    server, schema = request.getfixturevalue("server"), request.getfixturevalue("schema")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
        connection.execute("UPDATE records SET metadata = '{' WHERE id = %s", (id,))


async def salvaged(store: Store, limit: int = 2) -> tuple[list[Lineage], list[Unreadable]]:
    lineages: list[Lineage] = []
    unreadable: list[Unreadable] = []
    after: str | None = None
    while True:
        portion = await store.records.salvage(T, ALL, after, limit)
        lineages += portion.lineages
        unreadable += portion.unreadable
        if (after := portion.after) is None:
            return lineages, unreadable


async def put(store: Store, draft: Drafting, count: int = 7) -> list[Record]:
    return [(await store.records.put([draft(f"lantern {n}", metadata={"n": n})]))[0].record for n in range(count)]


async def test_a_sound_store_is_salvaged_as_it_is(store: Store, draft: Drafting) -> None:
    records = await put(store, draft)

    lineages, unreadable = await salvaged(store)

    assert [lineage.versions for lineage in lineages] == [(record,) for record in sorted(records, key=lambda r: r.id)]
    assert unreadable == []
    assert await store.maintenance.damage() == ()
    assert await store.maintenance.is_sound()


@pytest.mark.parametrize("place", [0, 3, 6])
async def test_a_row_that_cannot_be_read_takes_no_other_with_it(
    store: Store, draft: Drafting, kind: str, tmp_path: Path, request: pytest.FixtureRequest, place: int
) -> None:
    records = await put(store, draft)
    bad = records[place]
    harm(kind, tmp_path, request, bad.id)

    listed: list[Record] = []
    cursor: str | None = None
    while True:
        page = await store.records.find(T, ALL, "newest", 2, cursor)
        listed += page.records
        if (cursor := page.cursor) is None:
            break
    lineages, unreadable = await salvaged(store)
    numbers = await store.recall.matching(T, ALL)
    fetched = await store.recall.fetch([(number, 1) for number in numbers])
    findings: dict[str, Any] = {finding.check: finding for finding in await store.maintenance.check()}

    others = {record.id for record in records} - {bad.id}
    assert sorted(record.id for record in listed) == sorted(others)
    assert {record.id for record in fetched if record} == others
    # Its text can be read, and comes out without its metadata.
    assert {lineage.versions[-1].id for lineage in lineages} == others | {bad.id}
    assert {item.id for item in unreadable} == {bad.id}
    assert bad.id in {item.id for item in await store.maintenance.damage()}
    assert findings["rows"].severity == "error"
    assert bad.id in findings["rows"].message
    with pytest.raises(StoreCorrupt):
        await store.records.get(T, [bad.id])
