"""Tasks of managed memory with real processes, killed at every state, and a thousand of them with sixteen waiting."""

import asyncio
import fcntl
import json
import select
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx
import pytest
from pydantic import BaseModel

from commonplace.markdown.changes import past, undo
from commonplace.markdown.entries import EntryFile
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.ports.models import Done, ModelAnswer, ModelQuestion, Spent, Task, Tool
from commonplace.service.markdown import Ground
from commonplace.testing.daemon import served
from commonplace.testing.lanes import BASE, BOTH, LUNCH, SHIP, MemoryDesk, entry, file_it, tidy
from commonplace.testing.models import ScriptedModel

pytestmark = pytest.mark.anyio

FACT = SHIP
DREAMS = {"rules": ["queued", "3", "6", "9", "12", "written"], "model": ["5", "9", "13", "16", "written"]}
Killed = Callable[..., str]
T = TypeVar("T", bound=BaseModel)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def nursery() -> Generator["subprocess.Popen[str]"]:
    """The process that bears the workers. They are as new as any, and need not load anything."""
    program = [sys.executable, str(Path(__file__).with_name("lane_worker.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def killed(home: Path, workspace: Path, nursery: "subprocess.Popen[str]") -> Killed:
    """Runs a worker until it dies at a moment; answers what it printed."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    orders, answers = nursery.stdin, nursery.stdout

    def run(moment: str, *task: str, how: str = "rules") -> str:
        orders.write(json.dumps([str(home), str(workspace), moment, how, *task]) + "\n")
        orders.flush()
        assert select.select([answers], [], [], 50)[0], "the worker does not die"
        end = json.loads(answers.readline())
        assert end["code"] == -9
        return end["printed"].strip()

    return run


@pytest.fixture
async def desk(home: Path, workspace: Path) -> AsyncGenerator[MemoryDesk]:
    async with served(home, workspace=workspace) as running:
        yield MemoryDesk(running, home, workspace)


class Later:
    """A clock by which the lease of whoever died is over, and its lock is not."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=4)


def entries(desk: MemoryDesk) -> list[str]:
    """What each entry says. A file that is torn is none."""
    scans = [Shelf(root).scan() for root in desk.running.services.managed.ground.roots]
    assert [problem for scan in scans for problem in scan.problems] == []
    found: list[EntryFile] = [kept for scan in scans for kept in scan.entries]
    return [kept.entry.body.strip() for kept in found]


def entries_of(root: Root) -> dict[str, str]:
    return {kept.path: kept.snapshot.data.decode() for kept in Shelf(root).scan().entries}


def held(home: Path) -> list[Path]:
    """The locks that somebody holds. The name of one may outlive its process; the lock does not."""
    found: list[Path] = []
    for path in home.rglob("*.lock"):
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(path)
    return found


@pytest.mark.parametrize("moment", ["queued", "1", "2", "3", "5", "7", "9", "11", "written"])
async def test_a_task_whose_process_is_killed_is_done_once_by_the_next(
    killed: Killed, home: Path, workspace: Path, moment: str
) -> None:
    id = await asyncio.to_thread(killed, moment, "remember", FACT)

    async with served(home, workspace=workspace, clock=Later()) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working():
            body = await desk.over("remember", id)

        assert body["status"] == "completed"
        assert body["result"]["touchedScopes"] == ["project"]
        assert entries(desk) == [FACT]
        [file] = body["result"]["filesTouched"]
        assert Path(file).name in Path(file).parent.parent.joinpath("MEMORY.md").read_text(encoding="utf-8")
        assert held(home) == []
        assert [data["taskId"] for data, _ in await desk.events("memory_changed")] == [id]
        records = (await desk.client.get("/v1/records")).json()["records"]
        assert [record["text"] for record in records] == [FACT]


def placed(home: Path, workspace: Path, entries: Mapping[str, str]) -> Root:
    """The memory of the workspace, with these entries in it before anybody is at work."""
    _, root = Ground(home=home, workspace=workspace).roots
    for name, says in entries.items():
        file = root.path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(entry(says), encoding="utf-8")
    return root


async def ended_well(desk: MemoryDesk, kind: str, id: str, said: Sequence[str]) -> dict[str, Any]:
    """The task that died is over: done once, told once, with what it left true in files, index and records."""
    body = await desk.over(kind, id)
    assert body["status"] == "completed", body["error"]
    assert sorted(entries(desk)) == sorted(said)
    records = (await desk.client.get("/v1/records")).json()["records"]
    assert sorted(record["text"].rpartition("\n")[2] for record in records) == sorted(said)
    for root in desk.running.services.managed.ground.roots:
        listed = Shelf(root).index()
        assert all(kept.path in listed for kept in Shelf(root).scan().entries)
        assert listed.count("](") == len(Shelf(root).scan().entries)
    assert held(desk.home) == []
    assert list(desk.home.rglob("consolidation.lock")) == []
    told = [(data["taskId"], *data["touchedScopes"]) for data, _ in await desk.events("memory_changed")]
    assert {task for task, *_ in told} == {id}
    assert len(told) == len(set(told))
    return body


@pytest.mark.parametrize("moment", ["queued", "4", "6", "8", "10", "12", "14", "written"])
async def test_what_is_to_be_forgotten_is_forgotten_once_whenever_its_process_is_killed(
    killed: Killed, home: Path, workspace: Path, moment: str
) -> None:
    # The other one would fit well enough, once the first is gone: a second attempt must not take it, too.
    alike = LUNCH.replace("lunch", "breakfast")
    root = placed(home, workspace, {"ship.md": alike, "lunch.md": LUNCH})
    id = await asyncio.to_thread(killed, moment, "forget", LUNCH)

    async with served(home, workspace=workspace, clock=Later()) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working():
            body = await ended_well(desk, "forget", id, [alike])

        deleted = (await desk.client.get("/v1/records?state=deleted")).json()["records"]

    assert [one["topic"] for one in body["result"]["removedEntries"]] == ["project"]
    assert deleted == []
    texts = {path: path.read_text(encoding="utf-8").lower() for path in root.path.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if "lunch" in text + path.name] == []


@pytest.mark.parametrize(("how", "moment"), [(how, moment) for how, moments in DREAMS.items() for moment in moments])
async def test_a_memory_is_tidied_once_whenever_the_process_that_dreams_is_killed(
    killed: Killed, home: Path, workspace: Path, how: str, moment: str
) -> None:
    said = {"ship.md": SHIP, "lunch.md": LUNCH} if how == "model" else {"ship.md": SHIP, "again.md": SHIP}
    root = placed(home, workspace, said)
    before = entries_of(root)
    id = await asyncio.to_thread(partial(killed, moment, "dream", "", how=how))

    async with served(home, workspace=workspace, clock=Later()) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working(ScriptedModel(tidy) if how == "model" else None):
            body = await ended_well(desk, "dream", id, [BOTH if how == "model" else SHIP])

    assert (body["result"]["dedupedEntries"], body["result"]["method"]) == (1, how)
    last = next(one for one in past(root) if one.by == id)
    undo(root, last.id, running.services.desk.clock.now())
    assert entries_of(root) == before


@pytest.mark.parametrize("moment", ["2", "6", "9", "13", "18", "23", "written"])
async def test_what_an_agent_files_is_filed_once_whenever_its_process_is_killed(
    killed: Killed, home: Path, workspace: Path, moment: str
) -> None:
    id = await asyncio.to_thread(partial(killed, moment, "remember", BOTH, how="model"))

    async with served(home, workspace=workspace, clock=Later()) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working(ScriptedModel(file_it)):
            body = await ended_well(desk, "remember", id, [SHIP, LUNCH])

    assert (body["result"]["touchedScopes"], body["result"]["method"]) == (["project", "user"], "model")


async def test_a_task_that_kills_its_process_twice_has_failed_with_a_code_and_blocks_nobody(
    killed: Killed, home: Path, workspace: Path
) -> None:
    id = await asyncio.to_thread(killed, "4", "remember", FACT)
    await asyncio.to_thread(killed, "4")

    async with served(home, workspace=workspace, clock=Later()) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working():
            body = await desk.over("remember", id)
            other = await desk.done("remember", {"content": "I prefer dark mode"})

    assert (body["status"], body["error"]["code"]) == ("failed", "remember_failed")
    assert body["error"]["details"] == "attempts_exhausted"
    assert other["status"] == "completed"


async def test_what_waited_when_all_processes_died_is_done_in_its_order(killed: Killed, desk: MemoryDesk) -> None:
    ids = [await asyncio.to_thread(killed, "queued", "remember", f"Fact {word}") for word in ("one", "two", "three")]

    async with desk.working():
        done = [await desk.over("remember", id) for id in ids]

    times = [body["updatedAt"] for body in done]
    assert [body["status"] for body in done] == ["completed"] * 3
    assert times == sorted(times)


class Quick:
    """A model that has nothing to do."""

    async def answer(self, question: ModelQuestion[T]) -> ModelAnswer[T]:
        raise NotImplementedError(question)

    async def act(self, task: Task, tools: Sequence[Tool]) -> Done:
        del task, tools
        return Done(text="Known already.", spent=Spent(model="quick"))


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_thousand_tasks_with_never_more_than_sixteen_waiting(desk: MemoryDesk) -> None:
    accepted: list[str] = []
    refused = 0
    waiting: list[int] = []

    async def ask(client: httpx.AsyncClient) -> None:
        nonlocal refused
        while len(accepted) < 1_010:
            answer = await client.post(f"{BASE}/remember", json={"content": FACT})
            if answer.status_code == 202:
                accepted.append(answer.json()["taskId"])
            else:
                assert (answer.status_code, answer.json()["code"]) == (429, "remember_queue_full")
                refused += 1
                open_ones = await desk.running.services.desk.store.jobs.list_jobs(
                    "default/default", kinds=("remember",), states=("queued", "running"), limit=100
                )
                waiting.append(len(open_ones))
                await asyncio.sleep(0.1)

    async with desk.working(Quick()), anyio.create_task_group() as askers:
        for _ in range(4):
            askers.start_soon(ask, desk.client)
    async with desk.working(Quick()):
        last = [await desk.over("remember", id) for id in accepted[-20:]]

    kept = await desk.running.services.desk.store.jobs.list_jobs("default/default", kinds=("remember",), limit=2_000)
    first = await desk.get("remember", accepted[0])
    assert refused
    assert max(waiting) <= 16
    assert {body["status"] for body in last} == {"completed"}
    assert {job.state for job in kept} == {"done"}
    assert len(kept) == 1_000
    assert (first.status_code, first.json()["code"]) == (404, "remember_task_not_found")
