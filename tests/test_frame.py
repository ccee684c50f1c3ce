"""What `conftest.py` and the settings of pytest promise to every test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLD = 'PATTERN = "\\d"\n'
"""Python complains of it each time it compiles it."""


def test_a_process_that_a_test_starts_can_be_interrupted() -> None:
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"

    started = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)

    assert started.stdout == "True\n"


def test_arithmetic_has_one_thread() -> None:
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def compiled_anew(folder: Path) -> None:
    path = folder / "old.py"
    path.parent.mkdir(parents=True)
    path.write_text(OLD, encoding="utf-8")
    compile(OLD, str(path), "exec")


def test_what_python_says_of_a_dependency_that_it_compiles_anew_fails_no_test(tmp_path: Path) -> None:
    compiled_anew(tmp_path / "site-packages" / "vendor")


def test_what_it_says_of_our_own_source_does(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        compiled_anew(tmp_path / "src")
