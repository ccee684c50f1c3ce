"""Looking after a store: what is in it, whether it is sound, copies of it, and its derived parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from commonplace.values.record import Passage
from commonplace.values.upkeep import Finding, Rule, Stats, Upkeep

Progress = Callable[[int, int], None]


class Content(NamedTuple):
    """A text that some version of a record has, by the store's own number."""

    number: int
    text: str
    speaker: str | None
    at: datetime | None = None


class StoreMaintenance(Protocol):
    """`tests/contracts/test_maintenance.py` holds each implementation to this."""

    async def stats(self, tenant: str) -> Stats: ...

    async def check(self) -> list[Finding]:
        """
        Look for faults without changing anything: damage, rows without words or vectors and the reverse, counters
        that do not add up, a missing extension, a disk nearly full.
        """
        ...

    async def embedders(self) -> dict[str, int]:
        """Name and dimension of each embedder whose vectors belong to this store."""
        ...

    async def set_embedders(self, embedders: Mapping[str, int]) -> None:
        """From now on these; the vectors of all others are dropped."""
        ...

    async def contents(self, after: int, limit: int) -> list[Content]:
        """Every text of every version and tenant, in the order of their numbers, those after `after`. For reindex."""
        ...

    async def index(self, contents: Mapping[int, Sequence[Passage]]) -> None:
        """Replace the passages, words and vectors of these contents. Unknown numbers are left out."""
        ...

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        """
        Write a copy of the whole store, as it is at one moment, while others go on writing. `target` appears only when
        it is complete. Raises InvalidFile where `target` exists.
        """
        ...

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        """
        Make this store what the backup `source` holds. Raises InvalidFile where the store is not empty or the backup
        is damaged or of another kind.
        """
        ...

    async def rules(self, tenant: str) -> list[Rule]: ...

    async def set_rule(self, tenant: str, rule: Rule) -> None:
        """Keep `rule` for its scope, instead of the one before. A rule without limits is removed."""
        ...

    async def log(self, tenant: str, entries: Sequence[Upkeep]) -> None: ...

    async def read_log(self, tenant: str, since: datetime | None, limit: int) -> list[Upkeep]:
        """Newest first."""
        ...
