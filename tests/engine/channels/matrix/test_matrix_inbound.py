"""What people write, as rooms take it: whom it means, what it answers, what came with it; and what nobody should have written."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.matrix.events import MatrixEvent, Relation, events_of, read_page, read_sync
from commonplace.channels.matrix.text import BotName, without_fallback
from commonplace.ports.channel import Outgoing
from commonplace.testing.events import until
from commonplace.testing.homeserver import ANA, BOB, BOT, ROOM, HomeFault, Homeserver
from commonplace.testing.matrix_line import MatrixLine
from commonplace.values.channel import PlatformError
from commonplace.values.envelope import ChatAttachment

pytestmark = pytest.mark.anyio

PILL = f'<a href="https://matrix.to/#/{BOT}">Assistant</a>: hello'
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["msgtype", "body", "m.relates_to", "m.mentions", "m.new_content", "url", "filename", "formatted_body", "event_id"]
)
ODDITIES: list[Any] = [
    "m.text",
    "m.image",
    "assistant: hi",
    {"user_ids": [BOT]},
    {"user_ids": {}},
    {"rel_type": "m.replace", "event_id": "$a"},
    {"rel_type": "m.thread", "event_id": 7, "m.in_reply_to": {"event_id": []}},
    {"m.in_reply_to": {"event_id": "$event-1"}},
    {"m.in_reply_to": {"event_id": ".."}},
]
CONTENT: st.SearchStrategy[Any] = st.dictionaries(FIELDS, JSON | st.sampled_from(ODDITIES))


def message(body: str, mentions: Any = None, **more: Any) -> MatrixEvent:
    content = {"msgtype": "m.text", "body": body, **more}
    if mentions is not None:
        content["m.mentions"] = mentions
    return MatrixEvent(type="m.room.message", sender=ANA, event_id="$1", content=content)


@pytest.mark.parametrize(
    ("event", "is_meant", "text"),
    [
        (message("Assistant: hello", {"user_ids": [BOT]}), True, "hello"),
        (message("Assistant hello", {"user_ids": [BOT]}), True, "hello"),
        (message("hello, both of you", {"user_ids": [BOB, BOT]}), True, "hello, both of you"),
        (message("hello", {"user_ids": [BOB]}), False, None),
        (message("hello", {"room": True}), False, None),
        (message("hello", {}), False, None),
        (message("@assistant hello", {}), True, "hello"),
        (message("assistant: hello", {}), True, "hello"),
        (message("助手：你好", {}), True, "你好"),
        (message("ask the assistant", {}), False, None),
        (message("I like @assistant", {}), False, None),
        (message("I like @assistant"), True, "I like @assistant"),
        (message("assistant, hello"), True, "hello"),
        (message("the assistants are here"), False, None),
        (message("@assistant-two hello"), False, None),
        (message("@assistant:elsewhere.org hello"), False, None),
        (message("mail@assistant"), False, None),
        (message(f"{BOT} hello"), True, "hello"),
        (message("hello", formatted_body=PILL), True, "hello"),
        (message("hello", formatted_body=PILL.replace("@", "%40").replace(":home", "%3Ahome")), True, "hello"),
        (message("hello", formatted_body='<a href="https://matrix.to/#/@assistant:homely">x</a>'), False, None),
        (message("hello", formatted_body='<a href="https://matrix.to.evil/#/@assistant:home">x</a>'), False, None),
        (message("hello", [BOT]), False, None),
        (message("hello", {"user_ids": {BOT: 1}}), False, None),
    ],
)
def test_who_means_us(event: MatrixEvent, is_meant: bool, text: str | None) -> None:
    body = event.text("body")
    bot = BotName(BOT, "助手" if "助手" in body else "Assistant")

    assert bot.is_meant(event, body) is is_meant
    if is_meant:
        assert bot.without_address(body) == text


@given(name=st.text(max_size=40), text=st.text(max_size=80), mentions=JSON)
def test_no_name_and_no_text_breaks_the_search_for_it(name: str, text: str, mentions: Any) -> None:
    bot = BotName(BOT, name.strip())
    event = message(text, mentions)

    assert isinstance(bot.is_meant(event, text), bool)
    assert text.endswith(bot.without_address(text))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("> <@bob:home> When?\n> And where?\n\nAt noon", "At noon"),
        ("> * <@bob:home> waves\n\nHi", "Hi"),
        ("> When?\n\nAt noon", "> When?\n\nAt noon"),
        ("At noon", "At noon"),
        ("> <@bob:home> When?", ""),
    ],
)
def test_what_a_client_quotes_is_left_out_and_what_somebody_quotes_is_not(body: str, text: str) -> None:
    event = message(body, **{"m.relates_to": {"m.in_reply_to": {"event_id": "$2"}}})

    assert without_fallback(event) == text
    assert without_fallback(message(body)) == body


async def test_a_message_says_who_when_and_where(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.say("Assistant: when do we ship?")
        await line.heard("when do we ship?")

    (envelope,) = line.desk.envelopes
    assert (envelope.chat, envelope.sender, envelope.sender_name) == (ROOM, ANA, "Ana")
    assert (envelope.is_group, envelope.mentions_bot, envelope.replies_to_bot) == (True, True, False)
    assert datetime(2025, 12, 31, tzinfo=UTC) < envelope.at < datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_moment_that_cannot_be_is_now(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        for number, moment in enumerate((-1, 0, 1 << 62, 1 << 100)):
            content = {"msgtype": "m.text", "body": f"{number}"}
            event = {"type": "m.room.message", "sender": ANA, "event_id": f"$moment-{number}", "content": content}
            server.raw(ROOM, {**event, "origin_server_ts": moment})
        await line.heard("0", "1", "2", "3")

    assert {envelope.at for envelope in line.desk.envelopes} == {line.clock.now()}


async def test_what_is_none_to_answer_is_left_out(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        await channel.send(Outgoing(chat=ROOM, text="I am here", key="k"))
        server.say("By another agent", BOB, msgtype="m.notice")
        first = server.say("With a mistake")
        server.change(first, "Without")
        server.put(ROOM, "m.room.message", {}, sender=BOB)
        server.say("Where we are", msgtype="m.location")
        server.say("State", msgtype=7)
        server.say("waves", msgtype="m.emote")
        await line.heard("With a mistake", "waves")


async def test_what_is_answered_is_quoted_as_it_is_now(line: MatrixLine, server: Homeserver) -> None:
    early = server.say("From before", BOB)
    async with line.open() as channel:
        ours = await channel.send(Outgoing(chat=ROOM, text="On Fridays", key="k"))
        theirs = server.say("At noon?", BOB, to_us=False)
        server.change(theirs, "At one?", BOB)
        # Nobody changes what somebody else said.
        server.change(theirs, "Never!", ANA)
        for id in (ours, theirs, early, "$nowhere", "../../sync", ""):
            server.say(f"To {id}", to_us=False, relation={"m.in_reply_to": {"event_id": id}})
        await until(lambda: len(line.desk.envelopes) == 7)

    answers = [(envelope.quote, envelope.replies_to_bot) for envelope in line.desk.envelopes if "To " in envelope.text]
    assert answers == [("On Fridays", True), ("At one?", False), ("From before", False), *[(None, False)] * 3]
    # What is no id of an event is not asked for.
    assert len(server.made("event")) == 2


async def test_a_quote_at_which_the_server_fails_stops_nobody(line: MatrixLine, server: Homeserver) -> None:
    server.fail("event", *[HomeFault(status=500)] * 3)
    async with line.open():
        server.say("one", relation={"m.in_reply_to": {"event_id": "$\0"}})
        server.say("two")
        await line.heard("one", "two")

    assert line.naps == []


async def test_a_thread_is_kept_and_its_last_message_is_no_quote(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        root = server.say("one")
        fallback: dict[str, Any] = {"is_falling_back": True, "m.in_reply_to": {"event_id": root}}
        server.say("two", thread=root, relation=fallback)
        server.say("three", thread=root, relation={"m.in_reply_to": {"event_id": root}})
        await line.heard("one", "two", "three")

    threads = [(envelope.thread, envelope.quote) for envelope in line.desk.envelopes]
    assert threads == [(None, None), (root, None), (root, "one")]


async def test_files_come_with_their_names_and_captions(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.say("plan.pdf", msgtype="m.file", url="mxc://home/plan")
        server.say("Look!", msgtype="m.image", url="mxc://home/cat", filename="cat.png")
        server.say("x", msgtype="m.file", url="https://evil.example/x")
        server.say("y", msgtype="m.video", file={"url": "mxc://home/secret"})
        await until(lambda: len(line.desk.envelopes) == 4)

    files = [(envelope.text, envelope.attachments) for envelope in line.desk.envelopes]
    assert files[:2] == [
        ("", (ChatAttachment(kind="file", name="plan.pdf", reference="mxc://home/plan"),)),
        ("Look!", (ChatAttachment(kind="image", name="cat.png", reference="mxc://home/cat"),)),
    ]
    assert [attachments for _, attachments in files[2:]] == [(), ()]


@pytest.mark.parametrize(
    "event",
    [
        None,
        7,
        [],
        {},
        {"type": "m.room.message"},
        {"type": 7, "sender": ANA, "content": {}},
        {"type": "m.room.message", "sender": ANA, "content": []},
        {"type": "m.room.message", "sender": "@" + "x" * 300, "event_id": "$long", "content": {"body": "x"}},
        {"type": "m.room.message", "sender": ANA, "event_id": "$" + "x" * 300, "content": {"body": "x"}},
        {"type": "m.room.message", "sender": ANA, "content": {"msgtype": "m.text", "body": "No id"}},
        {"type": "m.room.message", "sender": ANA, "event_id": "$s", "state_key": "", "content": {"msgtype": "m.text"}},
        {"type": "m.room.member", "sender": ANA, "state_key": 7, "content": {"membership": "join"}},
        {"type": "m.room.member", "sender": ANA, "state_key": ANA, "content": {"membership": 7, "displayname": []}},
        {"type": "m.room.name", "sender": ANA, "state_key": "", "content": {"name": {"en": "x"}}},
        {"type": "m.reaction", "sender": ANA, "event_id": "$r", "content": {"m.relates_to": {"key": 1}}},
        {"type": "m.reaction", "sender": ANA, "event_id": "$q", "content": {"m.relates_to": "x"}},
    ],
)
async def test_an_event_of_another_shape_harms_nobody(line: MatrixLine, server: Homeserver, event: Any) -> None:
    async with line.open():
        server.raw(ROOM, event)
        server.say("Still here")
        await line.heard("Still here")

    assert line.naps == []


@pytest.mark.parametrize(
    "text",
    ["\u202e gnp.exe", "NUL \0 here", "lone \ud800 here", "\u200b\u2066\u2069", "x" * 60_000, "😀" * 15_000, ""],
)
async def test_hostile_text_comes_as_it_is_and_is_no_fault(line: MatrixLine, server: Homeserver, text: str) -> None:
    async with line.open():
        server.say(text)
        server.say("Still here")
        await line.heard(text, "Still here")

    assert line.naps == []


@given(events=st.lists(JSON | st.fixed_dictionaries({"type": JSON, "sender": JSON, "content": CONTENT | JSON})))
def test_any_json_is_read_or_left_out(events: list[Any]) -> None:
    for event in events_of(events):
        assert isinstance(event.relation, Relation)
        assert isinstance(event.membership_of(BOT) + event.text("body"), str)


@given(answer=st.dictionaries(st.sampled_from(["next_batch", "rooms", "chunk", "end", "account_data"]), JSON))
def test_any_answer_is_read_or_an_error_of_the_platform(answer: Any) -> None:
    for read in (read_sync, read_page):
        with suppress(PlatformError):
            read(answer)
