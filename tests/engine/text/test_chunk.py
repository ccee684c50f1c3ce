import random
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.text.chunk import MAX_SPANS, spans
from commonplace.text.tokens import estimate


def letters(text: str) -> int:
    """A counter under which the tokens of two pieces are the tokens of both together."""
    return sum(not character.isspace() for character in text)


def prose(sentences: int) -> str:
    chance = random.Random(7)
    words = "we ship on fridays the deploy script lives in the repo root and ann reviews every change first".split()
    said = (" ".join(chance.choices(words, k=chance.randint(4, 20))).capitalize() + "." for _ in range(sentences))
    return "".join(sentence + chance.choice([" ", " ", " ", "\n", "\n\n"]) for sentence in said)


mixed = st.text(
    alphabet=st.one_of(st.sampled_from(" \n\t.!?。！？\"')a我の한é\u0301😀\r\u2028"), st.characters()), max_size=400
)


@given(mixed, st.integers(1, 40), st.integers(0, 20))
@example("." * 300, 1, 0)
@example("a" * 400, 3, 2)
@example("\n" * 300 + "x", 4, 9)
@example(("!)" * 100) + "\ud800", 5, 2)
def test_spans_hold_every_letter_in_order_and_end_for_any_text(text: str, size: int, overlap: int) -> None:
    found = spans(text, letters, size, overlap)

    covered = {place for start, stop in found for place in range(start, stop)}
    assert all(text[place].isspace() or place in covered for place in range(len(text)))
    assert all(0 <= start < stop <= len(text) for start, stop in found)
    assert all(not text[start].isspace() and not text[stop - 1].isspace() for start, stop in found)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(found))


@given(mixed, st.integers(1, 40), st.integers(0, 20))
def test_no_span_is_larger_than_asked(text: str, size: int, overlap: int) -> None:
    found = spans(text, letters, size, overlap)

    assert all(letters(text[start:stop]) <= size for start, stop in found)


@given(mixed, st.integers(2, 40), st.integers(0, 20))
def test_two_spans_share_no_more_than_the_overlap(text: str, size: int, overlap: int) -> None:
    found = spans(text, letters, size, overlap)

    assert all(letters(text[b[0] : a[1]]) <= overlap for a, b in pairwise(found) if b[0] < a[1])


def test_prose_is_cut_at_sentence_ends_and_each_span_takes_up_what_ended_the_one_before() -> None:
    text = prose(400)

    found = spans(text)

    assert len(found) > 3
    assert all(text[stop - 1] == "." for _, stop in found)
    assert all(text[start].isupper() for start, _ in found)
    assert all(b[0] < a[1] for a, b in pairwise(found))


def test_a_paragraph_that_fits_is_not_cut() -> None:
    first, second, third = ("one two three four five. " * n for n in (15, 12, 10))
    text = f"{first.strip()}\n\n{second.strip()}\n\n{third.strip()}"

    found = spans(text, lambda part: len(part.split()), size=100, overlap=0)

    assert text[slice(*found[0])] == first.strip()
    assert found[1][0] == text.index(second.strip(), len(first))


def test_chinese_is_cut_at_its_own_marks() -> None:
    text = "我们每周五发布。部署用一条命令！记得先跑测试？" * 60

    found = spans(text, size=100, overlap=10)

    assert len(found) > 5
    assert all(text[stop - 1] in "。！？" for _, stop in found)


def test_a_sentence_without_end_is_cut_where_it_must() -> None:
    text = "x" * 10_000

    found = spans(text, letters, size=512, overlap=64)

    assert len(found) >= 10_000 // 512
    assert all(stop - start <= 512 for start, stop in found)


def test_a_short_text_is_one_span_and_is_not_counted() -> None:
    def refuse(_: str) -> int:
        raise AssertionError("counted")

    assert spans("  Deploy with make ship.\n", refuse) == [(2, 24)]


def test_a_text_of_nothing_but_space_has_no_spans() -> None:
    assert spans(" \n\t ") == []
    assert spans("") == []


@settings(max_examples=5)
@given(st.sampled_from(["0", "a b. ", "你", "x\n\n", "9. "]))
def test_the_largest_text_has_no_more_spans_than_a_record_may_have(unit: str) -> None:
    text = unit * (2 * 1024 * 1024 // len(unit.encode()))

    found = spans(text, len)

    assert 1 < len(found) <= MAX_SPANS
    assert found[0][0] == 0
    assert found[-1][1] == len(text.rstrip())


def test_each_part_of_a_long_text_is_counted_about_once() -> None:
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return estimate(part)

    text = prose(3_000)
    spans(text, count)

    assert counted < 1.5 * len(text)


def test_a_counter_that_says_nothing_does_no_harm() -> None:
    text = prose(200)

    found = spans(text, lambda _: 0)

    assert found[0][0] == 0
    assert found[-1][1] == len(text.rstrip())
