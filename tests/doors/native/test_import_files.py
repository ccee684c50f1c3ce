"""Files that come with a request, over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.jobs.payloads import IMPORT_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.service.transfer import IMPORT
from commonplace.testing.daemon import InProcess
from commonplace.values.job import ENDED, PRIVATE

pytestmark = pytest.mark.anyio

Import = Callable[..., Awaitable[dict[str, Any]]]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def files(**texts: str) -> list[dict[str, str]]:
    return [{"path": path.replace("__", "/").replace("_md", ".md"), "text": text} for path, text in texts.items()]


def is_there(home: Path, name: str) -> bool:
    return any(home.rglob(name))


@pytest.fixture
def brought(running: InProcess) -> Import:
    """What came of an import, once a worker has done it."""

    async def brought_in(sent: list[dict[str, str]], **more: Any) -> dict[str, Any]:
        services, http = running.services, running.client
        answer = await http.post("/v1/import/files", json={"scope": "workspace:web", "files": sent, **more})
        assert answer.status_code == 202, answer.text
        queues = {IMPORT: Queue(handler=services.moving.run_import, payload=IMPORT_PAYLOAD)}
        worker = Worker(services.desk.store, services.desk.clock, queues, look_every=0.02)
        working = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(5):
                while (task := (await http.get(answer.headers["Location"])).json())["state"] not in ENDED:  # noqa: ASYNC110 - asked as anybody would ask
                    await asyncio.sleep(0.01)
        finally:
            working.cancel()
            await asyncio.wait({working})
        return task

    return brought_in


async def test_files_become_records_that_know_the_paths_they_were_sent_with(
    http: httpx.AsyncClient, brought: Import, running: InProcess, home: Path
) -> None:
    task = await brought(files(notes__a_md="# Wombats\n\nThey dig.", b_md="Numbats eat termites."))

    records = (await http.get("/v1/records?scope=workspace:web&order=oldest")).json()["records"]
    job = await running.services.desk.store.jobs.job("default/default", task["id"])
    assert (task["state"], task["scope"], task["kind"]) == ("done", "workspace:web", "import")
    assert (task["result"]["indexed_files"], task["result"]["problems"]) == (2, [])
    assert sorted((one["provenance"]["file"], one["trust"], one["source"]) for one in records) == [
        ("b.md", "external_user_supplied", "file"),
        ("notes/a.md", "external_user_supplied", "file"),
    ]
    assert PRIVATE not in job.payload
    assert not is_there(home, "a.md")


async def test_the_same_files_again_change_nothing_and_another_text_is_the_next_version(
    http: httpx.AsyncClient, brought: Import
) -> None:
    await brought(files(a_md="They dig.", b_md="They eat."))

    again = (await brought(files(a_md="They dig.", b_md="They eat.")))["result"]
    # As long as before: no time tells the two apart.
    other = (await brought(files(a_md="They dog.", b_md="They eat.")))["result"]

    records = (await http.get("/v1/records?scope=workspace:web")).json()["records"]
    assert (again["indexed_files"], again["skipped_files"]) == (0, 2)
    assert (other["indexed_files"], other["skipped_files"]) == (1, 1)
    assert sorted((one["text"], one["version"]) for one in records) == [("They dog.", 2), ("They eat.", 1)]


async def test_every_file_that_is_left_out_is_named_with_a_reason(http: httpx.AsyncClient, brought: Import) -> None:
    bad = {
        "picture.png": "x",
        ".obsidian/plan.md": "x",
        "node_modules/readme.md": "x",
        "binary.md": "a\0b",
        "broken.md": "\ufffd" * 10,
        "large.md": "x" * (2 * 1024 * 1024 + 1),
        "key.md": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\n",
    }
    sent = [{"path": path, "text": text} for path, text in bad.items()]

    result = (await brought([*sent, *files(good_md="They dig.")]))["result"]

    assert {one["file"] for one in result["problems"]} == set(bad)
    assert all(one["reason"] for one in result["problems"])
    assert (result["discovered_files"], result["indexed_files"], result["errors"]) == (8, 1, 7)
    assert len((await http.get("/v1/records")).json()["records"]) == 1


async def test_a_secret_in_a_file_reaches_neither_the_queue_nor_the_memory(
    running: InProcess, brought: Import, home: Path
) -> None:
    secret = "ghp_" + "a1B2" * 9
    answer = await running.client.post("/v1/import/files", json={"files": files(a_md=f"The token is {secret}")})
    waiting = await running.services.desk.store.jobs.job("default/default", answer.json()["job"]["id"])

    await brought(files(a_md=f"The token is {secret}"))

    assert secret not in str(waiting.payload)
    assert secret not in (await running.client.get("/v1/records")).text


async def test_openclaw_notes_are_found_wherever_they_lie_and_dated(http: httpx.AsyncClient, brought: Import) -> None:
    sent = [
        {"path": "claw/workspace/MEMORY.md", "text": "The whole."},
        {"path": "claw/workspace/memory/2026-02-03.md", "text": "The day."},
        {"path": "claw/README.md", "text": "Not memory."},
    ]

    result = (await brought(sent, format="openclaw"))["result"]

    records = (await http.get("/v1/records?scope=workspace:web")).json()["records"]
    assert [one["file"] for one in result["problems"]] == ["claw/README.md"]
    assert {one["text"]: one["at"] for one in records} == {
        "The whole.": None,
        "The day.": "2026-02-03T00:00:00.000Z",
    }


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd.md", "../a.md", "a/../b.md", "a//b.md", "a\\b.md", "C:/a.md", "", "a/", "a\u202eb.md", "x" * 2000],
)
async def test_a_path_that_is_not_a_plain_relative_one_is_refused_and_nothing_is_queued(
    http: httpx.AsyncClient, path: str
) -> None:
    answer = await http.post("/v1/import/files", json={"files": [*files(good_md="x"), {"path": path, "text": "x"}]})

    assert code(answer) == (400, "invalid_input")
    assert (await http.get("/v1/tasks")).json()["tasks"] == []


async def test_a_file_sent_twice_and_no_file_at_all_are_refused(http: httpx.AsyncClient) -> None:
    twice = await http.post("/v1/import/files", json={"files": [*files(a_md="x"), *files(a_md="y")]})
    none = await http.post("/v1/import/files", json={"files": []})

    assert code(twice) == code(none) == (400, "invalid_input")


async def test_the_same_import_waits_for_the_one_that_is_queued(http: httpx.AsyncClient) -> None:
    body = {"files": files(a_md="They dig.")}

    first = await http.post("/v1/import/files", json=body)
    second = await http.post("/v1/import/files", json=body)

    assert first.json()["job"]["id"] == second.json()["job"]["id"]


async def test_a_writer_needs_no_import_root_but_the_scope(http: httpx.AsyncClient, keyed: Any) -> None:
    headers, reader = await keyed("writer", "workspace:web"), await keyed("reader")
    body = {"files": files(a_md="They dig.")}

    theirs = await http.post("/v1/import/files", json={**body, "scope": "workspace:web"}, headers=headers)
    others = await http.post("/v1/import/files", json={**body, "scope": "user:ana"}, headers=headers)
    only_reads = await http.post("/v1/import/files", json=body, headers=reader)

    assert theirs.status_code == 202
    assert code(others) == code(only_reads) == (403, "forbidden")
    assert "They dig" not in theirs.text
