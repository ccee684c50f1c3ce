"""What the port `VectorCache` says, of every store."""

import pytest

from commonplace.testing.drafts import Store

pytestmark = pytest.mark.anyio

ONE, TWO, THREE = (bytes([n]) * 32 for n in (1, 2, 3))


async def test_what_was_cached_is_known(store: Store) -> None:
    await store.vectors.cache("model-a", {ONE: b"vector one", TWO: b"vector two"})

    assert await store.vectors.cached("model-a", [ONE, TWO, THREE]) == {ONE: b"vector one", TWO: b"vector two"}


async def test_an_embedder_knows_nothing_of_another_ones_vectors(store: Store) -> None:
    await store.vectors.cache("model-a", {ONE: b"of a"})

    await store.vectors.cache("model-b", {ONE: b"of b"})

    assert await store.vectors.cached("model-a", [ONE]) == {ONE: b"of a"}
    assert await store.vectors.cached("model-b", [ONE]) == {ONE: b"of b"}
    assert await store.vectors.cached("model-c", [ONE]) == {}


async def test_caching_the_same_text_again_is_no_error(store: Store) -> None:
    await store.vectors.cache("model-a", {ONE: b"vector"})

    await store.vectors.cache("model-a", {ONE: b"vector", TWO: b"other"})

    assert await store.vectors.cached("model-a", [ONE, TWO]) == {ONE: b"vector", TWO: b"other"}


async def test_uncached_hashes_are_forgotten_under_every_embedder(store: Store) -> None:
    await store.vectors.cache("model-a", {ONE: b"a", TWO: b"a"})
    await store.vectors.cache("model-b", {ONE: b"b"})

    await store.vectors.uncache([ONE, THREE])

    assert await store.vectors.cached("model-a", [ONE, TWO]) == {TWO: b"a"}
    assert await store.vectors.cached("model-b", [ONE]) == {}


async def test_nothing_asked_is_nothing_answered(store: Store) -> None:
    await store.vectors.cache("model-a", {})
    await store.vectors.uncache([])

    assert await store.vectors.cached("model-a", []) == {}


async def test_thousands_of_vectors_are_cached_at_once(store: Store) -> None:
    vectors = {n.to_bytes(32, "big"): n.to_bytes(1024, "big") for n in range(2_000)}

    await store.vectors.cache("model-a", vectors)

    assert await store.vectors.cached("model-a", list(vectors)) == vectors
