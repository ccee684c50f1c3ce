"""A capability narrows what a key allows, and never widens it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import (
    CapabilityExpired,
    CapabilityMismatch,
    CommonplaceError,
    Forbidden,
    InvalidScope,
    TierNotAllowed,
    TierNotStorable,
    UntrustedSource,
)
from commonplace.governance.capability import (
    Partition,
    check_source,
    partition_of,
    promoting,
    reading,
    refused_outcome,
    rights,
    writing,
)
from commonplace.values.principal import ROLES, Capability, Principal, Role, ScopePattern, Tier
from commonplace.values.record import Json
from commonplace.values.scope import Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Partition(org="acme", workspace="web", project="shop")
TIERS: tuple[Tier, ...] = ("session", "project", "team", "curated", "global")
ALL = frozenset(TIERS)


def key(role: Role = "writer", **fields: Any) -> Principal:
    told: dict[str, Any] = {"subject": "ada", "tenant": "acme/web", "role": role}
    return Principal(**{**told, **fields})


def capability(**fields: Any) -> Capability:
    told: dict[str, Any] = {
        "run": "r1",
        "subject": "ada",
        "org": "acme",
        "workspace": "web",
        "project": "shop",
        "read_tiers": ALL,
        "write_tiers": ALL,
        "promote_targets": ALL,
    }
    return Capability(**{**told, **fields})


def at(tier: Tier) -> Partition:
    return replace(HERE, tier=tier)


def test_what_is_put_is_its_subjects_and_a_tier_is_where_it_is_shared() -> None:
    held = rights(key(), HERE, NOW, run="r1")

    assert held.own == Scope("user", "ada")
    assert held.shared("session") == Scope("session", "r1")
    assert held.shared("project") == Scope("workspace", "shop")
    assert held.shared("global") == Scope("global")
    assert rights(key(), HERE, NOW, run="r1", session="s1").shared("session") == Scope("session", "s1")
    assert rights(key(), HERE, NOW).shared("session") is None


def test_without_a_capability_the_role_decides() -> None:
    reader, writer, reviewer = (rights(key(role), HERE, NOW) for role in ("reader", "writer", "reviewer"))

    assert reading(reader).tiers == ("session", "project", "global")
    with pytest.raises(Forbidden):
        writing(reader)
    assert writing(replace(writer, partition=at("project"))) == Scope("user", "ada")
    with pytest.raises(Forbidden):
        promoting(reader)
    assert promoting(writer).scope == promoting(reviewer).scope == Scope("workspace", "shop")


def test_a_capability_may_name_the_key_instead_of_the_person() -> None:
    who = key(name="laptop", capability=capability(subject="laptop"))

    assert rights(who, HERE, NOW, run="r1").subject == "ada"


@pytest.mark.parametrize("patterns", [("workspace:shop",), ("user:ada",)])
def test_a_key_writes_where_it_reaches_its_own_scope_and_the_tiers(patterns: tuple[str, ...]) -> None:
    narrow = rights(key(scopes=tuple(map(ScopePattern, patterns))), at("project"), NOW)

    with pytest.raises(Forbidden):
        writing(narrow)
    both = tuple(map(ScopePattern, ("workspace:shop", "user:ada")))
    assert writing(replace(narrow, who=key(scopes=both))) == Scope("user", "ada")


def test_an_expired_capability_is_as_good_as_no_key() -> None:
    who = key(capability=capability(expires_at=NOW))

    with pytest.raises(CapabilityExpired) as raised:
        rights(who, HERE, NOW, run="r1")

    assert (raised.value.code, raised.value.status) == ("capability_expired", 401)
    assert rights(who, HERE, NOW - timedelta(milliseconds=1), run="r1").run == "r1"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"run": "r2"}, "run_id"),
        ({"org": "other"}, "org_id"),
        ({"workspace": "other"}, "workspace_id"),
        ({"project": "other"}, "project_id"),
        ({"subject": "bo"}, "subject"),
    ],
)
def test_a_capability_of_another_run_place_or_person_is_refused(changed: dict[str, str], field: str) -> None:
    with pytest.raises(CapabilityMismatch) as raised:
        rights(key(capability=capability(**changed)), HERE, NOW, run="r1")

    assert (raised.value.code, raised.value.status) == ("capability_mismatch", 403)
    assert raised.value.details == {"field": field}


def test_an_admin_may_act_for_somebody_else() -> None:
    held = rights(key("admin", capability=capability(subject="bo")), HERE, NOW, run="r1")

    assert writing(held) == Scope("user", "bo")


def test_a_partition_of_another_tenant_is_for_the_operator_alone() -> None:
    elsewhere = Partition(org="umbrella", workspace="lab")

    with pytest.raises(Forbidden):
        rights(key("admin"), elsewhere, NOW)
    assert rights(key("admin", operator=True), elsewhere, NOW).who.tenant == "umbrella/lab"


def test_a_slash_cannot_move_a_partition_into_another_tenant() -> None:
    with pytest.raises(InvalidScope):
        Partition(org="acme/web", workspace="lab")


@pytest.mark.parametrize("tier", ["team", "curated"])
def test_team_and_curated_keep_no_records(tier: Tier) -> None:
    who = key("admin", capability=capability())

    for work in (
        lambda: writing(rights(who, at(tier), NOW, run="r1")),
        lambda: promoting(rights(who, HERE, NOW, run="r1"), tier),
    ):
        with pytest.raises(TierNotStorable) as raised:
            work()
        assert (raised.value.code, raised.value.status) == ("tier_not_storage_backed", 403)
    assert reading(rights(who, HERE, NOW, run="r1"), [tier, "session"]).blocked == (tier,)


def test_a_capability_takes_tiers_away() -> None:
    held = rights(
        key("admin", capability=capability(read_tiers={"session"}, write_tiers={"session"}, promote_targets={"project"})),
        at("project"),
        NOW,
        run="r1",
    )  # fmt: skip

    found = reading(held, ["session", "project", "project"])

    assert (found.tiers, found.blocked) == (("session",), ("project",))
    with pytest.raises(TierNotAllowed):
        writing(held)
    with pytest.raises(TierNotAllowed):
        promoting(held, "global")


def test_a_search_reads_its_subjects_own_scope_only_where_the_key_reaches_it() -> None:
    patterns = (ScopePattern("workspace:shop"),)

    found = reading(rights(key(scopes=patterns), HERE, NOW), ["session", "project", "global"])

    assert (found.tiers, found.shared) == (("project",), (Scope("workspace", "shop"),))
    assert found.blocked == ("session", "global")
    assert found.own is None
    assert reading(rights(key(), HERE, NOW)).own == Scope("user", "ada")


def test_what_came_from_outside_is_not_promoted_unreviewed() -> None:
    with pytest.raises(UntrustedSource) as raised:
        check_source("connector_sourced", reviewed=False)

    assert (raised.value.code, raised.value.status) == ("untrusted_source", 403)
    check_source("connector_sourced", reviewed=True)
    check_source("system_generated", reviewed=False)


@pytest.mark.parametrize(
    ("outcome", "told", "refused"),
    [
        ({"status": "completed"}, {}, None),
        ({"status": "Rejected"}, {}, "rejected"),
        ({"status": "artifact-rejected"}, {}, "artifact_rejected"),
        ({"approved": False}, {}, "denied"),
        (None, {"source_outcome": {"status": "regressed"}}, "regressed"),
        (None, {"outcome": "failed"}, "failed"),
        ({"status": "ok"}, {"source_outcome": {"status": "superseded"}}, "superseded"),
        (None, {"status": "blocked", "outcome": 7}, None),
    ],
)
def test_work_that_came_to_nothing_speaks_against_a_promotion(
    outcome: dict[str, Json] | None, told: dict[str, Json], refused: str | None
) -> None:
    assert refused_outcome(outcome, {}, told) == refused


def test_what_a_request_leaves_open_is_its_capabilitys_or_its_tenants() -> None:
    bare = partition_of(key())
    named = partition_of(key(), project="shop", in_session=True)
    capable = partition_of(key(capability=capability(project="till")), tier="global")

    assert bare.key == "acme/web/default/project"
    assert named.key == "acme/web/shop/session"
    assert capable.key == "acme/web/till/global"


SETS = st.frozensets(st.sampled_from(TIERS))
PATTERNS = st.none() | st.lists(
    st.sampled_from(["*", "global", "workspace:shop", "session:*", "user:ada", "agent:x"]).map(ScopePattern), max_size=3
).map(tuple)


def allowed(who: Principal, tier: Tier, act: str) -> bool:
    """Whether `who` may read, write or promote to a tier."""
    held = rights(who, at(tier), NOW, run="r1")
    if act == "read":
        return tier in reading(held, [tier]).tiers
    try:
        writing(held) if act == "write" else promoting(held, tier)
    except CommonplaceError:
        return False
    return True


@given(
    role=st.sampled_from(ROLES),
    scopes=PATTERNS,
    held=st.builds(capability, read_tiers=SETS, write_tiers=SETS, promote_targets=SETS, require_review=st.booleans()),
    tier=st.sampled_from(TIERS),
)
def test_whatever_a_capability_says_it_allows_nothing_the_key_does_not(
    role: Role, scopes: tuple[ScopePattern, ...] | None, held: Capability, tier: Tier
) -> None:
    bare, capable = key(role, scopes=scopes), key(role, scopes=scopes, capability=held)

    assert allowed(capable, tier, "read") <= (allowed(bare, tier, "read") and tier in held.read_tiers)
    assert allowed(capable, tier, "write") <= (allowed(bare, tier, "write") and tier in held.write_tiers)
    promotes = allowed(capable, tier, "promote")
    assert promotes <= (tier in held.promote_targets and role != "reader")
    assert promotes <= (tier in ("project", "global") and role != "reader")
