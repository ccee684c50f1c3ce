"""Remember, forget and dream: a task is queued, and looked at until it is over."""

from __future__ import annotations

from commonplace.sdk.documents import given, part, written
from commonplace.sdk.talk import Call, Talk, asked, waiting
from commonplace.values.task import ContextMode, MemoryTask, TargetScope, TaskKind
from commonplace.wire.lanes import MemoryTaskAnswer


def _read(body: bytes) -> MemoryTask:
    return MemoryTaskAnswer.model_validate_json(body).value()


def remember(content: str, context_mode: ContextMode, scope: TargetScope | None) -> Talk[MemoryTask]:
    body = given({"content": content, "context_mode": context_mode, "scope": scope})
    return asked(Call(method="POST", path="/v1/remember", body=written(body), read=_read))


def forget(query: str, scope: TargetScope | None) -> Talk[MemoryTask]:
    body = given({"query": query, "scope": scope})
    return asked(Call(method="POST", path="/v1/forget", body=written(body), read=_read))


def dream() -> Talk[MemoryTask]:
    return asked(Call(method="POST", path="/v1/dream", read=_read))


def task(kind: TaskKind, id: str, wait: float) -> Talk[MemoryTask]:
    return asked(
        Call(method="GET", path=f"/v1/{kind}/{part(id)}", query=waiting(wait), read=_read, reads=True, waits=wait)
    )
