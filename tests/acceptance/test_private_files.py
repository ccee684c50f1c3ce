"""Nobody else on the machine can read what we write: not at the end, not for a moment, and not with a umask of 0."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.testing.daemon import running_daemon

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such modes here")

# Writes a store, a backup and an export, and looks at every file again and again meanwhile.
WRITER = """
import json, os, sys, threading
from pathlib import Path

os.umask(0)
folder, store = Path(sys.argv[1]), sys.argv[2]
seen, over = {}, threading.Event()

def look(*_):
    for name in os.listdir(folder):
        try:
            mode = os.stat(folder / name).st_mode & 0o077
        except FileNotFoundError:
            continue
        seen[name] = seen.get(name, 0) | mode

def watch():
    while not over.is_set():
        look()

watcher = threading.Thread(target=watch)
watcher.start()
try:
    from commonplace import open_memory
    with open_memory(store, embedder="none") as memory:
        for n in range(300):
            memory.put(f"Record {n} that is nobody else's business " * 20, scope="workspace:web")
        look()
        memory.backup(folder / "copy", progress=look)
        look()
        memory.export(folder / "all.jsonl", progress=look)
        look()
finally:
    over.set()
    watcher.join()
print(json.dumps(seen))
"""


@contextmanager
def no_umask() -> Generator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path, store: str) -> dict[str, int]:
    """What others were ever allowed with each file in the folder, by its name."""
    written = subprocess.run(
        [sys.executable, "-c", WRITER, str(folder), store], capture_output=True, text=True, timeout=60, check=False
    )
    assert written.returncode == 0, written.stderr
    return json.loads(written.stdout)


def test_a_store_its_log_its_backup_and_its_export_are_private_from_the_first_byte(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o755)

    seen = modes(folder, str(folder / "team.db"))

    assert {"team.db", "team.db-wal", "team.db-shm", "copy", "all.jsonl", ".copy.partial"} <= seen.keys()
    assert {name for name, mode in seen.items() if mode} == set()


def test_a_backup_of_postgresql_is_private_from_the_first_byte(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o755)

    seen = modes(folder, address)

    assert {"copy", "all.jsonl"} <= seen.keys()
    assert {name for name, mode in seen.items() if mode} == set()


def test_a_store_behind_a_link_that_leads_nowhere_yet_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o755)
    (tmp_path / "link.db").symlink_to(folder / "team.db")

    seen = modes(folder, str(tmp_path / "link.db"))

    assert "team.db" in seen
    assert {name for name, mode in seen.items() if mode} == set()


def test_everything_that_a_daemon_writes_is_private(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "elsewhere"
    for place in (home, folder):
        place.mkdir(mode=0o755)
    with no_umask(), running_daemon(home, "--store", str(folder / "team.db")) as daemon, daemon.client() as client:
        client.post("/v1/records", json={"text": "nobody else's business", "scope": "user:local"}).raise_for_status()
        client.post("/v1/remember", json={"content": "I prefer tea"}, params={"wait": "true"})

        files = [file for place in (home, folder) for file in place.rglob("*") if file.is_file() and file != daemon.log]
        open_to_others = [file.name for file in files if file.stat().st_mode & 0o077]

    assert {"team.db", "team.db-wal", "token"} <= {file.name for file in files}
    assert open_to_others == []
