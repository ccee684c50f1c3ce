"""A SQLite store that somebody else made: what it says of its knowledge does not count, and it takes no keys."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.errors import StoreNotAdopted
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.foreign import ForeignStore
from commonplace.stores.sqlite.marks import add_mark, has_mark
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.job import NewJob
from commonplace.values.knowledge import Item, Space
from commonplace.values.principal import Key, User
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = Entries()
SPACE = Space(
    id="s",
    tenant=T,
    scope="global",
    project=None,
    namespace="build",
    created_at=NOW,
    updated_at=NOW,
    trust_level="approved_default",
)
ITEM = Item(
    id="i",
    tenant=T,
    space="s",
    coverage_key="web::build::test::flaky",
    dedupe_key="d",
    item_type="finding",
    title="The tests are flaky",
    created_at=NOW,
    updated_at=NOW,
    last_seen_at=NOW,
    trust_level="approved_default",
    status="approved_default",
    reviewer="somebody",
    approval="a",
)
KEY = Key(id="k", name="k", tenant=T, role="admin", created_at=NOW, created_by="somebody")
USER = User(id="u", tenant=T, created_at=NOW)
JOB = NewJob(id="j", tenant=T, kind="import", payload={}, created_at=NOW, created_by="somebody")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[ForeignStore]:
    theirs = await SqliteStore.open(tmp_path / "memory.db", FakeClock(NOW))
    await theirs.knowledge.put_space(SPACE, NOTHING)
    await theirs.knowledge.record_item(ITEM, lambda _: NOTHING)
    await theirs.keys.add_key(KEY, b"key", NOTHING)
    await theirs.keys.add_user(USER, b"user", NOTHING)
    await theirs.usage.set_budget(T, 1_000_000_000, NOTHING)
    await theirs.journal.note(Entries(jobs=(JOB,)))
    await theirs.aclose()
    store = await ForeignStore.open(tmp_path / "memory.db", FakeClock(NOW))
    yield store
    await store.aclose()


async def test_nothing_is_known_for_sure_in_it(store: ForeignStore) -> None:
    items = [
        *await store.knowledge.items(T),
        await store.knowledge.item(T, "i"),
        (await store.knowledge.record_item(ITEM, lambda _: NOTHING)).item,
    ]
    spaces = [*await store.knowledge.spaces(T), await store.knowledge.put_space(SPACE, NOTHING)]

    assert {(item.trust_level, item.status, item.reviewer, item.approval) for item in items} == {
        ("working", "working", None, None)
    }
    assert {space.trust_level for space in spaces} == {"working"}
    assert await store.knowledge.items(T, statuses=["promoted", "approved_default"]) == []


async def test_nobody_is_known_to_it_and_nothing_is_granted_or_waits(store: ForeignStore) -> None:
    assert await store.keys.key_by_secret(b"key") is None
    assert await store.keys.list_keys(None) == []
    assert await store.keys.user(T, "u") is None
    assert await store.keys.users(T) == []
    assert await store.usage.budget(T) is None
    assert await store.jobs.list_jobs(T) == []


async def test_nothing_is_added_to_what_does_not_count(store: ForeignStore) -> None:
    with pytest.raises(StoreNotAdopted):
        await store.keys.add_key(KEY, b"other", NOTHING)
    with pytest.raises(StoreNotAdopted):
        await store.keys.add_user(USER, b"other", NOTHING)
    with pytest.raises(StoreNotAdopted):
        await store.keys.rotate_user(T, "u", b"other", NOTHING)
    with pytest.raises(StoreNotAdopted):
        await store.usage.set_budget(T, 5, NOTHING)
    with pytest.raises(StoreNotAdopted):
        await store.knowledge.change_item(ITEM, "approved_default", NOTHING)
    with pytest.raises(StoreNotAdopted):
        await store.journal.note(Entries(jobs=(JOB,)))


async def test_all_of_it_is_there_for_its_owner(store: ForeignStore, tmp_path: Path) -> None:
    theirs = await SqliteStore.open(tmp_path / "memory.db", FakeClock(NOW))

    assert await theirs.keys.key_by_secret(b"key") == KEY
    assert await theirs.knowledge.item(T, "i") == ITEM
    assert [job.id for job in await theirs.jobs.list_jobs(T)] == ["j"]
    await theirs.aclose()


async def test_a_mark_is_found_in_the_store_it_was_written_into_and_in_its_copies_alone(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        await (await SqliteStore.open(tmp_path / name, FakeClock(NOW))).aclose()

    marks = [add_mark(tmp_path / "a.db"), add_mark(tmp_path / "a.db")]

    assert len(set(marks)) == 2
    assert [has_mark(tmp_path / "a.db", mark) for mark in [*marks, "", "records"]] == [True, True, False, False]
    assert not has_mark(tmp_path / "b.db", marks[0])
