"""Who may reach what: roles, scope patterns and trust labels. Decides, never acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from commonplace.errors import Forbidden, InvalidInput, OwnReview
from commonplace.values.principal import Principal, Role
from commonplace.values.record import Record, Trust
from commonplace.values.scope import SCOPE_KINDS, Scope, ScopeKind

_BREADTH: Mapping[ScopeKind, int] = {"global": 2, "workspace": 1, "agent": 1}
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
    """Only a reviewer may say that a record was verified or approved, and only a person."""
    if trust in _REVIEWED:
        require_role(who, "reviewer")
        if who.is_model:
            raise Forbidden(f"A person says that a record is {trust}, not an agent. Leave the label out.", trust=trust)


def own_trust(who: Principal, trust: Trust) -> Trust:
    """
    The label of what the caller writes: `human_approved` by an admin is `verified`, since nobody else has looked.

    Raises:
        OwnReview: nobody below admin labels their own words as reviewed.
        Forbidden: neither does a writer, nor an agent.
    """
    require_trust(who, trust)
    if trust not in _REVIEWED:
        return trust
    if not who.is_at_least("admin"):
        raise OwnReview(
            f"You cannot label what you write as {trust}. Leave the label out, and let another reviewer approve it."
        )
    return "verified"


def is_reviewed(trust: Trust | None) -> bool:
    """Whether the label says that somebody looked at the text."""
    return trust in _REVIEWED


def exact_scopes(who: Principal) -> tuple[Scope, ...] | None:
    """The scopes in reach, if the patterns name each of them; None if they have to be looked up."""
    patterns = who.scopes
    if patterns is None or any("*" in pattern.text for pattern in patterns):
        return None
    return tuple(Scope.parse(pattern.text) for pattern in patterns)


def reaches_all(who: Principal) -> bool:
    """Whether the caller reaches every scope there can be: an admin, or a key whose patterns cover them."""
    if who.scopes is None:
        return who.role == "admin"
    patterns = {pattern.text for pattern in who.scopes}
    return "*" in patterns or all(
        kind in patterns if kind == "global" else f"{kind}:*" in patterns for kind in SCOPE_KINDS
    )


def narrows(place: Scope, target: Scope) -> bool:
    """Whether fewer persons reach a record in `target` than in the place where it is."""
    return _BREADTH.get(target.kind, 0) < _BREADTH.get(place.kind, 0)


def require_wider(place: Scope, target: Scope) -> None:
    """Raises InvalidInput: a promotion to `target` would take a record away from those who reach it."""
    if narrows(place, target):
        raise InvalidInput(
            f"Promotion never narrows, and the record is in {place}. Leave the scope out, or name a wider one."
        )


def visible(who: Principal, versions: Sequence[Record]) -> list[Record]:
    """Those versions of a record that were in scopes the caller may read. Look its memberships up before."""
    return [version for version in versions if version.tenant == who.tenant and who.reaches(version.scope)]
