"""The command in this process, with a store of its own, or with a tenant of its own at a daemon."""

import json
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commonplace.cli import app
from commonplace.testing.daemon import Daemon, running_daemon


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
    place: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Ran:
        place = self.place or ("--store", self.store)
        result = CliRunner().invoke(app, [*place, *args], input=stdin, env=self.env, prog_name="commonplace")
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


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    """A daemon for all tests that only need one to be there; each works in a tenant of its own."""
    with running_daemon(tmp_path_factory.mktemp("shared") / "home") as begun:
        yield begun


@pytest.fixture
def cli(tmp_path: Path, request: pytest.FixtureRequest) -> Commonplace:
    """`parametrize("cli", ["store", "url"], indirect=True)` runs a test over a daemon, too."""
    store = str(tmp_path / "memory.db")
    if getattr(request, "param", "store") == "store":
        return Commonplace(store)
    daemon: Daemon = request.getfixturevalue("shared_daemon")
    env = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}
    return Commonplace(store, ("--tenant", f"test/{uuid.uuid4()}"), env)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at a wide terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
