"""The command in this process, with a store of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commonplace.cli import app


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The code of the error told on stderr."""
        return json.loads(self.err)["error"]["code"]


@dataclass(frozen=True)
class Commonplace:
    """`cli("put", "text")` runs the command as a script would; `cli.json(…)` expects success and reads its answer."""

    store: str

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Ran:
        result = CliRunner().invoke(app, ["--store", self.store, *args], input=stdin, prog_name="commonplace")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def json(self, *args: str, stdin: str | None = None) -> Any:
        ran = self(*args, "--json", stdin=stdin)
        assert ran.code == 0, ran.err
        return ran.document

    def put(self, text: str, *args: str) -> str:
        """The id of a record just stored."""
        return self.json("put", text, *args)["id"]

    def texts(self, *args: str) -> Sequence[str]:
        """What a listing shows, in order."""
        return [record["text"] for record in self.json("list", *args)["records"]]


@pytest.fixture
def cli(tmp_path: Path) -> Commonplace:
    return Commonplace(str(tmp_path / "memory.db"))


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at a wide terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
