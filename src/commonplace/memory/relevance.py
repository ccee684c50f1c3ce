"""
How likely a hit answers the question: a number from 0 to 1 with one meaning, whatever the memory holds.

A score is for the order of hits; it says how far one stands out of its scope. Relevance looks at the hit alone, by two absolute numbers:
the cosine of question and passage, and the share of the question's words that the passage holds, rare words counting for more
(`text/rarity`). A short turn is understood with the turns beside it, so it is at least as near as four fifths of what they are. The more passages
were searched, the more likely one fits by chance; and a hit far behind the best is less likely the answer. In a large memory a share of the
question says too little, since a short one is held whole by chance: what a passage scores in words beyond what chance would reach among so many counts
as well. A logistic curve, fitted on development data (`python -m bench relevance --fit`), makes a probability of these.

`FLOOR` judges the question: if no hit reaches it, no memory answers. Else the hits within `DISTANCE` of the best are relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.errors import InvalidQuery
from commonplace.memory.rank import ScoreSpread
from commonplace.text.unicode import reads_as_cjk
from commonplace.values.query import Hit

Floats = NDArray[np.float64]

FLOOR: Final = 0.25
"""If the best hit is less relevant than this, no memory answers the question."""
DISTANCE: Final = 0.01
"""A hit is relevant if it has at least this share of the best one's relevance."""
LENT: Final = 0.8
"""What a turn has of the nearness of the turns beside it."""
LARGE: Final = 1_000
"""Among fewer passages the share of words tells enough."""
CHANCE: Final = 2.3
"""What some passage scores in words (BM25) by chance, for each time that the number of passages grows by the factor e."""
BEYOND: Final = 0.035
"""What each unit beyond that counts, for each time that a memory is larger by the factor e than `LARGE`."""
MOST_BEYOND: Final = 20.0
JUDGED: Final = 10
"""The best hit is looked for among so many, however few were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """
    How nearness becomes a chance. `unrelated` is how the cosines of texts are spread that have nothing to do with one another; `cosine` is what
    a cosine above their mean counts beside the share of words.
    """

    offset: float
    slope: float
    unrelated: ScoreSpread
    cosine: float = 0.0
    passages: float = -0.3
    """For each time that the number of passages grows by the factor e."""
    behind: float = -5.0
    """For each unit of nearness that a hit is behind the best."""


WORDS: Final = Calibration(offset=-1.66, slope=3.9, unrelated=ScoreSpread(mean=0.0, std=0.0, best=0.0), passages=-0.2)
STATIC: Final = Calibration(
    offset=-1.43,
    slope=2.9,
    cosine=1.5,
    passages=-0.31,
    behind=-4.5,
    unrelated=ScoreSpread(mean=0.16, std=0.13, best=0.0),
)
STATIC_CJK: Final = Calibration(
    offset=-1.65, slope=2.86, cosine=1.5, behind=-6.0, unrelated=ScoreSpread(mean=0.2, std=0.12, best=0.0)
)
MINILM: Final = Calibration(offset=-1.95, slope=2.26, cosine=2.0, unrelated=ScoreSpread(mean=0.05, std=0.09, best=0.0))
GTE: Final = Calibration(offset=-1.95, slope=2.16, cosine=8.0, unrelated=ScoreSpread(mean=0.765, std=0.03, best=0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearness:
    """
    How near passages are to a question: the share of its words, by embedder the cosine, nan where there is no vector, and what they
    score in words.
    """

    coverage: Floats
    cosines: Mapping[str, Floats]
    words: Floats | float = 0.0


def calibration(embedder: str, question: str) -> Calibration:
    """The curve of an embedder for questions in this language. One that nobody has measured is taken to be like the default."""
    for part, alphabet, cjk in _MEASURED:
        if part in embedder:
            return cjk if reads_as_cjk(question) else alphabet
    return STATIC


def relevance(own: Nearness, beside: Sequence[Nearness], passages: int, curves: Mapping[str, Calibration]) -> Floats:
    """
    The chance of each hit. `beside` are the turns before and after, of coverage 0 and cosine nan if there are none. Of several embedders the one
    that tells texts apart best decides; a hit without its vector is judged by the next one, or by its words.
    """
    logits = _logit(own.coverage, [turn.coverage for turn in beside], passages, WORDS)
    # The best comes last, and has the last word.
    for name, curve in sorted(curves.items(), key=lambda item: item[1].cosine):
        near, *around = [_near(item.coverage, item.cosines[name], curve) for item in (own, *beside)]
        logits = np.where(np.isnan(own.cosines[name]), logits, _logit(near, around, passages, curve))
    return 1.0 / (1.0 + np.exp(-logits - _beyond_chance(own.words, passages)))


def _beyond_chance(words: Floats | float, passages: int) -> Floats:
    size = float(np.log(max(passages, LARGE)))
    return BEYOND * (size - np.log(LARGE)) * np.clip(words - CHANCE * size, 0.0, MOST_BEYOND)


def _near(coverage: Floats, cosines: Floats, curve: Calibration) -> Floats:
    return coverage + curve.cosine * np.nan_to_num(cosines - curve.unrelated.mean)


def _logit(own: Floats, beside: Sequence[Floats], passages: int, curve: Calibration) -> Floats:
    near = np.maximum.reduce([own, *(LENT * turn for turn in beside)]) if len(own) else own
    behind = near.max(initial=0.0) - near
    size = float(np.log(max(passages, 1)))
    return curve.offset + curve.slope * near + curve.passages * size + curve.behind * behind


def is_relevant(values: Floats) -> NDArray[np.bool_]:
    """Which of the hits stand above the line."""
    best = float(values.max(initial=0.0))
    return (values >= DISTANCE * best) & (best >= FLOOR)


def check_relevance(value: float | None) -> None:
    """Raises InvalidQuery: it is no chance."""
    # Callers without a type checker send what JSON gave them.
    if value is not None and not (isinstance(value, int | float) and 0.0 <= value <= 1.0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidQuery("The least relevance is a number from 0 to 1.")


def answering(hits: Sequence[Hit], min_relevance: float | None = None) -> list[Hit]:
    """Those that answer the question, or all that are at least so relevant. Raises InvalidQuery."""
    check_relevance(min_relevance)
    if min_relevance is None:
        return [hit for hit in hits if hit.relevant]
    return [hit for hit in hits if hit.relevance >= min_relevance]


_MEASURED: Final = (("static-", STATIC, STATIC_CJK), ("gte-small", GTE, GTE), ("all-MiniLM-L6", MINILM, MINILM))
"""By a part of the embedder's name: the curve for alphabets, and for Chinese, Japanese and Korean."""
