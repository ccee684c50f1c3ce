"""
Which passages hold the words of a question, of scopes that are not in memory.

A term is looked up in each scope by itself, which costs as much as reading some passages. So a scope with few passages is read
whole, several scopes at a time, and only in larger ones the terms are looked up; what a long question over many scopes costs grows
with the passages there, not with its words times the scopes. If even that is too much, only the rarest words are looked up, judged by
the passages that were read and by the largest scopes. Each step is one short read of the store, so that others come in between,
and whoever is cancelled waits for one of them at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from commonplace.ports.recall import Entry, Mark, RecallStore
from commonplace.text.postings import unpack

CAP: Final = 2_000
"""Words that more passages hold lead to none of them."""
MOST_PASSAGES: Final = 20_000
LOOKUP: Final = 8
"""What one lookup costs, in passages read."""
LOOKUPS_AT_ONCE: Final = 2_048
PASSAGES_AT_ONCE: Final = LOOKUP * LOOKUPS_AT_ONCE // 4
MOST_LOOKUPS: Final = 16 * LOOKUPS_AT_ONCE
FEWEST_TERMS: Final = 8
_TRIES: Final = 8

Ints = NDArray[np.int64]
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class WordMatches:
    """By term how many passages hold it, and the numbers of passages that hold the rarer ones."""

    counts: dict[int, int]
    passages: list[int]


class WordLookup:
    """One question's terms, looked for in the store. `among`: the records whose passages count (None: all)."""

    def __init__(self, store: RecallStore, terms: Sequence[int], among: Sequence[int] | None) -> None:
        self._store = store
        self._terms = np.array(sorted(terms), dtype=np.uint32)
        self._among = None if among is None else list(among)
        self._counts: Ints = np.zeros(len(terms), dtype=np.int64)
        # Of terms that may be rare: their places, and the passages that were read and hold them.
        self._places: Ints = np.zeros(0, dtype=np.int64)
        self._passages: Ints = np.zeros(0, dtype=np.int64)

    async def find(self, marks: Sequence[Mark]) -> WordMatches:
        if len(marks) * len(self._terms) <= LOOKUPS_AT_ONCE:
            terms = self._terms.tolist()
            counts, passages = await self._store.words(marks, terms, CAP, self._among)
            return WordMatches(counts=dict(zip(terms, counts, strict=True)), passages=passages)
        large = [mark for mark in marks if mark.passages >= LOOKUP * len(self._terms)]
        for portion in portions([mark for mark in marks if mark.passages < LOOKUP * len(self._terms)]):
            changes = await self._store.whole(portion, ())
            entries = [entry for change in changes for entry in change.entries]
            await asyncio.to_thread(self._read, entries)
        if large:
            await self._look_up(large)
        passages = await self._rare_passages(large) or await self._frequent_passages(marks)
        counts = {int(self._terms[place]): int(self._counts[place]) for place in np.flatnonzero(self._counts)}
        return WordMatches(counts=counts, passages=passages)

    # ---- scopes that are read whole

    def _read(self, entries: Sequence[Entry]) -> None:
        """Count what these passages hold, and keep those that hold a term which may be rare."""
        terms, _, sizes = unpack([entry.terms for entry in entries])
        places = np.searchsorted(self._terms, terms)
        places[places == len(self._terms)] = 0
        is_match = self._terms[places] == terms
        places = places[is_match]
        self._counts += np.bincount(places, minlength=len(self._terms))
        owners = np.repeat(np.arange(len(entries)), sizes)[is_match]
        if self._among is not None:
            counted = np.isin([entry.record for entry in entries], self._among)[owners]
            places, owners = places[counted], owners[counted]
        passages = np.array([entry.passage for entry in entries], dtype=np.int64)[owners]
        rare = self._counts <= CAP
        joined, numbers = np.concatenate([self._places, places]), np.concatenate([self._passages, passages])
        may_be_rare = rare[joined]
        self._places, self._passages = joined[may_be_rare], numbers[may_be_rare]

    # ---- scopes that terms are looked up in

    async def _look_up(self, marks: Sequence[Mark]) -> None:
        places = np.arange(len(self._terms))
        if len(marks) * len(places) > MOST_LOOKUPS:
            places = await self._rarest(marks)
            # What was not looked up everywhere is known nowhere.
            others = np.ones(len(self._terms), dtype=np.bool_)
            others[places] = False
            self._counts[others] = 0
        self._counts[places] += await self._counted(marks, places)

    async def _rarest(self, marks: Sequence[Mark]) -> Ints:
        """The terms to look up: as far as the largest scopes tell, those that are held, by the fewest."""
        largest = sorted(marks, key=lambda mark: -mark.passages)[: max(MOST_LOOKUPS // 2 // len(self._terms), 1)]
        estimate = self._counts + await self._counted(largest, np.arange(len(self._terms)))
        most = max(MOST_LOOKUPS // 2 // len(marks), FEWEST_TERMS)
        places = np.flatnonzero(estimate)
        return np.sort(places[np.argsort(estimate[places], kind="stable")][:most])

    async def _counted(self, marks: Sequence[Mark], places: Ints) -> Ints:
        counts = np.zeros(len(places), dtype=np.int64)
        for some in range(0, len(places), LOOKUPS_AT_ONCE):
            span = slice(some, some + LOOKUPS_AT_ONCE)
            terms = self._terms[places[span]].tolist()
            for portion in _cut(marks, max(LOOKUPS_AT_ONCE // len(terms), 1)):
                counts[span] += np.array((await self._store.words(portion, terms, 0))[0], dtype=np.int64)
        return counts

    # ---- the passages

    async def _rare_passages(self, large: Sequence[Mark]) -> list[int]:
        """Those that hold a rare term, rarest first, as long as they are not too many."""
        places = self._by_rarity()
        sums = np.cumsum(self._counts[places])
        places = places[(self._counts[places] <= CAP) & ((sums <= MOST_PASSAGES) | (sums == self._counts[places]))]
        if not len(places):
            return []
        passages = set(self._passages[np.isin(self._places, places)].tolist())
        return sorted(passages | await self._held(large, self._terms[places].tolist()))

    async def _frequent_passages(self, marks: Sequence[Mark]) -> list[int]:
        """The newest that hold the rarest of the frequent terms; if no record that counts holds that, of the next."""
        places = self._by_rarity()
        for place in places[self._counts[places] > CAP][:_TRIES]:
            if passages := await self._held(marks, [int(self._terms[place])]):
                return sorted(passages)[-CAP:]
        return []

    async def _held(self, marks: Sequence[Mark], terms: Sequence[int]) -> set[int]:
        passages: set[int] = set()
        for some in _cut(terms, LOOKUPS_AT_ONCE):
            for portion in _cut(marks, max(LOOKUPS_AT_ONCE // len(some), 1)):
                passages.update((await self._store.words(portion, some, CAP, self._among))[1])
        return passages

    def _by_rarity(self) -> Ints:
        """The places of the terms that somebody holds, the rarest first."""
        places = np.flatnonzero(self._counts)
        return places[np.argsort(self._counts[places], kind="stable")]


def portions(marks: Sequence[Mark], passages: int = PASSAGES_AT_ONCE) -> Iterator[list[Mark]]:
    """The scopes in groups of so many passages, or of one scope that has more."""
    group: list[Mark] = []
    size = 0
    for mark in marks:
        if group and size + mark.passages >= passages:
            yield group
            group, size = [], 0
        group.append(mark)
        # An empty scope is not free, either.
        size += mark.passages + 1
    if group:
        yield group


def _cut(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))
