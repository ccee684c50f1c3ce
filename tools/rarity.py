"""
Write `src/commonplace/text/rarity.bin`: how rare words are in general, by the hashes of the terms they are analysed to.

    python tools/rarity.py

Nothing goes in but the vocabulary of the sentence model, whose pieces carry their frequency in running text of sixteen languages. A piece
that is a whole word counts for its term; a piece of Chinese, Japanese or Korean for its characters and pairs of characters.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from commonplace.embedders.sentences import SentenceModel
from commonplace.text.analyse import terms
from commonplace.text.postings import term_hash
from commonplace.text.rarity import STEPS, TABLE, UNKNOWN

_BEGIN = "▁"


def main() -> None:
    frequency: dict[int, float] = defaultdict(float)
    for piece, score in SentenceModel().pieces.scores():
        word = piece.lstrip(_BEGIN)
        if word and (not word.isascii() or (piece.startswith(_BEGIN) and word.isalpha())):
            for term in set(terms(word)):
                frequency[term_hash(term)] += math.exp(score)
    rarities = {key: -math.log(value) for key, value in frequency.items()}
    kept = sorted(key for key, value in rarities.items() if value < UNKNOWN)
    values = [min(round(rarities[key] * STEPS), 255) for key in kept]
    TABLE.write_bytes(np.array(kept, dtype="<u4").tobytes() + bytes(values))
    print(f"{len(kept):,} terms, {TABLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
