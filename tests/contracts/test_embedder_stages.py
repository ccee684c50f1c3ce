"""Every store changes its embedders while it is searched: `ports/embedder_stages.py`."""

from __future__ import annotations

import pytest

from commonplace.errors import EmbedderChanged, WrongDimension
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting, Store
from commonplace.values.query import Filter
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB = Scope("workspace", "web")
NEW = "new"
SIGNED = b"\x01\x02\x03"


async def faults(store: Store) -> list[str]:
    return [finding.check for finding in await store.maintenance.check() if finding.severity != "ok"]


async def vectors_of(store: Store, *names: str) -> list[tuple[bytes | None, ...]]:
    [mark] = await store.recall.marks(T, [WEB])
    return [entry.vectors for entry in (await store.recall.changes(mark, 0, names)).entries]


async def embed_all(store: Store) -> int:
    texts = await store.embedder_stages.unembedded(0, 100)
    await store.embedder_stages.add_vectors({text.number: [{NEW: SIGNED}] * len(text.spans) for text in texts})
    return len(texts)


async def test_an_embedder_that_is_coming_does_not_answer_and_takes_vectors(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a"), draft("b")])

    await store.embedder_stages.announce({NEW: 3})
    count = await store.embedder_stages.count_unembedded()
    embedded = await embed_all(store)

    assert (count, embedded) == (2, 2)
    assert await store.embedder_stages.unembedded(0, 100) == []
    assert await store.maintenance.embedders() == {EMBEDDER: DIMENSION}
    assert {vector for _, vector in await vectors_of(store, EMBEDDER, NEW)} == {SIGNED}


async def test_texts_come_in_portions_with_their_passages_and_their_speaker(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("first"), draft("second")])
    await store.embedder_stages.announce({NEW: 3})

    [first] = await store.embedder_stages.unembedded(0, 1)
    [second] = await store.embedder_stages.unembedded(first.number, 1)

    assert (first.text, second.text) == ("first", "second")
    assert first.spans
    assert await store.embedder_stages.unembedded(second.number, 1) == []


async def test_old_versions_are_embedded_too(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("first", key="k")])
    await store.records.put([draft("second", key="k")])
    await store.embedder_stages.announce({NEW: 3})

    assert await embed_all(store) == 2
    assert await store.embedder_stages.unembedded(0, 100) == []


async def test_what_is_promoted_answers_and_the_others_go(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})
    await embed_all(store)

    await store.embedder_stages.promote([NEW])

    stages = {name: embedder.stage for name, embedder in (await store.embedder_stages.stages()).items()}
    assert stages == {EMBEDDER: "leaving", NEW: "active"}
    await store.records.put([draft("b")])  # with a vector of the one that is leaving, by somebody who does not know yet
    assert await store.embedder_stages.count_unembedded() == 1
    await embed_all(store)
    await store.maintenance.set_embedders(await store.maintenance.embedders())
    assert await store.maintenance.embedders() == {NEW: 3}
    assert await vectors_of(store, EMBEDDER, NEW) == [(None, SIGNED), (None, SIGNED)]


async def test_vectors_of_one_that_answers_make_readers_read_anew(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})
    [before] = await store.recall.marks(T, [WEB])
    await embed_all(store)
    [coming] = await store.recall.marks(T, [WEB])
    await store.embedder_stages.promote([NEW, EMBEDDER])
    await store.records.put([draft("b")])

    await embed_all(store)

    [active] = await store.recall.marks(T, [WEB])
    assert (coming.epoch == before.epoch, active.epoch > before.epoch) == (True, True)


async def test_another_announcement_replaces_the_one_before(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})
    texts = await store.embedder_stages.unembedded(0, 100)

    await store.embedder_stages.announce({"newer": 2})

    assert set(await store.embedder_stages.stages()) == {EMBEDDER, "newer"}
    with pytest.raises(EmbedderChanged):
        await store.embedder_stages.add_vectors({texts[0].number: [{NEW: SIGNED}]})
    with pytest.raises(EmbedderChanged):
        await store.embedder_stages.promote([NEW])


async def test_the_same_announcement_keeps_the_vectors_there_are(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})
    await embed_all(store)

    await store.embedder_stages.announce({NEW: 3})

    assert await store.embedder_stages.count_unembedded() == 0


async def test_a_vector_of_another_size_is_refused(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})
    [text] = await store.embedder_stages.unembedded(0, 100)

    with pytest.raises(WrongDimension):
        await store.embedder_stages.add_vectors({text.number: [{NEW: b"12"}] * len(text.spans)})


async def test_a_text_that_was_purged_meanwhile_is_left_out(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a", key="k")])
    await store.embedder_stages.announce({NEW: 3})
    [text] = await store.embedder_stages.unembedded(0, 100)
    await store.records.purge(T, [Filter(key="k")])

    await store.embedder_stages.add_vectors({text.number: [{NEW: SIGNED}] * len(text.spans)})

    assert "vectors" not in await faults(store)


async def test_a_store_that_changes_over_is_sound(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a")])
    await store.embedder_stages.announce({NEW: 3})

    assert await faults(store) == []
