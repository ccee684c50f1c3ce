"""Judges sentences by the learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.guard.sense import MEANINGS
from commonplace.learning.judge.features import SIZE, Remark, table
from commonplace.ports.embedder import Floats

WEIGHTS: Final = Path(__file__).with_name("sentences.bin")
QUESTIONS: Final = ("keep", "personal")


@dataclass(frozen=True, slots=True)
class SentenceWorth:
    """`keep`: the chance that a sentence is worth remembering. `personal`: the logarithm of the odds that it is about the person, not the project."""

    keep: float
    personal: float


def judge(remarks: Sequence[Remark]) -> list[SentenceWorth]:
    if not remarks:
        return []
    weights, usual = _weights()
    sums = table(remarks, usual) @ weights
    keep = 1 / (1 + np.exp(-np.clip(sums[:, 0], -30, 30)))
    return [SentenceWorth(float(chance), float(odds)) for chance, odds in zip(keep, sums[:, 1], strict=True)]


def write(weights: Floats, usual: Floats) -> None:
    """The weights, a column a question, and behind them the meaning of a usual sentence."""
    WEIGHTS.write_bytes(weights.astype("<f2").tobytes() + usual.astype("<f2").tobytes())


@cache
def _weights() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    numbers = np.frombuffer(WEIGHTS.read_bytes(), dtype="<f2").astype(np.float32)
    return numbers[:-MEANINGS].reshape(SIZE, len(QUESTIONS)), numbers[-MEANINGS:]
