"""
The five file tools of an agent that writes memory and may touch nothing else.

Paths are absolute, inside one of the roots, or relative: then the first folder, which is a type, says which root is meant.
A file is replaced only by somebody who has read it as it is now. Only a dream removes one, by writing nothing into it. In a
clean task nothing is read but what the task itself wrote. What is written is Markdown without secrets; the index is not
written by hand. Searching is for plain text: a pattern would let whoever wrote the memory decide how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from commonplace.errors import (
    CommonplaceError,
    ContentTooLarge,
    FileChanged,
    InvalidContent,
    PathEscape,
    PathNotFound,
    SecretRefused,
)
from commonplace.markdown.changes import Change, ChangeOf, held_at
from commonplace.markdown.confine import LARGEST, Held, Parts
from commonplace.markdown.entries import TYPES
from commonplace.markdown.names import fold, parts_of
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import shelf_for
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import RootKind

MOST_READ: Final = 50_000
MOST_MATCHES: Final = 100
MOST_LISTED: Final = 200
MOST_LINE: Final = 300
Refuse = Callable[[str], str | None]
"""Why a text must not be kept, or None where it may."""


class MemoryFiles:
    """Errors are ours (`commonplace.errors`), and their messages are meant for the agent."""

    def __init__(
        self,
        roots: Sequence[Root],
        *,
        now: datetime,
        what: ChangeOf = "remember",
        clean: bool = False,
        refuse: Refuse | None = None,
        by: str | None = None,
    ) -> None:
        self._roots = tuple(roots)
        self._changes = {root.path: Change(root, what, now, by) for root in self._roots}
        self.escaped = False
        """Whether a write was meant for a place outside the roots, or for one that a link leads out of."""
        self._removes = what == "dream"
        self._clean = clean
        self._refuse = refuse
        self._seen: dict[tuple[Root, Parts], Held] = {}
        self._written: set[tuple[Root, Parts]] = set()

    @property
    def written(self) -> tuple[str, ...]:
        """The files written, by their whole paths, sorted."""
        return tuple(sorted(str(root.path.joinpath(*parts)) for root, parts in self._written))

    @property
    def touched_scopes(self) -> tuple[RootKind, ...]:
        """Whose memory was written, sorted, each once."""
        return tuple(sorted({root.kind for root, _ in self._written}))

    @property
    def touched_roots(self) -> tuple[Root, ...]:
        """The roots whose index is to be rebuilt."""
        return tuple(root for root in self._roots if any(root == one for one, _ in self._written))

    @property
    def changes(self) -> tuple[tuple[Root, str], ...]:
        """By what `undo` knows the changes made, a root each."""
        return tuple((root, self._changes[root.path].id) for root in self.touched_roots)

    def read_file(self, path: str, offset: int = 0, limit: int = MOST_READ) -> str:
        """The text of a file, at most 50,000 characters from `offset`."""
        root, parts = self._placed(path)
        self._refuse_unseen(root, parts)
        held = root.folder.read(parts)
        self._seen[root, parts] = held
        text = _decoded(held)
        start, stop = max(offset, 0), max(offset, 0) + max(1, min(limit, MOST_READ))
        more = f"\n[{len(text) - stop} more characters: read on at offset {stop}]" if len(text) > stop else ""
        return text[start:stop] + more

    def grep_search(self, pattern: str, path: str | None = None) -> list[str]:
        """Lines that contain `pattern`, whatever the case, as `path:line: text`; at most 100."""
        wanted = fold(pattern.strip())
        if not wanted:
            raise InvalidContent("Give some text to search for.")
        found: list[str] = []
        for root, parts in self._below(path):
            try:
                text = _decoded(root.folder.read(parts))
            except CommonplaceError:
                continue
            for number, line in enumerate(text.split("\n"), start=1):
                if wanted in fold(line):
                    found.append(f"{root.path.joinpath(*parts)}:{number}: {line.strip()[:MOST_LINE]}")
                if len(found) >= MOST_MATCHES:
                    return found
        return found

    def list_directory(self, path: str | None = None) -> list[str]:
        """The folders (with a slash) and files of a folder, or the roots; at most 200."""
        if path is None or path.strip() in ("", "."):
            return [f"{root.path}/" for root in self._roots]
        root, parts = self._placed(path.rstrip("/") or path, folder=True)
        if self._clean:
            listed = [
                (one, own[len(parts) :]) for one, own in self._written if one == root and own[: len(parts)] == parts
            ]
            return sorted({own[0] + ("/" if len(own) > 1 else "") for _, own in listed if own})[:MOST_LISTED]
        try:
            entries = root.folder.listing(parts)
        except PathNotFound:
            if parts and parts[-1] not in TYPES:
                raise
            return []
        return [one.name + ("/" if one.is_folder else "") for one in entries][:MOST_LISTED]

    def write_file(self, path: str, content: str) -> str:
        """Make a file, or replace one that was read before. Answers its whole path."""
        root, parts = self._aimed(path)
        refuse_place(root, parts)
        removing = self._removes and not content.strip()
        text = "" if removing else self._kept(content)
        with self._noticing():
            held = held_at(root.folder, parts)
        seen = self._seen.get((root, parts))
        if held is not None and seen is None:
            raise FileChanged("There is a file of that name. Read it first, or choose another name.")
        if held is not None and seen is not None and held.stamp != seen.stamp:
            raise FileChanged
        _refuse_unshown(held)
        return self._remove(root, parts, held) if removing else self._write(root, parts, text, held)

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        """Replace `old_string`, which must occur once unless `replace_all`. Answers the file's whole path."""
        root, parts = self._aimed(path)
        refuse_place(root, parts)
        self._refuse_unseen(root, parts)
        with self._noticing():
            held = root.folder.read(parts)
        text = _decoded(held)
        times = text.count(old_string) if old_string else 0
        if not times:
            raise InvalidContent("The text to replace is not in the file. Read the file again.")
        if times > 1 and not replace_all:
            raise InvalidContent(f"The text to replace occurs {times} times. Give more of it, or replace all.")
        # What a person wrote around it is theirs, secrets and all; what is put in is looked at, by itself and where it stands.
        made = text.replace(old_string, self._kept(new_string, part=True))
        self._refuse_joined(text, made)
        return self._write(root, parts, made, held)

    def _aimed(self, path: str) -> tuple[Root, Parts]:
        """As `_placed`, for a write. A name that no file can have is a slip; a way out is not."""
        try:
            return self._placed(path)
        except PathEscape:
            inside = any(path.startswith(f"{base}/") for root in self._roots for base in _bases(root))
            out = path.startswith(("/", "~", "\\")) and not inside
            self.escaped |= out or "\0" in path or ".." in path.replace("\\", "/").split("/")
            raise

    @contextmanager
    def _noticing(self) -> Generator[None]:
        try:
            yield
        except PathEscape:
            self.escaped = True
            raise

    def _write(self, root: Root, parts: Parts, text: str, held: Held | None) -> str:
        check_content(text)
        self._seen[root, parts] = self._changes[root.path].write(parts, text, expected=held)
        self._written.add((root, parts))
        return str(root.path.joinpath(*parts))

    def _remove(self, root: Root, parts: Parts, held: Held | None) -> str:
        if held is None:
            raise PathNotFound
        self._changes[root.path].remove(parts, expected=held)
        self._seen.pop((root, parts), None)
        self._written.add((root, parts))
        return str(root.path.joinpath(*parts))

    def _kept(self, content: str, *, part: bool = False) -> str:
        """The content without its secrets. Raises SecretRefused, InvalidContent."""
        if not part and not content.strip():
            raise InvalidContent("The content is empty.")
        check_content(content)
        if self._refuse is not None and (reason := self._refuse(content)):
            raise InvalidContent(reason)
        scrubbed = scrub(content)
        if scrubbed.report.status == "blocked":
            raise SecretRefused
        return scrubbed.text

    def _refuse_joined(self, before: str, made: str) -> None:
        """Raises SecretRefused, InvalidContent: it became a secret, or an order, by what was there already."""
        if scrub(made).report.redactions > scrub(before).report.redactions:
            raise SecretRefused
        if self._refuse is not None and (reason := self._refuse(made)) and not self._refuse(before):
            raise InvalidContent(reason)

    def _refuse_unseen(self, root: Root, parts: Parts) -> None:
        if self._clean and (root, parts) not in self._written:
            raise PathNotFound("This task sees no memory but what it wrote itself.")

    def _below(self, path: str | None) -> list[tuple[Root, Parts]]:
        if self._clean:
            places = sorted(self._written, key=lambda one: one[1])
        else:
            places = [(root, found.parts) for root in self._roots for found in root.folder.walk()]
        if path is None or path.strip() in ("", "."):
            return places
        at, above = self._placed(path.rstrip("/") or path, folder=True)
        return [(root, parts) for root, parts in places if root == at and parts[: len(above)] == above]

    def _placed(self, path: str, *, folder: bool = False) -> tuple[Root, Parts]:
        """The root a path belongs to and the names along it. Raises PathEscape."""
        if "\0" in path:
            raise PathEscape
        if not path.startswith("/"):
            parts = parts_of(path)
            root = self._root_for(parts[0])
            if root is None:
                raise PathEscape
            return root, parts
        for root in self._roots:
            for base in _bases(root):
                if folder and path == base:
                    return root, ()
                if path.startswith(f"{base}/"):
                    return root, parts_of(path[len(base) + 1 :])
        raise PathEscape

    def _root_for(self, first: str) -> Root | None:
        if first in TYPES and (root := shelf_for(self._roots, first)):
            return root
        return self._roots[0] if self._roots else None


def _bases(root: Root) -> set[str]:
    return {str(root.path), str(root.path.resolve())}


def refuse_place(root: Root, parts: Parts) -> None:
    """Raises PathEscape: no file of memory is written there."""
    if root.kind == "channel":
        if parts != (INDEX,):
            raise PathEscape(f"A room has one file of memory: {INDEX}.")
        return
    if not parts[-1].endswith(".md"):
        raise PathEscape("Memory is written as Markdown: the name must end in .md.")
    if fold(parts[-1]) == fold(INDEX):
        raise PathEscape("The index is made from the entries. Write an entry, and it will be listed.")


def check_content(content: str) -> None:
    """Raises InvalidContent, ContentTooLarge."""
    try:
        size = len(content.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidContent("The content holds a lone surrogate, which is no character.") from None
    if "\0" in content:
        raise InvalidContent("The content holds a NUL character.")
    if size > LARGEST:
        raise ContentTooLarge


def _refuse_unshown(held: Held | None) -> None:
    """A secret that a person wrote, and what is long, is not shown to a model: written anew, the file would be without."""
    text = "" if held is None else _decoded(held)
    if len(text) > MOST_READ:
        raise InvalidContent("The file is too long to be written anew. Leave it, or change it with edit.")
    if scrub(text).report.status != "passed":
        raise InvalidContent("The file holds a secret that you are not shown. Leave it, or change the rest with edit.")


def _decoded(held: Held) -> str:
    try:
        return held.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidContent("The file is not UTF-8 text.") from None
