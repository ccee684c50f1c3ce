"""
Consolidation: entries that say nearly the same become one, and the index is rebuilt.

The rules lose nothing that anybody wrote: the entry that stays takes over every line of the other that it does not have. `lost`
holds a model to the same. All of it is one change, which `undo` reverts. One process at a time consolidates a root.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from commonplace.errors import FileChanged
from commonplace.markdown.changes import ChangeSet, Outcome, outcome
from commonplace.markdown.confine import LARGEST
from commonplace.markdown.cues import normal
from commonplace.markdown.entries import EntryFile, MemoryEntry, with_body, write
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.markdown.state import begin_consolidation, consolidated, end_consolidation
from commonplace.text.english import STOP_WORDS
from commonplace.text.similarity import NEAR, overlap, words

TAKEN_UP: Final = 0.8
"""How much of a line must stand in one entry, by the words that say something, for the line not to be lost."""
_NEGATIONS: Final = frozenset("cannot neither never no nobody none nor not nothing nowhere t without".split())
_NEGATING: Final = frozenset("不没沒无無别別勿未非")


def dream(roots: Sequence[Root], *, now: datetime, session: str | None = None, by: str | None = None) -> Outcome:
    """Consolidate each root that nobody else is consolidating. `session` is the one that asked for it, `by` the task."""
    changes: list[ChangeSet] = []
    merged = 0
    busy = 0
    for root in (root for root in roots if root.kind != "channel"):
        with consolidating(root, now) as mine:
            if not mine:
                busy += 1
                continue
            change, count = merge(root, now, by)
            changes.append(change)
            merged += count
            Shelf(root).rebuild()
            consolidated(root.state, now, session)
    return outcome(summary_of(merged, busy), changes)


@contextmanager
def consolidating(root: Root, now: datetime) -> Generator[bool]:
    """Whether this process has the consolidation of a root to itself; if so, until the block ends."""
    mine = begin_consolidation(root.state, now)
    try:
        yield mine
    finally:
        if mine:
            end_consolidation(root.state)


def summary_of(merged: int, busy: int) -> str:
    summary = (
        f"Merged {merged} entr{'y' if merged == 1 else 'ies'} into others." if merged else "Nothing was to be merged."
    )
    return summary + (f" {busy} busy: somebody else is at it." if busy else "")


def merge(root: Root, now: datetime, by: str | None) -> tuple[ChangeSet, int]:
    """Merge entries that say nearly the same. Returns the change, and how many entries went into others."""
    change = ChangeSet(root, "dream", now, by)
    merged = 0
    for stays, goes in groups(Shelf(root).scan().entries):
        entry = stays.entry
        for other in goes:
            entry = union(entry, other.entry)
        text = write(entry)
        if len(text.encode("utf-8")) > LARGEST:
            continue
        try:
            if entry != stays.entry:
                change.write(stays.parts, text, expected=stays.snapshot)
            for other in goes:
                change.remove(other.parts, expected=other.snapshot)
                merged += 1
        except FileChanged:
            # Somebody is editing one of them: it stays, and next time both are looked at again.
            continue
    return change, merged


def groups(entries: Sequence[EntryFile]) -> list[tuple[EntryFile, list[EntryFile]]]:
    """Entries of one type that say nearly the same: the one that says most stays, those nearly like it go into it."""
    longest = sorted(entries, key=lambda file: (-len(file.entry.body), file.path))
    bags = {file.path: words(normal(file.entry.body or file.entry.description)) for file in longest}
    gone: set[str] = set()
    merges: list[tuple[EntryFile, list[EntryFile]]] = []
    for place, stays in enumerate(longest):
        if stays.path in gone:
            continue
        goes = [
            other
            for other in longest[place + 1 :]
            if other.path not in gone
            and other.entry.type == stays.entry.type
            # Fields of a person's own cannot be merged by rule, and what a model said does not get into what a person said.
            and not other.entry.own_fields
            and other.entry.trust == stays.entry.trust
            and overlap(bags[stays.path], bags[other.path]) > NEAR
        ]
        if goes:
            gone.update(other.path for other in goes)
            merges.append((stays, goes))
    return merges


def union(stays: MemoryEntry, goes: MemoryEntry) -> MemoryEntry:
    """`stays`, with every line of `goes` that it does not have."""
    lines = {normal(line) for line in (*stays.body.split("\n"), stays.description, stays.name)}
    more = [line for line in (goes.description, *goes.body.split("\n")) if normal(line) and normal(line) not in lines]
    fresh = list(dict.fromkeys(line.strip() for line in more))
    return with_body(stays, "\n".join([stays.body, "", *fresh])) if fresh else stays


def lost(before: Sequence[EntryFile], after: Sequence[EntryFile], touched: Collection[str]) -> list[str]:
    """The lines of the entries at the paths `touched` that no entry says any more, neither there nor elsewhere."""
    bags = [
        _content_words("\n".join((entry.name, entry.description, *entry.extra, entry.body)))
        for entry in (file.entry for file in after)
    ]
    lines = [
        line
        for file in before
        if file.path in touched
        for line in (*file.entry.extra, file.entry.description, *file.entry.body.split("\n"))
    ]
    return [
        line
        for line in dict.fromkeys(lines)
        if (line_words := _content_words(line)) and not _is_stated(line_words, bags)
    ]


def _content_words(text: str) -> frozenset[str]:
    return words(normal(text)) - STOP_WORDS


def _is_stated(line_words: frozenset[str], bags: Sequence[frozenset[str]]) -> bool:
    firm = frozenset(word for word in line_words if _is_firm(word))
    return any(firm <= bag and len(line_words & bag) >= TAKEN_UP * len(line_words) for bag in bags)


def _is_firm(word: str) -> bool:
    """Whether leaving the word out would turn the line into its contrary, or into another day."""
    return word in _NEGATIONS or not _NEGATING.isdisjoint(word) or any(letter.isdigit() for letter in word)
