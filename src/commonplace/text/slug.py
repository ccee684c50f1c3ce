"""A short name made of a text, for keys and file names."""

from __future__ import annotations

import re
from hashlib import sha256

from commonplace.text.unicode import normal_form

MAX_SLUG = 60
_OTHERS = re.compile(r"[^a-z0-9]+")


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
