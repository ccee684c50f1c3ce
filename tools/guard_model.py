"""
Write `src/commonplace/guard/model.bin`: the weights of the guard's linear model, learned from the sets under `tests/acceptance/poison`.

    python tools/guard_model.py            learn from all writers and write the file
    python tools/guard_model.py --check    for each writer, learn from the others and print what is found and held of theirs

Logistic regression (`tools/regression.py`). Each writer counts the same, and so do attacks and look-alikes, except that two older sets, which were
written beside the rules, count less. The set `heldback` is never read here: `python -m bench poisoning` measures it.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from regression import Numbers, learned

from commonplace.guard.model import ALL, MEANING, NEAR, SIZE, WEIGHTS, features, windows
from commonplace.guard.quarantine import DOUBT, DOUBTFUL, THRESHOLD, forms_of
from commonplace.guard.sense import meanings
from commonplace.guard.signs import Sign, plain

POISON = Path(__file__).parent.parent / "tests" / "acceptance" / "poison"
WRITERS = {".": 0.3, "unseen": 0.5, "stranger": 1.0, "trained": 1.0, "own": 1.0, "voices": 1.0}
"""The folders, and what each counts."""
ORDINARY = 0.012
"""What each writer of ordinary sentences counts: enough to keep them apart, too little to make attacks look seldom."""
DOCS = "docs"
"""Our own pages: ordinary long texts, none of them an attack."""
SENTENCES = Path(__file__).parent.parent / "tests" / "evaluation" / "learning" / "training" / "sentences"
"""What people type to an assistant or to each other, by four writers: ordinary short texts, none of them an attack."""
_SELDOM = 2


def rows() -> list[tuple[str, int, str]]:
    """Writer, whether it is an attack, and text. What a person's own hand wrote is never judged, so nothing is learned from it."""
    found: list[tuple[str, int, str]] = []
    for writer in WRITERS:
        for kind, is_attack in (("attacks", 1), ("benign", 0)):
            for line in (POISON / writer / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                # Of the first set, what is only wrong or too often has no form to learn.
                is_form = writer != "." or not is_attack or "caught" in row
                if is_form and row.get("door") != "person":
                    found.append((writer, is_attack, plain(row["text"])))
    pages = sorted((POISON.parent.parent.parent / "docs").rglob("*.md"))
    texts = (plain(page.read_text(encoding="utf-8")) for page in pages)
    return [*found, *((DOCS, 0, passage) for text in texts for passage in windows(text)), *_sentences()]


def _sentences() -> list[tuple[str, int, str]]:
    """Each writer's, those left out that tell an assistant who it is to be: the rules hold such a text whatever the model says."""
    texts = [
        (path.stem, plain(line.split("\t")[3]))
        for path in sorted(SENTENCES.glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [(writer, 0, text) for writer, text in texts if not forms_of(text)]


def matrix(texts: list[str]) -> NDArray[np.float32]:
    """A row a text. The numbers of its meaning are told from those of a usual text."""
    values = np.zeros((len(texts), ALL), dtype=np.float32)
    for n, text in enumerate(texts):
        seen = features(text)
        values[n, list(seen)] = list(seen.values())
    values[:, (values != 0).sum(axis=0) < _SELDOM] = 0
    values[:, SIZE:-2] = MEANING * (_rows(texts) - _usual(texts))
    values[:, -1] = 1
    return values


def _usual(texts: list[str]) -> Numbers:
    return _rows(texts).mean(axis=0)


@cache
def _meanings(texts: tuple[str, ...]) -> NDArray[np.float32]:
    rows = meanings(list(texts))
    if rows is None:
        sys.exit("The sentence model is missing. Build the tree with `pip install --editable .` first.")
    return rows


def _rows(texts: list[str]) -> NDArray[np.float32]:
    return _meanings(tuple(texts))


def fit(values: NDArray[np.float32], writers: NDArray[np.str_], attacks: NDArray[np.int64]) -> Numbers:
    amounts = np.zeros(len(writers))
    for writer in np.unique(writers):
        for side in (0, 1):
            group = (writers == writer) & (attacks == side)
            amounts[group] = WRITERS.get(str(writer), 1.0 if writer == DOCS else ORDINARY) / max(group.sum(), 1)
    return learned(values, np.where(attacks == 1, 1.0, -1.0), amounts / amounts.sum())


def scores_of(values: NDArray[np.float32], weights: Numbers) -> Numbers:
    """As the guard has them: what does not come near by its words is not asked what it means."""
    narrow = weights.astype(np.float32)
    by_words = values[:, :SIZE] @ narrow[:SIZE] + narrow[-1]
    return np.where(by_words > NEAR, values @ narrow, by_words)


def held(scores: Numbers, forms: list[frozenset[Sign]]) -> NDArray[np.bool_]:
    """What rules and model hold together."""
    certain = np.array([not DOUBTFUL.issuperset(signs) for signs in forms])
    doubtful = np.array([bool(signs) for signs in forms])
    return certain | (doubtful & (scores >= DOUBT)) | (scores > THRESHOLD)


def main() -> None:
    found = rows()
    writers = np.array([writer for writer, _, _ in found])
    attacks = np.array([is_attack for _, is_attack, _ in found])
    texts = [text for _, _, text in found]
    values = matrix(texts)
    if "--check" not in sys.argv:
        weights = fit(values, writers, attacks)
        weights[-2] = MEANING * _usual(texts) @ weights[SIZE:-2]
        WEIGHTS.write_bytes(weights.astype("<f2").tobytes())
        print(f"{len(found):,} texts, {np.count_nonzero(weights):,} weights, {WEIGHTS.stat().st_size:,} bytes")
        return
    forms = [frozenset(forms_of(text)) for text in texts]
    for writer in WRITERS:
        others = writers != writer
        scores = scores_of(values[~others], fit(values[others], writers[others], attacks[others]))
        hits = held(scores, [signs for signs, is_other in zip(forms, others, strict=True) if not is_other])
        recognised, mistaken = (hits[attacks[~others] == side].mean() for side in (1, 0))
        print(
            f"{writer}: {recognised:.2f} of the attacks recognised, {mistaken:.2f} of the look-alikes held", flush=True
        )


if __name__ == "__main__":
    main()
