"""Removing without a trace: what is named, and the cached vectors of what it said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.memory.prepare import Told, stretches
from commonplace.ports.embedder import VectorCache
from commonplace.ports.records import RecordStore
from commonplace.text.digest import text_hash
from commonplace.text.tokens import TokenCounter
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Lineage
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

_BATCH: Final = 500


class Purger:
    def __init__(self, store: RecordStore, cache: VectorCache, tenant: str, count: TokenCounter) -> None:
        self._store = store
        self._cache = cache
        self._tenant = tenant
        self._count = count

    async def purge(self, *, ids: Sequence[str], scope: Scope | None, user: str | None, source: str | None) -> Purged:
        """
        Remove the records `ids`, what is or was in a scope, what is of a source, or all that comes from a user: what is or
        was in the user's scope, what the user said, and what the user wrote. Exactly one of them is to be named.
        """
        if sum([bool(ids), scope is not None, user is not None, source is not None]) != 1:
            raise InvalidInput("Name what to purge: ids, a scope, a user or a source, and only one of them.")
        if user is not None:
            own = Filter(ever_in=Scope("user", user), states=ALL_STATES)
            filters = [own, Filter(told_by=user, states=ALL_STATES)]
        elif scope is not None:
            filters = [Filter(ever_in=scope, states=ALL_STATES)]
        elif source is not None:
            filters = [Filter(sources=(source,), states=ALL_STATES)]
        else:
            filters = _by_ids(ids)
        return await self.remove(filters)

    async def remove(self, filters: Sequence[Filter]) -> Purged:
        """Remove what fits one of `filters`."""
        if not filters:
            return Purged(0, 0)
        hashes = [hashed for filter in filters for hashed in await self._hashes(filter)]
        purged = await self._store.purge(self._tenant, filters)
        for start in range(0, len(hashes), _BATCH):
            await self._cache.uncache(hashes[start : start + _BATCH])
        return purged

    async def _hashes(self, filter: Filter) -> list[bytes]:
        found: set[bytes] = set()
        async for lineage in self._lineages(filter):
            for told in {Told.by(version) for version in lineage.versions}:
                found.update(text_hash(spoken) for _, _, spoken in stretches(told, self._count))
        return list(found)

    async def _lineages(self, filter: Filter) -> AsyncIterator[Lineage]:
        after: str | None = None
        while lineages := await self._store.lineages(self._tenant, filter, after, _BATCH):
            for lineage in lineages:
                yield lineage
            after = lineages[-1].versions[-1].id


def _by_ids(ids: Sequence[str]) -> list[Filter]:
    starts = range(0, len(ids), _BATCH)
    return [Filter(ids=tuple(ids[start : start + _BATCH]), states=ALL_STATES) for start in starts]
