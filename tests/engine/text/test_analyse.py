import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.analyse import LONGEST_TERM, date_terms, query_terms, terms

TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="aB1_-./@'’+# 我的猫東京タワ서울é年"),
    st.lists(st.sampled_from(["the", "cat", "bought", "parseConfig", "ERR-1042", "我的猫", "\n", "v2.3.1", "…"])).map(
        " ".join
    ),
)


@given(TEXTS)
def test_a_term_holds_no_white_space_quote_or_control_character(text: str):
    for term in [*terms(text), *query_terms(text)]:
        assert term
        assert not any(character.isspace() or character in "'\"`" for character in term)
        assert not any(unicodedata.category(character) == "Cc" for character in term)


@given(TEXTS)
def test_what_a_query_asks_for_is_what_the_same_text_is_indexed_by(text: str):
    asked = query_terms(text)

    assert set(asked) == set(terms(text))
    assert all(0.0 < weight <= 1.0 for weight in asked.values())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_ascii_is_read_as_it_is_beside_other_scripts(text: str):
    alone = terms(f"{text} word")

    assert terms(f"{text} word é")[: len(alone)] == alone


@given(TEXTS, st.sampled_from("abcXYZ7猫カ글"))
def test_a_text_with_a_word_has_terms(text: str, word: str):
    assert query_terms(f"{text} {word}")


@given(TEXTS)
def test_the_same_text_in_another_unicode_form_has_the_same_terms(text: str):
    composed = unicodedata.normalize("NFC", text)

    assert terms(unicodedata.normalize("NFD", composed)) == terms(composed)


@given(st.lists(st.sampled_from(["Shelter", "Animal", "Dogs", "naïve", "Größe"]), min_size=1))
def test_case_does_not_matter_to_a_plain_word(words: list[str]):
    text = " ".join(words)

    assert terms(text.upper()) == terms(text.lower()) == terms(text)


@given(st.text(alphabet="aB0_.-", max_size=500))
def test_no_term_of_a_word_or_identifier_is_longer_than_the_longest(text: str):
    assert all(len(term) <= 2 * LONGEST_TERM + 1 for term in terms(text))


def test_words_lose_their_endings_and_function_words_go():
    assert terms("The dogs were running") == ["dog", "run", "dog_run"]


def test_irregular_forms_and_spelled_numbers_have_one_form():
    assert terms("She bought three") == terms("buy 3")


def test_two_words_side_by_side_form_a_pair_across_function_words():
    assert "anim_shelter" in terms("an animal in the shelter")
    assert "shelter_anim" not in terms("an animal in the shelter")


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("parseConfig", "parseconfig", {"pars", "config"}),
        ("max_retry_count", "max_retry_count", {"max", "retri", "count"}),
        ("ERR-1042", "err-1042", {"err", "1042"}),
        ("v2.3.1", "v2.3.1", set[str]()),
        ("src/app/main.py", "src/app/main.py", {"src", "app", "main", "py"}),
        ("jo.smith@example.com", "jo.smith@example.com", {"jo", "smith", "exampl", "com"}),
        ("HTTPServer", "httpserver", {"http", "server"}),
        ("sha256", "sha256", {"sha", "256"}),
        ("O'Neil", "oneil", {"neil"}),
        ("C++", "c++", set[str]()),
        ("1,200", "1200", set[str]()),
        ("3.14", "3.14", set[str]()),
    ],
)
def test_an_identifier_is_kept_whole_and_in_its_parts(text: str, whole: str, parts: set[str]):
    found = set(terms(text))

    assert whole in found
    assert {term for term in found if "_" not in term} - {whole} == parts


def test_an_identifier_is_found_by_its_parts_and_by_itself():
    indexed = set(terms("set max_retry_count in parseConfig, see ERR-1042"))

    assert {"max", "retri", "count"} <= set(query_terms("max retry count")) & indexed
    assert "err-1042" in set(query_terms("what is err-1042?")) & indexed
    assert "parseconfig" in set(query_terms("PARSECONFIG")) & indexed


def test_chinese_japanese_and_korean_become_characters_and_bigrams():
    assert terms("我的猫") == ["我", "的", "猫", "我的", "的猫"]
    assert {"東京", "京タ", "ワー"} <= set(terms("東京タワー"))
    assert {"서울", "울에"} <= set(terms("서울에"))


def test_one_character_asked_alone_counts_in_full_and_finds_longer_runs():
    assert query_terms("猫?") == {"猫": 1.0}
    assert "猫" in terms("我的猫叫咪咪")


def test_grammar_counts_less_than_content():
    asked = query_terms("我的猫叫什么名字")

    assert asked["名字"] > asked["的猫"] > asked["什么"]
    assert asked["猫"] > asked["的"]


def test_mixed_text_is_cut_where_the_script_changes():
    assert {"redi", "缓存", "timeout", "30"} <= set(terms("Redis缓存的timeout是30秒"))


def test_full_width_forms_are_read_as_plain_ones():
    assert terms("ＡＰＩ　ｋｅｙ") == terms("API key")


def test_a_text_of_function_words_alone_is_indexed_and_asked_by_them():
    assert terms("Who are you?") == ["who", "are", "you"]
    assert query_terms("who are you") == {"who": 1.0, "are": 1.0, "you": 1.0}


@pytest.mark.parametrize("text", ["", "  \n\t", "…?!", "🙂", "'"])
def test_a_text_without_words_has_no_terms(text: str):
    assert terms(text) == []
    assert query_terms(text) == {}


@pytest.mark.parametrize(
    "question", ["what happened in July 2023?", "on July 3, 2023", "3 July", "2023年7月3日发生了什么"]
)
def test_a_day_is_found_by_the_ways_people_name_it(question: str):
    indexed = set(date_terms(date(2023, 7, 3)))

    assert len(indexed & set(query_terms(question))) >= 2
