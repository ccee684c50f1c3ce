"""How much two texts have in common, by the sets of their words."""

from __future__ import annotations

import re

NEAR = 0.8

# Han, kana and hangul: written without spaces, or with words that change at their ends.
_UNSPACED = re.compile(
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003ffff]+"
)


def words(text: str) -> frozenset[str]:
    """
    The lower-cased, whitespace-split words of a text. A word with Chinese, Japanese or Korean in it, which may be a
    whole sentence, counts by the pairs of neighbouring characters of those runs and by what is left between them.
    """
    bag = set(text.lower().split())
    if text.isascii():
        return frozenset(bag)
    for word in [word for word in bag if _UNSPACED.search(word)]:
        bag.discard(word)
        bag.update(rest for rest in _UNSPACED.split(word) if any(character.isalnum() for character in rest))
        for run in _UNSPACED.findall(word):
            bag.update(run[i : i + 2] for i in range(max(len(run) - 1, 1)))
    return frozenset(bag)


def jaccard(a: str, b: str) -> float:
    """Words shared over words used, 0 to 1. Two texts without words share nothing."""
    return overlap(words(a), words(b))


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """`jaccard` for word sets made once and compared often."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def near_duplicate(a: str, b: str, above: float = NEAR) -> bool:
    return jaccard(a, b) > above
