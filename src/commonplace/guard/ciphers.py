"""
What a text says in another writing that a model reads as well: base64, hexadecimal figures, backwards, or with the letters turned by 13.

Nobody writes an order that way to a person. So what comes out is read for what it wants, and it needs less to be one.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from codecs import decode
from collections.abc import Iterator
from itertools import islice
from typing import Final

_MANY: Final = 20
"""Pieces of a text that are looked at."""
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,4000}={0,2}")
_HEXADECIMAL: Final = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :]?){12,2000}(?![0-9A-Fa-f])")
_SPACES: Final = re.compile(r"[ :]")
_READABLE: Final = re.compile(r"[A-Za-z]{2}[ ,][A-Za-z]{2}|[\u4e00-\u9fff]{4}")
_BACKWARDS: Final = re.compile(
    r"\b(?:eht|dna|lla|uoy|ruoy|resu|dnes|siht|morf|htiw|erongi|yreve|drowssap|lliw|rof|ot)\b"
)
_TURNED: Final = re.compile(r"\b(?:gur|naq|nyy|lbh|lbhe|hfre|fraq|guvf|sebz|jvgu|vtaber|rirel|cnffjbeq|jvyy|sbe)\b")
_NAMED: Final = re.compile(
    r"倒序|逆序|倒着|反着|反过来|倒过来|\bbackwards?\b|\breversed?\b|\bin reverse\b", re.IGNORECASE
)
_FEW: Final = 2


def deciphered(text: str) -> Iterator[str]:
    """What the text says otherwise, piece by piece."""
    for match in islice(_BASE64.finditer(text), _MANY):
        yield from _readable(_from_base64(match[0]))
    for match in islice(_HEXADECIMAL.finditer(text), _MANY):
        yield from _readable(_from_hexadecimal(match[0]))
    low = text.lower()
    if _NAMED.search(text) or len(_BACKWARDS.findall(low)) > _FEW:
        yield text[::-1]
    if len(_TURNED.findall(low)) > _FEW:
        yield decode(text, "rot13")


def _from_base64(piece: str) -> bytes:
    digits = piece.rstrip("=").replace("-", "+").replace("_", "/")
    whole = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        return b64decode(whole + "=" * (-len(whole) % 4))
    except Error:
        return b""


def _from_hexadecimal(piece: str) -> bytes:
    return bytes.fromhex(_SPACES.sub("", piece))


def _readable(content: bytes) -> Iterator[str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return
    if text.replace("\n", " ").isprintable() and _READABLE.search(text):
        yield text
