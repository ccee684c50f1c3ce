"""The part of a text that a hit shows."""

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.analyse import query_terms, terms
from commonplace.text.snippet import snippet

TEXTS = st.text(st.sampled_from("ab 测试。\n"), max_size=400)


def test_a_short_text_is_shown_whole() -> None:
    assert snippet(" The parser is slow.\n", ["slow"]) == "The parser is slow."


def test_the_part_with_most_of_the_words_is_shown_and_marked_where_it_was_cut() -> None:
    text = "Soup. " * 100 + "The parser is slow on Fridays. " + "Bread. " * 100

    shown = snippet(text, list(query_terms("slow parser")), 60)

    assert "parser is slow" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


@given(text=TEXTS, asked=TEXTS, width=st.integers(1, 80))
def test_a_snippet_is_a_part_of_the_text_and_no_longer_than_asked_for(text: str, asked: str, width: int) -> None:
    shown = snippet(text, terms(asked), width)

    assert shown.strip("…") in text
    assert len(shown.strip("…")) <= width
