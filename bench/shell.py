"""What a cold start costs: processes begun many times, the median told."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.scale import BATCH, SCOPE, ingest
from bench.synthetic import Texts
from commonplace import open_memory

TIMES = 11
_IMPORT = "import time; t = time.perf_counter(); import commonplace; print(time.perf_counter() - t)"


def cold_starts(records: int, folder: Path, times: int = TIMES) -> dict[str, Any]:
    """Importing the package, and one `commonplace search` over a store of so many records."""
    texts = Texts()
    file = folder / "cold.db"
    with open_memory(file, embedder="static") as memory:
        ingest(memory, texts.batches(records, BATCH), lambda _: SCOPE)
    command = [sys.executable, "-m", "commonplace", "search", texts.questions(1)[0], "--store", str(file), "--json"]
    imported = [
        float(subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, check=True).stdout)
        for _ in range(times)
    ]
    return {
        "records": records,
        "times": times,
        "import_ms": round(median(imported) * 1e3, 1),
        "bare_python_ms": round(_median([sys.executable, "-c", "pass"], times) * 1e3, 1),
        "shell_search_ms": round(_median(command, times) * 1e3, 1),
    }


def _median(command: Sequence[str], times: int) -> float:
    """Seconds of a whole process, after one run that warms the disk's cache."""
    subprocess.run(command, capture_output=True, check=True)
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        taken.append(time.perf_counter() - start)
    return median(taken)
