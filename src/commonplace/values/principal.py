"""Who asks, and what they may: roles, scope patterns, keys, and capabilities, which only ever narrow."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from commonplace.errors import InvalidInput
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.json import JsonObject, written_as_text
from commonplace.values.moment import Moment
from commonplace.values.scope import SCOPE_KINDS, Scope, ScopeKind

Role = Literal["reader", "writer", "reviewer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "reviewer", "admin")
"""Each may do what those before it may."""

Tier = Literal["session", "project", "team", "curated", "global"]

SHARED_KINDS: frozenset[ScopeKind] = frozenset({"global", "workspace", "agent"})
"""Scopes of these kinds are for everybody in the tenant; of the others, each has its own persons."""

LOCAL = "local"
"""The subject of the operator, of an embedded memory, and of a daemon that is open on the loopback."""

KEY_SUBJECT = "key/"
"""What the subject of a key that speaks for nobody else begins with."""

CHANNEL_SUBJECT = "channel/"
"""What the subject of a channel, and of a sender in a room whom nobody linked to a person, begins with."""

UNCLAIMED = f"{KEY_SUBJECT}unclaimed/"
"""The `user:` scopes that begin so are nobody's until an admin shares them: notes from before, whose name fits no one person."""

_RESERVED = frozenset({LOCAL, "operator", "anonymous"})
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

    @classmethod
    def parse(cls, text: str) -> ScopePattern:
        """A pattern that somebody writes now, not one that was stored. Raises InvalidInput also if no scope can ever fit it."""
        if not text.isprintable():
            raise InvalidInput(f"{text!r:.80} is no scope pattern: it has a control character or a NUL in it.")
        return cls(text)

    def fits(self, scope: Scope) -> bool:
        if self.text == "*":
            return True
        kind, _, id = self.text.partition(":")
        if kind != scope.kind:
            return False
        return scope.id.startswith(id[:-1]) if id.endswith("*") else scope.id == id

    @property
    def names_some(self) -> bool:
        """Whether it names scopes one by one or by their beginning, not all of a kind."""
        return self.text != "*" and not self.text.endswith(":*")

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        del source, handler
        return written_as_text(cls, cls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Capability:
    """
    What a caller of the governed door may do in one run. It narrows what the caller's key allows, or, if it was signed for the caller,
    what the key of its `issuer` does.
    """

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
    issuer: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedIn:
    """A session: what tells it from every other (`mark`), what those of the same key have in common (`whose`), its end."""

    mark: str
    whose: str
    ends_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """
    Who asks. `subject` is the person, by whom persons are kept apart; `name` is what the audit calls them. `agent`: a program
    holds the key. `scopes` are the patterns of the key; without any the role decides. `member_of` are scopes that belong to the
    subject or are shared with it, as far as they were looked up. `operator` is the owner of the daemon: admin of every
    tenant. `key` is the id of the key that was shown, `session` what stood for it, `address` where the request came from, `door`
    which way in. `loopback`: the request began on this machine; no proxy passed it on. `overheard`: others read what is found.
    """

    subject: str
    tenant: str
    role: Role
    name: str | None = None
    agent: bool = False
    scopes: tuple[ScopePattern, ...] | None = None
    operator: bool = False
    key: str | None = None
    session: SignedIn | None = None
    client: str | None = None
    address: str | None = None
    loopback: bool = False
    door: str = "native"
    request: str | None = None
    capability: Capability | None = None
    member_of: frozenset[Scope] = frozenset()
    overheard: bool = False

    @property
    def actor(self) -> str:
        """What rows and versions call the caller. Nothing is decided by it: two keys may bear the same name."""
        return self.name or self.subject

    @property
    def is_model(self) -> bool:
        """Whether what it writes is a model's word, not a person's: it holds an agent's key, or came by MCP."""
        return self.agent or self.door == "mcp"

    @property
    def is_browsing(self) -> bool:
        """Whether a person looks around in the console: what is shown there is recalled into nobody's work."""
        return self.session is not None

    @property
    def home(self) -> Scope:
        """The caller's own."""
        return Scope("user", self.subject)

    @property
    def identity(self) -> str:
        """What tells this caller from every other: two keys may bear the same name, and a person may be called as a key is."""
        return f"key:{self.key}" if self.key else f"subject:{self.subject}"

    def is_at_least(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def reaches(self, scope: Scope) -> bool:
        """Whether the caller may name the scope. Of sessions and rooms: those in `member_of`, for anybody below admin."""
        if self.scopes is not None:
            return any(pattern.fits(scope) for pattern in self.scopes)
        return self.role == "admin" or scope.kind in SHARED_KINDS or scope == self.home or scope in self.member_of

    def in_company(self, session: str, room: Scope | None = None) -> Principal:
        """
        The same person where others listen: with what is everybody's and the memory of this session and of its room, and nothing that is
        only theirs.
        """
        patterns = self.scopes or (ScopePattern("*"),)
        shared = (ScopePattern("global"), *(ScopePattern(f"{kind}:*") for kind in sorted(SHARED_KINDS - {"global"})))
        public: list[ScopePattern] = []
        for pattern in patterns:
            if pattern.text == "*":
                public += shared
            elif pattern.text.partition(":")[0] in SHARED_KINDS:
                public.append(pattern)
        # A star would be more than this one.
        if "*" not in session:
            public.append(ScopePattern(f"session:{session}"))
        if room is not None and "*" not in room.id and self.reaches(room):
            public.append(ScopePattern(str(room)))
        return replace(self, scopes=tuple(public), overheard=True)

    def is_at_home(self, scope: Scope) -> bool:
        """Whether the scope is read when the caller names none: no other person's, no session of others."""
        if not self.reaches(scope):
            return False
        if scope.kind in SHARED_KINDS or scope == self.home or scope in self.member_of:
            return True
        return any(pattern.names_some and pattern.fits(scope) for pattern in self.scopes or ())


@dataclass(frozen=True, kw_only=True, slots=True)
class Key(JsonObject):
    """
    A key that was handed out. Its secret was shown once; only its hash is kept, and not in here. `user` is the person it
    speaks for (None: the key itself), `agent` whether a program holds it, `parent` the key that made it.
    """

    id: str
    name: str
    tenant: str
    role: Role
    created_at: Moment
    created_by: str
    scopes: tuple[ScopePattern, ...] | None = None
    expires_at: Moment | None = None
    revoked_at: Moment | None = None
    user: str | None = None
    agent: bool = False
    parent: str | None = None

    @property
    def subject(self) -> str:
        return self.user or f"{KEY_SUBJECT}{self.id}"

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
class Owner(JsonObject):
    """
    An agent or a workspace; its memories are the records of the scope of the same kind and id. `profile` is how an agent is set up,
    None if nobody did.
    """

    kind: OwnerKind
    id: str
    tenant: str
    name: str
    created_at: Moment
    updated_at: Moment
    memory_enabled: bool = False
    profile: AgentProfile | None = None


def check_person(name: str) -> str:
    """A name that somebody may have as a subject. Raises InvalidInput."""
    if name.lower() in _RESERVED or name.lower().startswith((KEY_SUBJECT, CHANNEL_SUBJECT)):
        raise InvalidInput(f"{name!r:.60} is a name of Commonplace itself. Choose another.")
    if not 1 <= len(name) <= 100 or not name.isprintable() or "*" in name or name != name.strip():
        raise InvalidInput("A person's name has 1 to 100 printable characters, no star, and no space around it.")
    return name


def is_unclaimed(scope: Scope) -> bool:
    return scope.kind == "user" and scope.id.startswith(UNCLAIMED)


def check_key_name(name: str) -> str:
    """
    A name that a key may bear. Raises InvalidInput.

    The audit shows it as the actor, so no key is called what the audit calls somebody else.
    """
    if name.strip().lower() in _RESERVED or name.strip().lower().startswith((KEY_SUBJECT, CHANNEL_SUBJECT)):
        raise InvalidInput(f"{name!r:.60} is a name of Commonplace itself. Choose another for the key.")
    if not 1 <= len(name) <= 100 or not name.isprintable() or not name.strip():
        raise InvalidInput("A key's name has 1 to 100 printable characters.")
    return name


def check_client(client: str) -> str:
    if not _CLIENT.fullmatch(client):
        raise InvalidInput("A client id has 1 to 128 letters, digits, dots, colons, dashes or underscores.")
    return client
