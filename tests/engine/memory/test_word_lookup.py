"""A long question over many scopes costs what is in the scopes, in short reads, and finds what a short one would."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.memory import gather, holdings, word_lookup
from commonplace.memory import recall as recalling
from commonplace.memory.gather import MOST_TERMS
from commonplace.memory.holdings import IndexBudget
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.word_lookup import (
    CAP,
    LOOKUP,
    LOOKUPS_AT_ONCE,
    MOST_LOOKUPS,
    PASSAGES_AT_ONCE,
    WordLookup,
    portions,
)
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.recall import Entry, IndexChanges, Mark, RecallStore
from commonplace.stores.rarity import MOST_PASSAGES, rarer_terms
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.recall import SqlRecall
from commonplace.stores.sqlite.reserve import Reserve
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.postings import pack, term_hash
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.query import Hit, Query
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

SCOPES = 120
EACH = 5
WORDS = [f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(1_300)]
LONG = " ".join(WORDS)
HERON = f"{WORDS[1_299]} and {WORDS[1_250]} near {WORDS[1_200]} are the heron's"


class CountedRecall(SqlRecall):
    """What recall reads, and what each read costs: lookups of terms, and passages."""

    lookups: list[int]
    passages: list[int]

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        self.lookups.append(len(marks) * len(terms))
        return await super().words(marks, terms, cap, among)

    async def whole(self, marks: Sequence[Mark], embedders: Sequence[str]) -> list[IndexChanges]:
        changes = await super().whole(marks, embedders)
        self.passages.append(sum(len(change.entries) for change in changes))
        return changes


class Counted(SqliteStore):
    """A store that counts."""

    def __init__(
        self, path: Path, writer: WriterThread, readers: Readers, clock: Clock, reserve: Reserve | None = None
    ) -> None:
        super().__init__(path, writer, readers, clock, reserve)
        self.counter = self.recall = CountedRecall(self._transactions)
        self.counter.lookups, self.counter.passages = [], []


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Counted]:
    store = await Counted.open(tmp_path / "counted.db", clock)
    assert isinstance(store, Counted)
    writer = Writer(store.records, store.recall, Preparer([], estimate), clock, DEFAULT_TENANT)
    notes = [
        Note(text=f"{WORDS[(7 * scope + n) % 40]} {WORDS[scope + n]} number{n}", scope=Scope("workspace", f"p{scope}"))
        for scope in range(SCOPES)
        for n in range(EACH)
    ]
    notes.append(Note(text=HERON, scope=Scope("workspace", "p77")))
    await writer.put(notes)
    yield store
    await store.aclose()


@pytest.fixture
async def recall(store: Counted, clock: FakeClock) -> AsyncGenerator[Recall]:
    recall = Recall(store.recall, [], clock, DEFAULT_TENANT)
    yield recall
    await recall.aclose()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is so small that a search waits until it is in memory."""
    for module in (holdings, recalling):
        monkeypatch.setattr(module, "COLD", 0)


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.text for hit in hits]


def asked(text: str) -> Query:
    return Query(text=text, mode="words", limit=10)


@pytest.mark.usefixtures("cold")
async def test_a_long_question_over_many_scopes_costs_no_more_than_reading_them_once(
    recall: Recall, store: Counted
) -> None:
    await recall.search(asked(LONG))

    cost = LOOKUP * sum(store.counter.lookups) + sum(store.counter.passages)
    assert cost <= SCOPES * EACH + 1
    assert len(WORDS) * SCOPES > 100 * cost


@pytest.mark.usefixtures("cold")
async def test_each_read_of_a_cold_search_is_short(
    recall: Recall, store: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_lookup, "PASSAGES_AT_ONCE", 50)
    monkeypatch.setattr(portions, "__defaults__", (50,))

    await recall.search(asked(LONG))

    assert max(store.counter.passages) <= 50
    assert len(store.counter.passages) >= SCOPES * EACH // 50
    assert max(store.counter.lookups, default=0) <= LOOKUPS_AT_ONCE


@pytest.mark.usefixtures("cold")
async def test_a_long_question_finds_the_one_passage_that_holds_its_rarest_word(recall: Recall) -> None:
    hits = await recall.search(asked(LONG))

    assert texts(hits)[0] == HERON


async def test_a_long_question_has_the_same_answer_cold_and_in_memory(
    recall: Recall, store: Counted, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = await recall.search(asked(LONG))
    for module in (holdings, recalling):
        monkeypatch.setattr(module, "COLD", 0)
    cold_recall = Recall(store.recall, [], clock, DEFAULT_TENANT)

    from_store = await cold_recall.search(asked(LONG))
    await cold_recall.aclose()

    assert {hit.record.id: hit.score for hit in from_store} == pytest.approx(
        {hit.record.id: hit.score for hit in in_memory}, abs=1e-4
    )


async def test_a_question_asks_for_so_many_words_at_most_and_for_the_rarest(recall: Recall) -> None:
    hits = await recall.search(Query(text=LONG, mode="words", limit=1_000))

    words = {word for hit in hits for word in hit.why.words}
    assert len(words) <= MOST_TERMS
    assert WORDS[1_299] in words
    assert not words & {word for word, count in _held_words().items() if count > 20}


async def test_a_question_with_as_many_words_as_are_asked_for_keeps_them_all(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "MOST_TERMS", 3)

    hits = await recall.search(asked(f"{WORDS[0]} heron"))

    assert {word for hit in hits for word in hit.why.words} == {WORDS[0], "heron"}


async def test_many_small_scopes_are_brought_into_memory_in_a_few_reads(
    recall: Recall, store: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holdings, "_PORTION", 200)

    hits = await recall.search(asked("heron"))

    assert len(hits) == 1
    assert len(store.counter.passages) <= 8
    assert sum(store.counter.passages) == SCOPES * EACH + 1


@pytest.mark.usefixtures("cold")
async def test_the_store_answers_only_a_few_searches_at_once(store: Counted, clock: FakeClock) -> None:
    budget = IndexBudget(holdings.CACHE_BYTES)
    recall = Recall(store.recall, [], clock, DEFAULT_TENANT, budget)
    for _ in range(holdings.STORE_ANSWERS):
        await budget.store_answers.acquire()

    search = asyncio.ensure_future(recall.search(asked(LONG)))
    await asyncio.wait({search}, timeout=0.2)
    reads_meanwhile = list(store.counter.passages)
    budget.store_answers.release()
    hits = await asyncio.wait_for(search, 5)
    await recall.aclose()

    assert reads_meanwhile == []
    assert texts(hits)[0] == HERON


def _held_words() -> Counter[str]:
    return Counter(
        WORDS[place] for scope in range(SCOPES) for n in range(EACH) for place in ((7 * scope + n) % 40, scope + n)
    )


# ---- against a store in memory


class MemoryRecall:
    """Scopes of passages, each a set of terms, as the port `RecallStore` tells of them."""

    def __init__(self, scopes: Sequence[Sequence[frozenset[int]]]) -> None:
        self.entries: dict[int, list[Entry]] = {}
        number = 0
        for scope, passages in enumerate(scopes, start=1):
            self.entries[scope] = []
            for terms in passages:
                number += 1
                packed = pack([str(term) for term in terms])
                self.entries[scope].append(
                    Entry(number, 1, number, 0, len(terms), packed, 0, 1, None, None, 0, False, 0, None, ())
                )
        self.terms = {number: frozenset(term_hash(str(term)) for term in terms) for number, terms in self._sets(scopes)}

    @staticmethod
    def _sets(scopes: Sequence[Sequence[frozenset[int]]]) -> list[tuple[int, frozenset[int]]]:
        return list(enumerate((terms for passages in scopes for terms in passages), start=1))

    def marks(self) -> list[Mark]:
        return [Mark(Scope("workspace", str(n)), n, 1, 1, len(held), 0) for n, held in self.entries.items()]

    async def whole(self, marks: Sequence[Mark], embedders: Sequence[str]) -> list[IndexChanges]:
        del embedders
        return [IndexChanges(mark, [], self.entries[mark.number]) for mark in marks]

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        passages = [entry.passage for mark in marks for entry in self.entries[mark.number]]
        holding = [[number for number in passages if term in self.terms[number]] for term in terms]
        counts = [len(numbers) for numbers in holding]
        for places, limit in rarer_terms(counts, cap):
            chosen = {n for place in places for n in sorted(holding[place])[-(limit or len(passages)) :]}
            chosen = chosen if among is None else chosen & set(among)
            if chosen:
                return counts, sorted(chosen)
        return counts, []


@given(
    scopes=st.lists(st.lists(st.frozensets(st.integers(0, 12), max_size=5), max_size=12), min_size=1, max_size=8),
    terms=st.frozensets(st.integers(0, 15), min_size=1),
    narrowed=st.booleans(),
)
async def test_however_it_is_looked_for_the_same_is_found(
    scopes: list[list[frozenset[int]]], terms: frozenset[int], narrowed: bool
) -> None:
    store, hashed = MemoryRecall(scopes), sorted(term_hash(str(term)) for term in terms)
    among = [number for number in store.terms if number % 2] if narrowed else None
    at_once = await WordLookup(cast(RecallStore, store), hashed, among).find(store.marks())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_lookup, "LOOKUPS_AT_ONCE", 4)
        patch.setattr(word_lookup, "LOOKUP", 1)
        patch.setattr(portions, "__defaults__", (6,))
        in_steps = await WordLookup(cast(RecallStore, store), hashed, among).find(store.marks())

    assert Counter(in_steps.counts) == Counter(at_once.counts)
    assert in_steps.passages == at_once.passages


@given(counts=st.lists(st.integers(0, 30_000), max_size=60), cap=st.integers(0, 5_000))
def test_rarer_terms_come_first_and_lead_to_no_flood(counts: list[int], cap: int) -> None:
    steps = list(rarer_terms(counts, cap))

    together = [places for places, limit in steps if limit is None]
    for places in together:
        assert [counts[place] for place in places] == sorted(counts[place] for place in places)
        assert all(0 < counts[place] <= cap for place in places)
        assert len(places) == 1 or sum(counts[place] for place in places) <= MOST_PASSAGES
    assert all(counts[places[0]] > cap and limit == cap for places, limit in steps if limit is not None)
    assert steps == [] or cap > 0


async def test_of_too_many_lookups_those_of_the_rarest_words_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    common, rare = frozenset(range(10)), frozenset({77})
    store = MemoryRecall([[common] * 40 for _ in range(9)] + [[common] * 39 + [common | rare]])
    hashed = [term_hash(str(term)) for term in (*range(10), 77)]
    lookups: list[int] = []
    look_up = store.words

    async def words(marks: Sequence[Mark], terms: Sequence[int], *rest: Any) -> tuple[list[int], list[int]]:
        lookups.append(len(marks) * len(terms))
        return await look_up(marks, terms, *rest)

    monkeypatch.setattr(store, "words", words)
    for name, value in {"LOOKUPS_AT_ONCE": 8, "MOST_LOOKUPS": 100, "LOOKUP": 1, "FEWEST_TERMS": 2}.items():
        monkeypatch.setattr(word_lookup, name, value)

    matches = await WordLookup(cast(RecallStore, store), hashed, None).find(store.marks())

    assert len(matches.counts) < len(hashed)
    assert max(lookups) <= max(word_lookup.LOOKUPS_AT_ONCE, 1)
    assert sum(lookups) <= 2 * word_lookup.MOST_LOOKUPS


def test_scopes_are_put_together_up_to_a_size() -> None:
    marks = [Mark(Scope("workspace", str(n)), n, 1, 1, size, 0) for n, size in enumerate([3, 3, 9, 0, 0, 2])]

    groups = [[mark.number for mark in group] for group in portions(marks, 8)]

    assert groups == [[0, 1], [2], [3, 4, 5]]
    assert all(np.diff([number for group in groups for number in group]) == 1)
    assert PASSAGES_AT_ONCE * 8 >= LOOKUPS_AT_ONCE
    assert MOST_LOOKUPS > LOOKUPS_AT_ONCE > CAP // 1_000
