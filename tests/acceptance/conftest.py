"""The programs of `writers.py` as processes that end with their test."""

import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

import pytest

Start: TypeAlias = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Starts one of the programs with pipes to talk to it."""
    running: list[subprocess.Popen[str]] = []

    def one(*arguments: object) -> "subprocess.Popen[str]":
        program = [sys.executable, str(Path(__file__).with_name("writers.py")), *map(str, arguments)]
        process = subprocess.Popen(program, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield one
    for process in running:
        process.kill()
        process.communicate(timeout=5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"
