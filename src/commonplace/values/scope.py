"""A scope: who shares a memory. Written `kind:id`, split at the first colon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

from commonplace.errors import InvalidScope
from commonplace.values.json import written_as_text

ScopeKind = Literal["session", "agent", "workspace", "channel", "user", "global"]
SCOPE_KINDS: tuple[ScopeKind, ...] = get_args(ScopeKind)
MAX_SCOPE_ID = 255
DEFAULT_TENANT = "default/default"

Scopes: TypeAlias = "Sequence[Scope | str] | Scope | str | None"


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    kind: ScopeKind
    id: str = ""

    def __post_init__(self) -> None:
        if self.kind not in SCOPE_KINDS:
            raise InvalidScope(f"{self.kind!r} is not a scope kind. Use one of {', '.join(SCOPE_KINDS)}.")
        if self.kind == "global":
            if self.id:
                raise InvalidScope("The global scope has no id: write it as `global`.")
            return
        if not 1 <= len(self.id) <= MAX_SCOPE_ID or not self.id.isprintable():
            raise InvalidScope(f"A scope's id has 1 to {MAX_SCOPE_ID} printable characters.")

    @classmethod
    def parse(cls, written: str | Scope) -> Self | Scope:
        """Read `workspace:web`, `channel:dingtalk/room 7`, `global`."""
        if isinstance(written, Scope):
            return written
        if not isinstance(written, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidScope(f"{written!r:.40} is not a scope. Write kind:id.")
        kind, colon, id = written.partition(":")
        for scope_kind in SCOPE_KINDS:
            if kind == scope_kind:
                if not colon and scope_kind != "global":
                    raise InvalidScope(f"{written!r} names no id. Write it as {scope_kind}:id.")
                return cls(scope_kind, id)
        raise InvalidScope(f"{written!r} is not a scope. Write kind:id with a kind of {', '.join(SCOPE_KINDS)}.")

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        del source, handler
        return written_as_text(cls, cls.parse)


def scopes_of(scopes: Scopes) -> tuple[Scope, ...] | None:
    if scopes is None:
        return None
    if isinstance(scopes, str | Scope):
        return (Scope.parse(scopes),)
    return tuple(Scope.parse(scope) for scope in scopes)


def check_tenant(tenant: str) -> str:
    """A tenant is `<org>/<project>`, both non-empty and printable."""
    org, slash, project = tenant.partition("/")
    if not (org and slash and project) or len(tenant) > MAX_SCOPE_ID or not tenant.isprintable():
        raise InvalidScope(f"{tenant!r} is not a tenant. Write it as org/project.")
    return tenant
