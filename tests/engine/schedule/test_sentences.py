"""Sentences become schedules: the examples of `tests/evaluation/schedules`, and what they leave out."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from commonplace.schedule.proposal import propose
from commonplace.values.schedule import InvalidSchedule

EXAMPLES = Path(__file__).parents[2] / "evaluation" / "schedules"
ZONES = {"en": "Europe/Berlin", "zh": "Asia/Shanghai"}


def examples(half: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]


def read(text: str, zone: str, now: datetime | None = None) -> tuple[str | None, str | None, str | None]:
    """Fields, local time and task; nothing if it is refused."""
    now = now or datetime(2026, 3, 4, 10, 20, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    try:
        timing, prompt = propose(text, now, zone)
    except InvalidSchedule:
        return None, None, None
    at = timing.at and timing.at.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(timespec="minutes")
    return timing.cron, at, prompt


def weekdays_sorted(cron: str | None) -> str | None:
    return cron and " ".join([*cron.split()[:4], ",".join(sorted(cron.split()[4].split(",")))])


@pytest.mark.parametrize("example", examples("development") + examples("heldback"), ids=lambda example: example["id"])
def test_a_sentence_says_when_and_what(example: dict[str, Any]) -> None:
    cron, at, prompt = read(example["text"], ZONES[example["lang"]])

    assert (weekdays_sorted(cron), at, prompt) == (
        weekdays_sorted(example["cron"]),
        example["at"],
        example["prompt"],
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "every 7 minutes ping",
        "every 2 weeks post the plan",
        "every day from 9 to 5 ping",
        "每天八点和二十点提醒我吃药",
        "我们每周一早上九点开会",
        "The report is due every Monday at nine.",
        "When does the daily build run?",
        "today at 8 remind me",
        "on 30 February at 9 post",
        "99 99 * * * post",
        "every " * 2_000,
        "每" * 4_000,
        "\u202eevery",
    ],
)
def test_what_the_rules_do_not_understand_is_refused_rather_than_guessed(text: str) -> None:
    assert read(text, "Europe/Berlin") == (None, None, None)


def test_five_fields_are_taken_as_they_are_with_what_stands_behind_them() -> None:
    assert read("*/5 9-17 * * 1-5 look at the queue", "Europe/Berlin") == (
        "*/5 9-17 * * 1-5",
        None,
        "look at the queue",
    )


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        # 02:30 is left out on 29 March, and comes twice on 25 October.
        ("tomorrow at 2:30 post", "2026-03-28T12:00+00:00", "2026-03-29T01:30+00:00"),
        ("tomorrow at 2:30 post", "2026-10-24T12:00+00:00", "2026-10-25T00:30+00:00"),
        ("in two hours post", "2026-03-29T00:30+00:00", "2026-03-29T02:30+00:00"),
        ("in two hours post", "2026-10-25T00:15+00:00", "2026-10-25T02:15+00:00"),
    ],
)
def test_a_time_that_is_named_on_a_day_of_23_or_25_hours(text: str, now: str, expected: str) -> None:
    timing, _ = propose(text, datetime.fromisoformat(now), "Europe/Berlin")

    assert timing.at == datetime.fromisoformat(expected)


@pytest.mark.timeout(5)
def test_greetings_without_end_before_a_time_are_no_wish_and_cost_nothing() -> None:
    assert read(f"{'你好' * 1_000}某某明天九点开会", "Asia/Shanghai") == (None, None, None)
    assert read("你好，明天九点提醒我开会", "Asia/Shanghai")[1] == "2026-03-05T09:00"
