"""
What a caller may do at the governed door: its partitions and tiers, and the capability that narrows them.

A tier of a partition is one of our scopes. A capability narrows what the caller's role allows, and the rest still has to be
within the scopes that its key reaches: nothing here gives a caller more than its key does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from commonplace.errors import (
    CapabilityExpired,
    CapabilityMismatch,
    Forbidden,
    InvalidScope,
    ReviewRequired,
    TierNotAllowed,
    TierNotStorable,
    UntrustedSource,
)
from commonplace.governance.access import require_role, require_scope
from commonplace.values.principal import Capability, Principal, Tier
from commonplace.values.record import TRUSTED, Json, Trust
from commonplace.values.scope import Scope, check_tenant

STORED: Final[tuple[Tier, ...]] = ("session", "project", "global")
"""The tiers that records are kept in. `team` and `curated` are names without a store."""

TARGETS: Final[frozenset[Tier]] = frozenset({"project", "global"})
"""Where a record can be promoted to."""

DEFAULT_PROJECT: Final = "default"
DEFAULT_RUN: Final = "default"

REFUSED_OUTCOMES: Final = frozenset(
    "denied deny rejected reject rework reworked regressed superseded failed failure blocked artifact_rejected".split()
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """Where in an organisation. `org/workspace` is the tenant, the project a workspace in it."""

    org: str
    workspace: str
    project: str = DEFAULT_PROJECT
    tier: Tier = "session"

    def __post_init__(self) -> None:
        # Else two organisations could have one tenant: a/b in c, and a in b/c.
        if "/" in self.org:
            raise InvalidScope("An org_id has no slash in it.")
        check_tenant(self.tenant)
        Scope("workspace", self.project)

    @property
    def tenant(self) -> str:
        return f"{self.org}/{self.workspace}"

    @property
    def key(self) -> str:
        return f"{self.org}/{self.workspace}/{self.project}/{self.tier}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """
    What a caller may do in a partition. `who` asks in the partition's tenant, `subject` is whom it asks for. `run` and
    `session` say which session is meant.
    """

    who: Principal
    partition: Partition
    subject: str
    run: str
    session: str | None
    read_tiers: frozenset[Tier]
    write_tiers: frozenset[Tier]
    promote_targets: frozenset[Tier]

    def scope(self, tier: Tier, *, private: bool = False) -> Scope:
        """Where the records of a tier are; what is private is its subject's, whatever the tier. Raises TierNotStorable."""
        if tier not in STORED:
            raise TierNotStorable(tier=tier)
        if private:
            return Scope("user", self.subject)
        if tier == "session":
            return Scope("session", self.session or self.run)
        return Scope("workspace", self.partition.project) if tier == "project" else Scope("global")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadableTiers:
    """The scopes to search, by tier, the tiers out of reach, and the subject's own scope if it is in reach."""

    scopes: Mapping[Tier, Scope] = field(default_factory=dict[Tier, Scope])
    blocked: tuple[Tier, ...] = ()
    private: Scope | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Promotion:
    """
    A promotion that may go ahead. `reviewed`: somebody answers for it, because the request names a review, or the key is a
    reviewer's own, used without a capability.
    """

    tier: Tier
    scope: Scope
    reviewer: str
    approval: str
    reviewed: bool


def partition_of(
    who: Principal,
    *,
    org: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    tier: Tier | None = None,
    in_session: bool = False,
) -> Partition:
    """
    The partition a request means. What it leaves open is as its capability says, else the caller's tenant, the project
    `default`, and the tier `session` if the request names a run or a session (`in_session`), else `project`.
    """
    own_org, _, own_workspace = who.tenant.partition("/")
    capability = who.capability
    return Partition(
        org=org or (capability.org if capability else own_org),
        workspace=workspace or (capability.workspace if capability else own_workspace),
        project=project or (capability.project if capability else DEFAULT_PROJECT),
        tier=tier or ("session" if in_session else "project"),
    )


def rights(
    who: Principal, partition: Partition, now: datetime, *, run: str | None = None, session: str | None = None
) -> Rights:
    """
    What `who` may do in `partition`. Without a capability its role decides.

    Raises:
        CapabilityExpired, CapabilityMismatch
        Forbidden: the partition is in another tenant than the key.
    """
    if partition.tenant != who.tenant and not who.operator:
        raise Forbidden(f"The key belongs to {who.tenant}, not to {partition.tenant}.")
    capability = who.capability
    if capability is not None:
        _check(capability, who, partition, run, now)
    may_write = who.is_at_least("writer")
    # A writer needs a capability to promote at all, and a review that names a reviewer.
    may_promote = who.is_at_least("reviewer") or (may_write and capability is not None)
    read_tiers, write_tiers = frozenset(STORED), frozenset(STORED if may_write else ())
    targets = TARGETS if may_promote else frozenset[Tier]()
    return Rights(
        who=replace(who, tenant=partition.tenant),
        partition=partition,
        subject=capability.subject if capability else who.subject,
        run=run or (capability.run if capability else DEFAULT_RUN),
        session=session,
        read_tiers=read_tiers & capability.read_tiers if capability else read_tiers,
        write_tiers=write_tiers & capability.write_tiers if capability else write_tiers,
        promote_targets=targets & capability.promote_targets if capability else targets,
    )


def reading(rights: Rights, tiers: Sequence[Tier] = ()) -> ReadableTiers:
    """Which of `tiers` (empty: all there are) may be searched, and where."""
    scopes: dict[Tier, Scope] = {}
    blocked: list[Tier] = []
    for tier in dict.fromkeys(tiers or STORED):
        if tier in rights.read_tiers and rights.who.reaches(scope := rights.scope(tier)):
            scopes[tier] = scope
        elif tiers:
            blocked.append(tier)
    own = Scope("user", rights.subject) if rights.subject else None
    private = own if own is not None and scopes and rights.who.reaches(own) else None
    return ReadableTiers(scopes=scopes, blocked=tuple(blocked), private=private)


def writing(rights: Rights, *, private: bool = False) -> Scope:
    """
    Where a record put into the partition goes.

    Raises:
        TierNotStorable, TierNotAllowed
        Forbidden: the key does not write, or does not reach that scope.
    """
    tier = rights.partition.tier
    scope = rights.scope(tier, private=private)
    require_role(rights.who, "writer")
    if tier not in rights.write_tiers:
        raise TierNotAllowed(tier=tier)
    require_scope(rights.who, scope)
    return scope


def promoting(
    rights: Rights, to: Tier | None = None, *, reviewer: str | None = None, approval: str | None = None
) -> Promotion:
    """
    Whether a record may be promoted to a tier (None: to the project). A reviewer's key is its own review; with any other the
    request has to name a review, whatever the capability says.

    Raises:
        TierNotStorable, TierNotAllowed, ReviewRequired
        Forbidden: the key does not write, or does not reach that scope.
    """
    tier = to or "project"
    scope = rights.scope(tier)
    require_role(rights.who, "writer")
    is_named = bool(reviewer and approval)
    is_reviewer = rights.who.is_at_least("reviewer")
    if not is_reviewer and rights.who.capability is None:
        raise ReviewRequired
    if tier not in rights.promote_targets:
        raise TierNotAllowed(tier=tier)
    require_scope(rights.who, scope)
    if not is_named and not is_reviewer:
        raise ReviewRequired
    own = rights.who.subject
    return Promotion(
        tier=tier,
        scope=scope,
        reviewer=(reviewer if is_named else None) or own,
        approval=(approval if is_named else None) or own,
        reviewed=is_named or rights.who.capability is None,
    )


def check_source(trust: Trust, promotion: Promotion) -> None:
    """Nothing from outside is promoted without somebody who answers for it. Raises UntrustedSource."""
    if trust not in TRUSTED and not promotion.reviewed:
        raise UntrustedSource(trust=trust)


def refused_outcome(outcome: Mapping[str, Json] | None, *metadata: Mapping[str, Json]) -> str | None:
    """
    Why the work that a record comes from speaks against its promotion, or None. `outcome` is what the request says of that
    work; the `metadata` of records may say so as well, under `source_outcome` or `outcome`.
    """
    outcomes: list[Json] = [dict(outcome)] if outcome is not None else []
    outcomes += [place[name] for place in metadata for name in ("source_outcome", "outcome") if name in place]
    return next((reason for source in outcomes if (reason := _refusal(source)) is not None), None)


def _refusal(outcome: Json) -> str | None:
    if not isinstance(outcome, dict):
        outcome = {"status": outcome}
    status = outcome.get("status")
    if isinstance(status, str) and (plain := status.strip().lower().replace("-", "_")) in REFUSED_OUTCOMES:
        return plain
    return "denied" if outcome.get("approved") is False else None


def _check(capability: Capability, who: Principal, partition: Partition, run: str | None, now: datetime) -> None:
    if capability.expires_at is not None and capability.expires_at <= now:
        raise CapabilityExpired
    # An admin may act for anybody of the tenant, everybody else only for themselves.
    subject = capability.subject if who.is_at_least("admin") else who.subject
    fields = {
        "run_id": (capability.run, run or capability.run),
        "org_id": (capability.org, partition.org),
        "workspace_id": (capability.workspace, partition.workspace),
        "project_id": (capability.project, partition.project),
        "subject": (capability.subject, subject),
    }
    for name, (allowed, actual) in fields.items():
        if allowed != actual:
            raise CapabilityMismatch(f"The capability's {name} is not that of the request.", field=name)
