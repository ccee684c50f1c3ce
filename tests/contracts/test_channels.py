"""What every store of channels must do."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonplace.errors import NotFound
from commonplace.jobs.payloads import Nothing
from commonplace.ports.journal import Entries
from commonplace.ports.store import Store
from commonplace.service.upkeep import Housekeeping
from commonplace.testing.clock import FakeClock
from commonplace.values.channel import (
    ChannelExists,
    ChannelNotFound,
    ChannelProfile,
    ChannelSender,
    ChannelSettings,
    ChatRoom,
    GroupSettings,
    RoomBudget,
    RoomMessageDraft,
    RoomNotFound,
    Route,
    SenderLink,
)
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T, OTHER = DEFAULT_TENANT, "acme/rockets"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
NONE = Entries()
UPKEEP_JOB: Any = None
SETTINGS = ChannelSettings(
    agent="coder",
    groups={"*": GroupSettings(require_mention=False), "7": GroupSettings(dispatch="collect")},
    allowed=("ana", "李"),
    budget=RoomBudget(micro_usd=5_000_000, hours=12),
    secrets={"token": "TEAM_TOKEN"},
)
TEAM = ChannelProfile(name="team", kind="web", created_at=NOW, settings=SETTINGS)


def room(chat: str = "7", channel: str = "team") -> ChatRoom:
    return ChatRoom(channel=channel, chat=chat, title=f"ChatRoom {chat}", created_at=NOW)


def draft(
    id: str, chat: str = "7", *, at: datetime = NOW, handled: bool = False, text: str = "hello"
) -> RoomMessageDraft:
    return RoomMessageDraft(
        channel="team",
        chat=chat,
        id=id,
        at=at,
        author="person",
        text=text,
        sender="ana",
        sender_name="Ana",
        data={"run": "r-1", "reach": {"scopes": ["workspace:web"]}},
        handled=handled,
    )


async def test_a_channel_is_kept_as_it_was_set_and_only_once_under_its_name(store: Store) -> None:
    await store.channels.put_channel(T, TEAM, NONE, new=True)
    await store.channels.put_channel(OTHER, replace(TEAM, enabled=False), NONE, new=True)

    with pytest.raises(ChannelExists):
        await store.channels.put_channel(T, TEAM, NONE, new=True)
    await store.channels.put_channel(T, replace(TEAM, enabled=False), NONE)

    assert await store.channels.channels(T) == [(T, replace(TEAM, enabled=False))]
    assert [tenant for tenant, _ in await store.channels.channels()] == [OTHER, T]


async def test_what_is_removed_goes_with_all_that_was_in_it_and_nothing_else(store: Store) -> None:
    channels = store.channels
    for name in ("team", "other"):
        await channels.put_channel(T, replace(TEAM, name=name), NONE)
        await channels.put_room(T, room(channel=name), NONE)
        await channels.keep_message(T, replace(draft("m"), channel=name))
        await channels.put_route(T, Route(channel=name, key="7", session="s", chat="7"))
        await channels.put_sender(T, ChannelSender(channel=name, sender="ana"), NONE)

    await channels.remove_channel(T, "team", NONE)
    with pytest.raises(ChannelNotFound):
        await channels.remove_channel(T, "team", NONE)

    for name, count in (("team", 0), ("other", 1)):
        parts = (channels.rooms, channels.routes, channels.senders, channels.unhandled)
        assert [len(await part(T, name)) for part in parts] == [count] * 4


async def test_a_room_is_changed_in_its_place_and_removed_with_its_messages(store: Store) -> None:
    channels = store.channels
    await channels.put_room(T, room("7"), NONE)
    await channels.put_room(T, room("8"), NONE)
    await channels.put_room(T, replace(room("7"), paused=True, title="A first"), NONE)
    await channels.keep_message(T, draft("m", "7"))
    await channels.keep_message(T, draft("m", "8"))
    listed = [(one.chat, one.paused) for one in await channels.rooms(T, "team")]

    await channels.remove_room(T, "team", "7", NONE)

    assert listed == [("7", True), ("8", False)]
    assert await channels.room(T, "team", "7") is None
    assert (await channels.messages(T, "team", "7")).messages == ()
    assert len((await channels.messages(T, "team", "8")).messages) == 1
    with pytest.raises(RoomNotFound):
        await channels.remove_room(T, "team", "7", NONE)


async def test_a_message_is_taken_once_and_keeps_what_it_said(store: Store) -> None:
    first = await store.channels.keep_message(T, draft("m"))
    again = await store.channels.keep_message(T, draft("m", text="something else"))
    elsewhere = await store.channels.keep_message(T, draft("m", "8"))

    assert first is not None
    assert (again, elsewhere is None) == (None, False)
    assert await store.channels.message(T, "team", "7", "m") == first
    assert (first.text, first.data["reach"]) == ("hello", {"scopes": ["workspace:web"]})
    assert await store.channels.message(OTHER, "team", "7", "m") is None


async def test_messages_are_read_from_the_end_and_in_their_order(store: Store) -> None:
    for number in range(5):
        await store.channels.keep_message(T, draft(f"m{number}"))

    last = await store.channels.messages(T, "team", "7", limit=2)
    before = await store.channels.messages(T, "team", "7", before=last.messages[0].number, limit=5)

    assert [one.id for one in last.messages] == ["m3", "m4"]
    assert [one.id for one in before.messages] == ["m0", "m1", "m2"]
    assert (last.before, before.before) == (True, False)


async def test_what_is_not_handled_is_listed_until_it_is(store: Store) -> None:
    channels = store.channels
    for id, chat in (("b", "7"), ("a", "8"), ("c", "7")):
        await channels.keep_message(T, draft(id, chat))
    await channels.keep_message(T, draft("d", handled=True))

    waiting = [(chat, one.id) for chat, one in await channels.unhandled(T, "team")]
    await channels.mark_handled(T, "team", "7", ["b", "none"])
    left = [one.id for _, one in await channels.unhandled(T, "team")]

    assert waiting == [("7", "b"), ("8", "a"), ("7", "c")]
    assert left == ["a", "c"]


async def test_a_message_is_changed_in_what_is_named(store: Store) -> None:
    await store.channels.keep_message(T, draft("m"))

    await store.channels.change_message(T, "team", "7", "m", text="edited")
    await store.channels.change_message(T, "team", "7", "m", data={"outcome": True})

    message = await store.channels.message(T, "team", "7", "m")
    assert message is not None
    assert (message.text, message.data) == ("edited", {"outcome": True})


async def test_what_was_handled_long_ago_is_dropped(store: Store) -> None:
    await store.channels.keep_message(T, draft("old", at=NOW - timedelta(days=9), handled=True))
    await store.channels.keep_message(T, draft("waits", at=NOW - timedelta(days=9)))
    await store.channels.keep_message(T, draft("new", handled=True))

    count = await store.channels.trim_messages(NOW - timedelta(days=1))

    assert count == 1
    assert [one.id for one in (await store.channels.messages(T, "team", "7")).messages] == ["waits", "new"]


async def test_the_upkeep_drops_what_was_said_in_rooms_long_ago(store: Store) -> None:
    await store.channels.keep_message(T, draft("old", handled=True, at=NOW - timedelta(days=400)))
    await store.channels.keep_message(OTHER, draft("theirs", handled=True, at=NOW - timedelta(days=400)))
    await store.channels.keep_message(T, draft("new", handled=True))
    housekeeping = Housekeeping(
        store=store,
        clock=FakeClock(NOW),
        events_kept=timedelta(days=7),
        most_events=10,
        room_messages_kept=timedelta(days=365),
    )

    counts = await housekeeping.run(UPKEEP_JOB, Nothing(), lambda _done, _total: None)

    assert counts["room_messages"] == 2
    assert [one.id for one in (await store.channels.messages(T, "team", "7")).messages] == ["new"]
    assert (await store.channels.messages(OTHER, "team", "7")).messages == ()


async def test_a_way_leads_to_one_session_at_a_time(store: Store) -> None:
    first = Route(channel="team", key="ana\n7", session="s1", chat="7", thread="t", is_group=False)
    await store.channels.put_route(T, first)
    await store.channels.put_route(T, replace(first, session="s2"))

    assert await store.channels.route(T, "team", "ana\n7") == replace(first, session="s2")
    await store.channels.remove_route(T, "team", "ana\n7")
    assert await store.channels.route(T, "team", "ana\n7") is None


async def test_of_several_who_begin_a_way_at_once_the_first_does(store: Store) -> None:
    ways = [Route(channel="team", key="7", session=f"s{number}", chat="7") for number in range(5)]

    begun = await asyncio.gather(*(store.channels.begin_route(T, way, instead=None) for way in ways))

    [way] = set(begun)
    assert way in ways
    assert await store.channels.route(T, "team", "7") == way
    later = replace(way, session="later")
    assert await store.channels.begin_route(T, later, instead="another") == way
    assert await store.channels.begin_route(T, later, instead=way.session) == later
    assert await store.channels.begin_route(T, way, instead=None) == later


async def test_a_sender_waits_and_is_let_in(store: Store) -> None:
    waiting = ChannelSender(channel="team", sender="u1", name="Ana", code="K7M2QX4B", code_at=NOW)
    await store.channels.put_sender(T, waiting, NONE)
    await store.channels.put_sender(T, replace(waiting, code=None, code_at=None, approved_at=NOW), NONE)

    assert await store.channels.sender(T, "team", "u1") == replace(waiting, code=None, code_at=None, approved_at=NOW)
    await store.channels.remove_sender(T, "team", "u1", NONE)
    assert await store.channels.senders(T, "team") == []
    with pytest.raises(NotFound):
        await store.channels.remove_sender(T, "team", "u1", NONE)


async def test_a_sender_is_one_person_here(store: Store) -> None:
    link = SenderLink(identity="matrix:@ana:example.org", subject="ana", created_at=NOW)
    await store.channels.put_link(T, link, NONE)
    await store.channels.put_link(T, replace(link, subject="anna"), NONE)

    assert await store.channels.links(T) == [replace(link, subject="anna")]
    assert await store.channels.link(OTHER, link.identity) is None
    await store.channels.remove_link(T, link.identity, NONE)
    assert await store.channels.link(T, link.identity) is None
    with pytest.raises(NotFound):
        await store.channels.remove_link(T, link.identity, NONE)


async def test_what_a_platform_keeps_is_its_channels_and_goes_with_it(store: Store) -> None:
    channels = store.channels
    for name in ("team", "team-2"):
        await channels.put_channel(T, replace(TEAM, name=name), NONE)
        await channels.put_platform_value(T, name, "sync", "s1")
        await channels.put_platform_value(T, name, "room/7", "one")
        await channels.put_platform_value(T, name, "room%", "no pattern")
    await channels.put_platform_value(T, "team", "sync", "s2")
    await channels.put_platform_value(T, "team-2", "room/7", None)

    assert await channels.platform_values(T, "team") == {"room%": "no pattern", "room/7": "one", "sync": "s2"}
    assert await channels.platform_values(T, "team", "room/") == {"room/7": "one"}
    assert await channels.platform_values(OTHER, "team") == {}

    await channels.remove_channel(T, "team", NONE)

    assert await channels.platform_values(T, "team") == {}
    assert await channels.platform_values(T, "team-2") == {"room%": "no pattern", "sync": "s1"}
