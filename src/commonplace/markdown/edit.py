"""
Files of memory as a person edits them.

A file is read whole, and written back only over what the person saw: an `etag` names a content, and if the file has another by
then, the error shows it. Each write is a change that can be undone, and the index follows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, cast

from commonplace.errors import FileChanged, FilePreconditionFailed, InvalidContent, PathNotFound, SecretRefused
from commonplace.markdown.changes import ChangeSet, file_at, past, undo
from commonplace.markdown.confine import LARGEST, LARGEST_EVER, FileInfo, FileSnapshot, Parts
from commonplace.markdown.entries import EntryProblem, EntryType, label_in, labelled, load, type_at, typed
from commonplace.markdown.files import check_content, refuse_place
from commonplace.markdown.judge import Refuse
from commonplace.markdown.names import parts_of
from commonplace.markdown.recall import staleness
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import TYPES_OF, Shelf
from commonplace.text.scrub import scrub
from commonplace.values.filing_errors import FactRefused
from commonplace.values.moment import from_iso, from_ms
from commonplace.values.record import TRUSTED, Trust
from commonplace.values.shelf import (
    ShelfChange,
    ShelfFile,
    ShelfFiles,
    ShelfName,
    ShelfText,
    ShelfUndone,
    ShelfWritten,
)

MOST_FILES: Final = 1_000
_DIGITS: Final = 32


def etag_of(snapshot: FileSnapshot) -> str:
    return f'"{snapshot.stamp.sha256[:_DIGITS]}"'


def name_of(root: Root) -> ShelfName:
    """Nobody edits a room's file here, so a root is one of these two."""
    return cast(ShelfName, root.kind)


def listed(root: Root, now: datetime) -> ShelfFiles:
    """The newest files of a root, and its index."""
    shelf = Shelf(root)
    files = shelf.files()
    rows = [_file(shelf, info, now) for info in files[:MOST_FILES]]
    return ShelfFiles(
        root=name_of(root),
        scope=root.scope,
        trust=root.trust,
        index=shelf.index(),
        files=tuple(row for row in rows if row is not None),
        total=len(files),
    )


def read(root: Root, path: str) -> ShelfText:
    """Raises PathNotFound, PathEscape, InvalidContent."""
    parts = parts_of(path)
    return _text(root, parts, root.folder.read(parts, LARGEST_EVER if parts == (INDEX,) else LARGEST))


def write(
    root: Root,
    path: str,
    text: str,
    *,
    expected: str | None,
    now: datetime,
    trust: Trust | None = None,
    vouches: bool = True,
) -> ShelfWritten:
    """
    Make a file (`expected` None: there must be none) or replace the content that `expected` names with `text`. `trust` is the
    untrusted label of whoever writes; None: a person does. Unless they may `vouch` for it, a file that has a label keeps it.

    Raises:
        FilePreconditionFailed: it has another content by now, which the error carries.
        InvalidContent, ContentTooLarge, SecretRefused: what is wrong with the text.
        PathEscape: no file of memory can have that name, or it is the index, which is made from the files.
    """
    parts = parts_of(path)
    refuse_place(root, parts)
    content = _checked(text)
    snapshot = _expected(root, parts, expected)
    label = trust or (None if vouches or snapshot is None else label_in(snapshot.data.decode("utf-8-sig", "replace")))
    if label is not None and label_in(content) is None:
        content = labelled(content, label)
    if snapshot is not None and snapshot.data == content.encode("utf-8"):
        return ShelfWritten(file=_text(root, parts, snapshot), change=None)
    change = ChangeSet(root, "edit", now)
    try:
        replacement = change.write(parts, content, expected=snapshot)
    except FileChanged as error:
        raise _failed(root, parts) from error
    Shelf(root).rebuild()
    return ShelfWritten(file=_text(root, parts, replacement), change=change.id)


def remove(root: Root, path: str, *, expected: str, now: datetime) -> ShelfWritten:
    """Remove the content that `expected` names. Raises PathNotFound, FilePreconditionFailed, PathEscape."""
    parts = parts_of(path)
    refuse_place(root, parts)
    snapshot = _expected(root, parts, expected)
    if snapshot is None:
        raise PathNotFound(path=path)
    change = ChangeSet(root, "edit", now)
    try:
        change.remove(parts, expected=snapshot)
    except FileChanged as error:
        raise _failed(root, parts) from error
    Shelf(root).rebuild()
    return ShelfWritten(file=None, change=change.id)


def move(root: Root, path: str, other: Root, *, now: datetime, refuse: Refuse) -> ShelfWritten:
    """
    File an entry in another memory: under its name there, or the next that is free, and with a type that is filed there. What came
    from a folder that is not ours keeps that label. If the entry is changed meanwhile, it stays where it is.

    Raises:
        PathNotFound, PathEscape, FileChanged, InvalidContent: what is wrong with the file.
        FactRefused: it tells an agent how to behave, and others read it there.
    """
    parts = parts_of(path)
    refuse_place(root, parts)
    snapshot = file_at(root.folder, parts)
    if snapshot is None:
        raise PathNotFound
    text = _checked(_text(root, parts, snapshot).text)
    if reason := refuse(text, other.kind):
        raise FactRefused(reason)
    if root.trust not in TRUSTED and label_in(text) is None:
        text = labelled(text, root.trust)
    among = TYPES_OF[other.kind]
    kind = type_at(parts[0], among) or among[0]
    target = _free(other, kind, parts[-1])
    change = ChangeSet(other, "edit", now)
    replacement = change.write(target, typed(text, kind), expected=None)
    try:
        ChangeSet(root, "edit", now).remove(parts, expected=snapshot)
    except FileChanged:
        undo(other, change.id, now)
        raise
    for changed in (root, other):
        Shelf(changed).rebuild()
    return ShelfWritten(file=_text(other, target, replacement), change=change.id)


def _free(root: Root, kind: EntryType, name: str) -> Parts:
    stem = name.removesuffix(".md")
    names = (f"{stem}{suffix}.md" for suffix in ("", *(f"-{n}" for n in range(2, 1_000))))
    return next((kind, name) for name in names if file_at(root.folder, (kind, name)) is None)


def changes(root: Root) -> list[ShelfChange]:
    """The changes that can be undone, newest first."""
    undoable: list[ShelfChange] = []
    for change in past(root):
        try:
            at = from_iso(change.at)
        except ValueError:
            # Somebody else may have written the folder, and its history with it.
            continue
        undoable.append(
            ShelfChange(
                id=change.id, root=name_of(root), what=str(change.what), at=at, paths=change.paths, task=change.by
            )
        )
    return undoable


def take_back(root: Root, id: str, now: datetime) -> ShelfUndone:
    """Raises NothingToUndo."""
    report = undo(root, id, now)
    return ShelfUndone(restored=report.restored, left=report.conflicts)


def _file(shelf: Shelf, info: FileInfo, now: datetime) -> ShelfFile | None:
    """None if it has just gone."""
    file = load(shelf.folder, info, shelf.default)
    if file is None:
        return None
    modified = from_ms(info.mtime // 1_000_000)
    if isinstance(file, EntryProblem):
        return ShelfFile(path=file.path, bytes=info.size, modified_at=modified, problem=file.reason)
    return ShelfFile(
        path=file.path,
        bytes=file.stamp.size,
        modified_at=modified,
        etag=etag_of(file.snapshot),
        type=file.entry.type,
        name=file.entry.name,
        description=file.entry.description,
        stale=staleness(file, now) is not None,
    )


def _text(root: Root, parts: Parts, snapshot: FileSnapshot) -> ShelfText:
    try:
        text = snapshot.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidContent("The file is not UTF-8 text. Mend it where it lies.") from None
    return ShelfText(
        root=name_of(root),
        path="/".join(parts),
        text=text,
        bytes=snapshot.stamp.size,
        modified_at=from_ms(snapshot.stamp.mtime // 1_000_000),
        etag=etag_of(snapshot),
    )


def _checked(text: str) -> str:
    if not text.strip():
        raise InvalidContent("The file would be empty. Delete it instead.")
    check_content(text)
    scrubbed = scrub(text)
    if scrubbed.report.status == "blocked":
        raise SecretRefused
    check_content(scrubbed.text)
    return scrubbed.text


def _expected(root: Root, parts: Parts, expected: str | None) -> FileSnapshot | None:
    snapshot = file_at(root.folder, parts)
    if (None if snapshot is None else etag_of(snapshot)) != expected:
        raise _failed(root, parts)
    return snapshot


def _failed(root: Root, parts: Parts) -> FilePreconditionFailed:
    """Carries the file as it is now, so that the writer can compare."""
    snapshot = file_at(root.folder, parts)
    if snapshot is None:
        return FilePreconditionFailed(
            "The file is not there any more. Make it anew, or leave it.", text=None, etag=None
        )
    return FilePreconditionFailed(text=snapshot.data.decode("utf-8", "replace"), etag=etag_of(snapshot))
