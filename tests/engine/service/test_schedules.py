"""Schedules that are played: what is said where, once, and what becomes of it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.agent.permissions import Permissions
from commonplace.agent.session_target import ARCHIVED
from commonplace.agent.tools.tool import AgentTool
from commonplace.compose.services import ComposeOptions, composed
from commonplace.errors import Forbidden, InvalidInput, ModelUnavailable, NotFound, SpendingCapReached
from commonplace.ports.journal import Entries
from commonplace.service.schedules import FIRE
from commonplace.settings import Settings
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.schedules import LEASE, ScheduleBench
from commonplace.values.audit import AuditQuery
from commonplace.values.principal import Principal
from commonplace.values.schedule import InvalidSchedule, ScheduleNotFound
from commonplace.values.scope import DEFAULT_TENANT as HERE
from commonplace.values.turn_event import PromptQueued

pytestmark = pytest.mark.anyio

WEDNESDAY = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Held:
    """A model that begins to answer, and waits."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        await self.go_on.wait()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[ScheduleBench]:
    clock = FakeClock(WEDNESDAY)
    settings = Settings(home=tmp_path / "home", embedder="none", schedule_zone="Europe/Berlin")
    async with composed(settings, ComposeOptions(clock=clock)) as services:
        agents = TurnBench(services, model=ScriptedChatModel(then="Three are open."))
        yield ScheduleBench(agents, clock)
        await agents.aclose()


async def test_a_schedule_says_its_prompt_in_its_session_once_for_each_due_time(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="30 9 * * 1-5", label="questions")

    await bench.until(WEDNESDAY + timedelta(hours=1))
    await bench.tick()

    mark = '[Scheduled task "questions" set by local]\npost the open questions'
    assert await bench.said(target) == [mark, "Three are open."]
    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.last.preview, after.fires) == ("ok", "Three are open.", 1)
    assert after.next_times[0] == datetime(2026, 3, 5, 8, 30, tzinfo=UTC)


async def test_what_was_missed_is_played_once_and_says_that_it_is_late(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="*/15 * * * *")

    await bench.until(WEDNESDAY + timedelta(hours=3, minutes=5), step=timedelta(hours=4))

    [said, _] = await bench.said(target)
    assert "11 earlier ones were missed" in said
    assert (await bench.look(view.id)).next_times[0] == WEDNESDAY + timedelta(hours=3, minutes=15)


async def test_one_that_is_due_once_is_over_when_it_was_played(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, at=WEDNESDAY + timedelta(minutes=30))

    await bench.until(WEDNESDAY + timedelta(hours=2), step=timedelta(minutes=10))

    after = await bench.look(view.id)
    assert len(await bench.said(target)) == 2
    assert (after.enabled, after.disabled_because, after.next_times, after.fires) == (False, None, (), 1)


async def test_two_daemons_that_plan_at_once_queue_a_due_time_once(bench: ScheduleBench) -> None:
    target = await bench.session()
    await bench.add(target, cron="* * * * *")
    bench.clock.advance(MINUTE)

    await asyncio.gather(*(bench.runner.plan() for _ in range(4)))

    assert await bench.claim("one") is not None
    assert await bench.claim("two") is None


async def test_a_turn_that_fails_is_tried_again_after_1_5_and_15_minutes_and_counts_once(bench: ScheduleBench) -> None:
    bench.agents.model = ScriptedChatModel(*[ModelUnavailable("Nobody answers.")] * 4, then="At last.")
    target = await bench.session()
    view = await bench.add(target, cron="0 10 * * *")
    tried: list[datetime] = []

    while bench.clock.now() < WEDNESDAY + timedelta(hours=3):
        before = (await bench.look(view.id)).fires
        await bench.until(bench.clock.now() + MINUTE)
        if (await bench.look(view.id)).fires > before:
            tried.append(bench.clock.now())

    ten = WEDNESDAY + timedelta(hours=1)
    assert [moment - ten for moment in tried] == [timedelta(0), MINUTE, 6 * MINUTE, 21 * MINUTE]
    after = await bench.look(view.id)
    assert (after.failures, after.enabled) == (1, True)
    assert after.last is not None
    assert after.last.status == "error"


async def test_a_retry_ends_with_its_period(bench: ScheduleBench) -> None:
    bench.agents.model = ScriptedChatModel(*[ModelUnavailable("Nobody answers.")] * 2, then="At last.")
    target = await bench.session()
    view = await bench.add(target, cron="*/5 * * * *")

    await bench.until(WEDNESDAY + 7 * MINUTE)

    # Two tries in the first period; the next one, five minutes later, would lie in the second.
    assert ((await bench.look(view.id)).failures, len(await bench.said(target))) == (1, 2)
    await bench.until(WEDNESDAY + 11 * MINUTE)
    assert (await bench.look(view.id)).failures == 0


async def test_five_periods_in_a_row_that_fail_disable_it_and_it_says_so(bench: ScheduleBench) -> None:
    bench.agents.model = ScriptedChatModel(then=ModelUnavailable("Nobody answers."))
    target = await bench.session()
    view = await bench.add(target, cron="0 * * * *", label="questions")

    await bench.until(WEDNESDAY + timedelta(hours=9))

    after = await bench.look(view.id)
    assert (after.enabled, after.failures) == (False, 5)
    assert after.disabled_because is not None
    assert (await bench.said(target))[-1].startswith(
        'The schedule "questions" was disabled: It failed 5 times in a row.'
    )


async def test_a_budget_that_is_used_up_puts_it_off_to_the_next_day_and_it_says_so(bench: ScheduleBench) -> None:
    refusal = SpendingCapReached("What chat may cost in a day is used up.", cap="day", retry_after=15 * 3_600)
    bench.agents.model = ScriptedChatModel(refusal, then="Three are open.")
    target = await bench.session()
    view = await bench.add(target, cron="0 * * * *")

    await bench.until(WEDNESDAY + timedelta(hours=2))

    after = await bench.look(view.id)
    assert (after.failures, after.fires, after.enabled) == (0, 1, True)
    assert after.last is not None
    assert after.last.status == "skipped"
    assert "is paused" in (await bench.said(target))[-1]
    assert after.next_times[0] == datetime(2026, 3, 5, 0, 0, tzinfo=UTC)


async def test_a_session_that_is_gone_disables_it_at_once(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="* * * * *")
    await bench.agents.services.history.delete(WHO, target.partition(":")[2])

    await bench.until(WEDNESDAY + 2 * MINUTE)

    after = await bench.look(view.id)
    assert (after.enabled, after.fires) == (False, 0)
    assert after.disabled_because is not None


async def test_a_place_that_cannot_be_posted_to_is_a_failure_that_is_told(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="0 10 * * *")
    await bench.agents.services.history.change(WHO, target.partition(":")[2], {"archived": True})

    await bench.until(WEDNESDAY + timedelta(hours=1))

    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.last.error) == ("error", ARCHIVED)
    assert await bench.said(target) == []


async def test_a_pause_passes_over_what_recurs_and_holds_back_what_is_due_once(bench: ScheduleBench) -> None:
    target = await bench.session()
    often = await bench.add(target, cron="*/10 * * * *", label="often")
    await bench.add(target, at=WEDNESDAY + timedelta(minutes=15), label="once")
    schedules = bench.agents.services.schedules
    await schedules.pause(WHO)

    await bench.until(WEDNESDAY + timedelta(minutes=31))

    assert await bench.said(target) == []
    assert (await bench.look(often.id)).paused
    await schedules.resume(WHO)
    await bench.until(WEDNESDAY + timedelta(minutes=39))
    said = await bench.said(target)
    assert len(said) == 2
    assert said[0].startswith('[Scheduled task "once"')


async def test_quiet_hours_are_waited_out_and_what_came_due_in_them_is_one(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="0 * * * *", quiet="09:30-12:30")

    await bench.until(WEDNESDAY + timedelta(hours=3, minutes=25))

    assert await bench.said(target) == []
    await bench.until(WEDNESDAY + timedelta(hours=3, minutes=35))
    assert len(await bench.said(target)) == 2
    assert (await bench.look(view.id)).fires == 1


# ---- a daemon that dies


async def test_a_turn_that_had_ended_when_its_daemon_died_is_not_played_again(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="0 10 * * *")
    bench.clock.advance(timedelta(hours=1))
    await bench.runner.plan()
    job = await bench.claim("dead")
    assert job is not None
    schedule = await bench.agents.services.desk.store.schedules.schedule(job.tenant, view.id)
    assert schedule.fire is not None
    await bench.runner._play(schedule, schedule.fire, again=False)  # pyright: ignore[reportPrivateUsage] - and then it dies

    bench.clock.advance(2 * LEASE)
    await bench.tick()

    assert len(await bench.said(target)) == 2
    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.last.status, after.last.preview, after.running) == ("ok", "Three are open.", False)


async def test_a_turn_that_was_being_played_when_its_daemon_died_is_played_again_and_says_so(
    bench: ScheduleBench,
) -> None:
    held = Held()
    bench.agents.model = ScriptedChatModel(held, then="Three are open.")
    target = await bench.session()
    view = await bench.add(target, cron="0 10 * * *")
    bench.clock.advance(timedelta(hours=1))
    await bench.runner.plan()
    job = await bench.claim("dead")
    assert job is not None
    playing = asyncio.create_task(bench.play(job, "dead"))
    await held.begun.wait()
    assert bench.agents.sessions is not None
    # All of that process is gone, and nothing of what it had in hand is written.
    playing.cancel()
    await bench.agents.sessions.let_go(HERE, target.partition(":")[2], forget=True)

    bench.clock.advance(2 * LEASE)
    await bench.tick()

    said = await bench.said(target)
    assert [text.partition("\n")[0] for text in said if text.startswith("[")] == [
        '[Scheduled task "post the open questions" set by local]'
    ] * 2
    assert "which is played again" in said[1]
    assert said[-1] == "Three are open."
    assert (await bench.look(view.id)).fires == 1


async def test_a_job_that_is_gone_is_a_failure_and_the_schedule_goes_on(bench: ScheduleBench) -> None:
    target = await bench.session()
    view = await bench.add(target, cron="0 10 * * *")
    bench.clock.advance(timedelta(hours=1))
    await bench.runner.plan()
    [job] = await bench.agents.services.desk.store.jobs.list_jobs(HERE, kinds=[FIRE])
    await bench.agents.services.desk.store.jobs.drop_job(HERE, job.id, Entries())

    await bench.until(bench.clock.now() + 3 * MINUTE)

    after = await bench.look(view.id)
    assert after.last is not None
    assert (after.running, after.last.status) == (False, "ok")
    assert len(await bench.said(target)) == 2


# ---- what it may do


async def test_a_scheduled_turn_is_refused_what_is_dangerous_without_a_question(bench: ScheduleBench) -> None:
    calls: list[str] = []

    async def shell(command: str) -> str:
        """Run it."""
        calls.append(command)
        return "done"

    async def note(text: str) -> str:
        """Note it."""
        calls.append(text)
        return "noted"

    bench.agents.permissions = lambda: Permissions(mode="yolo", allow_all=True)
    bench.agents.tools = (
        AgentTool(name="shell", kind="execute", function=shell, asks=True, changes=True),
        AgentTool(name="note", kind="edit", function=note, changes=True),
    )
    bench.agents.model = ScriptedChatModel(
        ScriptedCall("shell", {"command": "rm -rf /"}), ScriptedCall("note", {"text": "x"}), then="Done."
    )
    target = await bench.session()
    await bench.add(target, cron="0 10 * * *")

    await bench.until(WEDNESDAY + timedelta(hours=1))

    assert calls == ["x"]
    page = await bench.agents.services.history.messages(WHO, target.partition(":")[2], limit=100, hidden=True)
    [answer] = [message.data for message in page.messages if message.text == "permission_answered"]
    assert (answer["choice"], answer["decided_by"]) == ("reject_once", "scheduled_turn")


async def test_a_scheduled_turn_is_played_in_the_name_of_who_set_it_and_as_no_admin(bench: ScheduleBench) -> None:
    target = await bench.session()
    await bench.add(target, cron="0 10 * * *")

    await bench.until(WEDNESDAY + timedelta(hours=1))

    rows = (await bench.agents.services.desk.store.journal.audit(HERE, AuditQuery(), 100, None)).rows
    [fire] = [row for row in rows if row.action == "schedule.fire"]
    assert (fire.actor, fire.door, fire.details["status"]) == ("local", "schedule", "ok")
    assert fire.run is not None
    run = await bench.agents.services.runs.get(WHO, fire.run)
    assert run.run_id == fire.run


async def test_somebody_else_ends_no_scheduled_turn(bench: ScheduleBench) -> None:
    held = Held()
    bench.agents.model = ScriptedChatModel(held, then="Three are open.")
    services = bench.agents.services
    session = await services.history.create(WHO, "assistant", {"workspace": "shop", "shared": True})
    await bench.add(f"session:{session.id}", cron="0 10 * * *")
    bench.clock.advance(timedelta(hours=1))
    await bench.runner.plan()
    job = await bench.claim()
    assert job is not None
    playing = asyncio.create_task(bench.play(job))
    sessions = bench.agents.sessions
    assert sessions is not None
    await held.begun.wait()
    bo = Principal(subject="bo", tenant=HERE, role="writer")

    with pytest.raises(Forbidden):
        await sessions.cancel(bo, session.id)

    assert await sessions.cancel(WHO, session.id)
    await playing
    assert bench.results[-1]["status"] == "cancelled"


async def test_a_scheduled_turn_waits_behind_a_persons_and_neither_ends_the_other(bench: ScheduleBench) -> None:
    held = Held()
    bench.agents.model = ScriptedChatModel((held, "For Ana."), then="By itself.")
    target = await bench.session()
    await bench.add(target, cron="0 10 * * *")
    await bench.agents.agent.say(target.partition(":")[2], "Hello?")
    await held.begun.wait()
    bench.clock.advance(timedelta(hours=1))
    playing = asyncio.create_task(bench.tick())
    async for heard in bench.agents.agent.hear(target.partition(":")[2], after=0):
        if isinstance(heard.event, PromptQueued):
            break

    held.go_on.set()
    await playing

    said = await bench.said(target)
    assert said[:2] == ["Hello?", "For Ana."]
    assert said[3] == "By itself."


# ---- who may


async def test_others_neither_see_nor_change_a_schedule_and_the_owner_of_the_session_does(bench: ScheduleBench) -> None:
    services = bench.agents.services
    ana, bo, cy = (Principal(subject=name, tenant=HERE, role="writer") for name in ("ana", "bo", "cy"))
    session = await services.history.create(ana, "assistant", {"workspace": "shop", "shared": True})
    target = f"session:{session.id}"
    view = await services.schedules.add(bo, target, {"cron": "0 10 * * *", "prompt": "post"})

    for other in (cy, replace(bo, tenant="x/y")):
        for use in (services.schedules.get, services.schedules.disable, services.schedules.run):
            with pytest.raises(ScheduleNotFound):
                await use(other, view.id)

    assert [one.id for one in (await services.schedules.list(bo)).schedules] == [view.id]
    assert (await services.schedules.list(cy, target=target)).schedules == ()
    assert [one.id for one in (await services.schedules.list(ana, target=target)).schedules] == [view.id]
    assert not (await services.schedules.disable(ana, view.id)).enabled
    with pytest.raises(Forbidden):
        await services.schedules.pause(bo, target)
    with pytest.raises(Forbidden):
        await services.schedules.pause(ana)
    assert (await services.schedules.pause(ana, target)).by == "ana"


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "* * * * * *"},
        {"cron": "0 0 30 2 *"},
        {"cron": "@daily"},
        {"cron": "0 9 * * *", "at": WEDNESDAY + MINUTE},
        {"at": WEDNESDAY - MINUTE},
        {"at": WEDNESDAY + timedelta(days=4_000)},
        {"cron": "0 9 * * *", "zone": "Mars/Phobos"},
        {"cron": "0 9 * * *", "zone": "../../etc/passwd"},
        {"cron": "0 9 * * *", "quiet": "25:00-07:00"},
        {"cron": "0 9 * * *", "prompt": "x" * 4_001},
        {"cron": "0 9 * * *", "prompt": " \n"},
        {"when": "hello there"},
        {},
    ],
)
async def test_what_is_no_schedule_is_refused_with_a_sentence(bench: ScheduleBench, fields: dict[str, object]) -> None:
    target = await bench.session()

    with pytest.raises(InvalidSchedule):
        await bench.add(target, **fields)

    assert (await bench.agents.services.schedules.list(WHO)).schedules == ()


@pytest.mark.parametrize("target", ["", "session:", "room:x", "session:\x00", "channel/team/x", "session:" + "x" * 700])
async def test_a_target_that_is_none_is_refused(bench: ScheduleBench, target: str) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        await bench.add(target, cron="0 9 * * *")
