"""Files of managed memory on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from commonplace.values import shelf
from commonplace.values.record import Trust
from commonplace.values.shelf import ShelfName
from commonplace.wire.records import scope_value
from commonplace.wire.shapes import MAX_TEXT, Answer, Body, Count, Moment


class ShelfFileAnswer(Answer):
    """
    `stale`: it was last written so long ago that a recall says so. `problem` says why the file is no entry; then it has no
    type, name, description or etag.
    """

    path: str
    type: str | None
    name: str | None
    description: str | None
    bytes: Count
    modified_at: Moment
    etag: str | None
    stale: bool
    problem: str | None

    @classmethod
    def of(cls, file: shelf.ShelfFile) -> ShelfFileAnswer:
        return cls(
            path=file.path,
            type=file.type,
            name=file.name,
            description=file.description,
            bytes=file.bytes,
            modified_at=file.modified_at,
            etag=file.etag,
            stale=file.stale,
            problem=file.problem,
        )

    def value(self) -> shelf.ShelfFile:
        return shelf.ShelfFile(
            path=self.path,
            type=self.type,
            name=self.name,
            description=self.description,
            bytes=self.bytes,
            modified_at=self.modified_at,
            etag=self.etag,
            stale=self.stale,
            problem=self.problem,
        )


class ShelfAnswer(Answer):
    """A folder of memory: its index, and its files, newest first, at most 1,000 of `total`."""

    root: ShelfName
    scope: str
    trust: Trust
    index: str
    files: list[ShelfFileAnswer]
    total: Count

    @classmethod
    def of(cls, one: shelf.ShelfFiles) -> ShelfAnswer:
        return cls(
            root=one.root,
            scope=str(one.scope),
            trust=one.trust,
            index=one.index,
            files=[ShelfFileAnswer.of(file) for file in one.files],
            total=one.total,
        )

    def value(self) -> shelf.ShelfFiles:
        return shelf.ShelfFiles(
            root=self.root,
            scope=scope_value(self.scope),
            trust=self.trust,
            index=self.index,
            files=tuple(file.value() for file in self.files),
            total=self.total,
        )


class ShelvesAnswer(Answer):
    """The folders that the key reaches."""

    roots: list[ShelfAnswer]


class ShelfTextBody(Body):
    """The whole file, Markdown."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "---\nname: Tone\ntype: feedback\n---\nPlain and short."}]}
    )

    text: str = Field(max_length=MAX_TEXT)


class ShelfTextAnswer(Answer):
    """A file as it is. `etag` is what `If-Match` takes."""

    root: ShelfName
    path: str
    text: str
    bytes: Count
    modified_at: Moment
    etag: str

    @classmethod
    def of(cls, file: shelf.ShelfText) -> ShelfTextAnswer:
        return cls(
            root=file.root,
            path=file.path,
            text=file.text,
            bytes=file.bytes,
            modified_at=file.modified_at,
            etag=file.etag,
        )

    def value(self) -> shelf.ShelfText:
        return shelf.ShelfText(
            root=self.root,
            path=self.path,
            text=self.text,
            bytes=self.bytes,
            modified_at=self.modified_at,
            etag=self.etag,
        )


class ShelfWrittenAnswer(Answer):
    """`file` is null where it was removed. `change` is what can be undone; null where nothing changed."""

    file: ShelfTextAnswer | None
    change: str | None

    @classmethod
    def of(cls, done: shelf.ShelfWritten) -> ShelfWrittenAnswer:
        return cls(file=None if done.file is None else ShelfTextAnswer.of(done.file), change=done.change)

    def value(self) -> shelf.ShelfWritten:
        return shelf.ShelfWritten(file=None if self.file is None else self.file.value(), change=self.change)


class ShelfChangeAnswer(Answer):
    """`what` is remember, forget, dream, edit or undo; `task` the one that did it, where one did."""

    id: str
    root: ShelfName
    what: str
    at: Moment
    paths: list[str]
    task: str | None

    @classmethod
    def of(cls, one: shelf.ShelfChange) -> ShelfChangeAnswer:
        return cls(id=one.id, root=one.root, what=one.what, at=one.at, paths=list(one.paths), task=one.task)

    def value(self) -> shelf.ShelfChange:
        return shelf.ShelfChange(
            id=self.id, root=self.root, what=self.what, at=self.at, paths=tuple(self.paths), task=self.task
        )


class ShelfChangesAnswer(Answer):
    """Newest first; of each folder the last 20 are kept."""

    changes: list[ShelfChangeAnswer]


class ShelfUndoneAnswer(Answer):
    """What was put back, and what was left because somebody had edited it since."""

    restored: list[str]
    left: list[str]

    @classmethod
    def of(cls, done: shelf.ShelfUndone) -> ShelfUndoneAnswer:
        return cls(restored=list(done.restored), left=list(done.left))

    def value(self) -> shelf.ShelfUndone:
        return shelf.ShelfUndone(restored=tuple(self.restored), left=tuple(self.left))
