"""
Plant the faults of `mutants.toml`, one at a time, and see whether the tests that should notice do.

    python tools/mutants.py                 all of them: about an hour on two cores
    python tools/mutants.py fence epoch     those whose names contain one of these words
    python tools/mutants.py --check         only whether every edit still applies

Each fault is an exact edit, made in a copy of the tree, never in this one, and taken back after its tests have run. A fault is
`caught` if one of its tests fails, and has `survived` if all pass. A fault that does not let the tests be collected proves
nothing, and neither does one whose tests fail without it: both are errors. At the end it prints a table. It exits with 1 if more
than two survive, if an edit no longer applies (mend the table; `tests/test_mutants.py` says so earlier), or on such an error.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
MOST_SURVIVORS = 2
PATIENCE = 600
# What git does not know and the tests need: packages of the console's tests, and the embedder's data.
UNTRACKED = (Path("tests", "clients", "node_modules"), Path("src", "commonplace", "embedders", "data"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """An edit of one file, and the tests that should notice it."""

    name: str
    path: str
    search: str
    replace: str
    tests: list[str]

    def problem(self, root: Path) -> str | None:
        """Why the edit cannot be made here."""
        file = root / self.path
        if not file.is_file():
            return f"there is no file {self.path}"
        count = file.read_text(encoding="utf-8").count(self.search)
        if count != 1:
            return f"{self.path} has the text {count} times, not once"
        missing = [test for test in self.tests if not (root / test.partition("::")[0]).exists()]
        return f"there is no {missing[0]}" if missing else None

    def planted(self, text: str) -> str:
        return text.replace(self.search, self.replace)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    fault: Fault
    result: str
    seconds: float

    @property
    def part(self) -> str:
        """The package under `src/commonplace` that the fault was planted in."""
        return Path(self.fault.path).relative_to("src/commonplace").parts[0]

    @property
    def line(self) -> str:
        return f"{self.result:9} {self.seconds:4.0f} s  {self.fault.name}"


def read_table() -> list[Fault]:
    rows: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["fault"]
    faults = [Fault(**row) for row in rows]
    names = [fault.name for fault in faults]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"Two faults have the same name: {', '.join(sorted(twice))}.")
    return faults


def copy_tree(target: Path) -> None:
    """What git knows of the working tree, as it is now, and links to what it does not know and the tests need."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for folder in UNTRACKED:
        if (ROOT / folder).is_dir():
            (target / folder).symlink_to(ROOT / folder)


def run_tests(tree: Path, tests: Iterable[str]) -> tuple[int, str]:
    """The exit code of pytest in the copy, and what it printed last. A run that does not end counts as a failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(tree / "src")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        ran = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, "timed out"
    return ran.returncode, "\n".join(ran.stdout.splitlines()[-15:])


def outcome_of(code: int) -> str:
    """As pytest counts: 0 all passed, 1 some failed; anything else and no test has judged."""
    return {0: "survived", 1: "caught"}.get(code, "error")


def rewrite(file: Path, text: str) -> None:
    """Byte code of the text before goes, too: it may be of the same size and second."""
    file.write_text(text, encoding="utf-8")
    for stale in file.parent.glob(f"__pycache__/{file.stem}.*"):
        stale.unlink()


def try_fault(fault: Fault, tree: Path) -> tuple[str, str]:
    file = tree / fault.path
    original = file.read_text(encoding="utf-8")
    rewrite(file, fault.planted(original))
    try:
        code, output = run_tests(tree, fault.tests)
    finally:
        rewrite(file, original)
    return outcome_of(code), output


class Trial:
    """Faults tried one after the other in one copy of the tree. Each file of tests is run once without any fault first."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._clean_runs: dict[str, tuple[int, str]] = {}

    def run(self, fault: Fault) -> tuple[str, str]:
        """What became of the fault, and for an error what pytest said."""
        for test in fault.tests:
            if test not in self._clean_runs:
                self._clean_runs[test] = run_tests(self._tree, [test])
            code, output = self._clean_runs[test]
            if code:
                return "error", f"{test} fails without any fault. Mend that first.\n{output}"
        return try_fault(fault, self._tree)


def try_all(faults: list[Fault]) -> list[Outcome]:
    """What became of each fault."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="commonplace-mutants-") as folder:
        copy_tree(Path(folder))
        trial = Trial(Path(folder))
        for fault in faults:
            begin = time.monotonic()
            result, output = trial.run(fault)
            outcomes.append(Outcome(fault=fault, result=result, seconds=time.monotonic() - begin))
            print(outcomes[-1].line, flush=True)
            if result == "error":
                print(output, file=sys.stderr)
    return outcomes


def print_table(outcomes: list[Outcome]) -> None:
    """A row for each part of the house, then whatever was not caught."""
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parts.setdefault(outcome.part, []).append(outcome)
    print(f"\n{'part':12} {'faults':>6} {'caught':>6} {'survived':>8} {'errors':>6}")
    for part, group in [*sorted(parts.items()), ("all", outcomes)]:
        counts = [sum(outcome.result == result for outcome in group) for result in ("caught", "survived", "error")]
        print(f"{part:12} {len(group):6} {counts[0]:6} {counts[1]:8} {counts[2]:6}")
    for outcome in outcomes:
        if outcome.result != "caught":
            print(outcome.line)


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults and see whether the tests notice.")
    parser.add_argument("words", nargs="*", help="only faults whose names contain one of these")
    parser.add_argument("--check", action="store_true", help="only see whether every edit applies")
    given = parser.parse_args()
    faults = [fault for fault in read_table() if not given.words or any(word in fault.name for word in given.words)]
    stale = [f"{fault.name}: {problem}" for fault in faults if (problem := fault.problem(ROOT))]
    if stale:
        print("These faults no longer apply. Mend them in mutants.toml:", *stale, sep="\n  ", file=sys.stderr)
        return 1
    if given.check:
        print(f"All {len(faults)} faults apply.")
        return 0
    outcomes = try_all(faults)
    print_table(outcomes)
    results = [outcome.result for outcome in outcomes]
    return 1 if "error" in results or results.count("survived") > MOST_SURVIVORS else 0


if __name__ == "__main__":
    sys.exit(main())
