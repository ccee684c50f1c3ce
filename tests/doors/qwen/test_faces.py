"""The same fact handed over by the SDK, the command and a model."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace import AsyncClient, Client, open_memory_async
from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.doors.mcp.tools import OFFERS, call
from commonplace.errors import InvalidContent, RememberTaskNotFound
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.mcp import remote
from commonplace.values.task import MemoryTask

FACT = "I prefer dark mode in all editors"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder = tmp_path_factory.mktemp("faces")
    (folder / "web").mkdir()
    env = {"COMMONPLACE_EMBEDDER": "none"}
    with running_daemon(folder / "home", "--workspace", str(folder / "web"), env=env) as running:
        yield running


def over(client: Client, task: MemoryTask) -> MemoryTask:
    deadline = time.monotonic() + 5
    look = getattr(client, f"get_workspace_memory_{task.kind}_task")
    while not task.is_over and time.monotonic() < deadline:
        time.sleep(0.01)
        task = look(task.id)
    return task


def test_the_client_remembers_dreams_and_forgets(daemon: Daemon) -> None:
    with Client(daemon.url, daemon.token, client_id="one") as client:
        saved = over(client, client.remember_workspace_memory(FACT, context_mode="clean", scope="user"))
        dreamt = over(client, client.dream_workspace_memory())
        forgot = over(client, client.forget_workspace_memory("dark mode", scope="user"))
        with pytest.raises(InvalidContent):
            client.remember_workspace_memory(" ")
    with Client(daemon.url, daemon.token, client_id="two") as other, pytest.raises(RememberTaskNotFound):
        other.get_workspace_memory_remember_task(saved.id)

    assert (saved.status, saved.context_mode, saved.scope) == ("completed", "clean", "user")
    assert saved.result is not None
    assert saved.result["touched_scopes"] == ["user"]
    assert dreamt.status == "completed"
    assert forgot.result is not None
    assert forgot.result["touched_topics"] == ["user"]


@pytest.mark.anyio
async def test_the_client_with_an_event_loop_remembers_too(daemon: Daemon) -> None:
    async with AsyncClient(daemon.url, daemon.token) as client:
        task = await client.remember_workspace_memory("The project ships on Fridays")
        seen = await client.get_workspace_memory_remember_task(task.id)

    assert (task.status, seen.id) == ("queued", task.id)


def ran(*args: str, cwd: Path, env: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "remember", *args, "--json"],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return json.loads(done.stdout if done.returncode == 0 else done.stderr)


@pytest.mark.parametrize("where", ["alone", "url"])
def test_the_command_waits_until_it_is_filed(daemon: Daemon, tmp_path: Path, where: str) -> None:
    env = {"COMMONPLACE_HOME": str(tmp_path / "own"), "COMMONPLACE_EMBEDDER": "none"}
    if where == "url":
        env |= {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}

    told = ran("We deploy with make ship", "--to", "project", cwd=tmp_path, env=env)
    empty = ran(" ", cwd=tmp_path, env=env)

    [file] = told["files_touched"]
    assert (told["status"], told["touched_scopes"]) == ("completed", ["project"])
    assert "We deploy with make ship" in Path(file).read_text(encoding="utf-8")
    assert empty["error"]["code"] in ("invalid_content", "invalid_input")


def test_who_does_not_wait_is_told_how_to_look_later(daemon: Daemon, tmp_path: Path) -> None:
    env = {"COMMONPLACE_HOME": str(tmp_path / "own"), "COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}

    queued = ran("The canteen is on floor two", "--to", "project", "--timeout", "0", cwd=tmp_path, env=env)
    later = ran("--task", queued["task"], cwd=tmp_path, env=env)

    assert (queued["status"], queued["look"]) == ("queued", f"commonplace remember --task {queued['task']}")
    assert (later["status"], later["outcome"]) == ("completed", "saved")


@pytest.mark.anyio
async def test_a_model_hands_over_a_fact_and_is_told_what_became_of_it(daemon: Daemon) -> None:
    async with remote(f"{daemon.url}/mcp", daemon.token) as model:
        told = await model("memory_remember", content="The staging server is called atlas", scope="project")
        known = await model("memory_remember", content="The staging server is called atlas")
        empty = await model("memory_remember", content=" ")
        found = await model.found("what is the staging server called?")

    assert (told["ok"], told["status"], told["touched_scopes"]) == (True, "completed", ["project"])
    assert (told["outcome"], known["outcome"], known["touched_scopes"]) == ("saved", "known", [])
    assert (empty["ok"], empty["reason"]) == (False, "missing_content")
    assert "The staging server is called atlas" in found


@pytest.mark.anyio
async def test_a_model_with_a_key_for_every_workspace_files_there_and_nowhere_else(daemon: Daemon) -> None:
    with Client(daemon.url, daemon.token) as client:
        _, secret = client.create_key("wild", "writer", scopes=["workspace:*"])

    async with remote(f"{daemon.url}/mcp", secret) as model:
        offered = await model.tools()
        filed = await model("memory_remember", content="The queue is called kestrel", scope="project")
        refused = await model("memory_remember", content="I prefer tabs in all files", scope="user")

    assert "memory_remember" in offered
    assert (filed["ok"], filed["touched_scopes"]) == (True, ["project"])
    assert (refused["ok"], refused["reason"]) == (False, "forbidden")


@pytest.mark.anyio
async def test_a_model_files_a_fact_without_a_daemon_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "own")
    async with open_memory_async(tmp_path / "memory.db", embedder="none") as memory:
        asker = Asker(memory, ModelPlace(project="own"))
        told = (
            await call(OFFERS["memory_remember"], asker, {"content": "We ship on Fridays"}, allow_delete=False)
        ).document()
        found = await memory.search("when do we ship?")

    assert (told["ok"], told["status"]) == (True, "completed")
    assert ["We ship on Fridays" in hit.record.text for hit in found] == [True]


@pytest.mark.anyio
async def test_a_model_within_some_scopes_is_not_offered_the_files(daemon: Daemon) -> None:
    with Client(daemon.url, daemon.token) as client:
        _, secret = client.create_key("narrow", "writer", scopes=["session:s1"])

    async with remote(f"{daemon.url}/mcp", secret) as model:
        offered = await model.tools()
        refused = await model("memory_remember", content="A fact")

    assert "memory_remember" not in offered
    assert (refused["ok"], refused["reason"]) == (False, "managed_memory_unavailable")
