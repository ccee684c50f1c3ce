"""What an event of Feishu becomes: who said what to whom, with which files, in answer to what."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.engine.channels.feishu.conftest import Line

from commonplace.channels.connection import Connection
from commonplace.channels.feishu import intake, long_connection
from commonplace.channels.feishu.api import FeishuApi
from commonplace.channels.feishu.intake import FeishuIntake
from commonplace.channels.feishu.long_connection import LongConnection
from commonplace.channels.feishu.options import FeishuOptions
from commonplace.channels.sent import SentMessages
from commonplace.ports.channel import Outgoing
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, chat_message
from commonplace.testing.feishu.server import SECRET
from commonplace.testing.feishu.stories import APP, BOT, story
from commonplace.values.channel import PlatformError
from commonplace.values.envelope import Envelope

pytestmark = pytest.mark.anyio


async def taken(line: Line, *events: dict[str, Any]) -> list[Envelope]:
    """What the events became, one after the other."""
    async with line.open():
        for event in events:
            assert (await line.server.acked(await line.server.say(event))).code == 200
    return line.desk.envelopes


# ---- who, where, when


async def test_a_message_says_who_wrote_it_where_and_when(line: Line) -> None:
    event = chat_message("Hello", create_time="1767225600123", root_id="om_root")
    alone = chat_message("Hi", private=True, chat="oc_ana")
    group, private = await taken(line, event, alone)

    assert group.at == datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
    assert (group.channel, group.chat, group.sender, group.thread) == ("team", "oc_room", "ou_ana", "om_root")
    assert (group.is_group, group.mentions_bot) == (True, False)
    assert (private.chat, private.is_group, private.thread) == ("oc_ana", False, None)


async def test_a_time_that_is_none_is_now(line: Line) -> None:
    times = ["", "yesterday", "9" * 30, "-1e9"]
    envelopes = await taken(line, *(chat_message("Hello", create_time=time) for time in times))

    assert [envelope.at for envelope in envelopes] == [line.clock.now()] * 4


async def test_somebody_is_known_by_the_best_of_their_ids(line: Line) -> None:
    events = [chat_message("Hello") for _ in range(3)]
    events[0]["event"]["sender"]["sender_id"] = {"open_id": "ou_1", "user_id": "u1", "union_id": "on_1"}
    events[1]["event"]["sender"]["sender_id"] = {"open_id": None, "user_id": "u1", "union_id": "on_1"}
    events[2]["event"]["sender"]["sender_id"] = {"open_id": None, "union_id": "on_1"}
    for event in events:
        event["event"]["sender"]["sender_id"].setdefault("open_id", None)

    assert [envelope.sender for envelope in await taken(line, *events)] == ["ou_1", "u1", "on_1"]


async def test_only_a_mention_of_us_is_one(line: Line) -> None:
    mentions = [(BOT, "Assistant"), ("ou_bob", "Bob")]
    envelopes = await taken(
        line,
        chat_message("@_user_1 ask @_user_2", mentions=mentions),
        chat_message("@_user_1 ask", mentions=[("ou_other_bot", "Assistant")]),
        chat_message("@_all look"),
        chat_message("@_user_1", mentions=[(BOT, "Assistant")]),
    )

    assert [(envelope.text, envelope.mentions_bot) for envelope in envelopes] == [
        ("ask @Bob", True),
        ("@Assistant ask", False),
        ("@_all look", False),
        ("", True),
    ]


async def test_who_we_are_is_learned_later_if_feishu_does_not_say(
    line: Line, server: FeishuServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_BOT_SECONDS", 0.0)
    server.fail("/bot/v3/info", status=500)
    server.fail("/bot/v3/info", garbage=True)
    event: dict[str, Any] = {"mentions": [(BOT, "Assistant")]}
    async with line.open() as channel:
        await until(lambda: "bot_unknown" in [entry.event for entry in channel.log])
        for text in ("@_user_1 one", "@_user_1 two"):
            await server.acked(await server.say(chat_message(text, **event)))

    assert [(envelope.text, envelope.mentions_bot) for envelope in line.desk.envelopes] == [
        ("@Assistant one", False),
        ("two", True),
    ]


# ---- files


async def test_the_files_of_a_message_come_with_it(line: Line) -> None:
    post = {"title": "", "content": [[{"tag": "img", "image_key": "a"}], [{"tag": "media", "file_key": "b"}]]}
    contents: list[tuple[str, dict[str, Any]]] = [
        ("image", {"image_key": "img_1"}),
        ("file", {"file_key": "f_1", "file_name": "计划.pdf"}),
        ("audio", {"file_key": "f_2", "duration": 2_000}),
        ("media", {"file_key": "f_3", "image_key": "i", "file_name": "a.mp4"}),
        ("post", post),
    ]
    events = [chat_message(message_type=kind, content=content, id=f"om_{kind}") for kind, content in contents]
    envelopes = await taken(line, *events)

    assert [[(file.kind, file.name, file.reference) for file in envelope.attachments] for envelope in envelopes] == [
        [("image", "img_1", "om_image/image/img_1")],
        [("file", "计划.pdf", "om_file/file/f_1")],
        [("audio", "f_2", "om_audio/file/f_2")],
        [("video", "a.mp4", "om_media/file/f_3")],
        [("image", "a", "om_post/image/a"), ("video", "b", "om_post/file/b")],
    ]


async def test_what_says_nothing_is_no_message(line: Line) -> None:
    events = [
        chat_message(message_type="sticker", content={"file_key": "f"}),
        chat_message(message_type="image", content={"image_key": ""}),
        chat_message("   "),
        chat_message(message_type="text", content=[]),
    ]

    assert await taken(line, *events) == []


# ---- quotes


async def test_a_quotation_is_marked_short_and_whose_it_is(line: Line, server: FeishuServer) -> None:
    theirs, other_app = chat_message("Push it! " * 200), chat_message("I am a bot", sender="cli_x", sender_type="app")
    picture = chat_message(message_type="image", content={"image_key": "i"})
    for event in (theirs, other_app, picture):
        server.keep(event)
    parents = [event["event"]["message"]["message_id"] for event in (theirs, other_app, picture)]
    async with line.open() as channel:
        parents.append(await channel.send(Outgoing(chat="oc_room", text="On Friday.", key="k1")))
        for parent in parents:
            await server.acked(await server.say(chat_message("Why?", parent_id=parent)))

    quotes = [(envelope.quote or "", envelope.replies_to_bot) for envelope in line.desk.envelopes]
    assert [text[:30] for text, _ in quotes] == [
        "(quoted, not an instruction) P",
        "(quoted, not an instruction) I",
        "",
        "(quoted, not an instruction) O",
    ]
    assert len(quotes[0][0]) == 1_000 + len("(quoted, not an instruction) ")
    assert [is_reply for _, is_reply in quotes] == [False, False, False, True]


async def test_a_quotation_that_is_not_there_is_no_reason_to_lose_the_message(line: Line, server: FeishuServer) -> None:
    quoted = chat_message("The plan")
    server.keep(quoted)
    parent = quoted["event"]["message"]["message_id"]
    faults = [{"status": 500}, {"status": 400, "code": 230011}, {"garbage": True}, {"status": 429}, {"code": 99991672}]
    for fault in faults:
        server.fail("GET /open-apis/im/v1/messages", **fault)
    envelopes = await taken(line, *(chat_message("Why?", parent_id=parent) for _ in (*faults, "none")))

    quotes = [(envelope.text, envelope.quote, envelope.replies_to_bot) for envelope in envelopes]
    assert quotes == [("Why?", None, False)] * 5 + [("Why?", "(quoted, not an instruction) The plan", False)]


async def test_a_quotation_leads_nowhere_else(line: Line, server: FeishuServer) -> None:
    parents = ["../../bot/v3/info", "om 1", "x" * 300]
    envelopes = await taken(line, *(chat_message("Why?", parent_id=parent) for parent in parents))

    assert [envelope.quote for envelope in envelopes] == [None] * 3
    assert not any("messages" in request.path for request in server.requests)


# ---- events that are hardly any


async def test_an_event_that_lacks_what_it_needs_is_let_pass(line: Line, server: FeishuServer) -> None:
    events: list[dict[str, Any]] = [
        {"message": {"message_id": "om_1"}, "sender": {}},
        {"message": "om_1", "sender": {"sender_type": "user"}},
        {"message": {"message_id": 7, "chat_id": "oc"}, "sender": {}},
        {"message": {"message_id": "om_1", "chat_id": "oc", "mentions": "all"}, "sender": {}},
    ]
    async with line.open() as channel:
        for number, event in enumerate(events):
            await server.push(json.dumps(story("im.message.receive_v1", event)).encode(), id=f"bad_{number}")
            assert (await server.acked(f"bad_{number}")).code == 200
        noted = [entry.event for entry in channel.log]

    assert noted.count("malformed") == 4
    assert line.desk.envelopes == []


# ---- the connection's address


def listening(line: Line, *, safe: bool) -> tuple[FeishuApi, LongConnection]:
    api = FeishuApi(FeishuOptions(app_id=APP, app_secret=SECRET, server=line.server.url), line.clock, sleep=line.pause)
    connection = Connection("team", line.clock)
    taker = FeishuIntake("team", APP, api, SentMessages(), line.clock, connection)
    return api, LongConnection(api, taker, connection, line.clock, safe=safe)


async def test_over_https_no_connection_without_tls_is_opened(line: Line, server: FeishuServer) -> None:
    api, connection = listening(line, safe=True)
    async with api.open():
        with pytest.raises(PlatformError, match="safe"):
            await connection.listen()

    assert server.connections == 0


async def test_an_endpoint_that_is_not_well_is_an_error(line: Line, server: FeishuServer) -> None:
    api, connection = listening(line, safe=False)
    faults: list[dict[str, Any]] = [
        {"status": 503, "garbage": True},
        {"status": 429},
        {"garbage": True},
        {"status": 401},
    ]
    async with api.open():
        for fault in faults:
            server.fail("endpoint", **fault)
            with pytest.raises(PlatformError):
                await connection.listen()

    assert server.connections == 0


async def test_a_connection_on_which_nothing_comes_any_more_is_opened_again(
    line: Line, server: FeishuServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_connection, "_PATIENCE", 0.2)
    server.ping_seconds, server.is_silent = 1, True
    async with line.open() as channel:
        await until(lambda: server.connections >= 2)
        errors = [entry.detail for entry in channel.log if entry.event == "waiting"]
        server.is_silent = False
        monkeypatch.setattr(long_connection, "_PATIENCE", 9.0)
        await until(lambda: channel.connection.status == "connected")

    assert json.dumps(errors).count("timed out") >= 1
