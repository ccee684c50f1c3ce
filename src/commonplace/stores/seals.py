"""
The hash of a seal, and whether a seal fits.

Rows are told apart by their number alone. A store gives numbers in the order in which rows are committed (SQLite) or waits until no
writer can still bring a smaller one (PostgreSQL), so a row that was written late, as those of reads are, gets a number behind the last
seal and waits for the next. The first seal covers every smaller number, each further one the numbers behind the one before: there is no
place in front of a seal that a row could slip into unnoticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from commonplace.values.moment import from_ms
from commonplace.values.seal import Seal, SealState

COLUMNS: Final = (
    "number, id, at, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address, request, details,"
    " records"
)
"""Of a row of the audit, in the order in which they are hashed."""

MOST: Final = 10_000
"""Rows under one seal."""

MOST_TRIMMED: Final = 20
"""Seals whose rows one transaction removes."""

LOWEST: Final = -(1 << 63)
HIGHEST: Final = (1 << 63) - 1
_FORMAT: Final = b"commonplace seal 1\n"
_NO_SEAL: Final = bytes(32)
_AT: Final = 2
_DETAILS: Final = 16
TRIM: Final = "audit.trim"


@dataclass(frozen=True, kw_only=True, slots=True)
class SealRow:
    """A row of `seals`, as both stores have it."""

    number: int
    at: int
    last: int
    count: int
    latest: int
    hash: bytes
    trimmed: bool


def make_seal(before: SealRow | None, at: int, rows: Sequence[tuple[Any, ...]]) -> SealRow:
    """The seal over `rows`, of which there is at least one, in the order of their numbers."""
    number, last, count = (1 if before is None else before.number + 1), rows[-1][0], len(rows)
    latest = max(row[_AT] for row in rows)
    digest = _digest(before, (number, at, last, count, latest), rows)
    return SealRow(number=number, at=at, last=last, count=count, latest=latest, hash=digest, trimmed=False)


def problem_of(seal: SealRow, before: SealRow | None, rows: Sequence[tuple[Any, ...]] | None) -> str | None:
    """What is wrong with a seal and the rows of its range, None of them if they cannot be read. None if it fits."""
    if seal.number != (1 if before is None else before.number + 1):
        return "the seal before it is missing"
    if before is not None and seal.last <= before.last:
        return "it covers what the seal before it covers"
    if rows is None:
        return "rows cannot be read"
    if seal.trimmed:
        if before is not None and not before.trimmed:
            return "its rows were removed, but not those of the seal before it"
        return "rows were added where all had been removed" if rows else None
    if len(rows) != seal.count:
        return "rows are missing" if len(rows) < seal.count else "rows were added"
    header = (seal.number, seal.at, seal.last, seal.count, seal.latest)
    return None if _digest(before, header, rows) == seal.hash else "rows, or the seal itself, were changed"


def seal_of(row: SealRow) -> Seal:
    return Seal(
        number=row.number,
        at=from_ms(row.at),
        last=row.last,
        count=row.count,
        latest=from_ms(row.latest),
        hash=row.hash.hex(),
        trimmed=row.trimmed,
    )


class SealWalk:
    """Goes from seal to seal, the oldest first, until one does not fit."""

    def __init__(self) -> None:
        self.before: SealRow | None = None
        self._trimmed = 0
        self._problem: tuple[int, str] | None = None

    @property
    def number(self) -> int:
        """Of the last seal that fits; 0 before the first."""
        return self.before.number if self.before else 0

    @property
    def last(self) -> int:
        """The number of the last row under it."""
        return self.before.last if self.before else LOWEST

    def takes(self, seal: SealRow, rows: Sequence[tuple[Any, ...]] | None) -> bool:
        """Whether the next seal fits the rows of its range."""
        problem = problem_of(seal, self.before, rows)
        if problem is not None:
            self._problem = (seal.number, problem)
            return False
        self.before = seal
        self._trimmed = seal.number if seal.trimmed else self._trimmed
        return True

    def result(self, state: SealState, last_trim: tuple[Any, ...] | None) -> SealState:
        problem = self._problem
        if problem is None and (missing := trim_problem(self._trimmed, last_trim)):
            problem = (self._trimmed, missing)
        broken, reason = problem or (None, None)
        return replace(state, verified=True, broken=broken, reason=reason)


def trim_problem(trimmed: int, row: tuple[Any, ...] | None) -> str | None:
    """Whether the last row that tells of a removal tells of the `trimmed` seals, the number of the last of them."""
    if not trimmed:
        return None
    try:
        details: Any = json.loads(row[_DETAILS]) if row else {}
        reported = int(details["seal"])
    except (ValueError, TypeError, KeyError):
        reported = 0
    return None if reported >= trimmed else "its rows were removed, and no row of the audit tells of it"


def _digest(before: SealRow | None, header: tuple[int, ...], rows: Sequence[tuple[Any, ...]]) -> bytes:
    digest = hashlib.sha256(_FORMAT)
    digest.update(_NO_SEAL if before is None else before.hash)
    for row in (header, *rows):
        # The ids of a group of records are bytes.
        digest.update(
            json.dumps(row, separators=(",", ":"), default=lambda value: {"bytes": bytes(value).hex()}).encode()
        )
        digest.update(b"\n")
    return digest.digest()
