"""
This version beside another one that is installed in an environment of its own: the same work, taking turns.

Machines here are noisy, so the figures that count are the ratios.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.synthetic import Texts

ROUNDS = 7
RECORDS = 5_000
_IMPORT = "import time; t = time.perf_counter(); import commonplace; print(time.perf_counter() - t)"
# Only what both versions offer. `sys.argv` has the store and a file with texts and questions.
_FILL = """
import json, sys
from commonplace import Note, open_memory
with open_memory(sys.argv[1], embedder="static") as memory:
    texts = json.load(open(sys.argv[2]))["texts"]
    for start in range(0, len(texts), 500):
        memory.put_many([Note(text=text, scope="workspace:bench") for text in texts[start:start + 500]])
"""
_USE = """
import json, statistics, sys, time
from commonplace import open_memory
given = json.load(open(sys.argv[2]))
def median_ms(act, arguments):
    taken = []
    for argument in arguments:
        start = time.perf_counter()
        act(argument)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000
with open_memory(sys.argv[1], embedder="static") as memory:
    for question in given["questions"][:5]:
        memory.search(question, scopes="workspace:bench")
    print(json.dumps({
        "search_ms": median_ms(lambda text: memory.search(text, scopes="workspace:bench"), given["questions"]),
        "put_ms": median_ms(lambda text: memory.put(text, scope="workspace:bench"), given["new"]),
    }))
"""


def compare(other: str, records: int = RECORDS, rounds: int = ROUNDS) -> dict[str, Any]:
    """`other` is the Python of the environment that has the other version."""
    texts = Texts()
    notes = [text for batch in texts.batches(records, 500) for text in batch]
    new = [text for batch in texts.batches(100, 100) for text in batch]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work.json"
        work.write_text(json.dumps({"texts": notes, "questions": texts.questions(60), "new": new}), encoding="utf-8")
        pythons = {"this": sys.executable, "other": other}
        stores = {name: str(Path(folder) / f"{name}.db") for name in pythons}
        for name, python in pythons.items():
            _answer([python, "-c", _FILL, stores[name], str(work)])
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
        for turn in range(rounds):
            for name in sorted(pythons, reverse=bool(turn % 2)):
                taken[name].append(_round(pythons[name], stores[name], work, texts.questions(1)[0]))
    medians = {
        name: {what: round(median(one[what] for one in rows), 2) for what in rows[0]} for name, rows in taken.items()
    }
    ratios = {what: round(this / medians["other"][what], 3) for what, this in medians["this"].items()}
    return {"records": records, "rounds": rounds, **medians, "ratio": ratios}


def _round(python: str, store: str, work: Path, question: str) -> dict[str, float]:
    cold = [python, "-m", "commonplace", "search", question, "--store", store, "--json"]
    start = time.perf_counter()
    _answer(cold)
    cold_ms = (time.perf_counter() - start) * 1e3
    return {
        "import_ms": float(_answer([python, "-c", _IMPORT])) * 1e3,
        "cold_search_ms": cold_ms,
        **json.loads(_answer([python, "-c", _USE, store, str(work)])),
    }


def _answer(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True, cwd=tempfile.gettempdir()).stdout
