"""What a channel says by itself in its rooms: in line, once, in somebody's name, and loudly when it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.agent.permissions import Permissions
from commonplace.agent.tools.tool import AgentTool
from commonplace.channels.room_target import ONLY_ANSWERS
from commonplace.channels.speakers import member_speaker
from commonplace.compose.services import ComposeOptions, composed
from commonplace.errors import Forbidden, InvalidInput, NotFound
from commonplace.ports.channel import ChannelLimits
from commonplace.ports.journal import Entries
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.channels import OPEN, FakeChannel
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.room_schedules import CHAT, TARGET, RoomScheduleBench
from commonplace.testing.schedules import LEASE
from commonplace.values.audit import AuditQuery
from commonplace.values.channel import ChannelKind, ChannelSettings, GroupSettings, RoomBudget, SenderLink
from commonplace.values.member import Member
from commonplace.values.principal import Key, Principal
from commonplace.values.schedule import MOST_ENABLED, SchedulePause, TooManySchedules, is_paused
from commonplace.values.scope import DEFAULT_TENANT as HERE
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER

pytestmark = pytest.mark.anyio

WEDNESDAY = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MARK = '[Scheduled task "post the open questions" set by ana]'
ROOM = Scope("channel", f"team/{CHAT}")
KEYS = ChannelLimits(send_keys=True)


class Held:
    """A model that begins to answer, and waits."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        await self.go_on.wait()


@pytest.fixture
async def agents(tmp_path: Path) -> AsyncGenerator[tuple[TurnBench, FakeClock]]:
    clock = FakeClock(WEDNESDAY)
    settings = Settings(home=tmp_path / "home", embedder="none", schedule_zone="Europe/Berlin")
    async with composed(settings, ComposeOptions(clock=clock)) as services:
        bench = TurnBench(services, model=ScriptedChatModel(then="Three are open."))
        yield bench, clock
        await bench.aclose()


Make = tuple[TurnBench, FakeClock]


async def opened(
    agents: Make, settings: ChannelSettings = OPEN, platform: FakeChannel | None = None, **more: Any
) -> RoomScheduleBench:
    bench = RoomScheduleBench(*agents, settings, platform, **more)
    await bench.begin()
    return bench


# ---- in the room


async def test_a_schedule_wakes_an_idle_room_and_posts_its_reply_once_for_each_due_time(agents: Make) -> None:
    bench = await opened(agents)
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="30 9 * * 1-5")

        await bench.daemon.until(WEDNESDAY + HOUR)
        await bench.daemon.tick()

    assert bench.posted() == [f"{MARK}\nThree are open."]
    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.last.preview, after.fires) == ("ok", "Three are open.", 1)
    [route] = await bench.room.parts.store.routes(HERE, "team")
    assert (route.chat, route.key) == (CHAT, CHAT)


async def test_turns_that_come_at_once_into_an_idle_room_share_one_session(agents: Make) -> None:
    bench = await opened(agents)
    async with bench.room.residence.open():
        who = await bench.person("ana")
        for number in range(4):
            await bench.add(who, cron="30 9 * * *", label=f"{number}")
        bench.clock.advance(HOUR)
        await bench.daemon.runner.plan()
        jobs = [await bench.daemon.claim() for _ in range(4)]

        await asyncio.gather(*(bench.daemon.play(job) for job in jobs if job is not None))

    [route] = await bench.room.parts.store.routes(HERE, "team")
    sessions = await agents[0].services.history.sessions(bench.room.residence.owner, {})
    assert [session.id for session in sessions.sessions] == [route.session]
    assert len(bench.posted()) == 4
    said = await agents[0].services.history.messages(bench.room.residence.owner, route.session)
    assert sum(message.role == "user" for message in said.messages) == 4


async def test_one_that_is_cancelled_does_not_fire(agents: Make) -> None:
    bench = await opened(agents)
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="30 9 * * *")
        await bench.room.parts.schedules.cancel(await bench.person("ana"), view.id)

        await bench.daemon.until(WEDNESDAY + HOUR)

    assert bench.posted() == []


async def test_a_scheduled_turn_stands_in_line_and_neither_ends_a_persons_nor_is_ended_by_one(agents: Make) -> None:
    first, own = Held(), Held()
    agents[0].model = ScriptedChatModel([first, "For Ana."], [own, "By itself."], then="For Bob.")
    bench = await opened(agents, replace(OPEN, dispatch="steer"))
    async with bench.room.residence.open():
        await bench.add(await bench.person("ana"), cron="30 9 * * *")
        asked = await bench.room.say("Ana", "When?")
        await first.begun.wait()
        bench.clock.advance(HOUR)
        playing = asyncio.create_task(bench.daemon.tick())
        await until(lambda: sum(map(bool, bench.room.residence.scheduled.waiting)) > 0)
        first.go_on.set()
        await own.begun.wait()
        # Somebody cuts off what is played, as they may: but this was asked for by nobody who is here.
        late = await bench.room.say("Bob", "Now me!")
        await bench.room.residence.settle()
        status = await bench.room.say("Bob", "/status")
        [told] = await bench.room.answered(status)
        own.go_on.set()
        await playing
        answers = await bench.room.answered(asked, late)

    assert answers == ["For Ana.", "For Bob."]
    assert MARK in told
    assert bench.posted() == ["For Ana.", told, f"{MARK}\nBy itself.", "For Bob."]


async def test_a_platform_that_only_answers_is_a_failure_that_is_kept_and_not_played(agents: Make) -> None:
    bench = await opened(agents, platform=FakeChannel(can_cold_send=False))
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 10 * * *")

        await bench.daemon.until(WEDNESDAY + HOUR)

    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.last.error, after.fires) == ("error", ONLY_ANSWERS, 0)
    rows = (await bench.room.parts.journal.audit(HERE, AuditQuery(actions=("schedule.fire",)), 10, None)).rows
    assert (rows[0].outcome, rows[0].details["target"], rows[0].actor) == ("failed", TARGET, "channel/team/ana")


async def test_a_reply_that_the_platform_does_not_take_is_a_failure(agents: Make) -> None:
    bench = await opened(agents, platform=FakeChannel(limits=KEYS), pauses=(0.0, 0.0))
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 10 * * *")
        bench.room.platform.broken = True

        await bench.daemon.until(WEDNESDAY + HOUR)

        after = await bench.look(view.id)
        bench.room.platform.broken = False
        await bench.daemon.until(WEDNESDAY + HOUR + timedelta(minutes=1))

    assert after.last is not None
    assert (after.last.status, after.enabled) == ("error", True)
    assert bench.posted() == [f"{MARK}\nThree are open."]


async def test_five_periods_in_a_row_that_fail_disable_it_and_the_room_is_told(agents: Make) -> None:
    bench = await opened(agents, replace(OPEN, language="zh"))
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 * * * *", label="问题")
        agents[0].model = ScriptedChatModel(then=NotFound("nobody"))

        await bench.daemon.until(WEDNESDAY + 9 * HOUR)

    assert not (await bench.look(view.id)).enabled
    assert bench.posted()[-1].startswith("定时任务“问题”已停用")


async def test_a_room_that_is_paused_says_nothing_by_itself_until_it_is_resumed(agents: Make) -> None:
    bench = await opened(agents)
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="*/30 * * * *")
        await bench.room.say("Ana", "/pause")
        await bench.room.handled()

        await bench.daemon.until(WEDNESDAY + 2 * HOUR)

        held = await bench.look(view.id)
        await bench.room.say("Ana", "/resume")
        await bench.room.handled()
        await bench.daemon.until(WEDNESDAY + 3 * HOUR)

    assert (held.paused, held.fires) == (True, 0)
    assert (await bench.look(view.id)).fires == 2


@pytest.mark.parametrize(
    ("paused", "targets", "others"),
    [
        ("channel/team", {"channel/team", "channel/team/room"}, {"channel/teams/room"}),
        ("channel/team/room", {"channel/team/room"}, {"channel/team/room-7", "channel/team"}),
        ("session:a", {"session:a"}, {"session:ab"}),
        ("", {"channel/team/room", "session:a"}, set[str]()),
    ],
)
async def test_a_pause_holds_for_its_target_and_for_none_whose_name_only_begins_so(
    paused: str, targets: set[str], others: set[str]
) -> None:
    pauses = (SchedulePause(tenant=HERE, target=paused, at=WEDNESDAY, by="ana"),)

    assert {target for target in targets | others if is_paused(target, pauses)} == targets


async def test_a_room_without_money_puts_its_schedules_off_to_the_next_window_and_says_so(agents: Make) -> None:
    bench = await opened(agents, replace(OPEN, budget=RoomBudget(micro_usd=100, hours=24)))
    parts = bench.room.parts
    pot = f"pot:room:channel:team/{CHAT}:{(WEDNESDAY - datetime(1970, 1, 1, tzinfo=UTC)).days}"
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 * * * *")
        await parts.quotas.spend(HERE, pot, timedelta(hours=25), {COUNTER: 100}, {})

        await bench.daemon.until(WEDNESDAY + 3 * HOUR)
        put_off = await bench.look(view.id)
        await bench.daemon.until(WEDNESDAY + 17 * HOUR, step=HOUR)

    assert put_off.last is not None
    assert (put_off.last.status, put_off.fires, put_off.failures) == ("skipped", 0, 0)
    assert (await bench.look(view.id)).fires > 0
    assert "is paused" in bench.posted()[0]
    rows = (await parts.journal.audit(HERE, AuditQuery(actions=("room.budget",)), 10, None)).rows
    assert rows[-1].outcome == "budget_exhausted"


CLOSED = [
    replace(OPEN, group_policy="disabled"),
    replace(OPEN, group_policy="allowlist", groups={"*": GroupSettings()}),
    replace(OPEN, group_policy="pairing"),
]


@pytest.mark.parametrize("closed", CLOSED, ids=lambda settings: settings.group_policy)
async def test_a_group_that_is_let_in_no_longer_is_passed_over_until_it_is_again(
    agents: Make, closed: ChannelSettings, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await opened(agents)
    residence = bench.room.residence
    async with residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 * * * *")
        residence.profile = replace(residence.profile, settings=closed)
        await bench.daemon.until(WEDNESDAY + 8 * HOUR, step=HOUR)
        passed_over, posted = await bench.look(view.id), bench.posted()
        residence.profile = replace(residence.profile, settings=replace(closed, groups={CHAT: GroupSettings()}))
        if closed.group_policy == "disabled":
            residence.profile = replace(residence.profile, settings=OPEN)

        await bench.daemon.until(WEDNESDAY + 9 * HOUR, step=HOUR)

    assert passed_over.last is not None
    assert (passed_over.last.status, passed_over.fires, passed_over.failures) == ("skipped", 0, 0)
    assert (passed_over.enabled, posted) == (True, [])
    assert "is skipped" in caplog.text
    assert bench.posted()[0].endswith("Three are open.")
    assert (await bench.look(view.id)).fires > 0


async def test_what_was_due_once_in_a_group_that_is_let_in_no_longer_ends_without_a_word_there(agents: Make) -> None:
    bench = await opened(agents)
    residence = bench.room.residence
    async with residence.open():
        view = await bench.add(await bench.person("ana"), at=WEDNESDAY + HOUR)
        residence.profile = replace(residence.profile, settings=CLOSED[0])

        await bench.daemon.until(WEDNESDAY + 2 * HOUR)

    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.enabled, bench.posted()) == ("skipped", False, [])


# ---- a daemon that dies


async def test_a_turn_in_the_middle_at_a_kill_is_played_again_and_says_so_in_the_room(agents: Make) -> None:
    held = Held()
    agents[0].model = ScriptedChatModel([held, "Never."], then="Three are open.")
    bench = await opened(agents)
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 10 * * *")
        bench.clock.advance(2 * HOUR)
        await bench.daemon.runner.plan()
        job = await bench.daemon.claim("dead")
        assert job is not None
        playing = asyncio.create_task(bench.daemon.play(job, "dead"))
        await held.begun.wait()
        playing.cancel()
        await asyncio.wait({playing})
        [route] = await bench.room.parts.store.routes(HERE, "team")
        await bench.room.parts.agent.let_go(HERE, route.session, forget=True)

        bench.clock.advance(2 * LEASE)
        await bench.daemon.tick()

    [text] = bench.posted()
    mark, again, reply = text.split("\n")
    assert (mark, reply) == (MARK, "Three are open.")
    assert "again" in again
    assert (await bench.look(view.id)).fires == 1


@pytest.mark.parametrize("keys", [True, False])
async def test_a_reply_that_was_posted_before_the_kill_is_not_posted_twice(agents: Make, keys: bool) -> None:
    bench = await opened(agents, platform=FakeChannel(limits=ChannelLimits(send_keys=keys)))
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="0 10 * * *")
        bench.clock.advance(2 * HOUR)
        await bench.daemon.runner.plan()
        job = await bench.daemon.claim("dead")
        assert job is not None
        schedule = await agents[0].services.desk.store.schedules.schedule(HERE, view.id)
        assert schedule.fire is not None
        await bench.daemon.runner._play(schedule, schedule.fire, again=False)  # pyright: ignore[reportPrivateUsage] - and then it dies

        bench.clock.advance(2 * LEASE)
        await bench.daemon.tick()

    [text] = bench.posted()
    assert text == f"{MARK}\nThree are open."
    after = await bench.look(view.id)
    assert after.last is not None
    assert after.last.status == "ok"


# ---- what it may, and who may set it


async def test_a_scheduled_turn_in_a_room_is_refused_what_is_dangerous_and_nobody_is_asked(agents: Make) -> None:
    calls: list[str] = []

    async def shell(command: str) -> str:
        """Run it."""
        calls.append(command)
        return "done"

    agents[0].permissions = lambda: Permissions(mode="yolo", allow_all=True)
    agents[0].tools = (AgentTool(name="shell", kind="execute", function=shell, asks=True, changes=True),)
    agents[0].model = ScriptedChatModel(ScriptedCall("shell", {"command": "rm -rf /"}), then="Done.")
    bench = await opened(agents)
    async with bench.room.residence.open():
        await bench.add(await bench.person("ana"), cron="0 10 * * *")

        await bench.daemon.until(WEDNESDAY + HOUR)

    assert calls == []
    assert bench.posted() == [f"{MARK}\nDone."]
    rows = (await bench.room.parts.journal.audit(HERE, AuditQuery(actions=("permission.resolved",)), 10, None)).rows
    assert [row.details["decided_by"] for row in rows] == ["scheduled_turn"]


async def test_who_asked_for_it_is_whoever_set_it(agents: Make) -> None:
    bench = await opened(agents)
    store = bench.room.parts.store
    link = SenderLink(identity="terminal:ana", subject="ana.smith", created_at=WEDNESDAY)
    await store.put_link(HERE, link, Entries())
    async with bench.room.residence.open():
        await bench.add(await bench.person("ana"), cron="0 10 * * *")
        await bench.daemon.until(WEDNESDAY + HOUR)

    actions = ("task.requested", "schedule.fire")
    rows = (await bench.room.parts.journal.audit(HERE, AuditQuery(actions=actions), 10, None)).rows
    assert {(row.action, row.actor, str(row.scope)) for row in rows} == {
        ("task.requested", "ana.smith", f"channel:team/{CHAT}"),
        ("schedule.fire", "ana.smith", f"channel:team/{CHAT}"),
    }
    assert len({row.run for row in rows}) == 1


async def test_the_time_zone_and_the_quiet_hours_of_the_channel_hold_for_its_rooms(agents: Make) -> None:
    bench = await opened(agents, replace(OPEN, zone="Asia/Shanghai", quiet="22:00-07:00"))
    ana = await bench.person("ana")

    view = await bench.add(ana, cron="0 9 * * *")
    own = await bench.add(ana, cron="0 9 * * *", zone="Europe/Berlin", quiet="none")
    proposal = await bench.room.parts.schedules.propose(ana, "every day at nine post it", target=TARGET)

    assert (view.zone, view.quiet) == ("Asia/Shanghai", "22:00-07:00 Asia/Shanghai")
    assert (own.zone, own.quiet) == ("Europe/Berlin", None)
    assert proposal.zone == "Asia/Shanghai"


async def test_a_room_has_ten_schedules_that_are_enabled(agents: Make) -> None:
    bench = await opened(agents)
    ana = await bench.person("ana")
    for _ in range(MOST_ENABLED):
        await bench.add(ana, cron="0 9 * * *")

    with pytest.raises(TooManySchedules):
        await bench.add(ana, cron="0 9 * * *")


async def test_whoever_is_not_heard_in_the_room_any_more_has_no_schedules_there(agents: Make) -> None:
    bench = await opened(agents, replace(OPEN, senders="allowlist", allowed=("ana",)))
    async with bench.room.residence.open():
        view = await bench.add(await bench.person("ana"), cron="*/30 * * * *")
        bench.room.residence.profile = replace(
            bench.room.profile, settings=replace(OPEN, senders="allowlist", allowed=("bob",))
        )

        await bench.daemon.until(WEDNESDAY + HOUR)

    after = await bench.look(view.id)
    assert (after.enabled, after.fires) == (False, 0)
    assert bench.posted()[-1].startswith("The schedule")


class Bo:
    """Somebody who has a key, in a room of ours."""

    def __init__(self, bench: RoomScheduleBench, services: Services, key: Key) -> None:
        self._bench = bench
        self._store = services.desk.store
        self.who = Principal(subject="bo", tenant=HERE, role="writer", key=key.id)

    @classmethod
    async def joined(cls, bench: RoomScheduleBench, services: Services) -> Bo:
        key, _ = await services.identity.create_key(WHO, "bo", "writer", user="bo")
        bo = cls(bench, services, key)
        member = Member(scope=ROOM, subject="bo", owner=False, since=WEDNESDAY)
        await bo._store.members.add_member(HERE, member, Entries())
        return bo

    async def is_linked(self) -> None:
        identity = f"{self._bench.room.profile.kind}:bo"
        link = SenderLink(identity=identity, subject="bo", created_at=WEDNESDAY)
        await self._store.channels.put_link(HERE, link, Entries())

    async def speaking(self) -> Principal:
        """As they speak there."""
        room = await self._store.channels.room(HERE, "team", CHAT)
        assert room is not None
        return member_speaker(self._bench.room.residence.profile, room, self.who)

    async def leaves(self) -> None:
        await self._store.members.remove_member(HERE, ROOM, "bo", Entries())


@pytest.mark.parametrize("kind", ["web", "terminal"])
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "unlinked"])
@pytest.mark.parametrize("speaking", [True, False], ids=["set in the room", "set by key"])
async def test_a_schedule_of_whoever_was_removed_from_a_room_of_ours_is_not_played(
    agents: Make, kind: ChannelKind, linked: bool, speaking: bool
) -> None:
    bench = await opened(agents, kind=kind)
    bo = await Bo.joined(bench, agents[0].services)
    if linked:
        await bo.is_linked()
    async with bench.room.residence.open():
        view = await bench.add(await bo.speaking() if speaking else bo.who, cron="0 * * * *")
        await bench.daemon.until(WEDNESDAY + HOUR)
        before = await bench.look(view.id)
        await bo.leaves()

        await bench.daemon.until(WEDNESDAY + 3 * HOUR)

    after = await bench.look(view.id)
    assert before.fires == after.fires == 1
    assert not after.enabled


@pytest.mark.parametrize("speaking", [True, False], ids=["set in the room", "set by key"])
async def test_whoever_was_removed_from_a_room_stops_what_they_set_there_and_reads_nothing_of_it(
    agents: Make, speaking: bool
) -> None:
    bench = await opened(agents, kind="web")
    bo, schedules = await Bo.joined(bench, agents[0].services), bench.room.parts.schedules
    await bo.is_linked()
    async with bench.room.residence.open():
        view = await bench.add(await bo.speaking() if speaking else bo.who, cron="0 * * * *")
        await bench.daemon.until(WEDNESDAY + HOUR)
        as_member = await schedules.get(bo.who, view.id)
        await bo.leaves()

        seen = await schedules.get(bo.who, view.id)
        [listed] = (await schedules.list(bo.who)).schedules
        disabled = await schedules.disable(bo.who, view.id)
        for refused in (schedules.enable, schedules.run):
            with pytest.raises(Forbidden):
                await refused(bo.who, view.id)
        await schedules.cancel(bo.who, view.id)

    previews = [shown.last.preview for shown in (as_member, seen, listed, disabled) if shown.last is not None]
    assert previews == ["Three are open.", None, None, None]
    with pytest.raises(NotFound):
        await schedules.get(bo.who, view.id)


async def test_an_operator_sets_a_schedule_in_a_room_where_nobody_has_a_key(agents: Make) -> None:
    bench = await opened(agents)
    async with bench.room.residence.open():
        await bench.add(WHO, cron="0 10 * * *")

        await bench.daemon.until(WEDNESDAY + HOUR)

    assert bench.posted() == ['[Scheduled task "post the open questions" set by local]\nThree are open.']


@pytest.mark.parametrize(
    ("settings", "who", "target", "error"),
    [
        (OPEN, Principal(subject="eve", tenant=HERE, role="writer"), TARGET, NotFound),
        (OPEN, WHO, "channel/team/nowhere", NotFound),
        (OPEN, WHO, "channel/nobody/room-7", NotFound),
        (OPEN, WHO, "channel/team", InvalidInput),
        (replace(OPEN, route="single"), WHO, TARGET, InvalidInput),
    ],
)
async def test_nobody_sets_a_schedule_where_they_do_not_speak(
    agents: Make, settings: ChannelSettings, who: Principal, target: str, error: type[Exception]
) -> None:
    bench = await opened(agents, settings)

    with pytest.raises(error):
        await bench.add(who, target, cron="0 9 * * *")
