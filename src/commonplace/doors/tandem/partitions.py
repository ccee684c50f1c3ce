"""
Where a request of the governed door is, and where a record is by that door's lights.

A record says for itself, under `governed` in its metadata, for which project and for whom it was put. Its tier follows from
its scope, whichever door it came in by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, cast

from commonplace.governance.capability import DEFAULT_PROJECT, Rights, partition_of, rights
from commonplace.service.account import Account
from commonplace.values.principal import Capability, Tier
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope, ScopeKind

OURS: Final = "governed"
PROMOTION: Final = "promotion"
_TIERS: Final[Mapping[ScopeKind, Tier]] = {"session": "session", "workspace": "project", "global": "global"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestPlace:
    """What a request says of where it is. What it leaves open is as its capability has it, else by default."""

    org: str | None = None
    workspace: str | None = None
    project: str | None = None
    tier: Tier | None = None
    run: str | None = None
    session: str | None = None
    capability: Capability | None = None


ANYWHERE: Final = RequestPlace()


def entered(account: Account, place: RequestPlace, now: datetime) -> Rights:
    """
    What the caller may do in that place. The account goes on in its tenant.

    Raises:
        CapabilityExpired, CapabilityMismatch, InvalidScope
        Forbidden: it is in another tenant.
    """
    who = replace(account.who, capability=place.capability)
    account.run = place.run or (place.capability.run if place.capability else None)
    partition = partition_of(
        who, org=place.org, workspace=place.workspace, project=place.project, tier=place.tier, in_session=True
    )
    permissions = rights(who, partition, now, run=place.run, session=place.session)
    account.who = permissions.who
    account.details["partition"] = partition.key
    if permissions.subject != who.subject:
        account.details["subject"] = permissions.subject
    return permissions


def within(permissions: Rights, record: Record) -> bool:
    """Whether a capability leaves the record in reach. Without one the key alone decides."""
    if permissions.who.capability is None:
        return True
    scope = record.scope
    if scope == Scope("user", permissions.subject):
        return True
    tier = _TIERS.get(scope.kind)
    if tier is None or tier not in permissions.read_tiers:
        return False
    # A run that names its session finds what it put there also where it names itself only.
    return scope == permissions.scope(tier) or (tier == "session" and record.provenance.run == permissions.run)


def marked(permissions: Rights, **more: Json) -> dict[str, Json]:
    """What a record put in this place says of it."""
    return {
        "project_id": permissions.partition.project,
        "tier": permissions.partition.tier,
        "subject": permissions.subject,
        **more,
    }


def tier_of(record: Record) -> Tier:
    """What lies with a person, an agent or a room has the tier it was put in."""
    return _TIERS.get(record.scope.kind) or cast(Tier, _ours(record, "tier") or "session")


def project_of(record: Record) -> str:
    return record.scope.id if record.scope.kind == "workspace" else _ours(record, "project_id") or DEFAULT_PROJECT


def subject_of(record: Record) -> str | None:
    """Whose it is: who it was put for, else whose scope it lies in, else who wrote it last."""
    own = record.scope.id if record.scope.kind == "user" else None
    return _ours(record, "subject") or own or record.actor


def channel_of(record: Record) -> str | None:
    tag = record.metadata.get("channel_tag")
    return record.scope.id if record.scope.kind == "channel" else tag if isinstance(tag, str) else None


def partition_key(tenant: str, scope: Scope, project: str = DEFAULT_PROJECT) -> str | None:
    """The partition of a scope; None for one that no tier stands for."""
    tier = _TIERS.get(scope.kind)
    return None if tier is None else f"{tenant}/{scope.id if tier == 'project' else project}/{tier}"


def _ours(record: Record, name: str) -> str | None:
    mark = record.metadata.get(OURS)
    value = mark.get(name) if isinstance(mark, dict) else None
    return value if isinstance(value, str) else None
