"""
How rare a word is in general, whatever the memory holds.

In a memory of three notes each word is rare or common by chance. This table knows better: it has the frequency of 57,000
words of sixteen languages, by their hashes (`tools/rarity.py` makes it from the vocabulary of the sentence model). What it does
not know is rarer than all it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import exp
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.text.postings import term_hash

TABLE: Final = Path(__file__).with_name("rarity.bin")
STEPS: Final = 16
"""The table has rarities in steps of a sixteenth."""
UNKNOWN: Final = 14.0
"""The rarity of a word that the table does not have, and the highest that it has."""
_ITEM: Final = 5
_COMMON: Final = 6.0
"""What the most common words have: they count next to nothing."""
_LEAST: Final = 0.3
_NUMBER: Final = 12.0
_PASSAGE: Final = 100.0
"""The words of a passage, times the languages that share the table."""
_OFTEN: Final = 0.5
_PAIR_CHANCE: Final = 0.002
# A pair of characters that is no word is rarer than its characters, and tells little more.
_PAIR: Final = 1.5


def rarity(term: str) -> float:
    """The negative logarithm of how often an analysed term occurs among all words."""
    hashes, values = _table()
    key = term_hash(term)
    place = int(np.searchsorted(hashes, np.uint32(key)))
    if place < len(hashes) and hashes[place] == key:
        return float(values[place]) / STEPS
    if term.isdigit():
        return _NUMBER
    if len(term) == 2 and not term.isascii():
        return min(max(map(rarity, term)) + _PAIR, UNKNOWN)
    return UNKNOWN


def shares(terms: Mapping[str, float]) -> dict[str, float]:
    """What share of a question each of its terms is, by weight and rarity; together they are one. Pairs of words count through their words."""
    worth = {term: weight * max(rarity(term) - _COMMON, _LEAST) for term, weight in terms.items() if "_" not in term}
    total = sum(worth.values())
    return {term: value / total for term, value in worth.items()} if total else {}


def chance(term: str) -> float:
    """How often a passage of any memory holds a term."""
    return _PAIR_CHANCE if "_" in term else min(_OFTEN, _PASSAGE * exp(-rarity(term)))


@cache
def _table() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Hashes, ascending, and the rarity of each."""
    data = TABLE.read_bytes()
    size = len(data) // _ITEM
    return np.frombuffer(data, dtype="<u4", count=size), np.frombuffer(data, dtype=np.uint8, offset=4 * size)
