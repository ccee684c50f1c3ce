"""The entries of one root: looked through, written, removed, and listed in the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.errors import PathNotFound
from commonplace.markdown.confine import LARGEST_EVER, FileInfo, FileSnapshot
from commonplace.markdown.entries import TYPES, EntryFile, EntryProblem, EntryType, load
from commonplace.markdown.index import build
from commonplace.markdown.roots import INDEX, Root
from commonplace.values.file_ref import RootKind

MOST_SCANNED: Final = 200
TYPES_OF: Final[dict[RootKind, tuple[EntryType, ...]]] = {
    "user": ("user", "feedback", "reference"),
    "project": ("project", "reference"),
    "channel": TYPES,
}
"""The types of entries that are filed in each kind of memory, the usual one first. A person may have others there."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Entries newest first, files that are none, and how many files there are in all."""

    entries: tuple[EntryFile, ...]
    problems: tuple[EntryProblem, ...]
    total: int


class Shelf:
    """Every call may raise PathEscape, FileError, ManagedMemoryUnavailable."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.folder = root.folder

    @property
    def default(self) -> EntryType:
        """The type of an entry that names none."""
        return "user" if self.root.kind == "user" else "project"

    def files(self) -> list[FileInfo]:
        """Every file that may hold an entry, newest first."""
        files = [file for file in self.folder.walk() if file.parts != (INDEX,)]
        return sorted(files, key=lambda file: (-file.mtime, file.path))

    def scan(self, most: int | None = MOST_SCANNED) -> Scan:
        """Read the newest files, at most `most` (None: all of them)."""
        files = self.files()
        loads = [load(self.folder, info, self.default) for info in (files if most is None else files[:most])]
        entries = tuple(file for file in loads if isinstance(file, EntryFile))
        return Scan(entries, tuple(problem for problem in loads if isinstance(problem, EntryProblem)), len(files))

    def index(self) -> str:
        """`MEMORY.md` as it is, empty where there is none."""
        try:
            return self.folder.read((INDEX,), LARGEST_EVER).data.decode("utf-8", "replace")
        except PathNotFound:
            return ""

    def rebuild(self, without: Callable[[str], bool] | None = None) -> bool:
        """
        Rebuild `MEMORY.md` from the files. Returns whether it changed. That of a room is no index, and stays. `without` says
        which lines go even though a person wrote them, and these do not come back after a loss of power.
        """
        if self.root.kind == "channel":
            return False
        changed = False

        def compose(snapshot: FileSnapshot | None) -> bytes | None:
            nonlocal changed
            before = snapshot.data.decode("utf-8", "replace") if snapshot else ""
            own = before if without is None else "".join(f"{x}\n" for x in before.splitlines() if not without(x))
            index = build(self._listed(), own)
            changed = index != before and not (snapshot is None and not index)
            return index.encode("utf-8", "surrogatepass") if changed else None

        self.folder.change((INDEX,), compose, LARGEST_EVER, durable=without is not None)
        return changed

    def _listed(self) -> Sequence[EntryFile]:
        """All entries: those that the index has no room for are counted, too."""
        return self.scan(most=None).entries


def shelf_for(roots: Sequence[Root], kind: EntryType) -> Root | None:
    """Where an entry of this type belongs: `user` and `feedback` with the person, the rest with the workspace."""
    order = ("user", "project", "channel") if kind in ("user", "feedback") else ("project", "channel", "user")
    return next((root for root_kind in order for root in roots if root.kind == root_kind), None)
