"""`make test` installs a browser where there is none; another installation at the same time only makes it wait."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

INSTALL = Path(__file__).parent.parent / "tools" / "apt-install"
LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 42 (apt-get)"
DOWNLOADS = "E: Unable to lock directory /var/cache/apt/archives/"
UNKNOWN = "E: Unable to locate package chromium"

APT_GET = """
echo "$@" >> calls
complaint=complaint-$(wc -l < calls)
[ ! -e $complaint ] || { cat $complaint >&2; exit 100; }
"""


@dataclass(frozen=True)
class Machine:
    """With an `apt-get` and a `sleep` that write down how they are called."""

    folder: Path

    def install(self, **complaints: str) -> "subprocess.CompletedProcess[str]":
        """`first`, `second`, `third`: of what that call of `apt-get` complains."""
        for number, name in enumerate(("first", "second", "third"), 1):
            if name in complaints:
                (self.folder / f"complaint-{number}").write_text(complaints[name], encoding="utf-8")
        env = {"PATH": f"{self.folder}:/usr/bin:/bin"}
        return subprocess.run([INSTALL, "chromium"], env=env, capture_output=True, text=True, timeout=30, check=False)

    def add(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/usr/bin/env bash\ncd '{self.folder}'\n{script}", encoding="utf-8")
        path.chmod(0o755)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    @property
    def commands(self) -> list[str]:
        """What `apt-get` was told to do."""
        return ["update" if line.endswith(" update") else line.split(" install ")[1] for line in self.lines("calls")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    computer = Machine(tmp_path)
    computer.add("apt-get", APT_GET)
    computer.add("sleep", 'echo "$@" >> pauses\n')
    return computer


def test_the_lists_are_fetched_and_the_packages_installed(machine: Machine) -> None:
    ended = machine.install()

    assert (ended.returncode, ended.stderr) == (0, "")
    assert machine.commands == ["update", "-y --no-install-recommends chromium"]
    assert machine.lines("pauses") == []


def test_it_waits_for_whoever_fetches_lists(machine: Machine) -> None:
    ended = machine.install(first=LISTS, second=LISTS)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert machine.commands == ["update", "update", "update", "-y --no-install-recommends chromium"]
    assert len(machine.lines("pauses")) == 2


def test_it_waits_for_whoever_installs(machine: Machine) -> None:
    ended = machine.install(second=DOWNLOADS)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert machine.commands == ["update", *["-y --no-install-recommends chromium"] * 2]
    assert all("DPkg::Lock::Timeout=600" in line for line in machine.lines("calls"))


def test_any_other_complaint_is_told_at_once(machine: Machine) -> None:
    ended = machine.install(second=UNKNOWN)

    assert (ended.returncode, ended.stderr.strip()) == (1, UNKNOWN)
    assert machine.lines("pauses") == []


def test_it_does_not_wait_for_ever(machine: Machine) -> None:
    machine.add("apt-get", f'echo "$@" >> calls; echo "{LISTS}" >&2; exit 100\n')

    ended = machine.install()

    assert (ended.returncode, ended.stderr.strip()) == (1, LISTS)
    assert set(machine.commands) == {"update"}
    assert sum(map(int, machine.lines("pauses"))) <= 600
