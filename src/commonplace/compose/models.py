"""The models of this machine, in its home folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.compose.configuration import configuration
from commonplace.compose.embedders import MODELS
from commonplace.embedders import gte, models, sentence_transformers, static
from commonplace.values.paths import expand_path

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.ports.maintenance import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownEmbedder:
    """An embedder that works on this machine, or would. `advice` says what is missing."""

    name: str
    ready: bool
    bytes: int = 0
    advice: str = ""


def add_model(name: str, source: Path | None, progress: Progress | None = None) -> Path:
    """See `embedders.models.add_model`."""
    return models.add_model(name, _folder(), None if source is None else expand_path(source), progress)


def remove_model(name: str) -> bool:
    """Whether it was there."""
    return models.remove_model(name, _folder())


def known_embedders() -> list[KnownEmbedder]:
    folder = models.model_folder(_folder(), gte.MODEL)
    advice = "" if gte.installed() else "pip install 'commonplace[onnx]', then "
    if folder is None:
        advice += f"commonplace embedder add {gte.MODEL}"
    transformers = sentence_transformers.available()
    return [
        KnownEmbedder(name="static", ready=static.TABLE.is_file()),
        KnownEmbedder(
            name=gte.MODEL,
            ready=folder is not None and gte.installed(),
            bytes=sum(file.stat().st_size for file in folder.iterdir()) if folder else 0,
            advice=advice,
        ),
        KnownEmbedder(
            name="sentence-transformers",
            ready=transformers,
            advice="" if transformers else "pip install 'commonplace[sentence-transformers]'",
        ),
    ]


def _folder() -> Path:
    return configuration().home / MODELS
