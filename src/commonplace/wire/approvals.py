"""Approvals on the wire."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.approval import ApprovalKind, ApprovalState
from commonplace.wire.shapes import Body, Line, NarrowBody, RecordId


class ApproveBody(Body):
    """What you looked at and stand for: a record at a version, or a finding of the knowledge registry."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "01920000-0000-7000-8000-000000000000", "version": 1}]}
    )

    id: RecordId = Field(description="The whole id.")
    version: Annotated[int, Field(ge=0, le=2**53)] | None = Field(
        default=None,
        description="Of a record: required. Of a finding: its `updated_at` in milliseconds, if you give it.",
    )
    kind: ApprovalKind = "record"
    reason: Line | None = Field(default=None, description="Why; it is kept in the audit.")


class ApprovalsQuery(NarrowBody):
    """Which approvals to list."""

    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    state: ApprovalState | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Line | None = None
