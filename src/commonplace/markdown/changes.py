"""
Several files changed as one, and changed back as one.

A change is recorded before it is applied: `.history/<id>.json` holds each file's text before and after. So a process that
dies in the middle leaves enough to finish or to undo what it began. `undo` gives every file its earlier text, except a file
that somebody has edited since: that file stays as it is. A root keeps its last 20 changes. What was erased (`markdown.erase`)
is in none of them: such a change has no steps any more, and cannot be undone.
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
from commonplace.markdown.confine import LARGEST_EVER, FileSnapshot, Folder, Parts
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
    """`last` is the file's text when this step was last recorded: a process may have died before it took the step."""

    path: str
    before: str | None
    after: str | None
    last: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """The files that were restored, and those that were not because somebody had edited them."""

    restored: tuple[str, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """A change that can be undone. `by` is the task that made it, if one did; `about` is what else it recorded."""

    id: str
    what: ChangeOf
    at: str
    paths: tuple[str, ...]
    by: str | None = None
    about: Mapping[str, Json] = field(default_factory=dict[str, Json])


FilingOutcome = Literal["saved", "updated", "known"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    The outcome of remembering, forgetting or consolidating: a sentence of at most 500 characters, the files by their whole
    paths, and whose memory they are, sorted. `changes` is what `undo` takes. `fallback` is the code for which rules did what a model
    was to do. Of remembering, `outcome` says what became of the text, and `unsure` which files may belong into another memory.
    """

    summary: str
    files_touched: tuple[str, ...] = ()
    touched_scopes: tuple[RootKind, ...] = ()
    method: Literal["rules", "model"] = "rules"
    changes: tuple[tuple[Root, str], ...] = ()
    fallback: str | None = None
    outcome: FilingOutcome | None = None
    unsure: tuple[str, ...] = ()


def joined_outcome(parts: Sequence[Outcome]) -> Outcome:
    """What became of several facts of one text."""
    summaries = [part.summary for part in parts if part.files_touched] or [part.summary for part in parts]
    kinds = {part.outcome for part in parts}
    return Outcome(
        summary=_cut(" ".join(_sentence(summary) for summary in summaries) if len(parts) > 1 else summaries[0]),
        files_touched=tuple(sorted({file for part in parts for file in part.files_touched})),
        touched_scopes=tuple(sorted({kind for part in parts for kind in part.touched_scopes})),
        changes=tuple(change for part in parts for change in part.changes),
        outcome="updated" if "updated" in kinds else "saved" if "saved" in kinds else "known",
        unsure=tuple(dict.fromkeys(file for part in parts for file in part.unsure)),
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"{text}."


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 1]}…"


def outcome(summary: str, changes: Sequence[ChangeSet]) -> Outcome:
    """The outcome of `changes`, some of which may have changed nothing; their indexes are rebuilt."""
    effective = [change for change in changes if change.paths]
    for change in effective:
        Shelf(change.root).rebuild()
    return Outcome(
        summary=_cut(summary),
        files_touched=tuple(sorted(str(change.root.path / path) for change in effective for path in change.paths)),
        touched_scopes=tuple(sorted({change.root.kind for change in effective})),
        changes=tuple((change.root, change.id) for change in effective),
    )


class ChangeSet:
    """
    One change of a root, made step by step. Each step is recorded, then taken. `expected` is the file as it was read
    (None: there must be none). Raises FileChanged if the file is another one by now, or if something was erased since the
    change began. `alone`: the caller holds the root's gate. `about` is recorded with the change.
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

    def write(self, parts: Parts, text: str, *, expected: FileSnapshot | None) -> FileSnapshot:
        with self._passing():
            self._require(parts, expected)
            self._plan(parts, expected, text)
            self._note()
            stamp = expected.stamp if expected else None
            present = self.root.folder.write(parts, text.encode("utf-8"), expected=stamp)
        self._taken.add("/".join(parts))
        return present

    def remove(self, parts: Parts, *, expected: FileSnapshot) -> None:
        self.remove_all([(parts, expected)])

    def remove_all(self, files: Sequence[tuple[Parts, FileSnapshot]]) -> None:
        """Record all of them together, then remove them one by one."""
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
        """Nothing is recorded here of a file that was erased meanwhile."""
        if self._alone:
            yield
            return
        with shared(self.root) as epoch:
            if epoch != self._epoch:
                raise FileChanged("Something was erased from this memory meanwhile. Begin anew.")
            yield

    def _require(self, parts: Parts, expected: FileSnapshot | None) -> None:
        """Check the file before its text is recorded. Raises FileChanged."""
        present = file_at(self.root.folder, parts)
        if (present and present.stamp) != (expected and expected.stamp):
            raise FileChanged(path="/".join(parts))

    def _plan(self, parts: Parts, before: FileSnapshot | None, after: str | None) -> None:
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


def keep_change(root: Root, change: Past, steps: Sequence[FileStep], *, epoch: str) -> None:
    """Record a change that was made without a `ChangeSet`, unless something was erased since `epoch`."""
    with shared(root) as present:
        if present == epoch:
            history = history_of(root)
            write_down(history, f"{change.id}.json", change, steps)
            _prune(history)


def past(root: Root) -> list[Past]:
    """The changes that can be undone, newest first."""
    return [change for change, steps in noted(root) if steps]


def noted(root: Root) -> list[tuple[Past, list[FileStep]]]:
    """Every recorded change with its steps, newest first. One that erased has none."""
    history = history_of(root)
    changes: list[tuple[Past, list[FileStep]]] = []
    for name in names_in(history):
        with suppress(InvalidFile, PathNotFound):
            changes.append(read_change(history, name))
    return sorted(changes, key=lambda pair: pair[0].at, reverse=True)


def undo(root: Root, id: str, now: datetime) -> Undone:
    """
    Undo the change `id`, as a change of its own, and rebuild the index.

    Raises:
        NothingToUndo: there is no such change, or it is too long ago.
    """
    # Before anything is read: what is erased meanwhile does not come back.
    back = ChangeSet(root, "undo", now)
    try:
        _, steps = read_change(history_of(root), f"{id}.json")
    except (PathNotFound, InvalidFile):
        steps = []
    if not steps:
        raise NothingToUndo(f"There is no change {id[:80]!a} to take back.")
    conflicts = [step.path for step in steps if not _take_back(back, step)]
    Shelf(root).rebuild()
    return Undone(restored=back.paths, conflicts=tuple(sorted(conflicts)))


def undo_task(root: Root, by: str, now: datetime) -> None:
    """Undo whatever the task `by` changed here, the last change first: it died in the middle, and starts again."""
    for change in past(root):
        if change.by == by:
            undo(root, change.id, now)


def _take_back(back: ChangeSet, step: FileStep) -> bool:
    """False if the file is neither as the change left it, or was about to leave it, nor as it was before."""
    parts = tuple(step.path.split("/"))
    snapshot = file_at(back.root.folder, parts)
    now, before, after = _text(snapshot), step.before, step.after
    if now == before:
        return True
    if now not in (after, step.last):
        return False
    try:
        if before is not None:
            back.write(parts, before, expected=snapshot)
        elif snapshot is not None:
            back.remove(parts, expected=snapshot)
    except FileChanged:
        return False
    return True


def file_at(folder: Folder, parts: Parts) -> FileSnapshot | None:
    """The file as it is; None if there is none."""
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
    """Remove a recorded change, whatever it says."""
    present = history.read((name,), LARGEST_EVER)
    history.remove((name,), expected=present.stamp, most=LARGEST_EVER, durable=durable)


def names_in(history: Folder) -> list[str]:
    """The files of recorded changes, oldest first: their ids sort by time, whatever made them."""
    try:
        names = [entry.name for entry in history.listing() if entry.name.endswith(".json")]
    except PathNotFound:
        return []
    return sorted(names, key=lambda name: name.partition("-")[2])


def _prune(history: Folder) -> None:
    for name in names_in(history)[:-KEPT]:
        with suppress(PathNotFound, FileChanged):
            drop(history, name, durable=False)


def read_change(history: Folder, name: str) -> tuple[Past, list[FileStep]]:
    """A change as it was recorded. Raises InvalidFile if the file holds none: somebody else may have written the folder."""
    if "/" in name or "\0" in name or name.startswith("."):
        raise InvalidFile
    snapshot = history.read((name,), LARGEST_EVER)
    try:
        document = cast(Mapping[str, object], json.loads(snapshot.data))
        rows = document["steps"]
        if not isinstance(rows, list):
            raise InvalidFile
        steps = [_step(row) for row in cast(list[Mapping[str, object]], rows)]
        what = cast(ChangeOf, str(document["what"]))
        paths = tuple(sorted(step.path for step in steps))
        by, about = document.get("by"), document.get("about")
        change = Past(
            id=str(document["id"]),
            what=what,
            at=str(document["at"]),
            paths=paths,
            by=by if isinstance(by, str) else None,
            about=cast("dict[str, Json]", about) if isinstance(about, dict) else {},
        )
        return change, steps
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidFile from None


def _step(row: Mapping[str, object]) -> FileStep:
    path, before, after = row["path"], row["before"], row["after"]
    if not isinstance(path, str) or not isinstance(before, str | None) or not isinstance(after, str | None):
        raise TypeError
    last = row.get("last", before)
    if not isinstance(last, str | None):
        raise TypeError
    return FileStep(path, before, after, last)


def _text(snapshot: FileSnapshot | None) -> str | None:
    """Bytes that are no text are represented by their hash: we never put such bytes back."""
    if snapshot is None:
        return None
    try:
        return snapshot.data.decode("utf-8")
    except UnicodeDecodeError:
        return f"sha256:{sha256(snapshot.data).hexdigest()}"
