"""Buttons and marks of a platform: the stop of an answer, and votes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from commonplace.agent.tools.tool import AgentTool
from commonplace.channels.votes import command_of_mark
from commonplace.ports.channel import ButtonPress, ChannelLimits
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import FakeChannel, RoomBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.events import until
from commonplace.values.channel import SenderLink
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio


def script(bench: TurnBench, *lines: Any) -> None:
    bench.model = ScriptedChatModel(*lines, then="Done.")


async def push() -> str:
    return "Pushed."


async def press(room: RoomBench, key: str, sender: str, action: str) -> str | None:
    return await room.residence.press(ButtonPress(chat="room-7", key=key, sender=sender, action=action))


async def test_an_answer_is_stopped_by_whoever_asked_for_it_and_by_nobody_else(bench: TurnBench) -> None:
    go_on = asyncio.Event()
    script(bench, ["A long ", go_on.wait, "answer."])
    room = RoomBench(bench, platform=FakeChannel(limits=ChannelLimits(edits=True, edit_seconds=0.0)))
    async with room.residence.open():
        message = await room.say("Ana", "Tell me")
        await until(lambda: bool(room.platform.messages))
        (key, first) = next(iter(room.platform.messages.items()))

        others = await press(room, key, "bob", "stop")
        unknown = await press(room, f"{key}-2", "ana", "stop")
        own = await press(room, key, "ana", "stop")
        await room.answered(message)
        await until(lambda: "Stopped." in (room.reply(message) or ""))
        late = await press(room, key, "ana", "stop")

    assert first.partial
    assert others is not None
    assert others != own
    assert (unknown, own, late) == (None, "Stopped.", None)


async def test_a_linked_sender_votes_by_a_button_and_a_stranger_does_not(bench: TurnBench) -> None:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    script(bench, ScriptedCall("push"), "It is pushed.")
    room = RoomBench(bench)
    await room.parts.store.put_link(
        DEFAULT_TENANT, SenderLink(identity="terminal:ana", subject="ana-lee", created_at=room.now), Entries()
    )
    async with room.residence.open():
        message = await room.say("Ana", "Push it")
        await until(lambda: any(sent.card for sent in room.platform.messages.values()))
        key = next(key for key, sent in room.platform.messages.items() if sent.card)

        stranger = await press(room, key, "eve", "approve")
        nonsense = await press(room, key, "ana", "format-disk")
        elsewhere = await room.residence.press(ButtonPress(chat="room-8", key=key, sender="ana", action="approve"))
        waiting = dict(room.platform.outcomes)
        vote = await press(room, key, "ana", "approve")
        await until(lambda: room.reply(message) == "It is pushed.")

    assert stranger is not None
    assert (nonsense, elsewhere, waiting, vote) == (None, None, {}, None)
    assert room.platform.outcomes[key].allowed
    assert room.platform.outcomes[key].voter == "ana-lee"


async def test_a_room_is_opened_with_its_title_and_keeps_it(bench: TurnBench) -> None:
    room = RoomBench(bench)
    async with room.residence.open():
        await room.residence.open_room("9", title="Releases", is_group=True)
        await room.residence.open_room("9")
        (first,) = await room.parts.store.rooms(DEFAULT_TENANT, "team")
        await room.residence.open_room("9", title="Releases and more")
        (second,) = await room.parts.store.rooms(DEFAULT_TENANT, "team")

    assert (first.title, second.title) == ("Releases", "Releases and more")
    assert first.created_at == second.created_at


@pytest.mark.parametrize(
    ("mark", "command"),
    [("👍", "approve"), ("👍🏽", "approve"), ("✅", "approve"), ("✔️", "approve"), ("👎", "deny"), ("❌", "deny")],
)
def test_marks_that_mean_yes_and_no(mark: str, command: str) -> None:
    assert command_of_mark(mark) == command


@pytest.mark.parametrize("mark", ["👀", "🎉", "", "approve", "a"])
def test_other_marks_mean_nothing(mark: str) -> None:
    assert command_of_mark(mark) is None
