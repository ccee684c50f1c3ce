"""Who asks, and what they may: roles, scope patterns, keys, and capabilities, which only ever narrow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from commonplace.errors import InvalidInput
from commonplace.values.json import JsonObject, written_as_text
from commonplace.values.moment import Moment
from commonplace.values.scope import SCOPE_KINDS, Scope

Role = Literal["reader", "writer", "reviewer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "reviewer", "admin")
"""Each may do what those before it may."""

Tier = Literal["session", "project", "team", "curated", "global"]

_CLIENT = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@dataclass(frozen=True, slots=True)
class ScopePattern:
    """
    Which scopes a key reaches: `workspace:web` that one, `workspace:web-*` those whose id begins so, `workspace:*` all of
    the kind, `global` the global one, `*` every scope.
    """

    text: str

    def __post_init__(self) -> None:
        kind, colon, id = self.text.partition(":")
        if self.text in ("*", "global"):
            return
        if kind not in SCOPE_KINDS or not colon or not id or "*" in id[:-1] or len(self.text) > 300:
            raise InvalidInput(
                f"{self.text!r:.80} is no scope pattern. Write kind:id, kind:begin*, kind:*, global or *."
            )

    def fits(self, scope: Scope) -> bool:
        if self.text == "*":
            return True
        kind, _, id = self.text.partition(":")
        if kind != scope.kind:
            return False
        return scope.id.startswith(id[:-1]) if id.endswith("*") else scope.id == id

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        del source, handler
        return written_as_text(cls, cls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Capability:
    """What a caller of the governed door may do in one run. It narrows what the caller's key allows."""

    run: str
    subject: str
    org: str
    workspace: str
    project: str
    read_tiers: frozenset[Tier]
    write_tiers: frozenset[Tier]
    promote_targets: frozenset[Tier]
    require_review: bool = True
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedIn:
    """A session: what tells it from every other (`mark`), what those of the same key have in common (`whose`), its end."""

    mark: str
    whose: str
    ends_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """
    Who asks. `scopes` None reaches every scope of the tenant. `operator` is the owner of the daemon: admin of every
    tenant. `key` is the id of the key that was shown, `session` what stood for it, `address` where the request came from, `door`
    which way in.
    """

    subject: str
    tenant: str
    role: Role
    scopes: tuple[ScopePattern, ...] | None = None
    operator: bool = False
    key: str | None = None
    session: SignedIn | None = None
    client: str | None = None
    address: str | None = None
    door: str = "native"
    request: str | None = None
    capability: Capability | None = None

    @property
    def identity(self) -> str:
        """What tells this caller from every other: two keys may bear the same name."""
        return f"key:{self.key}" if self.key else self.subject

    def is_at_least(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def reaches(self, scope: Scope) -> bool:
        return self.scopes is None or any(pattern.fits(scope) for pattern in self.scopes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Key(JsonObject):
    """A key that was handed out. Its secret was shown once; only its hash is kept, and not in here."""

    id: str
    name: str
    tenant: str
    role: Role
    created_at: Moment
    created_by: str
    scopes: tuple[ScopePattern, ...] | None = None
    expires_at: Moment | None = None
    revoked_at: Moment | None = None

    def is_good(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """A person of the gateway door, in one tenant. The hash of their key stays in the store."""

    id: str
    tenant: str
    created_at: datetime


OwnerKind = Literal["agent", "workspace"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """An agent or a workspace of the keyed door; its memories are the records of the scope of the same kind and id."""

    kind: OwnerKind
    id: str
    tenant: str
    name: str
    created_at: datetime
    updated_at: datetime
    memory_enabled: bool = False


def check_client(client: str) -> str:
    if not _CLIENT.fullmatch(client):
        raise InvalidInput("A client id has 1 to 128 letters, digits, dots, colons, dashes or underscores.")
    return client
