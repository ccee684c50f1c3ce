"""What of a message may be kept, and the title that a first message gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput, TextTooLarge
from commonplace.history.message_text import MAX_MESSAGE, TITLE, check_draft, check_title, storable, title_of
from commonplace.values.session import MessageDraft

ANYTHING = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANYTHING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANYTHING, inner, max_size=3),
)


def draft(**fields: Any) -> MessageDraft:
    values: dict[str, Any] = {"id": "1", "role": "user", "kind": "text", **fields}
    return MessageDraft(**values)


@given(text=ANYTHING)
def test_whatever_a_tool_printed_can_be_kept_and_a_good_text_stays_as_it_is(text: str) -> None:
    kept = storable(text)

    assert "\0" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert storable(kept) == kept


@given(data=st.dictionaries(ANYTHING, JSON, max_size=3))
def test_whatever_is_json_can_be_kept(data: dict[str, Any]) -> None:
    kept = check_draft(draft(data=data)).data

    json.dumps(kept, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "fields",
    [{"id": ""}, {"id": "x" * 256}, {"id": "a\nb"}, {"role": "god"}, {"kind": "x"}, {"data": {"a": float("nan")}}],
)
def test_what_is_no_message_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        check_draft(draft(**fields))


def test_data_that_nests_without_end_or_is_no_json_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless

    for data in (endless, {"a": object()}):
        with pytest.raises(InvalidInput):
            check_draft(draft(data=data))


def test_a_message_that_is_too_large_is_refused() -> None:
    for fields in ({"text": "x" * (MAX_MESSAGE + 1)}, {"data": {"a": "x" * MAX_MESSAGE}}):
        with pytest.raises(TextTooLarge):
            check_draft(draft(**fields))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Why is the parser slow?", "Why is the parser slow?"),
        ("\n\n  ## Fix   the\tbuild\nmore", "Fix the build"),
        ("", None),
        ("\n \u200b\n---\n", None),
        ("测试" * 40, "测试" * 30 + "…"),
        (
            "Please look at the parser, which has been slow since we moved to the new machine",
            "Please look at the parser, which has been slow since we…",
        ),
    ],
)
def test_the_first_line_that_says_something_is_the_title(text: str, title: str | None) -> None:
    assert title_of(text) == title


@given(text=ANYTHING)
def test_a_title_is_one_short_line_that_may_be_given_by_hand_too(text: str) -> None:
    title = title_of(storable(text))

    if title is not None:
        assert len(title) <= TITLE + 1
        assert check_title(title) == title


@pytest.mark.parametrize("title", ["", "  ", "x" * 201, "a\x00b"])
def test_a_title_that_is_none_is_refused(title: str) -> None:
    with pytest.raises(InvalidInput):
        check_title(title)
