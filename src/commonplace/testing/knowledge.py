"""Knowledge kept in memory, for tests of what is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import Layer, LayerName
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Space


class HeldKnowledge:
    """Satisfies the port `KnowledgeStore`. `entries` are those that were kept, in order."""

    def __init__(self) -> None:
        self.entries: list[Entries] = []
        self._spaces: dict[str, Space] = {}
        self._items: dict[str, Item] = {}
        self._coverage: dict[tuple[str, str, str], Coverage] = {}
        self._layers: dict[tuple[str, str, LayerName], Layer] = {}

    async def put_space(self, space: Space, entries: Entries) -> Space:
        def told(one: Space) -> tuple[str, str, str | None, str]:
            return one.tenant, one.scope, one.project, one.namespace

        self.entries.append(entries)
        twin = next((held for held in self._spaces.values() if told(held) == told(space)), None)
        return twin or self._spaces.setdefault(space.id, space)

    async def spaces(self, tenant: str, ids: Sequence[str] | None = None) -> list[Space]:
        found = [one for one in self._spaces.values() if one.tenant == tenant and (ids is None or one.id in ids)]
        return sorted(found, key=lambda one: (one.namespace, one.id))

    async def put_item(self, item: Item, entries: Entries) -> Item:
        if not await self.spaces(item.tenant, [item.space]):
            raise NotFound("There is no such knowledge space.")
        self.entries.append(entries)
        same = (held for held in self._items.values() if (held.space, held.dedupe_key) == (item.space, item.dedupe_key))
        kept = next(same, None) or self._items.setdefault(item.id, item)
        if kept.status != "quarantined":
            self._cover(kept, item)
        return kept

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

    async def change_item(self, item: Item, expected: ItemStatus, entries: Entries) -> Item:
        held = await self.item(item.tenant, item.id)
        if held.status != expected:
            raise Conflict
        self.entries.append(entries)
        self._items[item.id] = item
        self._cover(item, item)
        return item

    async def remove_item(self, tenant: str, id: str, entries: Entries) -> None:
        held = await self.item(tenant, id)
        self.entries.append(entries)
        del self._items[id]
        place = (held.tenant, held.coverage_key, held.space)
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

    async def layers(self, tenant: str, record: str, version: int) -> list[Layer]:
        found = [one for (of, id, _), one in self._layers.items() if (of, id, one.version) == (tenant, record, version)]
        return sorted(found, key=lambda one: one.name)

    async def put_layers(self, tenant: str, layers: Sequence[Layer]) -> None:
        newest = {layer.record: layer.version for layer in layers}
        old = [key for key, one in self._layers.items() if key[0] == tenant and one.version < newest.get(key[1], 0)]
        for key in old:
            del self._layers[key]
        self._layers.update(((tenant, layer.record, layer.name), layer) for layer in layers)

    def _cover(self, item: Item, seen: Item) -> None:
        key = (item.tenant, item.space, item.coverage_key)
        held = self._coverage.get(key) or Coverage(
            tenant=item.tenant,
            space=item.space,
            coverage_key=item.coverage_key,
            latest_item=item.id,
            last_seen_at=seen.updated_at,
        )
        is_promoted = item.status in ("promoted", "approved_default") and item is seen
        self._coverage[key] = replace(
            held,
            latest_item=item.id,
            last_seen_at=seen.updated_at,
            last_promoted_at=seen.updated_at if is_promoted else held.last_promoted_at,
            freshness_expires_at=item.freshness_expires_at,
        )
