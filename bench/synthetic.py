"""Short records without end, made by a seeded generator: no data is needed and every run sees the same texts.

Words are drawn as in natural text: a few very often, most hardly ever (Zipf and Mandelbrot). The frequent ones are those
of the project's own evaluation set, the long tail is made of syllables, as names and terms of art are. Sentences have
about twenty words. A question takes some rarer words of one record and wraps them in everyday ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bench.sets import OWN

VOCABULARY = 60_000
_SHIFT = 2.7
_EXPONENT = 1.1
"""With it the thousand most frequent words make up seven tenths of the text. The size of the file depends on it."""
_MEAN_WORDS = 20
_SPREAD = 0.45
_SHORTEST, _LONGEST = 4, 70
_COMMON = 150
_OPENINGS = (
    "what do we know about",
    "when did we decide on",
    "who works on",
    "how do we handle",
    "where is the",
    "why",
)
_ONSETS = "b br c ch d dr f g gr h j k l m n p pr r s st t tr v w z".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "n", "r", "s", "l", "m", "t", "nd", "rk", "ll"]


class Texts:
    """Records and questions by number: the same number gives the same text."""

    def __init__(self, seed: int = 7) -> None:
        self._seed = seed
        self._words = np.array(_vocabulary(seed), dtype=object)
        weights = 1.0 / (np.arange(len(self._words)) + _SHIFT) ** _EXPONENT
        self._cumulative: NDArray[np.float64] = np.cumsum(weights / weights.sum())

    def batch(self, start: int, count: int) -> list[str]:
        """The records `start` to `start + count`."""
        random = np.random.default_rng((self._seed, 1, start))
        lengths = np.exp(random.normal(np.log(_MEAN_WORDS) - _SPREAD**2 / 2, _SPREAD, count))
        sizes = np.clip(lengths.round().astype(np.int64), _SHORTEST, _LONGEST)
        drawn = self._words[np.searchsorted(self._cumulative, random.random(int(sizes.sum())))]
        cuts = np.concatenate(([0], np.cumsum(sizes)))
        return [_sentence(drawn[a:b]) for a, b in pairwise(cuts.tolist())]

    def batches(self, total: int, size: int, start: int = 0) -> Iterator[list[str]]:
        for at in range(start, start + total, size):
            yield self.batch(at, min(size, start + total - at))

    def questions(self, count: int) -> list[str]:
        """Questions about what the records speak of."""
        random = np.random.default_rng((self._seed, 2))
        asked: list[str] = []
        for _ in range(count):
            several = int(random.integers(3, 6))
            drawn = np.searchsorted(self._cumulative, random.random(60))
            rarer = self._words[drawn[drawn > _COMMON][:several]]
            asked.append(f"{random.choice(_OPENINGS)} {' '.join(rarer)}?")
        return asked


def _sentence(words: NDArray[np.object_]) -> str:
    said = " ".join(words)
    return f"{said[0].upper()}{said[1:]}."


def _vocabulary(seed: int) -> list[str]:
    """Most frequent first."""
    lines = (OWN / "english.jsonl").read_text(encoding="utf-8").splitlines()
    counted = Counter(word for line in lines for word in re.findall(r"[a-z]+", str(json.loads(line)["text"]).lower()))
    words = dict.fromkeys(word for word, _ in counted.most_common())
    random = np.random.default_rng((seed, 3))
    while len(words) < VOCABULARY:
        words.setdefault("".join(_syllable(random) for _ in range(int(random.integers(2, 4)))))
    return list(words)[:VOCABULARY]


def _syllable(random: np.random.Generator) -> str:
    return str(random.choice(_ONSETS)) + str(random.choice(_VOWELS)) + str(random.choice(_CODAS))
