"""Capabilities that one key issues for another: signed here, and looked at again whenever one is presented."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from commonplace.errors import Conflict, InvalidInput, NotFound, TierNotStorable, TokenRequired
from commonplace.governance.capability import DEFAULT_PROJECT, STORED, TARGETS, goes_by
from commonplace.governance.delegation import (
    as_holder,
    claimed_scopes,
    read_delegation,
    require_within,
    sign_delegation,
)
from commonplace.ports.journal import Entries
from commonplace.values.capability import (
    LIFETIME,
    MAX_LIFETIME,
    CapabilityFields,
    CapabilityForOtherKey,
    CapabilityForOtherTenant,
    CapabilityTooWide,
    CapabilityVoid,
    Delegation,
    IssuedCapability,
)
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import LOCAL, Capability, Key, Principal, Tier
from commonplace.values.record import Json
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.service.desk import Desk

_READ: Final[tuple[Tier, ...]] = ("session", "project")
_WRITE: Final[tuple[Tier, ...]] = ("session",)


class CapabilityIssuer:
    """`signing` is the secret of the daemon, the same at each that has the operator's token. None: nothing is signed here."""

    def __init__(self, desk: Desk, signing: bytes | None) -> None:
        self._desk = desk
        self._signing = signing

    # ---- issue

    async def issue(self, who: Principal, key: str, run: str, fields: CapabilityFields) -> IssuedCapability:
        """
        A capability for the key of this id or name, with at most the caller's own reach.

        Raises:
            CapabilityTooWide: the caller does not reach all of it.
            NotFound, Conflict: no key is called so, or several are.
            InvalidInput: an end that has passed or is too far away.
            TokenRequired: the caller has no key.
        """
        desk = self._desk
        async with desk.account(who, "capability.create", run=run) as account:
            signing, now = self._secret(), utc(desk.clock.now())
            if who.key is None and not who.operator:
                raise TokenRequired
            keys = await desk.store.keys.list_keys(who.tenant)
            holder = _holder(keys, key, now)
            capability = _capability(who, run, fields, _expiry(fields.get("expires_at"), now, _own_end(who, keys)))
            require_within(who, capability)
            issuer = None if who.operator else who.key
            delegation = Delegation(
                id=new_id(now), tenant=who.tenant, holder=holder.id, issuer=issuer, capability=capability
            )
            account.details |= {"capability": delegation.id, "holder": holder.id, "subject": capability.subject}
            account.details |= {"project": capability.project, "tiers": list[Json](sorted(_tiers(capability)))}
            await desk.store.journal.note(Entries(audit=(account.row("ok"),)))
            return _answer_of(delegation, sign_delegation(signing, delegation))

    def _secret(self) -> bytes:
        if self._signing is None:
            raise Conflict(
                "Only a daemon signs capabilities, with its operator's token. Start `commonplace serve`, and ask it: --url."
            )
        return self._signing

    # ---- present

    async def present(self, who: Principal, text: str, *, session: str | None = None) -> Principal:
        """
        The caller with the capability that `text` is: what it may do from here on is what the issuer may now, narrowed. `session` is
        the one that the request names.

        Raises:
            CapabilityForged, CapabilityExpired, CapabilityVoid
            CapabilityForOtherTenant, CapabilityForOtherKey, CapabilityTooWide
        """
        desk = self._desk
        async with desk.account(who, "capability.present") as account:
            delegation = read_delegation(self._secret(), text, desk.clock.now())
            account.details["capability"] = delegation.id
            if delegation.tenant != who.tenant:
                raise CapabilityForOtherTenant
            if delegation.holder != who.key:
                raise CapabilityForOtherKey
            capability = delegation.capability
            issuer = await self._issuer(delegation)
            require_within(issuer, capability)
            scopes = claimed_scopes(capability, session)
            return as_holder(who, await desk.with_members(issuer, scopes), capability, scopes)

    async def _issuer(self, delegation: Delegation) -> Principal:
        """Who issued it, as they are now. Raises CapabilityVoid."""
        if delegation.issuer is None:
            return Principal(subject=LOCAL, name="operator", tenant=delegation.tenant, role="admin", operator=True)
        keys = await self._desk.store.keys.list_keys(delegation.tenant)
        now = self._desk.clock.now()
        key = next((key for key in keys if key.id == delegation.issuer and key.is_good(now)), None)
        if key is None:
            raise CapabilityVoid
        return Principal(
            subject=key.subject,
            name=key.name,
            tenant=key.tenant,
            role=key.role,
            scopes=key.scopes,
            key=key.id,
            agent=key.agent,
        )


def _holder(keys: Sequence[Key], name: str, now: datetime) -> Key:
    """The key that is called so. Raises NotFound, Conflict."""
    good_keys = [key for key in keys if key.is_good(now)]
    matches = [key for key in good_keys if key.id == name] or [key for key in good_keys if key.name == name]
    if not matches:
        raise NotFound(f"There is no valid key {name!r:.60} here. Give its name, or its id.")
    if len(matches) > 1:
        raise Conflict(f"{len(matches)} keys are called {name!r:.60}. Give the id of the one that is meant.")
    return matches[0]


def _own_end(who: Principal, keys: Sequence[Key]) -> datetime | None:
    return next((key.expires_at for key in keys if key.id == who.key), None)


def _expiry(latest: datetime | None, now: datetime, own_end: datetime | None) -> datetime:
    """When it expires: with the issuer's key at the latest. Raises InvalidInput, CapabilityTooWide."""
    ends_at = now + LIFETIME if latest is None else utc(latest)
    if ends_at <= now:
        raise InvalidInput("expires_at has passed. Choose a later moment.")
    if ends_at > now + MAX_LIFETIME:
        raise InvalidInput(f"A capability lasts {MAX_LIFETIME.days} days at most. Choose an earlier end.")
    if own_end is not None and ends_at > own_end:
        if latest is not None:
            raise CapabilityTooWide("The capability would outlive the key that issues it. Choose an earlier end.")
        return own_end
    return ends_at


def _capability(who: Principal, run: str, fields: CapabilityFields, expires_at: datetime) -> Capability:
    org, _, workspace = who.tenant.partition("/")
    subject = fields.get("subject")
    subject = who.subject if subject is None or goes_by(who, subject) else subject
    project = fields.get("project") or DEFAULT_PROJECT
    for name, value in (("run", run), ("subject", subject), ("project", project)):
        if not value or "*" in value or value != value.strip():
            raise InvalidInput(f"{name} is one name, without a star or space around it.")
        check_line(name, value)
        Scope("workspace", value)
    may_write = who.is_at_least("writer")
    return Capability(
        run=run,
        subject=subject,
        org=org,
        workspace=workspace,
        project=project,
        read_tiers=_storable(fields.get("read_tiers"), _READ),
        write_tiers=_storable(fields.get("write_tiers"), _WRITE if may_write and _reaches_own(who, subject) else ()),
        promote_targets=_targets(fields.get("promote_targets") or ()),
        expires_at=expires_at,
        issuer=who.actor,
    )


def _reaches_own(who: Principal, subject: str) -> bool:
    return who.reaches(Scope("user", subject))


def _storable(tiers: Sequence[Tier] | None, default: Sequence[Tier]) -> frozenset[Tier]:
    """Raises TierNotStorable."""
    selection = frozenset(default if tiers is None else tiers)
    for tier in sorted(selection - frozenset(STORED)):
        raise TierNotStorable(tier=tier)
    return selection


def _targets(tiers: Sequence[Tier]) -> frozenset[Tier]:
    selection = _storable(tiers, ())
    if selection - TARGETS:
        raise InvalidInput("promote_targets are project and global.")
    return selection


def _tiers(capability: Capability) -> frozenset[Tier]:
    return capability.read_tiers | capability.write_tiers | capability.promote_targets


def _answer_of(delegation: Delegation, text: str) -> IssuedCapability:
    capability = delegation.capability
    assert capability.expires_at is not None
    return IssuedCapability(
        id=delegation.id,
        capability=text,
        key=delegation.holder,
        run=capability.run,
        subject=capability.subject,
        project=capability.project,
        read_tiers=_in_order(capability.read_tiers),
        write_tiers=_in_order(capability.write_tiers),
        promote_targets=_in_order(capability.promote_targets),
        expires_at=capability.expires_at,
    )


def _in_order(tiers: frozenset[Tier]) -> tuple[Tier, ...]:
    return tuple(tier for tier in STORED if tier in tiers)
