"""
After any sequence of changes, a recall that has followed them all answers as one that was opened just now.

The store is one for all examples, each a tenant of its own beside those of the examples before it: what another tenant
wrote must never show.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.errors import CommonplaceError
from commonplace.memory import holdings
from commonplace.memory.holdings import IndexBudget
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.ports.embedder import Floats
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter, Hit, Mode, Query
from commonplace.values.record import Record, Turn
from commonplace.values.scope import Scope
from commonplace.values.turn_options import TurnOptions
from commonplace.values.vector import to_unit

SCOPES = tuple(Scope("workspace", f"w{n}") for n in range(10))
"""More than are indexed one by one."""
WORDS = ("heron", "jetty", "anchor", "lantern", "harbour", "tide", "gull", "rope", "mast", "keel")
MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")
TENANTS = itertools.count()
EVERYTHING = 1_000


class BagOfWords:
    """Words as points, texts as their sum: enough meaning for texts with common words to be near."""

    name = "bag-16"
    dimension = 16

    async def embed(self, texts: Sequence[str]) -> Floats:
        rows = np.array([self._row(text) for text in texts], dtype=np.float32).reshape(len(texts), 16)
        return to_unit(rows)

    def _row(self, text: str) -> Floats:
        points = [np.frombuffer(sha256(word.encode()).digest()[:16], dtype=np.int8) for word in text.lower().split()]
        return np.array(points, dtype=np.float32).sum(axis=0)

    async def aclose(self) -> None: ...


@dataclass
class World:
    """One tenant, its engines, and what it was told."""

    store: SqliteStore
    tenant: str = field(default_factory=lambda: f"example/{next(TENANTS)}")
    clock: FakeClock = field(default_factory=FakeClock)
    ids: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        preparer = Preparer([BagOfWords()], estimate)
        self.writer = Writer(self.store.records, self.store.recall, preparer, self.clock, self.tenant)
        self.lifecycle = Lifecycle(self.store.records, preparer, self.clock, self.tenant, "ana")

    def recall(self, cache: int = 1 << 28) -> Recall:
        """One opened just now. Without room for an index it is answered from the store."""
        return Recall(self.store.recall, [BagOfWords()], self.clock, self.tenant, IndexBudget(cache))

    async def take(self, step: tuple[str, int, int, str]) -> None:
        """What cannot be done, a deleted record pinned for instance, changes nothing."""
        verb, which, where, text = step
        scope = SCOPES[where]
        if verb == "put":
            note = Note(text=text, scope=scope, importance=which * 4, tags=(text.split()[0],))
            self.ids.append((await self.writer.put([note]))[0].record.id)
        elif verb == "key":
            note = Note(text=text, scope=scope, key=f"k{which % 3}", kind="fact", source="import")
            self.ids.append((await self.writer.put([note]))[0].record.id)
        elif verb == "turns":
            turns = [Turn(speaker=f"s{n}", text=word) for n, word in enumerate(text.split())]
            told = TurnOptions(session=f"c{which % 2}", scope=scope, trust="external_user_supplied")
            self.ids += [one.record.id for one in await self.writer.add_turns(told, turns)]
        elif verb == "purge" and self.ids:
            gone = Filter(ids=(self.ids[which % len(self.ids)],), states=ALL_STATES)
            await self.store.records.purge(self.tenant, [gone])
        elif self.ids:
            await self._change(verb, self.ids[which % len(self.ids)], scope, text)

    async def _change(self, verb: str, id: str, scope: Scope, text: str) -> None:
        change = {
            "edit": lambda: self.lifecycle.edit(id, {"text": text}),
            "pin": lambda: self.lifecycle.pin(id, True),
            "delete": lambda: self.lifecycle.delete(id),
            "undo": lambda: self.lifecycle.undo(id),
            "demote": lambda: self.lifecycle.demote(id),
            "move": lambda: self.lifecycle.promote(id, scope=scope),
        }[verb]
        try:
            await change()
        except CommonplaceError:
            return

    async def live(self) -> dict[str, Record]:
        page = await self.store.records.find(self.tenant, Filter(), "oldest", EVERYTHING, None)
        return {record.id: record for record in page.records}


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
places = st.one_of(st.integers(0, 2), st.integers(0, len(SCOPES) - 1))
verbs = st.sampled_from(
    ["put", "put", "put", "key", "turns", "turns", "edit", "edit", "pin", "delete", "undo", "demote", "move", "purge"]
)
steps = st.lists(st.tuples(verbs, st.integers(0, 25), places, texts), min_size=1, max_size=20)
asked_scopes = st.one_of(
    st.none(), st.sets(places, min_size=1).map(lambda some: tuple(SCOPES[n] for n in sorted(some)))
)
questions = st.tuples(texts, st.sampled_from(MODES), asked_scopes)

thorough = settings(
    max_examples=settings.default.max_examples // 2 if settings.default else 50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Generator[SqliteStore]:
    path: Path = tmp_path_factory.mktemp("recall") / "memory.db"

    async def opened() -> SqliteStore:
        store = await SqliteStore.open(path, FakeClock())
        await store.maintenance.set_embedders({BagOfWords.name: BagOfWords.dimension})
        return store

    store = asyncio.run(opened())
    yield store
    asyncio.run(store.aclose())


def query(question: tuple[str, Mode, tuple[Scope, ...] | None], filter: Filter | None = None) -> Query:
    text, mode, scopes = question
    return Query(text=text, mode=mode, filter=filter or Filter(scopes=scopes), limit=EVERYTHING, copies=True)


def scores(hits: Sequence[Hit]) -> dict[tuple[str, int], float]:
    return {(hit.record.id, hit.record.version): hit.score for hit in hits}


@thorough
@given(steps=st.lists(st.tuples(steps, questions), min_size=1, max_size=6))
def test_a_recall_that_followed_along_answers_as_a_fresh_one(
    store: SqliteStore, steps: list[tuple[list[tuple[str, int, int, str]], tuple[str, Mode, tuple[Scope, ...] | None]]]
) -> None:
    async def play() -> None:
        world = World(store)
        warm = world.recall()
        for some, question in steps:
            for step in some:
                await world.take(step)
                await warm.search(query(question))
            world.clock.advance(timedelta(hours=1))

            followed, fresh = await warm.search(query(question)), await world.recall().search(query(question))

            assert scores(followed) == pytest.approx(scores(fresh), abs=1e-4)
            assert [hit.record for hit in followed if hit.record.tenant != world.tenant] == []
            assert {hit.record.scope for hit in followed} <= set(question[2] or SCOPES)

    asyncio.run(play())


@settings(thorough, max_examples=25)
@given(steps=st.lists(st.tuples(steps, questions), min_size=1, max_size=3))
def test_a_recall_whose_scopes_are_loaded_meanwhile_answers_as_the_store_does(
    store: SqliteStore, steps: list[tuple[list[tuple[str, int, int, str]], tuple[str, Mode, tuple[Scope, ...] | None]]]
) -> None:
    async def play() -> None:
        world = World(store)
        loading = world.recall()
        for some, question in steps:
            for step in some:
                await asyncio.gather(world.take(step), loading.search(query(question)))

                followed, told = await loading.search(query(question)), await world.recall(0).search(query(question))

                # Turns that lend from two places away are not read for a single question.
                assert scores(followed).keys() == scores(told).keys()
                assert question[1] == "words" or scores(followed) == pytest.approx(scores(told), abs=1e-4)
        await loading.aclose()

    with pytest.MonkeyPatch.context() as patch:
        # All but the smallest scopes are loaded in the background.
        patch.setattr(holdings, "COLD", 1)
        asyncio.run(play())


@thorough
@given(steps=steps, question=questions)
def test_the_parts_of_every_hit_sum_to_its_score(
    store: SqliteStore, steps: list[tuple[str, int, int, str]], question: tuple[str, Mode, tuple[Scope, ...] | None]
) -> None:
    async def play() -> None:
        world = World(store)
        for step in steps:
            await world.take(step)
        for recall, mode in itertools.product((world.recall(), world.recall(0)), MODES):
            for diversity in (0.0, 0.7):
                asked = Query(text=question[0], mode=mode, diversity=diversity, limit=EVERYTHING)
                hits = await recall.search(asked)

                assert [sum(hit.why.parts.values()) for hit in hits] == pytest.approx(
                    [hit.score for hit in hits], abs=1e-6
                )
                assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
                assert len({hit.record.id for hit in hits}) == len(hits)

    asyncio.run(play())


@thorough
@given(steps=steps, question=questions)
def test_the_store_alone_gives_the_same_answer_as_an_index_in_memory(
    store: SqliteStore, steps: list[tuple[str, int, int, str]], question: tuple[str, Mode, tuple[Scope, ...] | None]
) -> None:
    async def play() -> None:
        world = World(store)
        for step in steps:
            await world.take(step)

        cold, warm = await world.recall(0).search(query(question)), await world.recall().search(query(question))

        if question[1] == "words":
            # Turns that lend from two places away are not read for a single question.
            assert scores(cold).keys() == scores(warm).keys()
        else:
            assert scores(cold) == pytest.approx(scores(warm), abs=1e-4)

    asyncio.run(play())


@thorough
@given(steps=steps, question=texts, others=steps)
def test_a_search_in_the_past_finds_what_stood_then(
    store: SqliteStore,
    steps: list[tuple[str, int, int, str]],
    question: str,
    others: list[tuple[str, int, int, str]],
) -> None:
    async def play() -> None:
        world = World(store)
        stood: list[tuple[Query, dict[str, Record]]] = []
        for step in (*steps, *others):
            await world.take(step)
            asked = Query(text=question, mode="meaning", as_of=world.clock.now(), limit=EVERYTHING, copies=True)
            stood.append((asked, await world.live()))
            world.clock.advance(timedelta(seconds=1))
        recall = world.recall()
        left = await store.records.find(world.tenant, Filter(states=ALL_STATES), "oldest", EVERYTHING, None)
        kept = {record.id for record in left.records}

        for asked, then in stood:
            hits = await recall.search(asked)
            assert {hit.record.id: hit.record for hit in hits} == {id: then[id] for id in then.keys() & kept}

    asyncio.run(play())


filters = st.builds(
    Filter,
    scopes=asked_scopes,
    kinds=st.sampled_from([(), ("note",), ("fact", "turn"), ("none",)]),
    sources=st.sampled_from([(), (), ("manual", "turn"), ("import",)]),
    tags=st.sampled_from([(), (), ("heron",), ("heron", "jetty")]),
    trust=st.sampled_from([(), (), ("external_user_supplied",), ("system_generated", "verified")]),
    sessions=st.sampled_from([(), (), ("c0",), ("c0", "c1")]),
    speaker=st.sampled_from([None, None, "s0", "s1"]),
    pinned=st.sampled_from([None, None, True, False]),
    since=st.sampled_from([None, None, FakeClock().now() + timedelta(minutes=3)]),
    until=st.sampled_from([None, None, FakeClock().now() + timedelta(minutes=6)]),
)


@thorough
@given(steps=steps, question=st.tuples(texts, st.sampled_from(["hybrid", "meaning"]), st.none()), filter=filters)
def test_a_filter_lets_through_what_fits_and_nothing_else(
    store: SqliteStore,
    steps: list[tuple[str, int, int, str]],
    question: tuple[str, Mode, None],
    filter: Filter,
) -> None:
    async def play() -> None:
        world = World(store)
        warm = world.recall()
        for step in steps:
            await world.take(step)
            world.clock.advance(timedelta(minutes=1))
        await warm.search(query(question))
        now = world.clock.now()
        expected = {id for id, record in (await world.live()).items() if fits(filter, record)}

        for recall in (warm, world.recall(), world.recall(0)):
            found = await recall.search(query(question, filter))
            assert {hit.record.id for hit in found} == expected
        past = await warm.search(Query(text=question[0], filter=filter, as_of=now, limit=EVERYTHING))
        assert {hit.record.id for hit in past} == expected

    asyncio.run(play())


def fits(filter: Filter, record: Record) -> bool:
    """The filter as its documentation says it, one record at a time."""
    told = record.at or record.created_at
    wanted = [
        filter.scopes is None or record.scope in filter.scopes,
        not filter.kinds or record.kind in filter.kinds,
        not filter.sources or record.source in filter.sources,
        not filter.trust or record.trust in filter.trust,
        not filter.sessions or record.session in filter.sessions,
        filter.speaker is None or record.speaker == filter.speaker,
        filter.pinned is None or record.pinned == filter.pinned,
        filter.since is None or told >= filter.since,
        filter.until is None or told < filter.until,
    ]
    return all(wanted) and all(tag in record.tags for tag in filter.tags)
