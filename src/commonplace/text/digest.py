"""Texts by their hash."""

from __future__ import annotations

from hashlib import sha256


def text_hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
