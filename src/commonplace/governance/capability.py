"""
What a caller may do at the governed door: its partitions and tiers, and the capability that narrows them.

What is put belongs to its subject, in the scope `user:<subject>`, until a promotion shares it; a tier of a partition is the scope
in which it is shared. A capability narrows what the caller's role allows, and the rest still has to be within the scopes that
its key reaches: nothing here gives a caller more than its key does. Under a capability that another key issued, the caller has that
key's reach (`delegation.py`), narrowed in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.errors import (
    CapabilityExpired,
    CapabilityMismatch,
    Forbidden,
    InvalidScope,
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
    `session` say which session is meant; without either, none in particular.
    """

    who: Principal
    partition: Partition
    subject: str
    run: str | None
    session: str | None
    read_tiers: frozenset[Tier]
    write_tiers: frozenset[Tier]
    promote_targets: frozenset[Tier]

    @property
    def own(self) -> Scope:
        """Where the subject's records are, of every tier, until they are shared."""
        return Scope("user", self.subject)

    def shared(self, tier: Tier) -> Scope | None:
        """Where the records of a tier are that are not one person's; None for a session that is not named. Raises TierNotStorable."""
        if tier not in STORED:
            raise TierNotStorable(tier=tier)
        if tier == "session":
            name = self.session or self.run
            return None if name is None else Scope("session", name)
        return Scope("workspace", self.partition.project) if tier == "project" else Scope("global")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadableTiers:
    """
    The tiers to search and those out of reach. `own` is the subject's scope if it is in reach, `shared` the scopes of the tiers
    that are not one person's.
    """

    tiers: tuple[Tier, ...] = ()
    blocked: tuple[Tier, ...] = ()
    own: Scope | None = None
    shared: tuple[Scope, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Promotion:
    """Where a record is promoted to, as far as the key and the capability go. Whether somebody approved it is another question."""

    tier: Tier
    scope: Scope


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
    read_tiers, write_tiers = frozenset(STORED), frozenset(STORED if may_write else ())
    targets = TARGETS if may_write else frozenset[Tier]()
    return Rights(
        who=replace(who, tenant=partition.tenant),
        partition=partition,
        subject=capability.subject if capability and not _is_own(who, capability) else who.subject,
        run=run or (capability.run if capability else None),
        session=session,
        read_tiers=read_tiers & capability.read_tiers if capability else read_tiers,
        write_tiers=write_tiers & capability.write_tiers if capability else write_tiers,
        promote_targets=targets & capability.promote_targets if capability else targets,
    )


def _is_own(who: Principal, capability: Capability) -> bool:
    """Whether it is for the caller itself, which it may call by the key's name. A signed one names whom it is for exactly."""
    return capability.issuer is None and goes_by(who, capability.subject)


def goes_by(who: Principal, name: str) -> bool:
    """Whether a capability or a grant for `name` is for the caller: it may name the person, or the key."""
    return name in (who.subject, who.name) or (who.operator and name == "operator")


def reading(rights: Rights, tiers: Sequence[Tier] = ()) -> ReadableTiers:
    """Which of `tiers` (empty: all there are) may be searched, and where. Look up first which sessions are the caller's."""
    own = rights.own if rights.who.reaches(rights.own) else None
    used: list[Tier] = []
    blocked: list[Tier] = []
    scopes: list[Scope] = []
    for tier in dict.fromkeys(tiers or STORED):
        scope = rights.shared(tier) if tier in rights.read_tiers else None
        if scope is not None and rights.who.reaches(scope):
            scopes.append(scope)
        elif own is None or tier not in rights.read_tiers:
            blocked.append(tier)
            continue
        used.append(tier)
    blocked = blocked if tiers else []
    return ReadableTiers(tiers=tuple(used), blocked=tuple(blocked), own=own if used else None, shared=tuple(scopes))


def writing(rights: Rights) -> Scope:
    """
    Where a record put into the partition goes: to its subject.

    Raises:
        TierNotStorable, TierNotAllowed
        Forbidden: the key does not write, or reaches neither its subject's scope nor the one that the tier stands for.
    """
    tier = rights.partition.tier
    shared = rights.shared(tier)
    require_role(rights.who, "writer")
    if tier not in rights.write_tiers:
        raise TierNotAllowed(tier=tier)
    if shared is not None and tier != "session":
        require_scope(rights.who, shared)
    if not rights.who.reaches(rights.own):
        raise Forbidden(
            f"What is put here belongs to {rights.own} until it is promoted, and the key does not reach that. Use a key "
            f"with {rights.own} among its scopes.",
            scope=str(rights.own),
        )
    return rights.own


def promoting(rights: Rights, to: Tier | None = None) -> Promotion:
    """
    Whether the key and the capability let a record be promoted to a tier (None: to the project).

    Raises:
        TierNotStorable, TierNotAllowed
        Forbidden: the key does not write, or does not reach that scope.
    """
    tier = to or "project"
    scope = rights.shared(tier)
    require_role(rights.who, "writer")
    if scope is None or tier not in rights.promote_targets:
        raise TierNotAllowed(tier=tier)
    require_scope(rights.who, scope)
    return Promotion(tier=tier, scope=scope)


def check_source(trust: Trust, *, reviewed: bool) -> None:
    """Nothing from outside is promoted by a run alone, without somebody who answers for it. Raises UntrustedSource."""
    if trust not in TRUSTED and not reviewed:
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
    # An admin may act for anybody of the tenant, everybody else only for themselves, or for whom a capability was signed.
    may_act = goes_by(who, capability.subject) or who.is_at_least("admin") or capability.issuer is not None
    fields = {
        "run_id": (capability.run, run or capability.run),
        "org_id": (capability.org, partition.org),
        "workspace_id": (capability.workspace, partition.workspace),
        "project_id": (capability.project, partition.project),
        "subject": (capability.subject, capability.subject if may_act else who.subject),
    }
    for name, (allowed, actual) in fields.items():
        if allowed != actual:
            signed = (
                " To act for another, present one that is signed: POST /v1/capabilities." if name == "subject" else ""
            )
            raise CapabilityMismatch(f"The capability's {name} is not that of the request.{signed}", field=name)
