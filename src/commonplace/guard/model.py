"""
A small linear model beside the rules: how much a text reads like an order to an agent, whoever wrote it.

Rules find what is written like something their author knew. The model weighs many weak signs instead: which classes of words (`lexicon`)
stand together in a sentence, which cues the rules see, the words themselves by their hashes, and what the passage means (`sense`). `tools/guard_model.py`
learns the weights from the sets under `tests/acceptance/poison` and writes them to `model.bin`; a score is one sum, and no language model is needed.
Meaning costs more than all else together, so only a passage is asked for it whose words alone come near to the threshold.
A long text is read by passages of about the size of a note, and the worst of them counts.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, TypeAlias, get_args
from zlib import crc32

import numpy as np
import Stemmer
from numpy.typing import NDArray

from commonplace.guard.cues import Cue
from commonplace.guard.lexicon import CHINESE, ENGLISH
from commonplace.guard.orders import passages, unreported, weight_of
from commonplace.guard.sense import MEANINGS, meanings
from commonplace.guard.sentence import MOST

WEIGHTS: Final = Path(__file__).with_name("model.bin")
BUCKETS: Final = 16_384
CLASSES: Final = tuple(ENGLISH)
CUES: Final[tuple[Cue, ...]] = get_args(Cue)
_PAIRS: Final = len(CLASSES) * len(CLASSES)
_CUES_AT: Final = 2 * len(CLASSES) + _PAIRS
SIZE: Final = _CUES_AT + 2 * len(CUES) + 2 + BUCKETS
"""Numbers that a text becomes: classes, their shares, pairs of them, cues of the text and of its worst passage, words."""
_BUCKETS_AT: Final = SIZE - BUCKETS
ALL: Final = SIZE + MEANINGS + 2
"""With the meaning of the passage, what the meaning of a usual one weighs, and the constant."""
MEANING: Final = 4.0
NEAR: Final = 0.5
"""The score by words alone from which a passage is asked what it means."""
_CLASS: Final = 3.0
_PAIR: Final = 1.2
_CUE: Final = 0.3
_WORDS: Final = 5.0
"""How much each kind counts before anything is learned, whatever the length of the text: attacks are not longer than other texts."""
_LEAST: Final = 4
"""Words (of Chinese, pairs of characters) below which a passage says too little to be weighed."""
LENGTH: Final = 900
"""Characters of a passage, a Chinese one counted twice."""

_HOST: Final = re.compile(
    r"https?://[^\s]{1,300}|[^\s@]{1,64}@[^\s@]{1,253}"
    r"|\b[a-z0-9-]{1,63}+(?:\.[a-z0-9-]{1,63}+){0,5}\.(?:com|net|org|io|example|test|xyz|cn|ru|dev|site|top|info|app|link|invalid)\b"
)
_FIGURE: Final = re.compile(r"[0-9][0-9.,:-]*+")
_TOKEN: Final = re.compile(r"<host>|~?/?\.?[a-z][a-z0-9]*+(?:['’-][a-z]++)*+|[\u3400-\u9fff]++|0|[.!?:;。！？：；]")
_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_STOPS: Final = frozenset(".!?:;。！？：；")

Features: TypeAlias = dict[int, float]
_snowball: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def score(words: str) -> float:
    """How much the worst passage of a text reads like an attack, positive if more than not, nought if it is very short. `words` is as an agent would read it."""
    weights = _weights()
    if _is_short(words):
        return 0.0
    scores = {passage: _sum(features(passage), weights) for passage in windows(words)}
    near = [passage for passage, amount in scores.items() if amount > NEAR]
    if near and (rows := meanings(near)) is not None:
        shares = MEANING * rows @ weights[SIZE:-2] - weights[-2]
        scores.update({passage: scores[passage] + float(share) for passage, share in zip(near, shares, strict=True)})
    return max(scores.values(), default=float(weights[-1]))


def _is_short(text: str) -> bool:
    return (
        len(text) <= LENGTH
        and sum(len(token) / 2 if _HAN.match(token) else token not in _STOPS for token in _TOKEN.findall(text.lower()))
        < _LEAST
    )


def worst(text: str) -> str | None:
    """The sentence that reads most like an attack, as far as it is shown."""
    sentence = max(_sentences(text), key=lambda part: _sum(features(part), _weights()), default=None)
    return sentence[:MOST] if sentence else None


def features(words: str) -> Features:
    """What the model sees of a passage, by place."""
    text = _FIGURE.sub("0", _HOST.sub(" <host> ", words.lower()))
    kinds: set[int] = set()
    pairs: set[int] = set()
    buckets: set[int] = set()
    values: Features = {}
    sentences = [tokens for sentence in _END.split(text) if (tokens := _TOKEN.findall(sentence))]
    for tokens in sentences:
        classes = sorted(_classes(tokens))
        kinds.update(classes)
        for n, kind in enumerate(classes):
            values[len(CLASSES) + kind] = values.get(len(CLASSES) + kind, 0.0) + 1 / len(sentences)
            pairs.update(2 * len(CLASSES) + kind * len(CLASSES) + other for other in classes[n + 1 :])
        buckets.update(_hashes(tokens))
    for places, amount in ((kinds, _CLASS), (pairs, _PAIR), (buckets, _WORDS)):
        share = amount / math.sqrt(len(places) + 1)
        values.update((place, share) for place in places)
    _add_cues(values, words)
    return values


def _add_cues(values: Features, words: str) -> None:
    own_words = unreported(words)
    most, everywhere, worst_cues = 0.0, frozenset[Cue](), frozenset[Cue]()
    for _, cues in passages(own_words):
        everywhere |= cues
        if (weight := weight_of(cues)) > most:
            most, worst_cues = weight, cues
    for n, cue in enumerate(CUES):
        if cue in everywhere:
            values[_CUES_AT + n] = _CUE
        if cue in worst_cues:
            values[_CUES_AT + len(CUES) + n] = _CUE
    values[_CUES_AT + 2 * len(CUES)] = _CUE * min(most, 10.0) / 4
    values[_CUES_AT + 2 * len(CUES) + 1] = _CUE * (own_words != words)


def _classes(tokens: list[str]) -> set[int]:
    english, chinese = _lexicon()
    numbers: set[int] = set()
    stems: list[str] = []
    for token in tokens:
        if _HAN.match(token):
            for place, character in enumerate(token):
                for length in chinese.lengths.get(character, ()):
                    numbers.update(chinese.classes.get(token[place : place + length], ()))
            stems.append("")
        else:
            numbers.update(chinese.classes.get(token.upper(), ()))
            stems.append(_stem(token.replace("’", "'")))
    for place, stem in enumerate(stems):
        for length in english.lengths.get(stem, ()):
            numbers.update(english.classes.get(" ".join(stems[place : place + length]), ()))
    return numbers


def _hashes(tokens: list[str]) -> Iterator[int]:
    """Words and pairs of words by their stems; of Chinese, one to three characters."""
    previous = ""
    for token in tokens:
        if _HAN.match(token):
            for length in (1, 2, 3):
                for place in range(len(token) - length + 1):
                    yield _bucket(token[place : place + length])
            previous = ""
        elif token in _STOPS:
            previous = ""
        else:
            stem = _stem(token)
            yield _bucket(stem)
            if previous:
                yield _bucket(f"{previous} {stem}")
            previous = stem


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return _snowball(word)


@lru_cache(maxsize=100_000)
def _bucket(gram: str) -> int:
    return _BUCKETS_AT + crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS


def windows(text: str) -> Iterator[str]:
    """The text by passages of about `LENGTH`, each begun with the last sentences of the one before; sentences are whole unless longer."""
    window: list[str] = []
    size = 0
    fresh = False
    for sentence in _sentences(text):
        length = _length(sentence)
        if fresh and size + length > LENGTH:
            yield "\n".join(window)
            fresh = False
            while window and size > LENGTH // 4:
                size -= _length(window.pop(0))
        window.append(sentence)
        size += length
        fresh = True
    if fresh:
        yield "\n".join(window)


def _sentences(text: str) -> Iterator[str]:
    for sentence in _END.split(text):
        for place in range(0, len(sentence), LENGTH):
            if piece := sentence[place : place + LENGTH].strip():
                yield piece


def _length(sentence: str) -> int:
    return len(sentence) * (2 if _HAN.search(sentence) else 1)


def _sum(values: Features, weights: NDArray[np.float32]) -> float:
    places = np.fromiter(values.keys(), dtype=np.int64, count=len(values))
    amounts = np.fromiter(values.values(), dtype=np.float32, count=len(values))
    return float(weights[places] @ amounts + weights[-1])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Phrases:
    """The classes of each phrase, and how long the phrases are that begin with a word (or a character)."""

    classes: dict[str, tuple[int, ...]]
    lengths: dict[str, tuple[int, ...]]


@cache
def _lexicon() -> tuple[_Phrases, _Phrases]:
    """English by the stems of the words, and Chinese."""
    english = {
        name: [[_stem(word) for word in phrase.split("_")] for phrase in ENGLISH[name].split()] for name in CLASSES
    }
    chinese = {name: [list(phrase) for phrase in CHINESE[name].split()] for name in CLASSES}
    return _phrases(english, " "), _phrases(chinese, "")


def _phrases(entries: dict[str, list[list[str]]], joint: str) -> _Phrases:
    classes: dict[str, set[int]] = defaultdict(set)
    lengths: dict[str, set[int]] = defaultdict(set)
    for number, name in enumerate(CLASSES):
        for parts in entries[name]:
            classes[joint.join(parts)].add(number)
            lengths[parts[0]].add(len(parts))
    return _Phrases(
        classes={phrase: tuple(sorted(numbers)) for phrase, numbers in classes.items()},
        lengths={part: tuple(sorted(sizes)) for part, sizes in lengths.items()},
    )


@cache
def _weights() -> NDArray[np.float32]:
    """One a feature, one a number of the meaning, what a usual meaning weighs, and the constant behind them."""
    return np.frombuffer(WEIGHTS.read_bytes(), dtype="<f2").astype(np.float32)
