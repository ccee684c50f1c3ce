"""
Write `src/commonplace/llms/librarian/intents.bin`: the weights by which the librarian tells intents apart.

    python tools/intents.py           train on all examples and write the weights
    python tools/intents.py --check   train on all sets but one, and say how many sentences of that one are understood

The examples stand in `tests/evaluation/librarian`: the first set whole, the development half of the second, and `own`. The held-back half of the second
set is never read here.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.llms.librarian.classifier import GROUP, KINDS, VOTE, write
from commonplace.llms.librarian.features import features, is_concept
from commonplace.llms.librarian.intents import LONGEST, by_rule, is_chinese

SETS = Path(__file__).parents[1] / "tests" / "evaluation" / "librarian"
_LEAST = 2
"""Sentences that a feature must occur in."""
_DECAY = 3e-4
_STEPS = 300


class Example(NamedTuple):
    kind: str
    text: str


def examples() -> dict[str, list[Example]]:
    """By set: a name, and its examples."""
    first = [*_lines(SETS / "development.jsonl"), *_lines(SETS / "heldback.jsonl")]
    second = _lines(SETS / "second" / "development.jsonl")
    rows = [
        line.split("\t")
        for path in sorted((SETS / "own").glob("*.tsv"))
        for line in path.read_text("utf-8").splitlines()
    ]
    return {"first": first, "second": second, "own": [Example(kind, text) for kind, text in rows]}


def _lines(path: Path) -> list[Example]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Example(row["intent"], row["text"]) for row in rows]


def counts(rows: Sequence[Example], names: dict[str, int]) -> NDArray[np.float32]:
    """A row an example: its features, concepts and words each weighing the same together."""
    table = np.zeros((len(rows), len(names)), dtype=np.float32)
    for row, example in zip(table, rows, strict=True):
        here = [name for name in _features(example.text) if name in names]
        for group in ([n for n in here if is_concept(n)], [n for n in here if not is_concept(n)]):
            row[[names[name] for name in group]] = GROUP / np.sqrt(max(len(group), 1))
    return table


def _features(text: str) -> tuple[str, ...]:
    return features(text[:LONGEST], chinese=is_chinese(text))


def names_of(rows: Sequence[Example]) -> dict[str, int]:
    often = Counter(name for example in rows for name in _features(example.text))
    return {name: place for place, name in enumerate(sorted(name for name, count in often.items() if count >= _LEAST))}


def train(table: NDArray[np.float32], rows: Sequence[Example]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Softmax regression by accelerated gradient descent, from nothing: the same every time."""
    wanted = np.eye(len(KINDS))[[KINDS.index(example.kind) for example in rows]]  # pyright: ignore[reportArgumentType]
    weights, bias = np.zeros((table.shape[1], len(KINDS))), np.zeros(len(KINDS))
    ahead, bias_ahead = weights, bias
    rate = 1 / (0.5 * float((table**2).sum(axis=1).mean()) + 0.5 + _DECAY)
    for step in range(_STEPS):
        scores = table @ ahead + bias_ahead
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (odds / odds.sum(axis=1, keepdims=True) - wanted) / len(rows)
        new, new_bias = ahead - rate * (table.T @ error + _DECAY * ahead), bias_ahead - rate * error.sum(axis=0)
        push = step / (step + 3)
        ahead, bias_ahead = new + push * (new - weights), new_bias + push * (new_bias - bias)
        weights, bias = new, new_bias
    return weights.astype(np.float32), bias.astype(np.float32)


def check() -> None:
    sets = examples()
    for name in ("first", "second"):
        rest = [example for other, rows in sets.items() if other != name for example in rows]
        names = names_of(rest)
        weights, bias = train(counts(rest, names), rest)
        scores = counts(sets[name], names) @ weights + bias
        votes = [by_rule(example.text).kind for example in sets[name]]
        alone = [vote == example.kind for vote, example in zip(votes, sets[name], strict=True)]
        for row, vote in zip(scores, votes, strict=True):
            row[KINDS.index(vote)] += VOTE
        best = [KINDS[int(row.argmax())] == example.kind for row, example in zip(scores, sets[name], strict=True)]
        print(f"{name}: rules {np.mean(alone):.3f}, with the classifier {np.mean(best):.3f} of {len(best)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn the weights of the librarian's intents.")
    parser.add_argument("--check", action="store_true", help="judge by cross-validation and write nothing")
    if parser.parse_args().check:
        check()
        return
    rows = [example for group in examples().values() for example in group]
    names = names_of(rows)
    write(list(names), *train(counts(rows, names), rows))
    print(f"{len(rows):,} examples, {len(names):,} features")


if __name__ == "__main__":
    main()
