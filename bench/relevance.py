"""
What the number beside a hit is worth: are answers told from questions that nothing answers, and is a chance of .8 right in .8 of cases?

`AUC`: the chance that the best hit of a question with an answer is more relevant than that of one without. `first`: the right one stands first.
`nothing`: the share of unrelated questions that get nothing at the default floor. `kept`: what the answerable ones still get, as a share of
what they get without the floor (the answer itself, R@10, or all@5 for LongMemEval). `error`: the expected calibration error of the first ten hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.counting import DEEP, share
from bench.recall import tell
from bench.sets import PUBLIC, Asked, World, own
from bench.small import SIZES, Ground, locomo_notes, notebook, strangers, with_strangers
from commonplace import Memory
from commonplace.memory.relevance import WORDS, Calibration, calibration
from commonplace.values.query import Hit

MOST: Final = 300
_JUDGED: Final = 10
_BINS: Final = 10


@dataclass(slots=True)
class Sample:
    """The first hits of some questions: how relevant each is said to be, whether it is an answer, and which hits belong together."""

    chances: list[float] = field(default_factory=list[float])
    right: list[bool] = field(default_factory=list[bool])
    questions: list[int] = field(default_factory=list[int])
    sizes: list[int] = field(default_factory=list[int])

    def add(self, hits: Sequence[Hit], names: dict[str, str], question: Asked, size: int) -> None:
        number = self.questions[-1] + 1 if self.questions else 0
        for hit in hits[:_JUDGED]:
            self.chances.append(hit.relevance)
            self.right.append(names[hit.record.id] in question.evidence)
            self.questions.append(number)
            self.sizes.append(size)

    def extend(self, other: Sample) -> None:
        start = self.questions[-1] + 1 if self.questions else 0
        self.chances += other.chances
        self.right += other.right
        self.questions += [start + number for number in other.questions]
        self.sizes += other.sizes


@dataclass(slots=True)
class Tally:
    """One set, as its questions are asked."""

    best: list[float] = field(default_factory=list[float])
    best_unrelated: list[float] = field(default_factory=list[float])
    first: list[bool] = field(default_factory=list[bool])
    without: list[float] = field(default_factory=list[float])
    within: list[float] = field(default_factory=list[float])
    nothing: list[bool] = field(default_factory=list[bool])
    sample: Sample = field(default_factory=Sample)

    def row(self, name: str, size: int | str) -> dict[str, Any]:
        figures: dict[str, Any] = {"set": name, "records": size, "questions": len(self.best)}
        if self.best and self.best_unrelated:
            figures["AUC"] = round(_auc(self.best, self.best_unrelated), 3)
        if self.best:
            figures |= {"first": _mean(self.first), "kept": round(sum(self.within) / max(sum(self.without), 1e-9), 3)}
        if self.nothing:
            figures["nothing"] = _mean(self.nothing)
        return figures | {"error": round(calibration_error(self.sample), 3)}


def measure(
    memory: Memory, data: Path | None, most: int = MOST, half: str = "development", *, small: bool = False
) -> dict[str, Any]:
    """All sets whose data is here, or small memories only. The held-back half of the notebooks is to be looked at once."""
    rows: list[dict[str, Any]] = []
    everything = Sample()
    for name, size, grounds in _grounds(data, most):
        if small and size == "whole":
            continue
        tally = Tally()
        for ground in grounds:
            _ask(memory, ground, tally)
        rows.append(tally.row(name, size))
        if not any(ground.world.by_session for ground in grounds):
            everything.extend(tally.sample)
    notebooks = [row for language in ("en", "zh") for row in _notebooks(memory, language, half, everything)]
    return {
        "results": rows,
        "notebooks": notebooks,
        "calibration_error": round(calibration_error(everything), 3),
        "reliability": reliability(everything),
        "sample": everything,
    }


def _grounds(data: Path | None, most: int) -> list[tuple[str, int | str, list[Ground]]]:
    grounds: list[tuple[str, int | str, list[Ground]]] = []
    english = own("english")
    if data is not None:
        worlds = {name: load(data) for name, load in PUBLIC.items()}
        grounds += [("LoCoMo turns as notes", size, locomo_notes(data, size, most)) for size in SIZES]
        foreign = {"longmemeval": worlds["locomo"]}
        grounds += [(name, "whole", with_strangers(found, foreign.get(name, found))) for name, found in worlds.items()]
        grounds.append(("own-english", "whole", with_strangers(english, worlds["locomo"])))
    grounds.append(("own-chinese", "whole", with_strangers(own("chinese"), [])))
    return grounds


def _ask(memory: Memory, ground: Ground, tally: Tally) -> None:
    world = ground.world
    names = tell(memory, world)
    size = len(names)
    for question in world.questions:
        hits = memory.search(question.text, scopes=world.scopes, limit=DEEP if world.by_session else max(SIZES))
        found = [names[hit.record.id] for hit in hits]
        shown = [names[hit.record.id] for hit in hits if hit.relevant]
        tally.best.append(max((hit.relevance for hit in hits[:_JUDGED]), default=0.0))
        tally.first.append(bool(found) and found[0] in question.evidence)
        tally.without.append(_got(world, question, found))
        tally.within.append(_got(world, question, shown))
        tally.sample.add(hits, names, question, size)
    for question in ground.unrelated:
        hits = memory.search(question.text, scopes=world.scopes, limit=_JUDGED)
        tally.best_unrelated.append(max((hit.relevance for hit in hits), default=0.0))
        tally.nothing.append(not any(hit.relevant for hit in hits))
        tally.sample.add(hits, names, Asked(question.text, frozenset()), size)


def _got(world: World, question: Asked, found: Sequence[str]) -> float:
    if world.by_session:
        return float(question.evidence <= set(list(dict.fromkeys(found))[:5]))
    return share(found, question.evidence, max(SIZES) if len(world.notes) in SIZES else 10)


def _notebooks(memory: Memory, language: str, half: str, everything: Sample) -> list[dict[str, Any]]:
    tallies: dict[str, Tally] = {}
    for line in strangers(language, half):
        world, kinds = notebook(line)
        names = tell(memory, world)
        for kind, questions in kinds.items():
            tally = tallies.setdefault(kind, Tally())
            for question in questions:
                hits = memory.search(question.text, scopes=world.scopes, limit=max(SIZES))
                shown = [names[hit.record.id] for hit in hits if hit.relevant]
                tally.sample.add(hits, names, question, len(names))
                if question.evidence:
                    tally.best.append(hits[0].relevance if hits else 0.0)
                    tally.first.append(bool(hits) and names[hits[0].record.id] in question.evidence)
                    tally.without.append(1.0)
                    tally.within.append(float(bool(question.evidence & set(shown))))
                else:
                    tally.nothing.append(not shown)
    for tally in tallies.values():
        everything.extend(tally.sample)
    return [{"language": language, "half": half, **tally.row(kind, "1 to 30")} for kind, tally in tallies.items()]


# ---- how true a chance is


def reliability(sample: Sample) -> list[dict[str, Any]]:
    """By tenths: how many hits were said to be so relevant, how relevant on average, and how many of them were answers."""
    chances, right = np.array(sample.chances), np.array(sample.right)
    rows: list[dict[str, Any]] = []
    for low in range(_BINS):
        here = np.minimum((chances * _BINS).astype(int), _BINS - 1) == low
        if here.any():
            rows.append(
                {
                    "relevance": f"{low / _BINS:.1f} to {(low + 1) / _BINS:.1f}",
                    "hits": int(here.sum()),
                    "said": round(float(chances[here].mean()), 3),
                    "answers": round(float(right[here].mean()), 3),
                }
            )
    return rows


def calibration_error(sample: Sample) -> float:
    """How far, on average over all hits, the chance is from the share of answers among hits of that tenth."""
    total = len(sample.chances)
    return sum(row["hits"] * abs(row["said"] - row["answers"]) for row in reliability(sample)) / max(total, 1)


def fitted(sample: Sample, curve: Calibration) -> dict[str, float]:
    """
    The curve that fits these hits best, by Newton's method; what the number of passages counts stays. How near each hit is follows from the
    chance that the curve in use gave it.
    """
    chances = np.clip(np.array(sample.chances), 1e-9, 1 - 1e-9)
    size = curve.passages * np.log(np.maximum(np.array(sample.sizes), 1))
    bare = np.log(chances / (1 - chances)) - curve.offset - size
    questions = np.array(sample.questions)
    best = np.full(int(questions.max()) + 1, -np.inf)
    np.maximum.at(best, questions, bare / curve.slope)
    near = (bare - curve.behind * best[questions]) / (curve.slope - curve.behind)
    columns = np.stack([np.ones_like(near), near, best[questions] - near], axis=1)
    right = np.array(sample.right, dtype=np.float64)
    values = np.array([curve.offset, curve.slope, curve.behind])
    for _ in range(25):
        likely = 1 / (1 + np.exp(-(columns @ values + size)))
        curvature = columns.T @ (columns * (likely * (1 - likely))[:, None]) + 1e-6 * np.eye(3)
        values = values - np.linalg.solve(curvature, columns.T @ (likely - right))
    return dict(zip(("offset", "slope", "behind"), np.round(values, 2).tolist(), strict=True))


def curve_of(embedder: str) -> Calibration:
    """The curve in use for questions in English."""
    return WORDS if embedder == "none" else calibration("static-" if embedder == "static" else embedder, "")


def _auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The share of pairs in the right order, ties by half."""
    low = np.sort(np.array(negative))
    values = np.array(positive)
    below: NDArray[np.intp] = np.searchsorted(low, values, side="left")
    ties = np.searchsorted(low, values, side="right") - below
    return float((below + ties / 2).sum() / (len(values) * len(low)))


def _mean(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 3)
