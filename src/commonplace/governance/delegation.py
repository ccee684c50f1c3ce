"""
A capability that another key presents: signed by the daemon, for one key, with an end, and never wider than its issuer.

Nothing of it is kept: whoever has the signing secret knows it again, so that every daemon and every worker with the operator's token
does. What the issuer reaches is looked at when it is issued and again at each use. The holder acts as itself, in the audit and as the
author, on what the issuer reaches: it is at most a writer, so that nobody reviews by a capability.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from commonplace.errors import CapabilityExpired
from commonplace.values.capability import CapabilityForged, CapabilityTooWide, Delegation
from commonplace.values.principal import ROLES, Capability, Principal, ScopePattern, Tier
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer

PREFIX: Final = "cap_"
"""What a signed capability begins with; one that is not signed is a JSON object."""

MAX_TEXT: Final = 8_000
_SALT: Final = b"commonplace capability 1"
_SIGNER: Final[dict[str, Any]] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
_SHARED: Final[frozenset[Tier]] = frozenset({"project", "global"})


def sign_delegation(secret: bytes, delegation: Delegation) -> str:
    """The text that the holder presents."""
    capability = delegation.capability
    assert capability.expires_at is not None
    claims: dict[str, Any] = {
        "id": delegation.id,
        "tenant": delegation.tenant,
        "holder": delegation.holder,
        "issuer": delegation.issuer,
        "run": capability.run,
        "subject": capability.subject,
        "org": capability.org,
        "workspace": capability.workspace,
        "project": capability.project,
        "read": sorted(capability.read_tiers),
        "write": sorted(capability.write_tiers),
        "promote": sorted(capability.promote_targets),
        "name": capability.issuer,
        "ends": int(capability.expires_at.timestamp() * 1000),
    }
    return PREFIX + _serializer(secret).dumps(claims)


def read_delegation(secret: bytes, text: str, now: datetime) -> Delegation:
    """
    What was signed.

    Raises:
        CapabilityForged: not with this secret, or not in these letters.
        CapabilityExpired
    """
    # Part of the extra `server`, as below.
    from itsdangerous import BadData  # noqa: PLC0415

    if len(text) > MAX_TEXT or not text.isascii() or not text.startswith(PREFIX):
        raise CapabilityForged
    serializer = _serializer(secret)
    try:
        claims: Any = serializer.loads(text.removeprefix(PREFIX))
    except BadData:
        raise CapabilityForged from None
    # Base64 can be written in more than one way, and only one of them is what we signed.
    if PREFIX + serializer.dumps(claims) != text:
        raise CapabilityForged
    ends_at = datetime.fromtimestamp(claims["ends"] / 1000, UTC)
    if ends_at <= now:
        raise CapabilityExpired
    return Delegation(
        id=claims["id"],
        tenant=claims["tenant"],
        holder=claims["holder"],
        issuer=claims["issuer"],
        capability=Capability(
            run=claims["run"],
            subject=claims["subject"],
            org=claims["org"],
            workspace=claims["workspace"],
            project=claims["project"],
            read_tiers=frozenset(claims["read"]),
            write_tiers=frozenset(claims["write"]),
            promote_targets=frozenset(claims["promote"]),
            expires_at=ends_at,
            issuer=claims["name"],
        ),
    )


def require_within(issuer: Principal, capability: Capability) -> None:
    """Raises CapabilityTooWide: the issuer could not do all of it."""
    writes = capability.write_tiers | capability.promote_targets
    if writes and not issuer.is_at_least("writer"):
        raise CapabilityTooWide(
            f"The capability writes, and the key that issues it is a {issuer.role}'s. Leave write_tiers and promote_targets empty.",
            role=issuer.role,
        )
    is_anothers = capability.subject != issuer.subject
    claims = [_shared(capability, tier) for tier in sorted(writes | capability.read_tiers) if tier in _SHARED]
    claims += [Scope("user", capability.subject)] if is_anothers or capability.write_tiers else []
    for scope in claims:
        if not issuer.reaches(scope):
            raise CapabilityTooWide(
                f"The capability reaches {scope}, and the key that issues it does not. Leave that out.",
                scope=str(scope),
            )


def claimed_scopes(capability: Capability, session: str | None) -> list[Scope]:
    """All that a request under the capability can be about. `session` is the one that it names, else it is the run's."""
    tiers = capability.read_tiers | capability.write_tiers | capability.promote_targets
    scopes = [Scope("user", capability.subject)]
    scopes += [_shared(capability, tier) for tier in sorted(tiers) if tier in _SHARED]
    return [*scopes, Scope("session", session or capability.run)] if "session" in tiers else scopes


def as_holder(who: Principal, issuer: Principal, capability: Capability, scopes: Iterable[Scope]) -> Principal:
    """
    The caller, acting under a capability that `issuer` gave it: on those of `scopes` that the issuer reaches, which must know its
    memberships of them, and on nothing else. What either of them writes as an agent is a model's word.
    """
    # A star would be a pattern.
    reach = tuple(ScopePattern(str(scope)) for scope in scopes if "*" not in scope.id and issuer.reaches(scope))
    return replace(
        who,
        role=min(issuer.role, "writer", key=ROLES.index),
        scopes=reach,
        agent=who.agent or issuer.agent,
        operator=False,
        member_of=frozenset[Scope](),
        capability=capability,
    )


def _shared(capability: Capability, tier: Tier) -> Scope:
    return Scope("workspace", capability.project) if tier == "project" else Scope("global")


def _serializer(secret: bytes) -> URLSafeSerializer:
    # Part of the extra `server`: only a daemon signs.
    from itsdangerous import URLSafeSerializer  # noqa: PLC0415

    return URLSafeSerializer(secret, salt=_SALT, signer_kwargs=_SIGNER)
