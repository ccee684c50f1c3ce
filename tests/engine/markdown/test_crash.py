"""Processes killed in mid-write and processes side by side: no torn file, no lock that stays, no line lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace.markdown.changes import past, undo
from commonplace.markdown.confine import Folder
from commonplace.markdown.entries import MemoryEntry, parse
from commonplace.markdown.roots import user_root
from commonplace.markdown.shelf import Shelf
from commonplace.values.moment import from_ms

WRITING = """
import os, sys
from pathlib import Path
from commonplace.markdown.confine import Folder
folder = Folder(Path(sys.argv[1]))
while True:
    # A child a kill, all of them warmed up once.
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        n = 0
        while True:
            n += 1
            line = b"%06d " % n * 5000
            folder.change(("user", "x.md"), lambda _: line)
    os.wait()
"""

ADDING = """
import sys
from pathlib import Path
from commonplace.markdown.confine import Folder
folder = Folder(Path(sys.argv[1]))
for n in range(100):
    line = b"%s-%d\\n" % (sys.argv[2].encode(), n)
    folder.change(("user", "x.md"), lambda held: (held.data if held else b"") + line)
"""

REMEMBERING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.markdown.remember import remember
from commonplace.markdown.roots import user_root
root = user_root(Path(sys.argv[1]))
print("ready", flush=True)
n = 0
while True:
    n += 1
    remember([root], f"user: {sys.argv[2]} fact number{n} {'word%d ' % n * 20}", now=datetime.now(UTC))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root/user").mkdir(parents=True)
    return tmp_path / "root"


def test_a_hundred_kills_in_mid_write_tear_no_file_and_leave_no_lock_that_holds(root: Path) -> None:
    chance = random.Random(7)
    folder = Folder(root, patience=5)
    started = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(root)], stdout=subprocess.PIPE, start_new_session=True
    )
    with started as parent:
        assert parent.stdout is not None
        try:
            for _ in range(100):
                child = int(parent.stdout.readline())
                time.sleep(chance.random() * 0.01)
                os.kill(child, signal.SIGKILL)
                path = root / "user/x.md"
                data = path.read_bytes() if path.exists() else b""
                assert data == data[:7] * (len(data) // 7)
                assert len(data) in (0, 35_000)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)

    held = folder.change(("user", "x.md"), lambda _: b"still writable")
    folder.change(("user", "y.md"), lambda _: b"")

    assert held is not None
    assert sorted(one.name for one in (root / "user").iterdir()) == ["x.md", "y.md"]


def test_two_processes_add_to_one_file_and_no_line_is_lost(root: Path) -> None:
    adding = [subprocess.Popen([sys.executable, "-c", ADDING, str(root), name]) for name in ("a", "b")]
    codes = [process.wait(timeout=60) for process in adding]

    lines = (root / "user/x.md").read_text().split()
    assert codes == [0, 0]
    assert sorted(lines) == sorted(f"{name}-{n}" for name in "ab" for n in range(100))


def test_remembering_killed_again_and_again_leaves_whole_entries_and_an_index_that_can_be_made(tmp_path: Path) -> None:
    home, chance = tmp_path / "home", random.Random(11)
    for n in range(6):
        started = subprocess.Popen([sys.executable, "-c", REMEMBERING, str(home), f"run{n}"], stdout=subprocess.PIPE)
        with started as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.02 + chance.random() * 0.1)
            process.kill()

    shelf = Shelf(user_root(home))
    scan = shelf.scan()
    shelf.rebuild()

    assert scan.entries
    assert scan.problems == ()
    assert all(isinstance(parse(kept.snapshot.data.decode(), kept.path), MemoryEntry) for kept in scan.entries)
    assert len(shelf.index().splitlines()) == len(scan.entries)
    newest = past(shelf.root)[0]
    undone = undo(shelf.root, newest.id, from_ms(int(time.time() * 1000)))
    assert undone.conflicts == ()
