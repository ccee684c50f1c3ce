import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.embedders.static import StaticEmbedder
from commonplace.text.tokens import estimate

TEXTS = [
    "We ship on Fridays, and Ann reviews every change before it goes out to the customers.",
    "我们每周五发布，部署之前请先运行全部测试。",
    "def parse_config(path: Path) -> dict[str, int]: return json.loads(path.read_text())",
    "Мы выпускаем по пятницам, и Анна проверяет каждое изменение.",
    "call 555-0199 at 12:30 on 2026-03-04, ticket 88123 😀😀",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_estimate_is_near_what_a_tokenizer_counts(text: str) -> None:
    counted = StaticEmbedder().count_tokens(text)

    assert 0.6 * counted <= estimate(text) <= 1.6 * counted


def test_nothing_has_no_tokens() -> None:
    assert estimate("") == estimate(" \n") == 0


def test_each_chinese_character_counts() -> None:
    assert estimate("我们每周五发布") == 7


@given(st.text(), st.text())
def test_more_text_never_has_fewer_tokens(a: str, b: str) -> None:
    assert max(estimate(a), estimate(b)) <= estimate(f"{a} {b}") <= len(a) + len(b)
