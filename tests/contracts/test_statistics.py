"""What the port `StoreStatistics` says, of every store."""

from dataclasses import replace
from datetime import timedelta

import pytest

from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.audit import AuditRow
from commonplace.values.census import BYS, By
from commonplace.values.moment import new_id
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Json, Provenance
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB, ANN = Scope("workspace", "web"), Scope("user", "ann")
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


async def counted(store: Store, *by: By, filter: Filter = Filter()) -> list[tuple[object, ...]]:
    tally = await store.statistics.tally(T, filter, by, 100)
    assert tally.total == sum(one.records for one in tally.counts)
    return [(*(one.by[name] for name in by), one.records) for one in tally.counts]


# ---- counts


async def test_records_are_counted_by_each_of_their_fields(store: Store, draft: Drafting, clock: FakeClock) -> None:
    today = clock.now().date().isoformat()
    await store.records.put(
        [
            draft("a", source="manual", kind="fact"),
            draft("b", source="manual", kind="note", trust="verified"),
            draft("c", source="import", kind="note", scope=Scope("global")),
        ]
    )

    assert await counted(store, "source") == [("manual", 2), ("import", 1)]
    assert await counted(store, "kind") == [("note", 2), ("fact", 1)]
    assert await counted(store, "scope") == [("workspace:web", 2), ("global", 1)]
    assert await counted(store, "trust") == [("system_generated", 2), ("verified", 1)]
    assert await counted(store, "state") == [("live", 3)]
    assert await counted(store, "day") == [(today, 3)]


async def test_two_fields_are_counted_together_and_days_come_in_their_order(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    first, second = clock.now().date().isoformat(), (clock.now() + DAY).date().isoformat()
    await store.records.put([draft("a", source="import")])
    clock.advance(DAY)
    await store.records.put([draft("b", source="manual"), draft("c", source="manual"), draft("d", source="import")])

    assert await counted(store, "source", "day") == [
        ("import", first, 1),
        ("manual", second, 2),
        ("import", second, 1),
    ]
    assert await counted(store, "day", "source") == [
        (first, "import", 1),
        (second, "manual", 2),
        (second, "import", 1),
    ]


async def test_only_what_fits_is_counted(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a", pinned=True), draft("b", scope=ANN), draft("c", kind="fact")])

    assert await counted(store, "scope", filter=Filter(scopes=(ANN,))) == [("user:ann", 1)]
    assert await counted(store, "scope", filter=Filter(scopes=(ANN, WEB), kinds=("note",))) == [
        ("user:ann", 1),
        ("workspace:web", 1),
    ]
    assert await counted(store, "source", filter=Filter(pinned=True)) == [("manual", 1)]
    assert await counted(store, "source", filter=Filter(scopes=())) == []
    assert await counted(store, "source", filter=Filter(scopes=(Scope("user", "nobody"),))) == []


async def test_states_are_counted_by_the_clock(store: Store, draft: Drafting, clock: FakeClock) -> None:
    await store.records.put(
        [
            draft("a"),
            draft("b", demoted=True),
            draft("c", deleted_at=clock.now()),
            draft("d", expires_at=clock.now() + MINUTE),
        ]
    )
    clock.advance(2 * MINUTE)

    found = await counted(store, "state", filter=Filter(states=ALL_STATES))
    assert found == [("deleted", 1), ("demoted", 1), ("expired", 1), ("live", 1)]
    assert await counted(store, "state") == [("live", 1)]


async def test_more_counts_than_asked_for_are_left_out_but_not_of_the_sum(store: Store, draft: Drafting) -> None:
    await store.records.put([draft(f"{n}", kind=f"kind-{n}") for n in range(5)])

    tally = await store.statistics.tally(T, Filter(), ["kind"], 3)

    assert [one.by["kind"] for one in tally.counts] == ["kind-0", "kind-1", "kind-2"]
    assert (tally.total, tally.truncated) == (5, True)
    assert not (await store.statistics.tally(T, Filter(), ["kind"], 5)).truncated


async def test_of_another_tenant_nothing_is_counted(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a", tenant="acme/rockets")])

    assert [await counted(store, by) for by in BYS] == [[]] * len(BYS)
    assert (await store.statistics.scopes(T, None, "", (), 10)).scopes == ()


# ---- scopes


async def named(store: Store, text: str = "", among: tuple[Scope, ...] | None = None) -> list[str]:
    return [str(one.scope) for one in (await store.statistics.scopes(T, among, text, (), 100)).scopes]


async def test_scopes_come_last_written_first_with_their_live_records(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    began = clock.now()
    [first, *_] = await store.records.put([draft("a"), draft("b"), draft("c", expires_at=began + MINUTE)])
    clock.advance(2 * MINUTE)
    await store.records.put([draft("d", scope=ANN), draft("e", scope=ANN, demoted=True)])

    found = await store.statistics.scopes(T, None, "", (), 10)
    assert [(one.scope, one.records, one.updated_at) for one in found.scopes] == [
        (ANN, 1, clock.now()),
        (WEB, 2, began),
    ]

    clock.advance(MINUTE)
    edited = replace(first.record, text="A", updated_at=clock.now())
    await store.records.revise([Draft(record=edited, expected=1)])

    assert await named(store) == ["workspace:web", "user:ann"]


async def test_a_scope_is_found_by_any_part_of_its_name_whatever_the_case(store: Store, draft: Drafting) -> None:
    scopes = [Scope("workspace", "Straße 7"), Scope("user", "ÉMILE"), Scope("channel", "50%_off"), Scope("global")]
    await store.records.put([draft("a", scope=scope) for scope in scopes])

    assert await named(store, "strasse") == ["workspace:Straße 7"]
    assert await named(store, "émi") == ["user:ÉMILE"]
    assert await named(store, "%_O") == ["channel:50%_off"]
    assert await named(store, "GLOB") == ["global"]
    assert await named(store, "space:s") == ["workspace:Straße 7"]
    assert await named(store, "nobody") == []


async def test_scopes_are_narrowed_by_kind_by_reach_and_by_number(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    for scope in (WEB, ANN, Scope("user", "bob")):
        await store.records.put([draft("a", scope=scope)])
        clock.advance(MINUTE)

    users = await store.statistics.scopes(T, None, "", ("user",), 10)
    first = await store.statistics.scopes(T, None, "", (), 2)
    assert [str(one.scope) for one in users.scopes] == ["user:bob", "user:ann"]
    assert [str(one.scope) for one in first.scopes] == ["user:bob", "user:ann"]
    assert (users.more, first.more) == (False, True)
    assert await named(store, among=(WEB, ANN)) == ["user:ann", "workspace:web"]
    assert await named(store, "a", among=(WEB,)) == ["workspace:web"]
    assert await named(store, among=()) == []


# ---- recalls


async def searched(store: Store, clock: FakeClock, *ids: str, action: str = "record.search", tenant: str = T) -> None:
    clock.advance(MINUTE)
    told: list[Json] = list(ids)
    row = AuditRow(
        id=new_id(clock.now()),
        at=clock.now(),
        tenant=tenant,
        actor="ann",
        action=action,
        run="r1",
        client="c1",
        details={"query": "0" * 64, "ids": told},
    )
    await store.journal.note(Entries(audit=(row,)))


async def test_where_a_record_was_recalled_is_told_with_its_rank(store: Store, clock: FakeClock) -> None:
    await searched(store, clock, "x", "y")
    await searched(store, clock, "y", action="record.context")
    await searched(store, clock, "y", action="managed.recall")
    await searched(store, clock, "y", action="record.put")
    await searched(store, clock, "y", tenant="acme/rockets")
    await searched(store, clock)

    found = await store.statistics.recalls(T, "y", 100, 100)

    told = [(one.action, one.rank, one.by, one.door, one.run, one.client) for one in found.recalls]
    assert told == [
        ("managed.recall", 1, "ann", "native", "r1", "c1"),
        ("record.context", 1, "ann", "native", "r1", "c1"),
        ("record.search", 2, "ann", "native", "r1", "c1"),
    ]
    assert (found.searched, found.complete) == (4, True)


async def test_only_the_latest_searches_are_looked_through_and_that_is_told(store: Store, clock: FakeClock) -> None:
    for _ in range(4):
        await searched(store, clock, "x")

    three = await store.statistics.recalls(T, "x", 3, 2)

    assert (len(three.recalls), three.searched, three.complete) == (2, 3, False)
    assert three.recalls[0].at == clock.now()
    assert (await store.statistics.recalls(T, "x", 4, 100)).complete
    assert (await store.statistics.recalls(T, "nobody", 4, 100)).recalls == ()


# ---- outlines


async def test_outlines_tell_what_a_name_is_made_of_whatever_the_state(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    titled: dict[str, Json] = {"title": "Plän", "other": 1}
    writes = await store.records.put(
        [
            draft(
                "x" * 500, key="docs/a.md", metadata=titled, provenance=Provenance(file="docs/a.md"), kind="resource"
            ),
            draft("said", session="s1", position=3, speaker="ana", kind="turn", importance=7),
            draft("gone", pinned=True, metadata={"text": 'no "title" here'}),
            draft("elsewhere", scope=ANN),
            draft("abroad", tenant="acme/rockets"),
        ]
    )
    gone = writes[2].record
    await store.records.revise([Draft(record=replace(gone, deleted_at=clock.now()), expected=1)])

    outlines, more = await store.statistics.outlines(T, WEB, 10)

    assert more == 0
    assert [outline.id for outline in outlines] == sorted(write.record.id for write in writes[:3])
    by_id = {outline.id: outline for outline in outlines}
    first, second, third = (by_id[write.record.id] for write in writes[:3])
    assert (first.key, first.title, first.file, first.kind) == ("docs/a.md", "Plän", "docs/a.md", "resource")
    assert (first.beginning, first.is_live, first.created_at) == ("x" * 200, True, writes[0].record.created_at)
    assert (second.session, second.position, second.speaker, second.importance) == ("s1", 3, "ana", 7)
    assert (third.is_live, third.pinned, third.title) == (False, True, None)


async def test_outlines_beyond_the_limit_are_counted_and_the_oldest_stay(store: Store, draft: Drafting) -> None:
    writes = await store.records.put([draft(f"note {n}") for n in range(5)])
    ids = sorted(write.record.id for write in writes)

    outlines, more = await store.statistics.outlines(T, WEB, 3)

    assert ([outline.id for outline in outlines], more) == (ids[:3], 2)
    assert await store.statistics.outlines(T, Scope("workspace", "none"), 3) == ([], 0)
