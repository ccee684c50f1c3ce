"""What the port `KnowledgeStore` says, of every store."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import Layer
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.event import News
from commonplace.values.knowledge import Coverage, Item, Space
from commonplace.values.moment import new_id
from commonplace.values.query import Filter
from commonplace.values.record import Draft
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
MINUTE = timedelta(minutes=1)
NOTHING = Entries()
NOWHERE = "01890000-0000-7000-8000-000000000000"


class Knowing:
    """Makes spaces and items by one clock, each a minute younger than the one before."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def space(self, namespace: str = "build", **fields: Any) -> Space:
        now = self.clock.advance(MINUTE)
        told: dict[str, Any] = {"tenant": T, "scope": "project", "project": "web", **fields}
        return Space(id=new_id(now), namespace=namespace, created_at=now, updated_at=now, **told)

    def item(self, space: Space, dedupe_key: str = "d", **fields: Any) -> Item:
        now = self.clock.advance(MINUTE)
        told: dict[str, Any] = {
            "id": new_id(now),
            "tenant": space.tenant,
            "coverage_key": "web::build::test::flaky",
            "item_type": "finding",
            "title": dedupe_key,
            "created_at": now,
            "updated_at": now,
            "last_seen_at": now,
            **fields,
        }
        return Item(space=space.id, dedupe_key=dedupe_key, **told)

    def event(self, what: str = "knowledge.written") -> Entries:
        return Entries(events=(News(type=what, tenant=T, at=self.clock.now()),))


@pytest.fixture
def made(clock: FakeClock) -> Knowing:
    return Knowing(clock)


@pytest.fixture
async def space(store: Store, made: Knowing) -> Space:
    return await store.knowledge.put_space(made.space(), NOTHING)


async def put(store: Store, item: Item, entries: Entries = NOTHING) -> Item:
    return (await store.knowledge.record_item(item, lambda _: entries)).item


async def told(store: Store) -> list[str]:
    return [event.news.type for event in await store.events.read_events(0, 100)]


# ---- spaces


async def test_a_space_comes_back_as_it_was_put(store: Store, made: Knowing) -> None:
    space = made.space("ünd: so", trust_level="approved_default", title="Build")

    assert await store.knowledge.put_space(space, made.event()) == space

    assert await store.knowledge.spaces(T) == [space]
    assert await told(store) == ["knowledge.written"]


@pytest.mark.parametrize(("scope", "project"), [("project", "web"), ("global", None)])
async def test_a_space_of_the_same_place_is_answered_unchanged(
    store: Store, made: Knowing, scope: str, project: str | None
) -> None:
    first = await store.knowledge.put_space(made.space(scope=scope, project=project), NOTHING)

    second = await store.knowledge.put_space(
        made.space(scope=scope, project=project, title="another"), made.event("asked")
    )

    assert second == first
    assert await store.knowledge.spaces(T) == [first]
    assert await told(store) == ["asked"]


async def test_another_scope_project_namespace_or_tenant_is_another_space(store: Store, made: Knowing) -> None:
    differing: list[dict[str, Any]] = [
        {},
        {"namespace": "other"},
        {"project": "api"},
        {"scope": "run"},
        {"scope": "global", "project": None},
        {"tenant": OTHER},
    ]

    for fields in differing:
        await store.knowledge.put_space(made.space(**fields), NOTHING)

    assert len(await store.knowledge.spaces(T)) == 5
    assert len(await store.knowledge.spaces(OTHER)) == 1


async def test_spaces_are_listed_by_namespace_or_by_their_ids(store: Store, made: Knowing) -> None:
    spaces = [await store.knowledge.put_space(made.space(namespace), NOTHING) for namespace in ("b", "c", "a")]
    foreign = await store.knowledge.put_space(made.space(tenant=OTHER), NOTHING)

    assert [space.namespace for space in await store.knowledge.spaces(T)] == ["a", "b", "c"]
    assert await store.knowledge.spaces(T, [spaces[1].id, spaces[0].id, foreign.id, "unknown"]) == spaces[:2]
    assert await store.knowledge.spaces(T, []) == []


async def test_of_many_who_put_a_space_one_does(store: Store, open_store: Any, made: Knowing) -> None:
    stores: list[Store] = [store, await open_store()]
    answered: list[str] = []

    async def put(n: int) -> None:
        answered.append((await stores[n % 2].knowledge.put_space(made.space(), NOTHING)).id)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(put, n)

    assert len(set(answered)) == 1
    assert len(await store.knowledge.spaces(T)) == 1


# ---- items and coverage


async def test_an_item_comes_back_as_it_was_put(store: Store, made: Knowing, space: Space) -> None:
    item = made.item(
        space,
        summary="Grüße",
        payload={"z": 1, "a": [1.5, None, {"deep": True}]},
        trust_level="promoted",
        status="promoted",
        run="run-1",
        artifact_refs=("a.md", "b,c"),
        source_memory_ids=(NOWHERE,),
        reviewer="ann",
        approval="ok-1",
        freshness_expires_at=made.clock.now() + MINUTE,
    )

    assert await put(store, item, made.event()) == item

    assert await store.knowledge.item(T, item.id) == item
    assert await told(store) == ["knowledge.written"]


async def test_an_item_needs_a_space_of_its_tenant(store: Store, made: Knowing, space: Space) -> None:
    with pytest.raises(NotFound):
        await put(store, replace(made.item(space), space=NOWHERE), made.event())
    with pytest.raises(NotFound):
        await put(store, replace(made.item(space), tenant=OTHER), made.event())

    assert await store.knowledge.items(T) == []
    assert await told(store) == []


async def test_an_item_of_another_tenant_is_not_there(store: Store, made: Knowing, space: Space) -> None:
    item = await put(store, made.item(space))

    with pytest.raises(NotFound):
        await store.knowledge.item(OTHER, item.id)
    with pytest.raises(NotFound):
        await store.knowledge.item(T, "no id at all")


async def test_the_same_finding_again_is_refreshed_and_its_coverage_too(
    store: Store, made: Knowing, space: Space
) -> None:
    first = await put(store, made.item(space, freshness_expires_at=made.clock.now() + timedelta(days=2)))
    made.clock.advance(timedelta(days=3))
    again = made.item(space)

    recording = await store.knowledge.record_item(again, lambda done: made.event(done.outcome))

    seen = again.updated_at
    span = timedelta(days=2) - MINUTE
    assert recording.outcome == "refreshed"
    assert recording.item == replace(first, last_seen_at=seen, freshness_expires_at=seen + span)
    assert await store.knowledge.items(T) == [recording.item]
    [coverage] = await store.knowledge.coverage(T, first.coverage_key)
    assert (coverage.latest_item, coverage.last_seen_at) == (first.id, seen)
    assert coverage.freshness_expires_at == seen + span
    assert await told(store) == ["refreshed"]


@pytest.mark.parametrize(("status", "left"), [("working", "deprecated"), ("promoted", "promoted")])
async def test_a_finding_that_changed_succeeds_the_one_with_its_key(
    store: Store, made: Knowing, space: Space, status: Any, left: str
) -> None:
    first = await put(store, made.item(space, status=status))

    recording = await store.knowledge.record_item(
        made.item(space, title="Now otherwise"), lambda done: made.event(done.outcome)
    )

    assert recording.outcome == "successor"
    assert (recording.item.status, recording.item.dedupe_key, recording.item.supersedes) == ("working", "d", first.id)
    [newer, older] = await store.knowledge.items(T)
    assert (newer, older) == (recording.item, recording.predecessor)
    assert (older.id, older.status, older.dedupe_key, older.title) == (first.id, left, None, first.title)
    [coverage] = await store.knowledge.coverage(T, first.coverage_key)
    assert coverage.latest_item == newer.id
    assert await told(store) == ["successor"]


async def test_what_is_deprecated_leaves_its_key_to_the_next(store: Store, made: Knowing, space: Space) -> None:
    first = await put(store, made.item(space))
    await store.knowledge.change_item(replace(first, status="deprecated", dedupe_key=None), "working", NOTHING)

    recording = await store.knowledge.record_item(made.item(space), lambda _: NOTHING)

    assert (recording.outcome, recording.item.supersedes) == ("created", None)
    assert recording.item.id != first.id
    assert len(await store.knowledge.items(T)) == 2


async def test_of_many_with_changed_findings_each_succeeds_another_and_one_is_left(
    store: Store, open_store: Any, made: Knowing, space: Space
) -> None:
    stores: list[Store] = [store, await open_store()]
    await put(store, made.item(space))

    async def change(n: int) -> None:
        await put(stores[n % 2], made.item(space, title=f"change {n}"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(change, n)

    items = await store.knowledge.items(T)
    assert len(items) == 9
    assert len([item for item in items if item.status == "working"]) == 1
    assert len({item.supersedes for item in items}) == 9
    assert [item.status for item in items if item.dedupe_key is not None] == ["working"]


async def test_those_whose_place_an_item_takes_change_with_it_or_not_at_all(
    store: Store, made: Knowing, space: Space
) -> None:
    older, newer = await put(store, made.item(space, "a")), await put(store, made.item(space, "b"))
    gone = replace(older, status="deprecated", dedupe_key=None)

    with pytest.raises(Conflict):
        await store.knowledge.change_item(replace(newer, status="promoted"), "promoted", NOTHING, [gone])
    before = await store.knowledge.item(T, older.id)
    await store.knowledge.change_item(replace(newer, status="promoted"), "working", NOTHING, [gone])

    assert before == older
    assert await store.knowledge.item(T, older.id) == gone


async def test_the_same_finding_in_another_space_is_another_item(store: Store, made: Knowing, space: Space) -> None:
    other = await store.knowledge.put_space(made.space("other"), NOTHING)

    items = [await put(store, made.item(where)) for where in (space, other)]

    assert await store.knowledge.items(T) == items[::-1]


async def test_of_many_with_the_same_finding_one_is_kept(
    store: Store, open_store: Any, made: Knowing, space: Space
) -> None:
    stores: list[Store] = [store, await open_store()]
    answered: list[str] = []

    async def again(n: int) -> None:
        answered.append((await put(stores[n % 2], made.item(space, title="the same"))).id)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(again, n)

    assert len(set(answered)) == 1
    assert len(await store.knowledge.items(T)) == 1


async def test_coverage_tells_what_a_space_knows_at_a_glance(store: Store, made: Knowing, space: Space) -> None:
    await put(store, made.item(space, "old"))
    fresh_until = made.clock.now() + timedelta(days=1)
    latest = await put(store, made.item(space, "new", freshness_expires_at=fresh_until))

    assert await store.knowledge.coverage(T, latest.coverage_key) == [
        Coverage(
            tenant=T,
            space=space.id,
            coverage_key=latest.coverage_key,
            latest_item=latest.id,
            last_seen_at=latest.updated_at,
            freshness_expires_at=fresh_until,
        )
    ]


async def test_coverage_is_narrowed_by_key_space_and_tenant(store: Store, made: Knowing, space: Space) -> None:
    other = await store.knowledge.put_space(made.space("other"), NOTHING)
    foreign = await store.knowledge.put_space(made.space(tenant=OTHER), NOTHING)
    for where in (space, other, foreign):
        await put(store, made.item(where, coverage_key="k"))
    await put(store, made.item(space, "d2", coverage_key="elsewhere"))

    assert {one.space for one in await store.knowledge.coverage(T, "k")} == {space.id, other.id}
    assert {one.space for one in await store.knowledge.coverage(T, "k", [other.id, foreign.id])} == {other.id}
    assert await store.knowledge.coverage(T, "k", []) == []
    assert await store.knowledge.coverage(T, "unknown") == []


async def test_items_are_listed_newest_first_and_narrowed(store: Store, made: Knowing, space: Space) -> None:
    other = await store.knowledge.put_space(made.space("other"), NOTHING)
    items = [
        await put(store, made.item(space, "1", coverage_key="k")),
        await put(store, made.item(space, "2", status="promoted")),
        await put(store, made.item(other, "3", coverage_key="k", status="deprecated")),
    ]

    assert await store.knowledge.items(T) == items[::-1]
    assert await store.knowledge.items(T, limit=2) == [items[2], items[1]]
    assert await store.knowledge.items(T, spaces=[space.id]) == [items[1], items[0]]
    assert await store.knowledge.items(T, spaces=[]) == []
    assert await store.knowledge.items(T, coverage_key="k") == [items[2], items[0]]
    assert await store.knowledge.items(T, statuses=["working", "promoted"]) == [items[1], items[0]]
    assert await store.knowledge.items(OTHER) == []


async def test_a_promoted_item_renews_its_coverage(store: Store, made: Knowing, space: Space) -> None:
    item = await put(store, made.item(space))
    fresh_until = made.clock.now() + timedelta(days=1)
    promoted = replace(
        item,
        status="promoted",
        trust_level="promoted",
        reviewer="ann",
        updated_at=made.clock.advance(MINUTE),
        freshness_expires_at=fresh_until,
    )

    assert await store.knowledge.change_item(promoted, "working", made.event("knowledge.promoted")) == promoted

    assert await store.knowledge.item(T, item.id) == promoted
    [coverage] = await store.knowledge.coverage(T, item.coverage_key)
    assert (coverage.latest_item, coverage.last_promoted_at) == (item.id, promoted.updated_at)
    assert (coverage.last_seen_at, coverage.freshness_expires_at) == (promoted.updated_at, fresh_until)
    assert await told(store) == ["knowledge.promoted"]


async def test_the_moment_of_a_promotion_outlives_what_comes_after(store: Store, made: Knowing, space: Space) -> None:
    item = await put(store, made.item(space))
    promoted = replace(item, status="promoted", updated_at=made.clock.advance(MINUTE))
    await store.knowledge.change_item(promoted, "working", NOTHING)

    await put(store, made.item(space, "another"))
    deprecated = replace(promoted, status="deprecated", updated_at=made.clock.advance(MINUTE))
    await store.knowledge.change_item(deprecated, "promoted", NOTHING)

    [coverage] = await store.knowledge.coverage(T, item.coverage_key)
    assert coverage.last_promoted_at == promoted.updated_at
    assert coverage.last_seen_at == deprecated.updated_at


async def test_an_item_is_changed_only_from_the_status_that_was_seen(store: Store, made: Knowing, space: Space) -> None:
    item = await put(store, made.item(space))

    with pytest.raises(Conflict):
        await store.knowledge.change_item(replace(item, status="approved_default"), "promoted", made.event())
    with pytest.raises(NotFound):
        await store.knowledge.change_item(replace(item, id=NOWHERE), "working", made.event())
    with pytest.raises(NotFound):
        await store.knowledge.change_item(replace(item, tenant=OTHER), "working", made.event())

    assert await store.knowledge.item(T, item.id) == item
    assert await told(store) == []


# ---- layers


def layer(record: str, version: int = 1, **fields: Any) -> Layer:
    given: dict[str, Any] = {"name": "L0", "text": "in short", "tokens": 2, **fields}
    return Layer(record=record, version=version, **given)


async def test_layers_belong_to_one_version_of_a_record(store: Store, draft: Drafting) -> None:
    [written] = await store.records.put([draft("a long story")])
    layers = [layer(written.record.id), layer(written.record.id, name="L1", text="längér", tokens=9, method="model")]

    await store.knowledge.put_layers(T, layers)

    assert await store.knowledge.layers(T, [written.record.id]) == layers
    assert await store.knowledge.layers(T, ["no id at all"]) == await store.knowledge.layers(T, []) == []
    assert await store.knowledge.layers(OTHER, [written.record.id]) == []
    assert await store.knowledge.layers(T, [NOWHERE]) == []


async def test_a_layer_put_again_takes_the_place_of_the_old_one(store: Store, draft: Drafting) -> None:
    [written] = await store.records.put([draft("a long story")])
    await store.knowledge.put_layers(T, [layer(written.record.id)])

    await store.knowledge.put_layers(T, [layer(written.record.id, text="better")])

    [held] = await store.knowledge.layers(T, [written.record.id])
    assert held.text == "better"


async def test_layers_of_earlier_versions_are_given_up(store: Store, draft: Drafting) -> None:
    [first, other] = await store.records.put([draft("one"), draft("two")])
    await store.knowledge.put_layers(
        T, [layer(first.record.id), layer(first.record.id, name="L1"), layer(other.record.id)]
    )
    await store.records.revise([Draft(record=replace(first.record, pinned=True), expected=1)])

    await store.knowledge.put_layers(T, [layer(first.record.id, 2)])

    stored = await store.knowledge.layers(T, [other.record.id, first.record.id])
    assert sorted(stored, key=lambda layer: layer.version) == [layer(other.record.id), layer(first.record.id, 2)]


async def test_layers_of_a_record_that_is_not_there_are_left_out(store: Store, draft: Drafting) -> None:
    [written, foreign] = await store.records.put([draft("here"), draft("there", tenant=OTHER)])

    await store.knowledge.put_layers(T, [layer(NOWHERE), layer(written.record.id), layer(foreign.record.id)])

    assert await store.knowledge.layers(T, [NOWHERE]) == []
    assert (
        await store.knowledge.layers(T, [foreign.record.id])
        == await store.knowledge.layers(OTHER, [foreign.record.id])
        == []
    )
    assert await store.knowledge.layers(T, [written.record.id]) == [layer(written.record.id)]


async def test_a_purge_takes_layers_along(store: Store, draft: Drafting) -> None:
    [gone, kept] = await store.records.put([draft("gone"), draft("kept", scope="user:ann")])
    await store.knowledge.put_layers(T, [layer(gone.record.id), layer(kept.record.id)])

    await store.records.purge(T, [Filter(scopes=(Scope("workspace", "web"),))])

    assert await store.knowledge.layers(T, [gone.record.id]) == []
    assert await store.knowledge.layers(T, [kept.record.id]) == [layer(kept.record.id)]


# ---- quarantine


async def test_what_is_in_quarantine_is_listed_by_its_status_and_covers_nothing(
    store: Store, made: Knowing, space: Space
) -> None:
    known = await put(store, made.item(space))
    apart = await put(store, made.item(space, status="quarantined", dedupe_key="apart"))
    again = await put(store, made.item(space, dedupe_key="apart"))

    [covered] = await store.knowledge.coverage(T, known.coverage_key)
    assert covered.latest_item == known.id
    assert again.id == apart.id
    assert [one.id for one in await store.knowledge.items(T, statuses=("quarantined",))] == [apart.id]


async def test_what_is_left_of_a_coverage_is_never_what_is_in_quarantine(
    store: Store, made: Knowing, space: Space
) -> None:
    known = await put(store, made.item(space))
    await put(store, made.item(space, status="quarantined", dedupe_key="apart"))

    await store.knowledge.remove_item(T, known.id, NOTHING)

    assert await store.knowledge.coverage(T, known.coverage_key) == []


async def test_what_is_let_out_of_quarantine_covers_again(store: Store, made: Knowing, space: Space) -> None:
    apart = await put(store, made.item(space, status="quarantined"))

    await store.knowledge.change_item(replace(apart, status="working"), "quarantined", NOTHING)

    [covered] = await store.knowledge.coverage(T, apart.coverage_key)
    assert covered.latest_item == apart.id
