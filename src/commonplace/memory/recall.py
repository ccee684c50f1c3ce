"""Recall: which indexes answer a question, and the hits with their reasons.

A scope that is searched is held in memory, as an index, as long as there is room (`memory/holdings`). Where a large one is not
there (a command in a cold shell asks once, a load is under way), the question is answered from the store's own word index
and vectors. A search in the past is answered from the versions that stood then.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

import numpy as np

from commonplace.errors import EmbedderError, InvalidQuery
from commonplace.memory.context import Charge
from commonplace.memory.copies import Group, Groups
from commonplace.memory.disagreement import compare
from commonplace.memory.gather import Gathering, Question, Spread
from commonplace.memory.holdings import CACHE_BYTES, COLD, Held, Holdings, IndexBudget
from commonplace.memory.index import Floats, Index, Ints, Segment
from commonplace.memory.prepare import embedded
from commonplace.memory.rank import Pool, Ranked, Weights, rank
from commonplace.memory.relevance import JUDGED, Nearness, calibration, check_relevance, is_relevant, relevance
from commonplace.memory.weighing import default_weights
from commonplace.memory.word_lookup import WordLookup
from commonplace.ports.clock import Clock
from commonplace.ports.embedder import Embedder
from commonplace.ports.recall import Entry, Mark, RecallStore
from commonplace.text.analyse import query_terms
from commonplace.text.postings import term_hash
from commonplace.text.rarity import chance, shares
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter, Hit, Mode, Query, Why
from commonplace.values.vector import to_bytes

logger = logging.getLogger(__name__)

MAX_QUERY = 10_000
MAX_LIMIT = 1_000
_NEAR = 500
_ALIKE = 0.8
_COMPARED = 60
_AHEAD = 10
"""So many more records than wanted are read: what says the same as a better one is shown as its evidence."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The candidates in order."""

    gathering: Gathering
    ranked: Ranked
    question: Question

    def nearness(self, rows: Ints) -> Nearness:
        cosines = {name: self.gathering.cosines(name, rows) for name in self.question.vectors}
        return Nearness(coverage=self.gathering.coverage(rows), cosines=cosines)


Judged = _Judgement | None
"""None where there is nothing to judge."""


class Recall:
    """Search over one tenant."""

    def __init__(
        self,
        store: RecallStore,
        embedders: Sequence[Embedder],
        clock: Clock,
        tenant: str,
        budget: IndexBudget | None = None,
    ) -> None:
        self._store = store
        self._embedders = tuple(embedders)
        self._clock = clock
        self._tenant = tenant
        self._holdings = Holdings(store, self._dimensions(), tenant, budget or IndexBudget(CACHE_BYTES))

    async def search(self, query: Query, charge: Charge | None = None) -> list[Hit]:
        """The best hits, each with its reasons. Raises InvalidQuery, and what `charge` raises, which is told the cost before it arises."""
        _check(query)
        terms = query_terms(query.text)
        vectors = {} if query.mode == "words" else await self._vectors(query)
        curves = {name: calibration(name, query.text) for name in vectors}
        question = Question(
            terms={} if query.mode == "meaning" else {term_hash(term): weight for term, weight in terms.items()},
            vectors=vectors,
            now=to_ms(query.as_of or self._clock.now()),
            weights=_weights(query, default_weights(vectors)),
            chance={term_hash(term): chance(term) for term in terms},
            shares={term_hash(term): share for term, share in shares(terms).items()},
            curves=curves,
            limit=query.limit,
        )
        if not question.terms and not question.vectors:
            return []
        with self._holdings.searching():
            marks = await self._store.marks(self._tenant, query.filter.scopes)
            if charge is not None:
                charge(max(len(terms), 1) * max(len(marks), 1))
            judged = await self._rank(query, question, marks) if marks else None
            if judged is None:
                return []
            return await self._hits(query, judged, {term_hash(term): term for term in terms})

    def forget_cache(self) -> None:
        """Drop every index; the next search reads the store anew."""
        self._holdings.forget()

    async def aclose(self) -> None:
        """Drop every index, and end the loads that are under way. Do this before the store is closed."""
        await self._holdings.aclose()

    # ---- the question

    async def _vectors(self, query: Query) -> dict[str, Floats]:
        made: dict[str, Floats] = {}
        for embedder in self._embedders:
            try:
                made[embedder.name] = (await embedded(embedder, [query.text]))[0]
            except EmbedderError as error:
                if query.mode == "meaning" or len(self._embedders) == 0:
                    raise
                logger.warning("The embedder %s did not answer; searching without it: %s", embedder.name, error)
        return {name: vector for name, vector in made.items() if vector.any()}

    # ---- where to look

    async def _rank(self, query: Query, question: Question, marks: list[Mark]) -> Judged:
        if query.as_of is not None:
            return await self._rank_past(query, question, marks)
        few: list[int] | None = None
        if not query.filter.is_plain:
            allowed = await self._store.matching(self._tenant, query.filter)
            question = replace(question, allowed=np.array(allowed, dtype=np.int64))
            few = allowed if len(allowed) <= COLD else None
        if few is not None and not self._holdings.is_warm(marks):
            return await self._rank_few(query, question, marks, few)
        async with self._holdings.fresh(marks) as holders:
            if holders is None and few is not None:
                return await self._rank_few(query, question, marks, few)
            if holders is None:
                return await self._rank_cold(query, question, marks)
            return await self._rank_warm(query, question, marks, holders)

    async def _rank_warm(self, query: Query, question: Question, marks: list[Mark], holders: list[Held]) -> Judged:
        if len(holders) == 1 and len(marks) < len(holders[0].seen):
            question = await self._narrowed(query, question)
        async with AsyncExitStack() as locks:
            for held in holders:
                await locks.enter_async_context(held.lock)
            return await _judge([held.index for held in holders], question, query)

    async def _rank_few(self, query: Query, question: Question, marks: list[Mark], records: list[int]) -> Judged:
        """So few records count that they are read for the one question."""
        entries = await self._store.entries_of(records, self._names())
        return await _judge([await self._alone(entries, marks)], question, query)

    async def _narrowed(self, query: Query, question: Question) -> Question:
        """The index holds more scopes than were asked for."""
        if question.allowed is not None:
            return question
        allowed = await self._store.matching(self._tenant, query.filter)
        return replace(question, allowed=np.array(allowed, dtype=np.int64))

    async def _rank_past(self, query: Query, question: Question, marks: list[Mark]) -> Judged:
        moment = query.as_of
        assert moment is not None
        index = Index(self._dimensions())
        async with self._holdings.store_answers:
            for mark in marks:
                entries = await self._store.as_of(mark, moment, self._names())
                if not query.filter.is_plain:
                    entries = await self._fitting(query.filter, moment, entries)
                index.add([(mark.number, entry) for entry in entries])
        return await _judge([index], question, query)

    async def _fitting(self, filter: Filter, moment: datetime, entries: Sequence[Entry]) -> list[Entry]:
        """Those of versions that the filter counts. The store's own filters look at what is held now."""
        versions = list(dict.fromkeys((entry.record, entry.version) for entry in entries))
        told = zip(versions, await self._store.fetch(versions), strict=True)
        fitting = {version for version, record in told if record is not None and filter.fits(record, moment)}
        return [entry for entry in entries if (entry.record, entry.version) in fitting]

    async def _rank_cold(self, query: Query, question: Question, marks: list[Mark]) -> Judged:
        among = None if question.allowed is None else question.allowed.tolist()
        async with self._holdings.store_answers:
            matches = await WordLookup(self._store, list(question.terms), among).find(marks)
            found = set(matches.passages)
            for name, vector in question.vectors.items():
                signed = to_bytes(vector[None, :])[0]
                found.update(await self._store.near(marks, name, signed, _NEAR, among))
            entries = await self._store.entries(sorted(found), self._names())
        spread = Spread(
            passages=sum(mark.passages for mark in marks),
            length=float(sum(mark.terms for mark in marks)),
            holding=matches.counts,
        )
        return await _judge([await self._alone(entries, marks)], question, query, spread)

    # ---- indexes for one question

    async def _alone(self, entries: Sequence[Entry], marks: Sequence[Mark]) -> Index:
        """An index of these entries only."""
        index = Index(self._dimensions())
        index.add(list(zip(await self._homes(entries, marks), entries, strict=True)))
        return index

    async def _homes(self, entries: Sequence[Entry], marks: Sequence[Mark]) -> list[int]:
        """The scope of each turn: sessions of the same name in two scopes are two conversations. Others need none."""
        if len(marks) == 1:
            return [marks[0].number] * len(entries)
        turns = list(dict.fromkeys((entry.record, entry.version) for entry in entries if entry.session is not None))
        numbers = {mark.scope: mark.number for mark in marks}
        told = zip(turns, await self._store.fetch(turns) if turns else (), strict=True)
        homes = {turn: numbers.get(record.scope, 0) for turn, record in told if record is not None}
        return [homes.get((entry.record, entry.version), 0) for entry in entries]

    def _names(self) -> list[str]:
        return [embedder.name for embedder in self._embedders]

    def _dimensions(self) -> dict[str, int]:
        return {embedder.name: embedder.dimension for embedder in self._embedders}

    # ---- the answer

    async def _hits(self, query: Query, judged: _Judgement, terms: Mapping[int, str]) -> list[Hit]:
        groups = Groups(apart=query.copies)
        looked = 0
        while len(groups) < query.limit and looked < len(judged.ranked.passage):
            more = query.limit + (0 if query.copies else _AHEAD)
            await self._group(query, judged, groups, slice(looked, looked + more))
            looked += more
        best = groups[: max(query.limit, JUDGED)]
        return await asyncio.to_thread(_written, query, judged, best, looked, terms)

    async def _group(self, query: Query, judged: _Judgement, groups: Groups, stretch: slice) -> None:
        """Read a stretch of the ranked records and fold what says the same."""
        chosen = [judged.gathering.place(int(row)) for row in judged.ranked.passage[stretch]]
        records = await self._store.fetch([(int(s.columns.record[n]), int(s.columns.version[n])) for s, n in chosen])

        def work() -> None:
            for place, ((segment, row), record) in enumerate(zip(chosen, records, strict=True), stretch.start):
                # A record may have moved to another scope between two reads of this search. What is told is looked at last.
                if record is not None and record.tenant == self._tenant and query.filter.counts(record):
                    start, stop = int(segment.columns.start[row]), int(segment.columns.stop[row])
                    groups.add(place, record, record.text[start:stop])

        await asyncio.to_thread(work)


def _written(
    query: Query, judged: _Judgement, groups: Sequence[Group], looked: int, terms: Mapping[int, str]
) -> list[Hit]:
    """The hits of the groups that are shown. The best answer is looked for among so many records, however few are wanted."""
    gathering, ranked = judged.gathering, judged.ranked
    places = [group.place for group in groups]
    places += range(looked, min(looked + max(JUDGED - len(places), 0), len(ranked.passage)))
    near = replace(judged.nearness(ranked.passage[places]), words=ranked.words[places])
    beside = [judged.nearness(rows[places]) for rows in (ranked.before, ranked.after)]
    likely = relevance(near, beside, gathering.passages, judged.question.curves)
    relevant = is_relevant(likely)
    cosines = next(iter(near.cosines.values()), None)
    first = groups[: query.limit]
    chosen = [gathering.place(int(ranked.passage[group.place])) for group in first]
    words = _words_found(chosen, {term: terms[term] for term in gathering.terms})
    hits: list[Hit] = []
    for n, (group, (segment, row)) in enumerate(zip(first, chosen, strict=True)):
        if float(likely[n]) < query.min_relevance:
            continue
        cosine = None if cosines is None or np.isnan(cosines[n]) else float(cosines[n])
        parts = {name: float(values[group.place]) for name, values in ranked.parts.items()}
        score = float(ranked.score[group.best])
        if group.best != group.place:
            parts["trust"] = score - float(ranked.score[group.place])
        start, stop = int(segment.columns.start[row]), int(segment.columns.stop[row])
        why = Why(parts, words[n], start, stop, float(ranked.words[group.place]), float(near.coverage[n]), cosine)
        hit = Hit(group.record, score, why, relevance=float(likely[n]), relevant=bool(relevant[n]))
        hits.append(replace(hit, evidence=tuple(group.evidence)))
    return compare(hits)


def _words_found(chosen: Sequence[tuple[Segment, int]], terms: Mapping[int, str]) -> list[tuple[str, ...]]:
    """For each hit, the words of the question that it holds."""
    found: list[list[str]] = [[] for _ in chosen]
    for segment in {id(segment): segment for segment, _ in chosen}.values():
        hits = [place for place, (other, _) in enumerate(chosen) if other is segment]
        hit_rows = np.array([chosen[place][1] for place in hits], dtype=np.int32)
        for key, term in terms.items():
            rows, _ = segment.postings.of(key)
            if len(rows):
                at = np.minimum(rows.searchsorted(hit_rows), len(rows) - 1)
                for place in np.flatnonzero(rows[at] == hit_rows).tolist():
                    found[hits[place]].append(term)
    return [tuple(words) for words in found]


async def _judge(indexes: Sequence[Index], question: Question, query: Query, spread: Spread | None = None) -> Judged:
    """Gather and rank, in a thread where it is worth the way there."""
    if not any(len(index) for index in indexes):
        return None

    def work() -> _Judgement:
        gathering = Gathering(indexes, question, spread)
        pool = gathering.pool()
        ranked = rank(pool, replace(question.weights, copies=0.0))
        if query.diversity:
            pool = replace(pool, copy=_copies(gathering, pool, ranked))
            ranked = rank(pool, question.weights)
        return _Judgement(gathering, ranked, question)

    return await asyncio.to_thread(work)


def _copies(gathering: Gathering, pool: Pool, ranked: Ranked) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers that near-copies among the best hits share: passages whose sets of terms are alike."""
    best = ranked.passage[:_COMPARED]
    held: list[frozenset[int]] = [frozenset() for _ in best]
    placed = [gathering.place(int(row)) for row in best]
    for segment in {id(segment): segment for segment, _ in placed}.values():
        here = [n for n, (other, _) in enumerate(placed) if other is segment]
        for n, terms in zip(here, segment.postings.held_by([placed[n][1] for n in here]), strict=True):
            held[n] = terms
    groups = list(range(len(held)))
    for later in range(len(held)):
        for earlier in range(later):
            shared = len(held[later] & held[earlier])
            if shared > _ALIKE * len(held[later] | held[earlier]):
                groups[later] = groups[earlier]
                break
    number_of = dict(zip(best.tolist(), groups, strict=True))
    return np.array([number_of.get(int(row), -1) for row in pool.passage], dtype=np.int64)


def _weights(query: Query, defaults: Weights) -> Weights:
    known = [name for name in Weights.__dataclass_fields__ if name != "embedders"]
    if not set(query.weights) <= set(known):
        raise InvalidQuery(f"There is no such weight. Those that can be set: {', '.join(known)}.")
    # Callers without a type checker send what JSON gave them.
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in query.weights.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery("A weight is a number.")
    weights = replace(defaults, **query.weights)
    if min(weights.half_life, weights.terse, weights.shortest) <= 0 or not 0 <= query.diversity < math.inf:
        raise InvalidQuery("Lengths and half-lives are above zero, and diversity is not below it.")
    return replace(weights, copies=query.diversity or weights.copies)


def _check(query: Query) -> None:
    # Callers without a type checker send what JSON gave them.
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAX_LIMIT:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery(f"The limit is a whole number from 1 to {MAX_LIMIT}.")
    if query.mode not in get_args(Mode):
        raise InvalidQuery(f"{query.mode!r:.40} is no mode. Use one of {', '.join(get_args(Mode))}.")
    check_relevance(query.min_relevance)
    if not isinstance(query.text, str) or not query.text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery("The question is empty. `list` shows records without one.")
    if len(query.text) > MAX_QUERY:
        raise InvalidQuery(f"The question has more than {MAX_QUERY:,} characters.")
    try:
        query.text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidQuery("The question holds a lone surrogate, which is no character.") from None
