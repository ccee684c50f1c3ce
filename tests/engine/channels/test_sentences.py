"""Plain sentences about what a room remembers, and those that are for the agent."""

from __future__ import annotations

import pytest

from commonplace.channels.sentences import parse_sentence

RECALL = [
    "What do you remember about us?",
    "@assistant what do you remember?",
    "assistant, what do you know about this room?",
    "Show us what you remember",
    "你记得我们什么？",
    "关于这个房间你记得什么",
    "你都记住了什么？",
]
REMEMBER = {
    "Remember that we ship on Fridays.": "we ship on Fridays.",
    "please remember: lunch is at noon": "lunch is at noon",
    "@assistant, remember this: the port is 6380": "the port is 6380",
    "请记住：我们周五发布": "我们周五发布",
    "帮我们记住我们周五发布": "我们周五发布",
}
CHANGES = {
    "Correct 2: we ship on Mondays": ("correct", "2 we ship on Mondays"),
    "更正第2条：我们周一发布": ("correct", "2 我们周一发布"),
    "Forget that we ship on Fridays.": ("forget", "we ship on Fridays"),
    "忘掉周五发布的事。": ("forget", "周五发布的事"),
    "Undo that": ("forget", "undo"),
    "撤销刚才的修改": ("forget", "undo"),
}
FOR_THE_AGENT = [
    "Remember that?",
    "Do you remember that we ship on Fridays?",
    "Remember that meeting last week? What was decided?",
    "What do you know about Redis?",
    "What do you remember about the outage in May?",
    "Forget it",
    "forget about it!",
    "Correct the spelling of this text",
    "你还记得周五的会议吗？",
    "记住了吗",
    "你知道什么是 Redis 吗",
    "How do I undo that in git?",
    "x" * 3_000,
    "",
]


@pytest.mark.parametrize("text", RECALL)
def test_a_question_for_what_is_remembered_is_answered_by_the_room(text: str) -> None:
    sentence = parse_sentence(text, "assistant")

    assert sentence is not None
    assert (sentence.name, sentence.argument) == ("recall", "")


@pytest.mark.parametrize(("text", "argument"), REMEMBER.items())
def test_what_is_to_be_remembered_is_kept_as_it_was_said(text: str, argument: str) -> None:
    sentence = parse_sentence(text, "assistant")

    assert sentence is not None
    assert (sentence.name, sentence.argument) == ("remember", argument)


@pytest.mark.parametrize(("text", "meant"), CHANGES.items())
def test_what_is_to_be_changed_is_changed(text: str, meant: tuple[str, str]) -> None:
    sentence = parse_sentence(text, "assistant")

    assert sentence is not None
    assert (sentence.name, sentence.argument) == meant


@pytest.mark.parametrize("text", FOR_THE_AGENT)
def test_what_is_not_plainly_about_it_is_for_the_agent(text: str) -> None:
    assert parse_sentence(text, "assistant") is None
