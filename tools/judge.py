"""
Write `src/commonplace/learning/judge/sentences.bin`: the weights by which learning tells what is worth remembering, and whose it is.

    python tools/judge.py            learn from all writers and write the weights
    python tools/judge.py --check    for each writer, learn from the others and print how well theirs are told apart

Learned from are the sentences and talks in `tests/evaluation/learning/training`, and short talks in plain sentences (`tests/engine/learning`). The talks of `tests/evaluation/learning/talks` are never read here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from regression import Numbers, learned

from commonplace.learning.extract import remark, statements_in, voice_of
from commonplace.learning.judge.features import Remark, mean_meaning, table
from commonplace.learning.judge.sentences import write
from commonplace.learning.rules.statement import Voice
from commonplace.learning.sentences import sentences
from commonplace.values.record import Turn

TRAINING = Path(__file__).parent.parent / "tests" / "evaluation" / "learning" / "training"
TRANSCRIPTS = Path(__file__).parent.parent / "tests" / "engine" / "learning" / "transcripts.jsonl"
PERSON = Voice("person")
OF_TALKS = 3.0
"""What a sentence of a talk counts: there it stands as it will be met."""


class Example(NamedTuple):
    writer: str
    keep: bool
    about: str
    remark: Remark


def examples() -> list[Example]:
    return [*_sentences(), *_talks(), *_transcripts()]


def _sentences() -> Iterator[Example]:
    for path in sorted((TRAINING / "sentences").glob("*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            keep, about, before, text = line.split("\t")
            yield Example(path.stem, keep == "1", about, _remark(text, before))


def _talks() -> Iterator[Example]:
    """Each sentence of a person: worth keeping if it has all words of a fact, passed over if it has some."""
    for path in sorted(TRAINING.glob("talks-*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            talk = json.loads(line)
            before = ""
            for place, turn in enumerate(talk["turns"]):
                facts = [fact for fact in talk["facts"] if fact["turn"] == place]
                for text in sentences(turn["text"]) if turn["speaker"] == "user" else ():
                    told = [fact for fact in facts if all(word in text.lower() for word in fact["words"])]
                    if told or not any(word in text.lower() for fact in facts for word in fact["words"]):
                        yield Example(
                            path.stem, bool(told), told[0]["about"] if told else "none", _remark(text, before)
                        )
                    before = text
                before = turn["text"]


def _transcripts() -> Iterator[Example]:
    """The same of short talks in plain, whole sentences, which the rules were written on. Their third part is left for the bench."""
    for line in TRANSCRIPTS.read_text("utf-8").splitlines():
        talk = json.loads(line)
        words = [word.lower() for fact in talk["facts"] for word in fact]
        before = ""
        for turn in talk["turns"] if talk["half"] != "fresh" else ():
            for text in sentences(turn["text"]) if voice_of(Turn(**turn)).role == "person" else ():
                is_fact = any(all(word.lower() in text.lower() for word in fact) for fact in talk["facts"])
                if is_fact or not any(word in text.lower() for word in words):
                    yield Example("transcripts", is_fact, "none", _remark(text, before))
                before = text
            before = turn["text"]


def _remark(text: str, before: str) -> Remark:
    return remark(text, before, PERSON, statements_in(text, PERSON))


def fit(rows: list[Example], values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The weights of both questions."""
    amounts = np.array([OF_TALKS if row.writer.startswith("talks") else 1.0 for row in rows])
    keep = np.array([row.keep for row in rows])
    known = np.array([row.about != "none" for row in rows])
    personal = np.array([row.about == "person" for row in rows])
    return _fit(values, keep, amounts), _fit(values[known], personal[known], amounts[known])


def _fit(values: NDArray[np.float32], yes: NDArray[np.bool_], amounts: Numbers) -> NDArray[np.float32]:
    return learned(values, np.where(yes, 1.0, -1.0), amounts / amounts.sum()).astype(np.float32)


def check(rows: list[Example], values: NDArray[np.float32]) -> None:
    writers = np.array([row.writer for row in rows])
    chances = np.zeros(len(rows))
    for writer in dict.fromkeys(writers.tolist()):
        others = writers != writer
        keep, personal = fit([row for row in rows if row.writer != writer], values[others])
        mine = [row for row in rows if row.writer == writer]
        known = np.array([row.about != "none" for row in mine])
        own = values[~others]
        chances[~others] = 1 / (1 + np.exp(-(own @ keep)))
        kept = _apart(own @ keep, np.array([row.keep for row in mine]))
        whose = _apart(own[known] @ personal, np.array([row.about == "person" for row in mine])[known])
        print(f"{writer}: AUC {kept:.3f} worth keeping, {whose:.3f} personal, of {len(mine)}", flush=True)
    for language in ("en", "zh"):
        _print_precision(rows, chances, f"talks-{language}")


def _print_precision(rows: list[Example], chances: Numbers, writers: str) -> None:
    """What is right of what is kept of these writers' talks, from a chance on."""
    here = np.array([row.writer.startswith(writers) for row in rows])
    keep = np.array([row.keep for row in rows])[here]
    for least in (0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        kept = chances[here] >= least
        print(f"{writers} from {least}: precision {keep[kept].mean():.3f}, recall {kept[keep].mean():.3f}")


def _apart(scores: NDArray[np.float32], yes: NDArray[np.bool_]) -> float:
    """How often one that is stands above one that is not."""
    places = np.empty(len(scores))
    places[np.argsort(scores)] = np.arange(len(scores))
    count = int(yes.sum())
    return float((places[yes].sum() - count * (count - 1) / 2) / (count * (len(yes) - count)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn what is worth remembering, and whose it is.")
    parser.add_argument("--check", action="store_true", help="judge each writer by the others and write nothing")
    rows = examples()
    usual = mean_meaning([row.remark.text for row in rows])
    values = table([row.remark for row in rows], usual)
    if parser.parse_args().check:
        check(rows, values)
        return
    keep, personal = fit(rows, values)
    write(np.stack([keep, personal], axis=1), usual)
    print(f"{len(rows):,} sentences of {len({row.writer for row in rows})} writers")


if __name__ == "__main__":
    main()
