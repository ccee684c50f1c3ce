"""
Several files changed as one, and changed back as one.

A change is written down before it is made: `.history/<id>.json` holds each file's text before and after. So a process that
dies in the middle leaves enough to finish or to take back what it began. `undo` gives every file its text from before,
except one that somebody edited since: that one stays as they left it. The last 20 changes of a root are kept. What was erased
(`managed.erase`) is in none of them: such a change has no steps any more, and is none to take back.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal, cast

from commonplace.errors import FileChanged, InvalidFile, NothingToUndo, PathNotFound
from commonplace.markdown.confine import LARGEST_EVER, Folder, Held, Parts
from commonplace.markdown.gate import epoch_of, shared
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.values.file_ref import RootKind
from commonplace.values.moment import new_id, to_iso, utc
from commonplace.values.record import Json

ChangeOf = Literal["remember", "forget", "dream", "edit", "undo", "purge"]
HISTORY: Final = ".history"
KEPT: Final = 20
MAX_SUMMARY: Final = 500


@dataclass(slots=True)
class FileStep:
    """`last` is what the file said when this was written down last: a process may have died before it took the step."""

    path: str
    before: str | None
    after: str | None
    last: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What was put back, and what was left because somebody had edited it."""

    restored: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """A change that can be taken back. `by` is the task that made it, where one did, `about` what else it noted."""

    id: str
    what: ChangeOf
    at: str
    paths: tuple[str, ...]
    by: str | None = None
    about: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    What came of remembering, forgetting or dreaming: a sentence of at most 500 characters, the files by their whole paths, and
    whose memory they are, sorted. `refused` says why nothing was done; `changes` is what `undo` takes.
    """

    summary: str
    files_touched: tuple[str, ...] = ()
    touched_scopes: tuple[RootKind, ...] = ()
    method: Literal["rules", "model"] = "rules"
    refused: str | None = None
    changes: tuple[tuple[Root, str], ...] = ()


def outcome(summary: str, changes: Sequence[Change]) -> Outcome:
    """The outcome of `changes`, of which some may have changed nothing; the indexes are brought up to it."""
    made = [change for change in changes if change.paths]
    for change in made:
        Shelf(change.root).rebuild()
    return Outcome(
        summary=summary if len(summary) <= MAX_SUMMARY else f"{summary[: MAX_SUMMARY - 1]}…",
        files_touched=tuple(sorted(str(change.root.path / path) for change in made for path in change.paths)),
        touched_scopes=tuple(sorted({change.root.kind for change in made})),
        changes=tuple((change.root, change.id) for change in made),
    )


class Change:
    """
    One change of a root, made step by step. Each step is written down, then taken. `expected` is the file as it was read
    (None: there must be none); FileChanged where it is another, or where something was erased since the change began. `alone`:
    the caller holds the root's gate. `about` is noted with it.
    """

    def __init__(
        self,
        root: Root,
        what: ChangeOf,
        now: datetime,
        by: str | None = None,
        *,
        alone: bool = False,
        about: Mapping[str, Json] | None = None,
    ) -> None:
        self.root = root
        self._by = by
        self.id = f"{what}-{new_id(now)}"
        self._what: ChangeOf = what
        self._at = utc(now)
        self._alone = alone
        self._about = dict(about or {})
        self._epoch = "" if alone else epoch_of(root)
        self._steps: dict[str, FileStep] = {}
        self._taken: set[str] = set()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files touched so far, sorted."""
        return tuple(sorted(self._taken))

    def write(self, parts: Parts, text: str, *, expected: Held | None) -> Held:
        with self._passing():
            self._require(parts, expected)
            self._plan(parts, expected, text)
            self._note()
            stamp = expected.stamp if expected else None
            present = self.root.folder.write(parts, text.encode("utf-8"), expected=stamp)
        self._taken.add("/".join(parts))
        return present

    def remove(self, parts: Parts, *, expected: Held) -> None:
        self.remove_all([(parts, expected)])

    def remove_all(self, files: Sequence[tuple[Parts, Held]]) -> None:
        """Written down together, then removed one by one."""
        with self._passing():
            for parts, expected in files:
                self._require(parts, expected)
                self._plan(parts, expected, None)
            self._note()
            for parts, expected in files:
                self.root.folder.remove(parts, expected=expected.stamp)
                self._taken.add("/".join(parts))

    @contextmanager
    def _passing(self) -> Generator[None]:
        """What is noted here is not of a file that was erased meanwhile."""
        if self._alone:
            yield
            return
        with shared(self.root) as epoch:
            if epoch != self._epoch:
                raise FileChanged("Something was erased from this memory meanwhile. Begin anew.")
            yield

    def _require(self, parts: Parts, expected: Held | None) -> None:
        """Before its text is noted. Raises FileChanged."""
        present = held_at(self.root.folder, parts)
        if (present and present.stamp) != (expected and expected.stamp):
            raise FileChanged(path="/".join(parts))

    def _plan(self, parts: Parts, before: Held | None, after: str | None) -> None:
        path = "/".join(parts)
        step = self._steps.get(path)
        text = _text(before)
        if step is None:
            self._steps[path] = FileStep(path, text, after, text)
        else:
            step.after, step.last = after, text

    def _note(self) -> None:
        change = Past(
            id=self.id,
            what=self._what,
            at=to_iso(self._at),
            paths=tuple(self._steps),
            by=self._by,
            about=self._about,
        )
        history = history_of(self.root)
        write_down(history, f"{self.id}.json", change, list(self._steps.values()))
        if not self._taken:
            _prune(history)


def past(root: Root) -> list[Past]:
    """The changes that can be taken back, newest first."""
    return [change for change, steps in noted(root) if steps]


def noted(root: Root) -> list[tuple[Past, list[FileStep]]]:
    """Every change that was written down and its steps, newest first. One that erased has none."""
    history = history_of(root)
    changes: list[tuple[Past, list[FileStep]]] = []
    for name in names_in(history):
        with suppress(InvalidFile, PathNotFound):
            changes.append(read_change(history, name))
    return sorted(changes, key=lambda pair: pair[0].at, reverse=True)


def undo(root: Root, id: str, now: datetime) -> Undone:
    """
    Take back the change `id`, as a change of its own, and bring the index up to it.

    Raises:
        NothingToUndo: there is no such change, or it is too long ago.
    """
    # Before anything is read: what is erased meanwhile does not come back.
    back = Change(root, "undo", now)
    try:
        _, steps = read_change(history_of(root), f"{id}.json")
    except (PathNotFound, InvalidFile):
        steps = []
    if not steps:
        raise NothingToUndo(f"There is no change {id[:80]!a} to take back.")
    left = [step.path for step in steps if not _take_back(back, step)]
    Shelf(root).rebuild()
    return Undone(restored=back.paths, left=tuple(sorted(left)))


def undo_task(root: Root, by: str, now: datetime) -> None:
    """Take back whatever the task `by` changed here, the last first: it died in the middle, and begins anew."""
    for one in past(root):
        if one.by == by:
            undo(root, one.id, now)


def _take_back(back: Change, step: FileStep) -> bool:
    """False where the file is neither as the change left it, or was about to, nor as it was before."""
    parts = tuple(step.path.split("/"))
    held = held_at(back.root.folder, parts)
    now, before, after = _text(held), step.before, step.after
    if now == before:
        return True
    if now not in (after, step.last):
        return False
    try:
        if before is not None:
            back.write(parts, before, expected=held)
        elif held is not None:
            back.remove(parts, expected=held)
    except FileChanged:
        return False
    return True


def held_at(folder: Folder, parts: Parts) -> Held | None:
    """The file as it is, None where there is none."""
    try:
        return folder.read(parts)
    except PathNotFound:
        return None


def history_of(root: Root) -> Folder:
    return Folder(root.anchor, (*root.inside, HISTORY))


def write_down(history: Folder, name: str, change: Past, steps: Sequence[FileStep]) -> None:
    content: dict[str, object] = {
        "id": change.id,
        "what": change.what,
        "at": change.at,
        "by": change.by,
        "steps": [asdict(step) for step in steps],
    }
    if change.about:
        content["about"] = dict(change.about)
    data = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    history.change((name,), lambda _: data, LARGEST_EVER)


def drop(history: Folder, name: str, *, durable: bool = True) -> None:
    """Remove a change that was written down, whatever it says."""
    present = history.read((name,), LARGEST_EVER)
    history.remove((name,), expected=present.stamp, most=LARGEST_EVER, durable=durable)


def names_in(history: Folder) -> list[str]:
    """Their ids sort by birth, whatever made them."""
    try:
        names = [one.name for one in history.listing() if one.name.endswith(".json")]
    except PathNotFound:
        return []
    return sorted(names, key=lambda name: name.partition("-")[2])


def _prune(history: Folder) -> None:
    for name in names_in(history)[:-KEPT]:
        with suppress(PathNotFound, FileChanged):
            drop(history, name, durable=False)


def read_change(history: Folder, name: str) -> tuple[Past, list[FileStep]]:
    """A change as it was written down. Raises InvalidFile where it is none: the folder may be a stranger's."""
    if "/" in name or "\0" in name or name.startswith("."):
        raise InvalidFile
    held = history.read((name,), LARGEST_EVER)
    try:
        told = cast(Mapping[str, object], json.loads(held.data))
        listed = told["steps"]
        if not isinstance(listed, list):
            raise InvalidFile
        steps = [_step(one) for one in cast(list[Mapping[str, object]], listed)]
        what = cast(ChangeOf, str(told["what"]))
        paths = tuple(sorted(step.path for step in steps))
        by, about = told.get("by"), told.get("about")
        change = Past(
            id=str(told["id"]),
            what=what,
            at=str(told["at"]),
            paths=paths,
            by=by if isinstance(by, str) else None,
            about=cast("dict[str, Json]", about) if isinstance(about, dict) else {},
        )
        return change, steps
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidFile from None


def _step(told: Mapping[str, object]) -> FileStep:
    path, before, after = told["path"], told["before"], told["after"]
    if not isinstance(path, str) or not isinstance(before, str | None) or not isinstance(after, str | None):
        raise TypeError
    last = told.get("last", before)
    if not isinstance(last, str | None):
        raise TypeError
    return FileStep(path, before, after, last)


def _text(held: Held | None) -> str | None:
    """Bytes that are no text are told by their hash: they are never ours to put back."""
    if held is None:
        return None
    try:
        return held.data.decode("utf-8")
    except UnicodeDecodeError:
        return f"sha256:{sha256(held.data).hexdigest()}"
