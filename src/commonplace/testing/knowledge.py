"""Knowledge kept in memory, for tests of what is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import BesideRecording, Layer, StoredLayer
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Recording, Space, record_again, record_new


class HeldKnowledge:
    """Satisfies the port `KnowledgeStore`. `entries` are those that were kept, in order."""

    def __init__(self) -> None:
        self.entries: list[Entries] = []
        self._spaces: dict[str, Space] = {}
        self._items: dict[str, Item] = {}
        self._coverage: dict[tuple[str, str, str], Coverage] = {}
        self._layers: dict[tuple[str, str, StoredLayer], Layer] = {}

    async def put_space(self, space: Space, entries: Entries) -> Space:
        def told(one: Space) -> tuple[str, str, str | None, str]:
            return one.tenant, one.scope, one.project, one.namespace

        self.entries.append(entries)
        twin = next((held for held in self._spaces.values() if told(held) == told(space)), None)
        return twin or self._spaces.setdefault(space.id, space)

    async def spaces(self, tenant: str, ids: Sequence[str] | None = None) -> list[Space]:
        found = [one for one in self._spaces.values() if one.tenant == tenant and (ids is None or one.id in ids)]
        return sorted(found, key=lambda one: (one.namespace, one.id))

    async def record_item(self, item: Item, beside: BesideRecording) -> Recording:
        if not await self.spaces(item.tenant, [item.space]):
            raise NotFound("There is no such knowledge space.")
        key = (item.space, item.dedupe_key)
        twin = next((other for other in self._items.values() if (other.space, other.dedupe_key) == key), None)
        recording = record_new(item) if twin is None else record_again(twin, item)
        self.entries.append(beside(recording))
        for change in (recording.predecessor, recording.item):
            if change is not None:
                self._items[change.id] = change
        if recording.item.status != "quarantined":
            self._cover(recording.item, is_new=twin is None)
        return recording

    async def item(self, tenant: str, id: str) -> Item:
        held = self._items.get(id)
        if held is None or held.tenant != tenant:
            raise NotFound("There is no such item.")
        return held

    async def items(
        self,
        tenant: str,
        *,
        spaces: Sequence[str] | None = None,
        coverage_key: str | None = None,
        statuses: Sequence[ItemStatus] = (),
        limit: int = 100,
    ) -> list[Item]:
        found = [
            item
            for item in self._items.values()
            if item.tenant == tenant
            and (spaces is None or item.space in spaces)
            and (coverage_key is None or item.coverage_key == coverage_key)
            and (not statuses or item.status in statuses)
        ]
        return sorted(found, key=lambda item: (item.updated_at, item.id), reverse=True)[:limit]

    async def change_item(
        self, item: Item, expected: ItemStatus, entries: Entries, replaced: Sequence[Item] = ()
    ) -> Item:
        held = await self.item(item.tenant, item.id)
        if held.status != expected:
            raise Conflict
        self.entries.append(entries)
        self._items.update((other.id, other) for other in (item, *replaced))
        self._cover(item)
        return item

    async def remove_item(self, tenant: str, id: str, entries: Entries) -> None:
        held = await self.item(tenant, id)
        self.entries.append(entries)
        del self._items[id]
        place = (held.tenant, held.space, held.coverage_key)
        left = await self.items(tenant, spaces=[held.space], coverage_key=held.coverage_key, limit=1)
        if left:
            self._coverage[place] = replace(self._coverage[place], latest_item=left[0].id)
        else:
            del self._coverage[place]

    async def coverage(self, tenant: str, coverage_key: str, spaces: Sequence[str] | None = None) -> list[Coverage]:
        return [
            one
            for one in self._coverage.values()
            if (one.tenant, one.coverage_key) == (tenant, coverage_key) and (spaces is None or one.space in spaces)
        ]

    async def layers(self, tenant: str, records: Sequence[str]) -> list[Layer]:
        stored = [layer for (of, id, _), layer in self._layers.items() if of == tenant and id in records]
        return sorted(stored, key=lambda layer: layer.name)

    async def put_layers(self, tenant: str, layers: Sequence[Layer]) -> None:
        newest = {layer.record: layer.version for layer in layers}
        old = [key for key, one in self._layers.items() if key[0] == tenant and one.version < newest.get(key[1], 0)]
        for key in old:
            del self._layers[key]
        self._layers.update(((tenant, layer.record, layer.name), layer) for layer in layers)

    def _cover(self, item: Item, *, is_new: bool = True) -> None:
        key = (item.tenant, item.space, item.coverage_key)
        held = self._coverage.get(key) or Coverage(
            tenant=item.tenant,
            space=item.space,
            coverage_key=item.coverage_key,
            latest_item=item.id,
            last_seen_at=max(item.updated_at, item.last_seen_at),
        )
        is_promoted = item.status in ("promoted", "approved_default") and is_new
        self._coverage[key] = replace(
            held,
            latest_item=item.id,
            last_seen_at=max(item.updated_at, item.last_seen_at),
            last_promoted_at=item.updated_at if is_promoted else held.last_promoted_at,
            freshness_expires_at=item.freshness_expires_at,
        )
