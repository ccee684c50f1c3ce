"""Drafts for tests of stores: records with passages, analysed and embedded in the simplest way that is the same always."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from commonplace.ports.clock import Clock
from commonplace.ports.store import Store
from commonplace.text.postings import pack
from commonplace.values.moment import new_id
from commonplace.values.record import Draft, Passage, Record
from commonplace.values.scope import Scope

__all__ = ["DIMENSION", "EMBEDDER", "Drafting", "Store", "passages_of", "vector_of"]

EMBEDDER = "test-8"
DIMENSION = 8


def vector_of(text: str) -> bytes:
    """Eight signed bytes, none of them -128: vectors are symmetric."""
    return bytes(byte if byte != 0x80 else 0x81 for byte in sha256(text.encode()).digest()[:DIMENSION])


def passages_of(text: str, *, embedder: str | None = EMBEDDER) -> tuple[Passage, ...]:
    """A passage a paragraph; its terms are its words in small letters."""
    made: list[Passage] = []
    for match in re.finditer(r"\S(?:(?!\n\n).)*", text, re.DOTALL):
        terms = match[0].lower().split()
        vectors = {embedder: vector_of(match[0])} if embedder else {}
        made.append(Passage(match.start(), match.end(), len(terms), pack(terms), vectors))
    return tuple(made)


class Drafting:
    """Writes drafts by one clock. Whatever a `Record` has can be given by name; scopes may be written out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def record(self, text: str, *, scope: str | Scope = "workspace:web", **fields: Any) -> Record:
        now = self._clock.now()
        told: dict[str, Any] = {"id": new_id(now), "created_at": now, "updated_at": now, **fields}
        return Record(text=text, scope=Scope.parse(scope), **told)

    def __call__(
        self,
        text: str,
        *,
        once: bytes | None = None,
        expected: int | None = None,
        embedder: str | None = EMBEDDER,
        **fields: Any,
    ) -> Draft:
        record = self.record(text, **fields)
        return Draft(record=record, passages=passages_of(text, embedder=embedder), once=once, expected=expected)
