"""
A fact filed by rules, without a model.

Cue words decide its type, and the type decides its folder. If an entry says exactly this already, nothing changes. If one is
about the same, the fact joins it: in place of a line that it continues, else as a dated line of its own, so that nothing
anybody wrote is lost. Otherwise it becomes a new entry. In a chat room it is one more line of the room's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from commonplace.errors import FileChanged, InvalidContent, ManagedMemoryUnavailable, PathNotFound
from commonplace.markdown.changes import MAX_SUMMARY, ChangeSet, Outcome, outcome
from commonplace.markdown.confine import LARGEST, FileSnapshot
from commonplace.markdown.cues import (
    RELATED,
    claims,
    first_sentence,
    kind_of,
    nearness,
    normal,
    same,
    says,
    text_and_type,
)
from commonplace.markdown.entries import EntryFile, EntryType, MemoryEntry, new_entry, with_trust, write
from commonplace.markdown.files import Refuse, check_content
from commonplace.markdown.memory_file import MOST_EXISTING
from commonplace.markdown.names import fold
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf, shelf_for
from commonplace.text.scrub import scrub
from commonplace.text.slug import slug
from commonplace.values.record import Trust

MOST_TITLE: Final = 60
ATTEMPTS: Final = 10
_SECRET: Final = "It holds a private key or a cloud secret. Remember where the secret lives, not the secret itself."


def remember(
    roots: Sequence[Root],
    content: str,
    *,
    now: datetime,
    clean: bool = False,
    refuse: Refuse | None = None,
    by: str | None = None,
    trust: Trust | None = None,
) -> Outcome:
    """
    File `content` in one of `roots`. With `clean` no existing entry is read. `refuse` says why a text must not be kept,
    `by` is the task that asked for it. `trust` is the label of whoever handed it over, if that is not a person: such a text
    joins no entry that is trusted more.

    Raises:
        InvalidContent: there is nothing to remember.
        ManagedMemoryUnavailable: there is no root to file it in.
        FileChanged: others changed the same entry again and again.
    """
    check_content(content)
    if not content.strip():
        raise InvalidContent("Give something to remember.")
    reason = refuse(content) if refuse else None
    scrubbed = scrub(content)
    if scrubbed.report.status == "blocked":
        reason = _SECRET
    if reason:
        return Outcome(summary=f"Nothing was kept. {reason}"[:500], refused=reason)
    text, explicit_kind = text_and_type(scrubbed.text)
    kind = explicit_kind or kind_of(text)
    root = shelf_for(roots, kind)
    if root is None:
        raise ManagedMemoryUnavailable
    if root.kind == "channel":
        return _lined(root, text)
    for _ in range(ATTEMPTS):
        # Somebody else wrote the same entry in the same moment: look again at what is there now.
        with suppress(FileChanged):
            near = None if clean else _nearest(roots, text, trust)
            return _joined(*near, text, now, by) if near else _filed(root, kind, text, now, by, trust)
    raise FileChanged


def _nearest(roots: Sequence[Root], text: str, trust: Trust | None) -> tuple[Root, EntryFile] | None:
    """What says exactly this, trusted as much or more; else what is about the same and trusted as much."""
    shelves = [root for root in roots if root.kind != "channel"]
    entries = [(root, file) for root in shelves for file in Shelf(root).scan().entries]
    candidates = [(root, file) for root, file in entries if file.entry.trust == trust]
    above = [(root, file) for root, file in entries if file.entry.trust is None]
    exact = next(((root, file) for root, file in (*candidates, *above) if says(file.entry, text)), None)
    if exact or not candidates:
        return exact
    scored = [(nearness(file.entry, text), place) for place, (_, file) in enumerate(candidates)]
    score, place = max(scored, key=lambda pair: (pair[0], -pair[1]))
    return candidates[place] if score >= RELATED else None


def _lined(root: Root, text: str) -> Outcome:
    """A line more in the file of a room. Raises MemoryFileTooLarge."""
    line = " ".join(text.split())
    changed = False

    def compose(snapshot: FileSnapshot | None) -> bytes | None:
        nonlocal changed
        before = snapshot.data.decode("utf-8", "surrogateescape") if snapshot else ""
        if any(same(line, other.strip().lstrip("-*•")) for other in before.split("\n")):
            return None
        changed = True
        joint = "" if not before or before.endswith("\n") else "\n"
        return f"{before}{joint}- {line}\n".encode("utf-8", "surrogateescape")

    root.folder.change((INDEX,), compose, MOST_EXISTING)
    if not changed:
        return Outcome(summary="Known already. Nothing was changed.")
    summary = f"Saved to channel memory: {first_sentence(text)}"[:MAX_SUMMARY]
    return Outcome(summary=summary, files_touched=(str(root.path / INDEX),), touched_scopes=("channel",))


def _joined(root: Root, file: EntryFile, text: str, now: datetime, by: str | None) -> Outcome:
    if says(file.entry, text):
        return Outcome(summary=f"Known already: {file.entry.name}. Nothing was changed.")
    entry = joined(file.entry, text, now)
    content = write(entry)
    if len(content.encode("utf-8")) > LARGEST:
        return _filed(root, file.entry.type, text, now, by, file.entry.trust)
    change = ChangeSet(root, "remember", now, by)
    change.write(file.parts, content, expected=file.snapshot)
    return outcome(f"Updated “{entry.name}” in {root.kind} memory: {first_sentence(text)}", [change])


def joined(entry: MemoryEntry, text: str, now: datetime) -> MemoryEntry:
    """The entry with `text` in it. A line that `text` begins with gives way to it; all others stay."""
    lines = entry.body.split("\n")
    began = normal(text) + " "
    place = next((n for n, line in enumerate(lines) if normal(line) and began.startswith(normal(line) + " ")), None)
    if place is None or "\n" in text:
        lines += ["", f"Updated {now:%Y-%m-%d}: {text}"]
    else:
        lines[place] = text
    # The description is the hook in the index. Where it only repeats the body, it follows; where a person wrote it, it stays.
    ours = any(same(entry.description, claim) for claim in claims(replace(entry, description="")))
    described = first_sentence(text) if ours else entry.description
    fresh = new_entry(entry.name, described, entry.type, "\n".join(lines))
    return replace(fresh, extra=entry.extra)


def _filed(
    root: Root, kind: EntryType, text: str, now: datetime, by: str | None, trust: Trust | None = None
) -> Outcome:
    sentence = first_sentence(text)
    entry = with_trust(new_entry(_title(sentence), sentence, kind, text), trust)
    change = ChangeSet(root, "remember", now, by)
    name = slug(entry.name.rstrip("…"), empty=kind)
    taken = _taken(root, kind)
    free = (f"{name}{suffix}.md" for suffix in ("", *(f"-{n}" for n in range(2, 10_000))))
    file = next(candidate for candidate in free if candidate not in taken)
    change.write((kind, file), write(entry), expected=None)
    return outcome(f"Saved to {root.kind} memory: {sentence}", [change])


def _taken(root: Root, kind: EntryType) -> set[str]:
    try:
        return {fold(entry.name) for entry in root.folder.listing((kind,))}
    except PathNotFound:
        return set()


def _title(sentence: str) -> str:
    bare = " ".join(sentence.split()).rstrip(".。!！;； ")
    if len(bare) <= MOST_TITLE:
        return bare
    cut = bare[: MOST_TITLE - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
