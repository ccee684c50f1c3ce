"""Analysed terms as bytes: the hashes of a passage's terms (CRC-32, four bytes each, ascending), then a byte each for how
often it occurs.

The stores keep and search hashes, never words: the same bytes serve SQLite and PostgreSQL, an index can be rebuilt
from them without analysing again, and no word of a purged text can linger in an index. Two words of one store share a
hash about once in four billion pairs; such a hit is merely ranked a little too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TERM = 5
_MOST = 255
_HASHES = np.dtype("<u4")


def term_hash(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass"))


def is_packed(value: object) -> bool:
    """Whether it can be what `pack` makes."""
    return isinstance(value, bytes) and len(value) % _TERM == 0


def pack(terms: Sequence[str]) -> bytes:
    """The terms of one passage, counted."""
    counts: dict[int, int] = {}
    for term in map(term_hash, terms):
        counts[term] = counts.get(term, 0) + 1
    ordered = sorted(counts)
    return np.array(ordered, dtype=_HASHES).tobytes() + bytes([min(counts[term], _MOST) for term in ordered])


def hashes(packed: bytes) -> list[int]:
    return np.frombuffer(packed, dtype=_HASHES, count=len(packed) // _TERM).tolist()


def written_hashes(packed: bytes) -> str:
    """The hashes as `written_hash` writes each, a space between them."""
    return packed[: len(packed) // _TERM * 4].hex(" ", 4)


def written_hash(term: int) -> str:
    """A hash as eight hexadecimal digits, its lowest byte first."""
    return term.to_bytes(4, "little").hex()


def unpack(packed: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]:
    """Hashes and counts of many passages, one after another, and how many terms each has."""
    sizes = np.array([len(passage) // _TERM for passage in packed], dtype=np.int64)
    terms = b"".join([passage[: len(passage) // _TERM * 4] for passage in packed])
    counts = b"".join([passage[len(passage) // _TERM * 4 :] for passage in packed])
    return np.frombuffer(terms, dtype=_HASHES), np.frombuffer(counts, dtype=np.uint8), sizes
