"""A daemon is killed in the middle of a job. The next one on the same machine does not wait for the lease."""

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from commonplace.jobs.leases import process_space
from commonplace.markdown.locks import locked
from commonplace.service.markdown import Ground
from commonplace.testing.daemon import Daemon, running_daemon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not process_space(), reason="the system has no /proc to look at"),
]

T = TypeVar("T")
FACTS = ("The project ships on Fridays", "Nobody deploys during lunch", "The tests run before every merge")
LEASE = 60
PATIENCE = 15.0
"""Seconds that a busy machine may take. The lease, which is renewed up to the end, lasts for more than twice as long."""


@contextmanager
def started(home: Path, store: str) -> Generator[Daemon]:
    settings = {"STORE": store, "EMBEDDER": "none", "JOB_LEASE_SECONDS": str(LEASE), "WORKSPACE": str(home)}
    env = {f"COMMONPLACE_{name}": value for name, value in settings.items()}
    with running_daemon(home, env=env, patience=60) as daemon:
        yield daemon


@contextmanager
def held_up(home: Path) -> Generator[None]:
    """Meanwhile nobody comes to the end of a task: the index of the workspace's memory is locked."""
    _, root = Ground(home=home, workspace=home).roots
    root.path.mkdir(parents=True)
    folder = os.open(root.path, os.O_RDONLY)
    try:
        with locked(folder, "MEMORY.md"):
            yield
    finally:
        os.close(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "memory.db") if request.param == "sqlite" else request.getfixturevalue("address")


def wait_for(look: Callable[[], T | None], seconds: float = PATIENCE) -> T:
    """What `look` returns, as soon as that is something."""
    deadline = time.monotonic() + seconds
    while (result := look()) is None:
        assert time.monotonic() < deadline, f"not there within {seconds} s"
        time.sleep(0.02)
    return result


def remember(client: httpx.Client, fact: str) -> str:
    body = {"content": fact, "scope": "project"}
    return client.post("/workspace/memory/remember", json=body).raise_for_status().json()["taskId"]


def test_what_waits_behind_the_task_of_a_killed_daemon_goes_on_when_the_next_one_starts(
    store: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with held_up(home), started(home, store) as daemon:
        with daemon.client() as client:
            ids = [remember(client, fact) for fact in FACTS]
            wait_for(lambda: status(client, ids[0], "running"))
            waiting = [status(client, id, "queued") for id in ids[1:]]
        daemon.process.kill()
        daemon.process.wait(timeout=5)

    with started(home, store) as daemon, daemon.client() as client:
        ended = [wait_for(lambda id=id: status(client, id, "completed", "failed")) for id in ids]
        attempts = [client.get(f"/v1/tasks/{id}").json()["attempts"] for id in ids]

    assert waiting == ["queued", "queued"]
    assert ended == ["completed"] * len(FACTS)
    assert attempts == [2, 1, 1]
    files = [path.read_text(encoding="utf-8") for path in home.rglob("*.md") if path.name != "MEMORY.md"]
    assert [sum(fact in text for text in files) for fact in FACTS] == [1] * len(FACTS)


def status(client: httpx.Client, id: str, *expected: str) -> str | None:
    """The status of the task, if it is one of these."""
    task: dict[str, Any] = client.get(f"/workspace/memory/remember/{id}").json()
    return task["status"] if task["status"] in expected else None
