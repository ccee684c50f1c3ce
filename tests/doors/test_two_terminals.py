"""Two terminals in one room, each a process of its own: what is typed in one is shown in the other."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from commonplace.testing.daemon import Daemon, running_daemon

_PATIENCE: Final = 20.0


@pytest.fixture
def daemon(tmp_path: Path) -> Generator[Daemon]:
    with running_daemon(tmp_path / "home", "--workspace", str(tmp_path)) as begun:
        yield begun


class Terminal:
    """`commonplace channel chat releases --as NAME`, with somebody who types."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._text = ""

    def type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def shows(self, text: str) -> str:
        """All that it has shown, once that is in it."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + _PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while text not in self._text:
                left = deadline - time.monotonic()
                assert left > 0, f"{text!r} was not shown. It shows: {self._text}"
                if selector.select(left):
                    part = os.read(self._process.stdout.fileno(), 65_536)
                    assert part, f"The terminal ended. It showed: {self._text}"
                    self._text += part.decode()
        return self._text


@contextmanager
def terminal(daemon: Daemon, name: str) -> Generator[Terminal]:
    command = [sys.executable, "-m", "commonplace", "channel", "chat", "releases", "--as", name]
    where = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token, "COMMONPLACE_HOME": str(daemon.home)}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **where, "PYTHONUNBUFFERED": "1"}
    )
    try:
        yield Terminal(process)
    finally:
        process.kill()
        process.wait(timeout=_PATIENCE)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def test_what_is_typed_in_one_terminal_is_shown_in_the_other_and_the_agent_answers_both(daemon: Daemon) -> None:
    with terminal(daemon, "ana") as ana:
        ana.type("/remember we ship on Fridays")
        ana.shows("I will remember that: we ship on Fridays")
        with terminal(daemon, "bob") as bob:
            # Who comes later is shown what was said.
            bob.shows("ana: /remember we ship on Fridays")
            bob.type("@bot When do we ship?")
            of_ana = ana.shows("bob: @bot When do we ship?")
            of_both = [terminal.shows("agent: ") for terminal in (ana, bob)]

    # What somebody typed is not shown to them again.
    assert "ana: /remember" not in of_ana
    assert "bob: @bot" not in of_both[1]
