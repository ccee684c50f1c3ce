"""Two processes over one store: what is done to a session at the one reaches the other, which leads it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.compose.work import follow_events, follow_sessions
from commonplace.server.auth import AppState
from commonplace.service.history import History
from commonplace.settings import Settings
from commonplace.testing.agents import WHO
from commonplace.testing.daemon import InProcess, served
from commonplace.testing.events import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def leader(tmp_path: Path) -> AsyncGenerator[InProcess]:
    """One that hears what happens to its sessions."""
    async with served(tmp_path / "home") as running:
        state = AppState.of(running.app)
        await state.services.events.hub.open()
        tasks = [asyncio.create_task(follow(state, Settings())) for follow in (follow_events, follow_sessions)]
        yield running
        state.services.events.hub.close()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.fixture
async def elsewhere(tmp_path: Path, leader: InProcess) -> AsyncGenerator[History]:
    """The history as a program of its own sees it, such as a command."""
    async with served(tmp_path / "home") as running:
        yield running.services.history


async def opened(leader: InProcess) -> str:
    session = (await leader.client.post("/v1/sessions", json={})).json()["id"]
    assert (await leader.client.get(f"/v1/sessions/{session}/state")).status_code == 200
    assert leader.use_case(LiveSessions).in_use == (session,)
    return session


async def test_a_session_that_is_archived_by_another_process_is_let_go(leader: InProcess, elsewhere: History) -> None:
    session = await opened(leader)

    await elsewhere.change(WHO, session, {"archived": True})

    await until(lambda: leader.use_case(LiveSessions).in_use == ())


async def test_a_session_that_is_deleted_by_another_process_is_let_go(leader: InProcess, elsewhere: History) -> None:
    session = await opened(leader)

    await elsewhere.delete(WHO, session)

    await until(lambda: leader.use_case(LiveSessions).in_use == ())
    assert (await leader.client.get(f"/v1/sessions/{session}/state")).status_code == 404


async def test_a_session_that_is_renamed_by_another_process_stays_in_use(leader: InProcess, elsewhere: History) -> None:
    session = await opened(leader)
    ring = await leader.use_case(LiveSessions).ring(WHO, session)

    await elsewhere.change(WHO, session, {"title": "Deploys"})
    await elsewhere.change(WHO, session, {"archived": True})

    await until(lambda: ring.closed)


@pytest.mark.parametrize(("method", "body"), [("DELETE", None), ("PATCH", {"archived": True})])
async def test_what_ends_a_turn_is_for_the_process_that_plays_it(
    leader: InProcess, tmp_path: Path, method: str, body: dict[str, bool] | None
) -> None:
    session = await opened(leader)

    async with served(tmp_path / "home") as other:
        ended = await other.client.request(method, f"/v1/sessions/{session}", json=body)
        renamed = await other.client.patch(f"/v1/sessions/{session}", json={"title": "Deploys"})
    looked = (await leader.client.get(f"/v1/sessions/{session}")).json()

    assert (ended.status_code, ended.json()["error"]["code"]) == (409, "session_in_use")
    assert renamed.status_code == 200
    assert (looked["title"], looked["archived_at"]) == ("Deploys", None)
