"""What the port `StoreMaintenance` says, of every store."""

import os
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import EmbedderChanged, InvalidFile, PathNotFound, StoreClosed, WrongDimension
from commonplace.stores.sqlite.schema import SCHEMA
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting, Store, passages_of
from commonplace.text.postings import pack, term_hash
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Passage, Record
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.upkeep import Rule, Upkeep

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB, ANN = Scope("workspace", "web"), Scope("user", "ann")
MINUTE = timedelta(minutes=1)


async def faults(store: Store) -> list[str]:
    return [finding.check for finding in await store.maintenance.check() if finding.severity != "ok"]


async def lives(store: Store, tenant: str = T) -> list[Any]:
    return await store.records.lineages(tenant, Filter(states=ALL_STATES), None, 10_000)


def edit(record: Record, clock: FakeClock, **changes: Any) -> Draft:
    edited = replace(record, updated_at=clock.now(), **changes)
    passages = passages_of(edited.text) if "text" in changes else None
    return Draft(record=edited, passages=passages, expected=record.version)


async def fill(store: Store, draft: Drafting, clock: FakeClock) -> list[Record]:
    drafts = [draft("one\n\ntwo", key="k", once=b"mark", metadata={"b": 1.50, "a": "\\N\t"}), draft("three", scope=ANN)]
    [one, three] = [written.record for written in await store.records.put([*drafts, draft("four", tenant="acme/web")])][
        :2
    ]
    [two] = await store.records.revise([edit(one, clock, text="one new")])
    [gone] = await store.records.revise([edit(three, clock, deleted_at=clock.now())])
    return [two, gone]


async def test_a_new_store_is_sound_and_empty(store: Store) -> None:
    stats = await store.maintenance.stats(T)

    assert await faults(store) == []
    assert (stats.records, stats.live, stats.deleted, stats.versions, stats.passages) == (0, 0, 0, 0, 0)
    assert (stats.tenant, stats.scopes, stats.schema) == (T, (), SCHEMA)
    assert dict(stats.embedders) == {EMBEDDER: DIMENSION}


async def test_stats_count_what_a_tenant_has(store: Store, draft: Drafting, clock: FakeClock, kind: str) -> None:
    await fill(store, draft, clock)
    await store.records.put([draft("expired", expires_at=clock.now())])

    stats = await store.maintenance.stats(T)

    assert stats.store == kind
    assert (stats.records, stats.live, stats.deleted, stats.versions) == (3, 1, 1, 2)
    assert stats.passages == 2
    assert stats.bytes is not None
    assert stats.bytes > 0
    assert {scope.scope: scope.passages for scope in stats.scopes} == {WEB: 2, ANN: 0}


async def test_all_kinds_of_writes_leave_a_sound_store(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [two, gone] = await fill(store, draft, clock)
    await store.records.revise([edit(gone, clock, deleted_at=None), edit(two, clock, scope=ANN, key=None)])
    await store.records.put([draft("again", key="k"), draft("and again", key="k")])
    await store.records.purge(T, [Filter(key="k")])

    assert await faults(store) == []


async def test_live_passages_without_vectors_are_noticed(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("bare", embedder=None)])

    assert await faults(store) != []


async def test_other_embedders_vectors_are_dropped(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])

    await store.maintenance.set_embedders({"other": 4})

    assert await store.maintenance.embedders() == {"other": 4}
    [mark] = await store.recall.marks(T, [WEB])
    [entry] = (await store.recall.changes(mark, 0, [EMBEDDER, "other"])).entries
    assert entry.vectors == (None, None)


async def test_an_embedder_that_stays_keeps_its_vectors(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])

    await store.maintenance.set_embedders({EMBEDDER: DIMENSION, "second": 2})

    assert await store.maintenance.embedders() == {EMBEDDER: DIMENSION, "second": 2}
    [mark] = await store.recall.marks(T, [WEB])
    [entry] = (await store.recall.changes(mark, 0, [EMBEDDER, "second"])).entries
    assert (entry.vectors[0] is None, entry.vectors[1]) == (False, None)


async def test_an_embedder_of_another_dimension_is_another_embedder(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])

    await store.maintenance.set_embedders({EMBEDDER: 4})

    [mark] = await store.recall.marks(T, [WEB])
    [entry] = (await store.recall.changes(mark, 0, [EMBEDDER])).entries
    assert entry.vectors == (None,)


@pytest.mark.parametrize(
    ("vectors", "error"), [({"unknown": b"12345678"}, EmbedderChanged), ({EMBEDDER: b"123"}, WrongDimension)]
)
async def test_vectors_the_store_does_not_expect_are_refused(
    store: Store, draft: Drafting, vectors: dict[str, bytes], error: type[Exception]
) -> None:
    odd = Passage(0, 1, 1, pack(["a"]), vectors)

    with pytest.raises(error):
        await store.records.put([draft("fine"), replace(draft("a"), passages=(odd,))])

    assert await lives(store) == []


async def test_every_text_of_every_version_and_tenant_is_told_once(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [two, _] = await fill(store, draft, clock)
    await store.records.revise([edit(two, clock, pinned=True)])
    await store.records.put([draft("said", speaker="Ann", at=clock.now())])

    first = await store.maintenance.contents(0, 2)
    rest = await store.maintenance.contents(first[-1].number, 100)

    told = [*first, *rest]
    assert sorted(content.text for content in told) == ["four", "one\n\ntwo", "one new", "said", "three"]
    assert [content.number for content in told] == sorted(content.number for content in told)
    assert {(content.speaker, content.at) for content in told if content.text == "said"} == {("Ann", clock.now())}


async def test_indexing_replaces_passages_words_and_vectors(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [two, _] = await fill(store, draft, clock)
    await store.maintenance.set_embedders({"second": 2})
    before = {mark.scope: mark for mark in await store.recall.marks(T, None)}
    contents = await store.maintenance.contents(0, 100)

    def anew(text: str) -> Passage:
        return Passage(0, len(text), 2, pack(["fresh", text]), {"second": b"\x01\xff"})

    await store.maintenance.index(
        {content.number: [anew(content.text)] for content in contents} | {10**15: [anew("unknown")]}
    )

    after = {mark.scope: mark for mark in await store.recall.marks(T, None)}
    assert after[WEB].epoch > before[WEB].epoch
    assert (after[WEB].passages, after[WEB].terms, after[ANN].passages) == (1, 2, 0)
    [entry] = (await store.recall.changes(after[WEB], 0, ["second"])).entries
    assert (entry.length, entry.stop, entry.vectors) == (2, len(two.text), (b"\x01\xff",))
    terms = [term_hash("fresh"), term_hash("new")]
    assert await store.recall.words([after[WEB]], terms, 10) == ([1, 0], [entry.passage])
    assert await store.recall.near([after[WEB]], "second", b"\x01\x01", 5) == [entry.passage]
    assert await faults(store) == []


OpenStore = Callable[[], Awaitable[Store]]


async def test_a_backup_is_restored_to_the_same_store(
    store: Store, draft: Drafting, clock: FakeClock, tmp_path: Path, second_store: Store
) -> None:
    await fill(store, draft, clock)
    await store.vectors.cache("model", {b"hash": b"vector"})
    await store.maintenance.set_rule(T, Rule(scope="session", max_records=5))
    told: list[tuple[int, int]] = []

    await store.maintenance.backup(tmp_path / "copy", lambda done, total: told.append((done, total)))
    await second_store.maintenance.restore(tmp_path / "copy", lambda done, total: told.append((done, total)))

    assert await lives(second_store) == await lives(store)
    assert await lives(second_store, "acme/web") == await lives(store, "acme/web")
    assert await second_store.recall.marks(T, None) == await store.recall.marks(T, None)
    for mark in await store.recall.marks(T, None):
        assert await second_store.recall.changes(mark, 0, [EMBEDDER]) == await store.recall.changes(mark, 0, [EMBEDDER])
    assert await second_store.maintenance.embedders() == {EMBEDDER: DIMENSION}
    assert await second_store.maintenance.rules(T) == await store.maintenance.rules(T)
    assert await faults(second_store) == []
    assert told[-1][0] == told[-1][1]
    [written] = await second_store.records.put([draft("goes on", key="k2")])
    assert written.outcome == "created"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "copy" in path.name)


async def test_a_backup_never_takes_the_place_of_a_file(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.write_text("precious")

    with pytest.raises(InvalidFile):
        await store.maintenance.backup(target)

    assert target.read_text() == "precious"
    assert names_in(tmp_path) == ["copy"]


async def test_a_backup_into_a_folder_that_is_not_there_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises((PathNotFound, InvalidFile)):
        await store.maintenance.backup(tmp_path / "no" / "copy")

    assert not (tmp_path / "no").exists()


async def test_a_store_that_holds_something_is_not_restored_over(store: Store, draft: Drafting, tmp_path: Path) -> None:
    await store.records.put([draft("here")])
    await store.maintenance.backup(tmp_path / "copy")
    before = await lives(store)

    with pytest.raises(InvalidFile):
        await store.maintenance.restore(tmp_path / "copy")

    assert await lives(store) == before


async def test_a_damaged_backup_is_refused_and_changes_nothing(
    store: Store, draft: Drafting, tmp_path: Path, second_store: Store
) -> None:
    await store.records.put([draft(f"number {n} " * 50) for n in range(400)])
    await store.maintenance.backup(tmp_path / "copy")
    whole = (tmp_path / "copy").read_bytes()
    # Of a file that is not packed, where a text lies: half of an empty store are pages with nothing on them.
    middle = max(whole.find(b"number 200 "), len(whole) // 2 if whole.startswith(b"PK") else 0)
    damages = {
        "cut": whole[:middle],
        "empty": b"",
        "text": b"this is no backup at all" * 100,
        "blank": whole[: middle - 2_000] + bytes(4_000) + whole[middle + 2_000 :],
    }
    with zipfile.ZipFile(tmp_path / "stranger", "w") as stranger:
        stranger.writestr("hello", "world")

    for name, data in damages.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidFile):
            await second_store.maintenance.restore(tmp_path / name)
    with pytest.raises(InvalidFile):
        await second_store.maintenance.restore(tmp_path / "stranger")
    with pytest.raises((PathNotFound, InvalidFile)):
        await second_store.maintenance.restore(tmp_path / "missing")

    assert await lives(second_store) == []
    assert await faults(second_store) == []


async def test_a_rule_takes_the_place_of_the_one_before_and_one_without_limits_is_removed(store: Store) -> None:
    week = timedelta(days=7)
    await store.maintenance.set_rule(T, Rule(scope="session", max_age=week))
    await store.maintenance.set_rule(T, Rule(scope="user:ann", max_records=10, max_age=timedelta(milliseconds=1)))
    await store.maintenance.set_rule("acme/web", Rule(scope="session", max_records=1))

    await store.maintenance.set_rule(T, Rule(scope="session", max_records=100))

    rules = {rule.scope: rule for rule in await store.maintenance.rules(T)}
    assert rules == {
        "session": Rule(scope="session", max_records=100),
        "user:ann": Rule(scope="user:ann", max_records=10, max_age=timedelta(milliseconds=1)),
    }
    await store.maintenance.set_rule(T, Rule(scope="session"))
    assert [rule.scope for rule in await store.maintenance.rules(T)] == ["user:ann"]
    assert await store.maintenance.rules("acme/web") == [Rule(scope="session", max_records=1)]
    assert await store.maintenance.rules("no/body") == []


async def test_the_log_is_read_newest_first(store: Store, clock: FakeClock) -> None:
    start = clock.now()
    lines = [
        Upkeep(at=start + n * MINUTE, action="expired", scope="session:s", records=n, detail=f"line {n}")
        for n in range(4)
    ]
    await store.maintenance.log(T, lines[:2])
    await store.maintenance.log(T, lines[2:])
    await store.maintenance.log("acme/web", lines[:1])

    assert await store.maintenance.read_log(T, None, 10) == lines[::-1]
    assert await store.maintenance.read_log(T, None, 2) == [lines[3], lines[2]]
    assert await store.maintenance.read_log(T, start + 2 * MINUTE, 10) == [lines[3], lines[2]]
    assert await store.maintenance.read_log("no/body", None, 10) == []


async def test_what_one_opening_wrote_the_next_one_reads(
    store: Store, open_store: OpenStore, draft: Drafting, clock: FakeClock
) -> None:
    await fill(store, draft, clock)

    other = await open_store()

    assert await lives(other) == await lives(store)
    assert await other.maintenance.embedders() == {EMBEDDER: DIMENSION}


async def test_a_closed_store_says_so(store: Store, draft: Drafting) -> None:
    await store.aclose()

    with pytest.raises(StoreClosed):
        await store.records.put([draft("late")])
    with pytest.raises(StoreClosed):
        await store.records.find(T, Filter(), "newest", 1, None)
    await store.aclose()


async def test_a_backup_is_on_the_disk_before_it_has_its_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, synced = os.fsync, set[int]()

    def noted_sync(file: int) -> None:
        synced.add(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", noted_sync)

    await store.maintenance.backup(tmp_path / "copy")

    assert (tmp_path / "copy").stat().st_ino in synced
