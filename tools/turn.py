"""
Write `src/commonplace/embedders/turn.npy`: the turn from the sentence model's space into that of the static table.

    python tools/turn.py

Nothing goes in but the data of the two models and Python's own documentation: the main axes are those of Chinese pieces, English
words and English sentences as the sentence model has them; the rotation is the one that brings the words and sentences
nearest to where the static table has them. The last row of the file is what is added.
"""

import importlib
import random
import re
from typing import cast

import numpy as np

from commonplace.embedders.sentences import TURN, SentenceModel
from commonplace.embedders.static import StaticEmbedder, fold
from commonplace.ports.embedder import Floats

_WORDS = 8_000
_SENTENCES = 3_000


def english_words(static: StaticEmbedder) -> list[str]:
    return [entry[1:] for entry in static.entries() if re.fullmatch(r"▁[a-z]{3,}", entry)]


def english_sentences() -> list[str]:
    topics = cast("dict[str, str]", importlib.import_module("pydoc_data.topics").topics)
    found = [" ".join(part.split()) for text in topics.values() for part in re.split(r"\n\n|(?<=[.:])\s", text)]
    return [fold(part) for part in found if re.fullmatch(r"[A-Z].{20,200}", part)]


def turn(chinese: Floats, english: Floats, wanted: Floats) -> Floats:
    """The main axes, turned, and below them what takes the mean of the English away."""
    every = np.concatenate([chinese, english])
    axes = np.linalg.svd(every - every.mean(axis=0), full_matrices=False)[2][: wanted.shape[1]].T
    mean = english.mean(axis=0)
    left, _, right = np.linalg.svd(((english - mean) @ axes).T @ (wanted - wanted.mean(axis=0)))
    turned = axes @ left @ right
    return np.concatenate([turned, -(mean @ turned)[None, :]])


def main() -> None:
    static, model = StaticEmbedder(), SentenceModel()
    chosen = random.Random(0)
    chinese = [piece for piece in model.pieces if re.fullmatch(r"[\u4e00-\u9fff]{2,}", piece)]
    words, sentences = english_words(static), english_sentences()
    english = chosen.sample(words, min(_WORDS, len(words))) + chosen.sample(sentences, min(_SENTENCES, len(sentences)))
    made = turn(model.raw(chinese), model.raw(english), static.embed_now(english))
    np.save(TURN, made.astype(np.float16))


if __name__ == "__main__":
    main()
