"""Callers of every kind."""

from __future__ import annotations

from commonplace.values.principal import Principal, Role, ScopePattern
from commonplace.values.scope import DEFAULT_TENANT


def caller(role: Role, *scopes: str, tenant: str = DEFAULT_TENANT, name: str | None = None) -> Principal:
    """Somebody on this machine with a key of that role; without `scopes` it reaches every scope of the tenant."""
    patterns = tuple(ScopePattern(scope) for scope in scopes) or None
    return Principal(subject=name or role, tenant=tenant, role=role, scopes=patterns, address="127.0.0.1")


def operator(tenant: str = DEFAULT_TENANT) -> Principal:
    """The owner of the daemon, or of the store."""
    return Principal(subject="local", tenant=tenant, role="admin", operator=True)
