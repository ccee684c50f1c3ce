"""What a figure needs to be believed: the machine, the versions, the memory in use; and where results are kept."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
SCRATCH = Path(__file__).parent / "scratch"

_TOLD = (
    "commonplace",
    "apsw",
    "numpy",
    "onnxruntime",
    "psycopg",
    "sentence-transformers",
    "sqlite-vec",
    "tokenizers",
)
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def describe() -> dict[str, Any]:
    """This machine and this checkout."""
    return {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gib": round(_memory() / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": versions(_TOLD),
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Those of them that are installed."""
    found: dict[str, str] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def resident() -> int:
    """Bytes this process holds in memory now; 0 where the system does not say."""
    return _status("VmRSS")


def peak() -> int:
    """The most this process has held since it began, or since `forget_peak`."""
    # The peak of getrusage survives exec: a child would begin with that of its parent.
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _unit()


def forget_peak() -> None:
    """Let `peak` begin anew, where the system can."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder, but for the room that a store sets aside for who removes something on a full disk."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-reserve"))
    return sum(path.stat().st_size for path in files)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def latency(seconds: Sequence[float]) -> dict[str, Any]:
    """Times of many searches, in milliseconds."""
    return {
        "queries": len(seconds),
        "p50_ms": round(percentile(seconds, 0.5) * 1e3, 3),
        "p95_ms": round(percentile(seconds, 0.95) * 1e3, 3),
    }


def keep(name: str, result: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write a result as JSON. It says by which `command` and on which `machine` it was made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _commit() -> str | None:
    """The commit, with a `+` where files differ from it."""
    try:
        asked = [["git", "rev-parse", "--short=12", "HEAD"], ["git", "status", "--porcelain", "--", "src"]]
        told = [subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=True).stdout for ask in asked]
    except (OSError, subprocess.CalledProcessError):
        return None
    return told[0].strip() + ("+" if told[1].strip() else "")


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _status(field: str) -> int:
    if not _STATUS.exists():
        return 0
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def _unit() -> int:
    return 1 if sys.platform == "darwin" else 1024
