"""Which session of the agent a message goes to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.events import until
from commonplace.values.channel import GroupSettings, RouteScope
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio


def script(bench: TurnBench, *lines: Any) -> ScriptedChatModel:
    bench.model = model = ScriptedChatModel(*lines, then="Done.")
    return model


def prompts(model: ScriptedChatModel) -> list[str]:
    """What each request ends with."""
    return [str(getattr(request[-1].parts[-1], "content", "")) for request in model.requests]


async def sessions(room: RoomBench) -> dict[str, str]:
    """By the keys of their routes."""
    return {route.key: route.session for route in await room.parts.store.routes(DEFAULT_TENANT, "team")}


@pytest.mark.parametrize(
    ("route", "keys", "asked"),
    [
        ("user", ["ana\n1", "ana\n2", "bob\n1"], "Hi"),
        ("single", ["__single__"], "[Ana] Hi"),
        ("thread", ["1", "2", "t"], "[Ana] Hi"),
        ("chat_thread", ["1", "1\nt", "2"], "[Ana] Hi"),
    ],
)
async def test_each_route_has_the_sessions_that_its_name_says(
    bench: TurnBench, route: RouteScope, keys: list[str], asked: str
) -> None:
    model = script(bench)
    room = RoomBench(bench, replace(OPEN, route=route))
    async with room.residence.open():
        for name, chat, thread in (("Ana", "1", None), ("Bob", "1", None), ("Ana", "2", None), ("Ana", "1", "t")):
            await room.answered(await room.say(name, "Hi", chat=chat, thread=thread))

    found = await sessions(room)
    assert sorted(found) == keys
    assert len(set(found.values())) == len(keys)
    assert prompts(model)[0] == asked


async def test_a_session_of_one_person_is_theirs_in_a_group_and_nobody_else_is_in_its_prompt(bench: TurnBench) -> None:
    model = script(bench)
    room = RoomBench(bench, replace(OPEN, route="user"))
    async with room.residence.open():
        await room.answered(await room.say("Ana", "My word is teapot."))
        await room.answered(await room.say("Bob", "What is her word?"))

    assert "teapot" not in str(model.requests[1])
    assert prompts(model)[1] == "What is her word?"


async def test_what_is_collected_in_a_session_of_one_person_names_nobody(bench: TurnBench) -> None:
    go_on = asyncio.Event()
    model = script(bench, [go_on.wait, "One."], "Both.")
    room = RoomBench(bench, replace(OPEN, route="user", dispatch="collect"))
    async with room.residence.open():
        first = await room.say("Ana", "When?")
        await until(lambda: bool(model.requests))
        await room.say("Ana", "Where?")
        last = await room.say("Ana", "Who?")
        await room.residence.settle()
        go_on.set()

        await room.answered(first, last)

    assert prompts(model) == ["When?", "Where?\n\nWho?"]


async def test_a_single_session_is_that_of_all_rooms_with_the_agent_of_whoever_began_it(bench: TurnBench) -> None:
    model = script(bench)
    groups = {"1": GroupSettings(), "2": GroupSettings(agent="other")}
    room = RoomBench(bench, replace(OPEN, route="single", groups=groups))
    async with room.residence.open():
        first = await room.say("Ana", "My word is teapot.", chat="1")
        await room.answered(first)
        second = await room.say("Bob", "What is her word?", chat="2")
        await room.answered(second)
        await room.handled()

    [session] = (await sessions(room)).values()
    assert (await room.parts.history.session(room.residence.owner, session)).agent == "assistant"
    assert "teapot" in str(model.requests[1])
    # Each is answered where it was asked.
    assert [message.chat for message in room.platform.messages.values()] == ["1", "2"]


async def test_a_room_whose_session_was_deleted_begins_another_one(bench: TurnBench) -> None:
    model = script(bench)
    room = RoomBench(bench)
    async with room.residence.open():
        await room.answered(await room.say("Ana", "My word is teapot."))
        before = await sessions(room)
        await room.parts.agent.let_go(DEFAULT_TENANT, before["room-7"], forget=True)
        await room.parts.history.delete(room.residence.owner, before["room-7"])

        status = await room.answered(await room.say("Bob", "/status"))
        answer = await room.answered(await room.say("Bob", "What is her word?"))
        after = await sessions(room)

    assert status == ["Nothing is running. Session: —."]
    assert answer == ["Done."]
    assert before.keys() == after.keys()
    assert before != after
    assert "teapot" not in str(model.requests[1])


async def test_a_room_with_another_agent_begins_another_session_and_keeps_it(bench: TurnBench) -> None:
    script(bench)
    room = RoomBench(bench)
    async with room.residence.open():
        await room.answered(await room.say("Ana", "Hi"))
        await room.handled()
    before = await sessions(room)
    moved = RoomBench(bench, replace(OPEN, groups={"*": GroupSettings(agent="other")}), platform=room.platform)

    async with moved.residence.open():
        await moved.answered(await moved.say("Ana", "Hi"))
        after = await sessions(moved)
        await moved.answered(await moved.say("Ana", "Hi"))
        await moved.handled()

    assert before["room-7"] != after["room-7"]
    assert await sessions(moved) == after
