"""Distillation for the governed door: too short, nothing important, or facts with an importance and a place to go."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.learning.distill import AGENT_MEMORY, USER_MEMORY, distill

CHATTER = (
    "user: Could you look at the failing build for me, please? It has been red since the last merge and I cannot tell why.",
    "assistant: Sure, let me open the log of the last run and compare it with the one before it.",
)


def test_a_short_conversation_is_skipped() -> None:
    result = distill(["user: I prefer tea."])

    assert result.status == "skipped_short_conversation"
    assert result.facts == ()


def test_a_conversation_that_tells_nothing_lasting_has_no_important_facts() -> None:
    assert distill(CHATTER).status == "no_important_facts"


def test_facts_come_with_category_importance_and_method() -> None:
    result = distill([*CHATTER, "user: I prefer short answers. The root cause was a stale cache."])

    assert result.status == "facts_extracted_only"
    assert result.method == "rules"
    assert [(fact.content, fact.category) for fact in result.facts] == [
        ("The user prefers short answers", "user_preference"),
        ("The root cause was a stale cache", "task_outcome"),
    ]
    assert all(0.5 <= fact.importance <= 1 for fact in result.facts)


def test_preferences_and_facts_go_to_the_user_outcomes_and_lessons_to_the_agent() -> None:
    user = distill([*CHATTER, "user: I prefer short answers."])
    agent = distill([*CHATTER, "user: The root cause was a stale cache."])

    assert (user.user_memory_updated, user.agent_memory_updated) == (True, False)
    assert (agent.user_memory_updated, agent.agent_memory_updated) == (False, True)


def test_what_is_below_the_threshold_is_dropped() -> None:
    told = [*CHATTER, "user: I prefer short answers."]

    assert distill(told, 0.0).facts
    assert distill(told, 1.0).status == "no_important_facts"


def test_a_part_may_name_its_speaker_and_an_assistant_is_not_taken_at_its_word() -> None:
    result = distill(
        [*CHATTER, "Ana: I live in Lisbon.", "assistant: I prefer tea.\nuser: We use Go.\nStaging: see the wiki"]
    )

    assert [fact.content for fact in result.facts] == ["Ana lives in Lisbon", "The team uses Go"]


def test_what_is_held_already_is_not_distilled_again() -> None:
    told = [*CHATTER, "user: I prefer short answers."]
    held = [fact.content for fact in distill(told).facts]

    assert distill(told, existing=held).status == "no_important_facts"


def test_an_unfinished_outcome_asks_for_a_follow_up() -> None:
    result = distill([*CHATTER, "user: The fix was to pin numpy, with a follow-up for the wheel."])

    assert [fact.follow_up_needed for fact in result.facts] == [True]


def test_chinese_is_counted_and_read_too() -> None:
    result = distill(
        [
            "用户：你好，我叫小林，我住在杭州，平时用 Vim 写代码。麻烦看看线上的问题，用户反馈接口经常超时，日志里也有很多错误。",
            "助手：好的，我看看。",
        ]
    )

    assert [fact.content for fact in result.facts] == ["用户的名字是小林", "用户住在杭州", "用户平时用 Vim 写代码"]


@given(st.lists(st.text(max_size=200), max_size=6), st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_no_conversation_breaks_it_and_the_flags_follow_the_facts(conversation: list[str], threshold: float) -> None:
    result = distill(conversation, threshold)

    assert all(fact.importance >= threshold for fact in result.facts)
    assert result.user_memory_updated == any(fact.category in USER_MEMORY for fact in result.facts)
    assert result.agent_memory_updated == any(fact.category in AGENT_MEMORY for fact in result.facts)
