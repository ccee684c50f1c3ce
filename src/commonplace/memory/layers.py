"""
A text in three lengths: L0 is an abstract of at most 100 tokens, L1 an overview of at most 2,000, L2 the text itself.

L0 and L1 are kept once somebody has them made. Until then they are read from the text itself, its first and its most central
sentences, and not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from commonplace.ports.knowledge import KnowledgeStore, Layer, StoredLayer
from commonplace.text.extractive import summary
from commonplace.text.tokens import TokenCounter
from commonplace.values.layer import LayerChoice, LayerName, LayerText
from commonplace.values.query import Hit
from commonplace.values.record import Record

LAYERS: Final[Mapping[StoredLayer, int]] = {"L0": 100, "L1": 2_000}
"""How many tokens a layer has at most."""
FULLEST_FIRST: Final[tuple[LayerName, ...]] = ("L2", "L1", "L0")
READ: Final = 48_000
"""How many characters of a text are read for layers that are not kept, or by a model."""

Shorten: TypeAlias = Callable[[str, int], Awaitable[str | None]]
"""Tells a text in at most so many tokens, in words of its own; None if that cannot be done."""


class Layers:
    def __init__(self, store: KnowledgeStore, tenant: str, count: TokenCounter) -> None:
        self._store = store
        self._tenant = tenant
        self._count = count

    async def stored(self, records: Sequence[Record]) -> dict[str, dict[StoredLayer, Layer]]:
        """The layers that were made of these versions, by record."""
        versions = {record.id: record.version for record in records}
        layers: dict[str, dict[StoredLayer, Layer]] = {id: {} for id in versions}
        for layer in await self._store.layers(self._tenant, list(versions)) if versions else ():
            if layer.version == versions[layer.record]:
                layers[layer.record][layer.name] = layer
        return layers

    async def make(self, record: Record, name: StoredLayer, shorten: Shorten | None = None) -> Layer:
        """A layer to be kept. What is too long is made by `shorten`; without it, or if it cannot, of the text's own sentences."""
        most, count = LAYERS[name], self._count
        if shorten is not None and count(record.text.strip()) > most:
            text = await shorten(record.text, most)
            if text and (tokens := count(text)) <= most:
                return Layer(
                    record=record.id, version=record.version, name=name, text=text, tokens=tokens, method="model"
                )
        # A long text takes a while; others go on meanwhile.
        text = await asyncio.to_thread(summary, record.text, most, count)
        return Layer(record=record.id, version=record.version, name=name, text=text, tokens=count(text))

    async def read(
        self, records: Sequence[Record], names: Sequence[LayerName]
    ) -> dict[str, dict[LayerName, LayerText]]:
        """These layers of these records: those that were made, else as their own sentences tell them."""
        kept_layers = await self.stored(records) if any(name != "L2" for name in names) else {}
        # As above.
        return await asyncio.to_thread(self._texts, records, names, kept_layers)

    def _texts(
        self,
        records: Sequence[Record],
        names: Sequence[LayerName],
        kept_layers: Mapping[str, Mapping[StoredLayer, Layer]],
    ) -> dict[str, dict[LayerName, LayerText]]:
        return {record.id: {name: self._text(record, name, kept_layers) for name in names} for record in records}

    def _text(
        self, record: Record, name: LayerName, kept_layers: Mapping[str, Mapping[StoredLayer, Layer]]
    ) -> LayerText:
        if name == "L2":
            return LayerText(name=name, text=record.text, tokens=self._count(record.text))
        layer = kept_layers.get(record.id, {}).get(name)
        if layer is not None:
            return LayerText(name=name, text=layer.text, tokens=layer.tokens, method=layer.method)
        text = summary(record.text[:READ], LAYERS[name], self._count)
        return LayerText(name=name, text=text, tokens=self._count(text))

    async def tellings(self, hits: Sequence[Hit], choice: LayerChoice) -> dict[str, tuple[str, ...]]:
        """How each hit may be told in a block, by record, the shortest first; `auto` leaves the choice to the room there is."""
        names: tuple[LayerName, ...] = ("L0", "L1", "L2") if choice == "auto" else (choice,)
        texts = await self.read([hit.record for hit in hits], names)
        return {id: tuple(layers[name].text for name in names) for id, layers in texts.items()}

    async def fitted(self, hits: Sequence[Hit], fullest: LayerName, budget: int | None) -> list[Hit]:
        """
        The hits, each told by this layer. Within a budget of tokens the best come first; one that does not fit is told by a
        shorter layer, and the list ends before the first that fits in none.
        """
        names = FULLEST_FIRST[FULLEST_FIRST.index(fullest) :] if budget is not None else (fullest,)
        texts = await self.read([hit.record for hit in hits], names)
        fitting: list[Hit] = []
        room = budget
        for hit in hits:
            layers = [texts[hit.record.id][name] for name in names]
            layer = next((layer for layer in layers if room is None or layer.tokens <= room), None)
            if layer is None:
                break
            room = None if room is None else room - layer.tokens
            fitting.append(replace(hit, layer=layer))
        return fitting
