"""
Entries chosen and erased by rules, without a model.

What names the entry, or stands in it word for word, counts most; else an entry that shares most of its words. At most five
go at once, and nothing of them stays: neither a line in the index nor a version in the history. Until that is so, the task that
erases them can be taken back like any other; then its changes say that it was done, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.errors import CommonplaceError, InvalidContent
from commonplace.markdown import erase
from commonplace.markdown.changes import Outcome, noted
from commonplace.markdown.confine import Stamp
from commonplace.markdown.cues import RELATED, nearness, normal, without_lead
from commonplace.markdown.entries import EntryFile
from commonplace.markdown.erase import FileTarget, Quotes, Removal
from commonplace.markdown.gate import alone
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.text.english import STOP_WORDS
from commonplace.values.record import Json

MOST: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """
    What was forgotten: the entries, as far as this process knows them, the types of all of them by root, and the records that
    followed them.
    """

    entries: tuple[tuple[Root, EntryFile], ...] = ()
    types: tuple[tuple[Root, str], ...] = ()
    records: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        count = len(self.types)
        summary = (
            f"Forgot {count} entr{'y' if count == 1 else 'ies'}." if count else "Nothing fits. Nothing was changed."
        )
        return Outcome(
            summary=summary,
            files_touched=tuple(sorted(str(root.path / file.path) for root, file in self.entries)),
            touched_scopes=tuple(sorted({root.kind for root, _ in self.types})),
        )


def forget(roots: Sequence[Root], query: str, *, now: datetime) -> Outcome:
    """
    Erase the entries that `query` means, at most five. One that somebody changes in that moment stays.

    Raises:
        InvalidContent: the query says too little to choose by.
    """
    return remove(choose(roots, query), now=now).outcome


def remove(entries: Sequence[tuple[Root, EntryFile]], *, now: datetime, by: str | None = None) -> Erased:
    """Erase these entries. One that somebody changes in that moment stays."""
    with ExitStack() as gates:
        for root in roots_of(entries):
            gates.enter_context(alone(root)).begin()
        there = standing(entries)
        removals, _ = begin(there, now=now, by=by)
        end(removals, by=by)
        return erased(there)


def roots_of(entries: Sequence[tuple[Root, EntryFile]]) -> list[Root]:
    """In the order in which their gates are to be entered."""
    return sorted({root for root, _ in entries}, key=lambda root: root.path)


def standing(entries: Sequence[tuple[Root, EntryFile]]) -> list[tuple[Root, EntryFile]]:
    """The entries whose files have not changed since they were read."""
    return [(root, file) for root, file in entries if _stamp(root, file) == file.stamp]


def erased(entries: Sequence[tuple[Root, EntryFile]], records: Sequence[str] = ()) -> Erased:
    types = tuple((root, file.entry.type) for root, file in entries)
    return Erased(entries=tuple(entries), types=types, records=tuple(records))


def begin(
    entries: Sequence[tuple[Root, EntryFile]], *, now: datetime, by: str | None = None, records: Sequence[str] = ()
) -> tuple[list[Removal], list[Quotes]]:
    """
    Take the entries away, all or none. The gates of their roots are the caller's. Until `end`, `erase.restore_all` brings them back, and so
    does whoever takes the task `by` back.
    """
    removals: list[Removal] = []
    try:
        for root in roots_of(entries):
            own = [file for other, file in entries if other == root]
            about: dict[str, Json] = {"types": [file.entry.type for file in own], "records": list(records)}
            targets = [FileTarget(path=file.path, sha256=frozenset((file.stamp.sha256,))) for file in own]
            removals.append(erase.take(root, targets, now, what="forget", by=by, about=about))
        return removals, [erase.thin(removal) for removal in removals]
    except BaseException:
        erase.restore_all(removals)
        raise


def end(removals: Sequence[Removal], *, by: str | None = None) -> None:
    """The point of no return. A task leaves a mark, so that a second attempt at it knows."""
    for removal in removals:
        erase.end(removal.root, removal.changes, mark=by is not None)


def resumed(roots: Sequence[Root], by: str) -> Erased | None:
    """
    What the task `by` erased before it died; None where it came to no point of no return, and is to be taken back. What it had
    taken from another root goes the same way.
    """
    own = [(root, change, steps) for root in roots for change, steps in noted(root) if change.by == by]
    forgotten = [(root, change, steps) for root, change, steps in own if change.what == "forget"]
    if not any(not steps for _, _, steps in forgotten):
        return None
    types: list[tuple[Root, str]] = []
    records: dict[str, None] = {}
    for root, change, steps in forgotten:
        types += [(root, name) for name in _strings(change.about.get("types"))]
        records |= dict.fromkeys(_strings(change.about.get("records")))
        if steps:
            with alone(root) as epochs:
                epochs.begin()
                paths = frozenset(step.path for step in steps)
                texts = tuple(step.before for step in steps if step.before)
                removal = Removal(root=root, files=(), index=None, changes=(change.id,), paths=paths, texts=texts)
                erase.thin(removal)
                erase.end(root, removal.changes, mark=True)
    return Erased(types=tuple(types), records=tuple(records))


def _stamp(root: Root, file: EntryFile) -> Stamp | None:
    try:
        return root.folder.read(file.parts).stamp
    except CommonplaceError:
        return None


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def choose(roots: Sequence[Root], query: str) -> list[tuple[Root, EntryFile]]:
    """What `forget` would remove, the best fit first."""
    phrase = normal(without_lead(query))
    content = [word for word in phrase.split() if word not in STOP_WORDS]
    if not content or len("".join(content)) < (2 if any(not word.isascii() for word in content) else 3):
        raise InvalidContent("Say more of what to forget: a name, or words that stand in it.")
    shelves = [root for root in roots if root.kind != "channel"]
    candidates = [(root, file) for root in shelves for file in Shelf(root).scan().entries]
    scored = [(_fit(file, phrase, content), place) for place, (_, file) in enumerate(candidates)]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    # Where some stand out by the words themselves, what is merely alike is not meant.
    sure = [pair for pair in best if pair[0] >= 1]
    return [candidates[place] for _, place in (sure or best)[:MOST]]


def _fit(file: EntryFile, phrase: str, content: Sequence[str]) -> float:
    entry = file.entry
    if phrase in (normal(entry.name), normal(file.path.rpartition("/")[2].removesuffix(".md"))):
        return 3.0
    text = normal(f"{entry.name}\n{entry.description}\n{entry.body}")
    if _occurs(phrase, text):
        return 1.0 + min(1.0, len(phrase) / max(1, len(text)))
    if (near := nearness(entry, phrase)) >= RELATED:
        return near
    return RELATED / 2 if len(content) > 1 and all(_occurs(word, text) for word in content) else 0.0


def _occurs(words: str, text: str) -> bool:
    """Whether `words` occur in `text`, as whole words if the script separates words."""
    before = r"(?<!\w)" if words[0].isascii() else ""
    after = r"(?!\w)" if words[-1].isascii() else ""
    return re.search(before + re.escape(words) + after, text) is not None
