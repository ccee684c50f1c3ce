"""Who decides in a room what a tool may do: whoever is first, who asked, or those who have to agree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import pytest

from commonplace.agent.tools.tool import AgentTool
from commonplace.channels.roster import MOST_VOTERS, roster
from commonplace.ports.channel import ButtonPress, ChannelLimits
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.events import until
from commonplace.values.audit import ROOM_ACTIONS, AuditQuery, AuditRow
from commonplace.values.channel import ChatRoom, GroupSettings, RoomMessageDraft, SenderLink
from commonplace.values.permission import PermissionPolicy
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

CHAT = "room-7"
Asked: TypeAlias = Callable[[], AbstractAsyncContextManager[tuple[RoomBench, str]]]


async def push() -> str:
    return "Pushed."


@asynccontextmanager
async def asked(
    bench: TurnBench, policy: PermissionPolicy, *, before: tuple[str, ...] = (), linked: str = "ana bob cyd"
) -> AsyncGenerator[tuple[RoomBench, str]]:
    """A room whose tool asks, with what Ana said; those of `before` spoke there."""
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    script = ["Hello."] * len(before)
    turns = [ScriptedCall("push"), "It is pushed.", ScriptedCall("push"), "Again."]
    bench.model = ScriptedChatModel(*script, *turns, then="Done.")
    room = RoomBench(bench, replace(OPEN, groups={CHAT: GroupSettings(permissions=policy)}))
    for name in linked.split():
        link = SenderLink(identity=f"terminal:{name}", subject=f"{name}.person", created_at=room.now)
        await room.parts.store.put_link(DEFAULT_TENANT, link, Entries())
    async with room.residence.open():
        for name in before:
            await room.answered(await room.say(name, "Hello"))
        wish = await room.say("Ana", "Push it")
        await until(lambda: any(message.card for message in room.platform.messages.values()))
        yield room, wish


async def vote(room: RoomBench, name: str, command: str = "/approve") -> str | None:
    """What the room says to it; None: the card says it."""
    message = await room.say(name, command)
    await room.residence.settle()
    return room.reply(message)


async def rows(room: RoomBench) -> list[AuditRow]:
    page = await room.parts.journal.audit(DEFAULT_TENANT, AuditQuery(actions=ROOM_ACTIONS), 100, None)
    return list(page.rows)


async def test_whoever_is_first_decides_unless_the_room_says_otherwise(bench: TurnBench) -> None:
    async with asked(bench, "first-responder") as (room, wish):
        stranger = await vote(room, "Dan")
        await vote(room, "Bob")
        await until(lambda: room.reply(wish) == "It is pushed.")

    assert stranger is not None
    assert "linked to a person" in stranger


@pytest.mark.parametrize("has_keys", [True, False])
@pytest.mark.parametrize("by", ["command", "mark"])
async def test_a_question_is_still_before_the_room_when_its_channel_begins_again(
    bench: TurnBench, by: str, has_keys: bool
) -> None:
    async with asked(bench, "first-responder") as (room, wish):
        [card] = [key for key, message in room.platform.messages.items() if message.card]
        room.platform.limits = ChannelLimits(send_keys=has_keys)
    again = RoomBench(bench, platform=room.platform)
    async with again.residence.open():
        if by == "command":
            await vote(again, "Bob")
        else:
            await again.residence.press(ButtonPress(chat=CHAT, key=card, sender="bob", action="approve"))
        await until(lambda: again.reply(wish) == "It is pushed.")
        await again.handled()

    assert [key for key, message in room.platform.messages.items() if message.card] == [card]
    assert room.platform.outcomes[card].voter == "bob.person"


async def test_a_question_that_is_asked_while_the_channel_is_stopped_is_put_when_it_begins(bench: TurnBench) -> None:
    go_on = asyncio.Event()
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    bench.model = model = ScriptedChatModel([go_on.wait, ScriptedCall("push")], "It is pushed.")
    room = RoomBench(bench)
    link = SenderLink(identity="terminal:bob", subject="bob.person", created_at=room.now)
    await room.parts.store.put_link(DEFAULT_TENANT, link, Entries())
    async with room.residence.open():
        wish = await room.say("Ana", "Push it")
        await until(lambda: bool(model.requests))
        [route] = await room.parts.store.routes(DEFAULT_TENANT, "team")
    go_on.set()
    async with asyncio.timeout(5.0):
        # What is waited for is in the session, whom nobody follows now.
        while not await room.parts.agent.permission_requests(room.residence.owner, route.session):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    again = RoomBench(bench, platform=room.platform)

    async with again.residence.open():
        await until(lambda: any(message.card for message in again.platform.messages.values()))
        await vote(again, "Bob")
        await until(lambda: again.reply(wish) == "It is pushed.")


async def test_only_whoever_asked_decides_where_they_are_designated(bench: TurnBench) -> None:
    async with asked(bench, "designated") as (room, wish):
        refused = await vote(room, "Bob")
        await vote(room, "Ana")
        await until(lambda: room.reply(wish) == "It is pushed.")

    assert refused is not None


async def test_for_somebody_whom_nobody_knows_a_person_decides_instead(bench: TurnBench) -> None:
    async with asked(bench, "designated", linked="bob") as (room, wish):
        await vote(room, "Bob")
        await until(lambda: room.reply(wish) == "It is pushed.")


async def test_those_who_spoke_lately_have_to_agree_by_command_and_by_mark(bench: TurnBench) -> None:
    async with asked(bench, "consensus", before=("Bob", "Cyd", "Dan")) as (room, wish):
        [card] = [key for key, message in room.platform.messages.items() if message.card]
        first = await vote(room, "Bob")
        again = await vote(room, "Bob")
        held = room.reply(wish)
        press = ButtonPress(chat=CHAT, key=card, sender="cyd", action="approve")
        await room.residence.press(press)
        await until(lambda: room.reply(wish) == "It is pushed.")
        of_room = await rows(room)

    # Dan is nobody whom we know: three vote, and two of them are more than half.
    assert first is not None
    assert "1 more needed" in first
    assert again == first
    assert held != "It is pushed."
    requested = next(row for row in of_room if row.action == "permission.requested")
    assert requested.details["voters_at_issue"] == ["ana.person", "bob.person", "cyd.person"]
    assert (requested.details["sender"], requested.details["room"]) == ("ana.person", f"channel:team/{CHAT}")
    begun = next(row for row in of_room if row.action == "task.requested")
    assert {row.run for row in of_room if row.action.startswith("permission.")} == {begun.run}


async def test_whoever_has_not_spoken_is_not_asked_to_agree(bench: TurnBench) -> None:
    async with asked(bench, "consensus", before=("Bob",)) as (room, wish):
        late = await vote(room, "Cyd")
        await vote(room, "Ana")
        await vote(room, "Bob")
        await until(lambda: room.reply(wish) == "It is pushed.")

    assert late is not None


async def test_a_policy_that_is_set_otherwise_holds_in_a_session_that_is_open(bench: TurnBench) -> None:
    async with asked(bench, "designated") as (room, wish):
        await vote(room, "Ana")
        await until(lambda: room.reply(wish) == "It is pushed.")
        room.residence.profile = replace(room.profile, settings=OPEN)
        second = await room.say("Ana", "Push it again")
        await until(lambda: sum(message.card is not None for message in room.platform.messages.values()) == 2)
        await vote(room, "Bob")
        await until(lambda: room.reply(second) == "Again.")


async def test_the_roster_has_those_of_a_day_and_never_more_than_its_bound(bench: TurnBench) -> None:
    room = RoomBench(bench)
    store, now = room.parts.store, room.now
    await store.put_room(DEFAULT_TENANT, ChatRoom(channel="team", chat=CHAT, created_at=now), Entries())
    for number in range(MOST_VOTERS + 5):
        name = f"p{number}"
        at = now - timedelta(hours=30) if number == 0 else now
        draft = RoomMessageDraft(
            channel="team", chat=CHAT, id=f"m{number}", at=at, author="person", text="Hi", sender=name
        )
        await store.keep_message(DEFAULT_TENANT, draft)
        if number != 1:
            link = SenderLink(identity=f"terminal:{name}", subject=name, created_at=now)
            await store.put_link(DEFAULT_TENANT, link, Entries())

    people = await roster(store, DEFAULT_TENANT, room.profile, ChatRoom(channel="team", chat=CHAT, created_at=now), now)
    later = await roster(
        store,
        DEFAULT_TENANT,
        room.profile,
        ChatRoom(channel="team", chat=CHAT, created_at=now),
        now + timedelta(hours=25),
    )

    assert len(people) == MOST_VOTERS
    assert people[0] == f"p{MOST_VOTERS + 4}"
    assert {"p0", "p1"}.isdisjoint(people)
    assert later == ()


async def test_the_audit_of_a_room_names_who_asked_who_allowed_and_nothing_of_another_room(bench: TurnBench) -> None:
    async with asked(bench, "first-responder") as (room, wish):
        await vote(room, "Bob")
        await until(lambda: room.reply(wish) == "It is pushed.")
        await room.answered(await room.say("Cyd", "/remember we ship on Fridays"))
        [here] = await room.answered(await room.say("Ana", "/audit"))
        [there] = await room.answered(await room.say("Ana", "/audit", chat="room-8"))

    assert there == "Nothing is written down about this room yet."
    told = [line.partition(" ")[2].partition(" ")[2] for line in here.splitlines()[1:]]
    assert told == [
        "cyd.person: room.remember",
        "bob.person: permission.resolved",
        "bob.person: permission.voted",
        "ana.person: permission.requested",
        "Ana: task.requested",
    ]
