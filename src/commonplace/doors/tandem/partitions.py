"""
Where a request of the governed door is, and where a record is by that door's lights.

What is put lies with its subject, in `user:<subject>`, until a promotion shares it. Such a record says for itself, under
`governed` in its metadata, of which tier and project it is; the tier of any other follows from its scope. Before persons were
kept apart, records lay in the scope of their tier from the start: one of those that was never promoted is still its subject's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from commonplace.errors import Forbidden
from commonplace.governance.capability import DEFAULT_PROJECT, STORED, Rights, goes_by, partition_of, rights
from commonplace.service.account import Account
from commonplace.values.moment import born_at
from commonplace.values.principal import LOCAL, Capability, Principal, Tier
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope, ScopeKind

if TYPE_CHECKING:
    from commonplace.service.desk import Desk

OURS: Final = "governed"
PROMOTION: Final = "promotion"
_LOCAL: Final = frozenset({LOCAL, "operator", "anonymous"})
_TIERS: Final[Mapping[ScopeKind, Tier]] = {"session": "session", "workspace": "project", "global": "global"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestPlace:
    """
    What a request says of where it is. What it leaves open is as its capability has it, else by default. `user` is whose the
    records are that it puts or looks for.
    """

    org: str | None = None
    workspace: str | None = None
    project: str | None = None
    tier: Tier | None = None
    run: str | None = None
    session: str | None = None
    user: str | None = None
    capability: Capability | None = None


ANYWHERE: Final = RequestPlace()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordConditions:
    """What a record must say of itself. None: anything."""

    user: str | None = None
    project: str | None = None
    channel: str | None = None
    host: str | None = None

    def fit(self, record: Record) -> bool:
        conditions = (
            (self.user, subject_of),
            (self.project, project_of),
            (self.channel, channel_of),
            (self.host, host_of),
        )
        return all(value in (None, of(record)) for value, of in conditions)


ANY_RECORD: Final = RecordConditions()


async def entered(desk: Desk, account: Account, place: RequestPlace) -> Rights:
    """
    What the caller may do in that place. The account goes on in its tenant.

    Raises:
        CapabilityExpired, CapabilityMismatch, InvalidScope
        Forbidden: it is in another tenant, or somebody else's.
    """
    who = replace(account.who, capability=place.capability)
    account.run = place.run or (place.capability.run if place.capability else None)
    partition = partition_of(
        who, org=place.org, workspace=place.workspace, project=place.project, tier=place.tier, in_session=True
    )
    permissions = rights(who, partition, desk.clock.now(), run=place.run, session=place.session)
    session = permissions.shared("session")
    caller = await desk.with_members(permissions.who, [session] if session else [])
    account.who = caller
    account.details["partition"] = partition.key
    if permissions.subject != who.subject:
        account.details["subject"] = permissions.subject
    if place.capability is not None and place.capability.issuer is not None:
        account.details["issuer"] = place.capability.issuer
    return replace(permissions, who=caller)


def in_the_name_of(permissions: Rights, user: str | None) -> Rights:
    """The same rights, for the person that a write names. Raises Forbidden: only an admin writes for somebody else."""
    if user is None or user == permissions.subject or (goes_by(permissions.who, user) and _is_for_itself(permissions)):
        return permissions
    if permissions.who.capability is not None or not permissions.who.is_at_least("admin"):
        raise Forbidden("Only an admin's key writes for somebody else. Leave user_id and subject out.", user_id=user)
    return replace(permissions, subject=user)


def _is_for_itself(permissions: Rights) -> bool:
    return permissions.subject == permissions.who.subject


def within(permissions: Rights, record: Record) -> bool:
    """Whether a capability leaves the record in reach. Without one the key alone decides."""
    if permissions.who.capability is None:
        return True
    if record.scope == permissions.own:
        return is_in_place(permissions, record, permissions.read_tiers)
    tier = _TIERS.get(record.scope.kind)
    if tier is None or tier not in permissions.read_tiers:
        return False
    # A run that names its session finds what it put there also where it names itself only.
    return record.scope == permissions.shared(tier) or (tier == "session" and record.provenance.run == permissions.run)


def is_in_place(permissions: Rights, record: Record, tiers: frozenset[Tier]) -> bool:
    """Whether a record of the subject's own is of one of these tiers, of this project and, if one is named, of this session."""
    tier = tier_of(record)
    if tier not in tiers or project_of(record) != permissions.partition.project:
        return False
    name = permissions.session or permissions.run
    return tier != "session" or name is None or name in (record.session, record.provenance.run)


def is_anothers(who: Principal, record: Record) -> bool:
    """
    Whether a record from before, which lies in a scope of several persons and was never promoted, is somebody else's. It names its
    subject as keys were named then. A key that was made later than the record is another person's.
    """
    owner = _ours(record, "subject")
    if (
        owner is None
        or record.scope.kind not in _TIERS
        or record.visibility == "shared"
        or PROMOTION in record.metadata
    ):
        return False
    if who.capability is not None and who.capability.issuer is not None:
        # It belongs to a key, by its name, and no capability hands that over.
        return True
    is_later = who.key is not None and born_at(who.key) > record.created_at
    is_local = owner in _LOCAL and (who.operator or who.subject == LOCAL)
    return is_later or not (goes_by(who, owner) or is_local)


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


def tiers_in(scopes: Iterable[Scope]) -> tuple[Tier, ...]:
    """The tiers that records in these scopes may have."""
    kinds: set[ScopeKind] = {scope.kind for scope in scopes}
    tiers: set[Tier] = {_TIERS.get(kind, "session") for kind in kinds}
    return tuple(tier for tier in STORED if tier in tiers or "user" in kinds)


def project_of(record: Record) -> str:
    return record.scope.id if record.scope.kind == "workspace" else _ours(record, "project_id") or DEFAULT_PROJECT


def subject_of(record: Record) -> str | None:
    """Whose it is: whose scope it lies in, else who it was put for, else who wrote it last."""
    own = record.scope.id if record.scope.kind == "user" else None
    return own or _ours(record, "subject") or record.actor


def channel_of(record: Record) -> str | None:
    return record.scope.id if record.scope.kind == "channel" else _tag(record, "channel_tag")


def host_of(record: Record) -> str | None:
    return _tag(record, "host_tag")


def partition_of_record(record: Record) -> str:
    return f"{record.tenant}/{project_of(record)}/{tier_of(record)}"


def partition_key(tenant: str, scope: Scope) -> str | None:
    """The partition of a scope; None for one that no tier stands for."""
    tier = _TIERS.get(scope.kind)
    return None if tier is None else f"{tenant}/{scope.id if tier == 'project' else DEFAULT_PROJECT}/{tier}"


def _tag(record: Record, name: str) -> str | None:
    tag = record.metadata.get(name)
    return tag if isinstance(tag, str) else None


def _ours(record: Record, name: str) -> str | None:
    mark = record.metadata.get(OURS)
    value = mark.get(name) if isinstance(mark, dict) else None
    return value if isinstance(value, str) else None
