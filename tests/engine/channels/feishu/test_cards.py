"""How answers look: one table a block, no mention by somebody else's words, plainer forms for a platform that takes no card."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.blocks import pieces
from commonplace.channels.feishu.cards import card_content, content_text, table_blocks, without_tables
from commonplace.channels.feishu.events import Mention, message_text, with_names
from commonplace.ports.channel import CardOption

TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
LINES = st.sampled_from(
    ["| a | b |", "| --- | :-: |", "|-|", "a | b", "--- | ---", "```", "```py", "text", "", " ", "- x"]
)
RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")


def elements(text: str, **more: Any) -> list[dict[str, Any]]:
    content = cast("dict[str, Any]", card_content(text, title="Team", template="green", **more))
    return content["body"]["elements"]


def tables(text: str) -> int:
    """Outside fences, counted in another way than the splitter does."""
    count, fence, previous = 0, False, ""
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and "|" in previous and "|" in line and "-" in line and RULE.fullmatch(line):
            count += 1
        previous = "" if fence else line
    return count


@given(st.lists(LINES, max_size=30).map("\n".join) | st.text())
def test_a_text_is_split_without_loss(text: str) -> None:
    assert "\n".join(table_blocks(text)) == text


@given(st.lists(st.sampled_from([TABLE, "text", "```\n" + TABLE + "\n```"]), max_size=6))
def test_no_block_has_two_tables(parts: list[str]) -> None:
    text = "\n\n".join(parts)

    assert max(map(tables, table_blocks(text))) <= 1
    assert sum(map(tables, table_blocks(text))) == tables(text)


@given(st.lists(LINES, max_size=30).map("\n".join) | st.text())
def test_any_text_becomes_a_card_and_can_lose_its_tables(text: str) -> None:
    content = card_content(text, title="Team", template="green")

    assert json.loads(content_text(content)) == content
    assert isinstance(without_tables(text), str)


def test_tables_become_lines_and_those_in_a_fence_stay() -> None:
    assert without_tables(f"See\n{TABLE}\nend\n```\n{TABLE}\n```") == f"See\na · b\n1 · 2\nend\n```\n{TABLE}\n```"


@pytest.mark.parametrize("mention", ['<at id="all"></at>', "<AT user_id=all>", "< at id=ou_1>", "<person id='x'>"])
def test_nobody_is_mentioned_by_the_words_of_an_answer(mention: str) -> None:
    [element] = elements(f"Hello {mention}")

    assert not re.search(r"<\s*(at|person)", element["content"], re.IGNORECASE)


def test_an_empty_answer_is_something() -> None:
    assert elements("")[0]["content"]


def test_a_button_says_what_it_does_and_to_which_message() -> None:
    [_, button] = elements("Push?", buttons=[(CardOption(label="Allow", command="approve"), "r-card")])

    assert button["behaviors"] == [{"type": "callback", "value": {"action": "approve", "key": "r-card"}}]


@given(st.lists(LINES | st.text(max_size=200), max_size=60).map("\n".join), st.integers(200, 600))
def test_pieces_have_their_size_and_close_their_fences(text: str, most: int) -> None:
    parts = pieces(text, most)

    assert all(len(part) <= most for part in parts)


def test_a_fence_that_is_cut_is_closed_and_opened_again() -> None:
    parts = pieces("```py\n" + "x = 1\n" * 2_000 + "```\n", 4_000)

    assert len(parts) > 2
    assert all(part.startswith("```py") and part.rstrip().endswith("```") for part in parts)
    assert "".join(parts).count("x = 1") == 2_000


# ---- what people write


def mention(key: str, id: str, name: str) -> Mention:
    return Mention.model_validate({"key": key, "id": {"open_id": id}, "name": name})


MENTIONS = [mention("@_user_1", "ou_bot", "Bot"), mention("@_user_10", "ou_bob", "Bob")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@_user_1 ask @_user_10", "ask @Bob"),
        ("@_user_1 you are @_user_1", "you are @Bot"),
        ("@_user_1", ""),
        ("@_user_2 hi", "@_user_2 hi"),
        ("no one", "no one"),
    ],
)
def test_mentions_get_their_names_and_ours_is_left_out_once(text: str, expected: str) -> None:
    assert with_names(text, MENTIONS, "ou_bot") == expected


POST: dict[str, Any] = {
    "title": "Plan",
    "content": [
        [{"tag": "text", "text": "See "}, {"tag": "a", "text": "this", "href": "https://example.org"}],
        [{"tag": "at", "user_id": "@_user_1"}, {"tag": "img", "image_key": "img_1"}],
        [{"tag": "code_block", "language": "PY", "text": "x = 1"}],
    ],
}


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("text", {"text": "Hello"}, "Hello"),
        ("post", POST, "Plan\nSee this (https://example.org)\n@_user_1\n\n```PY\nx = 1\n```\n"),
        ("post", {"zh_cn": POST}, "Plan\nSee this (https://example.org)\n@_user_1\n\n```PY\nx = 1\n```\n"),
        ("interactive", {"title": "Card", "elements": [[{"tag": "text", "text": "Done"}]]}, "Card\nDone"),
        ("interactive", {"body": {"elements": [{"tag": "markdown", "content": "Done"}]}}, "Done"),
        ("sticker", {"file_key": "f"}, ""),
        ("text", {"text": 1}, ""),
        ("text", [], ""),
        ("post", {"content": "x"}, ""),
        ("post", {"content": [[1, None, {"tag": 2}]]}, ""),
    ],
)
def test_what_somebody_wrote_is_read_whatever_its_form(kind: str, content: Any, expected: str) -> None:
    assert message_text(kind, json.dumps(content)) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["content", "title", "tag", "text", "body"]), inner)
    ),
)


@given(st.sampled_from(["text", "post", "interactive", "file"]), JSON)
def test_content_of_any_form_is_text_or_nothing(kind: str, content: Any) -> None:
    assert isinstance(message_text(kind, json.dumps(content)), str)


def test_content_that_is_nested_without_end_says_nothing() -> None:
    assert message_text("post", "[" * 100_000) == ""
