"""A text told shorter: in its own sentences, never longer than asked, and always the same."""

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.extractive import summary
from commonplace.text.tokens import estimate

REPORT = """The deploy of the shop failed on Friday.
It rained in Berlin.
The deploy failed because the migration of the orders table took too long.
Lunch was good.
We now run the migration of the orders table before the deploy of the shop.
Somebody lost an umbrella.
"""


@given(text=st.text(max_size=400), most=st.integers(0, 60))
def test_a_summary_is_never_longer_than_asked(text: str, most: int) -> None:
    assert estimate(summary(text, most)) <= most


@given(words=st.lists(st.sampled_from(["the deploy. ", "orders!\n", "部署流程。", "a migration ", "x"]), max_size=60))
def test_a_summary_is_made_of_the_texts_own_words_in_their_order(words: list[str]) -> None:
    text = "".join(words)

    told = summary(text, 20).removesuffix("…")

    rest = iter(text)
    assert all(character in rest for character in told if not character.isspace())


def test_a_text_that_fits_is_told_whole() -> None:
    assert summary("  Just this. And that.\n", 100) == "Just this. And that."


def test_the_first_and_the_most_central_sentences_are_told() -> None:
    told = summary(REPORT, 45)

    assert told.splitlines() == [REPORT.splitlines()[n] for n in (0, 2, 4)]


def test_a_sentence_said_twice_is_told_once() -> None:
    text = "We ship on Fridays. " + "Ana owns the deploy of the shop. " * 50

    told = summary(text, 40)

    assert told.count("Ana owns") == 1


def test_one_endless_sentence_is_cut() -> None:
    told = summary("word " * 10_000, 100)

    assert told.endswith("…")
    assert 80 <= estimate(told) <= 100


def test_a_text_of_the_greatest_size_is_read_once() -> None:
    text = "".join(f"Line {n} tells of the deploy number {n % 97}.\n" for n in range(40_000))

    told = summary(text, 2_000)

    assert told.startswith("Line 0 ")
    assert 1_900 <= estimate(told) <= 2_000
