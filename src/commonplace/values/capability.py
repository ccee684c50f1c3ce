"""A capability that one key issues for another: what it says, what its holder presents, and why it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypedDict

from commonplace.errors import Forbidden, Unauthenticated
from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.principal import Capability, Tier

LIFETIME: Final = timedelta(hours=1)
MAX_LIFETIME: Final = timedelta(days=7)


class CapabilityForged(Unauthenticated):
    """The capability was not signed by this daemon, or was changed since. Ask whoever issued it for a new one."""

    code = "capability_forged"


class CapabilityVoid(Unauthenticated):
    """The key that issued the capability was revoked or has expired. Ask for a capability from another key."""

    code = "capability_void"


class CapabilityForOtherTenant(Forbidden):
    """The capability was issued in another tenant. Ask for one from a key of your own tenant."""

    code = "capability_for_other_tenant"


class CapabilityForOtherKey(Forbidden):
    """The capability was issued for another key. Present it with that key, or ask for one for yours."""

    code = "capability_for_other_key"


class CapabilityTooWide(Forbidden):
    """The capability reaches further than the key that issues it. Leave out what that key does not reach."""

    code = "capability_too_wide"


class CapabilityFields(TypedDict, total=False):
    """
    What a capability may say of itself. One that is absent: the issuer's own subject, the project `default`, the tiers `session` and
    `project` to read, `session` to write (if the issuer writes), none to promote to, and an hour.
    """

    subject: str | None
    project: str | None
    read_tiers: Sequence[Tier] | None
    write_tiers: Sequence[Tier] | None
    promote_targets: Sequence[Tier] | None
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delegation:
    """
    What is signed: a capability, the id of the key it was issued for (`holder`), and of the key that issued it (`issuer`; None: the
    operator).
    """

    id: str
    tenant: str
    holder: str
    issuer: str | None
    capability: Capability


@dataclass(frozen=True, kw_only=True, slots=True)
class IssuedCapability(JsonObject):
    """`capability` is the signed text that the holder presents at the governed door; the rest says what is in it."""

    id: str
    capability: str
    key: str
    run: str
    subject: str
    project: str
    read_tiers: tuple[Tier, ...]
    write_tiers: tuple[Tier, ...]
    promote_targets: tuple[Tier, ...]
    expires_at: Moment
