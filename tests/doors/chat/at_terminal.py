"""A real process at a real terminal: what it writes can be waited for, and keys can be pressed."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

# Becomes the process of a terminal, so that Ctrl-C is a signal.
_BEGIN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROMPT = "› "
CTRL_C = "\x03"
CTRL_D = "\x04"


class AtTerminal:
    """`shown` is all that was written so far, without its styles."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self._bytes = b""
        self._place = 0

    @property
    def shown(self) -> str:
        return _STYLES.sub("", self._bytes.decode("utf-8", "replace")).replace("\r", "")

    def until(self, words: str, patience: float = 30.0) -> str:
        """What is shown behind what was waited for before, up to these words."""
        deadline = time.monotonic() + patience
        while words not in self.shown[self._place :]:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} was not shown in {patience:g} s:\n{self.shown[self._place :]}"
            assert self._read(left) is not None, f"It ended before {words!r} was shown:\n{self.shown}"
        begin = self._place
        self._place = self.shown.index(words, begin) + len(words)
        return self.shown[begin : self._place]

    def type(self, keys: str) -> None:
        if keys == CTRL_C:
            self._wait_until_it_waits()
        os.write(self._terminal, keys.encode())

    def wait(self, patience: float = 30.0) -> int:
        """Its exit code."""
        deadline = time.monotonic() + patience
        while self._read(max(deadline - time.monotonic(), 0.0)):
            pass
        return self.process.wait(timeout=5)

    def _wait_until_it_waits(self) -> None:
        """
        A signal between a prompt and the wait for a key is noticed only at the next key (so does `input` with readline, which nobody
        is quick enough to meet). Where the system tells what a thread does, this waits until it sleeps.
        """
        state = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/stat")
        deadline = time.monotonic() + 5.0
        while state.exists() and state.read_text().rpartition(") ")[2][:1] != "S":
            assert time.monotonic() < deadline, "It is busy all the time."
            time.sleep(0.005)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=5)

    def _read(self, seconds: float) -> bool | None:
        """Whether something came in that time. None: there is no more."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        with suppress(OSError):
            piece = os.read(self._terminal, 65536)
            self._bytes += piece
            return True if piece else None
        return None


@contextmanager
def at_terminal(*args: str, cwd: Path, env: Mapping[str, str] | None = None) -> Generator[AtTerminal]:
    """`commonplace` with these arguments, at a terminal of 100 × 30."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [sys.executable, "-c", _BEGIN, sys.executable, "-m", "commonplace", *args]
    environment = {**os.environ, "TERM": "xterm-256color", **(env or {})}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        yield AtTerminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=5)
        os.close(ours)
