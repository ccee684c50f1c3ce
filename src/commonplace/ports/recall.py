"""What recall reads: the searchable passages of a scope, and how they change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope


class Mark(NamedTuple):
    """How far a scope has come. `seq` grows with each write, `epoch` when what was handed out must be read anew."""

    scope: Scope
    number: int
    seq: int
    epoch: int
    passages: int
    terms: int


class Entry(NamedTuple):
    """
    One searchable passage. `record` and `passage` are the store's own numbers; `n` counts the passages of a record.
    Times are milliseconds. `vectors` has one item an embedder asked for, None where there is none yet.
    """

    record: int
    version: int
    passage: int
    n: int
    length: int
    terms: bytes
    start: int
    stop: int
    session: str | None
    position: int | None
    at: int
    pinned: bool
    importance: int
    expires: int | None
    vectors: tuple[bytes | None, ...]


class IndexChanges(NamedTuple):
    """Since a mark: records whose earlier entries no longer count, and the entries that count now."""

    mark: Mark
    gone: list[int]
    entries: list[Entry]


class RecallStore(Protocol):
    """
    Hands out what can be found. Only live records have entries; whether one has expired is for the reader to see.
    `tests/contracts/test_recall_store.py` holds each implementation to this.
    """

    async def marks(self, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
        """
        How far each of these scopes (None: all of the tenant) has come. A scope never written to has no mark; one that a
        purge emptied may have lost it.
        """
        ...

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
        """
        What happened to the scope after seq `after` (0: all of it). Every record changed since is either in `gone`
        alone, or in `gone` and in `entries` as it is now. With `after` 0, `gone` is empty.
        """
        ...

    async def whole(self, marks: Sequence[Mark], embedders: Sequence[str]) -> list[IndexChanges]:
        """
        All of several scopes in one read, each with the mark of that moment: as `changes` from the beginning. A scope that was
        purged away is left out.
        """
        ...

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        """The entries as they were at `moment`: each record in the version written last before it, if it was live."""
        ...

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        """
        For each term how many passages of these scopes hold it, and the numbers of passages that hold the rarer ones:
        terms held by at most `cap` passages, rarest first up to `stores.rarity.MOST_PASSAGES` in all, or, where there is none,
        the newest `cap` of the rarest. With `cap` 0 nothing is read but counts. A term that nobody holds is not among the rare. The passages, not the counts, are of the records `among` (None: of all): where these
        hold none of the rare terms, the next rarest counts.
        """
        ...

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        """The numbers of the `limit` passages nearest to `vector` by cosine, of the records `among` (None: of all)."""
        ...

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        """These passages, and those of the turns just before and after them in their sessions."""
        ...

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        """All passages of these records."""
        ...

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        """The numbers of the records that fit."""
        ...

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        """Records by number and version, in order; None for one that is there no more or not in that version."""
        ...
