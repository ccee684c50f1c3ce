"""The derived parts of a store made anew, and the embedders they come from looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from commonplace.errors import EmbedderError
from commonplace.memory.prepare import Preparer, Told, embedded, prefix_of
from commonplace.ports.embedder import Embedder
from commonplace.ports.embedder_stages import EmbedderStages
from commonplace.ports.maintenance import Progress, StoreMaintenance
from commonplace.values.upkeep import Finding
from commonplace.values.vector import to_bytes

_BATCH: Final = 256
_HINT: Final = "If people ask in other English words than their memories use, `commonplace embedder add gte-small` finds more, and takes longer."
_PROBE: Final = "Is anybody there?"


async def reindex(store: StoreMaintenance, preparer: Preparer, tenant: str, progress: Progress | None) -> int:
    """Every text of every tenant; others may write meanwhile."""
    stats = await store.stats(tenant)
    total = stats.records + (stats.versions or 0)
    done = after = 0
    while contents := await store.contents(after, _BATCH):
        passages = await preparer.passages([Told(one.text, one.speaker, one.at) for one in contents])
        await store.index({one.number: made for one, made in zip(contents, passages, strict=True)})
        after = contents[-1].number
        done += len(contents)
        if progress:
            progress(done, max(total, done))
    if progress:
        progress(done, done)
    return done


async def embed_missing(store: EmbedderStages, embedders: Sequence[Embedder], progress: Progress | None = None) -> int:
    """
    Vectors of `embedders`, from a text to the next, for every text that lacks one; others may write meanwhile. How many texts that were.
    What was done before stays done: whoever begins again goes on from there.

    Raises:
        EmbedderChanged: the store does not have these embedders any more.
    """
    total, count, after = await store.count_unembedded(), 0, 0
    while texts := await store.unembedded(after, _BATCH):
        spoken = [
            prefix_of(content.speaker) + content.text[start:stop] for content in texts for start, stop in content.spans
        ]
        vectors: list[dict[str, bytes]] = [{} for _ in spoken]
        for embedder in embedders:
            for vector, value in zip(vectors, to_bytes(await embedded(embedder, spoken)), strict=True):
                vector[embedder.name] = value
        each = iter(vectors)
        await store.add_vectors({content.number: [next(each) for _ in content.spans] for content in texts})
        after = texts[-1].number
        count += len(texts)
        if progress:
            progress(count, max(total, count))
    return count


async def check_embedders(store: StoreMaintenance, embedders: Sequence[Embedder]) -> list[Finding]:
    """Whether each embedder answers, with vectors of the size that the store holds."""
    if not embedders:
        advice = "Choose an embedder and reindex to search by meaning as well."
        return [Finding("embedder", "warning", "The store is searched by words only.", advice)]
    held = await store.embedders()
    findings = [await _check(embedder, held.get(embedder.name)) for embedder in embedders]
    if all(embedder.name.startswith("static-") for embedder in embedders):
        findings.append(Finding("embedder", "ok", _HINT))
    return findings


async def _check(embedder: Embedder, held: int | None) -> Finding:
    try:
        size = (await embedder.embed([_PROBE])).shape[1]
        told = await asyncio.to_thread(lambda: embedder.dimension)
    except EmbedderError as error:
        return Finding(
            "embedder", "error", f"{embedder.name} does not answer: {error.message}", "Search goes by words."
        )
    if held is None or {size, told} != {held}:
        message = f"{embedder.name} gives {size} numbers a text, and the store holds {held}."
        return Finding("embedder", "error", message, "Run `commonplace reindex`.")
    return Finding("embedder", "ok", f"{embedder.name} answers with {size} numbers a text.")
