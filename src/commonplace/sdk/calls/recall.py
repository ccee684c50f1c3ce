"""Recall: search, and memory for a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.sdk.documents import changed, document, given, named, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.context import ContextBlock
from commonplace.values.query import Filter, Hit
from commonplace.values.record import Json
from commonplace.values.scope import Scopes, scopes_of
from commonplace.wire.context import ContextAnswer
from commonplace.wire.search import HitsAnswer, SearchBody
from commonplace.wire.shapes import reader


def search(text: str, filter: Filter, options: Mapping[str, object]) -> Talk[list[Hit]]:
    """`options` are what else the question comes with, under the names that `search` of the clients has."""
    body = {**given({**named(SearchBody, filter), **options}), "text": document(text), **_scopes(filter.scopes)}
    call = Call(method="POST", path="/v1/search", body=written(body), decode=reader(HitsAnswer), reads=True)
    return [hit_answer.hit() for hit_answer in (yield from asked(call)).hits]


def context(query: str, scopes: Scopes, options: Mapping[str, object]) -> Talk[ContextBlock]:
    """`options` are what else the question comes with, under the names that `context` of the clients has."""
    body = {**changed({"query": query, **options}), **_scopes(scopes)}
    return (yield from _block(body))


def sections(*, agent: str | None, workspace: str | None, budget: int | None) -> Talk[ContextBlock]:
    if agent is None and workspace is None:
        return ContextBlock()
    body = changed({"agent": agent, "workspace": workspace, "budget": budget})
    return (yield from _block(body))


def _scopes(scopes: Scopes) -> dict[str, Json]:
    """No scope at all is not every scope."""
    scope_filter = scopes_of(scopes)
    return {} if scope_filter is None else {"scopes": [str(scope) for scope in scope_filter]}


def _block(body: dict[str, Json]) -> Talk[ContextBlock]:
    call = Call(method="POST", path="/v1/context", body=written(body), decode=reader(ContextAnswer), reads=True)
    return (yield from asked(call)).block()
