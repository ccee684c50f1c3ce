"""A short name made of a text, for keys and file names."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256

from commonplace.text.unicode import normal_form

MAX_SLUG = 60
_OTHERS = re.compile(r"[^a-z0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DIGEST = re.compile(
    r"(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,128}(?![0-9a-z])", re.IGNORECASE
)  # fmt: skip
_HYPHENS = re.compile(r"-{2,}")


def slug(text: str, empty: str = "fact") -> str:
    """
    Lower-case letters a to z, digits and single hyphens, at most 60 characters.

    Accents are dropped (`Café` becomes `cafe`). Where a text has letters but none of them is Latin, the result is
    `empty` and eight digits of the text's hash, so that two Chinese facts do not share one name.
    """
    lowered = text.lower()
    name = _hyphenated(lowered)
    if lowered.isascii():
        return name or empty
    name = _hyphenated(normal_form(lowered, "NFKD").encode("ascii", "ignore").decode("ascii")) or name
    if name:
        return name
    if not any(character.isalnum() for character in lowered):
        return empty
    return f"{empty}-{sha256(lowered.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _hyphenated(text: str) -> str:
    return _OTHERS.sub("-", text).strip("-")[:MAX_SLUG]


def without_digests(text: str) -> str:
    """A text without the ids and hashes in it, which nobody can read."""
    return _DIGEST.sub("", _UUID.sub("", text))


def readable_name(text: str) -> str:
    """
    A name for a folder or a file, of at most 60 characters: letters and digits of any script, dots, underscores and single
    hyphens, no id and no hash. Empty if nothing of the text can be read.
    """
    signs = (
        sign if sign.isalnum() or sign in "._" or unicodedata.category(sign)[0] == "M" else "-"
        for sign in normal_form(without_digests(text), "NFC")
    )
    name = _HYPHENS.sub("-", "".join(signs)).strip("-._")
    if len(name) <= MAX_SLUG:
        return name
    # At the end of a word, if there is one.
    cut = name[: MAX_SLUG + 1].rpartition("-")[0] or name[:MAX_SLUG]
    return cut[:MAX_SLUG].strip("-._")
