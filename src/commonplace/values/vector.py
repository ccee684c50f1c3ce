"""Vectors as the stores keep them: one signed byte a dimension, scaled so that the largest of a row becomes 127."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commonplace.errors import WrongDimension

Floats = NDArray[np.float32]

_MOST = 127


def to_bytes(rows: Floats) -> list[bytes]:
    """One row of bytes a row. A scale is not kept: the direction is all a cosine needs."""
    if not rows.size:
        return [b"" for _ in rows]
    largest = np.abs(rows).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    return [row.tobytes() for row in np.rint(rows / largest * _MOST).astype(np.int8)]


def from_bytes(vectors: Sequence[bytes]) -> Floats:
    """
    Rows of length one again (or zero, where all bytes are).

    Raises:
        WrongDimension: not all have the same size.
    """
    if not vectors:
        return np.zeros((0, 0), dtype=np.float32)
    size = len(vectors[0])
    if any(len(vector) != size for vector in vectors):
        raise WrongDimension("Vectors of different sizes cannot be compared. Run `commonplace reindex`.")
    flat: NDArray[np.int8] = np.frombuffer(b"".join(vectors), dtype=np.int8)
    return to_unit(flat.reshape(len(vectors), size).astype(np.float32))


def to_unit(rows: Floats) -> Floats:
    """Each row at length one; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return (rows / lengths).astype(np.float32, copy=False)
