"""
Which intent a sentence most likely has: a linear classifier over its features.

The weights were learnt from examples by `tools/intents.py`: a row of eight small numbers a feature, by the hash of its name. The rules have a vote, too:
neither is as good as both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from commonplace.llms.librarian.cue import IntentKind
from commonplace.llms.librarian.features import features, is_concept
from commonplace.text.postings import term_hash

TABLE: Final = Path(__file__).with_name("intents.bin")
KINDS: Final[tuple[IntentKind, ...]] = get_args(IntentKind)
GROUP: Final = 3.0
"""What the words of a sentence weigh together, however many; and so its concepts."""
VOTE: Final = 1.5
"""What the rules' opinion weighs, in the logarithm of odds."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The likeliest intent, and how far it is ahead of the next: the logarithm of their odds."""

    kind: IntentKind
    second: IntentKind
    margin: float


@dataclass(frozen=True, slots=True)
class _Table:
    hashes: NDArray[np.uint32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]


def judge(text: str, vote: IntentKind, *, chinese: bool) -> Judgement:
    table = _table()
    scores = table.bias.copy()
    scores[KINDS.index(vote)] += VOTE
    places = _places(table.hashes, features(text, chinese=chinese))
    for group in places:
        if group:
            scores += GROUP / np.sqrt(len(group)) * table.weights[group].sum(axis=0)
    second, first = (int(place) for place in np.argsort(scores, kind="stable")[-2:])
    return Judgement(KINDS[first], KINDS[second], float(scores[first] - scores[second]))


def write(names: Sequence[str], weights: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
    """Write the table: the scale and the bias, the hashes in order, and the weights in steps of the scale."""
    keys = np.array([term_hash(name) for name in names], dtype="<u4")
    order = np.argsort(keys, kind="stable")
    scale = float(np.abs(weights).max()) / 127
    head = np.array([scale, *bias], dtype="<f4").tobytes()
    TABLE.write_bytes(head + keys[order].tobytes() + np.round(weights[order] / scale).astype(np.int8).tobytes())


def _places(hashes: NDArray[np.uint32], names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Where the features stand in the table, concepts and words apart; what the table does not have counts nothing."""
    keys = np.array([term_hash(name) for name in names], dtype=np.uint32)
    places = np.minimum(np.searchsorted(hashes, keys), len(hashes) - 1)
    is_there = hashes[places] == keys
    concepts: list[int] = []
    words: list[int] = []
    for name, place, is_known in zip(names, places.tolist(), is_there.tolist(), strict=True):
        if is_known:
            (concepts if is_concept(name) else words).append(place)
    return concepts, words


@cache
def _table() -> _Table:
    data = TABLE.read_bytes()
    count = len(KINDS)
    head = np.frombuffer(data, dtype="<f4", count=count + 1)
    size = (len(data) - 4 * (count + 1)) // (4 + count)
    hashes = np.frombuffer(data, dtype="<u4", count=size, offset=4 * (count + 1))
    steps = np.frombuffer(data, dtype=np.int8, offset=4 * (count + 1) + 4 * size).reshape(size, count)
    return _Table(hashes, steps.astype(np.float32) * head[0], head[1:])
