"""What the port `RecordStore` says of listings, exports and purges, of every store."""

import base64
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest

from commonplace.errors import InvalidQuery, RecordNotFound
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.text.postings import term_hash
from commonplace.values.query import ALL_STATES, Filter, Order
from commonplace.values.record import Draft, Record, State
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB, ANN = Scope("workspace", "web"), Scope("user", "ann")
ANOTHER = "019f0000-0000-7000-8000-000000000001"
MINUTE = timedelta(minutes=1)
ORDERS: tuple[Order, ...] = get_args(Order)


async def texts(store: Store, filter: Filter, order: Order = "oldest") -> list[str]:
    page = await store.records.find(T, filter, order, 100, None)
    assert page.cursor is None
    return [record.text for record in page.records]


async def put_apart(store: Store, clock: FakeClock, *drafts: Draft) -> list[Record]:
    """Each a minute after the one before."""
    records: list[Record] = []
    for draft in drafts:
        moment = {"created_at": clock.now(), "updated_at": clock.now()}
        [written] = await store.records.put([replace(draft, record=replace(draft.record, **moment))])
        records.append(written.record)
        clock.advance(MINUTE)
    return records


def edit(record: Record, clock: FakeClock, **changes: Any) -> Draft:
    return Draft(record=replace(record, updated_at=clock.now(), **changes), expected=record.version)


FIELDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"scopes": (ANN,)}, {"scope": ANN}),
    ({"kinds": ("fact", "turn")}, {"kind": "fact"}),
    ({"sources": ("import",)}, {"source": "import"}),
    ({"tags": ("a", "b")}, {"tags": ("b", "c", "a")}),
    ({"trust": ("verified",)}, {"trust": "verified"}),
    ({"visibility": "shared"}, {"visibility": "shared"}),
    ({"sessions": ("s",)}, {"session": "s"}),
    ({"speaker": "Ann"}, {"speaker": "Ann"}),
    ({"key": "k_1"}, {"key": "k_1"}),
    ({"key_prefix": "k_"}, {"key": "k_2"}),
    ({"key_prefix": "50%"}, {"key": "50% off"}),
    ({"superseded_by": ANOTHER, "states": ALL_STATES}, {"superseded_by": ANOTHER}),
    ({"pinned": True}, {"pinned": True}),
]


@pytest.mark.parametrize(("asked", "fields"), FIELDS)
async def test_only_what_fits_is_found(
    store: Store, draft: Drafting, asked: dict[str, Any], fields: dict[str, Any]
) -> None:
    await store.records.put(
        [draft("fits", **fields), draft("does not", tags=("a",), key="kx", session="t", speaker="Bob")]
    )

    assert await texts(store, Filter(**asked)) == ["fits"]
    [number] = await store.recall.matching(T, Filter(**asked))
    [found] = await store.recall.fetch([(number, 1)])
    assert found is not None
    assert found.text == "fits"


async def test_no_scope_at_all_is_not_every_scope(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a"), draft("b", scope=ANN)])

    assert await texts(store, Filter(scopes=())) == []
    assert await texts(store, Filter(scopes=(Scope("user", "nobody"),))) == []
    assert sorted(await texts(store, Filter())) == ["a", "b"]
    assert await store.recall.matching(T, Filter(scopes=())) == []


async def test_ids_are_found_and_unknown_ones_are_not(store: Store, draft: Drafting) -> None:
    [one, _] = await store.records.put([draft("a"), draft("b")])

    assert await texts(store, Filter(ids=(one.record.id, "no id"))) == ["a"]
    assert await texts(store, Filter(ids=("no id",))) == []


async def test_the_past_of_a_record_is_looked_at_where_that_is_asked(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [moved, said, _] = [
        one.record
        for one in await store.records.put([draft("moved", scope=ANN), draft("said", speaker="ann"), draft("other")])
    ]
    await store.records.revise([edit(moved, clock, scope=WEB, actor="bob"), edit(said, clock, speaker=None)])

    assert await texts(store, Filter(ever_in=ANN)) == ["moved"]
    assert await texts(store, Filter(ever_in=Scope("user", "nobody"))) == []
    assert await texts(store, Filter(told_by="ann")) == ["said"]
    assert await texts(store, Filter(told_by="bob")) == ["moved"]


async def test_a_time_is_that_of_what_is_told_or_else_of_the_birth(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    start = clock.now()
    clock.advance(10 * MINUTE)
    await store.records.put([draft("told", at=start), draft("born")])

    assert await texts(store, Filter(since=start, until=start + MINUTE)) == ["told"]
    assert await texts(store, Filter(since=start + MINUTE)) == ["born"]
    assert await texts(store, Filter(until=start)) == []


async def test_states_are_told_apart_by_the_clock(store: Store, draft: Drafting, clock: FakeClock) -> None:
    fields: dict[State, dict[str, Any]] = {
        "live": {"expires_at": clock.now() + 2 * MINUTE},
        "demoted": {"demoted": True},
        "superseded": {"superseded_by": "01890000-0000-7000-8000-000000000000"},
        "expired": {"expires_at": clock.now() + MINUTE},
        "deleted": {"deleted_at": clock.now(), "demoted": True},
    }
    await store.records.put([draft(state, **given) for state, given in fields.items()])
    clock.advance(MINUTE)

    for state in fields:
        assert await texts(store, Filter(states=frozenset({state}))) == [state]
    assert await texts(store, Filter()) == ["live"]
    assert len(await texts(store, Filter(states=ALL_STATES))) == 5


EXPECTED: dict[Order, list[str]] = {
    "newest": ["e", "d", "c", "b", "a"],
    "oldest": ["a", "b", "c", "d", "e"],
    "pinned": ["b", "e", "d", "c", "a"],
    "key": ["b", "d", "e", "a", "c"],
    "position": ["c", "e", "d", "a", "b"],
}


async def put_five(store: Store, draft: Drafting, clock: FakeClock) -> list[Record]:
    return await put_apart(
        store,
        clock,
        draft("a", key="y"),
        draft("b", pinned=True, key="z"),
        draft("c", session="s", position=2),
        draft("d", importance=50, key="a", session="t", position=1),
        draft("e", importance=50, key="b", session="s", position=10),
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", [1, 2, 5, 6])
async def test_pages_put_together_are_the_whole_in_order(
    store: Store, draft: Drafting, clock: FakeClock, order: Order, limit: int
) -> None:
    await put_five(store, draft, clock)

    found: list[str] = []
    cursor: str | None = None
    for _ in range(6):
        page = await store.records.find(T, Filter(), order, limit, cursor)
        assert len(page.records) <= limit
        found += [record.text for record in page.records]
        cursor = page.cursor
        if cursor is None:
            break

    if order == "position":
        assert found[:3] == EXPECTED[order][:3]
        assert sorted(found[3:]) == ["a", "b"]
    else:
        assert found == EXPECTED[order]


@pytest.mark.parametrize("order", ORDERS)
async def test_records_alike_in_all_that_orders_them_are_each_told_once(
    store: Store, draft: Drafting, order: Order
) -> None:
    await store.records.put([draft(f"{n}") for n in range(25)])

    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.records.find(T, Filter(), order, 4, cursor)
        found += [record.text for record in page.records]
        cursor = page.cursor
        if cursor is None:
            break

    assert sorted(found, key=int) == [str(n) for n in range(25)]


@pytest.mark.parametrize("order", ORDERS)
async def test_a_listing_stays_right_while_others_write(
    store: Store, draft: Drafting, clock: FakeClock, order: Order
) -> None:
    five = {record.text: record for record in await put_five(store, draft, clock)}
    first = await store.records.find(T, Filter(), order, 2, None)
    told = [record.text for record in first.records]

    moved = five[told[0]]
    clock.advance(MINUTE)
    await store.records.revise([edit(moved, clock, pinned=False, importance=0, session="zz", position=99)])
    await store.records.put([draft("new", pinned=True, importance=100, session="a", position=0)])
    rest = await store.records.find(T, Filter(), order, 100, first.cursor)

    told += [record.text for record in rest.records]
    assert len(told) == len(set(told))
    assert set(EXPECTED[order]) <= set(told)


@pytest.mark.parametrize("order", ORDERS)
async def test_a_listing_leaves_out_nothing_that_was_written_by_a_clock_ahead_of_ours(
    store: Store, draft: Drafting, clock: FakeClock, order: Order
) -> None:
    await put_five(store, draft, clock)
    clock.advance(-60 * MINUTE)

    first = await store.records.find(T, Filter(), order, 2, None)
    rest = await store.records.find(T, Filter(), order, 100, first.cursor)

    assert sorted(record.text for record in first.records + rest.records) == sorted(EXPECTED[order])


async def test_a_cursor_of_another_order_or_of_somebody_else_is_refused(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a"), draft("b"), draft("c")])
    cursor = (await store.records.find(T, Filter(), "newest", 1, None)).cursor
    assert cursor is not None

    with pytest.raises(InvalidQuery):
        await store.records.find(T, Filter(), "oldest", 1, cursor)
    made_up = [base64.urlsafe_b64encode(told).decode() for told in (b'{"order": "newest"}', b'["newest", {}, [], 1]')]
    for foreign in ("", "nonsense", "ü", cursor[:-6], *made_up):
        with pytest.raises(InvalidQuery):
            await store.records.find(T, Filter(), "newest", 1, foreign)


async def test_lives_are_exported_in_the_order_of_their_ids(store: Store, draft: Drafting, clock: FakeClock) -> None:
    records = await put_apart(store, clock, *[draft(f"{n}", once=bytes([n])) for n in range(5)])
    [revised] = await store.records.revise([edit(records[1], clock, pinned=True)])

    first = await store.records.lineages(T, Filter(), None, 2)
    rest = await store.records.lineages(T, Filter(), first[-1].versions[-1].id, 10)

    ids = [lineage.versions[0].id for lineage in (*first, *rest)]
    assert len(first) == 2
    assert ids == sorted(record.id for record in records)
    lives = {lineage.versions[0].id: lineage for lineage in (*first, *rest)}
    assert lives[revised.id].versions == (records[1], revised)
    assert lives[revised.id].once == bytes([1])
    assert all(not lineage.passages for lineage in lives.values())


async def test_an_export_holds_only_the_tenants_own_records(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("mine"), draft("theirs", tenant="acme/web")])

    [lineage] = await store.records.lineages("acme/web", Filter(), None, 10)

    assert lineage.versions[0].text == "theirs"


async def test_a_purged_record_leaves_nothing_to_be_found(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [gone, kept] = [
        w.record for w in await store.records.put([draft("secret word", key="k"), draft("plain word", scope=ANN)])
    ]
    [second] = await store.records.revise([edit(gone, clock, pinned=True)])
    [before] = await store.recall.marks(T, [WEB])
    [entry] = (await store.recall.changes(before, 0, [])).entries

    purged = await store.records.purge(T, [Filter(ids=(gone.id,), states=ALL_STATES)])

    assert (purged.records, purged.versions) == (1, 2)
    with pytest.raises(RecordNotFound):
        await store.records.history(T, gone.id)
    for after in await store.recall.marks(T, [WEB]):
        assert after.epoch > before.epoch
        assert (after.passages, after.terms) == (0, 0)
    assert (await store.recall.changes(before, 0, [])).entries == []
    assert await store.recall.words([before], [term_hash("secret")], 10) == ([0], [])
    assert await store.recall.fetch([(entry.record, 1), (entry.record, second.version)]) == [None, None]
    assert [content.text for content in await store.maintenance.contents(0, 10)] == [kept.text]
    [again] = await store.records.put([draft("new", key="k")])
    assert again.record.version == 1


async def test_a_purge_takes_what_fits_any_of_its_filters_and_no_more(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    drafts = [draft("a", scope=ANN), draft("b", source="import"), draft("c"), draft("d", scope=ANN, tenant="acme/web")]
    [a, *_] = [written.record for written in await store.records.put(drafts)]
    await store.records.revise([edit(a, clock, deleted_at=clock.now())])
    filters = [Filter(scopes=(ANN,), states=ALL_STATES), Filter(sources=("import",), states=ALL_STATES)]

    purged = await store.records.purge(T, filters)

    assert (purged.records, purged.versions) == (2, 3)
    assert await texts(store, Filter(states=ALL_STATES)) == ["c"]
    assert len(await store.records.lineages("acme/web", Filter(), None, 10)) == 1


async def test_a_purge_of_nothing_changes_nothing(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    before = await store.recall.marks(T, None)

    purged = await store.records.purge(T, [Filter(kinds=("unknown",))])

    assert (purged.records, purged.versions) == (0, 0)
    assert await store.recall.marks(T, None) == before
