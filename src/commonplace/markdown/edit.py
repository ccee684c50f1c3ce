"""
Files of memory as a person edits them.

Read whole, and written back only over what the person saw: an `etag` names a content, and where the file has another by then,
whoever writes is shown that one. Each write is a change that can be taken back, and the index follows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, cast

from commonplace.errors import FileChanged, FilePreconditionFailed, InvalidContent, PathNotFound, SecretRefused
from commonplace.markdown.changes import Change, held_at, past, undo
from commonplace.markdown.confine import LARGEST, LARGEST_EVER, Found, Held, Parts
from commonplace.markdown.entries import Problem, load
from commonplace.markdown.files import check_content, refuse_place
from commonplace.markdown.names import parts_of
from commonplace.markdown.recall import staleness
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf
from commonplace.text.scrub import scrub
from commonplace.values.moment import from_iso, from_ms
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


def etag_of(held: Held) -> str:
    return f'"{held.stamp.sha256[:_DIGITS]}"'


def name_of(root: Root) -> ShelfName:
    """A room's file is nobody's to edit here: these two are all there are."""
    return cast(ShelfName, root.kind)


def listed(root: Root, now: datetime) -> ShelfFiles:
    """The newest files of a root, and its index."""
    shelf = Shelf(root)
    files = shelf.files()
    shown = [_file(shelf, one, now) for one in files[:MOST_FILES]]
    return ShelfFiles(
        root=name_of(root),
        scope=root.scope,
        trust=root.trust,
        index=shelf.index(),
        files=tuple(one for one in shown if one is not None),
        total=len(files),
    )


def read(root: Root, path: str) -> ShelfText:
    """Raises PathNotFound, PathEscape, InvalidContent."""
    parts = parts_of(path)
    return _text(root, parts, root.folder.read(parts, LARGEST_EVER if parts == (INDEX,) else LARGEST))


def write(root: Root, path: str, text: str, *, expected: str | None, now: datetime) -> ShelfWritten:
    """
    Make a file (`expected` None: there must be none) or put `text` in the place of the content that `expected` names.

    Raises:
        FilePreconditionFailed: it has another content by now, which the error tells.
        InvalidContent, ContentTooLarge, SecretRefused: what is wrong with the text.
        PathEscape: there can be no file of memory of that name, or it is the index, which is made from the files.
    """
    parts = parts_of(path)
    refuse_place(root, parts)
    kept = _kept(text)
    held = _expected(root, parts, expected)
    if held is not None and held.data == kept.encode("utf-8"):
        return ShelfWritten(file=_text(root, parts, held), change=None)
    change = Change(root, "edit", now)
    try:
        written = change.write(parts, kept, expected=held)
    except FileChanged as error:
        raise _failed(root, parts) from error
    Shelf(root).rebuild()
    return ShelfWritten(file=_text(root, parts, written), change=change.id)


def remove(root: Root, path: str, *, expected: str, now: datetime) -> ShelfWritten:
    """Remove the content that `expected` names. Raises PathNotFound, FilePreconditionFailed, PathEscape."""
    parts = parts_of(path)
    refuse_place(root, parts)
    held = _expected(root, parts, expected)
    if held is None:
        raise PathNotFound(path=path)
    change = Change(root, "edit", now)
    try:
        change.remove(parts, expected=held)
    except FileChanged as error:
        raise _failed(root, parts) from error
    Shelf(root).rebuild()
    return ShelfWritten(file=None, change=change.id)


def changes(root: Root) -> list[ShelfChange]:
    """Those that can be taken back, newest first."""
    told: list[ShelfChange] = []
    for one in past(root):
        try:
            at = from_iso(one.at)
        except ValueError:
            # The folder may be a stranger's, and so what it says of its past.
            continue
        told.append(ShelfChange(id=one.id, root=name_of(root), what=str(one.what), at=at, paths=one.paths, task=one.by))
    return told


def take_back(root: Root, id: str, now: datetime) -> ShelfUndone:
    """Raises NothingToUndo."""
    done = undo(root, id, now)
    return ShelfUndone(restored=done.restored, left=done.left)


def _file(shelf: Shelf, found: Found, now: datetime) -> ShelfFile | None:
    """None where it has just gone."""
    read = load(shelf.folder, found, shelf.default)
    if read is None:
        return None
    modified = from_ms(found.mtime // 1_000_000)
    if isinstance(read, Problem):
        return ShelfFile(path=read.path, bytes=found.size, modified_at=modified, problem=read.reason)
    return ShelfFile(
        path=read.path,
        bytes=read.stamp.size,
        modified_at=modified,
        etag=etag_of(read.held),
        type=read.entry.type,
        name=read.entry.name,
        description=read.entry.description,
        stale=staleness(read, now) is not None,
    )


def _text(root: Root, parts: Parts, held: Held) -> ShelfText:
    try:
        text = held.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidContent("The file is not UTF-8 text. Mend it where it lies.") from None
    return ShelfText(
        root=name_of(root),
        path="/".join(parts),
        text=text,
        bytes=held.stamp.size,
        modified_at=from_ms(held.stamp.mtime // 1_000_000),
        etag=etag_of(held),
    )


def _kept(text: str) -> str:
    if not text.strip():
        raise InvalidContent("The file would be empty. Delete it instead.")
    check_content(text)
    scrubbed = scrub(text)
    if scrubbed.report.status == "blocked":
        raise SecretRefused
    check_content(scrubbed.text)
    return scrubbed.text


def _expected(root: Root, parts: Parts, expected: str | None) -> Held | None:
    held = held_at(root.folder, parts)
    if (None if held is None else etag_of(held)) != expected:
        raise _failed(root, parts)
    return held


def _failed(root: Root, parts: Parts) -> FilePreconditionFailed:
    """With the file as it is now, so that whoever wrote can compare."""
    held = held_at(root.folder, parts)
    if held is None:
        return FilePreconditionFailed(
            "The file is not there any more. Make it anew, or leave it.", text=None, etag=None
        )
    return FilePreconditionFailed(text=held.data.decode("utf-8", "replace"), etag=etag_of(held))
