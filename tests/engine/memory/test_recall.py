"""What a search finds: in the past, by filter, in many scopes, while others write, and when an embedder fails."""

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from commonplace.errors import EmbedderUnavailable, InvalidQuery
from commonplace.memory.holdings import IndexBudget, to_the_end
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.ports.embedder import Floats
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.recall import SqlRecall
from commonplace.stores.sqlite.records import SqlRecords
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.query import Filter, Hit, Mode, Query
from commonplace.values.record import Turn
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio

POND = Scope("workspace", "pond")
DAY = timedelta(days=1)


def words(text: str, *scopes: Scope, **filters: object) -> Query:
    return Query(text=text, mode="words", filter=Filter(scopes=scopes or None, **filters))  # pyright: ignore[reportArgumentType]


def found(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.text for hit in hits]


async def put(writer: Writer, text: str, **fields: object) -> str:
    note = replace(Note(text=text, scope=POND), **fields)  # pyright: ignore[reportArgumentType]
    return (await writer.put([note]))[0].record.id


# ---- nothing to find


@pytest.mark.parametrize("mode", ["words", "hybrid"])
async def test_an_empty_memory_an_unknown_scope_and_an_empty_one_answer_nothing(
    writer: Writer, recall: Recall, lifecycle: Lifecycle, mode: Mode
) -> None:
    assert await recall.search(Query(text="heron", mode=mode)) == []
    id = await put(writer, "A heron stands in the water")
    await put(writer, "A gull on the jetty", scope="user:ana")
    assert await recall.search(Query(text="heron", mode=mode, filter=Filter(scopes=(Scope("user", "ben"),)))) == []
    assert await recall.search(Query(text="heron", mode=mode, filter=Filter(scopes=()))) == []

    await lifecycle.delete(id)

    assert await recall.search(Query(text="heron", mode=mode, filter=Filter(scopes=(POND,)))) == []
    assert await recall.search(Query(text="heron", mode=mode, filter=Filter(kinds=("fact",)))) == []


async def test_a_question_without_a_word_answers_nothing_by_words(writer: Writer, recall: Recall) -> None:
    await put(writer, "A heron stands in the water")

    assert await recall.search(words("?! …")) == []


# ---- the past


async def test_the_past_is_found_by_its_own_words_and_as_it_stood(
    writer: Writer, recall: Recall, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    id = await put(writer, "The heron stands in the shallows", tags=("bird",))
    first = clock.now()
    second = clock.advance(DAY)
    await lifecycle.edit(id, {"text": "The bittern hides in the reeds"})
    third = clock.advance(DAY)
    await lifecycle.delete(id)

    def asked(text: str, at: object) -> Query:
        return replace(words(text), as_of=at)  # pyright: ignore[reportArgumentType]

    assert found(await recall.search(asked("heron", first))) == ["The heron stands in the shallows"]
    assert found(await recall.search(asked("bittern", first))) == []
    assert found(await recall.search(asked("heron", second))) == []
    assert found(await recall.search(asked("bittern", second))) == ["The bittern hides in the reeds"]
    assert found(await recall.search(asked("bittern", third))) == []
    assert found(await recall.search(words("bittern"))) == []
    assert found(await recall.search(asked("heron", first - DAY))) == []


async def test_the_past_is_filtered_by_what_was_so_then(
    writer: Writer, recall: Recall, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    id = await put(writer, "The heron stands in the shallows", kind="note")
    await put(writer, "Another heron flies by", kind="rumour")
    then = clock.now()
    clock.advance(DAY)
    await lifecycle.edit(id, {"kind": "fact"})
    await lifecycle.pin(id, True)

    def asked(**filters: object) -> Query:
        return replace(words("heron", **filters), as_of=then)  # pyright: ignore[reportArgumentType]

    assert found(await recall.search(asked(kinds=("note",)))) == ["The heron stands in the shallows"]
    assert found(await recall.search(asked(kinds=("fact",)))) == []
    assert found(await recall.search(asked(pinned=True))) == []
    assert len(await recall.search(asked(pinned=False))) == 2
    assert found(await recall.search(words("heron", kinds=("fact",), pinned=True))) == [
        "The heron stands in the shallows"
    ]


async def test_the_past_knows_where_a_record_was_and_what_had_expired(
    writer: Writer, recall: Recall, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    then = clock.now()
    moved = await put(writer, "A heron for the team", scope=Scope("agent", "a"))
    await put(writer, "A heron until noon", expires_at=then + DAY)
    clock.advance(3 * DAY)
    await lifecycle.promote(moved, scope=POND)

    in_the_past = replace(words("heron", POND), as_of=then)
    assert found(await recall.search(in_the_past)) == ["A heron until noon"]
    assert found(await recall.search(words("heron", POND))) == ["A heron for the team"]
    assert found(await recall.search(replace(words("heron", Scope("agent", "a")), as_of=then))) == [
        "A heron for the team"
    ]


# ---- the present


async def test_what_expires_while_the_index_is_warm_is_found_no_longer(
    writer: Writer, recall: Recall, clock: FakeClock
) -> None:
    await put(writer, "A heron until tomorrow", expires_at=clock.now() + DAY)
    await put(writer, "A heron for good")
    assert len(await recall.search(words("heron"))) == 2

    clock.advance(DAY)

    assert found(await recall.search(words("heron"))) == ["A heron for good"]


async def test_a_hit_names_the_passage_that_answers(writer: Writer, recall: Recall) -> None:
    filler = "\n\n".join(f"Chapter {n} tells of wind and of waves and of nothing else at all. " * 12 for n in range(9))
    text = f"{filler}\n\nThe lighthouse keeper was called Ottoline.\n\n{filler}"
    await put(writer, text)

    (hit,) = await recall.search(words("What was the lighthouse keeper called?"))

    assert "Ottoline" in hit.passage
    assert len(hit.passage) < len(text) / 3
    assert text[hit.why.start : hit.why.stop] == hit.passage
    assert "lighthous" in " ".join(hit.why.words)


async def test_sessions_of_the_same_name_in_two_scopes_lend_each_other_nothing(
    store: SqliteStore, writer: Writer, clock: FakeClock
) -> None:
    for scope, said in (("user:ana", "Did the heron come back?"), ("user:ben", "Yes")):
        await writer.add_turns(TurnOptions(session="chat", scope=scope), [Turn(speaker="user", text=said)])
    for n in range(6):
        await put(writer, f"Entry {n} about boats", scope="user:cy")
    asked = Query(text="heron", mode="words", filter=Filter(kinds=("turn",)))

    for recall in (
        Recall(store.recall, [], clock, DEFAULT_TENANT),
        Recall(store.recall, [], clock, DEFAULT_TENANT, IndexBudget(0)),
    ):
        assert found(await recall.search(asked)) == ["Did the heron come back?"]
        assert [hit.why.parts["neighbours"] for hit in await recall.search(replace(asked, filter=Filter()))] == [0.0]


async def test_more_scopes_than_are_held_apart_answer_as_one(
    store: SqliteStore, writer: Writer, clock: FakeClock
) -> None:
    scopes = [Scope("user", f"u{n}") for n in range(600)]
    await writer.put([Note(text=f"Heron number {n}", scope=scope) for n, scope in enumerate(scopes)])
    warm, cold = (
        Recall(store.recall, [], clock, DEFAULT_TENANT),
        Recall(store.recall, [], clock, DEFAULT_TENANT, IndexBudget(0)),
    )

    for recall in (warm, cold):
        everywhere = await recall.search(replace(words("heron"), limit=1_000))
        some = await recall.search(replace(words("heron", *scopes[:20]), limit=1_000))

        assert len(everywhere) == 600
        assert {hit.record.scope for hit in some} == set(scopes[:20])


async def test_searches_and_writes_at_the_same_time_disturb_nobody(writer: Writer, recall: Recall) -> None:
    async def write(n: int) -> None:
        await put(writer, f"Heron number {n}", key=f"k{n % 5}")

    async def search(n: int) -> int:
        return len(await recall.search(words("heron", *([POND] if n % 2 else []))))

    await put(writer, "The first heron")
    counts = await asyncio.gather(*(work(n) for n in range(40) for work in (write, search)))

    assert all(count for count in counts if count is not None)
    assert len(await recall.search(words("heron"))) == 6


class RestlessRecall(SqlRecall):
    """A store in which somebody else is quick: between two reads of one search, `meanwhile` happens once."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        numbers = await super().matching(tenant, filter)
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            await act()
        return numbers


@pytest.mark.parametrize(("many", "warm"), [(1, False), (10, False), (10, True)])
async def test_a_record_that_leaves_the_scope_during_a_search_is_not_told_from_where_it_went(
    tmp_path: Path, clock: FakeClock, many: int, warm: bool
) -> None:
    path = tmp_path / "restless.db"
    transactions = Transactions(WriterThread(open_writer(path)), Readers(path), clock)
    records, restless, preparer = SqlRecords(transactions), RestlessRecall(transactions), Preparer([], estimate)
    writer, recall = (
        Writer(records, restless, preparer, clock, DEFAULT_TENANT),
        Recall(restless, [], clock, DEFAULT_TENANT),
    )
    lifecycle = Lifecycle(records, preparer, clock, DEFAULT_TENANT)
    scopes = [Scope("workspace", f"pond {n}") for n in range(many)]
    ids = [await put(writer, "A heron stands in the water", scope=scope) for scope in scopes]
    if warm:
        await recall.search(words("heron"))
    restless.meanwhile = lambda: lifecycle.promote(ids[0], scope=Scope("user", "ana"))

    hits = await recall.search(words("heron", *scopes, kinds=("note",)))

    await transactions.aclose()
    assert {hit.record.scope for hit in hits} == set(scopes[1:])


async def test_a_cancelled_search_waits_until_its_thread_has_let_go_of_the_index() -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert may_end.wait(5)
        ended.set()

    task = asyncio.ensure_future(to_the_end(work))
    assert await asyncio.to_thread(began.wait, 5)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=0)
    may_end.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not done
    assert ended.is_set()


async def test_a_search_after_a_write_sees_it_however_many_came_before(writer: Writer, recall: Recall) -> None:
    """So often that segments are merged, dead ones among them."""
    for n in range(30):
        await put(writer, f"The heron of day {n}", key="news")
        boat = "bcdfghjklm"[n % 10] + "aou"[n // 10] + "rla"
        await put(writer, f"The {boat} came in")

        assert found(await recall.search(words("heron"))) == [f"The heron of day {n}"]
        assert found(await recall.search(words(boat)))[0] == f"The {boat} came in"


async def test_near_copies_lose_to_what_says_something_else(writer: Writer, recall: Recall) -> None:
    for n in range(4):
        await put(writer, f"The heron stands in the cold shallow water of the pond every morning{'!' * n}")
    await put(writer, "A heron was seen far out at sea")
    await put(writer, "Boats lie in the harbour")

    plain = await recall.search(replace(words("heron pond water"), limit=2, copies=True))
    diverse = await recall.search(replace(words("heron pond water"), limit=2, copies=True, diversity=5.0))

    assert "A heron was seen far out at sea" not in found(plain)
    assert "A heron was seen far out at sea" in found(diverse)


# ---- embedders


class Moody:
    """An embedder that answers, or does not."""

    name = "moody-4"
    dimension = 4

    def __init__(self) -> None:
        self.answers = True

    async def embed(self, texts: Sequence[str]) -> Floats:
        if not self.answers:
            raise EmbedderUnavailable
        rows = [[float("bird" in text), float("boat" in text), 0.1, 0.1] for text in texts]
        made = np.array(rows, dtype=np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    async def aclose(self) -> None: ...


async def test_where_an_embedder_fails_the_words_still_answer(store: SqliteStore, clock: FakeClock) -> None:
    moody = Moody()
    await store.maintenance.set_embedders({moody.name: moody.dimension})
    writer = Writer(store.records, store.recall, Preparer([moody], estimate), clock, DEFAULT_TENANT)
    recall = Recall(store.recall, [moody], clock, DEFAULT_TENANT)
    for text in ("A bird in the reeds", "A boat at sea", "Neither of them"):
        await put(writer, text)
    assert found(await recall.search(Query(text="some birdlike thing", mode="meaning", limit=1))) == [
        "A bird in the reeds"
    ]

    moody.answers = False

    assert found(await recall.search(Query(text="boat", limit=1))) == ["A boat at sea"]
    with pytest.raises(EmbedderUnavailable):
        await recall.search(Query(text="boat", mode="meaning"))


async def test_a_write_without_its_vectors_is_no_write(store: SqliteStore, clock: FakeClock) -> None:
    moody = Moody()
    await store.maintenance.set_embedders({moody.name: moody.dimension})
    writer = Writer(store.records, store.recall, Preparer([moody], estimate), clock, DEFAULT_TENANT)
    moody.answers = False

    with pytest.raises(EmbedderUnavailable):
        await put(writer, "A bird in the reeds")

    assert (await store.maintenance.stats(DEFAULT_TENANT)).records == 0


async def test_texts_that_are_all_alike_are_not_told_apart_by_rounding(store: SqliteStore, clock: FakeClock) -> None:
    moody = Moody()
    await store.maintenance.set_embedders({moody.name: moody.dimension})
    writer = Writer(store.records, store.recall, Preparer([moody], estimate), clock, DEFAULT_TENANT)
    for n in range(7):
        await put(writer, "A bird in the reeds", scope=Scope("user", f"u{n % 3}"))

    hits = await Recall(store.recall, [moody], clock, DEFAULT_TENANT).search(Query(text="bird", copies=True))

    assert len(hits) == 7
    assert {round(hit.score, 6) for hit in hits} == {round(hits[0].score, 6)}


# ---- weights


async def test_a_weight_changes_the_order(writer: Writer, recall: Recall) -> None:
    await put(writer, "The heron, the heron, the heron")
    await put(writer, "A heron among many other birds of the pond", pinned=True)
    for n in range(5):
        await put(writer, f"Boat {n} lies in the harbour")

    heavy = await recall.search(replace(words("heron"), weights={"pin": 10.0}))
    light = await recall.search(replace(words("heron"), weights={"pin": 0.0}))

    assert found(heavy)[0] == "A heron among many other birds of the pond"
    assert found(light)[0] == "The heron, the heron, the heron"


@pytest.mark.parametrize("weights", [{"luck": 1.0}, {"embedders": 1.0}, {"pin": math.nan}, {"terse": 0.0}])
async def test_a_weight_that_makes_no_sense_is_refused(recall: Recall, weights: dict[str, float]) -> None:
    with pytest.raises(InvalidQuery):
        await recall.search(replace(words("heron"), weights=weights))
