"""Markdown in messages that DingTalk shows whole: no text is lost, none is too long, and code that is cut is code on both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.dingtalk.markdown import MOST, chunks, messages, title_of, without_tables

LINES = st.one_of(
    st.text(alphabet="ab \t|`~#.世界👍\u200b", max_size=60),
    st.sampled_from(["```", "```python", "~~~", "````", "  ```", "| a | b |", "|---|---|", "", "   "]),
    st.integers(1, 1_500).map(lambda size: "x" * size),
    st.integers(1, 400).map(lambda size: "word " * size),
)
TEXTS = st.lists(LINES, max_size=40).map("\n".join)
SMALL = 400


def is_balanced(chunk: str) -> bool:
    """Whether each fence is closed."""
    fence = ""
    for line in chunk.split("\n"):
        mark = line.strip()
        signs = mark[: len(mark) - len(mark.lstrip(mark[:1]))] if mark[:1] in ("`", "~") else ""
        if not 3 <= len(signs) <= 20 or len(line) > 200:
            continue
        rest = mark[len(signs) :].strip()
        if fence:
            fence = "" if signs[0] == fence[0] and len(signs) >= len(fence) and not rest else fence
        elif not (signs[0] == "`" and "`" in rest):
            fence = signs
    return not fence


def is_part(small: str, large: str) -> bool:
    """Whether the characters of one are in the other, in their order."""
    rest = iter(large)
    return all(character in rest for character in small)


@given(TEXTS, st.integers(300, SMALL))
def test_no_chunk_is_too_long_and_every_fence_is_closed(text: str, most: int) -> None:
    cut = chunks(text, most=most)

    assert all(len(chunk) <= most for chunk in cut)
    assert all(is_balanced(chunk) for chunk in cut)


@given(TEXTS)
def test_no_text_is_lost_and_only_fences_are_added(text: str) -> None:
    cut = "".join(chunks(text, most=SMALL))
    added = len("".join(cut.split())) - len("".join(text.split()))

    assert is_part("".join(text.split()), "".join(cut.split()))
    assert added >= 0
    assert added == 0 or "```" in text or "~~~" in text


@given(TEXTS)
def test_what_is_in_a_table_is_in_its_lines(text: str) -> None:
    signs = str.maketrans("", "", "|-: \t")
    before, after = text.translate(signs), without_tables(text).translate(signs)

    assert "".join(before.split()) == "".join(after.split())


def test_code_that_is_cut_goes_on_as_code() -> None:
    code = "\n".join(f"line {number}" for number in range(100))

    first, *others = chunks(f"Look:\n```python\n{code}\n```\nThat is all.", most=400)

    assert first.startswith("Look:\n```python\nline 0")
    assert first.endswith("\n```")
    assert all(other.startswith("```python\n") for other in others)
    assert others[-1].endswith("line 99\n```\nThat is all.")


def test_a_table_becomes_lines_and_code_stays() -> None:
    table = "| day | what |\n|:---|---:|\n| Friday | `ship` |\nThen | rest"

    assert without_tables(f"Plan:\n\n{table}\n\nEnd") == (
        "Plan:\n\nday | what  \nFriday | `ship`  \nThen | rest  \n\nEnd"
    )
    assert without_tables(f"```\n{table}\n```") == f"```\n{table}\n```"
    assert without_tables("either | or\nnothing") == "either | or\nnothing"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## We ship on **Fridays**\nand so on", "We ship on Fridays"),
        ("x" * 30, "x" * 20),
        ("```\ncode\n```", "code"),
        ("\n\n---\n", "---"),
        ("", "Reply"),
        ("# \n```", "Reply"),
        ("周五发布", "周五发布"),
    ],
)
def test_a_title_is_what_comes_first(text: str, title: str) -> None:
    assert title_of(text) == title


def test_what_is_long_comes_in_several_messages_that_say_so() -> None:
    text = "\n".join(["# Report", *["word " * 100] * 20])

    cut = messages(text)

    assert [title for title, _ in cut] == ["Report", "Report (cont.)", "Report (cont.)"]
    assert max(len(chunk) for _, chunk in cut) <= MOST


def test_nothing_is_no_message() -> None:
    assert messages(" \n\n ") == []
