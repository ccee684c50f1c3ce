"""The connection: a message is acknowledged when it is kept, answered once however often it comes, and a connection that is lost is opened again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from commonplace.channels.dingtalk.options import DingTalkTimes
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import Inbox
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.dingtalk.bench import QUICK, DingTalkRoom, open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, direct, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault
from commonplace.testing.events import until
from commonplace.values.channel import RoomMessage
from commonplace.values.envelope import Envelope
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio


async def answered(room: DingTalkRoom, words: str) -> str:
    """Say it, and wait for the answer."""
    before = len(room.server.rooms[GROUP])
    await room.server.push(said(words))
    return (await room.texts(before + 1))[-1]


async def another(server: DingTalkServer, before: Any) -> None:
    """Wait for a connection that is not this one."""
    await until(lambda: bool(server.links) and server.links[-1] is not before)


async def test_what_comes_twice_is_acknowledged_twice_and_answered_once(
    bench: TurnBench, server: DingTalkServer
) -> None:
    bench.model = model = ScriptedChatModel(then="Done.")
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        message = said("Hello", msgId="same")
        acks = [await server.push(message), await server.push(message)]
        await room.texts(1)
        await answered(room, "And now?")

    assert [ack["code"] for ack in acks] == [200, 200]
    assert len(model.requests) == 2
    assert len(server.rooms[GROUP]) == 2


async def test_what_cannot_be_kept_is_not_acknowledged_and_comes_again(
    bench: TurnBench, server: DingTalkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        receive: Any = room.residence.receive

        async def full(envelope: Envelope) -> RoomMessage | None:
            raise CommonplaceError("The disk is full.")

        inbox: Inbox = room.residence
        monkeypatch.setattr(inbox, "receive", full)
        refused = await server.push(said("Hello", msgId="m"))
        monkeypatch.setattr(inbox, "receive", receive)
        taken = await server.push(said("Hello", msgId="m"))
        await room.texts(1)

    assert (refused["code"], taken["code"]) == (500, 200)
    assert "not_kept" in room.events


async def test_an_acknowledgement_does_not_wait_for_the_turn(bench: TurnBench, server: DingTalkServer) -> None:
    go_on = asyncio.Event()
    bench.model = ScriptedChatModel([go_on.wait, "At last."])
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        ack = await server.push(said("Hello"))
        before = list(server.rooms[GROUP])
        go_on.set()
        answers = await room.texts(1)

    assert (ack["code"], json.loads(ack["data"])) == (200, {"response": {}})
    assert (before, answers) == ([], ["At last."])


async def test_a_message_without_a_conversation_is_dropped_and_said(bench: TurnBench, server: DingTalkServer) -> None:
    bench.model = model = ScriptedChatModel(then="Done.")
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        ack = await server.push(said("Hello", conversationId=None, sessionWebhook=f"{server.url}/robot/sendBySession"))
        await answered(room, "And now?")
        rooms = await room.parts.store.rooms(DEFAULT_TENANT, "ding")

    assert ack["code"] == 200
    assert "no_conversation" in room.events
    assert (len(model.requests), [one.chat for one in rooms]) == (1, [GROUP])


async def test_a_ping_is_answered_with_what_it_brought(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()

        ack = await server.ping()

    assert (ack["code"], json.loads(ack["data"])) == (200, {"opaque": "0aa2e3c2"})


async def test_it_connects_anew_when_it_is_asked_to_and_goes_on(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        for number in range(3):
            before = server.links[-1]
            await server.disconnect()
            await another(server, before)
            await answered(room, f"And {number}?")

    assert len(server.rooms[GROUP]) == 3
    assert len(server.made("/connections/open")) == 4


async def test_being_asked_again_and_again_costs_a_pause_each(bench: TurnBench, server: DingTalkServer) -> None:
    times = DingTalkTimes(settled=60.0, ping=1.0)
    async with open_dingtalk(bench, server, times=times) as room:
        await room.connected()
        before = server.links[-1]
        await server.disconnect()
        await another(server, before)

    assert "waiting" in room.events


@pytest.mark.parametrize(
    "garbage",
    ["", "{", '{"type": "CALLBACK"', "[]", "null", "{}", b"\xff\xfe", '{"headers": 7}', "[" * 5_000],
)
async def test_garbage_is_noted_and_costs_nothing_else(
    bench: TurnBench, server: DingTalkServer, garbage: str | bytes
) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.say_raw(garbage)
        await answered(room, "Are you there?")

    assert "malformed" in room.events
    assert len(server.made("/connections/open")) == 1


async def test_a_message_of_another_shape_is_refused_and_noted(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        ack = await server.push(said("Hi", text=7))
        other = await server.push(said("Hi"), topic="/v1.0/im/bot/messages/delegate")

    assert (ack["code"], other["code"]) == (400, 404)
    assert "malformed" in room.events


async def test_connections_that_last_a_moment_lose_nothing_and_answer_nothing_twice(
    bench: TurnBench, server: DingTalkServer
) -> None:
    bench.model = model = ScriptedChatModel(then="Done.")
    messages = [said(f"Number {number}", f"person-{number}") for number in range(6)]
    ended: list[Any] = []
    async with open_dingtalk(bench, server) as room:
        for number, message in enumerate(messages):
            await until(lambda: bool(server.links) and server.links[-1] not in ended)
            if number % 2:
                # As if its acknowledgement had got lost with the connection.
                await server.push(messages[number - 1])
            await server.push(message)
            ended.append(server.links[-1])
            await (server.disconnect() if number % 3 == 0 else ended[-1].close())
        answers = await room.texts(len(messages))
        await until(lambda: not room.residence.is_busy)

    assert answers == ["Done."] * len(messages)
    assert len(model.requests) == len(messages)
    assert len(server.rooms[GROUP]) == len(messages)


async def test_half_a_frame_ends_a_connection_and_nothing_else(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        before = server.links[-1]
        server.break_off()
        await another(server, before)
        answer = await answered(room, "Are you there?")

    assert answer == "Done."
    assert "waiting" in room.events


async def test_a_connection_that_falls_silent_is_given_up(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        before = server.links[-1]
        server.fall_silent()
        await another(server, before)
        answer = await answered(room, "Are you there?")

    assert answer == "Done."
    assert any("silent" in entry.detail for entry in room.platform.log)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=429, headers={"Retry-After": "0"}),
        Fault(status=200, body="<html>"),
        Fault(status=200, body={"endpoint": ""}),
        Fault(cut=True, status=200),
    ],
)
async def test_a_gateway_that_fails_is_asked_again(bench: TurnBench, server: DingTalkServer, fault: Fault) -> None:
    server.fail("/connections/open", fault, fault)
    async with open_dingtalk(bench, server) as room:
        await room.connected()

    assert len(server.made("/connections/open")) == 3
    assert "waiting" in room.events


async def test_wrong_credentials_are_said_and_a_guide_knows_what_they_mean(
    bench: TurnBench, server: DingTalkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dingtalk(bench, server, client_id="ding-other") as room:
        await until(lambda: room.platform.connection.status == "refused")
        state = room.platform.connection

    assert "HTTP 401" in (state.error or "")


async def test_a_server_that_is_not_one_of_the_operators_gets_no_ticket(
    bench: TurnBench, server: DingTalkServer
) -> None:
    server.fail(
        "/connections/open", Fault(status=200, body={"endpoint": "wss://elsewhere.example/connect", "ticket": "t"})
    )
    async with open_dingtalk(bench, server) as room:
        await room.connected()

    assert any("one of those of the endpoint" in entry.detail for entry in room.platform.log)


async def test_a_group_that_lets_the_robot_in_is_a_room(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.let_in("cidNew==", title="New", robotCode=server.client_id)
        await server.let_in("cidOther==", robotCode="another robot")
        await server.let_in("cidGone==", event="im_cool_app_uninstall")
        ack = await server.let_in("cidOrg==", event="chat_add_member")
        rooms = await room.parts.store.rooms(DEFAULT_TENANT, "ding")

    assert [(one.chat, one.title) for one in rooms] == [("cidNew==", "New")]
    assert ack["code"] == 200


async def test_a_room_has_the_title_of_its_group(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await answered(room, "Hello")
        await server.push(direct("Hello"))
        await server.push(said("Hello", conversationTitle="Releases and more"))
        await room.texts(2)
        rooms = {one.chat: one for one in await room.parts.store.rooms(DEFAULT_TENANT, "ding")}

    assert rooms[GROUP].title == "Releases and more"
    assert room.platform.people(GROUP) == ("Ana",)


async def test_what_is_only_between_us_stands_in_no_log(
    bench: TurnBench, server: DingTalkServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="commonplace")
    server.fail("/robot/sendBySession", Fault(status=400, body={"errmsg": f"no {server.client_secret} here"}))
    async with open_dingtalk(bench, server, times=QUICK) as room:
        await room.connected()
        await answered(room, "Hello")
        server.break_off()
        log = " ".join(f"{entry.event} {entry.detail}" for entry in room.platform.log)

    lines = " ".join(
        f"{record.getMessage()} {record.__dict__}" for record in caplog.records if "commonplace" in record.name
    )
    for secret in (server.client_secret, "session-", "ticket/", "access-token-"):
        assert secret not in log + lines
    assert "webhook_ended" in log
