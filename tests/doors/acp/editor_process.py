"""`commonplace acp` as an editor starts it: a real process, spoken to line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any


class Editor:
    """`arguments` are further ones of the command, such as the address of a daemon."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        env = {**os.environ, "COMMONPLACE_HOME": str(folder / "home"), "COMMONPLACE_EMBEDDER": "none", **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "acp", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=env, text=True,
        )  # fmt: skip
        self.bound = Timer(50, self.process.kill)
        self.bound.start()
        self.updates: list[Any] = []

    def ask(self, line: object) -> Any:
        """Its answer; what is told before it is kept in `updates`."""
        self.write(line)
        return self.read()

    def read(self) -> Any:
        """What is asked or answered next."""
        assert self.process.stdout is not None
        while "id" not in (answer := json.loads(self.process.stdout.readline())):
            self.updates.append(answer["params"].get("update"))
        return answer

    def write(self, line: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line if isinstance(line, str) else json.dumps(line)}\n")
        self.process.stdin.flush()

    def call(self, method: str, **params: Any) -> Any:
        return self.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def leave(self) -> int:
        self.process.communicate()
        self.bound.cancel()
        return self.process.returncode
