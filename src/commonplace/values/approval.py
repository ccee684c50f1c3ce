"""Approvals: somebody looked at one version of a record or of a finding, and stands for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope

ApprovalKind = Literal["record", "finding"]
ApprovalState = Literal["requested", "approved"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval(JsonObject):
    """
    `target` is the id of the record or finding, `version` the version that was looked at (of a finding: its `updated_at` in
    milliseconds). `subject` approved it, or asks for it to be approved; `actor` is their name. `scope` is where it is to be shared.
    `self_approved`: they wrote it themselves. `agent`: a program holds their key.
    """

    id: str
    kind: ApprovalKind
    target: str
    version: int
    state: ApprovalState
    subject: str
    actor: str
    created_at: Moment
    scope: Scope | None = None
    self_approved: bool = False
    agent: bool = False
    withdrawn_at: Moment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalEntry(JsonObject):
    """
    An approval, or a request for one, with the text it is about, if that still stands as it was looked at. `approved_by`: who has
    approved what the caller's own request asks for.
    """

    approval: Approval
    text: str | None = None
    approved_by: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalPage(JsonObject):
    """Newest first. `cursor` continues the list; None is the end."""

    approvals: tuple[ApprovalEntry, ...]
    cursor: str | None = None
