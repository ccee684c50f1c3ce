"""
How good extraction by rules is on talks as people type them: `tests/evaluation/learning/talks`.

Each talk has the facts that it tells, with the turn that tells it and words that stand in that turn. A fact found is right if it has all words of a fact of its turn, half
right if it has some; precision counts half right as half. A fact counts as found if one found fact has all of its words. Every talk is given a workspace, be
it a family's: what is about a person and goes there is counted. Even lines (counted from 0) are the half that may be looked at, odd ones are held back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.machine import ROOT
from commonplace.learning.extract import Fact, extract_facts
from commonplace.values.record import Turn

TALKS = ROOT / "tests" / "evaluation" / "learning" / "talks"
HELD_BACK = "held-back"
HALVES = ("development", HELD_BACK)
LANGUAGES = ("en", "zh")


@dataclass(frozen=True, kw_only=True)
class TalkFigures:
    """`private` counts facts about a person that went to the workspace."""

    half: str
    language: str
    talks: int
    expected: int
    hits: int
    found: int
    right: float
    private: int

    @property
    def recall(self) -> float:
        return self.hits / self.expected

    @property
    def precision(self) -> float:
        return self.right / max(self.found, 1)

    def as_row(self) -> dict[str, Any]:
        return {
            "half": self.half,
            "language": self.language,
            "talks": self.talks,
            "facts": self.expected,
            "found": self.found,
            "recall": round(self.recall, 3),
            "precision": round(self.precision, 3),
            "private facts in a workspace": self.private,
        }


def talks(half: str, language: str) -> list[dict[str, Any]]:
    lines = (TALKS / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[HALVES.index(half) :: len(HALVES)]]


def turns_of_talk(talk: dict[str, Any]) -> list[Turn]:
    at = datetime.fromisoformat(f"{talk['date']}T09:00:00+00:00")
    return [
        Turn(
            speaker=turn["speaker"],
            text=turn["text"],
            at=at,
            metadata={"role": turn["speaker"], "sender_name": turn.get("name")},
        )
        for turn in talk["turns"]
    ]


def measure_talks(half: str, language: str) -> TalkFigures:
    chosen = talks(half, language)
    expected = hits = found = private = 0
    right = 0.0
    for talk in chosen:
        facts = extract_facts(turns_of_talk(talk), least=0).facts
        expected += len(talk["facts"])
        hits += sum(any(_share(fact, one) == 1 for fact in facts) for one in talk["facts"])
        found += len(facts)
        right += sum(worth(fact, talk["facts"]) for fact in facts)
        private += sum(is_private_in_workspace(fact, talk["facts"]) for fact in facts)
    return TalkFigures(
        half=half,
        language=language,
        talks=len(chosen),
        expected=expected,
        hits=hits,
        found=found,
        right=right,
        private=private,
    )


def worth(fact: Fact, expected: Sequence[dict[str, Any]]) -> float:
    """1 for all words of a fact of its turn, one half for some of them."""
    shares = [_share(fact, one) for one in expected]
    return 1.0 if 1 in shares else 0.5 if any(shares) else 0.0


def is_private_in_workspace(fact: Fact, expected: Sequence[dict[str, Any]]) -> bool:
    """Whether it tells something of a person, goes to the workspace, and tells nothing as whole about the project."""
    if fact.scope != "workspace":
        return False
    about = {one["about"]: max(_shares(fact, expected, one["about"])) for one in expected}
    return about.get("person", 0) > about.get("project", 0)


def _shares(fact: Fact, expected: Sequence[dict[str, Any]], about: str) -> Iterator[float]:
    return (_share(fact, one) for one in expected if one["about"] == about)


def _share(fact: Fact, expected: dict[str, Any]) -> float:
    """The share of its words that a fact of the same turn has."""
    if fact.turn != expected["turn"]:
        return 0.0
    text = fact.text.casefold()
    return sum(word.casefold() in text for word in expected["words"]) / len(expected["words"])


def measure_all_talks(halves: Sequence[str] = HALVES) -> list[TalkFigures]:
    return [measure_talks(half, language) for half in halves for language in LANGUAGES]
