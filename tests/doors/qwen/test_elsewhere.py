"""Who shares a store need not have the files of a task: it is left to whoever has them."""

from pathlib import Path

import anyio
import pytest

from commonplace import open_memory_async
from commonplace.testing.daemon import Opened
from commonplace.testing.lanes import MemoryDesk

pytestmark = pytest.mark.anyio

FACT = {"content": "The app listens on port 8080"}


@pytest.mark.parametrize("given", [{"managed_memory": False}, {"tenant": "acme/web"}])
async def test_a_daemon_without_the_files_leaves_a_task_to_the_one_that_has_them(
    desk: MemoryDesk, opened: Opened, given: dict[str, object]
) -> None:
    task = await desk.queued("remember", FACT)
    async with opened(**given) as other:
        without = MemoryDesk(other, desk.home, desk.workspace)
        async with without.working():
            # Long enough for a worker that looks fifty times a second.
            await anyio.sleep(0.1)
            async with desk.working():
                done = await desk.over("remember", task)

    assert done["status"] == "completed"
    assert (await desk.job(task)).attempts == 1


async def test_a_program_in_another_folder_files_its_own_facts_and_nobody_elses(
    desk: MemoryDesk, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await desk.queued("remember", FACT)
    folder, elsewhere = tmp_path / "app", tmp_path / "elsewhere"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COMMONPLACE_HOME", str(elsewhere))

    async with open_memory_async(home / "memory.db", embedder="none") as memory:
        own = await memory.remember_workspace_memory("We deploy with make ship")

    left = (await desk.get("remember", task)).json()
    assert (own.status, left["status"]) == ("completed", "queued")
    assert not [file for file in elsewhere.rglob("*.md") if "8080" in file.read_text(encoding="utf-8")]
