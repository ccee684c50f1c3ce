"""Looking after a store: what is in it, whether it is sound, copies of it, and its derived parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from commonplace.values.record import Passage, Unreadable
from commonplace.values.scope import Scope
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

    def removal(self) -> AbstractAsyncContextManager[None]:
        """
        What is written in this block removes something: if the disk is full, it has room that is reserved for it. Raises StoreFull at its
        end if what was purged is still somewhere in the store's files.
        """
        ...

    async def keep_reserve(self) -> None:
        """Reserve room on the disk for what removes something, if there is as much. Called now and then."""
        ...

    async def damage(self) -> tuple[Unreadable, ...]:
        """What reads of this process could not read since it opened the store."""
        ...

    async def is_sound(self) -> bool:
        """Whether the pages of the store can be read; quicker than `check`. What is wrong is then among the `damage`."""
        ...

    async def embedders(self) -> dict[str, int]:
        """Name and dimension of each embedder that answers searches of this store."""
        ...

    async def set_embedders(self, embedders: Mapping[str, int]) -> None:
        """From now on these answer; the vectors of all others are dropped."""
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

    async def bring_notes_home(self) -> int:
        """
        Move private notes that the governed door put into scopes of several persons, before schema 7, to the `user:` scopes of whose they
        are, with all their versions, all or none (`stores/private_notes.py`). How many there were. A store does so by itself when it
        is brought up to date or restored; this is for what was loaded.
        """
        ...

    async def idle_sessions(self, before: datetime, limit: int) -> list[tuple[str, Scope]]:
        """
        Session scopes, with their tenants, last written to before that moment, and before the upgrade to the schema that ends sessions, in
        which something is neither pinned nor deleted. None that a rule of its own, or of its kind, gives an age.
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
