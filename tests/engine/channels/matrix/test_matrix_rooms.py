"""In and out of rooms: invitations, rooms that are replaced, rooms that are encrypted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from commonplace.channels.matrix.invitations import Invitation, would_hear
from commonplace.channels.matrix.rooms import MatrixRoom
from commonplace.ports.channel import Outgoing
from commonplace.testing.channels import OPEN
from commonplace.testing.events import until
from commonplace.testing.homeserver import ANA, BOB, BOT, ROOM, HomeFault, Homeserver, denied
from commonplace.testing.matrix_line import MatrixLine
from commonplace.values.channel import ChannelSettings, GroupSettings, PlatformError

pytestmark = pytest.mark.anyio

NEW = "!new:home"
ENCRYPTION = {"algorithm": "m.megolm.v1.aes-sha2"}


async def test_an_invitation_is_taken_and_who_invited_is_heard(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.room(NEW, ANA, name="New", bot="invite")
        await until(lambda: (NEW, "New", True) in line.desk.rooms)
        server.say("Welcome", chat=NEW)
        await line.heard("Welcome")


async def test_what_was_said_between_invitation_and_coming_is_heard_and_nothing_before(
    line: MatrixLine, server: Homeserver
) -> None:
    server.fail("join", HomeFault(status=500))
    async with line.open():
        server.room(NEW, ANA, name="New", bot="")
        server.say("Before", chat=NEW)
        server.invite(NEW)
        server.say("Since", chat=NEW)
        await line.heard("Since")


async def test_a_talk_of_two_is_no_group_and_is_kept_as_such(line: MatrixLine, server: Homeserver) -> None:
    server.account_data["m.direct"] = {ANA: ["!old:home"], BOB: ["!his:home"]}
    async with line.open():
        server.room(NEW, ANA, name="", bot="invite", direct=True)
        await until(lambda: (NEW, "Ana", False) in line.desk.rooms)
        server.say("Hello", chat=NEW, to_us=False)
        await line.heard("Hello")
        await until(lambda: NEW in str(server.account_data))

    assert server.account_data["m.direct"] == {ANA: ["!old:home", NEW], BOB: ["!his:home"]}
    assert not line.desk.envelopes[0].is_group


async def test_an_invitation_to_a_room_far_off_keeps_nobody_waiting(line: MatrixLine, server: Homeserver) -> None:
    server.fail("join", *[HomeFault(status=502, body={"errcode": "M_UNKNOWN"})] * 12)
    async with line.open() as channel:
        server.room(NEW, ANA, name="New", bot="invite")
        server.say("Still here?")
        await line.heard("Still here?")
        await until(lambda: sum(entry.event == "not_joined" for entry in channel.log) == 4)
        kept = await line.keeps("invited/", 1)
    async with line.open():
        await until(lambda: (NEW, "New", True) in line.desk.rooms)
        await line.keeps("invited/", 0)

    assert list(kept) == [NEW]
    assert {60.0, 600.0} <= set(line.pauses)


async def test_an_invitation_that_is_gone_is_given_up(line: MatrixLine, server: Homeserver) -> None:
    server.fail("join", denied())
    async with line.open() as channel:
        server.room(NEW, ANA, name="New", bot="invite")
        await until(lambda: any(entry.event == "not_joined" for entry in channel.log))
        await line.keeps("invited/", 0)

    assert len(server.made("join")) == 1


async def test_where_nobody_is_heard_we_do_not_go_until_the_settings_say_otherwise(
    line: MatrixLine, server: Homeserver
) -> None:
    line.settings = replace(OPEN, group_policy="allowlist", senders="allowlist", allowed=(BOB,))
    async with line.open() as channel:
        server.room(NEW, ANA, name="New", bot="invite")
        await until(lambda: any(entry.event == "not_joined" for entry in channel.log))
        server.fail("sync", *[HomeFault(status=500)] * 3)
        server.say("After")
        await until(lambda: len(line.naps) == 3)
        notes = [entry.event for entry in channel.log].count("not_joined")
    before = server.rooms[NEW].membership(BOT)
    line.settings = replace(line.settings, groups={NEW: GroupSettings()})
    async with line.open():
        await until(lambda: (NEW, "New", True) in line.desk.rooms)
        await line.keeps("invited/", 0)

    assert (before, server.rooms[NEW].membership(BOT)) == ("invite", "join")
    # The log says it once, not with each connection.
    assert notes == 1


@pytest.mark.parametrize(
    ("settings", "invitation", "goes"),
    [
        ({}, Invitation(by=ANA, has_name=True), False),
        ({}, Invitation(by=ANA, is_direct=True), False),
        ({"allowed": (ANA,)}, Invitation(by=ANA, is_direct=True, has_name=True), True),
        ({"allowed": (ANA,)}, Invitation(by=ANA), True),
        ({"allowed": (ANA,)}, Invitation(by=ANA, has_name=True), False),
        ({"allowed": (ANA,)}, Invitation(by=BOB, is_direct=True), False),
        ({"senders": "pairing"}, Invitation(by=BOB, is_direct=True), True),
        ({"senders": "open"}, Invitation(by=BOB, is_direct=True), True),
        ({"group_policy": "open"}, Invitation(by=BOB, has_name=True), True),
        ({"group_policy": "pairing"}, Invitation(by=BOB, has_name=True), True),
        ({"group_policy": "allowlist", "groups": {NEW: GroupSettings()}}, Invitation(by=BOB, has_name=True), True),
        ({"group_policy": "allowlist", "groups": {"*": GroupSettings()}}, Invitation(by=BOB, has_name=True), False),
        ({}, Invitation(by="", follows=True), True),
    ],
)
async def test_we_go_where_somebody_would_be_heard(
    settings: dict[str, Any], invitation: Invitation, goes: bool
) -> None:
    assert would_hear(ChannelSettings(**settings), NEW, invitation) is goes


async def test_strangers_cannot_fill_the_store_with_invitations(
    line: MatrixLine, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.settings = ChannelSettings()
    async with line.open() as channel:
        monkeypatch.setattr("commonplace.channels.matrix.invitations._MOST", 20)
        for number in range(22):
            server.room(f"!{number}:far", ANA, name="Join us", bot="invite")
        await until(lambda: sum("too many" in entry.detail for entry in channel.log) == 2)
        kept = await line.values.all("invited/")

    assert len(kept) == 20


@pytest.mark.parametrize("place", ["!next:home", "#alias:home", "", "!" + "x" * 300, "!a\u202eb:home", 7])
async def test_a_room_that_is_replaced_is_followed(line: MatrixLine, server: Homeserver, place: Any) -> None:
    async with line.open() as channel:
        server.put(ROOM, "m.room.tombstone", {"body": "Moved", "replacement_room": place}, key="")
        server.say("After")
        await line.heard("After")
        if place == "!next:home":
            await until(lambda: bool(server.made("join")))
        events = [entry.event for entry in channel.log]

    assert ("upgraded" in events) is (place == "!next:home")
    assert [body.get("via") for body in server.made("join")] in ([], [None])


async def test_an_encrypted_room_is_told_so_once_over_restarts(line: MatrixLine, server: Homeserver) -> None:
    server.room(NEW, ANA, BOB, name="Secret", bot="")
    server.put(NEW, "m.room.encryption", ENCRYPTION, key="")
    server.invite(NEW)
    for _ in range(2):
        async with line.open() as channel:
            await until(lambda: bool(server.said(NEW)))
            server.put(NEW, "m.room.encrypted", {"ciphertext": "x"})
            server.say("In the clear", chat=NEW)
            server.say("Elsewhere")
            await until(lambda: "Elsewhere" in line.desk.texts)
            with pytest.raises(PlatformError, match="encrypted"):
                await channel.send(Outgoing(chat=NEW, text="Hello", key="k"))
        line.desk.envelopes.clear()

    (notice,) = server.said(NEW)
    assert "encrypted" in notice["body"]
    assert "加密" in notice["body"]
    assert NEW not in [chat for chat, _, _ in line.desk.rooms]


async def test_a_room_that_becomes_encrypted_is_told_so(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.say("Before")
        server.put(ROOM, "m.room.encryption", ENCRYPTION, key="")
        server.say("After")
        await until(lambda: bool(server.said()))

    assert line.desk.texts == ["Before"]


async def test_the_server_need_not_let_us_say_that_a_room_is_encrypted(line: MatrixLine, server: Homeserver) -> None:
    server.put(ROOM, "m.room.encryption", ENCRYPTION, key="")
    server.fail("send", denied())
    async with line.open() as channel:
        await until(lambda: channel.connection.status == "connected")

    assert server.said() == []
    assert line.naps == []


async def test_one_member_cannot_make_a_room_look_encrypted(line: MatrixLine, server: Homeserver) -> None:
    async with line.open():
        server.put(ROOM, "m.room.encrypted", {"ciphertext": "x"}, sender=BOB)
        server.put(ROOM, "m.room.encryption", ENCRYPTION, sender=BOB)
        server.say("Still here")
        await line.heard("Still here")

    assert server.said() == []


def test_a_name_that_looks_like_anothers_is_shown_with_its_id() -> None:
    names = {ANA: "Ana", BOB: "Ana\u200b", "@c:home": "ANA ", "@d:home": "Dan", "@e:home": ""}
    room = MatrixRoom(chat=ROOM, members=names)

    shown = [room.sender_name(who) for who in (*names, "@f:home")]

    assert shown[:3] == [f"Ana {ANA}", f"Ana\u200b {BOB}", "ANA  @c:home"]
    assert shown[3:] == ["Dan", "e", "f"]


def test_a_title_is_on_one_line_and_shows_what_it_is() -> None:
    room = MatrixRoom(chat=ROOM, name="Rel\u202eeases\n\0", members={ANA: "Ana", BOT: "Assistant"})

    assert room.title(BOT) == "Releases"
    assert MatrixRoom(chat=ROOM, alias="#a:home").title(BOT) == "#a:home"
    assert MatrixRoom(chat=ROOM, members=room.members).title(BOT) == "Ana"
