"""The long connection: events come, are taken once, and answered; what breaks is opened again."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.engine.channels.feishu.conftest import Line

from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, card_press, chat_message, room_joined
from commonplace.testing.feishu.server import SECRET, TICKET

pytestmark = pytest.mark.anyio


async def test_a_message_is_handed_over_and_then_taken(line: Line, server: FeishuServer) -> None:
    async with line.open():
        ack = await server.acked(await server.say(chat_message("Good morning")))

    assert [(one.chat, one.sender, one.text) for one in line.desk.envelopes] == [("oc_room", "ou_ana", "Good morning")]
    assert ack.code == 200
    assert ack.headers["biz_rt"].isdigit()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 1, 2, 0)])
async def test_a_message_in_parts_is_whole_in_whatever_order_they_come(
    line: Line, server: FeishuServer, order: tuple[int, ...]
) -> None:
    async with line.open():
        await server.acked(await server.say_in_parts(chat_message("飞书 " * 300), order))

    assert [one.text for one in line.desk.envelopes] == [("飞书 " * 300).strip()]
    assert len(server.acks) == 1


async def test_a_press_is_answered_with_a_toast_and_is_done_once(line: Line, server: FeishuServer) -> None:
    press = card_press({"action": "approve", "key": "r1-card"}, sender="ou_bob")
    async with line.open():
        first = await server.acked(await server.say(press))
        again = await server.acked(await server.say(press))

    assert first.data == again.data == {"toast": {"type": "info", "content": "Thank you."}}
    [pressed] = line.desk.presses
    assert (pressed.chat, pressed.key, pressed.sender, pressed.action) == ("oc_room", "r1-card", "ou_bob", "approve")


async def test_presses_that_have_no_id_are_not_one_and_the_same(line: Line, server: FeishuServer) -> None:
    presses = [card_press({"action": action, "key": "r1-card"}) for action in ("approve", "deny", "deny")]
    for press in presses:
        del press["header"]["event_id"]
    async with line.open():
        for press in presses:
            await server.acked(await server.say(press))

    assert [press.action for press in line.desk.presses] == ["approve", "deny"]


@pytest.mark.parametrize("value", [{}, {"action": "stop"}, {"action": 1, "key": []}])
async def test_a_button_that_says_nothing_is_none(line: Line, server: FeishuServer, value: dict[str, Any]) -> None:
    async with line.open():
        ack = await server.acked(await server.say(card_press(value)))

    assert (ack.code, ack.data, line.desk.presses) == (200, {}, [])


async def test_a_group_that_lets_us_in_becomes_a_room(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await server.acked(await server.say(room_joined("oc_new", "Release")))
        events = [entry.event for entry in channel.log]

    assert line.desk.rooms == [("oc_new", "Release")]
    assert "added" in events


async def test_what_comes_twice_is_handed_over_once(line: Line, server: FeishuServer) -> None:
    event = chat_message("Hello")
    async with line.open():
        await server.say(event, times=3)
        await until(lambda: len(server.acks) == 3)

    assert len(line.desk.envelopes) == 1
    assert {ack.code for ack in server.acks} == {200}


async def test_what_could_not_be_kept_is_refused_and_taken_when_it_comes_again(
    line: Line, server: FeishuServer
) -> None:
    line.desk.failures = 1
    event = chat_message("Hello")
    async with line.open():
        first = await server.acked(await server.say(event))
        lost = list(line.desk.envelopes)
        second = await server.acked(await server.say(event))

    assert (first.code, lost, second.code) == (500, [], 200)
    assert len(line.desk.envelopes) == 1


async def test_messages_of_a_chat_keep_their_order_while_a_quote_is_fetched(line: Line, server: FeishuServer) -> None:
    quoted = chat_message("The plan")
    server.keep(quoted)
    async with line.open():
        await server.say(chat_message("I agree", parent_id=quoted["event"]["message"]["message_id"]))
        await server.say(chat_message("Me too"))
        await until(lambda: len(line.desk.envelopes) == 2)

    assert [one.text for one in line.desk.envelopes] == ["I agree", "Me too"]


@pytest.mark.parametrize(
    "content", [b"", b"\x08", b"\xff" * 40, b"\x20\x01\x2a", b"\x20\x01\x42\x02{}", b"\x20\x00\x2a\x06\x0a\x04type"]
)
async def test_half_a_frame_and_garbage_harm_nobody(line: Line, server: FeishuServer, content: bytes) -> None:
    async with line.open():
        await server.push_bytes(content)
        await server.acked(await server.say(chat_message("Still here")))

    assert [one.text for one in line.desk.envelopes] == ["Still here"]
    assert server.connections == 1


@pytest.mark.parametrize(
    "document",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"header":{}}', b'{"header":{"event_type":"im.message.receive_v1"},"event":{}}'],
)
async def test_an_event_that_cannot_be_read_is_not_asked_for_again(
    line: Line, server: FeishuServer, document: bytes
) -> None:
    async with line.open():
        await server.push(document, id="bad")
        ack = await server.acked("bad")

    assert ack.code == 200
    assert line.desk.envelopes == []


async def test_events_that_mean_nothing_to_us_are_let_pass(line: Line, server: FeishuServer) -> None:
    event = {"schema": "2.0", "header": {"event_type": "im.message.message_read_v1"}, "event": {}}
    async with line.open():
        await server.push(json.dumps(event).encode(), id="other")

        assert (await server.acked("other")).code == 200


async def test_a_broken_connection_is_opened_again(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        for number in range(2, 5):
            await server.disconnect()
            await until(lambda wanted=number: server.connections == wanted)
            await until(lambda: channel.connection.status == "connected")
        await server.acked(await server.say(chat_message("Back")))

    assert [one.text for one in line.desk.envelopes] == ["Back"]


async def test_pings_follow_what_the_server_asks_for(line: Line, server: FeishuServer) -> None:
    server.pong_config = {"PingInterval": 1}
    async with line.open():
        await until(lambda: server.pings >= 1)
        await server.disconnect()
        server.ping_seconds = 1

        await until(lambda: server.pings >= 3, 10)


@pytest.mark.parametrize(
    ("code", "status"), [(1, "waiting"), (1000040343, "waiting"), (1000040350, "waiting"), (403, "refused")]
)
async def test_what_the_endpoint_says_decides_how_soon_it_is_tried_again(
    line: Line, server: FeishuServer, code: int, status: str
) -> None:
    server.fail("endpoint", code=code, times=100)
    channel = line.channel()
    async with channel.connect(line.desk):
        await until(lambda: channel.connection.attempts > 0 and channel.connection.status == status)
        state = channel.connection

    assert f"{code}" in (state.error or "")


async def test_wrong_credentials_are_refused_and_shown_nowhere(
    line: Line, server: FeishuServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.app_secret = "another"
    server.fail("endpoint", code=514, message=f"{SECRET} is wrong", times=100)
    channel = line.channel()
    with caplog.at_level(logging.DEBUG):
        async with channel.connect(line.desk):
            await until(lambda: channel.connection.status == "refused")
            state, log = channel.connection, channel.log

    assert SECRET not in f"{state} {log} {caplog.text}"


async def test_a_refused_handshake_says_its_code_and_not_the_ticket(
    line: Line, server: FeishuServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuse_handshake = {"handshake-status": "403", "handshake-msg": "no"}
    channel = line.channel()
    with caplog.at_level(logging.DEBUG, logger="commonplace"):
        async with channel.connect(line.desk):
            await until(lambda: channel.connection.status == "refused")
            state, log = channel.connection, channel.log

    assert "403" in (state.error or "")
    assert TICKET not in f"{state} {log} {caplog.text}"


async def test_too_many_connections_are_waited_out(line: Line, server: FeishuServer) -> None:
    server.refuse_handshake = {"handshake-status": "514", "handshake-autherrcode": "1000040350"}
    channel = line.channel()
    async with channel.connect(line.desk):
        await until(lambda: channel.connection.status == "waiting")
        state = channel.connection

    assert "1000040350" in (state.error or "")
