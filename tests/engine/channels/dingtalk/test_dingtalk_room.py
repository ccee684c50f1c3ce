"""A room of DingTalk: what people write is answered there, in order and by name, and what is written without being asked comes, too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai.messages import UserPromptPart

from commonplace.ports.channel import Outgoing
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.dingtalk.bench import open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, direct, said
from commonplace.testing.dingtalk.server import DingTalkServer, RobotWords
from commonplace.testing.events import until

pytestmark = pytest.mark.anyio


def script(bench: TurnBench, *lines: Any) -> ScriptedChatModel:
    bench.model = model = ScriptedChatModel(*lines, then="Done.")
    return model


def prompts(model: ScriptedChatModel) -> list[str]:
    """What each request ends with."""
    last = [request[-1].parts[-1] for request in model.requests]
    return [str(part.content) for part in last if isinstance(part, UserPromptPart)]


async def test_two_people_are_answered_in_order_and_by_name(bench: TurnBench, server: DingTalkServer) -> None:
    go_on = asyncio.Event()
    model = script(bench, [go_on.wait, "On Fridays."], "At noon.")
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        first = await server.push(said("When do we ship?"))
        await until(lambda: bool(model.requests))
        second = await server.push(said("At what time?", "bob"))
        go_on.set()

        answers = await room.texts(2)

    assert (first["code"], second["code"]) == (200, 200)
    assert answers == ["On Fridays.", "At noon."]
    assert prompts(model) == ["[Ana] When do we ship?", "[Bob] At what time?"]
    assert {words.way for words in server.rooms[GROUP]} == {"webhook"}


async def test_a_cold_group_is_written_to_by_its_id(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(Outgoing(chat=GROUP, text="Good morning", key="k"))

    assert server.rooms[GROUP] == [RobotWords(way="group", title="Good morning", text="Good morning")]


async def test_a_talk_of_two_is_answered_without_a_mention(bench: TurnBench, server: DingTalkServer) -> None:
    model = script(bench, "Hello, Ana.")
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        message = direct("Hello")
        await server.push(message)

        answers = await room.texts(1, message["conversationId"])

    assert answers == ["Hello, Ana."]
    assert prompts(model) == ["Hello"]


async def test_a_command_behind_the_robots_name_is_done_once_the_name_is_configured_or_learned(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench)
    command = said("", text={"content": "@Release Bot /status"})
    async with open_dingtalk(bench, server, robot_name="@Release Bot") as room:
        await room.connected()
        await server.push(command)
        [configured] = await room.texts(1)
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.push(said("", text={"content": "@Release Bot\u2005/status"}))
        await room.texts(2)
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.push({**command, "msgId": "another"})
        answers = await room.texts(3)

    assert "Nothing is running." in configured
    assert all("Nothing is running." in answer for answer in answers)


async def test_a_word_that_begins_as_a_mention_comes_to_the_agent(bench: TurnBench, server: DingTalkServer) -> None:
    model = script(bench)
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.push(said("install @types/node and ping me"))
        await room.texts(1)

    assert prompts(model) == ["[Ana] install @types/node and ping me"]
