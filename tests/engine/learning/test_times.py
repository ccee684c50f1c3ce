"""Days that are named by words, worked out from the day they were said on."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.learning.extract import extract_facts
from commonplace.learning.times import meant, resolved
from commonplace.values.record import Turn

WEDNESDAY = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("today", "2026-03-04"),
        ("yesterday", "2026-03-03"),
        ("last night", "2026-03-03"),
        ("the day before yesterday", "2026-03-02"),
        ("tomorrow", "2026-03-05"),
        ("the day after tomorrow", "2026-03-06"),
        ("last Friday", "2026-02-27"),
        ("last Wednesday", "2026-02-25"),
        ("this Friday", "2026-03-06"),
        ("next Friday", "2026-03-13"),
        ("next Monday", "2026-03-09"),
        ("last week", "week of 2026-02-23"),
        ("this weekend", "2026-03-07"),
        ("next month", "2026-04"),
        ("last month", "2026-02"),
        ("last year", "2025"),
        ("three days ago", "2026-03-01"),
        ("a couple of weeks ago", "2026-02-18"),
        ("in 10 days", "2026-03-14"),
        ("two months ago", "2026-01"),
        ("四天前", "2026-02-28"),
        ("今天", "2026-03-04"),
        ("昨天", "2026-03-03"),
        ("前天", "2026-03-02"),
        ("大后天", "2026-03-07"),
        ("下周五", "2026-03-13"),
        ("上周五", "2026-02-27"),
        ("这周五", "2026-03-06"),
        ("上星期天", "2026-03-01"),
        ("下个月", "2026-04"),
        ("上個月", "2026-02"),
        ("去年", "2025"),
        ("两周后", "2026-03-18"),
    ],
)
def test_a_day_is_worked_out_from_the_day_it_was_said_on(words: str, written: str) -> None:
    when = meant(words, WEDNESDAY)

    assert when is not None
    assert when.text == written


@pytest.mark.parametrize(
    "words", ["soon", "a few days ago", "today's build", "5 days", "the other day", "最近", "以后", "9999 years ago"]
)
def test_what_is_vague_stays_vague(words: str) -> None:
    assert resolved(words, WEDNESDAY) == (words, None)


def test_the_date_stands_behind_the_words_and_the_first_is_the_time_told_of() -> None:
    text, at = resolved("Met yesterday, ships next Friday", WEDNESDAY)

    assert text == "Met yesterday [Tuesday 2026-03-03], ships next Friday [Friday 2026-03-13]"
    assert at == datetime(2026, 3, 3, tzinfo=UTC)


def test_a_date_that_is_written_already_is_not_written_twice() -> None:
    once = resolved("我们昨天决定了", WEDNESDAY).text

    assert once == "我们昨天[周二 2026-03-03]决定了"
    assert resolved(once, WEDNESDAY).text == once


@given(st.text(max_size=200), st.datetimes())
def test_no_text_and_no_day_breaks_it(text: str, told: datetime) -> None:
    assert len(resolved(text, told).text) >= len(text)


# ---- in facts


@pytest.mark.parametrize(
    ("said", "fact", "day"),
    [
        (
            "We decided yesterday to move to Kafka.",
            "The team decided to move to Kafka [Tuesday 2026-03-03]",
            (2026, 3, 3),
        ),
        ("I moved to Lisbon last month.", "The user moved to Lisbon [2026-02]", (2026, 2, 1)),
        (
            "Please remember that the launch is next Friday.",
            "The launch is next Friday [Friday 2026-03-13]",
            (2026, 3, 13),
        ),
        ("请记住，下周五发布 2.0。", "下周五[周五 2026-03-13]发布 2.0", (2026, 3, 13)),
        ("我上个月搬到了上海。", "用户搬到了上海[2026-02]", (2026, 2, 1)),
    ],
)
def test_a_fact_tells_the_date_and_not_the_word_for_it(said: str, fact: str, day: tuple[int, int, int]) -> None:
    [found] = extract_facts([Turn(speaker="user", text=said, at=WEDNESDAY)], least=0).facts

    assert (found.text, found.at) == (fact, datetime(*day, tzinfo=UTC))


def test_what_is_nothing_without_its_date_is_not_learned_without_one() -> None:
    assert extract_facts([Turn(speaker="user", text="Remember that the launch is next Friday.")], least=0).facts == ()
