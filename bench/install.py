"""What an installation weighs: our wheel, built from this tree, in fresh environments, by the package that brought it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXTRAS = ("", "[server,mcp]", "[server,mcp,postgres]")
LARGEST = 8
# Runs in the fresh environment, which has nothing but what was installed: a row a distribution, in bytes.
_WEIGH = """
import json
from importlib.metadata import distributions
rows = []
for one in distributions():
    sizes = {".pyc": 0, "": 0}
    for path in {one.locate_file(file).resolve() for file in one.files}:
        if path.is_file():
            sizes[".pyc" if path.suffix == ".pyc" else ""] += path.stat().st_size
    rows.append([one.name, sizes[""], sizes[".pyc"]])
print(json.dumps(rows))
"""


def measure() -> dict[str, Any]:
    """For each set of extras, how many packages and megabytes an environment has with it; of the default, which packages."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _pip("wheel", "--no-deps", "--wheel-dir", folder, str(Path(__file__).parent.parent))
        [wheel] = place.glob("*.whl")
        weighed = [_weigh(place / f"environment-{n}", f"{wheel}{extras}") for n, extras in enumerate(EXTRAS)]
        wheel_mb = _mb(wheel.stat().st_size)
    return {
        "wheel_mb": wheel_mb,
        "results": [
            {"install": f"commonplace{extras}", "packages": len(rows), **_sums(rows)}
            for extras, rows in zip(EXTRAS, weighed, strict=True)
        ],
        "packages": largest(weighed[0]),
    }


def largest(rows: Sequence[tuple[str, int, int]], count: int = LARGEST) -> list[dict[str, Any]]:
    """The packages that weigh most, and all others together."""
    ordered = sorted(rows, key=lambda row: -(row[1] + row[2]))
    named = [{"package": row[0], **_sums([row])} for row in ordered[:count]]
    return (
        [*named, {"package": f"{len(ordered) - count} others", **_sums(ordered[count:])}] if ordered[count:] else named
    )


def _weigh(environment: Path, what: str) -> list[tuple[str, int, int]]:
    # Without pip and setuptools, which are no part of what is installed.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [python] = [
        path for path in (environment / "bin" / "python", environment / "Scripts" / "python.exe") if path.exists()
    ]
    _pip("--python", str(python), "install", what)
    told = subprocess.run([str(python), "-c", _WEIGH], check=True, capture_output=True, text=True).stdout
    return [(name, files, compiled) for name, files, compiled in json.loads(told)]


def _pip(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *args], check=True)


def _sums(rows: Sequence[tuple[str, int, int]]) -> dict[str, float]:
    files, compiled = (sum(row[column] for row in rows) for column in (1, 2))
    return {"files_mb": _mb(files), "byte_code_mb": _mb(compiled), "together_mb": _mb(files + compiled)}


def _mb(size: int) -> float:
    return round(size / 1e6, 1)
