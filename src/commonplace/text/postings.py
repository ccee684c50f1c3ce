"""Analysed terms as bytes: five a term, its hash (CRC-32, little endian) and how often it occurs, sorted by hash.

The stores keep and search hashes, never words: the same bytes serve SQLite and PostgreSQL, an index can be rebuilt
from them without analysing again, and no word of a purged text can linger in an index. Two words of one store share a
hash about once in four billion pairs; such a hit is merely ranked a little too high.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

POSTING = np.dtype([("term", "<u4"), ("count", "u1")])
_MOST = 255


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass"))


def pack(terms: Sequence[str]) -> bytes:
    """The terms of one passage, counted."""
    counts: dict[int, int] = {}
    for term in map(term_hash, terms):
        counts[term] = counts.get(term, 0) + 1
    flat = [0] * (2 * len(counts))
    flat[::2] = ordered = sorted(counts)
    flat[1::2] = [min(counts[term], _MOST) for term in ordered]
    return struct.pack("<" + "IB" * len(counts), *flat)


def unpack(packed: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Hashes and counts of any number of packed passages, one after another."""
    postings = np.frombuffer(packed, dtype=POSTING)
    return postings["term"], postings["count"]


def hashes(packed: bytes) -> list[int]:
    return [term for term, _ in struct.iter_unpack("<IB", packed)]
