"""Files of managed memory on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from commonplace.values import shelf
from commonplace.values.record import Trust
from commonplace.values.shelf import ShelfName
from commonplace.wire.records import scope_value
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Answer, Body, Count, Label, Moment, Question


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


class ShelfRecallBody(Body):
    """`tools` are those at hand in the turn: what only tells how to use one of them is left out, but not what warns of it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "How do we write release notes?", "tools": ["grep_search"]}]}
    )

    query: Question
    tools: list[Label] = Field(default=[], max_length=MAX_LIST)
    run: Label | None = Field(
        default=None, description="Into which run it is recalled. What is recalled is not learned from it again."
    )


class ShelfRecalledAnswer(Answer):
    """`body` has at most 1,200 characters and no secret. `note` says that the entry is old, where it is."""

    root: ShelfName
    path: str
    type: str
    name: str
    description: str
    body: str
    score: Count
    note: str | None
    trust: Trust

    @classmethod
    def of(cls, one: shelf.ShelfRecalled) -> ShelfRecalledAnswer:
        return cls(
            root=one.root,
            path=one.path,
            type=one.type,
            name=one.name,
            description=one.description,
            body=one.body,
            score=one.score,
            note=one.note,
            trust=one.trust,
        )

    def value(self) -> shelf.ShelfRecalled:
        return shelf.ShelfRecalled(
            root=self.root,
            path=self.path,
            type=self.type,
            name=self.name,
            description=self.description,
            body=self.body,
            score=self.score,
            note=self.note,
            trust=self.trust,
        )


class ShelfRecallAnswer(Answer):
    """At most five entries, best first. `text` is the block for a prompt, fenced as data; empty where nothing fits."""

    entries: list[ShelfRecalledAnswer]
    text: str

    @classmethod
    def of(cls, found: shelf.ShelfRecall) -> ShelfRecallAnswer:
        return cls(entries=[ShelfRecalledAnswer.of(one) for one in found.entries], text=found.text)

    def value(self) -> shelf.ShelfRecall:
        return shelf.ShelfRecall(entries=tuple(one.value() for one in self.entries), text=self.text)
