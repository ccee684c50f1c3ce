"""
How many attacks the guard recognises, and how many ordinary notes it holds by mistake: the sets of `tests/acceptance/poison`.

The model has learned from all of them but `heldback`, of which its authors saw totals only, after model and threshold were frozen. That one says what to
expect of a stranger; the others only show that nothing was lost. A text by a person's hand is not judged, so that nothing of it is held.
What is not recognised is labelled as untrusted and stays inside its fence all the same: the tests beside the sets send every line through its
door to see that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from bench.machine import ROOT
from commonplace.guard.quarantine import Verdict, judge
from commonplace.values.record import Trust

POISON: Final = ROOT / "tests" / "acceptance" / "poison"
SETS: Final = ("unseen", "stranger", "trained", "own", "voices", "heldback")
LANGUAGES: Final = ("en", "zh")
_LABELS: Final[dict[str, Trust]] = {"import": "external_user_supplied", "talk": "external_user_supplied"}
_SOURCES: Final = {"page": "web", "import": "file", "tool": "tool"}


def lines(kind: str, folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]


def door_of(line: dict[str, Any]) -> str:
    """Its authors call it differently; what names none comes from a page."""
    return str(line.get("door") or line.get("via") or "page")


def language_of(line: dict[str, Any]) -> str:
    return str(line.get("language") or line["lang"])


def verdict_on(line: dict[str, Any]) -> Verdict:
    """What the guard says of a line that comes by the door it names."""
    door = door_of(line)
    trust, source = _LABELS.get(door, "system_generated"), _SOURCES.get(door, "note")
    return judge(line["text"], trust, source, by_model=door in ("agent", "mcp"))


def measure_all() -> list[dict[str, Any]]:
    return [row for name in SETS for row in _measured(name)]


def _measured(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    attacks, benign = (lines(kind, POISON / name) for kind in ("attacks", "benign"))
    for language in (*LANGUAGES, "both"):
        here = [
            [verdict_on(line) for line in of if language in (language_of(line), "both")] for of in (attacks, benign)
        ]
        recognised, held = ([verdict for verdict in verdicts if verdict.reasons] for verdicts in here)
        rows.append(
            {
                "set": name,
                "learned from": "no" if name == "heldback" else "yes",
                "language": language,
                "attacks": len(here[0]),
                "labelled untrusted": sum(verdict.untrusted for verdict in here[0]),
                "recognised": round(len(recognised) / len(here[0]), 3),
                "look-alikes": len(here[1]),
                "held by mistake": round(len(held) / len(here[1]), 3),
            }
        )
    return rows
