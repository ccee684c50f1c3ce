"""The entries of one root: looked through, written, removed, and listed in the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.errors import PathNotFound
from commonplace.markdown.confine import LARGEST_EVER, Found, Held
from commonplace.markdown.entries import EntryType, Kept, Problem, load
from commonplace.markdown.index import build
from commonplace.markdown.roots import INDEX, Root

MOST_SCANNED: Final = 200


@dataclass(frozen=True, slots=True)
class Scan:
    """Entries newest first, files that are none, and how many files there are in all."""

    entries: tuple[Kept, ...]
    problems: tuple[Problem, ...]
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

    def files(self) -> list[Found]:
        """Every file that may hold an entry, newest first."""
        found = [one for one in self.folder.walk() if one.parts != (INDEX,)]
        return sorted(found, key=lambda one: (-one.mtime, one.path))

    def scan(self, most: int | None = MOST_SCANNED) -> Scan:
        """Read the newest files, at most `most` (None: all of them)."""
        files = self.files()
        read = [load(self.folder, one, self.default) for one in (files if most is None else files[:most])]
        entries = tuple(one for one in read if isinstance(one, Kept))
        return Scan(entries, tuple(one for one in read if isinstance(one, Problem)), len(files))

    def index(self) -> str:
        """`MEMORY.md` as it is, empty where there is none."""
        try:
            return self.folder.read((INDEX,), LARGEST_EVER).data.decode("utf-8", "replace")
        except PathNotFound:
            return ""

    def rebuild(self, without: Callable[[str], bool] | None = None) -> bool:
        """
        Bring `MEMORY.md` up to the files. Answers whether it changed. That of a room is no index, and stays. `without` tells
        which lines go even though a person wrote them, and these do not come back after a loss of power.
        """
        if self.root.kind == "channel":
            return False
        changed = False

        def compose(held: Held | None) -> bytes | None:
            nonlocal changed
            before = held.data.decode("utf-8", "replace") if held else ""
            own = before if without is None else "".join(f"{x}\n" for x in before.splitlines() if not without(x))
            made = build(self._listed(), own)
            changed = made != before and not (held is None and not made)
            return made.encode("utf-8", "surrogatepass") if changed else None

        self.folder.change((INDEX,), compose, LARGEST_EVER, durable=without is not None)
        return changed

    def _listed(self) -> Sequence[Kept]:
        """All entries: those that the index has no room for are counted, too."""
        return self.scan(most=None).entries


def shelf_for(roots: Sequence[Root], kind: EntryType) -> Root | None:
    """Where an entry of this type belongs: a person's and their feedback with the person, the rest with the workspace."""
    wanted = ("user", "project", "channel") if kind in ("user", "feedback") else ("project", "channel", "user")
    return next((root for one in wanted for root in roots if root.kind == one), None)
