"""The sessions in use, as people list them: which, what each does now, and the word that something has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.local_agent import LocalAgent
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import Forbidden
from commonplace.service.local import LocalMemory
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.values.event import Heard
from commonplace.values.principal import Principal
from commonplace.values.turn_event import PermissionAsked

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", tenant=WHO.tenant, role="writer")
BOB = Principal(subject="bob", tenant=WHO.tenant, role="writer")
READER = Principal(subject="rex", tenant=WHO.tenant, role="reader")
ADMIN = Principal(subject="eve", tenant=WHO.tenant, role="admin")
ELSEWHERE = Principal(subject="ana", tenant="acme/rockets", role="writer")


async def push() -> str:
    """Push it."""
    return "Pushed."


@pytest.fixture
def asking(bench: TurnBench) -> TurnBench:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    bench.model = ScriptedChatModel([ScriptedCall("push")], [ScriptedCall("push")], "Done.", "Done.")
    return bench


def live(bench: TurnBench) -> LiveSessions:
    assert bench.agent
    assert bench.sessions is not None
    return bench.sessions


async def begin(bench: TurnBench, who: Principal, id: str, *, shared: bool) -> str:
    """A turn of this person is played until it asks; answers what it asks."""
    await LocalMemory(bench.services, who).create_session("assistant", id=id, workspace="web", shared=shared)
    agent = LocalAgent(live(bench), who)
    ticket = await agent.say(id, "Push it")
    async with asyncio.timeout(5):
        async for heard in agent.hear(id, after=ticket.last_event):
            if isinstance(heard.event, PermissionAsked):
                return heard.event.request.id
    raise AssertionError


async def listed(bench: TurnBench, who: Principal, *, everyone: bool = False) -> list[tuple[str, str]]:
    return [(one.session.id, one.state) for one in await live(bench).activities(who, everyone=everyone)]


@asynccontextmanager
async def hearing(bench: TurnBench, who: Principal) -> AsyncGenerator[asyncio.Queue[Heard]]:
    """What this person is told of sessions from now on."""
    told: asyncio.Queue[Heard] = asyncio.Queue()

    async def hear() -> None:
        async for event in bench.services.events.follow(who, types=["session.activity"], after=0):
            await told.put(event)

    task = asyncio.create_task(hear())
    yield told
    task.cancel()


async def until(told: asyncio.Queue[Heard], state: str) -> Heard:
    async with asyncio.timeout(5):
        while (event := await told.get()).data["state"] != state:
            pass
        return event


async def test_sessions_in_use_are_listed_for_those_whose_own_list_has_them(asking: TurnBench) -> None:
    await begin(asking, ANA, "shared", shared=True)
    await begin(asking, BOB, "bobs", shared=False)

    assert await listed(asking, ANA) == [("shared", "asking")]
    assert sorted(await listed(asking, BOB)) == [("bobs", "asking"), ("shared", "asking")]
    assert await listed(asking, READER) == [("shared", "asking")]
    assert await listed(asking, ADMIN) == [("shared", "asking")]
    assert sorted(await listed(asking, ADMIN, everyone=True)) == [("bobs", "asking"), ("shared", "asking")]
    assert await listed(asking, ELSEWHERE) == []
    with pytest.raises(Forbidden):
        await listed(asking, BOB, everyone=True)


async def test_the_list_says_who_said_what_and_what_waits_and_what_asks_comes_first(asking: TurnBench) -> None:
    request = await begin(asking, ANA, "talk", shared=True)
    await LocalMemory(asking.services, BOB).create_session("assistant", id="idle")
    await live(asking).state(BOB, "idle")
    waits = await live(asking).say(BOB, "talk", "And then?")

    first, second = await live(asking).activities(BOB)

    assert (first.session.id, first.session.owner, first.state, second.session.id, second.state) == (
        "talk",
        "ana",
        "asking",
        "idle",
        "idle",
    )
    assert [(prompt.speaker, prompt.text, prompt.state) for prompt in first.prompts] == [
        ("ana", "Push it", "running"),
        ("bob", "And then?", "queued"),
    ]
    assert first.prompts[1].run == waits.run
    assert [permission.id for permission in first.permissions] == [request]


async def test_that_somebody_came_and_went_is_told(asking: TurnBench) -> None:
    await LocalMemory(asking.services, BOB).create_session("assistant", id="talk")
    await live(asking).state(BOB, "talk")
    async with hearing(asking, BOB) as told:
        await until(told, "idle")
        async with live(asking).attend(BOB, "talk"):
            await until(told, "idle")
        event = await until(told, "idle")

    assert event.data["id"] == "talk"


async def test_whoever_reaches_a_session_is_told_when_it_begins_asks_and_ends(asking: TurnBench) -> None:
    async with hearing(asking, BOB) as told, hearing(asking, ELSEWHERE) as nothing:
        request = await begin(asking, ANA, "talk", shared=True)
        await begin(asking, ANA, "private", shared=False)
        event = await until(told, "asking")
        await live(asking).answer(ANA, "talk", request, "allow_once")
        await until(told, "idle")
        await live(asking).settle(ANA, "talk")

    assert (event.data, str(event.scope)) == ({"id": "talk", "state": "asking", "queued": 0}, "workspace:web")
    assert await listed(asking, BOB) == [("talk", "idle")]
    assert told.empty()
    assert nothing.empty()
