"""A writer imports over HTTP and swaps what is imported: the job ends, names what it left out, and no record has the token."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.jobs.payloads import IMPORT_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.service.transfer import IMPORT
from commonplace.testing.daemon import TOKEN, InProcess, served
from commonplace.testing.traps import before_open
from commonplace.values.job import ENDED

pytestmark = pytest.mark.anyio


class Writer:
    """Somebody with a writer's key who may write into `folder`, below an import root."""

    def __init__(self, running: InProcess, headers: dict[str, str], folder: Path, token: Path) -> None:
        self.folder = folder
        self.token = token
        self._running = running
        self._headers = headers

    async def queue(self) -> str:
        body = {"path": str(self.folder), "scope": "workspace:web"}
        answer = await self._running.stranger.post("/v1/import", json=body, headers=self._headers)
        assert answer.status_code == 202, answer.text
        return answer.headers["Location"]

    async def task(self, location: str) -> dict[str, Any]:
        """The task, once a worker has ended it."""
        services = self._running.services
        queues = {IMPORT: Queue(handler=services.moving.run_import, payload=IMPORT_PAYLOAD)}
        worker = Worker(services.desk.store, services.desk.clock, queues, look_every=0.02)
        working = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(10):
                while (task := await self._get(location))["state"] not in ENDED:  # noqa: ASYNC110 - as anybody would ask
                    await asyncio.sleep(0.01)
        finally:
            working.cancel()
            await asyncio.wait({working})
        return task

    async def texts(self) -> dict[str, str]:
        """What the writer can read afterwards, by the files it came from."""
        records = (await self._get("/v1/records"))["records"]
        return {record["provenance"]["file"]: record["text"] for record in records}

    async def _get(self, path: str) -> dict[str, Any]:
        return (await self._running.stranger.get(path, headers=self._headers)).json()


def _fill(home: Path, folder: Path) -> None:
    home.mkdir(exist_ok=True)
    for name in ("token", "note.md"):
        (home / name).write_text(TOKEN, encoding="utf-8")
    (folder / "sub").mkdir(parents=True)
    for name in ("a.md", "note.md", "sub/note.md", "z.md"):
        (folder / name).write_text(f"the text of {name}", encoding="utf-8")


@pytest.fixture
async def writer(home: Path, tmp_path: Path) -> AsyncGenerator[Writer]:
    folder, token = tmp_path / "roots" / "notes", home / "token"
    _fill(home, folder)
    async with served(home, import_roots=[tmp_path / "roots"]) as running:
        created = await running.client.post("/v1/keys", json={"name": "agent", "role": "writer"})
        headers = {"Authorization": f"Bearer {created.json()['secret']}"}
        yield Writer(running, headers, folder, token)


def _link(writer: Writer) -> None:
    (writer.folder / "note.md").unlink()
    (writer.folder / "note.md").symlink_to(writer.token)


def _pipe(writer: Writer) -> None:
    (writer.folder / "note.md").unlink()
    os.mkfifo(writer.folder / "note.md")


def _grow(writer: Writer) -> None:
    os.truncate(writer.folder / "note.md", 2 * 1024 * 1024 + 1)


def _folder(writer: Writer) -> None:
    (writer.folder / "sub").rename(writer.folder / "aside")
    (writer.folder / "sub").symlink_to(writer.token.parent)


def _root(writer: Writer) -> None:
    writer.folder.rename(writer.folder.with_name("aside"))
    writer.folder.symlink_to(writer.token.parent)


@pytest.mark.parametrize(
    ("swap", "problems"),
    [(_link, ["note.md"]), (_pipe, ["note.md"]), (_grow, ["note.md"]), (_folder, ["sub/note.md"]), (_root, [])],
)
async def test_what_is_swapped_between_survey_and_reading_is_named_in_the_result(
    writer: Writer, swap: Callable[[Writer], None], problems: list[str]
) -> None:
    location = await writer.queue()

    with before_open("a.md", lambda: swap(writer)) as trap:
        task = await writer.task(location)

    assert trap.sprung
    assert task["state"] == "done"
    assert [problem["file"] for problem in task["result"]["problems"] if problem["reason"]] == problems
    expected = {"a.md", "note.md", "sub/note.md", "z.md"} - set(problems)
    assert await writer.texts() == {name: f"the text of {name}" for name in expected}


async def test_a_folder_swapped_for_a_link_while_its_task_waits_fails_the_task(writer: Writer) -> None:
    location = await writer.queue()
    _root(writer)

    task = await writer.task(location)

    assert (task["state"], task["error"]["code"]) == ("failed", "path_escape")
    assert await writer.texts() == {}
