"""The embedders of a store while it changes from some to others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from commonplace.values.embedder import EmbedderStage


class StagedEmbedder(NamedTuple):
    dimension: int
    stage: EmbedderStage


class Unembedded(NamedTuple):
    """A text, by the store's own number, and where its passages begin and end."""

    number: int
    text: str
    speaker: str | None
    spans: tuple[tuple[int, int], ...]


class EmbedderStages(Protocol):
    """
    A store takes the vectors of all its embedders. Those that are `active` answer; those that are `coming` have vectors of some texts;
    those that are `leaving` are dropped by `StoreMaintenance.set_embedders`. `tests/contracts/test_embedder_stages.py` holds each
    implementation to this.
    """

    async def stages(self) -> dict[str, StagedEmbedder]: ...

    async def announce(self, embedders: Mapping[str, int]) -> None:
        """These, by name and dimension, are coming, but for those that are active. Others that were coming or leaving are dropped."""
        ...

    async def unembedded(self, after: int, limit: int) -> list[Unembedded]:
        """Texts of every tenant that an active or a coming embedder lacks a vector of, in the order of their numbers, after `after`."""
        ...

    async def count_unembedded(self) -> int: ...

    async def add_vectors(self, vectors: Mapping[int, Sequence[Mapping[str, bytes]]]) -> None:
        """
        By content, for each of its passages in order, vectors by embedder, in place of those there may be. What is gone by now, or was
        cut anew, is left out. Raises EmbedderChanged if the store does not have such an embedder, and WrongDimension.
        """
        ...

    async def promote(self, names: Collection[str]) -> None:
        """These are active from now on, all others leaving. Raises EmbedderChanged if the store does not have one of them."""
        ...
