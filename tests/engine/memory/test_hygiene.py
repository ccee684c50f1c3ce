"""Scopes kept as small as their rules say, and nothing lost by it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from commonplace.errors import InvalidInput, InvalidScope
from commonplace.memory.hygiene import Hygiene
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.upkeep import Purged, Rule

pytestmark = pytest.mark.anyio
DAY = timedelta(days=1)


@pytest.fixture
def hygiene(store: SqliteStore, clock: FakeClock) -> Hygiene:
    return Hygiene(store, clock, DEFAULT_TENANT, "keeper", batch=3)


async def put(writer: Writer, text: str, **fields: Any) -> Record:
    told: dict[str, Any] = {"scope": "workspace:web", **fields}
    return (await writer.put([Note(text=text, **told)]))[0].record


async def live(store: SqliteStore, scope: str = "workspace:web") -> list[str]:
    wanted = Filter(scopes=(Scope.parse(scope),))
    return [record.text for record in (await store.records.find(DEFAULT_TENANT, wanted, "oldest", 100, None)).records]


async def test_an_expired_record_becomes_a_tombstone_that_can_be_undone(
    writer: Writer, hygiene: Hygiene, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    record = await put(writer, "closed this week", expires_at=clock.now() + DAY)
    clock.advance(2 * DAY)

    (entry,) = await hygiene.tidy()

    restored = await lifecycle.undo(record.id)
    assert (entry.action, entry.scope, entry.records) == ("expired", "workspace:web", 1)
    assert (restored.text, restored.deleted_at) == (record.text, None)


async def test_records_not_written_to_for_too_long_age_out(
    writer: Writer, hygiene: Hygiene, store: SqliteStore, clock: FakeClock
) -> None:
    await hygiene.set_rule(Rule(scope="workspace:web", max_age=30 * DAY))
    for n in range(7):
        await put(writer, f"old {n}")
    await put(writer, "old and pinned", pinned=True)
    await put(writer, "old elsewhere", scope="workspace:app")
    clock.advance(31 * DAY)
    await put(writer, "new")

    (entry,) = await hygiene.tidy()

    assert (entry.action, entry.records) == ("aged_out", 7)
    assert await live(store) == ["old and pinned", "new"]
    assert await live(store, "workspace:app") == ["old elsewhere"]


async def test_the_oldest_unpinned_are_evicted_beyond_the_number_kept(
    writer: Writer, hygiene: Hygiene, store: SqliteStore, clock: FakeClock
) -> None:
    await hygiene.set_rule(Rule(scope="workspace:web", max_records=4))
    await put(writer, "first, pinned", pinned=True)
    for n in range(9):
        clock.advance(DAY)
        await put(writer, f"fact {n}")

    (entry,) = await hygiene.tidy()

    assert (entry.action, entry.records) == ("evicted", 6)
    assert await live(store) == ["first, pinned", "fact 6", "fact 7", "fact 8"]
    assert await hygiene.tidy() == []


async def test_the_rule_of_a_scope_goes_before_the_rule_of_its_kind(
    writer: Writer, hygiene: Hygiene, store: SqliteStore, clock: FakeClock
) -> None:
    await hygiene.set_rule(Rule(scope="session", max_age=DAY))
    await hygiene.set_rule(Rule(scope="session:kept", max_age=100 * DAY))
    await put(writer, "gone", scope="session:a")
    await put(writer, "stays", scope="session:kept")
    clock.advance(10 * DAY)

    await hygiene.tidy()

    assert (await live(store, "session:a"), await live(store, "session:kept")) == ([], ["stays"])


async def test_tombstones_are_purged_only_where_the_caller_says_so(
    writer: Writer, hygiene: Hygiene, lifecycle: Lifecycle, store: SqliteStore, clock: FakeClock
) -> None:
    old, young = await put(writer, "deleted long ago"), await put(writer, "deleted today")
    await lifecycle.delete(old.id)
    clock.advance(31 * DAY)
    await lifecycle.delete(young.id)

    by_default = await hygiene.tidy()
    (entry,) = await hygiene.tidy(purge_after=30 * DAY)

    page = await store.records.find(DEFAULT_TENANT, Filter(states=ALL_STATES), "oldest", 10, None)
    assert by_default == []
    assert (entry.action, entry.records) == ("purged", 1)
    assert [record.id for record in page.records] == [young.id]


async def test_tombstones_of_many_scopes_are_purged_in_one_go_and_counted_by_scope(
    writer: Writer, store: SqliteStore, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    asked: list[int] = []

    async def remove(filters: Sequence[Filter]) -> Purged:
        asked.append(len(filters))
        # Somebody brings one back at the last moment.
        await lifecycle.undo(spared.id)
        return await store.records.purge(DEFAULT_TENANT, filters)

    hygiene = Hygiene(store, clock, DEFAULT_TENANT, remove=remove, batch=3)
    spared = await put(writer, "brought back", scope="session:0")
    for n in range(8):
        await put(writer, f"said {n}", scope=f"session:{n % 4}")
    for record in (await store.records.find(DEFAULT_TENANT, Filter(), "oldest", 100, None)).records:
        await lifecycle.delete(record.id)
    clock.advance(2 * DAY)

    done = await hygiene.tidy(purge_after=DAY)

    assert asked == [1]
    assert [(entry.scope, entry.records) for entry in done] == [(f"session:{n}", 2) for n in range(4)]
    assert await live(store, "session:0") == ["brought back"]


async def test_every_action_leaves_a_line_in_the_log(writer: Writer, hygiene: Hygiene, clock: FakeClock) -> None:
    await hygiene.set_rule(Rule(scope="workspace", max_age=DAY))
    for scope in ("workspace:a", "workspace:b"):
        await put(writer, "a fact", scope=scope)
    clock.advance(2 * DAY)

    done = await hygiene.tidy()

    assert {entry.scope for entry in done} == {"workspace:a", "workspace:b"}
    assert sorted(await hygiene.log(), key=lambda entry: entry.scope) == done


async def test_a_rule_without_limits_lifts_the_one_before(hygiene: Hygiene) -> None:
    await hygiene.set_rule(Rule(scope="session", max_records=5))
    await hygiene.set_rule(Rule(scope="session"))

    assert await hygiene.rules() == []


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (Rule(scope="planet:mars", max_records=1), InvalidScope),
        (Rule(scope="session", max_records=-1), InvalidInput),
        (Rule(scope="session", max_age=-DAY), InvalidInput),
    ],
)
async def test_a_rule_that_makes_no_sense_is_refused(hygiene: Hygiene, rule: Rule, error: type[Exception]) -> None:
    with pytest.raises(error):
        await hygiene.set_rule(rule)
