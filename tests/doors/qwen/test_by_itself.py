"""A dream that nobody asked for: sessions end at the doors, and after a day and five of them the memory is tidied, once."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from commonplace.markdown.state import CHECKED_EVERY, REST
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, Opened
from commonplace.testing.lanes import BASE, MemoryDesk
from commonplace.values.job import Job

pytestmark = pytest.mark.anyio

Ended = Callable[[httpx.AsyncClient, str], Awaitable[httpx.Response]]
SAID = [{"speaker": "Ana", "text": "I prefer dark mode in all editors, please remember that for next time."}]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def desk(opened: Opened, clock: FakeClock, home: Path, workspace: Path) -> AsyncGenerator[MemoryDesk]:
    async with opened(clock=clock) as running:
        yield MemoryDesk(running, home, workspace)


async def extract(client: httpx.AsyncClient, session: str) -> httpx.Response:
    return await client.post("/v1/extract", json={"turns": SAID, "session": session, "agents": ["bo"]})


async def extract_and_wait(client: httpx.AsyncClient, session: str) -> httpx.Response:
    body = {"turns": SAID, "session": session, "agents": ["bo"]}
    return await client.post("/v1/extract", params={"wait": "true"}, json=body)


async def distill(client: httpx.AsyncClient, session: str) -> httpx.Response:
    body = {"session_id": session, "conversation": ["user: I prefer dark mode.", "assistant: Noted."]}
    return await client.post("/memory/context/distill", json=body)


async def flush(client: httpx.AsyncClient, session: str) -> httpx.Response:
    """As one user of the gateway, whose key reaches no memory of the workspace."""
    made = await client.post("/users", json={"user_id": f"user of {session}"})
    user = {"user_id": f"user of {session}", "user_key": made.json().get("user_key", "")}
    said = {"sender_id": "ana", "role": "user", "timestamp": 1_770_000_000_000, "content": "I like tea."}
    await client.post("/memories/add", json={**user, "session_id": session, "messages": [said]})
    return await client.post("/memories/flush", json={**user, "session_id": session})


async def dreams(running: InProcess) -> list[Job]:
    return await running.services.desk.store.jobs.list_jobs("default/default", kinds=("dream",))


async def dreamt(desk: MemoryDesk) -> None:
    """Consolidate now, because somebody asks for it."""
    id = await desk.queued("dream")
    async with desk.working():
        await desk.over("dream", id)


@pytest.mark.parametrize("end", [extract, extract_and_wait, distill, flush])
async def test_a_dream_comes_with_the_first_session_that_ends_a_day_and_five_sessions_after_the_last(
    desk: MemoryDesk, clock: FakeClock, end: Ended
) -> None:
    await dreamt(desk)
    clock.advance(REST - timedelta(hours=1))
    counts: list[int] = []
    for number in range(5):
        answer = await end(desk.client, f"s{number}")
        assert answer.is_success, answer.text
        counts.append(len(await dreams(desk.running)))
    clock.advance(timedelta(hours=2))

    for number in range(5, 8):
        await end(desk.client, f"s{number}")
        counts.append(len(await dreams(desk.running)))

    assert counts == [1, 1, 1, 1, 1, 2, 2, 2]


async def test_four_sessions_are_too_few_however_long_ago_it_was_and_one_counts_once(
    desk: MemoryDesk, clock: FakeClock
) -> None:
    await dreamt(desk)
    clock.advance(10 * REST)

    for number in (0, 1, 2, 3, 0, 1, 2, 3):
        await extract(desk.client, f"s{number}")

    assert len(await dreams(desk.running)) == 1


async def test_a_memory_that_was_never_tidied_needs_five_sessions_and_no_day(desk: MemoryDesk) -> None:
    counts: list[int] = []
    for number in range(6):
        await extract(desk.client, f"s{number}")
        counts.append(len(await dreams(desk.running)))

    [job] = await dreams(desk.running)
    async with desk.working():
        await desk.over("dream", job.id)
    for number in range(6, 12):
        await extract(desk.client, f"s{number}")

    assert counts == [0, 0, 0, 0, 1, 1]
    assert len(await dreams(desk.running)) == 1
    assert (job.created_by, job.payload["roots"]) == ("managed", ["user", "project"])


async def test_two_daemons_that_see_the_fifth_session_at_once_queue_one_dream(opened: Opened, clock: FakeClock) -> None:
    async with opened(clock=clock) as one, opened(clock=clock) as two:
        for number in range(4):
            await extract((one, two)[number % 2].client, f"s{number}")
        async with anyio.create_task_group() as ending:
            for number in range(4, 12):
                ending.start_soon(extract, (one, two)[number % 2].client, f"s{number}")

        found = await dreams(one)

    assert len(found) == 1


async def test_one_that_waits_already_is_enough_and_one_that_failed_is_asked_for_again_after_a_while(
    desk: MemoryDesk, clock: FakeClock
) -> None:
    asked = await desk.queued("dream")
    for number in range(5):
        await extract(desk.client, f"s{number}")
    waiting = [job.id for job in await dreams(desk.running)]
    await desk.client.delete(f"/v1/tasks/{asked}")

    await extract(desk.client, "s5")
    soon = len(await dreams(desk.running))
    clock.advance(CHECKED_EVERY)
    await extract(desk.client, "s6")

    assert waiting == [asked]
    assert (soon, len(await dreams(desk.running))) == (0, 1)


async def test_switched_off_it_never_comes_but_can_be_asked_for(opened: Opened) -> None:
    async with opened(managed_dream=False) as running:
        for number in range(6):
            await extract(running.client, f"s{number}")
        by_itself = await dreams(running)
        asked = await running.client.post(f"{BASE}/dream", json={})

    assert by_itself == []
    assert asked.status_code == 202


async def test_what_cannot_be_counted_disturbs_nobody(desk: MemoryDesk) -> None:
    desk.home.joinpath("memories").write_text("in the way")

    answers = [await extract(desk.client, f"s{number}") for number in range(6)]

    assert [answer.status_code for answer in answers] == [202] * 6


async def test_another_tenants_sessions_count_for_nothing(desk: MemoryDesk) -> None:
    headers: dict[str, Any] = {"X-Tenant": "acme/web"}
    for number in range(6):
        body = {"turns": SAID, "session": f"s{number}", "agents": ["bo"]}
        answer = await desk.client.post("/v1/extract", json=body, headers=headers)
        assert answer.status_code == 202

    assert await dreams(desk.running) == []
