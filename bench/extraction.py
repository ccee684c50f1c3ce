"""
How good extraction by rules is, on conversations of our own: `tests/engine/learning/transcripts.jsonl`.

Each conversation has the words that must appear in every fact it tells; talk that tells none is in between. The rules were
written on the first part, which holds 20 (en-84 to zh-103) that somebody wrote without having read the cues, and that were held out
until the rules were made general with their help. The second part was written after an earlier freeze; no rule was changed for it,
but its totals were looked at. The fresh part was written by somebody who had seen neither rules nor transcripts, and was measured
once, after the rules were frozen: it is what to expect of talk in general.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from commonplace.learning.extract import extract_facts
from commonplace.values.record import Turn

TRANSCRIPTS = ROOT / "tests" / "engine" / "learning" / "transcripts.jsonl"
HALVES = ("first", "second", "fresh")
LANGUAGES = ("en", "zh")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """`expected` facts, of which `hits` were found; `found` facts, of which `right` were expected; `again` came of a second run."""

    half: str
    language: str
    transcripts: int
    expected: int
    hits: int
    found: int
    right: int
    again: int
    seconds: float

    @property
    def recall(self) -> float:
        return self.hits / self.expected

    @property
    def precision(self) -> float:
        return self.right / self.found

    def as_row(self) -> dict[str, Any]:
        return {
            "half": self.half,
            "language": self.language,
            "transcripts": self.transcripts,
            "facts": self.expected,
            "recall": round(self.recall, 3),
            "precision": round(self.precision, 3),
            "added by a second run": self.again,
            "ms a transcript": round(self.seconds * 1000 / self.transcripts, 2),
        }


def transcripts(path: Path = TRANSCRIPTS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(half: str, language: str, lines: Sequence[dict[str, Any]]) -> Figures:
    """Of the conversations of one half in one language."""
    told = [line for line in lines if (line["half"], line["language"]) == (half, language)]
    expected = hits = found = right = again = 0
    begun = time.perf_counter()
    for line in told:
        turns = [Turn(**turn) for turn in line["turns"]]
        texts = [fact.text for fact in extract_facts(turns, least=0).facts]
        again += len(extract_facts(turns, existing=texts, least=0).facts)
        expected += len(line["facts"])
        hits += sum(any(fits(text, words) for text in texts) for words in line["facts"])
        found += len(texts)
        right += sum(any(fits(text, words) for words in line["facts"]) for text in texts)
    return Figures(
        half=half,
        language=language,
        transcripts=len(told),
        expected=expected,
        hits=hits,
        found=found,
        right=right,
        again=again,
        seconds=(time.perf_counter() - begun) / 2,
    )


def fits(fact: str, words: Sequence[str]) -> bool:
    return all(word.casefold() in fact.casefold() for word in words)


def measure_all() -> list[Figures]:
    lines = transcripts()
    return [measure(half, language, lines) for half in HALVES for language in LANGUAGES]
