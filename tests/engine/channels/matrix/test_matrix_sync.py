"""Sync: what is said comes once and in order, through faults, gaps and restarts."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.testing.events import until
from commonplace.testing.homeserver import ANA, BOB, BOT, ROOM, HomeFault, Homeserver, denied, limited
from commonplace.testing.matrix_line import MatrixLine

pytestmark = pytest.mark.anyio

BROKEN: list[Any] = [
    HomeFault(status=500),
    HomeFault(status=502, body="<html>Bad Gateway</html>"),
    HomeFault(status=404, body="not found"),
    HomeFault(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    HomeFault(status=200, body="<html>"),
    HomeFault(status=200, body="[]"),
    HomeFault(status=200, body={"next_batch": ""}),
    HomeFault(status=200, body={"next_batch": "s99", "rooms": []}),
    HomeFault(status=200, body={"next_batch": "s99", "rooms": {"join": {ROOM: 7}}}),
    HomeFault(status=200, body="[" * 100_000),
    HomeFault(status=200, body=b"\xff\xfe{}"),
    HomeFault(cut=True),
    limited(20),
    limited(-7),
    HomeFault(status=400, body={"errcode": ["M_"], "error": {"a": 1}}),
]


async def test_what_was_said_before_we_came_is_not_answered(line: MatrixLine, server: Homeserver) -> None:
    server.say("Long ago")
    async with line.open():
        server.say("Now")
        await line.heard("Now")

    assert line.desk.rooms == [(ROOM, "Releases", True)]


async def test_what_was_said_while_we_were_away_comes_when_we_are_back(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.say("one")
        await line.heard("one")
    for text in ("two", "three"):
        server.say(text, BOB)
    async with line.open():
        await line.heard("one", "two", "three")

    assert [envelope.sender for envelope in line.desk.envelopes] == [ANA, BOB, BOB]


async def test_nothing_is_brought_again_by_a_restart(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.say("one")
        await line.heard("one")
        await until(lambda: len(server.made("sync")) > 2)
    for _ in range(2):
        async with line.open():
            pass

    assert len(line.desk.brought) == 1


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_sync_that_fails_is_asked_again_from_the_same_place(
    line: MatrixLine, server: Homeserver, fault: HomeFault
) -> None:
    async with line.open() as channel:
        server.fail("sync", fault, fault)
        server.say("one")
        await line.heard("one")
        server.say("two")
        await line.heard("one", "two")
        errors = [entry.detail for entry in channel.log if entry.event == "waiting"]

    assert len(line.naps) >= 1
    assert errors
    assert all(error and server.token not in error for error in errors)


async def test_the_pauses_between_attempts_grow_until_it_is_connected(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        server.fail("sync", *[HomeFault(status=503)] * 4)
        server.say("one")
        await until(lambda: len(line.naps) == 4)
        await line.heard("one")
        await until(lambda: channel.connection.status == "connected")
        attempts = channel.connection.attempts

    assert line.naps[:4] == [1.0, 2.0, 4.0, 8.0]
    assert attempts == 0


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (limited(42_000), 42),
        (limited("soon"), 1),
        (limited(True), 1),
        (limited(10**400), 300),
        (HomeFault(status=429, body='{"retry_after_ms": 1e999}'), 300),
        (HomeFault(status=429, body='{"retry_after_ms": NaN}'), 1),
        (HomeFault(status=429, body="", headers={"Retry-After": "7"}), 7),
        (HomeFault(status=429, body="", headers={"Retry-After": "tomorrow"}), 1),
    ],
)
async def test_a_server_that_slows_us_down_is_left_alone_as_long_as_it_says(
    line: MatrixLine, server: Homeserver, fault: HomeFault, seconds: int
) -> None:
    async with line.open():
        server.fail("sync", fault)
        server.say("one")
        await until(lambda: bool(line.naps))

    assert seconds - 0.5 < line.naps[0] <= seconds + 0.5


async def test_a_token_that_is_not_known_is_tried_seldom_and_never_shown(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        before, server.token = server.token, "syt_new"
        line.token = before
        server.say("one")
        await until(lambda: channel.connection.status == "refused")
        error = channel.connection.error or ""
        line.token = "syt_new"
        await line.heard("one")

    assert 300.0 in line.naps
    assert "M_UNKNOWN_TOKEN" in error
    assert before not in error


async def test_the_place_is_kept_only_when_everything_before_it_was_taken_over(
    line: MatrixLine, server: Homeserver
) -> None:
    async with line.open():
        pass
    for text in ("one", "two", "three"):
        server.say(text)
    line.desk.failures = 2
    async with line.open():
        await line.heard("one", "two", "three")

    # The first was brought until it was kept, and the others behind it.
    first, *_ = line.desk.brought
    assert line.desk.brought[:2] == [first, first]
    assert len(line.desk.envelopes) == 3


async def test_an_event_that_is_told_twice_is_handed_over_as_the_same(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        event = server.say("one")
        await line.heard("one")
        (place, whole), *_ = [entry for entry in server.rooms[ROOM].events if entry[1]["event_id"] == event]
        server.raw(ROOM, whole)
        server.say("two")
        await line.heard("one", "two")

    assert place < server.place


async def test_a_gap_is_filled_page_by_page_and_in_order(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        pass
    texts = [f"message {number}" for number in range(230)]
    for text in texts:
        server.say(text, to_us=False)
    async with line.open():
        await line.heard(*texts)

    assert len(server.made("messages")) == 2
    assert len(line.desk.brought) == 230


async def test_a_gap_that_cannot_be_read_now_is_read_later(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        pass
    texts = [f"message {number}" for number in range(60)]
    for text in texts:
        server.say(text)
    server.fail("messages", HomeFault(status=500), HomeFault(cut=True), HomeFault(status=200, body={"chunk": 5}))
    async with line.open():
        await line.heard(*texts)

    assert len(line.naps) == 3


async def test_a_gap_that_may_not_be_read_is_said_and_the_rest_comes(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        pass
    for number in range(60):
        server.say(f"message {number}")
    server.fail("messages", denied())
    async with line.open() as channel:
        await until(lambda: len(line.desk.texts) == 50)
        events = [entry.event for entry in channel.log]

    assert line.desk.texts[0] == "message 10"
    assert "gap" in events


async def test_a_gap_that_is_too_large_is_read_from_its_end_and_said(
    line: MatrixLine, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.channels.matrix.listener._MOST_PAGES", 1)
    async with line.open():
        pass
    for number in range(160):
        server.say(f"{number}")
    async with line.open() as channel:
        await until(lambda: len(line.desk.texts) == 150)
        details = [entry.detail for entry in channel.log if entry.event == "gap"]

    assert (line.desk.texts[0], line.desk.texts[-1]) == ("10", "159")
    assert "more than 100 messages" in details[0]


async def test_an_answer_that_is_too_long_is_asked_for_in_pages(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        pass
    texts = [f"{number} " + "long " * 2_000 for number in range(8)]
    for text in texts:
        server.say(text)
    line.more["answer_bytes"] = 90_000
    async with line.open():
        await until(lambda: len(line.desk.texts) == 8)

    assert [text[:2] for text in line.desk.texts] == [text[:2] for text in texts]


async def test_a_place_that_the_server_does_not_know_is_begun_anew(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        pass
    server.fail("sync", denied("M_UNKNOWN", 400))
    async with line.open() as channel:
        server.say("one")
        await line.heard("one")
        events = [entry.event for entry in channel.log]

    assert "place_unknown" in events


async def test_state_is_read_once_and_then_only_what_changes(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        server.put(ROOM, "m.room.name", {"name": "Launch"}, key="")
        server.put(
            ROOM, "m.room.member", {"membership": "join", "displayname": "Cleo"}, key="@c:home", sender="@c:home"
        )
        server.put(ROOM, "m.room.member", {"membership": "leave"}, key=BOB, sender=BOB)
        server.say("one")
        await line.heard("one")
        people = channel.people(ROOM)

    assert people == ("Ana", "Cleo")
    assert line.desk.rooms[-1] == (ROOM, "Launch", True)
    assert [("full_state" in params) for params in server.made("sync")][:2] == [True, False]


async def test_a_room_that_we_were_sent_out_of_is_forgotten(line: MatrixLine, server: Homeserver) -> None:
    async with line.open() as channel:
        server.put(ROOM, "m.room.member", {"membership": "ban"}, key=BOT)
        await until(lambda: not channel.people(ROOM))
        events = [entry.event for entry in channel.log]

    assert "left" in events
