"""
Tidying by rules, without a model: entries that say nearly the same become one, and the index is made anew.

Nothing anybody wrote is lost: the entry that stays takes over every line of the other that it does not have. All of it is one
change, which `undo` takes back. One process at a time consolidates a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from commonplace.errors import FileChanged
from commonplace.managed.changes import Change, Outcome, outcome
from commonplace.managed.confine import LARGEST
from commonplace.managed.cues import normal
from commonplace.managed.entries import Entry, Kept, with_body, write
from commonplace.managed.roots import Root
from commonplace.managed.shelf import Shelf
from commonplace.managed.state import begin_consolidation, end_consolidation, read_meta, write_meta
from commonplace.text.similarity import NEAR, overlap, words
from commonplace.values.moment import utc


def dream(roots: Sequence[Root], *, now: datetime, session: str | None = None, by: str | None = None) -> Outcome:
    """Consolidate each root that nobody else is consolidating. `session` is the one that asked for it, `by` the task."""
    changes: list[Change] = []
    merged = 0
    busy = 0
    for root in (one for one in roots if one.kind != "channel"):
        if not begin_consolidation(root.state, now):
            busy += 1
            continue
        try:
            change, count = _merge(root, now, by)
            changes.append(change)
            merged += count
            Shelf(root).rebuild()
            meta = read_meta(root.state)
            write_meta(root.state, replace(meta, consolidated_at=utc(now), consolidated_by=session, sessions=()))
        finally:
            end_consolidation(root.state)
    told = (
        f"Merged {merged} entr{'y' if merged == 1 else 'ies'} into others." if merged else "Nothing was to be merged."
    )
    return outcome(told + (f" {busy} busy: somebody else is at it." if busy else ""), changes)


def _merge(root: Root, now: datetime, by: str | None) -> tuple[Change, int]:
    change = Change(root, "dream", now, by)
    merged = 0
    for stays, goes in groups(Shelf(root).scan().entries):
        entry = stays.entry
        for other in goes:
            entry = union(entry, other.entry)
        written = write(entry)
        if len(written.encode("utf-8")) > LARGEST:
            continue
        try:
            if entry != stays.entry:
                change.write(stays.parts, written, expected=stays.held)
            for other in goes:
                change.remove(other.parts, expected=other.held)
                merged += 1
        except FileChanged:
            # Somebody is editing one of them: it stays, and next time both are looked at again.
            continue
    return change, merged


def groups(entries: Sequence[Kept]) -> list[tuple[Kept, list[Kept]]]:
    """Entries of one type that say nearly the same: the one that says most stays, those nearly like it go into it."""
    longest = sorted(entries, key=lambda kept: (-len(kept.entry.body), kept.path))
    bags = {kept.path: words(normal(kept.entry.body or kept.entry.description)) for kept in longest}
    gone: set[str] = set()
    found: list[tuple[Kept, list[Kept]]] = []
    for place, stays in enumerate(longest):
        if stays.path in gone:
            continue
        goes = [
            other
            for other in longest[place + 1 :]
            if other.path not in gone
            and other.entry.type == stays.entry.type
            # Fields of a person's own cannot be merged by rule.
            and not other.entry.extra
            and overlap(bags[stays.path], bags[other.path]) > NEAR
        ]
        if goes:
            gone.update(other.path for other in goes)
            found.append((stays, goes))
    return found


def union(stays: Entry, goes: Entry) -> Entry:
    """`stays`, with every line of `goes` that it does not have."""
    known = {normal(line) for line in (*stays.body.split("\n"), stays.description, stays.name)}
    more = [line for line in (goes.description, *goes.body.split("\n")) if normal(line) and normal(line) not in known]
    fresh = list(dict.fromkeys(line.strip() for line in more))
    return with_body(stays, "\n".join([stays.body, "", *fresh])) if fresh else stays
