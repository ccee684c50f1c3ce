"""Promotion and its checks, in their order; demotion; deletion."""

from typing import Any

import pytest

from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting
from commonplace.testing.governed import Door, capability
from commonplace.values.principal import Role

pytestmark = pytest.mark.anyio

REVIEW = {"required": True, "reviewer_id": "operator", "approval_id": "a-1"}
NOWHERE = "01920000-0000-7000-8000-000000000000"


async def test_with_an_id_alone_it_goes_to_the_project_it_belongs_to_and_keeps_its_id(either: Door) -> None:
    put = await either.put("We ship on Fridays", session_id="s1", partition={"project_id": "shop"})
    reader = await either.key("reader", "workspace:shop")
    assert await reader.found("Fridays") == []

    done = await either.promote(put["id"])

    assert (done["ok"], done["promoted"], done["id"], done["new_memory_id"]) == (True, True, put["id"], put["id"])
    assert (done["to_tier"], done["reason"], done["scrub_report"]["status"]) == ("project", None, "passed")
    assert done["policy_decision_id"]
    [row] = (await reader.search("Fridays"))["results"]
    assert (row["tier"], row["visibility"], row["partition_key"]) == (
        "project",
        "shared",
        "default/default/shop/project",
    )


async def test_the_audit_tells_who_reviewed(door: Door) -> None:
    put = await door.put("We ship on Fridays")

    done = await door.promote(put["id"], run_id="r1", to_tier="global", review=REVIEW, reason="the team agreed")

    [row] = await door.audit(run_id="r1")
    assert (row["audit_id"], row["action"], row["to_tier"]) == (done["audit_id"], "memory_promote", "global")
    assert row["source_memory_id"] == put["id"]
    [item] = (await door.done("GET", "/memory"))["items"]
    told = item["linkage"]["promotion"]
    assert (told["reviewer_id"], told["approval_id"], told["to_tier"]) == ("operator", "a-1", "global")


async def test_a_reviewers_key_is_recorded_as_its_own_review(door: Door) -> None:
    put = await door.share("We ship on Fridays")
    reviewer = await door.key("reviewer", name="rita")

    await reviewer.promote(put["id"], to_tier="global")

    [item] = (await door.done("GET", "/memory"))["items"]
    told = item["linkage"]["promotion"]
    assert (told["reviewer_id"], told["approval_id"]) == ("rita", "rita")


async def test_promoting_again_changes_nothing(door: Door) -> None:
    put = await door.put("We ship on Fridays")
    await door.promote(put["id"])

    again = await door.promote(put["id"])

    versions = await door.running.services.desk.store.records.history("default/default", put["id"])
    assert (again["promoted"], len(versions)) == (True, 2)


async def approval(door: Door, id: str, version: int = 1) -> dict[str, Any]:
    """As somebody gives it who may, in the shape of a review."""
    given = await door.running.services.approvals.approve(caller("reviewer", "*", name="rita"), id, version)
    return {"required": True, "reviewer_id": given.actor, "approval_id": given.id}


async def test_a_writer_needs_the_approval_of_somebody_who_may_review(either: Door) -> None:
    writer = await either.key("writer")
    put = await writer.put("We ship on Fridays", capability=capability())
    path, body = "/memory/promote", {"id": put["id"], "capability": capability()}

    for review in (None, REVIEW, {"required": True, "reviewer_id": "rita"}):
        refused = await writer.refused("POST", path, json={**body, "review": review})
        assert refused == (403, "review_required")
    # Nobody has a reviewer's key for this person.
    unknown = await approval(either, put["id"])
    assert await writer.refused("POST", path, json={**body, "review": unknown}) == (403, "review_required")
    admin = caller("admin")
    await either.running.services.identity.create_key(admin, "Rita", "reviewer", user="rita")
    done = await writer.done("POST", path, json={**body, "review": unknown})
    assert (done["promoted"], done["to_tier"]) == (True, "project")


@pytest.mark.parametrize(
    ("memory", "to", "code"),
    [
        ({"promote_targets": []}, "project", "tier_not_allowed"),
        ({"promote_targets": ["project"]}, "global", "tier_not_allowed"),
        ({}, "session", "tier_not_allowed"),
        ({}, "team", "tier_not_storage_backed"),
        ({}, "curated", "tier_not_storage_backed"),
    ],
)
async def test_the_target_is_checked_before_the_review_and_the_source(
    door: Door, memory: dict[str, Any], to: str, code: str
) -> None:
    writer = await door.key("writer")
    body = {"id": NOWHERE, "to_tier": to, "capability": capability(memory=memory)}

    assert await writer.refused("POST", "/memory/promote", json=body) == (403, code)


async def test_a_capability_that_is_not_good_is_refused_before_everything_else(door: Door) -> None:
    writer = await door.key("writer")
    body = {"id": NOWHERE, "to_tier": "team", "capability": capability(expires_at=1)}

    assert await writer.refused("POST", "/memory/promote", json=body) == (401, "capability_expired")


async def test_what_is_not_there_is_not_promoted_and_that_is_no_error(door: Door) -> None:
    hidden = await door.put("We ship on Fridays", private=True)
    reviewer = await door.key("reviewer", "workspace:default")

    missing, out_of_reach = await reviewer.promote(NOWHERE), await reviewer.promote(hidden["id"])

    for done in (missing, out_of_reach):
        assert (done["ok"], done["promoted"], done["new_memory_id"], done["reason"]) == (
            False,
            False,
            None,
            "not_found",
        )
    # To a reviewer who does not reach it the audit tells no more than the answer does.
    assert [row["status"] for row in await reviewer.audit()] == ["not_found", "not_found"]
    assert "denied" in [row["status"] for row in await door.audit()]


async def test_a_deleted_or_superseded_record_is_not_promoted(door: Door) -> None:
    put = await door.put("We ship on Fridays")
    await door.done("DELETE", f"/memory/{put['id']}")

    done = await door.promote(put["id"])

    assert (done["promoted"], done["reason"]) == (False, "not_found")


@pytest.mark.parametrize(
    "status",
    "denied deny rejected reject rework reworked regressed superseded failed failure blocked artifact_rejected".split(),
)
async def test_work_that_came_to_nothing_is_not_promoted(door: Door, status: str) -> None:
    put = await door.put("We ship on Fridays")

    done = await door.promote(put["id"], source_outcome={"status": status})

    assert (done["promoted"], done["reason"]) == (False, f"source_outcome:{status}")
    assert await door.found("Fridays", read_scopes=["project"]) == []


async def test_the_records_own_word_about_the_work_counts_as_well(door: Door) -> None:
    put = await door.put("We ship on Fridays", metadata={"source_outcome": {"status": "regressed"}})

    done = await door.promote(put["id"], source_outcome={"status": "ok", "policy_decision_id": "p-1"})

    assert (done["promoted"], done["policy_decision_id"]) == (False, "p-1")


async def test_what_came_from_outside_is_promoted_by_a_reviewer_and_not_by_a_run_alone(door: Door) -> None:
    admin = await door.key("admin", name="writer")
    place = {"run_id": "r1", "project_id": "shop"}
    put = await admin.put("We ship on Fridays", trust="connector_sourced", **place)
    body = {"id": put["id"], "capability": capability()}

    assert await admin.refused("POST", "/memory/promote", json=body) == (403, "untrusted_source")
    await door.key("reviewer", name="rita", user="rita")
    review = await approval(door, put["id"])
    assert (await admin.promote(put["id"], review=review, capability=capability()))["promoted"]
    other = await admin.put("We ship on Mondays", trust="connector_sourced")
    assert (await admin.promote(other["id"]))["promoted"]


async def test_what_holds_a_credential_of_a_person_is_kept_and_not_shared(door: Door, clock: FakeClock) -> None:
    # As a store has it that was filled before there was a scrub.
    old = Drafting(clock)("The token is ghp_" + "a1B2" * 9, scope="session:s1", embedder=None)
    [written] = await door.running.services.desk.store.records.put([old])

    done = await door.promote(written.record.id)

    assert (done["promoted"], done["reason"]) == (False, "blocked_by_scrub")
    assert (done["scrub_report"]["status"], done["scrub_report"]["block_reason"]) == ("blocked", "github_token")
    assert await door.found("token", read_scopes=["project"]) == []


async def test_a_promotion_under_a_capability_reaches_its_own_run_only(door: Door) -> None:
    writer = await door.key("writer")
    own = await writer.put("We ship on Fridays", session_id="s1", run_id="r1", capability=capability())
    other = await writer.put("We ship on Mondays", run_id="r2")
    await door.key("reviewer", name="rita", user="rita")
    review = await approval(door, own["id"])

    assert (await writer.promote(own["id"], capability=capability(), review=review))["promoted"]
    assert (await writer.promote(other["id"], capability=capability()))["reason"] == "not_found"


async def test_a_key_promotes_only_where_it_reaches(door: Door) -> None:
    reviewer = await door.key("reviewer", "session:*")
    put = await door.put("We ship on Fridays")

    assert await reviewer.refused("POST", "/memory/promote", json={"id": put["id"]}) == (403, "forbidden")


# ---- demote and delete


@pytest.mark.parametrize("role", ["writer", "reviewer"])
@pytest.mark.parametrize("tier", ["session", "project", "global"])
async def test_nobody_below_admin_demotes_deletes_or_promotes_what_is_somebody_elses(
    either: Door, tier: str, role: Role
) -> None:
    ana, bo = await either.key("writer", name="ana"), await either.key(role, name="bo")
    put = await ana.put("my own plan", run_id="r1", partition={"tier": tier})

    assert await bo.refused("POST", "/memory/demote", json={"id": put["id"]}) == (404, "record_not_found")
    assert await bo.refused("DELETE", f"/memory/{put['id']}") == (404, "record_not_found")
    response = await bo("POST", "/memory/promote", json={"id": put["id"]})
    assert response.status_code == 403 or response.json()["reason"] == "not_found"
    assert await ana.found("plan") == ["my own plan"]
    statuses = [row["status"] for row in await either.audit() if row["actor"] == "bo"]
    assert statuses == ["denied"] * 3


async def test_a_demoted_record_is_kept_and_can_be_promoted_again(door: Door) -> None:
    put = await door.put("We ship on Fridays", partition={"tier": "project"})

    done = await door.done("POST", "/memory/demote", json={"id": put["id"], "run_id": "r1"})

    [item] = (await door.done("GET", "/memory"))["items"]
    assert (item["demoted"], item["visibility"]) == (True, "private")
    [row] = await door.audit(run_id="r1")
    assert (done["ok"], done["audit_id"], row["action"]) == (True, row["audit_id"], "memory_demote")
    await door.promote(put["id"])
    assert await door.found("Fridays") == ["We ship on Fridays"]


async def test_what_is_not_there_cannot_be_demoted_and_that_is_audited(door: Door) -> None:
    refused = await door.refused("POST", "/memory/demote", json={"id": NOWHERE, "run_id": "r1"})

    assert refused == (404, "record_not_found")
    [row] = await door.audit(run_id="r1")
    assert (row["action"], row["status"]) == ("memory_demote", "not_found")


async def test_a_record_is_deleted_once_and_by_writers(door: Door) -> None:
    put = await door.put("We ship on Fridays")
    reader, elsewhere = await door.key("reader"), await door.key("writer", "workspace:shop")
    path = f"/memory/{put['id']}"

    assert await reader.refused("DELETE", path) == (403, "forbidden")
    assert await elsewhere.refused("DELETE", path) == (404, "record_not_found")
    done = await door.done("DELETE", path)
    assert (done["ok"], done["deleted"], done["id"]) == (True, True, put["id"])
    assert await door.refused("DELETE", path) == (404, "record_not_found")
    assert await door.refused("DELETE", "/memory/no-id") == (404, "record_not_found")


async def test_delete_and_demote_take_a_whole_id(either: Door) -> None:
    put = await either.put("We ship on Fridays")

    for length in (8, 18, 35):
        id = put["id"][:length]
        assert await either.refused("DELETE", f"/memory/{id}") == (400, "invalid_input")
        assert await either.refused("POST", "/memory/demote", json={"id": id}) == (400, "invalid_input")
    assert await either.found("Fridays") == ["We ship on Fridays"]


async def test_a_record_of_another_project_or_channel_is_not_there(door: Door) -> None:
    put = await door.put("Friday", partition={"project_id": "shop", "tier": "project"}, metadata={"channel_tag": "c1"})
    path = f"/memory/{put['id']}"

    assert await door.refused("DELETE", path, params={"project_id": "bank"}) == (404, "record_not_found")
    assert await door.refused("DELETE", path, params={"channel_tag": "c2"}) == (404, "record_not_found")
    assert (await door.done("DELETE", path, params={"project_id": "shop", "channel_tag": "c1"}))["deleted"]
