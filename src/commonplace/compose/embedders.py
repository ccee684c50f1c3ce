"""
Which embedders a store is opened with.

A new store takes those of the options. One that holds texts already is opened with its own, unless its owner says
`reindex`: then it takes the new ones, and drops the vectors of all others, so that no two kinds are ever compared.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.embedders.choose import GTE, make_embedders
from commonplace.errors import EmbedderChanged, EmbedderUnavailable, InvalidInput, StoreNotAdopted
from commonplace.text.tokens import TokenCounter, estimate
from commonplace.values.paths import expand_path

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.ports.embedder import Embedder
    from commonplace.ports.store import Store
    from commonplace.ports.vector_cache import VectorCache

DEFAULT: Final = "static"
MODELS: Final = "models"
"""The folder of the models that were added, in the home folder."""
_BUNDLED: Final = "all-MiniLM-L6-v2"


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedderOptions:
    """
    What the caller or the settings say. `embedder` None: as the store has it. A store that was not `adopted` cannot choose an
    embedder that calls a service or loads a model. `models` is the folder of the models that were added.
    """

    embedder: str | Embedder | Sequence[Embedder] | None = None
    reindex: bool = False
    api_key: str | None = None
    base_url: str | None = None
    models: Path | None = None
    adopted: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedderChoice:
    """`own` are those made here, to be closed here. `stale`: the texts in the store have no vectors of these embedders yet."""

    embedders: tuple[Embedder, ...]
    own: tuple[Embedder, ...]
    stale: bool = False

    @property
    def count(self) -> TokenCounter:
        """How the embedders count tokens, if one of them can."""
        for embedder in self.embedders:
            counter = getattr(embedder, "count_tokens", None)
            if callable(counter):
                return counter  # pyright: ignore[reportReturnType]
        return estimate


async def choose(store: Store, options: EmbedderOptions) -> EmbedderChoice:
    """
    Raises:
        EmbedderChanged: the store holds vectors of other embedders, and `reindex` is False.
        EmbedderUnavailable: the embedder is not installed.
        InvalidInput: there is no such embedder.
    """
    stored = await store.maintenance.embedders()
    blank = not await store.maintenance.contents(0, 1)
    if options.embedder is None:
        choice = _stored(store.vectors, stored, options) if stored or not blank else _default(store.vectors)
    else:
        choice = _by_options(store.vectors, options)
    names = [embedder.name for embedder in choice.embedders]
    if set(names) == set(stored):
        return choice
    if not blank and not options.reindex:
        raise _changed(stored, names, by_name=options.embedder is None)
    # Only a service may know the dimension.
    sizes = await asyncio.to_thread(lambda: {embedder.name: embedder.dimension for embedder in choice.embedders})
    await store.maintenance.set_embedders(sizes)
    return EmbedderChoice(embedders=choice.embedders, own=choice.own, stale=not blank)


def _by_options(cache: VectorCache, options: EmbedderOptions) -> EmbedderChoice:
    if isinstance(options.embedder, str):
        specs = [_with_url(spec.strip(), options) for spec in options.embedder.split(",")]
        embedders = _made(specs, cache, options)
        return EmbedderChoice(embedders=embedders, own=embedders)
    own = options.embedder
    embedders = tuple(own) if isinstance(own, Sequence) else (own,) if own is not None else ()
    if len({embedder.name for embedder in embedders}) != len(embedders):
        raise InvalidInput("Give each embedder once.")
    return EmbedderChoice(embedders=embedders, own=())


def _default(cache: VectorCache) -> EmbedderChoice:
    try:
        embedders = tuple(make_embedders(DEFAULT, cache=cache))
    except EmbedderUnavailable as missing:
        # Python shows the same warning of the same line once.
        warnings.warn(f"{missing.message} Until then this store is searched by words only.", stacklevel=2)
        embedders = ()
    return EmbedderChoice(embedders=embedders, own=embedders)


def _stored(cache: VectorCache, stored: dict[str, int], options: EmbedderOptions) -> EmbedderChoice:
    """The embedders of the store, made again from their names."""
    if not stored:
        return EmbedderChoice(embedders=(), own=())
    if not options.adopted and not all(map(_is_bundled, stored)):
        raise StoreNotAdopted(
            "The store was not made here, and asks for an embedder that calls a service or loads a model. Adopt the store with "
            "`commonplace trust --store`, or name an embedder yourself, for instance with --embedder static."
        )
    try:
        embedders = named_embedders(list(stored), cache, options)
    except InvalidInput as unknown:
        if options.reindex:
            return _default(cache)
        raise EmbedderChanged(
            f"The store holds vectors of {', '.join(stored)}, which cannot be made from a name. Open it with that embedder, "
            "or with reindex=True and another.",
            held=sorted(stored),
        ) from unknown
    return EmbedderChoice(embedders=embedders, own=embedders)


def embedder_maker(cache: VectorCache, options: EmbedderOptions) -> Callable[[Sequence[str]], Sequence[Embedder]]:
    """For a service that makes embedders when it is asked to."""

    def make(names: Sequence[str]) -> Sequence[Embedder]:
        return named_embedders(names, cache, options)

    return make


def named_embedders(names: Sequence[str], cache: VectorCache, options: EmbedderOptions) -> tuple[Embedder, ...]:
    """
    Embedders from the names that a store knows them by, or from how a person writes them.

    Raises:
        InvalidInput: one cannot be made from its name.
        EmbedderUnavailable: one is not installed here.
    """
    return _made([_with_url(_spec(name), options) for name in names], cache, options) if names else ()


def _made(specs: Sequence[str], cache: VectorCache, options: EmbedderOptions) -> tuple[Embedder, ...]:
    return tuple(make_embedders(",".join(specs), api_key=options.api_key, cache=cache, models=options.models))


def _spec(name: str) -> str:
    """
    How `make_embedders` spells an embedder of this name. A store may come from a stranger: no name of ours holds an address, to
    which texts and a key would be sent, or is a folder, whose model may run code.
    """
    model = name.removeprefix("sentence-transformers:")
    if "://" in name or (model not in (name, _BUNDLED) and expand_path(model).is_dir()):
        raise InvalidInput(f"{name!r:.80} is no name of an embedder.")
    if name.startswith(f"{GTE}-"):
        return GTE
    return "static" if name.startswith("static-") else name


def _is_bundled(name: str) -> bool:
    """Whether it asks nobody, and reads only files that came with a package or were added by a person."""
    return name.startswith(("static-", f"{GTE}-")) or name == f"sentence-transformers:{_BUNDLED}"


def _with_url(spec: str, options: EmbedderOptions) -> str:
    return f"{spec}@{options.base_url}" if spec.startswith("openai:") and "@" not in spec and options.base_url else spec


def _changed(stored: dict[str, int], names: Sequence[str], *, by_name: bool) -> EmbedderChanged:
    then, now = ", ".join(sorted(stored)) or "no embedder", ", ".join(sorted(names)) or "none"
    message = f"The store was made with {then}, and is to be opened with {now}. Leave the embedder out to open it as it is, or"
    if by_name:
        message = (
            f"The store was made with {then}, and what is installed here makes {now}. Nothing was changed. To go on,"
        )
    return EmbedderChanged(
        f"{message} take the new one with reindex=True (`commonplace reindex`).",
        held=sorted(stored),
        asked=sorted(names),
    )
