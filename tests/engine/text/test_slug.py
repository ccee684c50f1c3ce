import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.slug import slug


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Deploy with `make ship`", "deploy-with-make-ship"),
        ("  --API_key / v2.3--  ", "api-key-v2-3"),
        ("", "fact"),
        ("!?", "fact"),
        ("Café Zoë", "cafe-zoe"),
        ("部署 with make", "with-make"),
        ("ＡＢＣ１２", "abc12"),
        ("😀", "fact"),
    ],
)
def test_a_slug_is_made_of_what_is_plain(text: str, made: str) -> None:
    assert slug(text) == made


def test_chinese_texts_have_names_of_their_own() -> None:
    assert slug("部署命令") != slug("发布时间")
    assert slug("部署命令") == slug("部署命令")
    assert slug("部署命令").startswith("fact-")


def test_it_ends_after_sixty_characters() -> None:
    assert slug("x" * 100) == "x" * 60


@given(st.text())
def test_any_text_makes_a_slug(text: str) -> None:
    made = slug(text)

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-?", made)
    assert len(made) <= 60


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_text_follows_the_rule_to_the_letter(text: str) -> None:
    expected = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]

    assert slug(text) == (expected or "fact")
