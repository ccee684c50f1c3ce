"""The public door, with and without an event loop."""

import asyncio
import inspect
import io
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from commonplace import AsyncMemory, Memory, Note, Rule, Turn, open_memory, open_memory_async
from commonplace.errors import (
    InvalidInput,
    InvalidQuery,
    RecordChanged,
    RecordNotFound,
    SecretRefused,
    StoreClosed,
    VersionNotFound,
)
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.digest import text_hash

WEB = "workspace:web"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Any:
    with open_memory(tmp_path / "team.db", clock=clock, actor="ada") as opened:
        yield opened


def public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


def test_both_faces_have_the_same_methods_with_the_same_signatures() -> None:
    waited, plain = public(AsyncMemory), public(Memory)

    assert waited.keys() - {"aclose"} == plain.keys() - {"close"}
    for name in waited.keys() - {"aclose"}:
        if isinstance(waited[name], property):
            continue
        assert inspect.iscoroutinefunction(waited[name]) or inspect.isasyncgenfunction(waited[name]), name
        assert not inspect.iscoroutinefunction(plain[name]), name
        returns = str(inspect.signature(waited[name])).replace("AsyncIterator", "Iterator")
        assert returns == str(inspect.signature(plain[name])), name
        assert inspect.getdoc(getattr(AsyncMemory, name)) == inspect.getdoc(plain[name]), name


def test_the_two_ways_to_open_a_memory_take_the_same(tmp_path: Path) -> None:
    assert inspect.signature(open_memory).parameters.items() == inspect.signature(open_memory_async).parameters.items()


def test_what_was_put_is_found_and_told_why(memory: Memory) -> None:
    put = memory.put("Deploy with `make ship` from the repo root", scope=WEB, key="deploy", importance=80)
    memory.put("The canteen opens at noon", scope=WEB)

    hits = memory.search("how do we deploy?", scopes=[WEB], limit=5)

    assert hits[0].record == put
    assert hits[0].score == pytest.approx(sum(hits[0].why.parts.values()), abs=1e-6)
    assert (put.actor, put.version) == ("ada", 1)


def test_turns_are_kept_in_order_and_told_once(memory: Memory, clock: FakeClock) -> None:
    turns = [Turn(speaker="user", text=f"sentence {n}", at=clock.now()) for n in range(3)]

    first = memory.add_turns("standup", turns, scope=WEB)
    again = memory.add_turns("standup", turns, scope=WEB)

    assert [record.text for record in first] == ["sentence 0", "sentence 1", "sentence 2"]
    assert [record.id for record in again] == [record.id for record in first]
    assert len(memory.list(sessions=["standup"]).records) == 3


def test_a_record_is_named_by_the_beginning_of_its_id(memory: Memory, clock: FakeClock) -> None:
    one = memory.put("one")
    clock.advance(timedelta(days=30))
    two = memory.put("two")

    assert memory.get(one.id[:18]).text == "one"
    assert memory.get(two.id.upper()).text == "two"
    assert memory.pin(two.id[:20]).pinned


@pytest.mark.parametrize("length", [8, 13, 17])
def test_the_time_in_an_id_names_no_record(memory: Memory, length: int) -> None:
    record = memory.put("one")

    with pytest.raises(RecordNotFound):
        memory.get(record.id[:length])


def test_delete_and_demote_take_a_whole_id(memory: Memory) -> None:
    record = memory.put("one")

    for change in (memory.delete, memory.demote):
        for length in (8, 18, 35):
            with pytest.raises(InvalidInput):
                change(record.id[:length])
    assert memory.delete(record.id.upper()).deleted_at is not None


@pytest.mark.parametrize(
    "id", ["", "0189", "not-an-id", "zzzzzzzz", "01890000", "01890000-0000-7000-8000-000000000000"]
)
def test_an_id_that_is_none_is_not_found(memory: Memory, id: str) -> None:
    memory.put("one")

    with pytest.raises(RecordNotFound):
        memory.get(id)


def test_a_version_is_read_as_it_was(memory: Memory) -> None:
    record = memory.put("before", key="k")
    memory.put("after", key="k")

    assert memory.get(record.id, version=1).text == "before"
    assert [one.text for one in memory.history(record.id)] == ["before", "after"]
    with pytest.raises(VersionNotFound):
        memory.get(record.id, version=3)


def test_the_whole_life_of_a_record_goes_through_the_door(memory: Memory, clock: FakeClock) -> None:
    record = memory.put("a fact", scope="agent:scout")

    memory.edit(record.id, text="a better fact", tags=["x"], reason="found out more")
    memory.promote(record.id, scope=WEB)
    memory.demote(record.id)
    memory.undo(record.id)
    memory.expire(record.id, clock.now() + timedelta(days=1))
    memory.delete(record.id)

    changes = [one.change for one in memory.history(record.id)]
    assert changes == ["created", "edited", "promoted", "demoted", "restored", "expired", "deleted"]


def test_a_successor_takes_the_place_of_a_record(memory: Memory) -> None:
    record = memory.put("we ship on Fridays", key="day", scope=WEB)

    heir = memory.supersede(record.id, "we ship on Mondays", importance=5)

    assert (heir.key, heir.importance, memory.get(record.id).superseded_by) == ("day", 5, heir.id)
    assert [hit.record.id for hit in memory.search("ship", scopes=WEB)] == [heir.id]


def test_a_stale_expectation_is_refused(memory: Memory) -> None:
    record = memory.put("a fact", key="k")
    memory.edit(record.id, text="changed")

    with pytest.raises(RecordChanged):
        memory.put("mine", key="k", expected=1)
    with pytest.raises(RecordChanged):
        memory.pin(record.id, expected=1)


def test_lists_are_filtered_and_paged(memory: Memory) -> None:
    memory.put_many([Note(text=f"note {n}", scope=WEB, tags=("odd",) if n % 2 else (), kind="fact") for n in range(7)])

    page = memory.list(scopes=[WEB], kinds=["fact"], tags="odd", order="oldest", limit=2)
    rest = memory.list(scopes=[WEB], kinds=["fact"], tags="odd", order="oldest", limit=2, cursor=page.cursor)

    assert [record.text for record in page.records + rest.records] == ["note 1", "note 3", "note 5"]
    assert rest.cursor is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"states": ["lost"]},
        {"trust": ["blind"]},
        {"colour": "red"},
        {"cursor": "nonsense"},
        {"limit": 0},
        {"limit": 1 << 70},
        {"limit": 2.5},
        {"order": "random"},
    ],
)
def test_a_listing_that_makes_no_sense_is_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises((InvalidQuery, InvalidInput)):
        memory.list(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"scope": 5}, {"at": "yesterday"}, {"at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}]
)
def test_what_is_neither_a_scope_nor_a_time_is_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.put("something", **wrong)

    assert memory.list().records == ()


@pytest.mark.parametrize("wrong", [{"text": None}, {"text": "a", "limit": 2.5}, {"text": "a", "limit": True}])
def test_a_question_that_makes_no_sense_is_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidQuery):
        memory.search(**wrong)


@pytest.mark.anyio
async def test_what_tidy_purges_leaves_no_cached_vector(tmp_path: Path, clock: FakeClock) -> None:
    hashed = text_hash("embedded for money")
    async with open_memory_async(tmp_path / "team.db", clock=clock) as memory:
        store = await SqliteStore.open(tmp_path / "team.db", clock)
        await store.vectors.cache("costly", {hashed: b"vector"})
        await memory.delete((await memory.put("embedded for money")).id)
        clock.advance(timedelta(days=2))

        await memory.tidy(purge_after=timedelta(days=1))

        assert await store.vectors.cached("costly", [hashed]) == {}
        await store.aclose()


def test_a_purge_names_exactly_one_thing(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.purge()
    with pytest.raises(InvalidInput):
        memory.purge(scope=WEB, user="ana")


def test_a_purged_user_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "purge.db"
    with open_memory(path, actor="keeper") as memory:
        memory.put("marmalade recipe", scope="user:ana")
        memory.add_turns(
            "s", [Turn(speaker="ana", text="I like pistachios"), Turn(speaker="ben", text="I like nuts")], scope=WEB
        )
        promoted = memory.put("ana keeps hedgehogs", scope="user:ana")
        memory.promote(promoted.id, scope=WEB)
        kept = memory.put("unrelated", scope=WEB)

        purged = memory.purge(user="ana")

        left = {record.text for record in memory.list(states=["live", "deleted"]).records}
        assert purged.records == 3
        assert left == {"I like nuts", kept.text}
        assert [str(scope.scope) for scope in memory.stats().scopes] == [WEB]
    bytes_left = b"".join(file.read_bytes() for file in tmp_path.glob("purge.db*"))
    assert not any(word in bytes_left for word in (b"marmalade", b"pistachio", b"hedgehog"))


def test_a_purged_scope_takes_what_was_ever_in_it(memory: Memory) -> None:
    moved = memory.put("born in private", scope="user:ana")
    memory.promote(moved.id, scope=WEB)
    memory.put("never in private", scope=WEB)

    purged = memory.purge(scope="user:ana")

    assert purged.records == 1
    assert [record.text for record in memory.list(states=["live", "deleted"]).records] == ["never in private"]


def test_a_purge_by_ids_needs_them_to_be_there(memory: Memory) -> None:
    record = memory.put("one")

    with pytest.raises(RecordNotFound):
        memory.purge(ids=[record.id, "01890000-0000-7000-8000-000000000000"])

    assert memory.purge(ids=[record.id]).records == 1


def test_rules_and_their_log_go_through_the_door(memory: Memory, clock: FakeClock) -> None:
    memory.set_rule(Rule(scope="workspace", max_age=timedelta(days=1)))
    memory.put("old", scope=WEB)
    clock.advance(timedelta(days=2))

    done = memory.tidy()

    assert [entry.action for entry in done] == ["aged_out"]
    assert memory.upkeep_log() == done
    assert [rule.scope for rule in memory.rules()] == ["workspace"]


def test_a_secret_is_refused_and_nothing_is_kept(memory: Memory) -> None:
    with pytest.raises(SecretRefused):
        memory.put("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----")

    assert memory.stats().records == 0


def test_files_go_in_and_out(memory: Memory, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("We deploy with make ship.")

    report = memory.import_folder(notes, scope=WEB)
    exported = memory.export(tmp_path / "memory.jsonl")
    memory.backup(tmp_path / "backup.db")
    with open_memory(":memory:") as other:
        loaded = other.load(str(tmp_path / "memory.jsonl"))

    assert (report.indexed_files, exported, loaded.created) == (1, 1, 1)
    assert (tmp_path / "backup.db").exists()


def test_an_export_goes_to_any_text_stream(memory: Memory) -> None:
    memory.put("one")
    stream = io.StringIO()

    assert memory.export(stream) == 1
    assert len(stream.getvalue().splitlines()) == 3


def test_context_and_sections_are_for_prompts(memory: Memory) -> None:
    memory.put("Deploy with make ship", scope=WEB, key="deploy")

    block = memory.context("deploy", scopes=[WEB], budget=300)
    sections = memory.sections(workspace="web")

    assert "<project_facts>" in block.text
    assert block.tokens <= 300
    assert "## Workspace Memory\n- **deploy**: Deploy with make ship" in sections.text


def test_check_finds_nothing_wrong_with_a_new_memory(memory: Memory) -> None:
    memory.put("one")

    assert {finding.severity for finding in memory.check()} == {"ok"}


def test_reindex_says_how_far_it_is_and_leaves_a_line(memory: Memory) -> None:
    memory.put_many([Note(text=f"note {n}") for n in range(5)])
    told: list[tuple[int, int]] = []

    count = memory.reindex(progress=lambda done, total: told.append((done, total)))

    assert (count, told[-1]) == (5, (5, 5))
    assert memory.upkeep_log()[0].action == "reindexed"
    assert memory.search("note")


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "team.db")
    memory.close()
    memory.close()

    with pytest.raises(StoreClosed):
        memory.put("too late")


def test_many_threads_share_one_memory(memory: Memory) -> None:
    def work(n: int) -> None:
        for m in range(5):
            memory.put(f"thread {n} note {m}", scope=WEB)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)

    assert memory.stats().records == 40


def test_a_callback_that_waits_for_its_own_memory_is_told_so(memory: Memory, tmp_path: Path) -> None:
    memory.put("one")

    def tell(done: int, total: int) -> None:
        memory.put(f"{done} of {total}")

    with pytest.raises(RuntimeError):
        memory.export(tmp_path / "x.jsonl", progress=tell)

    assert memory.stats().records == 1


@pytest.mark.anyio
async def test_a_memory_is_awaited_or_entered(tmp_path: Path) -> None:
    async with open_memory_async(tmp_path / "a.db") as memory:
        await memory.put("entered")
    async with await open_memory_async(tmp_path / "a.db") as memory:
        assert [record.text for record in (await memory.list()).records] == ["entered"]
    with pytest.raises(StoreClosed):
        await memory.stats()


@pytest.mark.anyio
async def test_many_tasks_share_one_memory(tmp_path: Path) -> None:
    async with open_memory_async(tmp_path / "a.db") as memory:
        await asyncio.gather(*(memory.put(f"note {n}", at=datetime(2026, 1, 1, tzinfo=UTC)) for n in range(50)))

        assert (await memory.stats()).records == 50


@pytest.mark.anyio
async def test_a_memory_without_a_loop_is_closed_in_a_program_that_runs_one(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "team.db")
    memory.put("We ship on Fridays")

    memory.close()

    with pytest.raises(StoreClosed):
        memory.stats()
