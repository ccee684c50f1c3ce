from collections.abc import Sequence

import numpy as np
import pytest

from commonplace.embedders.wrappers import Batched, Cached
from commonplace.ports.embedder import Floats

pytestmark = pytest.mark.anyio


class Lengths:
    """Embeds a text as its length and its first letter, and remembers what it was asked."""

    name = "lengths"
    dimension = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.asked.append(list(texts))
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32).reshape(len(texts), 2)

    async def aclose(self) -> None:
        self.closed = True


class Memory:
    def __init__(self) -> None:
        self.held: dict[tuple[str, bytes], bytes] = {}

    async def cached(self, embedder: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        return {hashed: self.held[embedder, hashed] for hashed in hashes if (embedder, hashed) in self.held}

    async def cache(self, embedder: str, vectors: dict[bytes, bytes]) -> None:
        self.held.update({(embedder, hashed): vector for hashed, vector in vectors.items()})

    async def uncache(self, hashes: Sequence[bytes]) -> None:
        self.held = {key: vector for key, vector in self.held.items() if key[1] not in hashes}


async def test_many_texts_are_asked_for_in_portions_and_answered_in_order() -> None:
    inner = Lengths()

    rows = await Batched(inner, 2).embed(["a", "bb", "ccc", "dddd", "eeeee"])

    assert inner.asked == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert rows[:, 0].tolist() == [1, 2, 3, 4, 5]


async def test_no_texts_are_no_rows() -> None:
    assert (await Batched(Lengths(), 2).embed([])).shape == (0, 2)
    assert (await Cached(Lengths(), Memory()).embed([])).shape == (0, 2)


async def test_a_text_is_embedded_once() -> None:
    inner, memory = Lengths(), Memory()
    await Cached(inner, memory).embed(["a", "bb"])

    rows = await Cached(inner, memory).embed(["bb", "ccc", "a", "ccc"])

    assert inner.asked == [["a", "bb"], ["ccc"]]
    assert rows[:, 0].tolist() == [2, 3, 1, 3]
    assert rows.dtype == np.float32


async def test_a_text_that_was_forgotten_is_embedded_again() -> None:
    inner, memory = Lengths(), Memory()
    await Cached(inner, memory).embed(["a"])
    await memory.uncache([hashed for _, hashed in memory.held])

    await Cached(inner, memory).embed(["a"])

    assert inner.asked == [["a"], ["a"]]


async def test_a_wrapped_embedder_is_the_same_embedder_and_is_closed_with_its_wrapper() -> None:
    inner = Lengths()
    wrapped = Cached(Batched(inner, 3), Memory())

    await wrapped.aclose()

    assert (wrapped.name, wrapped.dimension) == ("lengths", 2)
    assert inner.closed
