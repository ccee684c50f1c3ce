"""What we say: once, however often it is asked for; changed while it is made; marked, and no faster than the server takes it."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import httpx
import pytest

from commonplace.channels.matrix.client import MatrixClient, Request, checked_address, media_path
from commonplace.channels.matrix.platform import matrix_channel
from commonplace.errors import InvalidInput, NotFound
from commonplace.ports.channel import CardOption, CardOutcome, Outgoing, PermissionCard
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.events import until
from commonplace.testing.homeserver import ANA, BOB, ROOM, HomeFault, Homeserver, denied, limited
from commonplace.testing.matrix_line import MatrixLine
from commonplace.values.channel import ChannelProfile, PlatformError, PlatformRefused
from commonplace.values.envelope import ChatAttachment
from commonplace.values.permission import PermissionRequest

pytestmark = pytest.mark.anyio

FAULTS = [
    HomeFault(status=500),
    HomeFault(status=500, is_done=True),
    HomeFault(cut=True, is_done=True),
    HomeFault(status=504, body="<html>", is_done=True),
    limited(20),
]
LOST = [HomeFault(status=500, is_done=True)] * 3


def words(text: str = "On Fridays.", key: str = "k", **more: Any) -> Outgoing:
    return Outgoing(chat=ROOM, text=text, key=key, **more)


def card() -> PermissionCard:
    request = PermissionRequest(
        id="p1", call="c1", tool="write_file", kind="edit", title="Write a.txt", rule="write_file"
    )
    labels = {"approve": "Allow", "approve-always": "Allow in this session", "deny": "Refuse"}
    options = tuple(CardOption(label=label, command=command) for command, label in labels.items())
    return PermissionCard(request=request, options=options)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_message_that_may_be_there_is_sent_again_and_is_one(
    line: MatrixLine, server: Homeserver, fault: HomeFault
) -> None:
    server.fail("send", fault)
    async with line.open() as channel:
        first = await channel.send(words())
        again = await channel.send(words())

    assert server.texts() == ["On Fridays."]
    assert first == again
    assert len(server.made("send")) == 3


@pytest.mark.parametrize("body", ["", "[]", "{", {}, {"event_id": 7}, {"event_id": ""}, {"event_id": "$" + "x" * 300}])
async def test_an_answer_that_says_no_id_is_an_error_and_the_message_is_one(
    line: MatrixLine, server: Homeserver, body: Any
) -> None:
    server.fail("send", HomeFault(status=200, body=body, is_done=True))
    async with line.open() as channel:
        with pytest.raises(PlatformError):
            await channel.send(words())
        await channel.send(words())

    assert server.texts() == ["On Fridays."]


async def test_a_message_is_the_same_after_a_restart(line: MatrixLine, server: Homeserver) -> None:
    for _ in range(2):
        async with line.open() as channel:
            await channel.send(words())

    assert server.texts() == ["On Fridays."]


async def test_all_wait_while_the_server_takes_nothing(line: MatrixLine, server: Homeserver) -> None:
    server.fail("send", limited(150))
    async with line.open() as channel:
        await asyncio.gather(*(channel.send(words(f"{number}", f"k{number}")) for number in range(5)))

    # Others were under way when the first was turned away; nobody asked twice in the meantime.
    assert sorted(server.texts()) == ["0", "1", "2", "3", "4"]
    assert len(server.made("send")) == 6


async def test_a_pause_that_is_too_long_is_said_and_no_request_is_made_in_it(
    line: MatrixLine, server: Homeserver
) -> None:
    server.fail("send", limited(90_000))
    async with line.open() as channel:
        errors = [await failure(channel, words()) for _ in range(2)]

    assert [89 < (error.retry_after or 0) <= 90 for error in errors] == [True, True]
    assert len(server.made("send")) == 1


async def test_what_the_server_does_not_do_is_not_asked_again(line: MatrixLine, server: Homeserver) -> None:
    server.fail("send", denied())
    async with line.open() as channel:
        error = await failure(channel, words())

    assert "M_FORBIDDEN" in error.message
    assert len(server.made("send")) == 1


async def failure(channel: Any, message: Outgoing) -> PlatformError:
    with pytest.raises(PlatformError) as caught:
        await channel.send(message)
    return caught.value


async def test_a_reply_stands_where_it_belongs_and_names_who_asked(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        question = server.say("When?", BOB)
        await line.heard("When?")
        await channel.send(words("plain", "k1"))
        await channel.send(words("reply", "k2", reply_to=question))
        await channel.send(words("reply in a thread", "k3", reply_to=question, thread="$root"))
        await channel.send(words("in a thread", "k4", thread="$root", notice=True))

    relations = [message.get("m.relates_to") for message in server.said()]
    assert relations == [
        None,
        {"m.in_reply_to": {"event_id": question}},
        {
            "rel_type": "m.thread",
            "event_id": "$root",
            "is_falling_back": False,
            "m.in_reply_to": {"event_id": question},
        },
        {"rel_type": "m.thread", "event_id": "$root", "is_falling_back": True, "m.in_reply_to": {"event_id": "$root"}},
    ]
    assert [message["m.mentions"] for message in server.said()] == [{}, *[{"user_ids": [BOB]}] * 2, {}]
    assert [message["msgtype"] for message in server.said()] == ["m.text", "m.text", "m.text", "m.notice"]


# ---- while it is made


async def test_an_answer_grows_and_is_whole_at_last(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        await channel.send(words("On …", partial=True))
        await channel.edit(ROOM, "k", "On Fri …")
        server.fail("edit", HomeFault(status=500, is_done=True))
        await channel.edit(ROOM, "k", "On **Fridays**.", final=True)
        kept = await line.values.all("begun/")

    (message,) = server.said()
    assert message["body"] == "On **Fridays**."
    assert message["formatted_body"] == "<p>On <strong>Fridays</strong>.</p>"
    assert kept == {}


@pytest.mark.parametrize("faults", [[], LOST])
async def test_an_answer_that_was_begun_before_a_restart_is_made_whole_in_its_place(
    line: MatrixLine, server: Homeserver, faults: list[HomeFault]
) -> None:
    server.fail("send", *faults)
    async with line.open() as channel:
        try:
            await channel.send(words("On …", partial=True))
        except PlatformError:
            assert faults
        server.say("In between")
    async with line.open() as channel:
        await channel.send(words("On Fridays."))
        kept = await line.values.all("begun/")

    assert server.texts() == ["On Fridays."]
    assert kept == {}


async def test_previews_are_left_out_while_the_server_wants_less_and_the_end_is_not(
    line: MatrixLine, server: Homeserver
) -> None:
    server.fail("edit", limited(150))
    async with line.open() as channel:
        await channel.send(words("On …", partial=True))
        for text in ("On F …", "On Fr …", "On Fri …"):
            await channel.edit(ROOM, "k", text)
        previews = len(server.made("edit"))
        await channel.edit(ROOM, "k", "On Fridays.", final=True)

    assert previews == 1
    assert server.texts() == ["On Fridays."]


async def test_a_beginning_that_did_not_get_there_is_sent_with_what_comes_next(
    line: MatrixLine, server: Homeserver
) -> None:
    server.fail("send", HomeFault(status=500))
    async with line.open() as channel:
        await failure(channel, words("On …", partial=True))
        await channel.edit(ROOM, "k", "On Fri …")
        first = server.texts()
        await channel.edit(ROOM, "k", "On Fridays.", final=True)
        with pytest.raises(PlatformError, match="not known any more"):
            await channel.edit(ROOM, "other", "Hello")

    assert first == ["On Fri …"]
    assert server.texts() == ["On Fridays."]


# ---- marks and questions


async def test_a_message_is_marked_and_the_mark_is_taken_away(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        message = server.say("Hello")
        await channel.react(ROOM, message, "👀")
        await until(lambda: server.marks(message) == ["👀"])
        await channel.react(ROOM, message, "")
        await until(lambda: server.marks(message) == [])
        await line.keeps("seen/", 0)
        await channel.react(ROOM, message, "👀")
        await until(lambda: server.marks(message) == ["👀"])
        await line.keeps("seen/", 1)
    async with line.open():
        # What a process left behind the next takes away.
        await until(lambda: server.marks(message) == [])


@pytest.mark.parametrize("is_restart", [False, True])
async def test_a_mark_that_is_there_though_nobody_heard_so_is_taken_away(
    line: MatrixLine, server: Homeserver, is_restart: bool
) -> None:
    server.fail("m.reaction", HomeFault(cut=True, is_done=True))
    async with line.open() as channel:
        message = server.say("Hello")
        await channel.react(ROOM, message, "👀")
        await until(lambda: server.marks(message) == ["👀"])
        if not is_restart:
            await channel.react(ROOM, message, "")
            await until(lambda: server.marks(message) == [])
    async with line.open():
        await until(lambda: server.marks(message) == [])
        await line.keeps("seen/", 0)

    assert len(server.made("m.reaction")) >= 2


async def test_a_mark_that_is_not_taken_stops_nobody(line: MatrixLine, server: Homeserver) -> None:
    server.fail("m.reaction", limited(20), denied())
    async with line.open() as channel:
        first, second = server.say("one"), server.say("two")
        await channel.react(ROOM, first, "👀")
        await channel.react(ROOM, second, "👀")
        await channel.react(ROOM, first, "")
        await until(lambda: any(entry.event == "left_out" for entry in channel.log))
        await channel.send(words())

    assert server.texts() == ["On Fridays."]


async def test_we_are_seen_typing_until_the_last_turn_of_a_room_has_ended(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        for active in (True, True, False):
            await channel.show_typing(ROOM, active)
        await until(lambda: server.typing == [(ROOM, True)])
        await channel.show_typing(ROOM, False)
        await until(lambda: len(server.typing) == 2)

    assert server.typing == [(ROOM, True), (ROOM, False)]


async def test_a_question_carries_the_marks_to_choose_from_and_what_was_decided(
    line: MatrixLine, server: Homeserver
) -> None:
    async with line.open() as channel:
        event = await channel.send(words("May I write a.txt?", "p1-card", card=card(), notice=True))
        await until(lambda: server.marks(event) == ["✅", "♾️", "❌"])
        for sender, mark in ((BOB, "👍🏽"), (ANA, "❌"), (ANA, "🎉"), (BOB, "♾"), (BOB, "")):
            server.react(event, mark, sender)
        await until(lambda: len(line.desk.presses) == 3)
        await channel.settle_card(ROOM, "p1-card", CardOutcome(text="Allowed by bob.", allowed=True, voter="bob"))
        await channel.settle_card(ROOM, "p1-card", CardOutcome(text="Again.", allowed=True))

    presses = [(press.key, press.sender, press.action) for press in line.desk.presses]
    assert presses == [("p1-card", BOB, "approve"), ("p1-card", ANA, "deny"), ("p1-card", BOB, "approve-always")]
    (body,) = server.texts()
    assert body == "May I write a.txt?\n\n✅ Allow · ♾️ Allow in this session · ❌ Refuse\n\nAllowed by bob."


async def test_a_mark_on_anything_else_is_no_vote(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        theirs = server.say("Shall we?")
        event = await channel.send(words("May I?", "p1-card", card=card()))
        await until(lambda: len(server.marks(event)) == 3)
        server.room("!other:home", name="Other")
        server.react(theirs, "👍")
        server.react(event, "👍", chat="!other:home")
        server.put(ROOM, "m.reaction", {"m.relates_to": {"event_id": event}}, sender=BOB)
        server.react("$nowhere", "👍")
        server.say("After")
        await until(lambda: "After" in line.desk.texts)

    # Nor are our own, which stand below the question.
    assert line.desk.presses == []


async def test_a_vote_that_does_not_count_is_answered_once(line: MatrixLine, server: Homeserver) -> None:
    line.desk.reply = "You are not linked."
    async with line.open() as channel:
        event = await channel.send(words("May I?", "p1-card", card=card()))
        server.react(event, "👍")
        await until(lambda: len(server.said()) == 2)
        line.desk.failures = 1
        server.say("After")
        await until(lambda: "After" in line.desk.texts)

    assert server.texts()[1] == "Bob: You are not linked."
    assert len(line.desk.presses) == 1


async def test_a_vote_is_counted_once_if_what_came_with_it_has_to_come_again(
    line: MatrixLine, server: Homeserver
) -> None:
    async with line.open() as channel:
        event = await channel.send(words("May I?", "p1-card", card=card()))
        server.fail("sync", HomeFault(status=500))
        line.desk.failures = 2
        server.react(event, "👍")
        server.say("After")
        await line.heard("After")

    assert len(line.desk.presses) == 1


# ---- files


async def test_a_file_is_fetched_and_what_is_too_large_or_gone_is_not(line: MatrixLine, server: Homeserver) -> None:
    bomb = gzip.compress(b"\0" * (80 << 20))
    server.files |= {
        "home/plan": (b"plan", {}),
        "home/large": (b"x" * ((50 << 20) + 1), {}),
        "home/bomb": (bomb, {"Content-Encoding": "gzip"}),
        "home/broken": (b"\x1f\x8b rubbish", {"Content-Encoding": "gzip"}),
    }
    async with line.open() as channel:
        plan = await channel.download(file("mxc://home/plan"))
        errors = [await undone(channel, f"mxc://home/{name}") for name in ("large", "bomb", "broken", "nowhere")]

    assert plan == b"plan"
    assert len(bomb) < 1 << 20
    assert [isinstance(error, PlatformError) for error in errors] == [True] * 4
    assert ["longer than" in error.message for error in errors] == [True, True, False, False]


@pytest.mark.parametrize(
    "reference", ["", "https://evil.example/x", "mxc://", "mxc://home", "mxc://../..", "mxc://home/..", "mxc:///x"]
)
async def test_what_is_no_file_of_a_server_is_not_asked_for(
    line: MatrixLine, server: Homeserver, reference: str
) -> None:
    async with line.open() as channel:
        error = await undone(channel, reference)

    assert isinstance(error, NotFound)
    assert server.made("media") == []


def test_a_reference_leads_nowhere_else() -> None:
    assert media_path("mxc://home:8448/a b/../c").endswith("/home:8448/a%20b%2F..%2Fc")


def file(reference: str) -> ChatAttachment:
    return ChatAttachment(kind="file", name="plan.pdf", reference=reference)


async def undone(channel: Any, reference: str) -> Any:
    with pytest.raises((PlatformError, NotFound)) as caught:
        await channel.download(file(reference))
    return caught.value


# ---- the address and the token


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://matrix.example.org/", "https://matrix.example.org"),
        (" https://example.org/matrix/ ", "https://example.org/matrix"),
        ("http://127.0.0.1:8008", "http://127.0.0.1:8008"),
        ("http://localhost:8008", "http://localhost:8008"),
        ("http://matrix.example.org", None),
        ("matrix.example.org", None),
        ("ftp://example.org", None),
        ("https://", None),
        ("https://ana:secret@example.org", None),
        ("https://example.org/?x=1", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_the_address_of_a_server_is_one_to_which_a_token_may_go(text: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(InvalidInput):
            checked_address(text)
    else:
        assert checked_address(text) == address


@pytest.mark.parametrize("token", ["", "syt a b", "syt_é", "syt\nX: y"])
async def test_a_token_that_cannot_be_one_is_said_and_not_sent(
    bench: TurnBench, line: MatrixLine, server: Homeserver, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("MATRIX_TOKEN", "syt_at_first")
    settings = OPEN.from_text(OPEN.to_text().replace('"options":{}', f'"options":{{"homeserver":"{server.url}"}}'))
    settings = settings.from_text(settings.to_text().replace('"secrets":{}', '"secrets":{"token":"MATRIX_TOKEN"}'))
    profile = ChannelProfile(name="team", kind="matrix", created_at=line.clock.now(), settings=settings)
    channel = matrix_channel("default/default", profile, RoomBench(bench).parts)
    monkeypatch.setenv("MATRIX_TOKEN", token)
    async with channel.connect(line.desk):
        await until(lambda: channel.connection.status == "refused")
        error = channel.connection.error or ""

    assert server.calls == []
    assert not token or token not in error


async def test_a_proxy_elsewhere_and_a_redirection_get_no_token(
    server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.fail("whoami", HomeFault(status=307, headers={"Location": "http://127.0.0.1:1/stolen"}))
    async with MatrixClient(server.url, lambda: server.token) as client:
        with pytest.raises(PlatformError, match="307"):
            await client.get("/account/whoami")
        identity = await client.get("/account/whoami")

    assert identity == {"user_id": "@assistant:home"}


async def test_a_server_that_is_away_or_says_nothing_is_an_error_of_the_platform(server: Homeserver) -> None:
    server.fail("whoami", HomeFault(hang=True))
    async with MatrixClient(server.url, lambda: server.token) as client:
        with pytest.raises(PlatformError, match="timed out"):
            await client.get("/account/whoami", seconds=0.05)
    async with MatrixClient("http://127.0.0.1:1", lambda: "syt") as client:
        with pytest.raises(PlatformError, match="Cannot reach"):
            await client.get("/account/whoami")
    with pytest.raises(PlatformError, match="not connected"):
        await client.ask(Request(method="GET", path="/"))


async def test_what_the_server_says_of_the_token_is_not_shown(server: Homeserver) -> None:
    server.fail("whoami", HomeFault(status=400, body={"errcode": "M_UNKNOWN", "error": f"Bad {server.token}"}))
    async with MatrixClient(server.url, lambda: server.token) as client:
        with pytest.raises(PlatformError) as caught:
            await client.get("/account/whoami")

    assert server.token not in caught.value.message
    assert not isinstance(caught.value, PlatformRefused)
    assert httpx.URL(server.url).host == "127.0.0.1"
