"""Recall: search, and memory for a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.sdk.documents import changed, document, given, texts, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.context import ContextBlock
from commonplace.values.query import Hit
from commonplace.values.record import Json
from commonplace.values.scope import Scopes, scopes_of
from commonplace.wire.context import ContextAnswer
from commonplace.wire.search import HitsAnswer

_SEVERAL = ("kinds", "sources", "tags", "trust", "sessions")


def search(text: str, scopes: Scopes, asking: Mapping[str, Any]) -> Talk[list[Hit]]:
    """`asking` is what else the question comes with, under the names that `search` of the clients has."""

    def read(body: bytes) -> list[Hit]:
        return [hit.value() for hit in HitsAnswer.model_validate_json(body).hits]

    told = given({**asking, **{name: texts(asking[name]) for name in _SEVERAL}})
    body: dict[str, Json] = {**told, "text": document(text), **_scopes(scopes)}
    return asked(Call(method="POST", path="/v1/search", body=written(body), read=read, reads=True))


def context(query: str, *, scopes: Scopes, session: str | None, budget: int | None) -> Talk[ContextBlock]:
    body = {**changed({"query": query, "session": session, "budget": budget}), **_scopes(scopes)}
    return asked(Call(method="POST", path="/v1/context", body=written(body), read=_block, reads=True))


def sections(*, agent: str | None, workspace: str | None, budget: int | None) -> Talk[ContextBlock]:
    if agent is None and workspace is None:
        return ContextBlock()
    body = changed({"agent": agent, "workspace": workspace, "budget": budget})
    call = Call(method="POST", path="/v1/context", body=written(body), read=_block, reads=True)
    return (yield from asked(call))


def _scopes(scopes: Scopes) -> dict[str, Json]:
    """No scope at all is not every scope."""
    read = scopes_of(scopes)
    return {} if read is None else {"scopes": [str(scope) for scope in read]}


def _block(body: bytes) -> ContextBlock:
    return ContextAnswer.model_validate_json(body).value()
