"""
Normal forms of Unicode, in a time that grows with the text and no faster.

`unicodedata.normalize` sorts each run of combining marks by insertion: a hundred thousand accents on one letter take it half a
minute, and nobody else is served meanwhile. Here a long text is brought into its form piece by piece. A piece ends before a
character that never joins the one before it, so that the pieces together are the form of the whole; only inside a run of
a thousand marks and more, which no script has, may an end fall between two of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

_PIECE: Final = 1_000
_CJK: Final = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
# A character of these scripts says about as much as this many letters of an alphabet.
_LETTERS: Final = 3


def normal_form(text: str, form: Form = "NFKC") -> str:
    """The text in one of the four normal forms of Unicode."""
    if text.isascii():
        return text
    if len(text) <= _PIECE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        stop = next((place for place in range(end, start, -1) if _stands_alone(text[place])), end)
        yield text[start:stop]
        start = stop
    yield text[start:]


def _stands_alone(character: str) -> bool:
    """ASCII and Han: what comes before them is complete without them."""
    return character < "\x80" or "\u4e00" <= character <= "\u9fff"


def reads_as_cjk(text: str) -> bool:
    """Whether a text is mostly Chinese, Japanese or Korean, names and commands in Latin letters aside."""
    if text.isascii() or not _CJK.search(text):
        return False
    characters = len(_CJK.findall(text))
    return _LETTERS * characters >= sum(map(str.isalpha, text)) - characters
