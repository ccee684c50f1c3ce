"""The librarian whatever it is sent: it quotes nothing that nobody wrote, calls no tool that is not there, and comes to an end."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from commonplace.llms.librarian.changes import Step
from commonplace.llms.librarian.citation import source
from commonplace.llms.librarian.model import answered
from commonplace.llms.librarian.phrases import ENGLISH
from commonplace.llms.librarian.quotes import MOST_SENTENCES, quote
from commonplace.llms.librarian.revision import revised, same_subject, with_value
from commonplace.llms.librarian.tool_memory import ToolMemory, rows_of, rows_of_block
from commonplace.testing.memory_tools import NAMES, schema_of
from commonplace.text.extractive import MORE
from commonplace.text.fence import CLOSE, OPEN, entry

PROMPTS = (
    "Who is Ana?", "and Bo?", "why?", "what else?", "what came nearest?", "yes", "no", "only 2", "remember that tea is at five", "Tea is at five today.",
    "no, tea is at six", "We moved tea to six", "forget tea", "forget that", "list my notes", "what do you know about tea", "what did we say about tea?",
    "remind me to drink tea at five", "hello", "谁是小李？", "不对，是六点", "忘掉小李", "还有呢", "", "\ufffd\u200b",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ROW = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "content", "score", "evidence", "contradicted_by", "memory_trust", "at"), JSON)
) | st.fixed_dictionaries(
    {"id": st.uuids().map(str), "content": st.sampled_from(["Ana lives in Rome.", "Tea is at five.", "小李在上海。"])}
)
ANSWER = JSON | st.fixed_dictionaries({"ok": st.booleans() | st.none(), "results": st.lists(ROW, max_size=4) | JSON})
TOOLS = [
    *(ToolDefinition(name=name, parameters_json_schema=schema_of(name)) for name in NAMES),
    ToolDefinition(name="session_search"),
    ToolDefinition(name="schedule"),
]


@given(
    st.lists(st.sampled_from(PROMPTS) | st.text(max_size=40), min_size=1, max_size=4),
    st.sets(st.sampled_from([tool.name for tool in TOOLS])),
    st.data(),
)
def test_no_answer_of_a_tool_makes_it_fail_or_keeps_it_going(
    prompts: list[str], offered: set[str], data: st.DataObject
) -> None:
    parameters = ModelRequestParameters(function_tools=[tool for tool in TOOLS if tool.name in offered])
    messages: list[ModelMessage] = []
    for prompt in prompts:
        messages.append(ModelRequest([UserPromptPart(prompt)]))
        step: Step = ""
        for _ in range(4):
            step = answered(messages, parameters)
            assert step == answered(messages, parameters)
            if isinstance(step, str):
                break
            calls = [ToolCallPart(use.tool, dict(use.arguments)) for use in step]
            assert {call.tool_name for call in calls} <= offered
            messages.append(ModelResponse(calls))
            messages.append(
                ModelRequest([ToolReturnPart(c.tool_name, data.draw(ANSWER), c.tool_call_id) for c in calls])
            )
        assert isinstance(step, str)
        assert step.strip()
        messages.append(ModelResponse([TextPart(step)]))


@given(
    st.text(max_size=200),
    st.text(max_size=3_000)
    | st.lists(st.sampled_from(["Ana ate. ", "Why? ", "小李来了。", "\n", "x" * 700 + ". "]), max_size=40).map("".join),
)
def test_a_quote_is_word_for_word_and_short(question: str, text: str) -> None:
    told = quote(question, text)

    whole = " ".join(text.split())
    assert all(part.strip() in whole for part in told.split(MORE))
    assert len(told) <= max(320, MOST_SENTENCES * 610)


@given(st.text(max_size=300), st.sampled_from(["It is on Tuesday at five.", "Tea is at 16:00."]))
def test_a_correction_leaves_the_other_sentences_alone(text: str, content: str) -> None:
    assert content in revised(text, content)
    with_value(text, content)


def test_a_new_value_leaves_the_rest_of_a_memory_as_it_is() -> None:
    assert revised("The rent is 1450 euros, due on the first.", "The rent is 1500 euros now.") == (
        "The rent is 1500 euros, due on the first."
    )


def test_what_was_learned_of_the_person_keeps_what_is_still_true() -> None:
    learned = "The user lives in Utrecht and their dog is called Bruno"

    assert same_subject("I live in Delft.", learned)
    assert revised(learned, "I live in Delft.") == "I live in Delft and my dog is called Bruno"


@pytest.mark.parametrize(
    ("content", "text"), [("I live in Delft.", "I am a nurse."), ("I live in Delft.", "Ana lives in Lisbon.")]
)
def test_two_facts_of_one_person_are_not_taken_for_one(content: str, text: str) -> None:
    assert not same_subject(content, text)


def test_what_was_learned_of_the_own_talk_is_no_strangers_word() -> None:
    row = ToolMemory(
        id="1" * 12, content="The user lives in Utrecht", scope="user:local", source="auto", is_outside=True
    )

    assert (ENGLISH.learned in source(row, ENGLISH), ENGLISH.outside in source(row, ENGLISH)) == (True, False)
    assert ENGLISH.outside in source(replace(row, scope="workspace:web"), ENGLISH)


def test_a_title_ends_no_sentence() -> None:
    assert revised("My dentist is Dr. Wu", "My dentist is Dr. Novak.") == "My dentist is Dr. Novak."
    assert quote("Who?", "Mr. J. Doe came. " + "He sat. " * 200).startswith("Mr. J. Doe came.")


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("The retrospective is on Thursday at three.", "it's on Tuesday", "The retrospective is on Tuesday at three."),
        ("The train leaves at 7:12.", "at 7:42, not 7:12", "The train leaves at 7:42."),
        ("例会在九点半。", "是十点", "例会在十点。"),
        ("Ana was born on 3 May 1990.", "it's 4 May", "Ana was born on 4 May 1990."),
        ("Leo is 10.", "he is 11", "Leo is 11."),
        ("From Monday to Friday.", "it's Tuesday", None),
        ("Ana likes tea.", "it's coffee", None),
    ],
)
def test_a_value_takes_the_place_of_the_only_one_of_its_kind(text: str, content: str, expected: str | None) -> None:
    assert with_value(text, content) == expected


@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), max_size=4))
def test_what_a_block_shows_is_read_back_and_no_text_poses_as_another_entry(texts: list[str]) -> None:
    items = [entry(f"[id memory-{place}, score 0.5, untrusted] ", text) for place, text in enumerate(texts)]

    rows = rows_of_block("\n".join(["Before.", OPEN, "A rule.", *items, CLOSE, "After."]))

    assert [row.id for row in rows] == [f"memory-{place}" for place in range(len(texts))]


@given(ANSWER)
def test_whatever_a_tool_answers_gives_rows_or_none(document: Any) -> None:
    rows = rows_of({"results": document})

    assert all(row.id and row.content for row in rows)
