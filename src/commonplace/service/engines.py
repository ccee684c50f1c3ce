"""The engines of a tenant, over one store."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from commonplace.memory.context import Contexts
from commonplace.memory.holdings import CACHE_BYTES, IndexBudget
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.importing.importer import Importer
    from commonplace.memory.hygiene import Hygiene
    from commonplace.memory.layers import Layers
    from commonplace.memory.lifecycle import Lifecycle
    from commonplace.memory.purging import Purger
    from commonplace.memory.transfer import Companion, Transfer
    from commonplace.memory.write import Writer
    from commonplace.ports.clock import Clock
    from commonplace.ports.embedder import Embedder
    from commonplace.ports.files import FileEraser
    from commonplace.ports.records import RecordStore
    from commonplace.ports.store import Store
    from commonplace.text.tokens import TokenCounter
    from commonplace.values.principal import Principal

WARM_TENANTS: Final = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Engines:
    """One tenant's engines. Those that write take the store of the request, which keeps its audit with what they write."""

    tenant: str
    store: Store
    clock: Clock
    count: TokenCounter
    preparer: Preparer
    recall: Recall
    contexts: Contexts
    files: FileEraser

    @property
    def layers(self) -> Layers:
        from commonplace.memory.layers import Layers  # noqa: PLC0415 - few searches ask for layers

        return Layers(self.store.knowledge, self.tenant, self.count)

    def writer(self, store: RecordStore) -> Writer:
        from commonplace.memory.write import Writer  # noqa: PLC0415 - a search needs no writer

        return Writer(store, self.store.recall, self.preparer, self.clock, self.tenant)

    def lifecycle(self, store: RecordStore, actor: str) -> Lifecycle:
        from commonplace.memory.lifecycle import Lifecycle  # noqa: PLC0415 - a search needs no lifecycle

        return Lifecycle(store, self.preparer, self.clock, self.tenant, actor)

    def transfer(self, store: RecordStore, companion: Companion | None = None) -> Transfer:
        from commonplace.memory.transfer import Transfer  # noqa: PLC0415 - a search needs no transfer

        return Transfer(store, self.preparer, self.clock, self.tenant, companion=companion)

    def purger(self, store: RecordStore, who: Principal) -> Purger:
        from commonplace.memory.purging import Purger  # noqa: PLC0415 - a search needs no purger

        return Purger(store, self.store.vectors, self.tenant, self.count, self.files, who.reaches)

    def hygiene(self, store: RecordStore, who: Principal) -> Hygiene:
        from commonplace.memory.hygiene import Hygiene  # noqa: PLC0415 - a search needs no hygiene

        remove = partial(self.purger(store, who).remove, on_fault="spare")
        return Hygiene(self.store, self.clock, self.tenant, who.actor, remove=remove, records=store)

    def importer(self, store: RecordStore, actor: str) -> Importer:
        # What reads a .gitignore loads slowly, and few requests import folders.
        from commonplace.importing.importer import Importer  # noqa: PLC0415

        return Importer(store, self.writer(store), self.clock, self.tenant, actor, self.count)


def _no_files() -> FileEraser:
    # All of Markdown loads with it, and only a purge needs it.
    from commonplace.markdown.purge import NoFiles  # noqa: PLC0415

    return NoFiles()


@dataclass(kw_only=True, slots=True)
class EngineRoom:
    """
    Engines for any tenant, which share one set of embedders and one budget for the indexes in memory. Those used last stay
    warm. `files` are those that records follow. What is written gets vectors of those that are `coming`, too.
    """

    store: Store
    clock: Clock
    embedders: Sequence[Embedder]
    count: TokenCounter
    budget: IndexBudget = field(default_factory=partial(IndexBudget, CACHE_BYTES))
    files: FileEraser = field(default_factory=_no_files)
    coming: Sequence[Embedder] = ()
    _warm: OrderedDict[str, Engines] = field(default_factory=OrderedDict[str, Engines])

    def of(self, tenant: str) -> Engines:
        engines = self._warm.get(tenant)
        if engines is None:
            recall = Recall(self.store.recall, self.embedders, self.clock, tenant, self.budget)
            engines = self._warm[tenant] = Engines(
                tenant=tenant,
                store=self.store,
                clock=self.clock,
                count=self.count,
                preparer=Preparer([*self.embedders, *self.coming], self.count),
                recall=recall,
                contexts=Contexts(self.store.records, recall, tenant, self.count),
                files=self.files,
            )
        self._warm.move_to_end(tenant)
        while len(self._warm) > WARM_TENANTS:
            _, coldest = self._warm.popitem(last=False)
            coldest.recall.forget_cache()
        return engines

    def change_embedders(self, embedders: Sequence[Embedder], coming: Sequence[Embedder]) -> None:
        """Whoever asks for engines from now on gets others. What is under way ends with those it has."""
        self.forget_caches()
        self._warm.clear()
        self.embedders, self.coming = tuple(embedders), tuple(coming)

    def forget_caches(self) -> None:
        for engines in self._warm.values():
            engines.recall.forget_cache()

    async def aclose(self) -> None:
        """End what goes on in the background. Do this before the store is closed."""
        for engines in self._warm.values():
            await engines.recall.aclose()
