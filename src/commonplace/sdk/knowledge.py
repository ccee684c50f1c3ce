# Generated from async_knowledge.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The part of the client that is about what earlier runs found out."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeVar, Unpack

from commonplace.errors import InvalidInput
from commonplace.sdk.connection import DaemonConnection
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


class Knowledge:
    """Findings over a connection to a daemon."""

    _daemon: DaemonConnection

    def create_space(self, namespace: str = "general", **fields: Unpack[SpaceFields]) -> Space:
        """Make a space for findings: of a project, of a run, or (neither) of everybody. One that is there already is answered."""
        if fields.get("project") and fields.get("run"):
            raise InvalidInput("A space is of a project or of a run, not of both.")
        scope = "project" if fields.get("project") else "run" if fields.get("run") else "global"
        body = given({**fields, "scope": scope, "namespace": namespace})
        return (self._post("/v1/knowledge/spaces", SpaceAnswer, body)).value()

    def spaces(self) -> builtins.list[Space]:
        """The spaces in reach, by namespace."""
        answer = self._read("/v1/knowledge/spaces", SpacesAnswer, {})
        return [space.value() for space in answer.spaces]

    def record_finding(self, space: str, title: str, **fields: Unpack[FindingFields]) -> Recording:
        """
        Record what was found out, as `working`. The same finding again is `refreshed`; with other words under the same `dedupe_key` it is
        the working `successor` of the one there; one that looks like an attack is `quarantined`. `outcome` says which.
        """
        body = given({**fields, "space": space, "title": title})
        return (self._post("/v1/knowledge/items", RecordedItemAnswer, body)).recording()

    def findings(self, **filters: Unpack[FindingFilters]) -> builtins.list[Item]:
        """Findings in reach, newest first."""
        names = {"spaces": "space", "statuses": "status"}
        parameters = {names.get(name, name): value for name, value in filters.items()}
        answer = self._read("/v1/knowledge/items", ItemsAnswer, parameters)
        return [item.value() for item in answer.items]

    def finding(self, id: str) -> Item:
        """One finding. Raises NotFound."""
        return (self._read(f"/v1/knowledge/items/{part(id)}", ItemAnswer, {})).value()

    def refresh_finding(
        self, id: str, *, freshness_expires_at: datetime | None = None, reason: str | None = None
    ) -> Item:
        """Confirm a finding: it is fresh until then, or (None) for as long again as it was. For reviewers. Raises InvalidTransition."""
        body = changed({"freshness_expires_at": freshness_expires_at, "reason": reason})
        return (self._post(f"/v1/knowledge/items/{part(id)}/refresh", ItemAnswer, body)).value()

    def preflight(self, subject: str, **fields: Unpack[PreflightFields]) -> Preflight:
        """Whether what a run is about to find out is known already, trusted enough and fresh."""
        freshness = fields.get("freshness")
        age = None if freshness is None else int(freshness.total_seconds() * 1000)
        spaces = [*fields.get("spaces", ())]
        binding = changed({"trust_floor": fields.get("trust_floor"), "read_spaces": spaces, "freshness_ms": age})
        names = ("project", "namespace", "task_family")
        place = changed({"subject": subject, **{name: fields.get(name) for name in names}})
        return (self._post("/v1/knowledge/preflight", PreflightAnswer, {**place, "binding": binding})).value()

    def release_finding(self, id: str, *, reason: str) -> None:
        """Let a finding of the knowledge registry out of quarantine. For reviewers."""
        self._post_only(f"/v1/review/findings/{part(id)}/release", {"reason": reason})

    def purge_finding(self, id: str, *, reason: str) -> None:
        """Remove a finding in quarantine for good. For reviewers."""
        self._post_only(f"/v1/review/findings/{part(id)}/purge", {"reason": reason})

    def promote_finding(
        self, id: str, *, to: Literal["promoted", "approved_default"] = "promoted", **review: Unpack[ReviewFields]
    ) -> None:
        """
        Take a finding from working to promoted, or from there to the approved default, which names its reviewer and approval. The
        reason is kept in the audit. For reviewers. Raises InvalidTransition.
        """
        names = {"reviewer": "reviewer_id", "approval": "approval_id"}
        changes = {"status": to, **{names.get(name, name): value for name, value in review.items()}}
        self._post_only(f"/v1/knowledge/items/{part(id)}/promote", changed(changes))

    def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        """Give a finding up, for good. The reason is kept in the audit. For reviewers. Raises InvalidTransition."""
        changes = {"reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        self._post_only(f"/v1/knowledge/items/{part(id)}/deprecate", changed(changes))

    def _read(self, path: str, answer: type[T], parameters: Mapping[str, object]) -> T:
        call = Call(method="GET", path=path, query=query(parameters), decode=reader(answer), reads=True)
        return self._daemon.ask(asked(call))

    def _post(self, path: str, answer: type[T], body: Mapping[str, Json]) -> T:
        return self._daemon.ask(asked(Call(method="POST", path=path, body=written(body), decode=reader(answer))))

    def _post_only(self, path: str, body: Mapping[str, Json]) -> None:
        """As above, for an answer that nobody reads."""
        self._daemon.ask(asked(Call(method="POST", path=path, body=written(body), decode=len)))
