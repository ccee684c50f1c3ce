"""`/workspace/memory` and `/capabilities`: the files of memory, shown and added to, and what this daemon can."""

from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.daemon import Opened
from commonplace.testing.lanes import BASE, MemoryDesk

pytestmark = pytest.mark.anyio


async def test_what_is_added_is_in_the_file_and_told_once(desk: MemoryDesk) -> None:
    wrote = await desk.client.post(BASE, json={"scope": "workspace", "content": "Run the tests first."})
    nothing = await desk.client.post(BASE, json={"scope": "workspace", "content": "  \n"})
    shown = (await desk.client.get(BASE)).json()

    file = desk.workspace / "MEMORY.md"
    size = file.stat().st_size
    assert wrote.json() == {
        "ok": True, "filePath": str(file), "bytesWritten": size, "mode": "append", "changed": True,
    }  # fmt: skip
    assert (nothing.json()["changed"], nothing.json()["bytesWritten"]) == (False, 0)
    assert "## Added Memories\n" in file.read_text(encoding="utf-8")
    assert shown == {
        "v": 1,
        "workspaceCwd": str(desk.workspace),
        "initialized": True,
        "files": [{"kind": "memory_file", "path": str(file), "scope": "workspace", "bytes": size}],
        "totalBytes": size,
        "fileCount": 1,
        "ruleCount": 0,
        "errors": [],
    }
    [(data, _)] = await desk.events("memory_changed")
    assert data == {"scope": "workspace", "filePath": str(file), "mode": "append", "bytesWritten": size}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (None, 400, "invalid_scope"),
        ({"content": "x"}, 400, "invalid_scope"),
        ({"scope": "project", "content": "x"}, 400, "invalid_scope"),
        ({"scope": "global", "content": "x", "mode": "insert"}, 400, "invalid_mode"),
        ({"scope": "global"}, 400, "invalid_content"),
        ({"scope": "global", "content": 7}, 400, "invalid_content"),
        ({"scope": "global", "content": "x" * (1024 * 1024 + 1)}, 400, "content_too_large"),
    ],
)
async def test_what_cannot_be_written_is_refused(desk: MemoryDesk, body: Any, status: int, code: str) -> None:
    refused = await desk.client.post(BASE, json=body)

    assert (refused.status_code, refused.json()["code"]) == (status, code)


async def test_a_file_that_has_grown_too_large_is_left_alone(desk: MemoryDesk) -> None:
    file = desk.workspace / "MEMORY.md"
    with file.open("wb") as grown:
        grown.truncate(16 * 1024 * 1024 + 1)

    refused = await desk.client.post(BASE, json={"scope": "workspace", "content": "One more."})

    assert (refused.status_code, refused.json()["code"]) == (413, "memory_file_too_large")


async def test_a_key_of_the_workspace_sees_and_writes_no_file_of_the_person(desk: MemoryDesk) -> None:
    await desk.client.post(BASE, json={"scope": "global", "content": "Mine."})
    made = await desk.client.post("/v1/keys", json={"name": "ci", "role": "writer", "scopes": ["workspace:web"]})
    key = {"Authorization": f"Bearer {made.json()['secret']}"}

    shown = await desk.client.get(BASE, headers=key)
    refused = await desk.client.post(BASE, json={"scope": "global", "content": "Not yours."}, headers=key)

    assert shown.json()["files"] == []
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_writing_needs_a_key_also_where_the_daemon_is_open(opened: Opened) -> None:
    async with opened(no_auth=True) as running:
        refused = await running.stranger.post(BASE, json={"scope": "workspace", "content": "x"})
        shown = await running.stranger.get(BASE)

    assert (refused.status_code, refused.json()["code"]) == (401, "token_required")
    assert shown.status_code == 200


async def test_the_capabilities_name_the_modes_and_the_scopes_that_are_honoured(desk: MemoryDesk) -> None:
    told = (await desk.client.get("/capabilities")).json()

    assert (told["v"], told["protocolVersions"]) == (1, {"current": "v1", "supported": ["v1"]})
    assert told["workspaceCwd"] == str(desk.workspace)
    assert told["featureDetails"]["workspace_memory_remember"]["modes"] == ["workspace", "clean"]
    assert {"workspace_memory_remember_project_scope", "workspace_memory_forget_scope"} <= set(told["features"])


async def test_the_memory_of_a_workspace_may_lie_in_it(opened: Opened, home: Path, workspace: Path) -> None:
    async with opened(managed_local=True) as running:
        desk = MemoryDesk(running, home, workspace)
        async with desk.working():
            body = await desk.done("remember", {"content": "The project ships on Fridays"})

    [file] = body["result"]["filesTouched"]
    assert Path(file).is_relative_to(workspace / ".commonplace" / "memory")
