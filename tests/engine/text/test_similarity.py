import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.similarity import jaccard, near_duplicate


def test_words_are_split_at_white_space_and_punctuation_is_part_of_them() -> None:
    assert jaccard("Deploy on Friday", "deploy on friday.") == 2 / 4


def test_order_and_repetition_do_not_count() -> None:
    assert jaccard("a b a b c", "c b a") == 1


def test_two_texts_without_words_share_nothing() -> None:
    assert jaccard("", " \n") == 0


def test_a_duplicate_shares_strictly_more_than_the_limit() -> None:
    assert jaccard("a b c d e", "a b c d") == 0.8
    assert not near_duplicate("a b c d e", "a b c d")
    assert near_duplicate("a b c d e f", "a b c d e")


def test_chinese_without_spaces_is_compared_by_its_characters() -> None:
    first = "我们每周五下午三点在会议室开例会讨论发布计划"

    assert near_duplicate(first, first + "吧")
    assert not near_duplicate(first, "部署之前请先运行全部测试并通知值班同事")


def test_full_stops_of_either_width_do_not_make_chinese_texts_differ() -> None:
    assert jaccard("用 make ship 部署。", "用 make ship 部署") == 1


@pytest.mark.parametrize("text", ["用", "한글 테스트", "データベース", "English only", "混合 text 文本v2"])
def test_every_text_is_its_own_duplicate(text: str) -> None:
    assert jaccard(text, text) == 1


@given(st.text(), st.text())
def test_it_is_a_share_and_the_same_from_either_side(a: str, b: str) -> None:
    assert 0 <= jaccard(a, b) <= 1
    assert jaccard(a, b) == jaccard(b, a)


@given(st.text(alphabet=st.characters(max_codepoint=0x2DFF)), st.text(alphabet=st.characters(max_codepoint=0x2DFF)))
def test_text_with_spaces_is_compared_by_whole_words_alone(a: str, b: str) -> None:
    first, second = set(a.lower().split()), set(b.lower().split())

    assert jaccard(a, b) == (len(first & second) / len(first | second) if first | second else 0)
