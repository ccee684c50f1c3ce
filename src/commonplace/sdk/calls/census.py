"""How much there is and of what."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.errors import InvalidInput
from commonplace.sdk.calls.records import narrowed
from commonplace.sdk.documents import query, record_path
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.census import By, Latency, Recalls, ScopeCounts, Tally, Weight
from commonplace.values.query import Filters
from commonplace.values.record import State
from commonplace.values.scope import ScopeKind, Scopes
from commonplace.wire.census import CountsAnswer, LatencyAnswer, RecallsAnswer, ScopesAnswer, WeightsAnswer


def scopes(text: str, kinds: Sequence[ScopeKind], limit: int) -> Talk[ScopeCounts]:
    def read(body: bytes) -> ScopeCounts:
        return ScopesAnswer.model_validate_json(body).value()

    wanted = query({"q": text or None, "kind": kinds, "limit": limit})
    return asked(Call(method="GET", path="/v1/scopes", query=wanted, read=read, reads=True))


def counts(by: By | Sequence[By], scopes: Scopes, states: Sequence[State], filters: Filters) -> Talk[Tally]:
    def read(body: bytes) -> Tally:
        return CountsAnswer.model_validate_json(body).value()

    wanted = narrowed(scopes, states, filters)
    if wanted is None:
        return Tally()
    named = [by] if isinstance(by, str) else [*by]
    if not named:
        raise InvalidInput("Say by what to count.")
    told = (*wanted, *query({"by": named}))
    return (yield from asked(Call(method="GET", path="/v1/counts", query=told, read=read, reads=True)))


def recalls(id: str, limit: int) -> Talk[Recalls]:
    def read(body: bytes) -> Recalls:
        return RecallsAnswer.model_validate_json(body).value()

    path = record_path(id, "recalls")
    return asked(Call(method="GET", path=path, query=query({"limit": limit}), read=read, reads=True))


def weights() -> Talk[list[Weight]]:
    def read(body: bytes) -> list[Weight]:
        return [one.value() for one in WeightsAnswer.model_validate_json(body).weights]

    return asked(Call(method="GET", path="/v1/weights", read=read, reads=True))


def latency() -> Talk[Latency]:
    def read(body: bytes) -> Latency:
        return LatencyAnswer.model_validate_json(body).value()

    return asked(Call(method="GET", path="/v1/latency", read=read, reads=True))
