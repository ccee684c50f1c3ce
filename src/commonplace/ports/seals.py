"""Seals of the audit, of the whole store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from commonplace.values.audit import AuditRow
from commonplace.values.seal import Seal, SealState

TrimRow: TypeAlias = Callable[[int, int], AuditRow]
"""The row that tells of a trim: of the last seal that was trimmed, and of how many rows are gone. Its details name the `seal`."""


class SealStore(Protocol):
    """`tests/contracts/test_seals.py` holds each implementation to this."""

    async def seal(self, at: datetime) -> Seal | None:
        """
        Seal the rows of the audit since the last seal, ten thousand at most. None if there are none, if another daemon was first, or
        if the writers of a busy store left no moment for it.
        """
        ...

    async def state(self, limit: int) -> SealState:
        """The last `limit` seals, and how many rows are under seals; nothing is verified."""
        ...

    async def verify(self) -> SealState:
        """
        Hash all rows again. `broken` is the first seal that does not fit: a row of it was changed, removed or added, or a seal was. Later
        seals are not looked at.
        """
        ...

    async def trim(self, before: datetime, row: TrimRow) -> int:
        """
        Remove the rows of the oldest seals whose rows are all older than `before`, and keep the seals. Rows of a seal that does not fit
        stay, and all after it. How many rows are gone; if any, the `row` that tells of it is kept in the same transaction.
        """
        ...
