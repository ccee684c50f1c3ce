"""Recall: which indexes answer a question, kept fresh, and the hits with their reasons.

A scope that is searched is held in memory, as an index, as long as there is room. Before each search the store's marks
are read (one cheap query) and what others wrote since is brought in, so an answer never lags behind a commit. A large
scope is loaded only when it is asked for a second time: the first question, a command in a cold shell for instance, is
answered from the store's own word index and vectors. A search in the past is answered from the versions that stood then.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ParamSpec, get_args

import numpy as np

from commonplace.errors import EmbedderError, InvalidQuery
from commonplace.memory.gather import Gathering, Question, Spread
from commonplace.memory.index import Floats, Index, Segment
from commonplace.memory.prepare import embedded
from commonplace.memory.rank import Pool, Ranked, Weights, rank
from commonplace.ports.clock import Clock
from commonplace.ports.embedder import Embedder
from commonplace.ports.recall import Changes, Entry, Mark, RecallStore
from commonplace.text.analyse import query_terms
from commonplace.text.postings import term_hash
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter, Hit, Mode, Query, Why
from commonplace.values.record import State
from commonplace.values.vector import to_bytes

logger = logging.getLogger(__name__)
P = ParamSpec("P")

MAX_QUERY = 10_000
MAX_LIMIT = 1_000
COLD = 5_000
_APART = 8
_CAP = 2_000
_NEAR = 500
_READ = 100_000
_ALIKE = 0.8
_FINDABLE: frozenset[State] = frozenset({"live", "expired"})
_COMPARED = 60


Judged = tuple[Gathering, Ranked] | None
"""None where there is nothing to judge."""


@dataclass(slots=True)
class _Held:
    """
    An index with the epoch and seq it has seen, by scope number. `lock` is for whoever changes or searches it, `reading` for
    whoever asks the store what to change: searches go on meanwhile.
    """

    index: Index
    seen: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def has(self, mark: Mark) -> bool:
        """Whether it is as far as `mark`, or further: another search may have brought it there."""
        seen = self.seen.get(mark.number)
        return seen is not None and seen >= (mark.epoch, mark.seq)

    def bring_in(self, changes: Changes) -> None:
        number = changes.mark.number
        # Half brought in is not brought in.
        del self.seen[number]
        _bring_in(self.index, number, changes.gone, changes.entries)
        self.seen[number] = (changes.mark.epoch, changes.mark.seq)


class Recall:
    """Search over one tenant."""

    def __init__(
        self, store: RecallStore, embedders: Sequence[Embedder], clock: Clock, tenant: str, cache_bytes: int = 512 << 20
    ) -> None:
        self._store = store
        self._embedders = tuple(embedders)
        self._clock = clock
        self._tenant = tenant
        self._room = cache_bytes
        self._held: OrderedDict[int | None, _Held] = OrderedDict()
        self._asked_before: set[int | None] = set()

    async def search(self, query: Query) -> list[Hit]:
        """The best hits, each with its reasons. Raises InvalidQuery."""
        _check(query)
        terms = query_terms(query.text)
        question = Question(
            terms={} if query.mode == "meaning" else {term_hash(term): weight for term, weight in terms.items()},
            vectors={} if query.mode == "words" else await self._vectors(query),
            now=to_ms(query.as_of or self._clock.now()),
            weights=_weights(query),
            limit=query.limit,
        )
        if not question.terms and not question.vectors:
            return []
        marks = await self._store.marks(self._tenant, query.filter.scopes)
        if not marks:
            return []
        judged = await self._rank(query, question, marks)
        if judged is None:
            return []
        return await self._hits(query, *judged, {term_hash(term): term for term in terms})

    def forget_cache(self) -> None:
        """Drop every index; the next search reads the store anew."""
        self._held.clear()
        self._asked_before.clear()

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
        if not query.filter.is_plain:
            allowed = await self._store.matching(self._tenant, query.filter)
            question = replace(question, allowed=np.array(allowed, dtype=np.int64))
            if len(allowed) <= COLD and not self._is_warm(marks):
                entries = await self._store.entries_of(allowed, self._names())
                return await _judge([await self._alone(entries, marks)], question, query)
        elif self._is_cold(marks):
            return await self._rank_cold(query, question, marks)
        if self._too_large(await self._loaded_for(marks)):
            return await self._rank_cold(query, question, marks)
        holders = await self._fresh(marks)
        if len(holders) == 1 and len(marks) < len(holders[0].seen):
            question = await self._narrowed(query, question)
        async with AsyncExitStack() as locks:
            for held in holders:
                await locks.enter_async_context(held.lock)
            return await _judge([held.index for held in holders], question, query)

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
        terms = list(question.terms)
        counts, passages = await self._store.words(marks, terms, _CAP) if terms else ([], [])
        found = set(passages)
        for name, vector in question.vectors.items():
            found.update(await self._store.near(marks, name, to_bytes(vector[None, :])[0], _NEAR))
        entries = await self._store.entries(sorted(found), self._names())
        spread = Spread(
            passages=sum(mark.passages for mark in marks),
            length=float(sum(mark.terms for mark in marks)),
            holding=dict(zip(terms, counts, strict=True)),
        )
        return await _judge([await self._alone(entries, marks)], question, query, spread)

    # ---- indexes in memory

    async def _fresh(self, marks: list[Mark]) -> list[_Held]:
        """The indexes of these scopes, up to date: one a scope, or one of the whole tenant where they are many."""
        loaded = sorted(await self._loaded_for(marks), key=lambda mark: mark.number)
        if len(marks) <= _APART:
            return [await self._refreshed(mark.number, [mark]) for mark in loaded]
        return [await self._refreshed(None, loaded)]

    async def _loaded_for(self, marks: list[Mark]) -> list[Mark]:
        """What must be in memory to search these scopes."""
        return marks if len(marks) <= _APART else await self._store.marks(self._tenant, None)

    async def _refreshed(self, key: int | None, marks: list[Mark]) -> _Held:
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(Index(self._dimensions()))
        self._held.move_to_end(key)
        numbers = {mark.number for mark in marks}
        if held.seen.keys() <= numbers and all(map(held.has, marks)):
            return held
        async with held.reading:
            gone = held.seen.keys() - numbers
            if gone:
                # Scopes are purged away, but also born while others wait for the lock: look again.
                gone -= {mark.number for mark in await self._store.marks(self._tenant, None)}
            for number in gone:
                async with held.lock:
                    held.index.drop_scope(number)
                    del held.seen[number]
            for mark in marks:
                await self._catch_up(held, mark)
        self._make_room()
        return held

    async def _catch_up(self, held: _Held, mark: Mark) -> None:
        """Bring in what happened up to `mark`, and what more happens while it is read."""
        while not held.has(mark):
            epoch, seq = held.seen.get(mark.number, (-1, 0))
            if epoch != mark.epoch:
                async with held.lock:
                    held.seen.pop(mark.number, None)
                    held.index.drop_scope(mark.number)
                    await self._read_all(held.index, mark)
                    held.seen[mark.number] = (mark.epoch, mark.seq)
                again = await self._store.marks(self._tenant, [mark.scope])
                if not again:
                    # A purge took the scope away while it was read.
                    async with held.lock:
                        held.index.drop_scope(mark.number)
                    return
                [mark] = again
                continue
            changes = await self._store.changes(mark, seq, self._names())
            if changes.mark.epoch == epoch:
                async with held.lock:
                    await to_the_end(held.bring_in, changes)
            mark = changes.mark

    async def _read_all(self, index: Index, mark: Mark) -> None:
        """All that can be found in a scope, some thousands at a time, so that a large one does not fill the memory."""
        wanted = Filter(scopes=(mark.scope,), states=_FINDABLE)
        numbers = sorted(await self._store.matching(self._tenant, wanted))
        for start in range(0, len(numbers), _READ):
            entries = await self._store.entries_of(numbers[start : start + _READ], self._names())
            await to_the_end(_bring_in, index, mark.number, [], entries)

    def _make_room(self) -> None:
        """Let go of what was not used for longest. The one in use stays."""
        while len(self._held) > 1 and sum(held.index.bytes for held in self._held.values()) > self._room:
            self._held.popitem(last=False)

    def _is_warm(self, marks: Sequence[Mark]) -> bool:
        keys: list[int | None] = [mark.number for mark in marks] if len(marks) <= _APART else [None]
        return all(key in self._held for key in keys)

    def _is_cold(self, marks: Sequence[Mark]) -> bool:
        """A large scope that nobody asked for yet in this process."""
        if self._is_warm(marks) or sum(mark.passages for mark in marks) <= COLD:
            return False
        key = marks[0].number if len(marks) == 1 else None
        asked = key in self._asked_before
        self._asked_before.add(key)
        return not asked

    def _too_large(self, marks: Sequence[Mark]) -> bool:
        bytes_each = 200 + sum(embedder.dimension for embedder in self._embedders) * 9 // 8
        return sum(mark.passages for mark in marks) * bytes_each > self._room

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

    async def _hits(self, query: Query, gathering: Gathering, ranked: Ranked, terms: Mapping[int, str]) -> list[Hit]:
        hits: list[Hit] = []
        chosen = [gathering.place(int(row)) for row in ranked.passage[: query.limit]]
        wanted = [(int(s.columns.record[row]), int(s.columns.version[row])) for s, row in chosen]
        records = await self._store.fetch(wanted)
        found = _words_found(chosen, terms)
        for place, ((segment, row), record) in enumerate(zip(chosen, records, strict=True)):
            # A record may have moved to another scope between two reads of this search. What is told is looked at last.
            if record is None or record.tenant != self._tenant or not query.filter.counts(record):
                continue
            parts = {name: float(values[place]) for name, values in ranked.parts.items()}
            start, stop = int(segment.columns.start[row]), int(segment.columns.stop[row])
            why = Why(parts, found[place], start, stop, float(ranked.words[place]))
            hits.append(Hit(record, float(ranked.score[place]), why))
        return hits


def _words_found(chosen: Sequence[tuple[Segment, int]], terms: Mapping[int, str]) -> list[tuple[str, ...]]:
    """For each hit, the words of the question that it holds."""
    found: list[list[str]] = [[] for _ in chosen]
    for segment in {id(segment): segment for segment, _ in chosen}.values():
        for key, term in terms.items():
            rows, _ = segment.postings.of(key)
            for held, (other, row) in zip(found, chosen, strict=True):
                if other is segment and len(rows):
                    place = int(rows.searchsorted(row))
                    if place < len(rows) and rows[place] == row:
                        held.append(term)
    return [tuple(held) for held in found]


async def to_the_end(work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """
    Run `work` in a thread. A caller who is cancelled waits for it all the same: a thread cannot be stopped, and must not
    go on writing to an index whose lock was let go.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _bring_in(index: Index, scope: int, gone: list[int], entries: list[Entry]) -> None:
    index.drop_records(gone)
    index.add([(scope, entry) for entry in entries])


async def _judge(indexes: Sequence[Index], question: Question, query: Query, spread: Spread | None = None) -> Judged:
    """Gather and rank, in a thread where it is worth the way there."""
    if not any(len(index) for index in indexes):
        return None

    def work() -> tuple[Gathering, Ranked]:
        gathering = Gathering(indexes, question, spread)
        pool = gathering.pool()
        ranked = rank(pool, replace(question.weights, copies=0.0))
        if query.diversity:
            pool = replace(pool, copy=_copies(gathering, pool, ranked))
            ranked = rank(pool, question.weights)
        return gathering, ranked

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


def _weights(query: Query) -> Weights:
    known = [name for name in Weights.__dataclass_fields__ if name != "embedders"]
    if not set(query.weights) <= set(known):
        raise InvalidQuery(f"There is no such weight. Those that can be set: {', '.join(known)}.")
    # Callers without a type checker send what JSON gave them.
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in query.weights.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery("A weight is a number.")
    weights = replace(Weights(), **query.weights)
    if min(weights.half_life, weights.terse, weights.shortest) <= 0 or not 0 <= query.diversity < math.inf:
        raise InvalidQuery("Lengths and half-lives are above zero, and diversity is not below it.")
    return replace(weights, copies=query.diversity or weights.copies)


def _check(query: Query) -> None:
    # Callers without a type checker send what JSON gave them.
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAX_LIMIT:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery(f"The limit is a whole number from 1 to {MAX_LIMIT}.")
    if query.mode not in get_args(Mode):
        raise InvalidQuery(f"{query.mode!r:.40} is no mode. Use one of {', '.join(get_args(Mode))}.")
    if not isinstance(query.text, str) or not query.text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery("The question is empty. `list` shows records without one.")
    if len(query.text) > MAX_QUERY:
        raise InvalidQuery(f"The question has more than {MAX_QUERY:,} characters.")
    try:
        query.text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidQuery("The question holds a lone surrogate, which is no character.") from None
