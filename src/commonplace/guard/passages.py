"""
A file from outside, sentence by sentence: what gives an agent an order is held back, the rest of the file is not.

Somebody chose to import the folder, and a page about prompts may quote an attack. So a paragraph that has the form of an order becomes a note of
its own, which the guard puts in quarantine, and the file is kept without it, labelled as coming from outside. If the form shows only in the
file as a whole, or the file is nothing else, it stays in one piece and is judged as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Final

from commonplace.guard.quarantine import orders
from commonplace.values.note import Note
from commonplace.values.record import MAX_KEY

GAP: Final = "[withheld]"
"""What stands in a file where a passage was held back."""
_BLANK: Final = re.compile(r"(\n[ \t]*+\n\s*+)")
_LINES: Final = 40
"""Paragraphs of more lines are taken apart by their lines."""


def apart(note: Note) -> list[Note]:
    """The note without the passages that give an agent an order, and each of those as a note of its own."""
    if not orders(note.text):
        return [note]
    pieces = list(_pieces(note.text))
    places = [n for n, piece in enumerate(pieces) if orders(piece)]
    rest = "".join(_gap(piece) if n in places else piece for n, piece in enumerate(pieces))
    if not places or orders(rest) or not rest.replace(GAP, "").strip():
        return [note]
    count = {"withheld": len(places)}
    return [
        replace(note, text=rest, metadata={**note.metadata, **count}),
        *(replace(note, text=pieces[n].strip(), key=_key(note, pieces[n].strip())) for n in places),
    ]


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs and what is between them; together they are the text."""
    for part in _BLANK.split(text):
        if part.count("\n") > _LINES:
            yield from part.splitlines(keepends=True)
        elif part:
            yield part


def _gap(piece: str) -> str:
    begin, end = len(piece) - len(piece.lstrip()), len(piece.rstrip())
    return f"{piece[:begin]}{GAP}{piece[end:]}"


def _key(note: Note, text: str) -> str | None:
    """Its own, so that the same passage of the same file is not held twice, and outside the folder's: a sync leaves it alone."""
    if note.key is None:
        return None
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"withheld-{note.key}"[: MAX_KEY - len(mark) - 1] + f"~{mark}"
