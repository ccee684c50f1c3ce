"""Whole memories out as JSON Lines and in again, from either store to the other."""

import io
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from commonplace.errors import Conflict, InvalidFile, PathNotFound
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.transfer import LoadReport, Transfer
from commonplace.memory.write import Writer
from commonplace.stores.postgres.store import PostgresStore
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter, Query
from commonplace.values.record import Lineage, Provenance, Turn
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio
WEB = Scope("workspace", "web")
AT = datetime(2025, 12, 24, 18, 30, 0, 123_000, tzinfo=UTC)
Store: TypeAlias = SqliteStore | PostgresStore


@pytest.fixture
async def other(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "other.db", clock)
    yield opened
    await opened.aclose()


def transfer(store: Store, preparer: Preparer, clock: FakeClock, batch: int = 3) -> Transfer:
    return Transfer(store.records, preparer, clock, DEFAULT_TENANT, batch=batch)


async def lives(store: Store, tenant: str = DEFAULT_TENANT) -> list[Lineage]:
    found = await store.records.lineages(tenant, Filter(states=ALL_STATES), None, 1000)
    return [replace(one, passages={}) for one in found]


async def fill(writer: Writer, lifecycle: Lifecycle, clock: FakeClock) -> None:
    """Records of every shape: keyed, edited, deleted, undone, demoted, shared, expiring, said."""
    fields: dict[str, Any] = {
        "key": "deploy", "kind": "fact", "source": "auto", "tags": ("a", "b"), "metadata": {"n": [1, 2.5, None, "é"]},
        "pinned": True, "importance": 70, "trust": "verified", "at": AT, "expires_at": clock.now() + timedelta(days=90),
        "provenance": Provenance(run="r", message="m", file="notes/é.md"), "session": "s", "position": 4, "speaker": "Ana",
    }  # fmt: skip
    full = (await writer.put([Note(text="deploy with\nmake ship 部署", scope=WEB, **fields)]))[0].record
    plain = [one.record for one in await writer.put([Note(text=f"note {n}", scope="user:ana") for n in range(5)])]
    await writer.add_turns(TurnOptions(session="s", scope=WEB), [Turn(speaker="ben", text="hello", at=AT)])
    clock.advance(timedelta(minutes=1))
    await lifecycle.edit(full.id, {"text": "deploy with make release"}, reason="it changed")
    await lifecycle.undo(full.id)
    await lifecycle.delete(plain[0].id)
    await lifecycle.demote(plain[1].id)
    await lifecycle.promote(plain[2].id, scope=WEB)


async def test_an_export_holds_everything_and_reads_back_equal(
    store: SqliteStore, other: SqliteStore, writer: Writer, lifecycle: Lifecycle, preparer: Preparer, clock: FakeClock
) -> None:
    await fill(writer, lifecycle, clock)
    file = io.StringIO()

    count = await transfer(store, preparer, clock).export(file)
    file.seek(0)
    report = await transfer(other, preparer, clock).load(file)

    assert (count, report.records, report.created) == (7, 7, 7)
    assert await lives(other) == await lives(store)


async def test_from_sqlite_to_postgres_and_back_nothing_changes(
    store: SqliteStore,
    other: SqliteStore,
    writer: Writer,
    lifecycle: Lifecycle,
    preparer: Preparer,
    clock: FakeClock,
    address: str,
    tmp_path: Path,
) -> None:
    await fill(writer, lifecycle, clock)
    async with AsyncExitStack() as stack:
        middle = await PostgresStore.open(address, clock)
        stack.push_async_callback(middle.aclose)

        await transfer(store, preparer, clock).export(tmp_path / "there.jsonl")
        await transfer(middle, preparer, clock).load(tmp_path / "there.jsonl")
        await transfer(middle, preparer, clock).export(tmp_path / "back.jsonl")
        await transfer(other, preparer, clock).load(tmp_path / "back.jsonl")

        assert await lives(middle) == await lives(store)
    assert await lives(other) == await lives(store)
    assert (tmp_path / "there.jsonl").read_text("utf-8") == (tmp_path / "back.jsonl").read_text("utf-8")


async def test_what_was_loaded_is_found_and_its_turns_are_not_told_twice(
    store: SqliteStore, other: SqliteStore, writer: Writer, lifecycle: Lifecycle, preparer: Preparer, clock: FakeClock
) -> None:
    await fill(writer, lifecycle, clock)
    file = io.StringIO()
    await transfer(store, preparer, clock).export(file)
    file.seek(0)
    await transfer(other, preparer, clock).load(file)

    there = Writer(other.records, other.recall, preparer, clock, DEFAULT_TENANT)
    (again,) = await there.add_turns(TurnOptions(session="s", scope=WEB), [Turn(speaker="ben", text="hello", at=AT)])
    hits = await Recall(other.recall, [], clock, DEFAULT_TENANT).search(
        Query(text="ship", filter=Filter(scopes=(WEB,)))
    )

    assert again.outcome == "unchanged"
    assert [hit.record.key for hit in hits] == ["deploy"]


async def test_loading_twice_changes_nothing(
    store: SqliteStore, other: SqliteStore, writer: Writer, lifecycle: Lifecycle, preparer: Preparer, clock: FakeClock
) -> None:
    await fill(writer, lifecycle, clock)
    file = io.StringIO()
    await transfer(store, preparer, clock).export(file)

    reports: list[LoadReport] = []
    for _ in range(2):
        file.seek(0)
        reports.append(await transfer(other, preparer, clock).load(file))

    assert (reports[1].unchanged, reports[1].created, reports[1].updated) == (7, 0, 0)
    assert await lives(other) == await lives(store)


async def test_an_export_of_a_scope_holds_no_other(
    store: SqliteStore, writer: Writer, lifecycle: Lifecycle, preparer: Preparer, clock: FakeClock
) -> None:
    await fill(writer, lifecycle, clock)
    file = io.StringIO()

    count = await transfer(store, preparer, clock).export(file, scopes=(Scope("user", "ana"),))

    assert count == 4


async def test_an_export_is_read_into_the_tenant_of_the_reader(
    store: SqliteStore, other: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock
) -> None:
    await writer.put([Note(text="a fact")])
    file = io.StringIO()
    await transfer(store, preparer, clock).export(file)
    file.seek(0)

    await Transfer(other.records, preparer, clock, "acme/web").load(file)

    assert [one.versions[0].tenant for one in await lives(other, "acme/web")] == ["acme/web"]


async def test_progress_is_told_in_both_directions(
    store: SqliteStore, other: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock, tmp_path: Path
) -> None:
    await writer.put([Note(text=f"note {n}") for n in range(7)])
    out: list[tuple[int, int]] = []
    back: list[tuple[int, int]] = []

    await transfer(store, preparer, clock).export(
        tmp_path / "a.jsonl", total=7, progress=lambda a, b: out.append((a, b))
    )
    await transfer(other, preparer, clock).load(tmp_path / "a.jsonl", progress=lambda a, b: back.append((a, b)))

    assert out == [(3, 7), (6, 7), (7, 7)]
    assert [done for done, _ in back] == sorted(done for done, _ in back)
    assert len(back) >= 3


async def exported(store: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock) -> list[str]:
    await writer.put([Note(text=f"note {n}", key=f"k{n}") for n in range(5)])
    file = io.StringIO()
    await transfer(store, preparer, clock).export(file)
    return file.getvalue().splitlines()


TAKEN_OUT = "(taken out)"
VERSIONS_THAT_ARE_NONE: list[dict[str, Any]] = [
    {"text": TAKEN_OUT},
    {"text": 7},
    {"text": ""},
    {"text": "a\0b"},
    {"text": "\ud800"},
    {"id": "one"},
    {"scope": "planet:mars"},
    {"importance": 101},
    {"key": "k" * 256},
    {"version": 2},
    {"created_at": "yesterday"},
    {"created_at": "2026-01-01T00:00:00"},
    {"trust": "blind"},
    {"pinned": "yes"},
    {"tags": "a"},
    {"metadata": [1]},
    {"metadata": {"n": float("nan")}},
    {"metadata": {"n": [{"a\0b": 1}]}},
    {"metadata": {"n": ["\ud800"]}},
    {"provenance": {"planet": "mars"}},
    {"restores": 1},
    {"surprise": True},
]
LINES_THAT_ARE_NONE = [
    "[]",
    "{}",
    '{"versions": [',
    '{"versions": []}',
    '{"versions": [7]}',
    '{"versions": [], "more": 1}',
    '{"once": "xyz"}',
    '{"end": true}',
]


def spoiled(line: str, changes: dict[str, Any]) -> str:
    """The line with fields of its first version changed."""
    life = json.loads(line)
    changed = {**life["versions"][0], **changes}
    life["versions"][0] = {name: value for name, value in changed.items() if value is not TAKEN_OUT}
    return json.dumps(life)


@pytest.mark.parametrize("spoil", [*VERSIONS_THAT_ARE_NONE, *LINES_THAT_ARE_NONE], ids=repr)
async def test_a_spoiled_line_is_named_and_nothing_of_its_batch_is_kept(
    store: SqliteStore,
    other: SqliteStore,
    writer: Writer,
    preparer: Preparer,
    clock: FakeClock,
    spoil: str | dict[str, Any],
) -> None:
    lines = await exported(store, writer, preparer, clock)
    lines[4] = spoil if isinstance(spoil, str) else spoiled(lines[4], spoil)

    with pytest.raises(InvalidFile) as refused:
        await transfer(other, preparer, clock, batch=2).load(io.StringIO("\n".join(lines) + "\n"))

    assert (refused.value.details["line"], refused.value.details["loaded"]) == (5, 2)
    assert len(await lives(other)) == 2


@pytest.mark.parametrize("keep", [1, 3, 6])
async def test_a_file_cut_short_is_known_for_one(
    store: SqliteStore, other: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock, keep: int
) -> None:
    lines = (await exported(store, writer, preparer, clock))[:keep]

    with pytest.raises(InvalidFile) as refused:
        await transfer(other, preparer, clock).load(io.StringIO("\n".join(lines) + "\n"))

    assert refused.value.details["loaded"] == keep - 1


@pytest.mark.parametrize(
    "head", ["", "hello", '{"format": "another"}', '{"format": "commonplace-export", "version": 3}', '{"version": 1}']
)
async def test_a_file_that_is_not_our_export_is_refused_whole(
    store: SqliteStore, other: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock, head: str
) -> None:
    lines = await exported(store, writer, preparer, clock)
    rest = lines[1:] if head else []

    with pytest.raises(InvalidFile):
        await transfer(other, preparer, clock).load(io.StringIO("\n".join([head, *rest])))

    assert await lives(other) == []


async def test_bytes_that_are_no_text_are_refused(
    other: SqliteStore, preparer: Preparer, clock: FakeClock, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InvalidFile):
        await transfer(other, preparer, clock).load(tmp_path / "bad.jsonl")


async def test_a_key_held_by_another_record_is_a_conflict(
    store: SqliteStore, other: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock
) -> None:
    lines = await exported(store, writer, preparer, clock)
    last = json.loads(lines[-2])["versions"][0]["key"]
    await Writer(other.records, other.recall, preparer, clock, DEFAULT_TENANT).put([Note(text="mine", key=last)])

    with pytest.raises(Conflict) as refused:
        await transfer(other, preparer, clock, batch=2).load(io.StringIO("\n".join(lines)))

    assert refused.value.details["loaded"] == 4


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


async def test_an_export_that_fails_leaves_the_file_before_it(
    store: SqliteStore, writer: Writer, preparer: Preparer, clock: FakeClock, tmp_path: Path
) -> None:
    target = tmp_path / "memory.jsonl"
    target.write_text("what was there before")
    await writer.put([Note(text="a fact")])

    def give_up(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await transfer(store, preparer, clock).export(target, progress=give_up)

    assert target.read_text() == "what was there before"
    assert not leftovers(tmp_path)


async def test_a_path_that_cannot_be_opened_is_not_found(
    store: SqliteStore, preparer: Preparer, clock: FakeClock, tmp_path: Path
) -> None:
    with pytest.raises(PathNotFound):
        await transfer(store, preparer, clock).export(tmp_path / "nowhere" / "memory.jsonl")
    with pytest.raises(PathNotFound):
        await transfer(store, preparer, clock).load(tmp_path / "nothing.jsonl")
