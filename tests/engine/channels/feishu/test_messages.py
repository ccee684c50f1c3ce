"""Messages of ours: sent once, changed, settled, told in a plainer form; and what happens if Feishu is not well."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.engine.channels.feishu.conftest import Line

from commonplace.channels.feishu import messages
from commonplace.channels.feishu.api import safe_id
from commonplace.channels.feishu.messages import uuid_of
from commonplace.ports.channel import CardOption, CardOutcome, Outgoing, PermissionCard
from commonplace.testing.feishu import FeishuServer, chat_message
from commonplace.testing.feishu.server import SECRET
from commonplace.values.channel import PlatformError, PlatformRefused
from commonplace.values.envelope import ChatAttachment
from commonplace.values.permission import PermissionRequest
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio
ROOM = "oc_room"
TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"


def outgoing(text: str = "Hello", key: str = "k1", **more: Any) -> Outgoing:
    return Outgoing(chat=ROOM, text=text, key=key, **more)


def texts(server: FeishuServer) -> list[str]:
    return [message.text for message in server.in_chat(ROOM)]


def calls(server: FeishuServer, part: str) -> list[str]:
    return [request.method for request in server.requests if part in request.path]


# ---- sent once


async def test_a_message_that_is_sent_twice_is_there_once(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        first = await channel.send(outgoing())
        second = await channel.send(outgoing())

    assert first == second
    assert texts(server) == ["Hello"]


async def test_a_message_whose_answer_was_lost_is_there_once(line: Line, server: FeishuServer) -> None:
    server.fail("POST /open-apis/im/v1/messages", status=503, after=True)
    async with line.open() as channel:
        await channel.send(outgoing())

    assert texts(server) == ["Hello"]
    assert calls(server, "/messages") == ["POST", "POST"]


def test_the_uuid_of_a_message_is_short_and_its_own() -> None:
    uuids = {uuid_of(chat, key) for chat in ("a", "b") for key in ("k1", "k2", "k" * 300)}

    assert len(uuids) == 6
    assert all(len(uuid) <= 50 for uuid in uuids)


async def test_a_long_message_comes_in_pieces_with_whole_fences(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing("```py\n" + "x = 1\n" * 1_500 + "```"))

    assert len(texts(server)) == 3
    assert all(text.startswith("```py") and text.rstrip().endswith("```") for text in texts(server))


async def test_an_answer_goes_to_the_message_that_it_answers(line: Line, server: FeishuServer) -> None:
    question = chat_message("When?")
    server.keep(question)
    async with line.open() as channel:
        await channel.send(outgoing(reply_to=question["event"]["message"]["message_id"]))
        # Its author has taken it back.
        await channel.send(outgoing("Late", key="k2", reply_to="om_gone"))

    assert [message.parent for message in server.in_chat(ROOM)] == [question["event"]["message"]["message_id"], None]


# ---- answers while they are made


async def test_an_answer_grows_in_one_card_and_ends_without_its_stop_button(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing("On …", partial=True))
        await channel.edit(ROOM, "k1", "On Fri …")
        [message] = server.in_chat(ROOM)
        buttons = message.buttons
        await channel.edit(ROOM, "k1", "On Friday.", final=True)

    assert list(buttons.values()) == [{"action": "stop", "key": "k1"}]
    assert [json.loads(content)["header"]["template"] for content in message.contents] == ["blue", "blue", "green"]
    assert (message.text, message.buttons) == ("On Friday.", {})


async def test_the_next_process_ends_an_answer_that_was_begun(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing("On …", partial=True))
    async with line.open() as channel:
        await channel.send(outgoing("On Friday."))
    values = await line.store.channels.platform_values("default/default", "team")

    [message] = server.in_chat(ROOM)
    assert (message.text, message.buttons) == ("On Friday.", {})
    assert values == {}


async def test_an_answer_whose_beginning_is_in_doubt_is_there_once_and_whole(line: Line, server: FeishuServer) -> None:
    server.fail("POST /open-apis/im/v1/messages", status=503, after=True, times=3)
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.send(outgoing("On …", partial=True))
        await channel.edit(ROOM, "k1", "On Fri …")
    async with line.open() as channel:
        await channel.send(outgoing("On Friday."))

    assert texts(server) == ["On Friday."]


@pytest.mark.parametrize(
    ("refusals", "text", "expected"),
    [
        (1, f"See\n{TABLE}", ["See\na · b\n1 · 2"]),
        (1, "x" * 3_000, ["x" * 2_000, "x" * 1_000]),
        (2, f"{TABLE}\n{'x' * 3_000}", [f"{TABLE}\n{'x' * 3_000}"[:2_000], f"{TABLE}\n{'x' * 3_000}"[2_000:]]),
        (9, f"See\n{TABLE}", [f"See\n{TABLE}"]),
    ],
)
async def test_an_end_that_feishu_does_not_take_is_told_in_a_plainer_form(
    line: Line, server: FeishuServer, refusals: int, text: str, expected: list[str]
) -> None:
    async with line.open() as channel:
        await channel.send(outgoing("…", partial=True))
        server.fail("PATCH", status=400, code=230099, times=refusals)
        await channel.edit(ROOM, "k1", text, final=True)

    assert texts(server) == expected


async def test_a_room_that_we_may_not_write_to_says_so_at_once(line: Line, server: FeishuServer) -> None:
    server.fail("POST /open-apis/im/v1/messages", status=400, code=230002, message="Bot is not in the chat", times=9)
    async with line.open() as channel:
        with pytest.raises(PlatformError) as raised:
            await channel.send(outgoing())

    assert "230002" in raised.value.message
    assert calls(server, "/im/v1/messages") == ["POST"]


async def test_a_message_of_long_ago_cannot_be_changed_and_that_is_said(line: Line) -> None:
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.edit(ROOM, "unknown", "Text", final=True)


# ---- questions


async def test_a_question_has_buttons_until_it_is_decided(line: Line, server: FeishuServer) -> None:
    request = PermissionRequest(id="r1", call="c1", tool="push", kind="execute", title="git push", rule="ask")
    options = (CardOption(label="Allow", command="approve"), CardOption(label="Refuse", command="deny"))
    async with line.open() as channel:
        await channel.send(outgoing("May I?", card=PermissionCard(request=request, options=options)))
        [message] = server.in_chat(ROOM)
        buttons = message.buttons
        await channel.settle_card(ROOM, "k1", CardOutcome(text="Allowed by Ana.", allowed=True, voter="ana"))

    assert {label: value["action"] for label, value in buttons.items()} == {"Allow": "approve", "Refuse": "deny"}
    assert message.buttons == {}
    assert "May I?" in message.text
    assert "Allowed by Ana." in message.text


# ---- marks and files


async def test_a_message_is_marked_as_seen_and_then_no_more(line: Line, server: FeishuServer) -> None:
    server.keep(chat_message("Hi", id="om_hi"))
    async with line.open() as channel:
        await channel.react(ROOM, "om_hi", "👀")
        marks = list(server.messages["om_hi"].reactions.values())
        await channel.react(ROOM, "om_hi", "")

    assert marks == ["OnIt"]
    assert server.messages["om_hi"].reactions == {}


async def test_an_app_without_the_right_to_marks_works_without_them(line: Line, server: FeishuServer) -> None:
    server.keep(chat_message("Hi", id="om_hi"))
    server.fail("reactions", status=400, code=99991672, times=9)
    async with line.open() as channel:
        for _ in range(2):
            await channel.react(ROOM, "om_hi", "👀")
        events = [entry.event for entry in channel.log]

    assert calls(server, "reactions") == ["POST"]
    assert events.count("no_reactions") == 1


def file_of(reference: str) -> ChatAttachment:
    return ChatAttachment(kind="image", name="plan.png", reference=reference)


async def test_a_file_is_fetched_by_its_message(line: Line, server: FeishuServer) -> None:
    server.files["img_1"] = b"\x89PNG"
    async with line.open() as channel:
        await channel.send(outgoing())
        server.expire_token()

        content = await channel.download(file_of("om_1/image/img_1"))

    assert content == b"\x89PNG"
    [*_, request] = server.requests
    assert (request.path, request.query) == ("/open-apis/im/v1/messages/om_1/resources/img_1", {"type": "image"})


@pytest.mark.parametrize(
    "reference",
    ["", "om_1", "om_1/image/none", "om_1/exe/img_1", "../../bot/v3/info", "om_1/image/a%2Fb", "om 1/file/x"],
)
async def test_what_is_no_file_of_feishu_is_not_fetched(line: Line, reference: str) -> None:
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.download(file_of(reference))


async def test_a_file_that_is_too_large_is_left(line: Line, server: FeishuServer) -> None:
    server.files["img_1"] = bytes((50 << 20) + 1)
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.download(file_of("om_1/image/img_1"))


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "a%2fb", "a b", "a?b", "a#b", "ä", "a\n", "x" * 256, "a..b"])
def test_an_id_that_would_lead_elsewhere_is_none(id: str) -> None:
    with pytest.raises(PlatformError):
        safe_id(id)


# ---- the token


async def test_those_who_need_the_token_at_once_share_one(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing(key="first"))
        server.requests.clear()
        line.clock.advance(timedelta(hours=3))
        await asyncio.gather(*(channel.send(outgoing(key=f"k{number}")) for number in range(8)))

    assert len(calls(server, "tenant_access_token")) == 1


async def test_a_token_that_was_taken_back_is_renewed_once(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing())
        server.requests.clear()
        server.expire_token()
        await channel.send(outgoing("Again", key="k2"))

    assert calls(server, "tenant_access_token") == ["POST"]
    assert texts(server) == ["Hello", "Again"]


async def test_a_token_that_is_never_taken_is_asked_for_once_more_and_then_said(
    line: Line, server: FeishuServer
) -> None:
    async with line.open() as channel:
        await channel.send(outgoing())
        server.fail("/im/v1/messages", status=401, code=99991663, times=99)
        server.requests.clear()
        with pytest.raises(PlatformRefused):
            await channel.edit(ROOM, "k1", "Changed")

    assert len(calls(server, "tenant_access_token")) == 1


async def test_a_message_into_a_room_where_nobody_spoke_for_hours_arrives(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing())
        line.clock.advance(timedelta(hours=5))
        server.expire_token()
        await channel.send(Outgoing(chat="oc_cold", text="Good morning", key="cold"))

    assert channel.can_cold_send
    assert [message.text for message in server.in_chat("oc_cold")] == ["Good morning"]


async def test_a_secret_that_is_wrong_is_said_and_not_shown(line: Line, server: FeishuServer) -> None:
    async with line.open() as channel:
        await channel.send(outgoing())
        server.app_secret = "another"
        line.clock.advance(timedelta(hours=3))
        with pytest.raises(PlatformRefused) as raised:
            await channel.send(outgoing(key="k2"))

    assert "10014" in raised.value.message
    assert SECRET not in raised.value.message


# ---- a platform that is not well


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "headers": {"x-ogw-ratelimit-reset": "2"}},
        {"status": 400, "code": 99991400, "headers": {"Retry-After": "2"}},
        {"status": 500},
        {"status": 503, "garbage": True},
    ],
)
async def test_what_is_wrong_for_a_moment_is_tried_again(
    line: Line, server: FeishuServer, fault: dict[str, Any]
) -> None:
    async with line.open() as channel:
        line.pauses.clear()
        server.fail("/im/v1/messages", times=2, **fault)
        await channel.send(outgoing())

    assert texts(server) == ["Hello"]
    assert line.pauses == ([2.0, 2.0] if "headers" in fault else [1.0, 2.0])


async def test_what_stays_wrong_is_said_with_its_time(line: Line, server: FeishuServer) -> None:
    server.fail("/im/v1/messages", status=429, headers={"Retry-After": "600"}, times=9)
    async with line.open() as channel:
        with pytest.raises(PlatformError) as raised:
            await channel.send(outgoing())

    assert raised.value.retry_after == 600
    assert calls(server, "/im/v1/messages") == ["POST"]


async def test_an_answer_that_is_none_is_an_error(line: Line, server: FeishuServer) -> None:
    server.fail("/im/v1/messages", garbage=True, times=9)
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.send(outgoing())


async def test_a_channel_that_is_not_connected_sends_nothing(line: Line) -> None:
    with pytest.raises(PlatformError):
        await line.channel().send(outgoing())


async def test_answers_that_never_end_are_not_remembered_without_end(
    line: Line, server: FeishuServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "_MOST_BEGUN", 3)
    server.fail("/im/v1/messages", status=400, code=230002, message="Bot is NOT in the chat", times=99)
    async with line.open() as channel:
        for number in range(5):
            with pytest.raises(PlatformError):
                await channel.send(replace(outgoing(key=f"k{number}"), partial=True))

    assert len(await line.store.channels.platform_values(DEFAULT_TENANT, "team", "begun/")) == 3
