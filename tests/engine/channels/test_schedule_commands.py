"""`/schedule` in a room: shown in words, set after a confirmation, and changed by those who may."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.channels.command_line import parse_command
from commonplace.channels.schedule_commands import PATIENCE
from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import Settings
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.room_schedules import TARGET, RoomScheduleBench
from commonplace.values.schedule import ScheduleView

pytestmark = pytest.mark.anyio

WEDNESDAY = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
SENTENCE = "every weekday at nine post the open questions"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[RoomScheduleBench]:
    clock = FakeClock(WEDNESDAY)
    settings = Settings(home=tmp_path / "home", embedder="none", schedule_zone="Europe/Berlin")
    async with composed(settings, ComposeOptions(clock=clock)) as services:
        agents = TurnBench(services, model=ScriptedChatModel(then="Three are open."))
        bench = RoomScheduleBench(agents, clock, replace(OPEN, allowed=("ana", "bob")))
        await bench.begin()
        async with bench.room.residence.open():
            yield bench
        await agents.aclose()


async def told(bench: RoomScheduleBench, sender: str, text: str) -> str:
    """What the room answers to a command."""
    [answer] = await bench.room.answered(await bench.room.say(sender, text))
    return answer


async def views(bench: RoomScheduleBench) -> tuple[ScheduleView, ...]:
    return (await bench.room.parts.schedules.list(bench.room.residence.owner, target=TARGET)).schedules


async def test_a_sentence_is_shown_with_its_next_three_times_and_set_when_its_writer_confirms(
    bench: RoomScheduleBench,
) -> None:
    shown = await told(bench, "Cyd", f"/schedule {SENTENCE}")
    before = await views(bench)
    other = await told(bench, "Bob", "/schedule confirm")
    answer = await told(bench, "Cyd", "/schedule confirm")

    for part in (
        "09:00",
        "post the open questions",
        "Europe/Berlin",
        "Thu 2026-03-05",
        "Fri 2026-03-06",
        "Mon 2026-03-09",
    ):
        assert part in shown
    assert before == ()
    assert "nothing of yours" in other
    assert "Thu 2026-03-05 09:00" in answer
    [view] = await views(bench)
    assert (view.cron, view.prompt, view.created_by) == ("0 9 * * 1-5", "post the open questions", "channel/team/cyd")


@pytest.mark.parametrize(
    ("text", "cron", "prompt"),
    [
        ("/loop 0 9 * * 1-5 post it", "0 9 * * 1-5", "post it"),
        ('/schedule add "0 9 * * 1-5" post it', "0 9 * * 1-5", "post it"),
        ("/定时 每周一早上九点发布未解决的问题", "0 9 * * 1", "发布未解决的问题"),
        ("/定时任务 添加 每周一早上九点发布未解决的问题", "0 9 * * 1", "发布未解决的问题"),
    ],
)
async def test_cron_and_sentences_of_both_languages_are_understood(
    bench: RoomScheduleBench, text: str, cron: str, prompt: str
) -> None:
    await told(bench, "Ana", text)
    await told(bench, "Ana", "/定时 确认" if "定时" in text else "/schedule confirm")

    [view] = await views(bench)
    assert (view.cron, view.prompt) == (cron, prompt)


async def test_chinese_is_answered_in_chinese(bench: RoomScheduleBench) -> None:
    shown = await told(bench, "Ana", "/定时 每周一早上九点发布未解决的问题")
    assert "周一" in shown
    assert "接下来" in shown
    await told(bench, "Ana", "/定时 确认")

    assert "发布未解决的问题" in await told(bench, "Ana", "/定时 列表")


async def test_what_is_listed_is_inspected_run_disabled_enabled_and_cancelled_by_its_number(
    bench: RoomScheduleBench,
) -> None:
    ana = await bench.person("ana")
    await bench.add(ana, cron="0 9 * * *", label="first")
    bench.clock.advance(timedelta(seconds=1))
    await bench.add(ana, cron="0 10 * * *", label="second")

    listed = await told(bench, "Bob", "/schedule list")
    ambiguous = await told(bench, "Bob", "/schedule cancel")
    inspected = await told(bench, "Bob", "/schedule inspect 2")
    await told(bench, "Bob", "/schedule disable 1")
    off = {view.label: view.enabled for view in await views(bench)}
    await told(bench, "Bob", "/schedule enable first")
    await told(bench, "Bob", "/schedule cancel 2")
    await told(bench, "Bob", "/schedule run")
    await bench.daemon.tick()

    assert listed.index("1. first") < listed.index("2. second")
    assert "Which one?" in ambiguous
    assert "second, set by ana" in inspected
    assert off == {"first": False, "second": True}
    [view] = await views(bench)
    assert (view.label, view.enabled, view.fires) == ("first", True, 1)
    assert bench.posted()[-1] == '[Scheduled task "first" set by ana]\nThree are open.'


async def test_only_who_set_it_and_those_who_are_allowed_change_it(bench: RoomScheduleBench) -> None:
    await bench.add(await bench.person("cyd"), cron="0 9 * * *")

    refused = await told(bench, "Eve", "/schedule cancel 1")
    seen = await told(bench, "Eve", "/schedule list")
    stays = await views(bench)
    await told(bench, "Cyd", "/schedule disable 1")
    own = await views(bench)
    await told(bench, "Ana", "/schedule cancel 1")

    assert "Only those" in refused
    assert "post the open questions" in seen
    assert [len(stays), own[0].enabled] == [1, False]
    assert await views(bench) == ()


async def test_nothing_is_said_to_be_set_that_the_store_did_not_take(bench: RoomScheduleBench, tmp_path: Path) -> None:
    await told(bench, "Ana", f"/schedule {SENTENCE}")
    # Of the store's own SQLite: a second one in this process would let go of its locks.
    other: Any = apsw.Connection(str(tmp_path / "home" / "memory.db"))
    other.set_busy_timeout(5_000)
    other.execute("CREATE TRIGGER full BEFORE INSERT ON schedules BEGIN SELECT RAISE(ABORT, 'full'); END")

    answer = await told(bench, "Ana", "/schedule confirm")

    assert "could not" in answer
    assert await views(bench) == ()
    other.execute("DROP TRIGGER full")
    other.close()
    await told(bench, "Ana", "/schedule confirm")
    assert len(await views(bench)) == 1


async def test_a_proposal_is_not_confirmed_hours_later(bench: RoomScheduleBench) -> None:
    await told(bench, "Ana", f"/schedule {SENTENCE}")
    bench.clock.advance(PATIENCE + timedelta(minutes=1))

    await told(bench, "Ana", "/schedule confirm")

    assert await views(bench) == ()


@pytest.mark.parametrize(
    "text", ["/schedule some day do it", "/schedule every day at nine", "/schedule add", "/schedule 99 99 * * * x"]
)
async def test_what_says_no_time_or_nothing_to_do_is_refused_with_an_example(
    bench: RoomScheduleBench, text: str
) -> None:
    answer = await told(bench, "Ana", text)
    await told(bench, "Ana", "/schedule confirm")

    assert "nine" in answer or "0 9 * * 1-5" in answer
    assert await views(bench) == ()


async def test_the_help_names_it_in_both_languages(bench: RoomScheduleBench) -> None:
    assert "/schedule every weekday" in await told(bench, "Ana", "/help")
    assert "/定时 每周一" in await told(bench, "Ana", "/帮助")


@pytest.mark.parametrize("word", ["schedule", "loop", "定时", "定时任务", "日程", "循环"])
def test_it_has_names_in_both_languages(word: str) -> None:
    command = parse_command(f"/{word} list")

    assert command is not None
    assert command.name == "schedule"
