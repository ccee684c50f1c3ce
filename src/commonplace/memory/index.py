"""The searchable passages of some scopes, held in memory as arrays.

Derived, and never trusted to be fresh: before each search the owner compares the store's marks with those it has seen
and brings the difference in. An index is a list of segments. A segment is built once from entries and never changes,
but for passages that die; new entries make a new, small segment. Each segment costs a search some time, so those that
came last are joined while they are small, and when there are too many or too many dead, all is merged into one. Postings are sorted arrays (term hash, passages, counts). Vectors stay signed bytes; a segment
small enough keeps them as floats too and is searched exactly, a large one keeps a bit a dimension, searches those by
Hamming distance, and looks closely at the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commonplace.ports.recall import Entry
from commonplace.text.postings import unpack

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Smalls = NDArray[np.int32]
Bools = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
EXACT = 4_096
_SLICE = 16_384
SAMPLE = 1_024
_SEGMENTS = 8
_TAIL = 256


@dataclass(frozen=True, slots=True)
class Columns:
    """One row a passage."""

    scope: Ints
    record: Ints
    version: Smalls
    n: Smalls
    length: Floats
    start: Smalls
    stop: Smalls
    session: Smalls
    position: Smalls
    at: Ints
    pinned: Bools
    importance: NDArray[np.uint8]
    expires: Ints

    def take(self, rows: NDArray[np.intp]) -> Columns:
        return Columns(*(getattr(self, name)[rows] for name in self.__slots__))

    @staticmethod
    def join(parts: Sequence[Columns]) -> Columns:
        return Columns(*(np.concatenate([getattr(part, name) for part in parts]) for name in Columns.__slots__))


class Sessions:
    """Sessions by number, within their scopes."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}

    def twin(self) -> Sessions:
        made = Sessions()
        made._numbers = dict(self._numbers)
        return made

    def number(self, scope: int, session: str | None) -> int:
        return -1 if session is None else self._numbers.setdefault((scope, session), len(self._numbers))


@dataclass(frozen=True, slots=True)
class Postings:
    """By term, in the order of their hashes: the rows that hold it, ascending, and how often each does."""

    vocabulary: NDArray[np.uint32]
    starts: Ints
    rows: NDArray[np.int32]
    times: NDArray[np.uint8]

    @staticmethod
    def build(terms: NDArray[np.uint32], rows: NDArray[np.int32], times: NDArray[np.uint8]) -> Postings:
        """From one item a term of a row, the rows ascending."""
        order = np.argsort(terms, kind="stable")
        ordered = terms[order]
        starts = (
            np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(terms) else np.zeros(0, int)
        )
        return Postings(ordered[starts], np.append(starts, len(terms)), rows[order], times[order])

    def of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The passages that hold a term, and how often each does."""
        place = int(np.searchsorted(self.vocabulary, np.uint32(term)))
        if place == len(self.vocabulary) or self.vocabulary[place] != term:
            return self.rows[:0], self.times[:0]
        span = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.rows[span], self.times[span]

    def sizes(self, terms: NDArray[np.uint32]) -> Ints:
        """How many passages hold each term."""
        if not len(self.vocabulary):
            return np.zeros(len(terms), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.vocabulary, terms), len(self.vocabulary) - 1)
        return np.where(self.vocabulary[places] == terms, self.starts[places + 1] - self.starts[places], 0)

    def items(self) -> NDArray[np.uint32]:
        """The term of each item of `rows` and `times`."""
        return np.repeat(self.vocabulary, np.diff(self.starts))

    def held_by(self, rows: Sequence[int]) -> list[frozenset[int]]:
        """The terms of some rows. Walks through all postings."""
        wanted = np.isin(self.rows, np.array(rows, dtype=np.int32))
        owners, terms = self.rows[wanted], self.items()[wanted]
        return [frozenset(terms[owners == row].tolist()) for row in rows]


class Vectors:
    """One embedder's vectors of a segment, rows of zeros where there is none."""

    def __init__(self, signed: NDArray[np.int8]) -> None:
        self.signed = signed
        lengths = np.sqrt(np.einsum("ij,ij->i", signed, signed, dtype=np.float32))
        self.scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
        self._bits: NDArray[np.uint64] | None = None
        self.even = np.arange(0, len(signed), max(len(signed) // SAMPLE, 1))

    @cached_property
    def units(self) -> Floats:
        """All rows at length one. Only for segments that are searched exactly."""
        return self.signed * self.scale[:, None]

    def rows(self, rows: NDArray[np.intp]) -> Floats:
        return self.signed[rows] * self.scale[rows, None]

    def total(self, rows: NDArray[np.intp] | None = None) -> Floats:
        """The sum of unit rows."""
        if rows is not None:
            return self.rows(rows).sum(axis=0)
        summed = np.zeros(self.signed.shape[1], dtype=np.float32)
        for cut in self._cuts():
            summed += self.scale[cut] @ self.signed[cut].astype(np.float32)
        return summed

    def _cuts(self) -> list[slice]:
        """Slices small enough to be widened to floats one after another."""
        return [slice(start, start + _SLICE) for start in range(0, len(self.signed), _SLICE)]

    @cached_property
    def sample(self) -> Floats:
        """Unit rows at even distances, to learn how scores are spread."""
        return self.rows(self.even)

    def nearest(self, vector: Floats, mean: Floats, among: Bools, most: int) -> NDArray[np.intp]:
        """Some `most` of the rows in `among`, or a few more, whose signs, less `mean`, agree best with `vector`'s."""
        bits = self._bits_around(mean)
        asked = _columns_of_bits(np.packbits(vector > mean)[None, :])
        apart = np.zeros(len(self.signed), dtype=np.uint16)
        for column, word in zip(bits, asked, strict=True):
            apart += np.bitwise_count(column ^ word)
        if among.all():
            return np.flatnonzero(apart <= _level(apart, most, lowest=True))
        rows = np.flatnonzero(among)
        return rows[apart[rows] <= _level(apart[rows], most, lowest=True)] if len(rows) else rows

    def prepare(self, mean: Floats) -> None:
        """Make now what a first search would make."""
        _ = self.units if len(self.signed) <= EXACT else (self._bits_around(mean), self.sample)

    def _bits_around(self, mean: Floats) -> NDArray[np.uint64]:
        if self._bits is None:
            # Kept from the first call: the mean drifts too little to matter.
            self._bits = _columns_of_bits(self._packed(mean))
        return self._bits

    def _packed(self, mean: Floats) -> NDArray[np.uint8]:
        made = [np.packbits(self.signed[cut] * self.scale[cut, None] > mean, axis=1) for cut in self._cuts()]
        return np.concatenate(made)


def _level(values: NDArray[Any], most: int, *, lowest: bool = False) -> Any:
    """A value that somewhat more than `most` of `values` reach, judged by an even sample of them."""
    step = max(len(values) // 8192, 1)
    sample = values[::step]
    place = min(most * 5 // (4 * step) + 8, len(sample) - 1)
    wanted = place if lowest else len(sample) - 1 - place
    return np.partition(sample, wanted)[wanted]


def best_rows(values: Floats, rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Of `rows`, the `most` with the highest values."""
    scores = values[rows]
    if len(rows) > 8 * most:
        kept = scores >= _level(scores, most)
        if np.count_nonzero(kept) >= most:
            rows, scores = rows[kept], scores[kept]
    return rows[np.argpartition(scores, len(rows) - most)[-most:]] if len(rows) > most else rows


def _columns_of_bits(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Rows of bytes as columns of whole words, so that each word of all rows lies together."""
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(np.ascontiguousarray(padded).view(np.uint64).T)


class Segment:
    """Passages that came together."""

    def __init__(self, columns: Columns, postings: Postings, vectors: Mapping[str, Vectors]) -> None:
        self.columns = columns
        self.postings = postings
        self.vectors = vectors
        self.alive = np.ones(len(columns.record), dtype=np.bool_)
        self.expiring = bool((columns.expires != NEVER).any())
        self.living = len(self.alive)

    def __len__(self) -> int:
        return len(self.alive)

    def twin(self) -> Segment:
        """The same passages; those that die in the one live on in the other."""
        made = copy(self)
        made.alive = self.alive.copy()
        return made

    @cached_property
    def places(self) -> tuple[Ints, NDArray[np.intp]]:
        """Session and position as one sorted number, and the rows in that order: to find a turn's neighbours."""
        key = place_key(self.columns.session, self.columns.position)
        order = np.argsort(key, kind="stable")
        return key[order], order

    def kill(self, doomed: Bools) -> NDArray[np.intp]:
        """Mark rows as dead; those that were alive until now are returned."""
        rows = np.flatnonzero(doomed & self.alive)
        self.alive[rows] = False
        self.living -= len(rows)
        return rows

    @cached_property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest number of its records."""
        return int(self.columns.record.min(initial=NEVER)), int(self.columns.record.max(initial=-1))

    def holding(self, records: Ints) -> Bools | None:
        """Which rows are of these records; None where none can be. Records are numbered as they come: new ones are in no old segment."""
        lowest, highest = self.span
        near = records[(records >= lowest) & (records <= highest)]
        return np.isin(self.columns.record, near) if len(near) else None

    @cached_property
    def whole(self) -> Floats:
        """The terms of the whole record that each passage is of."""
        _, member = np.unique(self.columns.record, return_inverse=True)
        return np.bincount(member, weights=self.columns.length)[member].astype(np.float32)

    @property
    def bytes(self) -> int:
        arrays = [getattr(self.columns, name) for name in Columns.__slots__]
        arrays += [getattr(self.postings, name) for name in Postings.__slots__]
        size = sum(array.nbytes for array in arrays)
        for vectors in self.vectors.values():
            size += vectors.signed.nbytes * (5 if len(self) <= EXACT else 1) + vectors.signed.nbytes // 8
        return size


def place_key(session: Ints | Smalls, position: Ints | Smalls) -> Ints:
    """One number a place in a conversation; passages outside of any have none that a neighbour could match."""
    within = (session >= 0) & (position >= 0)
    return np.where(within, session.astype(np.int64) * (1 << 31) + position, -(1 << 40) - np.arange(len(session)))


def build_segment(entries: Sequence[tuple[int, Entry]], dimensions: Mapping[str, int], sessions: Sessions) -> Segment:
    """A segment of (scope number, entry) pairs. The entries' vectors are in the order of `dimensions`."""
    scopes = np.array([scope for scope, _ in entries], dtype=np.int64)
    told: list[Sequence[Any]] = list(zip(*(entry for _, entry in entries), strict=True))
    column = dict(zip(Entry._fields, told, strict=True))

    def ints(name: str, missing: int = -1) -> Ints:
        return np.array([missing if value is None else value for value in column[name]], dtype=np.int64)

    small = np.int32
    columns = Columns(
        scope=scopes,
        record=ints("record"),
        version=ints("version").astype(small),
        n=ints("n").astype(small),
        length=ints("length").astype(np.float32),
        start=ints("start").astype(small),
        stop=ints("stop").astype(small),
        session=np.array([sessions.number(s, e.session) for s, e in entries], dtype=small),
        position=ints("position").astype(small),
        at=ints("at"),
        pinned=np.array(column["pinned"], dtype=np.bool_),
        importance=ints("importance").astype(np.uint8),
        expires=ints("expires", NEVER),
    )
    terms, counts, sizes = unpack(column["terms"])
    owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    vectors = {
        name: Vectors(_matrix([vector[place] for vector in column["vectors"]], dimension))
        for place, (name, dimension) in enumerate(dimensions.items())
    }
    return Segment(columns, Postings.build(terms, owners, counts), vectors)


def _matrix(rows: Sequence[bytes | None], dimension: int) -> NDArray[np.int8]:
    nothing = bytes(dimension)
    joined = b"".join(row if row is not None and len(row) == dimension else nothing for row in rows)
    return np.frombuffer(joined, dtype=np.int8).reshape(len(rows), dimension)


class Index:
    """Segments, and the sums that ranking needs of all of them."""

    def __init__(self, dimensions: Mapping[str, int]) -> None:
        self.dimensions = dict(dimensions)
        self.segments: list[Segment] = []
        self._sessions = Sessions()
        self.length = 0.0
        """How many terms the living passages have together."""
        self._sums = {name: np.zeros(size, dtype=np.float32) for name, size in self.dimensions.items()}

    def twin(self) -> Index:
        """The same passages, to be changed while these are searched."""
        made = copy(self)
        made.segments = [segment.twin() for segment in self.segments]
        made._sessions = self._sessions.twin()
        made._sums = {name: total.copy() for name, total in self._sums.items()}
        return made

    def __len__(self) -> int:
        """How many passages are alive."""
        return sum(segment.living for segment in self.segments)

    @property
    def bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    def mean(self, embedder: str) -> Floats:
        return self._sums[embedder] / np.float32(max(len(self), 1))

    def add(self, entries: Sequence[tuple[int, Entry]]) -> None:
        if entries:
            self._adopt(build_segment(entries, self.dimensions, self._sessions))
            self._join_last()
        self._merge_if_many()

    def segment(self, scope: int, entries: Sequence[Entry]) -> Segment:
        """A segment that is not searched before `take_in`."""
        return build_segment([(scope, entry) for entry in entries], self.dimensions, self._sessions)

    def take_in(self, segments: Sequence[Segment]) -> None:
        """Make one segment of several that `segment` made."""
        if segments:
            self._adopt(segments[0] if len(segments) == 1 else self._joined(segments))
            self._join_last()
        self._merge_if_many()

    def prepare(self) -> None:
        """Make now what a first search would make."""
        for segment in self.segments:
            for name, vectors in segment.vectors.items():
                vectors.prepare(self.mean(name))
            _ = segment.places, segment.whole, segment.span

    def _merge_if_many(self) -> None:
        dead = sum(len(segment) - segment.living for segment in self.segments)
        if len(self.segments) > _SEGMENTS or dead > 1024 + len(self) // 4:
            self._merge()

    def drop_records(self, records: Sequence[int]) -> None:
        if records:
            gone = np.array(records, dtype=np.int64)
            self._kill([segment.holding(gone) for segment in self.segments])

    def drop_scope(self, scope: int) -> None:
        self._kill([segment.columns.scope == scope for segment in self.segments])

    def _kill(self, doomed: Sequence[Bools | None]) -> None:
        for segment, rows in zip(self.segments, doomed, strict=True):
            if rows is None:
                continue
            killed = segment.kill(rows)
            self.length -= float(segment.columns.length[killed].sum(dtype=np.float64))
            for name, vectors in segment.vectors.items():
                self._sums[name] -= vectors.total(killed)
        self.segments = [segment for segment in self.segments if segment.living]
        if not self.segments:
            # What is left is rounding.
            self._sums = {name: np.zeros_like(total) for name, total in self._sums.items()}

    def _adopt(self, segment: Segment) -> None:
        self.segments.append(segment)
        self.length += float(segment.columns.length.sum(dtype=np.float64))
        for name, vectors in segment.vectors.items():
            self._sums[name] += vectors.total()

    def _merge(self) -> None:
        """All living passages in one segment. A large one that is mostly alive is left alone and the small are merged."""
        keep = [s for s in self.segments if len(s) > EXACT and s.living > len(s) * 0.75 and len(s) * 4 > len(self)]
        small = [segment for segment in self.segments if segment not in keep]
        if small:
            self.segments = [*keep, self._joined(small)]

    def _join_last(self) -> None:
        """Few at a time are joined with the few before them, and some hundreds with the thousands before those."""
        while len(self.segments) > 1:
            before, last = map(len, self.segments[-2:])
            if before + last > (EXACT if last >= _TAIL else _TAIL):
                return
            self.segments = [*self.segments[:-2], self._joined(self.segments[-2:])]

    def _joined(self, small: Sequence[Segment]) -> Segment:
        """Their living passages in one segment."""
        rows = [np.flatnonzero(segment.alive) for segment in small]
        terms, owners, times = list[NDArray[np.uint32]](), list[NDArray[np.int32]](), list[NDArray[np.uint8]]()
        base = 0
        for segment, kept in zip(small, rows, strict=True):
            lives = segment.alive[segment.postings.rows]
            place = np.cumsum(segment.alive, dtype=np.int32) + np.int32(base - 1)
            terms.append(segment.postings.items()[lives])
            owners.append(place[segment.postings.rows[lives]])
            times.append(segment.postings.times[lives])
            base += len(kept)
        postings = Postings.build(np.concatenate(terms), np.concatenate(owners), np.concatenate(times))
        columns = Columns.join([segment.columns.take(r) for segment, r in zip(small, rows, strict=True)])
        vectors = {
            name: Vectors(np.concatenate([s.vectors[name].signed[r] for s, r in zip(small, rows, strict=True)]))
            for name in self.dimensions
        }
        return Segment(columns, postings, vectors)
