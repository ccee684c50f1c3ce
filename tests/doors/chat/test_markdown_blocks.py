"""Markdown in pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.markdown_blocks import MarkdownBlocks

LINES = st.sampled_from(
    ["", " ", "text", "- item", "  more", "```", "```py", "````", "~~~", "a ``` b", "# head", "\ttab"]
)
TEXTS = st.one_of(st.lists(LINES).map("\n".join), st.text(alphabet="a \n`~-", max_size=60))


def parted(text: str) -> list[str]:
    blocks = MarkdownBlocks()
    return [*blocks.add(text), blocks.rest]


@given(text=TEXTS, cuts=st.lists(st.integers(0, 200)))
def test_the_blocks_are_the_text_however_it_is_cut(text: str, cuts: list[int]) -> None:
    blocks = MarkdownBlocks()
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]

    whole = [block for start, stop in pairwise(places) for block in blocks.add(text[start:stop])]

    assert "".join(whole) + blocks.rest == text
    assert [*whole, blocks.rest] == parted(text)


def test_a_block_ends_where_the_next_begins_behind_a_blank_line() -> None:
    assert parted("one\ntwo\n\nthree") == ["one\ntwo\n\n", "three"]


def test_a_fence_is_one_block_with_its_blank_lines() -> None:
    assert parted("```\na\n\nb\n```\n\nend") == ["```\na\n\nb\n```\n\n", "end"]


def test_a_longer_fence_is_closed_by_none_that_is_shorter() -> None:
    assert parted("````\n```\n\nx\n````\n\nend") == ["````\n```\n\nx\n````\n\n", "end"]


def test_what_is_indented_belongs_to_the_list_above() -> None:
    assert parted("- one\n\n  more\n\nend") == ["- one\n\n  more\n\n", "end"]


def test_a_text_that_is_ended_leaves_nothing_behind() -> None:
    blocks = MarkdownBlocks()
    blocks.add("```\nhalf")

    assert not blocks.is_empty
    assert blocks.end() == "```\nhalf"
    assert blocks.is_empty

    assert blocks.add("a\n\nb") == ["a\n\n"]
