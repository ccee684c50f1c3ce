"""Who may reach what: roles, scope patterns and trust labels. Decides, never acts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.errors import Forbidden
from commonplace.values.principal import Principal, Role
from commonplace.values.record import Record, Trust
from commonplace.values.scope import SCOPE_KINDS, Scope

_REVIEWED: frozenset[Trust] = frozenset({"verified", "human_approved"})


def require_role(who: Principal, role: Role) -> None:
    """Raises Forbidden."""
    if not who.is_at_least(role):
        raise Forbidden(f"This needs a key of role {role}; yours is a {who.role}'s.", needed=role, role=who.role)


def require_operator(who: Principal) -> None:
    if not who.operator:
        raise Forbidden("Only the operator of the daemon may do this. Use its own token.")


def require_scope(who: Principal, scope: Scope) -> None:
    """Raises Forbidden."""
    if not who.reaches(scope):
        raise Forbidden(f"The key does not reach {scope}. Name a scope that it reaches.", scope=str(scope))


def require_scopes(who: Principal, scopes: Iterable[Scope]) -> None:
    for scope in scopes:
        require_scope(who, scope)


def require_trust(who: Principal, trust: Trust | None) -> None:
    """Only a reviewer may say that a record was verified or approved."""
    if trust in _REVIEWED:
        require_role(who, "reviewer")


def exact_scopes(who: Principal) -> tuple[Scope, ...] | None:
    """The scopes in reach, if the patterns name each of them; None if they have to be looked up."""
    patterns = who.scopes or ()
    if any("*" in pattern.text for pattern in patterns):
        return None
    return tuple(Scope.parse(pattern.text) for pattern in patterns)


def reached_kinds(who: Principal) -> bool:
    """Whether the patterns cover every scope there can be."""
    if who.scopes is None:
        return True
    patterns = {pattern.text for pattern in who.scopes}
    return "*" in patterns or all(
        kind in patterns if kind == "global" else f"{kind}:*" in patterns for kind in SCOPE_KINDS
    )


def visible(who: Principal, versions: Sequence[Record]) -> list[Record]:
    """Those versions of a record that were in scopes the caller may read."""
    return [version for version in versions if version.tenant == who.tenant and who.reaches(version.scope)]
