"""A process that changes the embedder of a store is killed. The next one goes on from there, and the store answers all the time."""

import subprocess
import sys
from pathlib import Path

from commonplace import open_memory
from commonplace.values.note import Note

TEXTS = 600
WORKER = Path(__file__).with_name("embed_worker.py")


def embed(store: Path, after: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(WORKER), str(store), after]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_what_a_killed_process_embedded_is_not_embedded_again(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with open_memory(store, embedder="static") as memory:
        memory.put_many([Note(text=f"note {number} about lanterns") for number in range(TEXTS)])

    killed = embed(store, "256")
    with open_memory(store) as memory:
        between, hits = memory.embedder_status(), memory.search("lanterns")
        memory.put("written between, about lanterns")
    ended = embed(store, "never")

    assert killed.returncode == -9
    assert (between.active, between.coming) == (("static-256.2",), ("mortal",))
    assert len(hits) == 10
    assert (ended.returncode, int(ended.stdout)) == (0, TEXTS + 1 - 256)
