"""
The default embedder: a table of one vector a subword, looked up and summed. It needs no network, no key, no GPU and no
model server, and arrives with pip.

The table and its vocabulary are two files of the published package `wordllama`, which the build of our wheel takes out of it
(`hatch_build.py`): nothing else of that package is needed, nor anything that it depends on. The table is mapped into memory,
so that a first question reads a few rows of it and not sixteen megabytes.

The recipe (number 1): the text folded to one case and to compatible characters (NFKC), cut into subwords, the plain sum
of their vectors, length one. The lengths of the table's rows already weigh rare words above frequent ones; every other
weighting that was measured lost.

Recipe number 2, which is the one in use, is the same but for texts in Chinese, Japanese or Korean, of which the table knows
next to nothing: they are read by a small sentence model whose vectors are turned into the table's space. The name says which
recipe made a vector, so that vectors of the two are never compared.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import cast

import numpy as np
from numpy.typing import NDArray

from commonplace.embedders.sentences import sentence_model
from commonplace.embedders.vocabulary import Vocabulary
from commonplace.errors import EmbedderUnavailable
from commonplace.ports.embedder import Floats
from commonplace.text.unicode import normal_form, reads_as_cjk

_DATA = Path(__file__).with_name("data") / "static"
TABLE = _DATA / "table.safetensors"
TOKENIZER = _DATA / "tokenizer.json"
_DIMENSION = 256
_RECIPE = 2

# Widening the whole table to float32 takes as long as widening this many rows one by one, and 32 MB.
_WORTH_WIDENING = 150_000
# Up to this many characters the work is shorter than the way to a thread and back.
_INLINE = 4000


class StaticEmbedder:
    """Also counts tokens, by the table's own vocabulary."""

    def __init__(self) -> None:
        """
        Raises:
            EmbedderUnavailable: the table is not there, since this tree was never built.
        """
        if not TABLE.is_file():
            raise EmbedderUnavailable(
                "The static embedding table is missing. Install Commonplace with `pip install`, which builds it in, or"
                " choose the embedder `none` to search by words only.",
                file=TABLE.name,
            )
        self._sentences = sentence_model()
        self._lock = Lock()
        self._wide: Floats | None = None
        self._narrow_lookups = 0

    @property
    def name(self) -> str:
        return f"static-{_DIMENSION}.{_RECIPE}"

    @property
    def dimension(self) -> int:
        return _DIMENSION

    async def embed(self, texts: Sequence[str]) -> Floats:
        if self._loaded and sum(map(len, texts)) <= _INLINE and all(map(str.isascii, texts)):
            return self.embed_now(texts)
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> Floats:
        """The same without a thread of its own, for who has one already."""
        self._load()
        rows = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        foreign: dict[int, str] = {}
        for place, text in enumerate(map(fold, texts)):
            if reads_as_cjk(text):
                foreign[place] = text
            elif numbers := self._vocabulary.numbers(text):
                np.add.reduce(self._looked_up(numbers), axis=0, out=rows[place])
        if foreign:
            rows[list(foreign)] = self._sentences.embed(list(foreign.values()))
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        lengths[lengths == 0] = 1
        rows /= lengths[:, None]
        return rows

    def count_tokens(self, text: str) -> int:
        self._load()
        return len(self._vocabulary.numbers(text))

    def entries(self) -> list[str]:
        """The table's subwords in the order of its rows, a space written as ▁."""
        self._load()
        return list(self._vocabulary.entries)

    async def aclose(self) -> None:
        """Nothing to close: the table is mapped read-only and goes with the object."""

    def _looked_up(self, numbers: list[int]) -> Floats:
        if self._wide is None:
            self._narrow_lookups += len(numbers)
            if self._narrow_lookups > _WORTH_WIDENING:
                self._wide = self._table.astype(np.float32)
            return self._table.take(numbers, axis=0).astype(np.float32)
        return self._wide.take(numbers, axis=0)

    @property
    def _loaded(self) -> bool:
        return "_vocabulary" in self.__dict__ and "_table" in self.__dict__

    def _load(self) -> None:
        """Read both files once, however many threads ask."""
        if not self._loaded:
            with self._lock:
                _ = self._table, self._vocabulary

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.read(TOKENIZER)

    @cached_property
    def _table(self) -> NDArray[np.float16]:
        """A safetensors file is the length of a JSON header, the header, and the numbers as they lie in memory."""
        with TABLE.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = cast("dict[str, dict[str, object]]", json.loads(file.read(size)))
        weight = header["embedding.weight"]
        shape = cast("list[int]", weight["shape"])
        offset = 8 + size + cast("list[int]", weight["data_offsets"])[0]
        if weight["dtype"] != "F16" or shape[1] != _DIMENSION:
            raise EmbedderUnavailable("The static embedding table is not the one this version knows.", file=TABLE.name)
        return np.memmap(TABLE, dtype="<f2", mode="r", offset=offset, shape=(shape[0], shape[1]))


def fold(text: str) -> str:
    """As the table's recipe reads it."""
    return text.lower() if text.isascii() else normal_form(text).lower()
