from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.analyse import query_terms
from commonplace.text.rarity import UNKNOWN, chance, rarity, shares


def test_a_common_word_is_less_rare_than_a_name():
    assert rarity("the") < rarity("go") < rarity("group") < rarity("deploy") <= rarity("kubernet") == UNKNOWN


def test_chinese_words_are_known_too():
    assert rarity("的") < rarity("数据") < UNKNOWN
    assert rarity("署") < rarity("部署") <= UNKNOWN


@given(st.text(max_size=60))
def test_the_shares_of_a_question_are_one_or_there_is_no_word(text: str):
    parts = shares(query_terms(text))

    assert not parts or abs(sum(parts.values()) - 1.0) < 1e-9
    assert all(share > 0.0 for share in parts.values())


@given(st.text(min_size=1, max_size=20))
def test_a_chance_is_never_certain(term: str):
    assert 0.0 < chance(term) <= 0.5


def test_the_word_that_tells_the_most_has_the_largest_share():
    parts = shares(query_terms("when did Caroline go to the support group"))

    assert max(parts, key=parts.__getitem__) == "carolin"
