"""
Entries erased for good: the file, its line in the index, and every version of it in the history.

Whoever calls holds the gates of the roots alone (`managed.gate`). `faults` says what stands in the way before anything is touched.
`take` removes the files as a change, so that `restore` can bring all of them back where one cannot be removed after all. `thin` takes
what was in them out of the history and the index, and `end` is the point of no return: it takes away the change that removed them.
A process that dies before that leaves a change that can be taken back; one that dies later leaves nothing to be found.

A version of another entry goes from the history only if it says what the erased one said, word by word, and no entry that stays
says so: a dream, or a person, may have moved a line from one file to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.errors import CommonplaceError, FileChanged, InvalidFile, PathNotFound
from commonplace.markdown.changes import (
    ChangeOf,
    ChangeSet,
    FileStep,
    Past,
    drop,
    file_at,
    history_of,
    names_in,
    read_change,
    write_down,
)
from commonplace.markdown.confine import LARGEST_EVER, FileSnapshot, Folder, Parts
from commonplace.markdown.cues import normal
from commonplace.markdown.entries import MemoryEntry, parse
from commonplace.markdown.index import escaped
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf
from commonplace.markdown.watch import claims_of, line_hash
from commonplace.values.record import Json

CHANGED: Final = "It was changed since its record was written."
NO_TEXT: Final = "It is not UTF-8 text."
_BATCH_BYTES: Final = 8 * 1024 * 1024
_LONG: Final = 12
_LONG_CJK: Final = 6
_SHORT: Final = 3
_DATED: Final = re.compile(r"^updated \d{4} \d{2} \d{2} ")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileTarget:
    """
    A file to erase, or of a room's file the lines with these hashes. `sha256` are the contents that its records tell of; None: it
    goes whatever it says.
    """

    path: str
    sha256: frozenset[str] | None = None
    lines: frozenset[str] = frozenset()

    @property
    def parts(self) -> Parts:
        return tuple(self.path.split("/"))


@dataclass(frozen=True, kw_only=True, slots=True)
class RemovedFile:
    """A file as it was, and what it became (None: it was removed)."""

    parts: Parts
    before: FileSnapshot
    after: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """What was taken from a root. `paths` are all files that were to go, those too that were gone already."""

    root: Root
    files: tuple[RemovedFile, ...]
    index: FileSnapshot | None
    changes: tuple[str, ...]
    paths: frozenset[str]
    texts: tuple[str, ...]
    everything: bool = False
    lines: frozenset[str] = frozenset()
    """Hashes of the lines of a room's file that were to go, those too that were gone already."""

    @property
    def absolute(self) -> tuple[str, ...]:
        return tuple(str(self.root.path / path) for path in sorted(self.paths))


def all_of(root: Root) -> list[FileTarget]:
    """Every file of a root, its index included."""
    return [*(FileTarget(path=file.path) for file in Shelf(root).files()), FileTarget(path=INDEX)]


def faults(root: Root, targets: Iterable[FileTarget]) -> dict[str, str]:
    """Why what is to be erased cannot be, by path: a file itself, or one of the history, which stands in the way of all."""
    reasons: dict[str, str] = {}
    for target in targets:
        if (reason := fault_of(root, target)) is not None:
            reasons[target.path] = reason
    history = history_of(root)
    try:
        names = names_in(history)
    except CommonplaceError as error:
        return reasons | {".history": error.message}
    for name in names:
        try:
            history.read((name,), LARGEST_EVER)
        except PathNotFound:
            continue
        except CommonplaceError as error:
            reasons[f".history/{name}"] = error.message
    return reasons


def fault_of(root: Root, target: FileTarget) -> str | None:
    try:
        present = root.folder.read(target.parts)
        present.data.decode("utf-8")
    except PathNotFound:
        return None
    except CommonplaceError as error:
        return error.message
    except UnicodeDecodeError:
        return NO_TEXT
    if target.sha256 is not None and not target.lines and present.stamp.sha256 not in target.sha256:
        return CHANGED
    return None


def take(
    root: Root,
    targets: Sequence[FileTarget],
    now: datetime,
    *,
    what: ChangeOf = "purge",
    by: str | None = None,
    about: Mapping[str, Json] | None = None,
    everything: bool = False,
) -> Removal:
    """
    Remove the files, or none of them.

    Raises:
        FileChanged: somebody changed one of them in this moment. All are as they were, or as somebody made them.
        FileError, PathEscape: as the folder has it.
    """
    files: list[RemovedFile] = []
    changes: list[ChangeSet] = []
    index = None if root.kind == "channel" else _index(root)
    try:
        for batch in _batches(root, targets):
            changes.append(ChangeSet(root, what, now, by, alone=True, about=about))
            files += batch
            changes[-1].remove_all([(file.parts, file.before) for file in batch])
        for file in _cut(root, targets):
            changes.append(ChangeSet(root, what, now, by, alone=True, about=about))
            files.append(file)
            changes[-1].write(file.parts, (file.after or b"").decode("utf-8"), expected=file.before)
    except (CommonplaceError, OSError):
        _put_back(root, files, [change.id for change in changes])
        raise
    return Removal(
        root=root,
        files=tuple(files),
        index=index,
        changes=tuple(change.id for change in changes),
        paths=frozenset(target.path for target in targets if not target.lines),
        texts=tuple(_said(files)),
        everything=everything,
        lines=frozenset(line for target in targets for line in target.lines),
    )


def restore(removal: Removal) -> None:
    """Put back what was taken, before its end."""
    root, index = removal.root, removal.index
    _put_back(root, removal.files, removal.changes)
    if index is not None and (present := _index(root)) is not None and present.data != index.data:
        root.folder.change((INDEX,), lambda _: index.data, LARGEST_EVER)


def restore_all(removals: Sequence[Removal]) -> None:
    for removal in reversed(removals):
        restore(removal)


def _index(root: Root) -> FileSnapshot | None:
    try:
        return root.folder.read((INDEX,), LARGEST_EVER)
    except PathNotFound:
        return None


def _batches(root: Root, targets: Sequence[FileTarget]) -> Iterable[list[RemovedFile]]:
    """The files there are, so many at a time as one note of a change may hold."""
    batch: list[RemovedFile] = []
    size = 0
    for target in targets:
        present = None if target.lines else file_at(root.folder, target.parts)
        if present is None:
            continue
        if target.sha256 is not None and present.stamp.sha256 not in target.sha256:
            raise FileChanged(CHANGED, path=target.path)
        if batch and size + len(present.data) > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(RemovedFile(parts=target.parts, before=present))
        size += len(present.data)
    if batch:
        yield batch


def _cut(root: Root, targets: Sequence[FileTarget]) -> Iterable[RemovedFile]:
    """The files of rooms that lose lines."""
    for target in targets:
        present = file_at(root.folder, target.parts) if target.lines else None
        if present is not None:
            rows = present.data.decode("utf-8").splitlines(keepends=True)
            after = "".join(row for row in rows if _hash_of(row) not in target.lines).encode("utf-8")
            if after != present.data:
                yield RemovedFile(parts=target.parts, before=present, after=after)


def _hash_of(row: str) -> str | None:
    return next((line_hash(claim) for claim in claims_of(row)), None)


def _said(files: Iterable[RemovedFile]) -> Iterable[str]:
    for file in files:
        before = file.before.data.decode("utf-8")
        if file.after is None:
            yield before
        else:
            stay = set(file.after.decode("utf-8").splitlines())
            yield "\n".join(row for row in before.splitlines() if row not in stay)


def _put_back(root: Root, files: Iterable[RemovedFile], changes: Iterable[str]) -> None:
    for file in files:
        present = file_at(root.folder, file.parts)
        if (present and present.data) == file.after:
            folder = Folder(root.anchor, root.inside, mode=file.before.mode)
            folder.write(file.parts, file.before.data, expected=present and present.stamp)
    history = history_of(root)
    for id in changes:
        with suppress(PathNotFound):
            drop(history, f"{id}.json")


# ---- the history


def thin(removal: Removal) -> Quotes:
    """Take what was removed out of the history and the index. Answers by what it is recognised elsewhere."""
    root = removal.root
    history = history_of(root)
    entries = () if removal.everything else Shelf(root).scan(most=None).entries
    live = [file.snapshot.data.decode("utf-8", "replace") for file in entries]
    past = list(_changes(history))
    doomed = _ancestors(removal.paths, past, {file.path for file in entries})
    texts = [text for _, _, steps in past for step in steps if step.path in doomed for text in _texts(step)]
    quotes = Quotes([*removal.texts, *texts], live)
    own = frozenset(removal.changes)
    for name, change, steps in past:
        if change.id in own:
            continue
        stay = [] if removal.everything else [step for step in steps if _stays(step, doomed, quotes, removal.lines)]
        if stay and len(stay) < len(steps):
            write_down(history, name, change, stay)
        elif not stay and (steps or removal.everything):
            drop(history, name)
    names = [f"({path})" for path in removal.paths] + [f"({escaped(path)})" for path in removal.paths]
    Shelf(root).rebuild(lambda line: any(name in line for name in names) or quotes.are_within(line))
    root.folder.sweep()
    return quotes


def _changes(history: Folder) -> Iterable[tuple[str, Past, list[FileStep]]]:
    for name in names_in(history):
        try:
            yield name, *read_change(history, name)
        except InvalidFile:
            # Nobody can take it back, and nobody knows what it says.
            drop(history, name)
        except PathNotFound:
            continue


def _ancestors(paths: frozenset[str], past: Sequence[tuple[str, Past, list[FileStep]]], live: set[str]) -> set[str]:
    """The files that went into these, and are gone."""
    doomed = set(paths)
    while True:
        count = len(doomed)
        for _, _, steps in past:
            if any(step.path in doomed and step.after is not None for step in steps):
                doomed |= {step.path for step in steps if step.after is None and step.path not in live}
        if len(doomed) == count:
            return doomed


def _stays(step: FileStep, doomed: set[str], quotes: Quotes, lines: frozenset[str]) -> bool:
    texts = _texts(step)
    is_line = bool(lines) and any(_hash_of(row) in lines for text in texts for row in text.splitlines())
    return not is_line and step.path not in doomed and not any(map(quotes.are_in, texts))


def end(root: Root, changes: Iterable[str], *, mark: bool = False) -> None:
    """
    Take away the changes that removed what is erased. With `mark` they stay without their steps: whoever made them can see that it
    was done.
    """
    history = history_of(root)
    for id in changes:
        with suppress(PathNotFound):
            if mark:
                change, _ = read_change(history, f"{id}.json")
                write_down(history, f"{id}.json", replace(change, paths=()), [])
            else:
                drop(history, f"{id}.json")


def _texts(step: FileStep) -> list[str]:
    return [text for text in (step.before, step.after, step.last) if text]


# ---- what was said


class Quotes:
    """What erased texts said and no text of `live` says."""

    def __init__(self, texts: Iterable[str], live: Iterable[str] = ()) -> None:
        erased, others = list(texts), list(live)
        common = {line for text in others for line in _lines(text)}
        self._others = "\n".join(map(normal, others))
        self._lines = {line for text in erased for line in _lines(text)} - common
        self._texts = [text for text in map(normal, erased) if text]

    def are_in(self, text: str) -> bool:
        """Whether `text` has a line of theirs, or they have one of its lines."""
        lines = _lines(text)
        if not self._lines.isdisjoint(lines):
            return True
        long = [line for line in lines if self._is_telling(line, 2)]
        return self.are_within(text) or any(line in erased for line in long for erased in self._texts)

    def are_within(self, text: str) -> bool:
        """Whether a whole line of theirs stands somewhere in `text`."""
        whole = normal(text)
        return any(line in whole for line in self._lines if self._is_telling(line))

    def _is_telling(self, line: str, times: int = 1) -> bool:
        """Long enough to be no accident inside another line, and not said elsewhere."""
        return len(line) >= times * (_LONG if line.isascii() else _LONG_CJK) and line not in self._others


def _lines(text: str) -> set[str]:
    """What an entry says in its description and its body, line by line, without marks, case and the dates of additions."""
    entry = parse(text, "entry.md")
    rows = [entry.description, *entry.body.split("\n")] if isinstance(entry, MemoryEntry) else text.split("\n")
    lines = {_DATED.sub("", normal(row)) for row in rows}
    return {line for line in lines if len(line) >= _SHORT or not line.isascii()}
