"""
How many contradictions a search names, and how many it claims where there are none: `tests/evaluation/contradictions`.

Each case is a memory of its own: the first note, one more note on the same subject and three on others. The question is asked twice: once the
further note contradicts the first one, once it adds another fact. A contradiction is named if both notes are hits and each names the other.
Then one of the two contradicting notes is told as text from the web, once the one and once the other: of those that fit about equally, the
person's should stand first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from bench.machine import ROOT
from bench.scale import scratch
from commonplace import Hit, Memory, Note, open_memory
from commonplace.memory.disagreement import MARGIN

CASES: Final = ROOT / "tests" / "evaluation" / "contradictions" / "contradictions.jsonl"
HALVES: Final = ("development", "held-back")
LANGUAGES: Final = ("en", "zh")


def measure_all(halves: Sequence[str] = HALVES) -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    with scratch("contradictions") as folder, open_memory(str(folder / "memory.db")) as memory:
        judged = [case | _judged(memory, case) for case in cases if case["half"] in halves]
    return [_row(judged, half, language) for half in halves for language in (*LANGUAGES, "both")]


def _judged(memory: Memory, case: dict[str, Any]) -> dict[str, Any]:
    told = {name: _asked(memory, case, (case["first"], case[name]), name) for name in ("second", "control")}
    pairs = (case["first"], case["second"]), (case["second"], case["first"])
    near = [order for n, pair in enumerate(pairs) if (order := _order(memory, case, pair, f"web-{n}")) is not None]
    return {
        "is_found": {case["first"], case["second"]} <= {hit.record.text for hit in told["second"] if hit.relevant},
        "is_named": _names(told["second"], case["first"], case["second"]),
        "is_false": _names(told["control"], case["first"], case["control"]),
        "near": len(near),
        "person_first": sum(near),
    }


def _asked(memory: Memory, case: dict[str, Any], pair: tuple[str, str], name: str, source: str = "manual") -> list[Hit]:
    """The second of the pair comes from `source`."""
    scope = f"workspace:{case['id']}-{name}"
    memory.put_many([Note(text=text, scope=scope) for text in (pair[0], *case["other"])])
    memory.put(pair[1], scope=scope, source=source)
    return memory.search(case["question"], scopes=scope)


def _order(memory: Memory, case: dict[str, Any], pair: tuple[str, str], name: str) -> bool | None:
    """Whether the person's note stands before that of the web; None if they do not fit about equally."""
    hits = [hit for hit in _asked(memory, case, pair, name, "web") if hit.relevant and hit.record.text in pair]
    if len(hits) < len(pair) or abs(hits[0].relevance - hits[1].relevance) > MARGIN:
        return None
    return hits[0].record.text == pair[0]


def _names(hits: Sequence[Hit], one: str, other: str) -> bool:
    ids = {hit.record.text: hit.record.id for hit in hits}
    against = {hit.record.text: hit.contradicted_by for hit in hits}
    return ids.get(other) in against.get(one, ()) and ids.get(one) in against.get(other, ())


def _row(judged: Sequence[dict[str, Any]], half: str, language: str) -> dict[str, Any]:
    here = [case for case in judged if case["half"] == half and language in (case["language"], "both")]

    def share(name: str) -> float:
        return round(sum(case[name] for case in here) / max(len(here), 1), 3)

    near = sum(case["near"] for case in here)
    return {
        "half": half,
        "language": language,
        "cases": len(here),
        "both found": share("is_found"),
        "contradiction named": share("is_named"),
        "named by mistake": share("is_false"),
        "pairs that fit about equally": near,
        "person before web": round(sum(case["person_first"] for case in here) / max(near, 1), 3),
    }
