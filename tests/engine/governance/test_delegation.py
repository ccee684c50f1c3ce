"""A signed capability never reaches further than its issuer does, nor than what it says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from commonplace.errors import CapabilityExpired, CommonplaceError
from commonplace.governance.capability import Partition, promoting, reading, rights, writing
from commonplace.governance.delegation import (
    as_holder,
    claimed_scopes,
    read_delegation,
    require_within,
    sign_delegation,
)
from commonplace.values.capability import CapabilityForged, CapabilityTooWide, Delegation
from commonplace.values.principal import ROLES, Capability, Principal, Role, ScopePattern, Tier
from commonplace.values.scope import Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET, OTHER = b"s" * 32, b"t" * 32
STORED: tuple[Tier, ...] = ("session", "project", "global")
SCOPES = [
    Scope.parse(text)
    for text in (
        "global",
        "workspace:web",
        "workspace:web-payroll",
        "user:ana",
        "user:bo",
        "session:r1",
        "session:s1",
        "agent:x",
    )
]
PATTERNS = ["global", "workspace:web", "workspace:web*", "workspace:*", "user:ana", "user:bo", "session:s1", "*"]


def capability(**fields: Any) -> Capability:
    plain: dict[str, Any] = {
        "run": "r1",
        "subject": "ana",
        "org": "acme",
        "workspace": "web",
        "project": "web",
        "read_tiers": frozenset({"session", "project"}),
        "write_tiers": frozenset({"session"}),
        "promote_targets": frozenset(),
        "expires_at": NOW + timedelta(hours=1),
        "issuer": "ana",
    }
    return Capability(**{**plain, **fields})


def delegation(**fields: Any) -> Delegation:
    return Delegation(id="c1", tenant="acme/web", holder="k2", issuer="k1", capability=capability(**fields))


def key(role: Role = "writer", subject: str = "ana", **fields: Any) -> Principal:
    plain: dict[str, Any] = {"subject": subject, "name": subject, "tenant": "acme/web", "role": role, "key": "k"}
    return Principal(**{**plain, **fields})


tiers = st.frozensets(st.sampled_from(STORED))
capabilities = st.builds(
    capability,
    subject=st.sampled_from(["ana", "bo"]),
    project=st.sampled_from(["web", "web-payroll", "shop"]),
    read_tiers=tiers,
    write_tiers=tiers,
    promote_targets=st.frozensets(st.sampled_from(["project", "global"])),
)
patterns = st.none() | st.lists(st.sampled_from(PATTERNS), max_size=3).map(
    lambda texts: tuple(map(ScopePattern, texts))
)
keys = st.builds(
    key,
    role=st.sampled_from(ROLES),
    subject=st.sampled_from(["ana", "bo"]),
    scopes=patterns,
    agent=st.booleans(),
    member_of=st.frozensets(st.sampled_from([scope for scope in SCOPES if scope.kind == "session"])),
)


def test_what_was_signed_is_read_again() -> None:
    assert read_delegation(SECRET, sign_delegation(SECRET, delegation()), NOW) == delegation()


def test_it_ends_at_its_moment() -> None:
    text = sign_delegation(SECRET, delegation())

    assert read_delegation(SECRET, text, NOW + timedelta(minutes=59)) == delegation()
    with pytest.raises(CapabilityExpired):
        read_delegation(SECRET, text, NOW + timedelta(hours=1))


def test_another_secret_is_another_daemons() -> None:
    with pytest.raises(CapabilityForged):
        read_delegation(SECRET, sign_delegation(OTHER, delegation()), NOW)


@given(st.data())
def test_no_letter_of_it_can_be_changed(data: st.DataObject) -> None:
    text = sign_delegation(SECRET, delegation())
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("abcXYZ019-_.=ä \0"))
    assume(text[place] != letter)

    with pytest.raises(CapabilityForged):
        read_delegation(SECRET, text[:place] + letter + text[place + 1 :], NOW)


@given(st.text(max_size=200))
def test_no_text_of_somebody_else_is_one(text: str) -> None:
    for forged in (text, f"cap_{text}"):
        with pytest.raises(CapabilityForged):
            read_delegation(SECRET, forged, NOW)


@given(issuer=keys, holder=keys, claims=capabilities, session=st.sampled_from([None, "s1", "s*"]))
def test_a_holder_reaches_what_the_issuer_reaches_and_the_capability_names(
    issuer: Principal, holder: Principal, claims: Capability, session: str | None
) -> None:
    scopes = claimed_scopes(claims, session)

    acting = as_holder(holder, issuer, claims, scopes)

    for scope in [*SCOPES, *scopes]:
        assert not acting.reaches(scope) or (issuer.reaches(scope) and scope in scopes)
    assert ROLES.index(acting.role) <= min(ROLES.index(issuer.role), ROLES.index("writer"))
    assert (acting.subject, acting.key) == (holder.subject, holder.key)
    assert acting.agent == (holder.agent or issuer.agent)
    assert not acting.operator


@given(issuer=keys, holder=keys, claims=capabilities, tier=st.sampled_from(STORED))
def test_at_the_door_it_allows_nothing_that_the_issuer_may_not_or_it_does_not_say(
    issuer: Principal, holder: Principal, claims: Capability, tier: Tier
) -> None:
    here = Partition(org="acme", workspace="web", project=claims.project, tier=tier)
    acting = as_holder(holder, issuer, claims, claimed_scopes(claims, None))

    permissions = rights(acting, here, NOW, run="r1")
    reach = reading(permissions)

    assert permissions.subject == claims.subject
    assert set(reach.tiers) <= claims.read_tiers
    assert all(issuer.reaches(scope) for scope in (*reach.shared, *((reach.own,) if reach.own else ())))
    if outcome_of(lambda: writing(permissions)):
        assert tier in claims.write_tiers
        assert issuer.is_at_least("writer")
        assert issuer.reaches(Scope("user", claims.subject))
    if tier != "session" and outcome_of(lambda: promoting(permissions, tier)):
        assert tier in claims.promote_targets
        assert issuer.is_at_least("writer")
        assert issuer.reaches(Scope("workspace", claims.project) if tier == "project" else Scope("global"))


def outcome_of(step: Any) -> bool:
    try:
        step()
    except CommonplaceError:
        return False
    return True


@pytest.mark.parametrize(
    ("issuer", "claims"),
    [
        (key("reader"), capability()),
        (key("reader"), capability(write_tiers=frozenset(), promote_targets=frozenset({"project"}))),
        (key(scopes=(ScopePattern("workspace:web"),)), capability(project="web-payroll", write_tiers=frozenset())),
        (key(scopes=(ScopePattern("workspace:web"),)), capability(read_tiers=frozenset({"global"}))),
        (key(scopes=(ScopePattern("workspace:web"),)), capability()),
        (key("reviewer"), capability(subject="bo")),
        (key("reviewer"), capability(subject="bo", write_tiers=frozenset(), read_tiers=frozenset({"session"}))),
    ],
)
def test_what_is_wider_than_its_issuer_is_refused(issuer: Principal, claims: Capability) -> None:
    with pytest.raises(CapabilityTooWide):
        require_within(issuer, claims)


def test_an_issuer_gives_what_it_has() -> None:
    require_within(key("reader"), capability(write_tiers=frozenset()))
    require_within(key(), capability(promote_targets=frozenset({"project", "global"})))
    require_within(key(scopes=(ScopePattern("workspace:web"),)), capability(write_tiers=frozenset()))
    require_within(key("admin", subject="ada"), capability(subject="bo"))


def test_a_capability_for_somebody_of_the_same_name_as_the_holder_is_not_the_holders() -> None:
    holder = key(subject="key/k2", name="ana")
    acting = as_holder(holder, key(), capability(), claimed_scopes(capability(), None))

    permissions = rights(acting, Partition(org="acme", workspace="web", project="web"), NOW, run="r1")

    assert permissions.own == Scope("user", "ana")
    assert not acting.reaches(replace(holder, subject="key/k2").home)
