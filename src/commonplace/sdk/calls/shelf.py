"""Files of managed memory."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.errors import InvalidInput
from commonplace.sdk.documents import changed, document, part, texts, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.shelf import (
    ShelfChange,
    ShelfFiles,
    ShelfName,
    ShelfRecall,
    ShelfText,
    ShelfUndone,
    ShelfWritten,
)
from commonplace.wire.shelf import (
    ShelfChangesAnswer,
    ShelfRecallAnswer,
    ShelfTextAnswer,
    ShelfUndoneAnswer,
    ShelfWrittenAnswer,
    ShelvesAnswer,
)


def survey() -> Talk[list[ShelfFiles]]:
    def read(body: bytes) -> list[ShelfFiles]:
        return [one.value() for one in ShelvesAnswer.model_validate_json(body).roots]

    return asked(Call(method="GET", path="/v1/managed", read=read, reads=True))


def read(root: ShelfName, path: str) -> Talk[ShelfText]:
    def read_text(body: bytes) -> ShelfText:
        return ShelfTextAnswer.model_validate_json(body).value()

    return asked(Call(method="GET", path=_place(root, path), read=read_text, reads=True))


def write(root: ShelfName, path: str, text: str, etag: str | None) -> Talk[ShelfWritten]:
    condition = ("If-None-Match", "*") if etag is None else ("If-Match", etag)
    body = written({"text": document(text)})
    return asked(Call(method="PUT", path=_place(root, path), body=body, read=_written, condition=condition))


def remove(root: ShelfName, path: str, etag: str) -> Talk[ShelfWritten]:
    return asked(Call(method="DELETE", path=_place(root, path), read=_written, condition=("If-Match", etag)))


def changes() -> Talk[list[ShelfChange]]:
    def read(body: bytes) -> list[ShelfChange]:
        return [one.value() for one in ShelfChangesAnswer.model_validate_json(body).changes]

    return asked(Call(method="GET", path="/v1/managed/changes", read=read, reads=True))


def undo(id: str) -> Talk[ShelfUndone]:
    def read(body: bytes) -> ShelfUndone:
        return ShelfUndoneAnswer.model_validate_json(body).value()

    return asked(Call(method="POST", path=f"/v1/managed/changes/{part(id)}/undo", read=read))


def recall(query: str, tools: Sequence[str], run: str | None) -> Talk[ShelfRecall]:
    def read(body: bytes) -> ShelfRecall:
        return ShelfRecallAnswer.model_validate_json(body).value()

    told = changed({"query": query, "tools": texts(tools), "run": run})
    return asked(Call(method="POST", path="/v1/managed/recall", body=written(told), read=read, reads=True))


def _written(body: bytes) -> ShelfWritten:
    return ShelfWrittenAnswer.model_validate_json(body).value()


def _place(root: str, path: str) -> str:
    if not path:
        raise InvalidInput("Name the file.")
    return f"/v1/managed/{part(root)}/{part(path)}"
