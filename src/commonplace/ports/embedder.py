"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Embedder(Protocol):
    """
    Turns texts into vectors of one fixed size, the same text always into the same vector.

    `name` identifies model, size and recipe: two embedders with the same name are interchangeable, and vectors of
    different names are never compared.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """The size of every vector. May ask the embedder's service once."""
        ...

    async def embed(self, texts: Sequence[str]) -> Floats:
        """
        One row a text, in order, each of length one (or zero where a text has nothing to embed).

        Raises:
            EmbedderUnavailable: the model or its service cannot be reached.
            WrongDimension: the service answered with vectors of another size.
        """
        ...

    async def aclose(self) -> None: ...
