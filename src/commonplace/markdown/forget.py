"""
Entries chosen and removed by rules, without a model.

What names the entry, or stands in it word for word, counts most; else an entry that shares most of its words. At most five
go at once, and all of them come back with one `undo`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from commonplace.errors import FileChanged, InvalidContent
from commonplace.markdown.changes import Change, Outcome, outcome
from commonplace.markdown.cues import RELATED, nearness, normal, without_lead
from commonplace.markdown.entries import Kept
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.text.english import STOP_WORDS

MOST: Final = 5


def forget(roots: Sequence[Root], query: str, *, now: datetime) -> Outcome:
    """
    Remove the entries that `query` means, at most five. One that somebody changes in that moment stays.

    Raises:
        InvalidContent: the query says too little to choose by.
    """
    return remove(choose(roots, query), now=now)


def remove(chosen: Sequence[tuple[Root, Kept]], *, now: datetime, by: str | None = None) -> Outcome:
    """Remove these entries as one change. One that somebody changes in that moment stays."""
    changes = {root.path: Change(root, "forget", now, by) for root, _ in chosen}
    gone: list[str] = []
    for root, kept in chosen:
        try:
            changes[root.path].remove(kept.parts, expected=kept.held)
        except FileChanged:
            continue
        gone.append(kept.entry.name)
    summary = f"Forgot {', '.join(f'“{name}”' for name in gone)}." if gone else "Nothing fits. Nothing was changed."
    return outcome(summary, list(changes.values()))


def choose(roots: Sequence[Root], query: str) -> list[tuple[Root, Kept]]:
    """What `forget` would remove, the best fit first."""
    wanted = normal(without_lead(query))
    content = [word for word in wanted.split() if word not in STOP_WORDS]
    if not content or len("".join(content)) < (2 if any(not word.isascii() for word in content) else 3):
        raise InvalidContent("Say more of what to forget: a name, or words that stand in it.")
    shelves = [root for root in roots if root.kind != "channel"]
    found = [(root, kept) for root in shelves for kept in Shelf(root).scan().entries]
    scored = [(_fit(kept, wanted, content), place) for place, (_, kept) in enumerate(found)]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    # Where some stand out by the words themselves, what is merely alike is not meant.
    sure = [pair for pair in best if pair[0] >= 1]
    return [found[place] for _, place in (sure or best)[:MOST]]


def _fit(kept: Kept, wanted: str, content: Sequence[str]) -> float:
    entry = kept.entry
    if wanted in (normal(entry.name), normal(kept.path.rpartition("/")[2].removesuffix(".md"))):
        return 3.0
    told = normal(f"{entry.name}\n{entry.description}\n{entry.body}")
    if _occurs(wanted, told):
        return 1.0 + min(1.0, len(wanted) / max(1, len(told)))
    if (near := nearness(entry, wanted)) >= RELATED:
        return near
    return RELATED / 2 if len(content) > 1 and all(_occurs(word, told) for word in content) else 0.0


def _occurs(words: str, told: str) -> bool:
    """As words of their own, where words are written apart."""
    before = r"(?<!\w)" if words[0].isascii() else ""
    after = r"(?!\w)" if words[-1].isascii() else ""
    return re.search(before + re.escape(words) + after, told) is not None
