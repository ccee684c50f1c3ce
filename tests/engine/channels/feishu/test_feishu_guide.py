"""The guide of Feishu knows what every error of the client means, and what stands in its log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.engine.channels.feishu.conftest import WEBHOOK, Line

from commonplace.channels.feishu.options import read_options
from commonplace.channels.guides.feishu import FEISHU
from commonplace.errors import InvalidInput
from commonplace.ports.channel import CardOutcome, Outgoing
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, card_press, chat_message
from commonplace.values.channel import ChannelSettings, PlatformError
from commonplace.values.envelope import ChatAttachment

pytestmark = pytest.mark.anyio

ROOM = "oc_room"
HELLO = Outgoing(chat=ROOM, text="Hello", key="k1")


def meaning(error: str) -> str:
    words = FEISHU.meaning(error)
    assert words is not None, error
    assert words.zh
    return words.en


async def failure(line: Line, **changes: Any) -> str:
    """Why the channel is not connected."""
    channel = line.channel(**changes)
    async with channel.connect(line.desk):
        await until(lambda: channel.connection.error is not None)
        return channel.connection.error or ""


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"code": 403, "message": "forbidden"}, "enabled and published"),
        ({"code": 514, "message": "auth failed"}, "do not belong together"),
        ({"code": 1000040344, "message": "no client"}, "no such app"),
        ({"code": 1000040350, "message": "too many"}, "too many long connections"),
        ({"code": 1000040343, "message": "internal"}, "fault of its own"),
        ({"code": 77, "message": "something new"}, "Look up the code"),
        ({"status": 503, "garbage": True}, "a proxy stands between"),
        ({"garbage": True}, "a portal that asks for a login"),
    ],
)
async def test_why_there_is_no_long_connection_is_known_to_the_guide(
    line: Line, server: FeishuServer, fault: dict[str, Any], words: str
) -> None:
    server.fail("/callback/ws/endpoint", times=9, **fault)

    assert words in meaning(await failure(line))


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"handshake-status": "403"}, "enabled and published"),
        ({"handshake-status": "514"}, "do not belong together"),
        ({"handshake-autherrcode": "1000040350"}, "too many long connections"),
        ({"handshake-status": "500"}, "websockets (wss)"),
    ],
)
async def test_why_the_long_connection_was_not_opened_is_known_to_the_guide(
    line: Line, server: FeishuServer, headers: dict[str, str], words: str
) -> None:
    server.refuse_handshake = headers

    assert words in meaning(await failure(line))


async def test_that_nobody_is_there_is_known_to_the_guide(line: Line) -> None:
    error = await failure(line, server="http://127.0.0.1:1")

    assert "does not reach Feishu" in meaning(error)


async def test_that_the_port_of_the_webhook_is_taken_is_known_to_the_guide(line: Line, server: FeishuServer) -> None:
    port = int(server.url.rpartition(":")[2])
    webhook = type(WEBHOOK)(port=port, verification_token="a", encrypt_key="b")

    assert "Another program has this port" in meaning(await failure(line, webhook=webhook))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"code": 10003}, "App Secret is wrong"),
        ({"code": 10005}, "does not know the app"),
        ({"code": 10014}, "does not belong"),
        ({"code": 10015}, "does not accept the app"),
        ({"code": 10019}, "does not accept the app"),
        ({"status": 403, "code": 1}, "enabled and published"),
        ({"code": 5}, "no token"),
        ({"garbage": True}, "no token"),
    ],
)
async def test_why_there_is_no_token_is_known_to_the_guide(
    line: Line, server: FeishuServer, fault: dict[str, Any], words: str
) -> None:
    async with line.open() as channel:
        await channel.send(Outgoing(chat=ROOM, text="Before", key="k0"))
        line.clock.advance(timedelta(hours=3))
        server.fail("tenant_access_token", times=99, **fault)
        with pytest.raises(PlatformError) as caught:
            await channel.send(HELLO)

    assert words in meaning(caught.value.message)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"status": 401, "code": 99991663}, "neither the app's token nor a new one"),
        ({"status": 400, "code": 99991679}, "in the name that it has"),
        ({"status": 400, "code": 99991672}, "lacks a permission"),
        ({"status": 400, "code": 230002}, "not in this group"),
        ({"status": 400, "code": 99991400}, "Too many calls"),
        ({"status": 500, "code": 500}, "Look up the code"),
        ({"status": 503, "garbage": True}, "a proxy stands between"),
        ({"garbage": True}, "a portal"),
    ],
)
async def test_why_a_message_was_not_written_is_known_to_the_guide(
    line: Line, server: FeishuServer, fault: dict[str, Any], words: str
) -> None:
    async with line.open() as channel:
        server.fail("/im/v1/messages", times=99, **fault)
        with pytest.raises(PlatformError) as caught:
            await channel.send(HELLO)

    assert words in meaning(caught.value.message)


async def test_why_a_message_or_question_is_not_changed_is_known_to_the_guide(line: Line) -> None:
    async with line.open() as channel:
        with pytest.raises(PlatformError) as message:
            await channel.edit(ROOM, "unknown", "Text", final=True)
        with pytest.raises(PlatformError) as question:
            await channel.settle_card(ROOM, "unknown", CardOutcome(text="Done.", allowed=True))

    assert meaning(message.value.message) == meaning(question.value.message)
    assert "cannot be changed" in meaning(message.value.message)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("om_1/file/gone", "not there any more"),
        ("om_1/file/large", "too large"),
        ("om_1/exe/x", "cannot be fetched"),
        ("../x/y", "cannot be fetched"),
    ],
)
async def test_why_a_file_was_not_fetched_is_known_to_the_guide(
    line: Line, server: FeishuServer, reference: str, words: str
) -> None:
    server.files["large"] = bytes((50 << 20) + 1)
    async with line.open() as channel:
        with pytest.raises(PlatformError) as caught:
            await channel.download(ChatAttachment(kind="file", name="plan.pdf", reference=reference))

    assert words in meaning(caught.value.message)


async def test_whatever_is_noted_in_the_log_is_known_to_the_guide(line: Line, server: FeishuServer) -> None:
    server.fail("/bot/v3/info", status=503)
    server.keep(chat_message("Hi", id="om_hi"))
    line.desk.failures = 1
    async with line.open() as channel:
        await server.push(b"{", id="frame_x")
        await server.push_bytes(b"\xff")
        await server.say(card_press({"nothing": 1}))
        server.fail("reactions", status=400, code=99991672)
        await channel.react(ROOM, "om_hi", "👀")
        await server.acked(await server.say(chat_message("And?", parent_id="om_gone")))
        await server.acked(await server.say(chat_message("Hello")))
        await server.disconnect()
        await until(lambda: [entry.event for entry in channel.log].count("connected") > 1)
        notes = [(entry.event, entry.detail) for entry in channel.log if entry.detail]

    expected = {"bot_unknown", "malformed", "no_reactions", "quote_unknown", "not_taken", "waiting"}
    assert expected <= {event for event, _ in notes}
    assert sum(event == "malformed" for event, _ in notes) == 3
    assert [detail for _, detail in notes if FEISHU.meaning(detail) is None] == []


@pytest.mark.parametrize(
    ("options", "secrets"),
    [
        ({"domain": "ftp://x"}, {}),
        ({"mode": "webhook", "webhook_port": "1"}, {}),
        ({"mode": "webhook"}, {"verification_token": "PATH", "encrypt_key": "PATH"}),
        ({}, {"app_secret": "NOT_THERE"}),
    ],
)
def test_why_its_settings_cannot_be_used_is_known_to_the_guide(
    options: dict[str, str], secrets: dict[str, str]
) -> None:
    settings = ChannelSettings(options={"app_id": "cli_x", **options}, secrets={"app_secret": "PATH", **secrets})
    with pytest.raises(InvalidInput) as caught:
        read_options(settings)

    assert meaning(caught.value.message)
