"""
A fact that gives another value of what an entry tells: which statement it replaces, and the entry with it replaced.

Nothing is lost: the old statement stays at the end of the entry, as `was: … (until 2026-03-01)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.markdown.cues import normal, same
from commonplace.markdown.entries import EntryFile, MemoryEntry, new_entry
from commonplace.markdown.facts import first_sentence, sentences, title_of
from commonplace.markdown.judge import FilingJudge
from commonplace.markdown.roots import Root

_LONGEST: Final = 400
_ASIDE: Final = re.compile(r"(?:was|why|how to apply|原为)\s*[:：]", re.IGNORECASE)
_WAS: Final = re.compile(r"(?:was|原为)\s*[:：]\s*(.+)", re.IGNORECASE)
_HAN: Final = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Replacement:
    """The statement of an entry that is over."""

    root: Root
    file: EntryFile
    statement: str


def replaced(places: Sequence[tuple[Root, EntryFile]], text: str, judge: FilingJudge) -> Replacement | None:
    """The statement that `text` replaces most surely, if it replaces any."""
    best: Replacement | None = None
    most = judge.replaces_from
    for root, file in places:
        for statement in statements_of(file.entry):
            chance = judge.replaces(statement, text)
            if chance > most or (chance == most and best is None):
                best, most = Replacement(root=root, file=file, statement=statement), chance
    return best


def statements_of(entry: MemoryEntry) -> Iterator[str]:
    """What an entry says now, a sentence at a time: neither what was so before, nor why."""
    body = [line for line in entry.body.split("\n") if line.strip() and not _ASIDE.match(line.strip())]
    texts = dict.fromkeys(part for line in body for part in _parts(line))
    yield from texts or (entry.description or entry.name,)


def _parts(line: str) -> list[str]:
    bare = line.strip().lstrip("-*# ").strip()
    return [bare[start:stop] for start, stop in sentences(bare) if stop - start <= _LONGEST]


def updated(entry: MemoryEntry, statement: str, text: str, judge: FilingJudge, now: datetime) -> MemoryEntry:
    """The entry with `text` in the place of `statement`, which is told of as past; its title and description follow."""
    lines = entry.body.split("\n")
    place = next((n for n, line in enumerate(lines) if statement in line and not _ASIDE.match(line.strip())), None)
    if place is None:
        lines = [*lines, "", text] if entry.body.strip() else [text]
    else:
        lines[place] = lines[place].replace(statement, _ended(text, statement), 1)
    while lines and not lines[-1].strip():
        lines.pop()
    gap = [] if lines and _WAS.match(lines[-1].strip()) else [""]
    body = "\n".join([*lines, *gap, _was(statement, now)])

    def tells_old(label: str) -> bool:
        bare = normal(label.rstrip("…"))
        is_old = bool(bare) and (normal(statement).startswith(bare) or normal(label) == normal(statement))
        return is_old or judge.replaces(label, text) >= judge.replaces_from

    name = title_of(text) if tells_old(entry.name) else entry.name
    described = first_sentence(text) if tells_old(entry.description) else entry.description
    return replace(new_entry(name, described, entry.type, body), extra=entry.extra)


def _ended(text: str, statement: str) -> str:
    """In the middle of a line a sentence ends as the one before it did."""
    mark = statement[-1:]
    return f"{text}{mark}" if mark in ".。!！" and text[-1:].isalnum() else text


def _was(statement: str, now: datetime) -> str:
    bare = statement.rstrip(".。 ")
    if _HAN.search(bare):
        return f"原为：{bare}（至 {now:%Y-%m-%d}）"
    return f"was: {bare} (until {now:%Y-%m-%d})"


def former(entry: MemoryEntry) -> tuple[str, ...]:
    """What the entry says was so before, oldest first."""
    return tuple(match[1].strip() for line in entry.body.split("\n") if (match := _WAS.fullmatch(line.strip())))


def carried_further(entry: MemoryEntry, text: str) -> MemoryEntry | None:
    """The entry with `text` in the place of a line that `text` begins with; None if there is none."""
    if "\n" in text:
        return None
    lines = entry.body.split("\n")
    began = normal(text) + " "
    place = next((n for n, line in enumerate(lines) if normal(line) and began.startswith(normal(line) + " ")), None)
    if place is None:
        return None
    old = lines[place]
    lines[place] = text
    described = first_sentence(text) if same(entry.description, old) else entry.description
    name = title_of(text) if same(entry.name.rstrip("…"), old) else entry.name
    return replace(new_entry(name, described, entry.type, "\n".join(lines)), extra=entry.extra)
