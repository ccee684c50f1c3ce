"""Where knowledge lives, and the layers of the context tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from commonplace.ports.journal import Entries
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Recording, Space

StoredLayer = Literal["L0", "L1"]
"""The layers that are kept; the text itself is with its record."""
BesideRecording: TypeAlias = Callable[[Recording], Entries]
"""What is kept with a finding, by what became of it. Called inside the transaction: pure, and quick."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """A shorter telling of one version of a record."""

    record: str
    version: int
    name: StoredLayer
    text: str
    tokens: int
    method: Literal["rules", "model"] = "rules"


class KnowledgeStore(Protocol):
    """Each write keeps its `entries` in the same transaction. `tests/contracts/test_knowledge_store.py` holds all to this."""

    async def put_space(self, space: Space, entries: Entries) -> Space:
        """Keep a space. Where one of the same scope, project and namespace is there, that one is answered, unchanged."""
        ...

    async def spaces(self, tenant: str, ids: Sequence[str] | None = None) -> list[Space]:
        """Those of `ids`, or (None) all of the tenant, by namespace."""
        ...

    async def record_item(self, item: Item, beside: BesideRecording) -> Recording:
        """
        Keep a finding and renew the coverage of its key. If the space has an item with the same dedupe key,
        `values.knowledge.record_again` says what becomes of both. What is quarantined is no part of the coverage. Raises NotFound
        if there is no such space.
        """
        ...

    async def item(self, tenant: str, id: str) -> Item:
        """Raises NotFound."""
        ...

    async def items(
        self,
        tenant: str,
        *,
        spaces: Sequence[str] | None = None,
        coverage_key: str | None = None,
        statuses: Sequence[ItemStatus] = (),
        limit: int = 100,
    ) -> list[Item]:
        """Newest first."""
        ...

    async def change_item(
        self, item: Item, expected: ItemStatus, entries: Entries, replaced: Sequence[Item] = ()
    ) -> Item:
        """
        Put `item` in the place of the one with its id, and each of `replaced` in the place of theirs. The coverage of `item` is renewed;
        with a status of promoted or approved_default `last_promoted_at` too. Raises NotFound, and Conflict if the status of the item
        is not `expected`.
        """
        ...

    async def remove_item(self, tenant: str, id: str, entries: Entries) -> None:
        """
        Remove an item for good. Its coverage then tells of the newest one that is left and is not quarantined; without any it is
        gone, too. Raises NotFound.
        """
        ...

    async def coverage(self, tenant: str, coverage_key: str, spaces: Sequence[str] | None = None) -> list[Coverage]: ...

    async def layers(self, tenant: str, records: Sequence[str]) -> list[Layer]:
        """All layers of these records, whichever version they tell."""
        ...

    async def put_layers(self, tenant: str, layers: Sequence[Layer]) -> None:
        """
        Keep layers, those of earlier versions of the same records given up. A record's purge takes them along. Layers of
        a record that is not there any more are left out.
        """
        ...
