"""What a person sees of a turn."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doors.chat.conftest import Terminal

from commonplace.cli.lines import visible
from commonplace.cli.turn_view import Cleaner, PlainPaper, TurnView, outcome
from commonplace.values.permission import PermissionRequest
from commonplace.values.turn_event import (
    HistoryCompacted,
    MemoryRecalled,
    PlanChanged,
    RecalledMemory,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnUsage,
)

DIFF = "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1,2 @@\n-old\n+new\n+more\n"
USAGE = TurnUsage(model="scripted", requests=2, input_tokens=1200, output_tokens=34, cost_micro_usd=1_500)
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


def seen(*events: TurnEvent, verbose: bool = False) -> str:
    """As a pipe shows it."""
    shown: list[str] = []
    view = TurnView(PlainPaper(shown.append), verbose=verbose)
    for event in events:
        view.show(event)
    view.end()
    return "".join(shown)


def call(text: str = "ok", **fields: Any) -> Sequence[TurnEvent]:
    started = ToolStarted(
        call="c", tool="write_file", kind="edit", title="Write notes.md", arguments={"path": "notes.md"}
    )
    return [started, ToolEnded(call="c", tool="write_file", text=text, **fields)]


def test_text_is_shown_as_it_comes() -> None:
    assert seen(TextAdded(text="We ship "), TextAdded(text="on Fridays.")) == "We ship on Fridays.\n"


def test_a_tool_call_is_one_line_with_its_outcome() -> None:
    assert seen(*call(diff=DIFF)).splitlines() == ["✓ Write notes.md · +2 −1"]
    assert seen(*call("no such file\nat all", failed=True)).splitlines() == ["✗ Write notes.md · no such file at all"]


def test_verbose_shows_what_a_tool_was_given_and_what_it_answered() -> None:
    shown = seen(*call("answered", diff=DIFF), verbose=True)

    assert '"path": "notes.md"' in shown
    assert "+more" in shown
    assert "answered" in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "done"),
        ("one", "one"),
        ("a\nb\nc", "3 lines"),
        ('{"count": 2}', "2 results"),
        ('{"message": "None\\u001b"}', "None\N{REPLACEMENT CHARACTER}"),
        ("{" * 100_000, "{" * 99 + "…"),
        ('{"ok": true}', "done"),
    ],
)
def test_what_came_of_a_call_is_said_in_a_few_words(text: str, words: str) -> None:
    assert outcome(ToolEnded(call="c", tool="grep", text=text)) == words


def test_thoughts_are_folded_unless_all_is_to_be_shown() -> None:
    thoughts = [ThinkingAdded(text="First, "), ThinkingAdded(text="look it up."), TextAdded(text="Friday.")]

    assert "look it up" not in seen(*thoughts)
    assert "look it up" in seen(*thoughts, verbose=True)


def test_a_plan_is_a_list_and_what_was_recalled_is_counted() -> None:
    memories = (RecalledMemory(id="1", text="one"), RecalledMemory(id="2", text="two"))
    plan = PlanChanged(entries=({"text": "look", "status": "completed"}, {"text": "answer", "status": "pending"}))

    lines = seen(MemoryRecalled(memories=memories), plan).splitlines()

    assert lines == ["◦ 2 memories recalled (/why)", "Plan", "  ☑ look", "  ☐ answer"]


def test_a_turn_that_fails_or_is_cut_off_says_so() -> None:
    failed = seen(TextAdded(text="Half"), TurnFailed(run="r", code="model_error", message="It broke.", usage=USAGE))
    ended = seen(TurnEnded(run="r", reply="", stop_reason="cancelled", usage=USAGE), verbose=True)

    assert failed.splitlines() == ["Half", "✗ It broke. [model_error]"]
    assert ended.splitlines() == ["Stopped.", "scripted · 2 requests · 1,200 tokens in, 34 out · $0.0015"]


def test_another_model_than_the_one_announced_is_named() -> None:
    view_of = [TurnStarted(run="r", session="s", text="", model=model) for model in ("one", "one", "other")]

    assert seen(*view_of, HistoryCompacted(messages=3, by="rules")).count("answers.") == 1


@given(pieces=st.lists(st.text(alphabet="ab\r\n\x1b\u200b\u202e\U000e0041é", max_size=5)))
def test_pieces_are_cleaned_as_the_whole_is(pieces: list[str]) -> None:
    cleaner = Cleaner()

    cleaned = "".join(cleaner.add(piece) for piece in pieces)

    assert cleaned == visible("".join(pieces).removesuffix("\r"))
    assert not OBEYED.search(cleaned)
    assert "\x1b" not in cleaned


def test_an_emoji_keeps_its_shape_and_hidden_words_are_gone() -> None:
    assert visible("⚠️ ok") == "⚠️ ok"
    assert visible("a\ufe0fb\u200b\U000e0041") == "ab"


HOSTILE = [
    TextAdded(
        text="\x1b]0;owned\x07 \x1b[2J &#27;[31m &#x202e; [here](javascript:alert(1)) \u200b\U000e0041\n\n```\n\x1b[2J\n```\n"
    ),
    ThinkingAdded(text="\x1b[2J\u202e"),
    ToolStarted(call="c", tool="x", kind="other", title="\x1b[2Jtitle\u200b\n\nmore", arguments={"\x1b": "\x9b2J"}),
    ToolEnded(call="c", tool="x", text="\x1b[2J\n\x9b2J", diff="+\x1b[2J\n"),
    PlanChanged(entries=({"text": "\x1b[2J", "status": "\x1b"},)),
    MemoryRecalled(failed="\x1b[2J"),
    TurnStarted(run="r", session="s", text="t", model="\x1b[2J"),
    TurnFailed(run="r", code="\x1b[2J", message="\x1b[2J\x07", usage=USAGE),
]


@pytest.mark.parametrize("verbose", [True, False])
def test_nothing_that_a_model_or_a_tool_says_moves_the_terminal(terminal: Terminal, verbose: bool) -> None:
    view = TurnView(terminal.paper, verbose=verbose, model="scripted")
    for event in HOSTILE:
        view.show(event)
    view.ask(
        PermissionRequest(
            id="p", call="c", tool="x", kind="other", title="\x1b[2J", rule="\x1b", diff="+\x1b[2J", arguments={}
        )
    )
    view.end()

    # Styles and the movements of what is drawn again are ours; a whole screen is never cleared.
    assert "\x1b[2J" not in terminal.bytes
    assert "\x1b]" not in terminal.bytes
    assert not OBEYED.search(STYLES.sub("", terminal.bytes).replace("\r", ""))


def test_markdown_is_drawn_and_a_link_shows_where_it_leads(terminal: Terminal) -> None:
    view = TurnView(terminal.paper)
    for piece in ("# Plans\n\nWe **sh", "ip** on [Friday](https://example", ".org/day).\n\n- one\n- two\n"):
        view.show(TextAdded(text=piece))
    view.end()

    words = STYLES.sub("", terminal.bytes)
    assert "\x1b[1mship\x1b[0m" in terminal.bytes
    assert "https://example.org/day" in words
    assert " • one" in words


def test_what_is_drawn_again_is_never_higher_than_the_terminal(terminal: Terminal) -> None:
    view = TurnView(terminal.paper)
    for number in range(200):
        view.show(TextAdded(text=f"{number}  \n"))
        view.tick()
    view.end()

    moves = [int(move) for move in re.findall(r"\x1b\[(\d+)A", terminal.bytes)]
    assert max(moves, default=0) <= 24
    assert sum(f"{number}" in STYLES.sub("", terminal.bytes).split() for number in range(200)) == 200


def test_a_block_of_any_length_is_printed_whole(terminal: Terminal) -> None:
    view = TurnView(terminal.paper)
    view.show(TextAdded(text="[" * 100_000 + " end"))
    view.end()

    assert STYLES.sub("", terminal.bytes).count("[") >= 100_000
