"""What the judge sees of a sentence: hashed words, meaning, and cues. The order of the numbers is that of the weights."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zlib import crc32

import numpy as np
import Stemmer
from numpy.typing import NDArray

from commonplace.guard.sense import MEANINGS, meanings
from commonplace.ports.embedder import Floats

BUCKETS: Final = 4_096
_WORDS: Final = 3.0
"""What all words of a sentence weigh together, however many there are."""
_MEANING: Final = 4.0
LONGEST: Final = 600
"""Characters of a sentence that are read."""

_TOKEN: Final = re.compile(r"[a-z]++(?:['’][a-z]++)?|[0-9]++|[\u3400-\u9fff]++|[?？!！…]")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_NAME: Final = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]")
_QUESTION: Final = re.compile(r"[?？]\W{0,7}+$")
_CUES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[0-9]",
        r"😂|🤣|\b(?:lol|lmao|haha)|哈哈",
        r"[!！]",
        r"\b(?:i|im|i'm|ive|i've|my|me|mine|myself)\b|我(?!们)",
        r"\b(?:we|our|us|we're|we've|ours)\b|我们|咱",
        r"\b(?:you|your|u|ur)\b|你|您",
        r"\b(?:if|maybe|perhaps|might|could|would|should|wish|imagine|probably|thinking)\b|如果|要是|可能|也许|假如|万一|估计",
        r"\b(?:always|never|every|must|only|no|dont|don't|do not)\b|必须|不要|不许|每|只|一律|别",
        r"\b(?:today|now|right now|rn|just|tonight|still|atm|currently)\b|今天|现在|刚|还在|正在",
        r"\b(?:said|says|told|heard|apparently|claims?)\b|说|听说|据说",
    )
)
_LENGTHS: Final = (4, 8, 15, 30)
"""Words (of Chinese, pairs of characters) at which a sentence counts as of another length."""
RESERVES: Final = 9
CUES: Final = len(_CUES) + 6 + RESERVES + len(_LENGTHS) + 1
SIZE: Final = BUCKETS + MEANINGS + CUES + 1
"""The last one is the constant."""

_snowball: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


@dataclass(frozen=True, slots=True)
class Remark:
    """
    A sentence, and the message right before it. `proposed`: a rule makes a statement of it; `certain`: in words that are certain to be right.
    `reserves`: what the rules have against it.
    """

    text: str
    before: str = ""
    proposed: bool = False
    certain: bool = False
    reserves: tuple[bool, ...] = (False,) * RESERVES


def table(remarks: Sequence[Remark], usual: Floats) -> Floats:
    """A row a remark. `usual` is the mean meaning of a sentence, from which that of each is told."""
    rows = np.zeros((len(remarks), SIZE), dtype=np.float32)
    texts = [remark.text[:LONGEST] for remark in remarks]
    for row, remark, text in zip(rows, remarks, texts, strict=True):
        places = list({crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS for gram in _grams(text)})
        row[places] = _WORDS / math.sqrt(max(len(places), 1))
        row[BUCKETS + MEANINGS : -1] = _cues(text, remark)
    rows[:, BUCKETS : BUCKETS + MEANINGS] = _MEANING * (_meanings(texts) - usual)
    rows[:, -1] = 1
    return rows


def mean_meaning(texts: Sequence[str]) -> Floats:
    return _meanings([text[:LONGEST] for text in texts]).mean(axis=0)


def _meanings(texts: Sequence[str]) -> Floats:
    """Zeros without the model's files. A text of nothing but spaces means what a full stop does."""
    rows = meanings([text if text.strip() else "." for text in texts])
    return np.zeros((len(texts), MEANINGS), dtype=np.float32) if rows is None else rows


def _cues(text: str, remark: Remark) -> NDArray[np.float32]:
    before = remark.before[-LONGEST:]
    length = len(text) / (2 if _HAN.search(text) else 6)
    size = sum(length >= limit for limit in _LENGTHS)
    return np.array(
        [
            bool(_QUESTION.search(text[-8:])),
            *(bool(cue.search(text)) for cue in _CUES),
            bool(_NAME.search(text)),
            bool(before),
            "?" in before or "？" in before,
            remark.proposed,
            remark.certain,
            *remark.reserves,
            *(size == n for n in range(len(_LENGTHS) + 1)),
        ],
        dtype=np.float32,
    )


def _grams(text: str) -> Iterator[str]:
    """Stems and pairs of them, of Chinese one to three characters; numbers by their length, and how the sentence begins."""
    previous = ""
    for place, token in enumerate(_TOKEN.findall(text.lower())):
        if _HAN.match(token):
            yield from (token[n : n + size] for size in (1, 2, 3) for n in range(len(token) - size + 1))
            yield f"${token[:2]}"
            yield f"{token[-2:]}$"
            previous = ""
            continue
        word = f"#{min(len(token), 4)}" if token.isdigit() else _stem(token)
        yield word
        if previous:
            yield f"{previous} {word}"
        if place == 0:
            yield f"^{word}"
        previous = word


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return _snowball(word)
