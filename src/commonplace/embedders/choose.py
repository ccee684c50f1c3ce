"""An embedder from the few words a person writes for it."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.embedders.static import StaticEmbedder
from commonplace.embedders.wrappers import Batched, Cached
from commonplace.errors import InvalidInput
from commonplace.ports.embedder import Embedder
from commonplace.ports.vector_cache import VectorCache

FORMS = (
    "static",
    "gte-small",
    "none",
    "openai:MODEL@BASE_URL",
    "openai:MODEL#DIMENSIONS@BASE_URL",
    "sentence-transformers:MODEL_OR_FOLDER",
)
_OPENAI = re.compile(r"openai:(?P<model>(?:(?!://)[^\s#])+?)(?:#(?P<size>\d{1,5}))?(?:@(?P<url>https?://\S+))?")
_SENTENCE_TRANSFORMERS = re.compile(r"sentence-transformers(?::(?P<model>\S.*))?")
_BATCH = 128
GTE = "gte-small"


def make_embedder(
    spec: str, *, api_key: str | None = None, cache: VectorCache | None = None, models: Path | None = None
) -> Embedder | None:
    """
    The embedder that `spec` names, None for `none`. `cache` is used by those that cost time or money; `models` is the folder of the
    models that were added.

    Raises:
        InvalidInput: no form of `FORMS`.
        EmbedderUnavailable: what it needs is not installed.
    """
    spec = spec.strip()
    if spec == "none":
        return None
    if spec == "static":
        return StaticEmbedder()
    costly = _costly(spec, api_key, models)
    return Cached(costly, cache) if cache else costly


def make_embedders(
    spec: str, *, api_key: str | None = None, cache: VectorCache | None = None, models: Path | None = None
) -> list[Embedder]:
    """
    Several, separated by commas, each once; `none` stands alone and gives an empty list. `gte-small` reads English, and has the static
    embedder beside it for other scripts.

    Raises:
        InvalidInput: not a list of such forms.
        EmbedderUnavailable: what one of them needs is not installed.
    """
    specs = [part.strip() for part in spec.split(",")]
    if specs == ["none"]:
        return []
    if GTE in specs and "static" not in specs:
        specs.insert(0, "static")
    candidates = [make_embedder(part, api_key=api_key, cache=cache, models=models) for part in specs]
    embedders = [embedder for embedder in candidates if embedder is not None]
    if len(embedders) != len(specs) or len({embedder.name for embedder in embedders}) != len(specs):
        raise InvalidInput("Name each embedder once, and `none` only alone.", spec=spec)
    return embedders


def _costly(spec: str, api_key: str | None, models: Path | None) -> Embedder:
    if spec == GTE:
        # Its packages are an extra.
        from commonplace.embedders.gte import GteEmbedder  # noqa: PLC0415

        return GteEmbedder((models or Path()) / GTE)
    if match := _OPENAI.fullmatch(spec):
        # httpx and what it needs take a tenth of a second to import.
        from commonplace.embedders.openai_compatible import DEFAULT_URL, OpenAICompatibleEmbedder  # noqa: PLC0415

        size = int(match["size"]) if match["size"] else None
        url = match["url"] or DEFAULT_URL
        return Batched(OpenAICompatibleEmbedder(match["model"], url, api_key=api_key, dimensions=size), _BATCH)
    if match := _SENTENCE_TRANSFORMERS.fullmatch(spec):
        # An extra.
        from commonplace.embedders.sentence_transformers import (  # noqa: PLC0415
            DEFAULT_MODEL,
            SentenceTransformersEmbedder,
        )

        return SentenceTransformersEmbedder(match["model"] or DEFAULT_MODEL)
    raise InvalidInput(f"The embedder {spec!r} is not known. Write one of: {', '.join(FORMS)}.", spec=spec)
