"""Counting what a store holds, and looking back at what was recalled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.values.census import By, Recalls, ScopeCounts, Tally
from commonplace.values.query import Filter
from commonplace.values.scope import Scope, ScopeKind
from commonplace.values.tree import Outline


class StoreStatistics(Protocol):
    """Reads only. `tests/contracts/test_statistics.py` holds each implementation to this."""

    async def tally(self, tenant: str, filter: Filter, by: Sequence[By], limit: int) -> Tally:
        """How many records fit, by one or two of their fields; at most `limit` counts, and the sum of all."""
        ...

    async def scopes(
        self, tenant: str, among: Sequence[Scope] | None, text: str, kinds: Sequence[ScopeKind], limit: int
    ) -> ScopeCounts:
        """
        The scopes of a tenant (or those of `among`) that were ever written to, that have `text` anywhere in their names,
        whatever the case, and are of one of `kinds` (none: of any); last written first.
        """
        ...

    async def outlines(self, tenant: str, scope: Scope, limit: int) -> tuple[list[Outline], int]:
        """
        The records that are in a scope, whatever their state, the oldest `limit` in the order of their ids, and how many there
        are beyond. `beginning` has at most 200 characters.
        """
        ...

    async def recalls(self, tenant: str, record: str, searches: int, limit: int) -> Recalls:
        """Which of the last `searches` searches showed a record, newest first, at most `limit`."""
        ...
