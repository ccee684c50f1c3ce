"""Knowledge: what earlier runs found out, kept by what it covers, so that a later run can reuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from commonplace.values.record import Json

SpaceScope = Literal["run", "project", "global"]
ItemStatus = Literal["working", "promoted", "approved_default", "deprecated", "quarantined"]
TrustLevel = Literal["working", "promoted", "approved_default"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """A namespace of items, of one run, one project or the tenant. One a scope, project and namespace."""

    id: str
    tenant: str
    scope: SpaceScope
    project: str | None
    namespace: str
    created_at: datetime
    updated_at: datetime
    trust_level: TrustLevel = "promoted"
    title: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """
    One finding. `coverage_key` says what it is about, `dedupe_key` that it is the same finding as another of the space. What is
    `quarantined` looks like an attack, and is nobody's to build on until a reviewer has looked.
    """

    id: str
    tenant: str
    space: str
    coverage_key: str
    dedupe_key: str
    item_type: str
    title: str
    created_at: datetime
    updated_at: datetime
    summary: str = ""
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    trust_level: TrustLevel = "working"
    status: ItemStatus = "working"
    run: str | None = None
    artifact_refs: tuple[str, ...] = ()
    source_memory_ids: tuple[str, ...] = ()
    reviewer: str | None = None
    approval: str | None = None
    freshness_expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What a space knows about one thing, at a glance."""

    tenant: str
    space: str
    coverage_key: str
    latest_item: str | None
    last_seen_at: datetime
    last_promoted_at: datetime | None = None
    freshness_expires_at: datetime | None = None
