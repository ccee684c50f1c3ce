"""
The room as a whole, on DingTalk: who is answered and who is not, in what order; what it asks, what it may spend, what it says by itself to a group where nobody
has spoken for hours, through a restart; and another group that knows nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import UserPromptPart

from commonplace.agent.mediator import MediatorOptions
from commonplace.agent.session_target import SessionTarget
from commonplace.agent.tools.tool import AgentTool
from commonplace.channels.budget import room_pot
from commonplace.channels.residence import Residence
from commonplace.channels.room_target import ONLY_ANSWERS, RoomTarget
from commonplace.compose.services import ComposeOptions, composed
from commonplace.ports.journal import Entries
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.dingtalk.bench import DingTalkRoom, dingtalk_settings, open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, OTHER_GROUP, pressed, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault, RobotWords
from commonplace.testing.events import until
from commonplace.testing.schedules import ScheduleBench
from commonplace.values.audit import AuditQuery
from commonplace.values.channel import ChannelProfile, RoomBudget, SenderLink
from commonplace.values.schedule import ROOM, ScheduleView, room_target
from commonplace.values.scope import DEFAULT_TENANT as HERE
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER

pytestmark = pytest.mark.anyio

WEDNESDAY = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
MARK = '[Scheduled task "post the open questions" set by ana]'
BUDGET = RoomBudget(micro_usd=1_000_000, hours=24)
RULES = replace(OPEN, allowed=("ana",), budget=BUDGET)
SCHEDULE = "/schedule 30 9,12,15 * * * post the open questions"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(WEDNESDAY)


@pytest.fixture
async def services(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Services]:
    settings = Settings(home=tmp_path / "home", embedder="none", schedule_zone="UTC")
    async with composed(settings, ComposeOptions(clock=clock)) as services:
        yield services


@dataclass(kw_only=True)
class Film:
    """One process that leads the rooms, plays what is due, and is gone at the end of its block."""

    server: DingTalkServer
    room: DingTalkRoom
    daemon: ScheduleBench
    model: ScriptedChatModel
    clock: FakeClock

    async def says(self, words: str, sender: str = "ana", /, **more: Any) -> str:
        """Mention the robot, and wait for what comes in the group."""
        chat = more.get("chat", GROUP)
        before = len(self.server.rooms[chat])
        await self.server.push(said(words, sender, **more))
        return (await self.room.texts(before + 1, chat))[-1]

    async def fires(self, moment: datetime, count: int = 0) -> list[RobotWords]:
        """What comes into the group by itself at that time, once there is so much of it."""
        before = len(self.server.rooms[GROUP])
        self.clock.advance(moment - self.clock.now())
        await self.daemon.tick()
        await self.room.texts(before + count)
        return self.server.rooms[GROUP][before:]

    async def schedule(self) -> ScheduleView:
        [view] = (
            await self.room.parts.schedules.list(self.room.residence.owner, target=room_target("ding", GROUP))
        ).schedules
        return view


@asynccontextmanager
async def process(
    services: Services,
    server: DingTalkServer,
    clock: FakeClock,
    model: ScriptedChatModel,
    **options: Any,
) -> AsyncGenerator[Film]:
    agents = TurnBench(services, model=model, mediator=MediatorOptions(policy="first-responder"))
    agents.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    async with open_dingtalk(agents, server, RULES, **options) as room:

        async def residence_of(tenant: str, name: str) -> Residence:
            del tenant, name
            return room.residence

        assert agents.sessions is not None
        in_sessions = SessionTarget(agents.sessions, services.history)
        target = RoomTarget(services.desk, residence_of, in_sessions)
        daemon = ScheduleBench(agents, clock, {ROOM: target})
        await room.connected()
        yield Film(server=server, room=room, daemon=daemon, model=model, clock=clock)
    await agents.aclose()


async def configured(services: Services, server: DingTalkServer, **options: str) -> None:
    """The channel as an admin added it; Bob is somebody here."""
    store, now = services.desk.store.channels, services.desk.clock.now()
    kept = dingtalk_settings(server, RULES, **options)
    await store.put_channel(
        HERE, ChannelProfile(name="ding", kind="dingtalk", created_at=now, settings=kept), Entries()
    )
    await store.put_link(HERE, SenderLink(identity="dingtalk:bob", subject="bob-lee", created_at=now), Entries())


def prompts(model: ScriptedChatModel) -> list[str]:
    """What each request ends with."""
    last = [request[-1].parts[-1] for request in model.requests]
    return [str(part.content) for part in last if isinstance(part, UserPromptPart)]


async def push() -> str:
    return "Pushed."


async def spend(services: Services, micro_usd: int) -> None:
    """So much of the room's budget is gone."""
    pot, _ = room_pot(BUDGET, Scope("channel", f"ding/{GROUP}"), services.desk.clock.now())
    await services.desk.store.quotas.spend(HERE, f"pot:{pot.name}", pot.lasts, {COUNTER: micro_usd}, {})


# ---- the film


async def test_two_people_share_an_agent_that_asks_them_and_begins_anew_when_they_say_so(
    services: Services, server: DingTalkServer, clock: FakeClock
) -> None:
    go_on = asyncio.Event()
    model = ScriptedChatModel(
        [go_on.wait, "On Fridays."], "At noon.", ScriptedCall("push"), "It is pushed.", then="This is new to me."
    )
    template = {"card_template": "asks.schema"}
    await configured(services, server, **template)
    async with process(services, server, clock, model, **template) as film:
        # Nobody mentions the robot; then Ana does, and Bob before she is answered.
        await server.push(said("Lunch?", mention=False))
        await server.push(said("When do we ship?"))
        await until(lambda: bool(model.requests))
        await server.push(said("At what time?", "bob"))
        go_on.set()
        in_order = await film.room.texts(2)

        # A tool asks the room, and Bob's button allows what Ana wants.
        await server.push(said("Push it"))
        await until(lambda: bool(server.cards))
        [(key, card)] = server.cards.items()
        await server.press(pressed(key, "approve", "bob"))
        pushed = (await film.room.texts(3))[-1]
        await until(lambda: card.data["status"] == "allowed")

        refused, asked = await film.says("/clear confirm", "bob"), await film.says("/clear")
        cleared = await film.says("/clear confirm")
        anew = await film.says("What do you know?")

    assert in_order == ["On Fridays.", "At noon."]
    assert prompts(model)[:2] == ["[Ana] When do we ship?", "[Bob] At what time?"]
    assert "Lunch" not in str(model.requests)
    assert (pushed, "bob-lee" in card.data["outcome"]) == ("It is pushed.", True)
    assert ("may do that" in refused, "/clear confirm" in asked, "begins here" in cleared) == (True, True, True)
    assert anew == "This is new to me."
    assert "Fridays" not in str(model.requests[-1])


async def test_a_schedule_and_an_alert_reach_a_group_that_is_cold_without_webhook_and_without_token(
    services: Services, server: DingTalkServer, clock: FakeClock
) -> None:
    await configured(services, server)
    async with process(services, server, clock, ScriptedChatModel(then="Three are open.")) as film:
        await film.says("Hello")
        await film.says(SCHEDULE)
        await film.says("/schedule confirm")
        await until(lambda: bool(server.made("/emotion/recall")))
        tokens = [len(server.made("/oauth2/accessToken"))]

        # The webhook has ended; so has the token; DingTalk takes the token no more, whatever it said.
        fired: list[list[RobotWords]] = []
        for hour in (9, 12, 15):
            if hour == 15:
                server.end_tokens()
                await spend(services, 760_000)
            fired.append(await film.fires(WEDNESDAY.replace(hour=hour, minute=30), 2 if hour == 15 else 1))
            tokens.append(len(server.made("/oauth2/accessToken")))
        view = await film.schedule()

    reply = RobotWords(way="group", title='Scheduled task "post', text=f"{MARK}\nThree are open.")
    assert [words[0] for words in fired] == [reply] * 3
    assert [len(words) for words in fired] == [1, 1, 2]
    alert = fired[2][1]
    assert (alert.way, alert.text.startswith("This room has used 75 % of what it may spend")) == ("group", True)
    assert [count - tokens[0] for count in tokens] == [0, 0, 1, 2]
    assert (view.fires, view.failures) == (3, 0)


async def test_after_a_restart_everybody_is_answered_once_and_another_group_knows_nothing(
    services: Services, server: DingTalkServer, clock: FakeClock
) -> None:
    first = ScriptedChatModel("We ship on Fridays.", [asyncio.Event().wait, "Never said."])
    second = ScriptedChatModel("Cleo is on call.", then="Three are open.")
    await configured(services, server)
    async with process(services, server, clock, first) as film:
        await film.says("When do we ship?")
        await film.says(SCHEDULE)
        await film.says("/schedule confirm")
        # The process ends while Ana waits for her answer, and Bob behind her.
        acks = [await server.push(said("Who is next?")), await server.push(said("On call?", "bob"))]
        await until(lambda: first.left == 0)
        await film.room.residence.settle()
        before = len(server.rooms[GROUP])

    async with process(services, server, clock, second) as film:
        after = (await film.room.texts(before + 2))[before:]
        late = await film.fires(WEDNESDAY.replace(hour=9, minute=30), 1)
        remembered = await film.says("/remember we ship on Fridays")
        recalled = [await film.says("/recall"), await film.says("/recall", "bob", chat=OTHER_GROUP)]
        await film.says("When do we ship?", "bob", chat=OTHER_GROUP)
        schedules = await film.says("/schedule list", "bob", chat=OTHER_GROUP)

    assert [ack["code"] for ack in acks] == [200, 200]
    assert (after[0].startswith("Ana, I was restarted"), after[1]) == (True, "Cleo is on call.")
    assert [(words.way, words.text) for words in late] == [("group", f"{MARK}\nThree are open.")]
    assert "we ship on Fridays" in remembered
    assert ["we ship on Fridays" in words for words in recalled] == [True, False]
    assert "Fridays" not in str(second.requests[-1])
    assert "post the open questions" not in schedules


async def test_a_robot_that_may_only_answer_fails_a_schedule_loudly_and_plays_nothing(
    services: Services, server: DingTalkServer, clock: FakeClock
) -> None:
    model = ScriptedChatModel(then="Never said.")
    await configured(services, server, proactive="no")
    async with process(services, server, clock, model, proactive="no") as film:
        await film.says(SCHEDULE)
        await film.says("/schedule confirm")

        came = await film.fires(WEDNESDAY.replace(hour=9, minute=30))

        view = await film.schedule()
        listed = await film.says("/schedule list")
        rows = (await services.desk.store.journal.audit(HERE, AuditQuery(actions=("schedule.fire",)), 10, None)).rows

    assert (came, model.requests) == ([], [])
    assert view.last is not None
    assert (view.last.status, view.last.error, view.fires) == ("error", ONLY_ANSWERS, 0)
    assert "only answers" in listed
    assert [row.outcome for row in rows] == ["failed"]


async def test_a_schedule_that_dingtalk_refuses_is_a_failure_and_is_tried_again(
    services: Services, server: DingTalkServer, clock: FakeClock
) -> None:
    forbidden = {"code": "Forbidden.AccessDenied.AccessTokenPermissionDenied", "message": "qyapi_robot_sendmsg"}
    await configured(services, server)
    async with process(services, server, clock, ScriptedChatModel(then="Three are open.")) as film:
        await film.says(SCHEDULE)
        await film.says("/schedule confirm")
        server.fail("/groupMessages/send", *[Fault(status=403, body=forbidden)] * 3)

        refused = await film.fires(WEDNESDAY.replace(hour=9, minute=30))
        failed = (await film.schedule()).last
        came = await film.fires(WEDNESDAY.replace(hour=9, minute=32))
        after = await film.schedule()

    assert (refused, failed and failed.status) == ([], "error")
    assert [words.text for words in came] == [f"{MARK}\nThree are open."]
    assert (after.last and after.last.status, after.failures) == ("ok", 0)


async def test_a_scheduled_reply_that_may_be_there_is_not_posted_a_second_time(
    services: Services, server: DingTalkServer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await configured(services, server)
    async with process(services, server, clock, ScriptedChatModel(then="Three are open.")) as film:
        await film.says(SCHEDULE)
        await film.says("/schedule confirm")
        server.fail("/groupMessages/send", Fault(status=500, is_done=True))

        first = await film.fires(WEDNESDAY.replace(hour=9, minute=30))
        again = await film.fires(WEDNESDAY.replace(hour=9, minute=32))
        last = (await film.schedule()).last

    assert last is not None
    assert (last.status, "Look into the room" in (last.error or "")) == ("ok", True)
    assert ([words.text for words in first], again) == ([f"{MARK}\nThree are open."], [])
    assert "in_doubt" in str([record.__dict__.get("told") for record in caplog.records])
