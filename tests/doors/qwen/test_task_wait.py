"""One request that waits for a task, in the place of many that look at it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from starlette.types import Message

from commonplace import AsyncClient
from commonplace.compose.background import Background
from commonplace.compose.daemon import running
from commonplace.compose.work import follow_events, work_on_jobs
from commonplace.server.auth import AppState
from commonplace.settings import load_settings
from commonplace.testing.daemon import TOKEN
from commonplace.testing.lanes import SHIP, MemoryDesk

pytestmark = pytest.mark.anyio

LOOKS = ["/workspace/memory/remember/{}", "/v1/remember/{}", "/v1/tasks/{}"]


async def look(desk: MemoryDesk, path: str, wait: object = None) -> httpx.Response:
    return await desk.client.get(path, params={} if wait is None else {"wait": str(wait)})


async def begun(desk: MemoryDesk) -> None:
    """Until somebody waits."""
    with anyio.fail_after(5):
        while not desk.running.services.job_waiter.waiting:
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("path", LOOKS)
async def test_a_look_that_waits_is_answered_when_the_task_is_over(desk: MemoryDesk, path: str) -> None:
    where = path.format(await desk.queued("remember", {"content": SHIP}))
    before = (await look(desk, where)).json()
    waiting = asyncio.create_task(look(desk, where, 30))
    await begun(desk)

    async with desk.working():
        with anyio.fail_after(5):
            told = await waiting
    after = await look(desk, where)

    assert before.get("status", before.get("state")) == "queued"
    assert (told.status_code, told.json()) == (200, after.json())
    assert told.json().get("status", told.json().get("state")) in ("completed", "done")


@pytest.mark.parametrize("kind", ["forget", "dream"])
async def test_the_sibling_lanes_wait_too(desk: MemoryDesk, kind: str) -> None:
    id = await desk.queued(kind, {"query": "the release day"} if kind == "forget" else None)

    async with desk.working():
        with anyio.fail_after(5):
            told = [await look(desk, f"{base}/{kind}/{id}", 30) for base in ("/workspace/memory", "/v1")]

    assert [one.json()["status"] for one in told] == ["completed", "completed"]


@pytest.mark.parametrize("path", LOOKS)
async def test_a_wait_that_is_over_first_tells_how_the_task_stands(desk: MemoryDesk, path: str) -> None:
    where = path.format(await desk.queued("remember", {"content": SHIP}))
    plain = await look(desk, where)

    with anyio.fail_after(5):
        waited = await look(desk, where, 0.02)

    assert (waited.status_code, waited.json()) == (200, plain.json())


@pytest.mark.parametrize("wait", ["-1", "30.1", "nan", "inf", "soon", ""])
async def test_a_wait_that_is_none_is_refused(desk: MemoryDesk, wait: str) -> None:
    id = await desk.queued("remember", {"content": SHIP})

    told = [await look(desk, path.format(id), wait) for path in LOOKS]

    assert [one.status_code for one in told] == [400, 400, 400]
    assert [told[0].json()["code"], told[1].json()["error"]["code"]] == ["invalid_input", "invalid_input"]


async def test_nobody_waits_for_what_they_do_not_see(desk: MemoryDesk) -> None:
    id = await desk.queued("remember", {"content": SHIP}, client="one")

    with anyio.fail_after(5):
        other = await desk.client.get(
            f"/workspace/memory/remember/{id}", params={"wait": 30}, headers={"X-Client-Id": "two"}
        )
        stranger = await desk.running.stranger.get(f"/workspace/memory/remember/{id}", params={"wait": 30})

    assert (other.status_code, other.json()["code"]) == (404, "remember_task_not_found")
    assert stranger.status_code == 401
    assert desk.running.services.job_waiter.waiting == 0


async def test_a_task_that_is_dropped_meanwhile_is_not_found(desk: MemoryDesk) -> None:
    id = await desk.queued("remember", {"content": SHIP})
    waiting = asyncio.create_task(look(desk, f"/v1/remember/{id}", 30))
    await begun(desk)

    dropped = await desk.client.delete(f"/v1/tasks/{id}")
    with anyio.fail_after(5):
        told = await waiting

    assert (dropped.status_code, told.status_code) == (204, 404)


async def test_a_caller_who_hangs_up_is_not_waited_for(desk: MemoryDesk) -> None:
    id = await desk.queued("remember", {"content": SHIP})
    hung_up = asyncio.Event()
    given: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if given:
            return given.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        del message

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": f"/v1/remember/{id}",
        "query_string": b"wait=30",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())],
        "client": ("127.0.0.1", 50_000),
    }
    answering = asyncio.create_task(desk.running.app(scope, receive, send))
    await begun(desk)

    hung_up.set()
    with anyio.fail_after(5):
        await answering

    assert desk.running.services.job_waiter.waiting == 0


async def test_the_time_somebody_waited_is_not_taken_for_slowness(desk: MemoryDesk) -> None:
    id = await desk.queued("remember", {"content": SHIP})
    await look(desk, f"/v1/remember/{id}", 0.6)

    page = (await desk.client.get("/metrics")).text
    [line] = [
        line
        for line in page.splitlines()
        if 'route="/v1/remember/{id}"' in line and 'le="0.5"' in line and "request_seconds_bucket" in line
    ]

    assert line.endswith(" 1.0")


# ---- several daemons


@asynccontextmanager
async def daemon(
    tmp_path: Path, store: object, tasks: tuple[Background, ...]
) -> AsyncGenerator[tuple[httpx.AsyncClient, AppState, asyncio.Event]]:
    """All of a daemon but for the network."""
    workspace = tmp_path / "web"
    workspace.mkdir(exist_ok=True)
    given: Mapping[str, Any] = {"home": tmp_path / "home", "workspace": workspace, "store": str(store)}
    settings = load_settings(embedder="none", token=TOKEN, **given)
    async with running(settings, tasks=tasks) as app:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            yield client, AppState.of(app), app.state.stopping


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> object:
    """A store for several daemons."""
    del home
    return request.getfixturevalue("address") if request.param == "postgres" else tmp_path / "memory.db"


async def test_a_task_that_another_daemon_does_is_waited_for(tmp_path: Path, shared: object) -> None:
    async with (
        daemon(tmp_path, shared, (follow_events,)) as (idle, app_state, _),
        daemon(tmp_path, shared, (follow_events, work_on_jobs)),
    ):
        with anyio.fail_after(5):
            id = (await idle.post("/v1/remember", json={"content": SHIP})).json()["id"]
            told = (await idle.get(f"/v1/remember/{id}", params={"wait": 30})).json()

    assert told["status"] == "completed"
    assert app_state.services.job_waiter.waiting == 0


async def test_a_daemon_that_stops_tells_whoever_waits_how_the_task_stands(tmp_path: Path, home: Path) -> None:
    async with daemon(tmp_path, home / "memory.db", ()) as (client, app_state, stopping):
        id = (await client.post("/v1/remember", json={"content": SHIP})).json()["id"]
        waiting = asyncio.create_task(client.get(f"/v1/remember/{id}", params={"wait": 30}))
        with anyio.fail_after(5):
            while not app_state.services.job_waiter.waiting:
                await anyio.lowlevel.checkpoint()
            stopping.set()
            told = await waiting

    assert (told.status_code, told.json()["status"]) == (200, "queued")


# ---- the client


async def test_the_client_waits_in_one_request(desk: MemoryDesk) -> None:
    asked: list[str] = []
    transport = _Counted(desk, asked)
    async with AsyncClient("http://127.0.0.1", TOKEN, transport=transport) as client:
        task = await client.remember_workspace_memory(SHIP)
        waiting = asyncio.create_task(client.get_workspace_memory_remember_task(task.id, wait=30))
        await begun(desk)
        async with desk.working():
            with anyio.fail_after(5):
                done = await waiting

    assert (done.status, asked) == ("completed", ["/v1/remember", f"/v1/remember/{task.id}?wait=30"])


class _Counted(httpx.ASGITransport):
    def __init__(self, desk: MemoryDesk, asked: list[str]) -> None:
        super().__init__(app=desk.running.app)
        self._asked = asked

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._asked.append(request.url.raw_path.decode())
        return await super().handle_async_request(request)
