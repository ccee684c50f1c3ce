"""Review and rollback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from commonplace.sdk.documents import changed, given, named_scopes, part, query, texts, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.record import Json, Record, Trust
from commonplace.values.review import Origin, RolledBack, WaitingPage
from commonplace.values.scope import Scopes
from commonplace.values.upkeep import Purged
from commonplace.wire.changes import PurgedAnswer
from commonplace.wire.review import ReleasedAnswer, RolledBackAnswer, WaitingPageAnswer


def waiting(
    scopes: Scopes, source: str | None, session: str | None, limit: int, cursor: str | None
) -> Talk[WaitingPage]:
    def read(body: bytes) -> WaitingPage:
        return WaitingPageAnswer.model_validate_json(body).value()

    told = query(
        {"scope": named_scopes(scopes), "source": source, "session": session, "limit": limit, "cursor": cursor}
    )
    return asked(Call(method="GET", path="/v1/review", query=told, read=read, reads=True))


def _named(ids: Sequence[str], source: str | None, session: str | None, reason: str) -> dict[str, Json]:
    told = changed({"source": source, "session": session, "reason": reason})
    named: list[Json] = [*texts(ids)]
    return {**told, **({"ids": named} if named else {})}


def release(
    ids: Sequence[str],
    source: str | None,
    session: str | None,
    reason: str,
    trust: Trust | None,
    expected: Mapping[str, int] | None,
) -> Talk[list[Record]]:
    def read(body: bytes) -> list[Record]:
        return [one.value() for one in ReleasedAnswer.model_validate_json(body).records]

    told = {**_named(ids, source, session, reason), **given({"trust": trust, "versions": expected})}
    return asked(Call(method="POST", path="/v1/review/release", body=written(told), read=read, endless=True))


def purge(ids: Sequence[str], source: str | None, session: str | None, reason: str) -> Talk[Purged]:
    def read(body: bytes) -> Purged:
        return PurgedAnswer.model_validate_json(body).value()

    told = _named(ids, source, session, reason)
    return asked(Call(method="POST", path="/v1/review/purge", body=written(told), read=read, endless=True))


def decide_finding(id: str, step: Literal["release", "purge"], reason: str) -> Talk[None]:
    def read(body: bytes) -> None:
        del body

    path = f"/v1/review/findings/{part(id)}/{step}"
    return asked(Call(method="POST", path=path, body=written({"reason": reason}), read=read))


def change_finding(id: str, step: Literal["promote", "deprecate"], fields: Mapping[str, object]) -> Talk[None]:
    def read(body: bytes) -> None:
        del body

    path = f"/v1/knowledge/items/{part(id)}/{step}"
    return asked(Call(method="POST", path=path, body=written(changed(fields)), read=read))


def rollback(origin: Origin, reason: str, dry_run: bool) -> Talk[RolledBack]:
    def read(body: bytes) -> RolledBack:
        return RolledBackAnswer.model_validate_json(body).value()

    told = changed(
        {
            "source": origin.source,
            "session": origin.session,
            "actor": origin.actor,
            "import": origin.imported,
            "rollback": origin.rollback,
            "since": origin.since,
            "reason": reason,
            "dry_run": dry_run,
        }
    )
    return asked(Call(method="POST", path="/v1/rollback", body=written(told), read=read, endless=True))
