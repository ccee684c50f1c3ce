"""Texts by their hash."""

from __future__ import annotations

from hashlib import sha256

from commonplace.values.record import MAX_KEY


def text_hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def fitting_key(space: str, path: str) -> str:
    """A record's key for a path: the two together; what is too long or unprintable is shortened, and told apart by its hash."""
    key = f"{space}{path}"
    if len(key) <= MAX_KEY and key.isprintable():
        return key
    mark = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    printable = "".join(character if character.isprintable() else "�" for character in key)
    return f"{printable[: MAX_KEY - len(mark) - 1]}~{mark}"
