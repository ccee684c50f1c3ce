"""
The five file tools of an agent that writes memory and may touch nothing else.

Paths are absolute, inside one of the roots, or relative: then the first folder, which is a type, says which root is meant.
An agent replaces a file only if it has read its present content. Only a consolidation removes a file, by writing nothing into
it. A clean task reads nothing but what it wrote itself. What is written is Markdown without secrets; nobody writes the index by
hand. What is written has the trust of whoever handed it over, and no more than that of any file that was read for it. Search takes plain text: with a pattern, whoever wrote the memory would decide how long the search takes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
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
from commonplace.markdown.changes import ChangeOf, ChangeSet, FilingOutcome, file_at
from commonplace.markdown.confine import LARGEST, FileSnapshot, Parts
from commonplace.markdown.entries import TYPES, EntryProblem, EntryType, label_in, labelled, parse, type_at, typed
from commonplace.markdown.facts import first_sentence
from commonplace.markdown.judge import Refuse
from commonplace.markdown.names import fold, parts_of
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import TYPES_OF, shelf_for
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import RootKind
from commonplace.values.record import Trust

MOST_READ: Final = 50_000
MOST_MATCHES: Final = 100
MOST_LISTED: Final = 200
MOST_LINE: Final = 300
MOST_WRITTEN: Final = 20


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
        trust: Trust | None = None,
    ) -> None:
        """`trust` is the untrusted label of whoever handed over what is to be written; None: a person did."""
        self._roots = tuple(roots)
        self._changes = {root.path: ChangeSet(root, what, now, by) for root in self._roots}
        self.escaped = False
        """Whether a write was meant for a place outside the roots, or for one that a link leads out of."""
        self._removes = what == "dream"
        self._clean = clean
        self._refuse = refuse
        self._trust: Trust | None = trust
        self._seen: dict[tuple[Root, Parts], FileSnapshot] = {}
        self._written: set[tuple[Root, Parts]] = set()
        self._new: set[tuple[Root, Parts]] = set()

    @property
    def outcome(self) -> FilingOutcome:
        """What became of a text that was to be remembered."""
        return "known" if not self._written else "saved" if self._written <= self._new else "updated"

    @property
    def texts(self) -> tuple[tuple[Root, str], ...]:
        """What was written, as the files are now, each with its root."""
        return tuple((place[0], _decoded(self._seen[place])) for place in self._written if place in self._seen)

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
        return tuple(root for root in self._roots if any(root == other for other, _ in self._written))

    @property
    def changes(self) -> tuple[tuple[Root, str], ...]:
        """The ids of the changes that `undo` takes, one for each root."""
        return tuple((root, self._changes[root.path].id) for root in self.touched_roots)

    def describe(self) -> str:
        """What was written, a sentence for each file, in the words of the files as they are now; empty if nothing was."""
        return " ".join(self._sentence(*place) for place in sorted(self._written, key=lambda place: place[1]))

    def _sentence(self, root: Root, parts: Parts) -> str:
        step = "Saved" if (root, parts) in self._new else "Updated"
        if root.kind == "channel" or (snapshot := self._seen.get((root, parts))) is None:
            return f"{step} {parts[-1]} of {root.kind} memory."
        entry = parse(_decoded(snapshot), "/".join(parts))
        if isinstance(entry, EntryProblem):
            return f"{step} {parts[-1]} of {root.kind} memory."
        described = entry.description or entry.body
        return f"{step} “{entry.name}” in {root.kind} memory: {first_sentence(described)}"

    def read_file(self, path: str, offset: int = 0, limit: int = MOST_READ) -> str:
        """The text of a file, at most 50,000 characters from `offset`."""
        root, parts = self._placed(path)
        self._refuse_unseen(root, parts)
        snapshot = root.folder.read(parts)
        text = _decoded(snapshot)
        self._heed(text)
        self._seen[root, parts] = snapshot
        start, stop = max(offset, 0), max(offset, 0) + max(1, min(limit, MOST_READ))
        more = f"\n[{len(text) - stop} more characters: read on at offset {stop}]" if len(text) > stop else ""
        return text[start:stop] + more

    def grep_search(self, pattern: str, path: str | None = None) -> list[str]:
        """Lines that contain `pattern`, whatever the case, as `path:line: text`; at most 100."""
        needle = fold(pattern.strip())
        if not needle:
            raise InvalidContent("Give some text to search for.")
        matches: list[str] = []
        for root, parts in self._below(path):
            try:
                text = _decoded(root.folder.read(parts))
            except CommonplaceError:
                continue
            if self._removes and label_in(text):
                continue
            for number, line in enumerate(text.split("\n"), start=1):
                if needle in fold(line):
                    self._heed(text)
                    matches.append(f"{root.path.joinpath(*parts)}:{number}: {line.strip()[:MOST_LINE]}")
                if len(matches) >= MOST_MATCHES:
                    return matches
        return matches

    def list_directory(self, path: str | None = None) -> list[str]:
        """The folders (with a slash) and files of a folder, or the roots; at most 200."""
        if path is None or path.strip() in ("", "."):
            return [f"{root.path}/" for root in self._roots]
        root, parts = self._placed(path.rstrip("/") or path, folder=True)
        if self._clean:
            listed = [own[len(parts) :] for other, own in self._written if other == root and own[: len(parts)] == parts]
            return sorted({own[0] + ("/" if len(own) > 1 else "") for own in listed if own})[:MOST_LISTED]
        try:
            entries = root.folder.listing(parts)
        except PathNotFound:
            if parts and parts[-1] not in TYPES:
                raise
            return []
        return [entry.name + ("/" if entry.is_folder else "") for entry in entries][:MOST_LISTED]

    def write_file(self, path: str, content: str) -> str:
        """Make a file, or replace one that was read before. Returns its whole path."""
        root, parts = self._aimed(path)
        refuse_place(root, parts)
        removing = self._removes and not content.strip()
        text = "" if removing else self._checked(content, root)
        with self._noticing():
            snapshot = file_at(root.folder, parts)
        last_read = self._seen.get((root, parts))
        if snapshot is not None and last_read is None:
            raise FileChanged("There is a file of that name. Read it first, or choose another name.")
        if snapshot is not None and last_read is not None and snapshot.stamp != last_read.stamp:
            raise FileChanged
        _refuse_unshown(snapshot)
        self._refuse_raised(snapshot)
        return self._remove(root, parts, snapshot) if removing else self._write(root, parts, text, snapshot)

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        """Replace `old_string`, which must occur once unless `replace_all`. Returns the file's whole path."""
        root, parts = self._aimed(path)
        refuse_place(root, parts)
        self._refuse_unseen(root, parts)
        with self._noticing():
            snapshot = root.folder.read(parts)
        self._refuse_raised(snapshot)
        text = _decoded(snapshot)
        times = text.count(old_string) if old_string else 0
        if not times:
            raise InvalidContent("The text to replace is not in the file. Read the file again.")
        if times > 1 and not replace_all:
            raise InvalidContent(f"The text to replace occurs {times} times. Give more of it, or replace all.")
        # What a person wrote around it is theirs, secrets and all; what is put in is looked at, by itself and where it stands.
        new_text = text.replace(old_string, self._checked(new_string, root, part=True))
        self._refuse_joined(text, new_text, root)
        return self._write(root, parts, new_text, snapshot)

    def _aimed(self, path: str) -> tuple[Root, Parts]:
        """As `_placed`, for a write. A name that no file can have is a mistake; a path out of the roots is an escape."""
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

    def _heed(self, text: str) -> None:
        """
        What is written from now on is trusted no more than this text that was read.

        Raises:
            PathNotFound: a consolidation leaves alone what no person handed over, so that it cannot get into what one did.
        """
        label = label_in(text)
        if label is not None and self._removes:
            raise PathNotFound("What a model handed over is left as it is.")
        self._trust = self._trust or label

    def _refuse_raised(self, snapshot: FileSnapshot | None) -> None:
        """Raises InvalidContent: what no person handed over would change what a person wrote."""
        if snapshot is not None and self._trust is not None and label_in(_decoded(snapshot)) is None:
            raise InvalidContent("A person's words stand there, and this is not a person's. Write a file of its own.")

    def _write(self, root: Root, parts: Parts, text: str, snapshot: FileSnapshot | None) -> str:
        if not self._removes and root.kind != "channel":
            self._refuse_more(root, parts)
            kind = _type_at(root, parts, is_new=snapshot is None)
            text = typed(text, kind) if kind else text
        label = self._trust or (label_in(_decoded(snapshot)) if snapshot is not None else None)
        if label is not None and root.kind != "channel":
            text = labelled(text, label)
        check_content(text)
        self._seen[root, parts] = self._changes[root.path].write(parts, text, expected=snapshot)
        if snapshot is None:
            self._new.add((root, parts))
        self._written.add((root, parts))
        return str(root.path.joinpath(*parts))

    def _refuse_more(self, root: Root, parts: Parts) -> None:
        """Raises InvalidContent."""
        if len(self._written | {(root, parts)}) > MOST_WRITTEN:
            raise InvalidContent(f"A task writes at most {MOST_WRITTEN} files. Say that you are done.")

    def _remove(self, root: Root, parts: Parts, snapshot: FileSnapshot | None) -> str:
        if snapshot is None:
            raise PathNotFound
        self._changes[root.path].remove(parts, expected=snapshot)
        self._seen.pop((root, parts), None)
        self._written.add((root, parts))
        return str(root.path.joinpath(*parts))

    def _checked(self, content: str, root: Root, *, part: bool = False) -> str:
        """The content without its secrets. Raises SecretRefused, InvalidContent."""
        if not part and not content.strip():
            raise InvalidContent("The content is empty.")
        check_content(content)
        if self._refuse is not None and (reason := self._refuse(content, root.kind)):
            raise InvalidContent(reason)
        scrubbed = scrub(content)
        if scrubbed.report.status == "blocked":
            raise SecretRefused
        return scrubbed.text

    def _refuse_joined(self, before: str, after: str, root: Root) -> None:
        """Raises SecretRefused, InvalidContent: together with the text around it, the edit is a secret or an order."""
        if scrub(after).report.redactions > scrub(before).report.redactions:
            raise SecretRefused
        refuse = self._refuse
        if refuse is not None and (reason := refuse(after, root.kind)) and not refuse(before, root.kind):
            raise InvalidContent(reason)

    def _refuse_unseen(self, root: Root, parts: Parts) -> None:
        if self._clean and (root, parts) not in self._written:
            raise PathNotFound("This task sees no memory but what it wrote itself.")

    def _below(self, path: str | None) -> list[tuple[Root, Parts]]:
        if self._clean:
            places = sorted(self._written, key=lambda place: place[1])
        else:
            places = [(root, info.parts) for root in self._roots for info in root.folder.walk()]
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


def _type_at(root: Root, parts: Parts, *, is_new: bool) -> EntryType | None:
    """The type of an entry there, which is that of its folder; None if a person keeps it elsewhere. Raises InvalidContent."""
    kind = type_at(parts[0]) if len(parts) > 1 else None
    if not is_new or kind in TYPES_OF[root.kind]:
        return kind
    folders = ", ".join(f"{name}/" for name in TYPES_OF[root.kind])
    raise InvalidContent(f"Entries of {root.kind} memory belong into one of its folders: {folders}.")


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


def _refuse_unshown(snapshot: FileSnapshot | None) -> None:
    """A model does not see a secret that a person wrote, nor the rest of a long file: a new file would lack them."""
    text = "" if snapshot is None else _decoded(snapshot)
    if len(text) > MOST_READ:
        raise InvalidContent("The file is too long to be written anew. Leave it, or change it with edit.")
    if scrub(text).report.status != "passed":
        raise InvalidContent("The file holds a secret that you are not shown. Leave it, or change the rest with edit.")


def _decoded(snapshot: FileSnapshot) -> str:
    try:
        return snapshot.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidContent("The file is not UTF-8 text.") from None
