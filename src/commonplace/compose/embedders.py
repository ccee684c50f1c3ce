"""
Which embedders a store is opened with.

A new store takes those that were asked for. One that holds texts already is opened with its own, unless its owner says
`reindex`: then it takes the new ones, and the vectors of all others are dropped, so that no two kinds are ever compared.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.embedders.choose import make_embedders
from commonplace.errors import EmbedderChanged, EmbedderUnavailable, InvalidInput, StoreNotAdopted
from commonplace.ports.embedder import Embedder
from commonplace.ports.store import Store
from commonplace.ports.vector_cache import VectorCache
from commonplace.text.tokens import TokenCounter, estimate

DEFAULT: Final = "static"
_BUNDLED: Final = "all-MiniLM-L6-v2"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """
    What the caller or the settings say. `embedder` None says nothing. A store that was not `adopted` does not choose one that calls a
    service or loads a model.
    """

    embedder: str | Embedder | Sequence[Embedder] | None = None
    reindex: bool = False
    api_key: str | None = None
    base_url: str | None = None
    adopted: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """`own` are those made here, to be closed here. `stale`: the texts in the store have no vectors of these yet."""

    embedders: tuple[Embedder, ...]
    own: tuple[Embedder, ...]
    stale: bool = False

    @property
    def count(self) -> TokenCounter:
        """How the embedders count tokens, where one of them can."""
        for embedder in self.embedders:
            counter = getattr(embedder, "count_tokens", None)
            if callable(counter):
                return counter  # pyright: ignore[reportReturnType]
        return estimate


async def choose(store: Store, asked: Asked) -> Chosen:
    """
    Raises:
        EmbedderChanged: the store holds vectors of others, and `reindex` was not asked for.
        EmbedderUnavailable: what was asked for is not installed.
        InvalidInput: what was asked for is no embedder.
    """
    held = await store.maintenance.embedders()
    blank = not await store.maintenance.contents(0, 1)
    if asked.embedder is None:
        chosen = _held(store.vectors, held, asked) if held or not blank else _default(store.vectors)
    else:
        chosen = _asked(store.vectors, asked)
    names = [embedder.name for embedder in chosen.embedders]
    if set(names) == set(held):
        return chosen
    if not blank and not asked.reindex:
        raise _changed(held, names, by_name=asked.embedder is None)
    # A dimension may have to be asked of a service.
    sizes = await asyncio.to_thread(lambda: {embedder.name: embedder.dimension for embedder in chosen.embedders})
    await store.maintenance.set_embedders(sizes)
    return Chosen(embedders=chosen.embedders, own=chosen.own, stale=not blank)


def _asked(cache: VectorCache, asked: Asked) -> Chosen:
    if isinstance(asked.embedder, str):
        specs = [_with_url(spec.strip(), asked) for spec in asked.embedder.split(",")]
        made = tuple(make_embedders(",".join(specs), api_key=asked.api_key, cache=cache))
        return Chosen(embedders=made, own=made)
    given = asked.embedder
    listed = tuple(given) if isinstance(given, Sequence) else (given,) if given is not None else ()
    if len({embedder.name for embedder in listed}) != len(listed):
        raise InvalidInput("Give each embedder once.")
    return Chosen(embedders=listed, own=())


def _default(cache: VectorCache) -> Chosen:
    try:
        made = tuple(make_embedders(DEFAULT, cache=cache))
    except EmbedderUnavailable as missing:
        # Python shows the same warning of the same line once.
        warnings.warn(f"{missing.message} Until then this store is searched by words only.", stacklevel=2)
        made = ()
    return Chosen(embedders=made, own=made)


def _held(cache: VectorCache, held: dict[str, int], asked: Asked) -> Chosen:
    """Those of the store, made again from their names."""
    if not held:
        return Chosen(embedders=(), own=())
    if not asked.adopted and not all(map(_is_bundled, held)):
        raise StoreNotAdopted(
            "The store was not made here, and asks for an embedder that calls a service or loads a model. Adopt the store with "
            "`commonplace trust --store`, or name an embedder yourself, for instance with --embedder static."
        )
    try:
        specs = [_with_url(_spec(name), asked) for name in held]
        made = tuple(make_embedders(",".join(specs), api_key=asked.api_key, cache=cache))
    except InvalidInput as unknown:
        if asked.reindex:
            return _default(cache)
        raise EmbedderChanged(
            f"The store holds vectors of {', '.join(held)}, which cannot be made from a name. Open it with that embedder, "
            "or with reindex=True and another.",
            held=sorted(held),
        ) from unknown
    return Chosen(embedders=made, own=made)


def _spec(name: str) -> str:
    """
    How to ask for an embedder of this name. A store may come from a stranger: no name of ours holds an address, to which
    texts and a key would be sent, or is a folder, whose model may run code.
    """
    model = name.removeprefix("sentence-transformers:")
    if "://" in name or (model not in (name, _BUNDLED) and Path(model).expanduser().is_dir()):
        raise InvalidInput(f"{name!r:.80} is no name of an embedder.")
    return "static" if name.startswith("static-") else name


def _is_bundled(name: str) -> bool:
    return name.startswith("static-") or name == f"sentence-transformers:{_BUNDLED}"


def _with_url(spec: str, asked: Asked) -> str:
    return f"{spec}@{asked.base_url}" if spec.startswith("openai:") and "@" not in spec and asked.base_url else spec


def _changed(held: dict[str, int], names: Sequence[str], *, by_name: bool) -> EmbedderChanged:
    then, now = ", ".join(sorted(held)) or "no embedder", ", ".join(sorted(names)) or "none"
    told = f"The store was made with {then}, and is to be opened with {now}. Leave the embedder out to open it as it is, or"
    if by_name:
        told = f"The store was made with {then}, and what is installed here makes {now}. Nothing was changed. To go on,"
    return EmbedderChanged(
        f"{told} take the new one with reindex=True (`commonplace reindex`).", held=sorted(held), asked=sorted(names)
    )
