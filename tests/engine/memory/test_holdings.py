"""A large scope is loaded while searches go on: nobody waits for it, and no answer lags behind a commit."""

import asyncio
import logging
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.errors import StoreUnavailable
from commonplace.memory import holdings
from commonplace.memory import recall as recalling
from commonplace.memory.holdings import Held, IndexBudget, aside
from commonplace.memory.index import Index
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.recall import Entry, IndexChanges, Mark
from commonplace.stores.postgres import PostgresStore
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.recall import SqlRecall
from commonplace.stores.sqlite.reserve import Reserve
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter, Hit, Query
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

LAKE = Scope("workspace", "lake")
MANY = 60
PORTION = 10
PATIENCE = 5


class GatedRecall(SqlRecall):
    """What recall reads, but reads for an index, of a portion or of changes, wait at a gate."""

    opened: asyncio.Event
    reading: asyncio.Event
    reads: int
    at_once: int
    most_at_once: int
    fault: Exception | None

    def shut(self) -> None:
        self.opened, self.reading = asyncio.Event(), asyncio.Event()
        self.reads = self.at_once = self.most_at_once = 0
        self.fault = None

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        if len(records) < PORTION:
            return await super().entries_of(records, embedders)
        self.reads += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.reading.set()
        try:
            await asyncio.wait_for(self.opened.wait(), PATIENCE)
        finally:
            self.at_once -= 1
        if self.fault is not None:
            raise self.fault
        return await super().entries_of(records, embedders)

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
        self.reading.set()
        await asyncio.wait_for(self.opened.wait(), PATIENCE)
        return await super().changes(mark, after, embedders)


class Gated(SqliteStore):
    """A store with such a gate."""

    def __init__(
        self, path: Path, writer: WriterThread, readers: Readers, clock: Clock, reserve: Reserve | None = None
    ) -> None:
        super().__init__(path, writer, readers, clock, reserve)
        self.gate = self.recall = GatedRecall(self._transactions)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (holdings, recalling):
        monkeypatch.setattr(module, "COLD", MANY // 2)
    monkeypatch.setattr(holdings, "_PORTION", PORTION)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Gated]:
    store = await Gated.open(tmp_path / "gated.db", clock)
    assert isinstance(store, Gated)
    store.gate.shut()
    yield store
    await store.aclose()


@pytest.fixture
async def recall(store: Gated, clock: FakeClock) -> AsyncGenerator[Recall]:
    recall = Recall(store.recall, [], clock, DEFAULT_TENANT)
    yield recall
    await recall.aclose()


@pytest.fixture(autouse=True)
async def filled(store: Gated, clock: FakeClock) -> None:
    await fill(store, clock)


async def fill(store: SqliteStore | PostgresStore, clock: FakeClock) -> Writer:
    notes = [Note(text=f"heron number {n} by the {'reed' if n % 3 else 'water'}", scope=LAKE) for n in range(MANY)]
    writer = Writer(store.records, store.recall, Preparer([], estimate), clock, DEFAULT_TENANT)
    await writer.put(notes)
    return writer


def asked(text: str, scope: Scope = LAKE) -> Query:
    return Query(text=text, mode="words", filter=Filter(scopes=(scope,)), limit=MANY * 2)


def texts(hits: Sequence[Hit]) -> set[str]:
    return {hit.record.text for hit in hits}


def scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.record.id: hit.score for hit in hits}


def is_warm(recall: Recall) -> bool:
    return bool(recall._holdings._held)  # pyright: ignore[reportPrivateUsage]


def loads(recall: Recall) -> list[asyncio.Task[object]]:
    return list(recall._holdings._loads.values())  # pyright: ignore[reportPrivateUsage, reportReturnType]


async def begin(recall: Recall, store: Gated) -> None:
    """The second question begins the load; it stands at the gate."""
    await recall.search(asked("heron"))
    await recall.search(asked("heron"))
    await asyncio.wait_for(store.gate.reading.wait(), PATIENCE)


async def end(recall: Recall, store: Gated) -> None:
    store.gate.opened.set()
    if waiting := loads(recall):
        await asyncio.wait(waiting, timeout=PATIENCE)
    # Whoever is told of the end of a task is told in the next round of the loop.
    await asyncio.sleep(0)


async def test_a_single_question_loads_nothing(recall: Recall, store: Gated) -> None:
    hits = await recall.search(asked("heron"))

    assert len(hits) == MANY
    assert loads(recall) == []
    assert store.gate.reads == 0


async def test_searches_do_not_wait_for_the_load_and_then_have_it(recall: Recall, store: Gated) -> None:
    await begin(recall, store)
    before = [await recall.search(asked("reed water")) for _ in range(3)]
    cold = is_warm(recall)

    await end(recall, store)

    after = await recall.search(asked("reed water"))
    assert not cold
    assert is_warm(recall)
    assert [scores(hits) for hits in before] == [pytest.approx(scores(after), abs=1e-4)] * 3
    assert len(after) == MANY


async def test_a_scope_on_postgresql_is_loaded_in_the_background_too(address: str, clock: FakeClock) -> None:
    async with await PostgresStore.open(address, clock) as store:
        writer, recall = await fill(store, clock), Recall(store.recall, [], clock, DEFAULT_TENANT)
        await recall.search(asked("heron"))
        cold = scores(await recall.search(asked("heron")))

        [load] = loads(recall)
        await asyncio.wait_for(load, PATIENCE)
        await asyncio.sleep(0)

        assert is_warm(recall)
        assert scores(await recall.search(asked("heron"))) == pytest.approx(cold)
        await writer.put([Note(text="heron that came late", scope=LAKE)])
        assert "heron that came late" in texts(await recall.search(asked("heron")))
        await recall.aclose()


async def test_what_one_search_brings_in_is_no_load_for_the_next(
    recall: Recall, store: Gated, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin(recall, store)
    await end(recall, store)
    adding, go_on, add = threading.Event(), threading.Event(), Index.add

    def held_up(self: Index, entries: Sequence[tuple[int, Entry]]) -> None:
        adding.set()
        assert go_on.wait(PATIENCE)
        add(self, entries)

    await writer.put([Note(text="heron that came late", scope=LAKE)])
    monkeypatch.setattr(Index, "add", held_up)

    first = asyncio.ensure_future(recall.search(asked("heron")))
    await asyncio.to_thread(adding.wait, PATIENCE)
    second = asyncio.ensure_future(recall.search(asked("heron")))
    await asyncio.wait([second], timeout=0.2)

    assert is_warm(recall)
    assert not loads(recall)
    go_on.set()
    for found in await asyncio.gather(first, second):
        assert "heron that came late" in texts(found)


async def test_two_loads_of_one_scope_never_run_at_once(recall: Recall, store: Gated) -> None:
    await begin(recall, store)

    await asyncio.gather(*(recall.search(asked("heron")) for _ in range(8)))

    running = len(loads(recall))
    await end(recall, store)
    assert running == 1
    assert store.gate.most_at_once == 1
    assert store.gate.reads == MANY // PORTION


async def test_what_is_written_changed_and_deleted_during_a_load_counts_at_once_and_afterwards(
    recall: Recall, store: Gated, writer: Writer, lifecycle: Lifecycle
) -> None:
    await begin(recall, store)
    [changed, deleted] = [hit.record for hit in (await recall.search(asked("number 7 11")))[:2]]

    await writer.put([Note(text="An otter swims", scope=LAKE)])
    await lifecycle.edit(changed.id, {"text": "An otter dives"})
    await lifecycle.delete(deleted.id)

    during = await recall.search(asked("heron otter"))
    await end(recall, store)
    after = await recall.search(asked("heron otter"))
    assert is_warm(recall)
    for hits in (during, after):
        assert {"An otter swims", "An otter dives"} <= texts(hits)
        assert not {changed.text, deleted.text} & texts(hits)
        assert len(hits) == MANY - 1 + 1 - 1 + 1
    assert scores(during) == pytest.approx(scores(after), abs=1e-4)


async def test_a_load_that_a_purge_overtook_is_begun_anew_by_whoever_asks_next(recall: Recall, store: Gated) -> None:
    await begin(recall, store)
    gone = (await recall.search(asked("number 7")))[0].record
    await store.records.purge(DEFAULT_TENANT, [Filter(ids=(gone.id,), states=ALL_STATES)])

    await end(recall, store)

    overtaken = is_warm(recall)
    hits = await recall.search(asked("heron"))
    await end(recall, store)
    again = await recall.search(asked("heron"))
    assert not overtaken
    assert is_warm(recall)
    assert gone.text not in texts(hits) | texts(again)
    assert len(hits) == len(again) == MANY - 1


async def test_a_warm_scope_that_a_purge_makes_anew_is_loaded_without_a_pause(recall: Recall, store: Gated) -> None:
    await begin(recall, store)
    await end(recall, store)
    gone = (await recall.search(asked("number 7")))[0].record
    await store.records.purge(DEFAULT_TENANT, [Filter(ids=(gone.id,), states=ALL_STATES)])
    store.gate.shut()

    hits = await recall.search(asked("heron"))

    await asyncio.wait_for(store.gate.reading.wait(), PATIENCE)
    loading = len(loads(recall))
    await end(recall, store)
    again = await recall.search(asked("heron"))
    assert loading == 1
    assert is_warm(recall)
    assert gone.text not in texts(hits) | texts(again)
    assert len(hits) == len(again) == MANY - 1


async def test_much_that_came_at_once_is_brought_in_without_a_pause(
    recall: Recall, store: Gated, writer: Writer
) -> None:
    await begin(recall, store)
    await end(recall, store)
    await writer.put([Note(text=f"otter number {n}", scope=LAKE) for n in range(MANY)])
    store.gate.shut()

    hits = await recall.search(asked("otter"))

    await asyncio.wait_for(store.gate.reading.wait(), PATIENCE)
    await end(recall, store)
    again = await recall.search(asked("otter"))
    assert is_warm(recall)
    assert store.gate.reads == 0
    assert len(hits) == len(again) == MANY
    assert scores(hits) == pytest.approx(scores(again), abs=1e-4)


async def test_a_filter_that_many_fit_is_not_waited_for_either(recall: Recall, store: Gated) -> None:
    filtered = replace(asked("heron"), filter=Filter(scopes=(LAKE,), kinds=("note",)))
    first = [await recall.search(filtered) for _ in range(2)]
    await asyncio.wait_for(store.gate.reading.wait(), PATIENCE)

    await end(recall, store)

    after = await recall.search(filtered)
    assert is_warm(recall)
    assert [scores(hits) for hits in first] == [pytest.approx(scores(after), abs=1e-4)] * 2
    assert len(after) == MANY


async def test_a_load_that_fails_is_told_and_fails_no_search(
    recall: Recall, store: Gated, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(recall, store)
    store.gate.fault = StoreUnavailable()

    with caplog.at_level(logging.WARNING):
        await end(recall, store)

    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert len(await recall.search(asked("heron"))) == MANY
    assert loads(recall) == []
    store.gate.fault = None
    assert len(await recall.search(asked("heron"))) == MANY
    await end(recall, store)
    assert is_warm(recall)


async def test_a_load_ends_at_once_when_the_memory_is_closed(recall: Recall, store: Gated) -> None:
    await begin(recall, store)
    [load] = loads(recall)

    await asyncio.wait_for(recall.aclose(), PATIENCE)

    assert load.cancelled()
    assert store.gate.at_once == 0
    assert not is_warm(recall)


async def test_a_store_that_is_closed_under_a_load_ends_it_without_a_word(
    recall: Recall, store: Gated, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(recall, store)
    [load] = loads(recall)

    await store.aclose()
    await end(recall, store)

    assert load.done()
    assert loads(recall) == []
    assert caplog.records == []


async def test_what_was_loaded_before_the_caches_were_dropped_is_dropped_too(recall: Recall, store: Gated) -> None:
    await begin(recall, store)
    [load] = loads(recall)

    recall.forget_cache()
    await asyncio.wait([load], timeout=PATIENCE)

    assert load.cancelled()
    assert not is_warm(recall)
    assert loads(recall) == []


async def test_no_room_is_no_load(store: Gated, clock: FakeClock) -> None:
    recall = Recall(store.recall, [], clock, DEFAULT_TENANT, IndexBudget(100))

    found = [len(await recall.search(asked("heron"))) for _ in range(3)]

    assert found == [MANY] * 3
    assert loads(recall) == []
    assert store.gate.reads == 0


async def test_a_load_lets_go_of_what_was_not_used_for_longest(store: Gated, writer: Writer, clock: FakeClock) -> None:
    store.gate.opened.set()
    recall = Recall(store.recall, [], clock, DEFAULT_TENANT, IndexBudget(200 * MANY))
    ponds = [Scope("workspace", f"pond {n}") for n in range(2)]
    long = " ".join(f"word{n}" for n in range(50))
    await writer.put([Note(text=f"heron {n} {long}", scope=pond) for pond in ponds for n in range(MANY)])

    for pond in (*ponds, *ponds):
        assert len(await recall.search(asked("heron", pond))) == MANY
        await end(recall, store)

    held = recall._holdings._held  # pyright: ignore[reportPrivateUsage]
    [last] = await store.recall.marks(DEFAULT_TENANT, ponds[1:])
    assert list(held) == [last.number]


ENDING = """
import sys
from commonplace import Note, open_memory
from commonplace.memory import holdings

holdings.COLD, holdings._PORTION = 10, 1
memory = open_memory(sys.argv[1], embedder="none")
memory.put_many([Note(text=f"heron number {n}") for n in range(500)])
for _ in range(2):
    print(len(memory.search("heron", limit=20)))
if "close" in sys.argv:
    memory.close()
"""


@pytest.mark.parametrize("closed", [("close",), ()])
async def test_a_program_that_ends_during_a_load_ends_without_a_word(tmp_path: Path, closed: tuple[str, ...]) -> None:
    command = (sys.executable, "-c", ENDING, str(tmp_path / "ending.db"), *closed)
    program = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)

    told, complaint = await asyncio.wait_for(program.communicate(), 6 * PATIENCE)

    assert (program.returncode, complaint) == (0, b"")
    assert told.split() == [b"20", b"20"]


async def test_whoever_is_cancelled_leaves_a_thread_aside_alone() -> None:
    began, may_end = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert may_end.wait(PATIENCE)

    task = asyncio.ensure_future(aside(work))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    may_end.set()

    assert done == {task}
    assert task.cancelled()


@pytest.mark.parametrize(
    ("seen", "asked_for", "is_there"),
    [
        ((3, 10), (3, 10), True),
        ((3, 11), (3, 10), True),
        ((3, 9), (3, 10), False),
        ((3, 10), (4, 10), False),
        ((3, 99), (4, 1), False),
        ((4, 1), (3, 99), True),
    ],
)
async def test_an_index_that_saw_an_earlier_epoch_is_not_fresh_however_far_it_had_come(
    seen: tuple[int, int], asked_for: tuple[int, int], is_there: bool
) -> None:
    def mark(epoch: int, seq: int) -> Mark:
        return Mark(scope=LAKE, number=7, seq=seq, epoch=epoch, passages=5, terms=9)

    held = Held(Index({}), {7: mark(*seen)})

    assert held.has(mark(*asked_for)) is is_there
    assert held.lacks(mark(*asked_for)) == (5 if seen[0] < asked_for[0] else 0)
    assert not held.has(mark(*asked_for)._replace(number=8))


async def test_what_a_purge_removed_is_not_found_by_an_index_that_had_it(
    recall: Recall, store: Gated, writer: Writer
) -> None:
    """The last write before the purge and the purge itself may share a number: the epoch tells them apart."""
    store.gate.opened.set()
    [written] = await writer.put([Note(text="bittern in the reed bed", scope=Scope("workspace", "marsh"))])
    marsh = asked("bittern", Scope("workspace", "marsh"))
    before = [texts(await recall.search(marsh)) for _ in range(3)]

    await store.records.purge(DEFAULT_TENANT, [Filter(ids=(written.record.id,), states=ALL_STATES)])
    await writer.put([Note(text="bittern that came back", scope=Scope("workspace", "marsh"))])

    assert before == [{"bittern in the reed bed"}] * 3
    assert texts(await recall.search(marsh)) == {"bittern that came back"}
