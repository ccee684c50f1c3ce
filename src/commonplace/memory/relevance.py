"""
How likely a hit answers the question: a number from 0 to 1 with one meaning, whatever the memory holds.

A score is for the order of hits; it says how far one stands out of its scope. Relevance looks at the hit alone, by two absolute numbers:
the cosine of question and passage, and the share of the question's words that the passage holds, rare words counting for more
(`text/rarity`). A short turn is understood with the turns beside it, so it is at least as near as four fifths of what they are. The more passages
were searched, the more likely one fits by chance; and a hit far behind the best is less likely the answer. A logistic curve, fitted
on development data (`python -m bench relevance --fit`), makes a probability of these.

`FLOOR` judges the question: if no hit reaches it, no memory answers. Else the hits within `DISTANCE` of the best are relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.errors import InvalidQuery
from commonplace.memory.rank import Channel
from commonplace.text.unicode import reads_as_cjk
from commonplace.values.query import Hit

Floats = NDArray[np.float64]

FLOOR: Final = 0.28
"""If the best hit is less relevant than this, no memory answers the question."""
DISTANCE: Final = 0.1
"""A hit is relevant if it has at least this share of the best one's relevance."""
LENT: Final = 0.8
"""What a turn has of the nearness of the turns beside it."""
JUDGED: Final = 10
"""The best hit is looked for among so many, however few were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """
    How nearness becomes a chance. `cosine` is what a cosine counts beside the share of words, `unrelated` how cosines of texts are spread that
    have nothing to do with one another.
    """

    offset: float
    slope: float
    cosine: float = 0.0
    passages: float = -0.29
    """For each time that the number of passages grows by the factor e."""
    behind: float = -2.8
    unrelated: Channel | None = None


WORDS: Final = Calibration(offset=-1.6, slope=3.6)
STATIC: Final = Calibration(offset=-1.8, slope=2.55, cosine=1.5, unrelated=Channel(mean=0.16, std=0.13, best=0.0))
STATIC_CJK: Final = Calibration(
    offset=-2.35, slope=2.87, cosine=1.5, behind=-6.0, unrelated=Channel(mean=0.2, std=0.12, best=0.0)
)

# The curve of the static table, stretched to how narrowly the cosines of gte-small are spread; not fitted yet.
GTE: Final = Calibration(offset=-13.5, slope=2.55, cosine=6.3, unrelated=Channel(mean=0.77, std=0.031, best=0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearness:
    """How near passages are to a question: the share of its words, and by embedder the cosine, nan where there is no vector."""

    coverage: Floats
    cosines: Mapping[str, Floats]


def calibration(embedder: str, question: str) -> Calibration:
    """The curve of an embedder for questions in this language. One that nobody has measured is taken to be like the default."""
    for beginning, latin, cjk in _MEASURED:
        if beginning in embedder:
            return cjk if reads_as_cjk(question) else latin
    return STATIC


def relevance(own: Nearness, beside: Sequence[Nearness], passages: int, curves: Mapping[str, Calibration]) -> Floats:
    """
    The chance of each hit, best first or not. `beside` are the turns before and after, of coverage 0 and cosine nan if there are none. Of several
    embedders each has a say; a hit without a vector is judged by its words.
    """
    by_words = _logit(own.coverage, [turn.coverage for turn in beside], passages, WORDS)
    logits: list[Floats] = []
    for name, curve in curves.items():
        near = [item.coverage + curve.cosine * np.nan_to_num(item.cosines[name]) for item in (own, *beside)]
        logit = _logit(near[0], near[1:], passages, curve)
        logits.append(np.where(np.isnan(own.cosines[name]), by_words, logit))
    return 1.0 / (1.0 + np.exp(-(np.mean(logits, axis=0) if logits else by_words)))


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


_MEASURED: Final = (("static-", STATIC, STATIC_CJK), ("gte-", GTE, GTE))
"""By a part of the embedder's name: the curve for alphabets, and for Chinese, Japanese and Korean."""
