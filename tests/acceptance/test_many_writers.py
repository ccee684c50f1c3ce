"""Threads and processes that write the same keys and search what others write, all at once."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace import open_memory

COUNTERS = ("apples", "pears", "plums")
THREADS = 16
PROCESSES = 4
TIMES = 12

Start = Callable[..., "subprocess.Popen[str]"]


def answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    told, _ = process.communicate(timeout=50)
    assert process.returncode == 0
    return json.loads(told)


@pytest.mark.slow
def test_sixteen_threads_and_four_processes_lose_no_update(start: Start, path: Path) -> None:
    with open_memory(path) as memory:
        for key in COUNTERS:
            memory.put("0", key=key)
        counting = [start("count", path, TIMES, THREADS), *(start("count", path, TIMES, 1) for _ in range(PROCESSES))]
        searching = [start("recount", path, 30) for _ in range(2)]

        raised = [each for process in counting for each in answer(process)["raised"]]
        missed = [answer(process)["missed"] for process in searching]

        for key in COUNTERS:
            held = memory.list(scopes="global", key=key).records[0]
            successes = sum(each[key] for each in raised)
            assert (int(held.text), held.version) == (successes, successes + 1)
            assert [record.text for record in memory.history(held.id)] == [str(n) for n in range(successes + 1)]
        assert sum(sum(each.values()) for each in raised) == (THREADS + PROCESSES) * TIMES
        assert missed == [0, 0]
        assert [finding for finding in memory.check() if finding.severity == "error"] == []


def test_what_another_process_did_is_seen_at_once_by_a_warm_index(start: Start, path: Path) -> None:
    with open_memory(path) as memory:
        memory.put("Herons stand in the shallow water", scope="workspace:pond")
        memory.put("Boats are tied to the jetty", scope="workspace:harbour")
        assert memory.search("herons", scopes=["workspace:pond"])
        other = start("obey", path)

        def tell(*order: str) -> str:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdin.write(json.dumps(order) + "\n")
            other.stdin.flush()
            return json.loads(other.stdout.readline())["id"]

        def found(question: str, scope: str = "workspace:pond") -> list[str]:
            return [hit.record.id for hit in memory.search(question, mode="words", scopes=[scope])]

        for bird in ("kingfisher", "bittern", "grebe", "moorhen", "cormorant", "wagtail", "dipper", "osprey", "teal"):
            id = tell("put", f"A {bird} came by", "workspace:pond")
            assert found(bird) == [id]
            assert tell("edit", id, f"The {bird} left for Lisbon") == id
            assert id in found("Lisbon")
            assert found("came") == []
            assert tell("delete", id) == id
            assert found(bird) == []
            assert tell("undo", id) == id
            assert found(bird) == [id]
            assert tell("move", id, "workspace:harbour") == id
            assert (found(bird), found(bird, "workspace:harbour")) == ([], [id])


def test_many_processes_can_make_the_same_new_store(path: Path) -> None:
    script = (
        f"from commonplace import open_memory\nwith open_memory({str(path)!r}) as m: print(m.put('one of many').id)"
    )
    makers = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(6)]

    ids = {maker.communicate(timeout=50)[0].strip() for maker in makers}

    with open_memory(path, create=False) as memory:
        assert {record.id for record in memory.list().records} == ids
        assert len(ids) == 6
        assert [finding for finding in memory.check() if finding.severity == "error"] == []
