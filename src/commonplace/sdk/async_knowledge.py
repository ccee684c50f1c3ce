"""The part of the client that is about what earlier runs found out."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeVar, Unpack

from commonplace.errors import InvalidInput
from commonplace.ports.memory_client import KnowledgeClient
from commonplace.sdk.async_connection import AsyncDaemonConnection
from commonplace.sdk.documents import changed, given, part, query, written
from commonplace.sdk.talk import Call, asked
from commonplace.values.knowledge import (
    FindingFields,
    FindingFilters,
    Item,
    Preflight,
    PreflightFields,
    Recording,
    ReviewFields,
    Space,
    SpaceFields,
)
from commonplace.values.record import Json
from commonplace.wire.knowledge import (
    ItemAnswer,
    ItemsAnswer,
    PreflightAnswer,
    RecordedItemAnswer,
    SpaceAnswer,
    SpacesAnswer,
)
from commonplace.wire.shapes import reader

T = TypeVar("T")


class AsyncKnowledge(KnowledgeClient):
    """Findings over a connection to a daemon."""

    _daemon: AsyncDaemonConnection

    async def create_space(self, namespace: str = "general", **fields: Unpack[SpaceFields]) -> Space:
        if fields.get("project") and fields.get("run"):
            raise InvalidInput("A space is of a project or of a run, not of both.")
        scope = "project" if fields.get("project") else "run" if fields.get("run") else "global"
        body = given({**fields, "scope": scope, "namespace": namespace})
        return (await self._post("/v1/knowledge/spaces", SpaceAnswer, body)).value()

    async def spaces(self) -> builtins.list[Space]:
        answer = await self._read("/v1/knowledge/spaces", SpacesAnswer, {})
        return [space.value() for space in answer.spaces]

    async def record_finding(self, space: str, title: str, **fields: Unpack[FindingFields]) -> Recording:
        body = given({**fields, "space": space, "title": title})
        return (await self._post("/v1/knowledge/items", RecordedItemAnswer, body)).recording()

    async def findings(self, **filters: Unpack[FindingFilters]) -> builtins.list[Item]:
        names = {"spaces": "space", "statuses": "status"}
        parameters = {names.get(name, name): value for name, value in filters.items()}
        answer = await self._read("/v1/knowledge/items", ItemsAnswer, parameters)
        return [item.value() for item in answer.items]

    async def finding(self, id: str) -> Item:
        return (await self._read(f"/v1/knowledge/items/{part(id)}", ItemAnswer, {})).value()

    async def refresh_finding(
        self, id: str, *, freshness_expires_at: datetime | None = None, reason: str | None = None
    ) -> Item:
        body = changed({"freshness_expires_at": freshness_expires_at, "reason": reason})
        return (await self._post(f"/v1/knowledge/items/{part(id)}/refresh", ItemAnswer, body)).value()

    async def preflight(self, subject: str, **fields: Unpack[PreflightFields]) -> Preflight:
        freshness = fields.get("freshness")
        age = None if freshness is None else int(freshness.total_seconds() * 1000)
        spaces = [*fields.get("spaces", ())]
        binding = changed({"trust_floor": fields.get("trust_floor"), "read_spaces": spaces, "freshness_ms": age})
        names = ("project", "namespace", "task_family")
        place = changed({"subject": subject, **{name: fields.get(name) for name in names}})
        return (await self._post("/v1/knowledge/preflight", PreflightAnswer, {**place, "binding": binding})).value()

    async def release_finding(self, id: str, *, reason: str) -> None:
        await self._post_only(f"/v1/review/findings/{part(id)}/release", {"reason": reason})

    async def purge_finding(self, id: str, *, reason: str) -> None:
        await self._post_only(f"/v1/review/findings/{part(id)}/purge", {"reason": reason})

    async def promote_finding(
        self, id: str, *, to: Literal["promoted", "approved_default"] = "promoted", **review: Unpack[ReviewFields]
    ) -> None:
        names = {"reviewer": "reviewer_id", "approval": "approval_id"}
        changes = {"status": to, **{names.get(name, name): value for name, value in review.items()}}
        await self._post_only(f"/v1/knowledge/items/{part(id)}/promote", changed(changes))

    async def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        changes = {"reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        await self._post_only(f"/v1/knowledge/items/{part(id)}/deprecate", changed(changes))

    async def _read(self, path: str, answer: type[T], parameters: Mapping[str, object]) -> T:
        call = Call(method="GET", path=path, query=query(parameters), decode=reader(answer), reads=True)
        return await self._daemon.ask(asked(call))

    async def _post(self, path: str, answer: type[T], body: Mapping[str, Json]) -> T:
        return await self._daemon.ask(asked(Call(method="POST", path=path, body=written(body), decode=reader(answer))))

    async def _post_only(self, path: str, body: Mapping[str, Json]) -> None:
        """As above, for an answer that nobody reads."""
        await self._daemon.ask(asked(Call(method="POST", path=path, body=written(body), decode=len)))
