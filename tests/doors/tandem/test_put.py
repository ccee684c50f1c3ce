"""What is put: where it goes, what is taken out of it, what is kept once."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.governed import Door, capability
from commonplace.values.audit import AuditQuery

pytestmark = pytest.mark.anyio

PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----"


async def scope_of(door: Door, id: str, tenant: str = "default/default") -> str:
    [record] = await door.running.services.desk.store.records.get(tenant, [id])
    return str(record.scope)


@pytest.mark.parametrize(
    ("fields", "tier", "project"),
    [
        ({"session_id": "s1", "run_id": "r1"}, "session", "default"),
        ({"run_id": "r1"}, "session", "default"),
        ({"partition": {"project_id": "shop", "tier": "project"}}, "project", "shop"),
        ({"partition": {"tier": "global"}}, "global", "default"),
        ({"partition": {"tier": "project"}, "private": True, "project_id": "shop"}, "project", "shop"),
        ({"project_tag": "shop"}, "session", "shop"),
        ({}, "session", "default"),
    ],
)
async def test_what_is_put_belongs_to_its_subject_whatever_the_tier(
    either: Door, fields: dict[str, Any], tier: str, project: str
) -> None:
    done = await either.put("We ship on Fridays", **fields)

    [item] = (await either.done("GET", "/memory"))["items"]
    assert (done["ok"], done["stored"], done["tier"]) == (True, True, tier)
    assert await scope_of(either, done["id"]) == f"user:{item['user_id']}"
    assert (item["tier"], item["project_id"], item["visibility"]) == (tier, project, "private")
    assert item["partition_key"] == done["partition_key"] == f"default/default/{project}/{tier}"


async def test_the_same_text_for_another_tier_or_project_is_another_record(either: Door) -> None:
    places = [{"tier": "session"}, {"tier": "project"}, {"tier": "project", "project_id": "shop"}, {"tier": "global"}]

    done = [await either.put("We ship on Fridays", partition=place) for place in places]

    assert [one["stored"] for one in done] == [True] * 4
    assert len({one["id"] for one in done}) == 4


async def test_only_an_admin_puts_for_somebody_else(door: Door) -> None:
    writer = await door.key("writer")
    body = {"content": "Ana likes tea", "user_id": "ana"}

    assert await writer.refused("POST", "/memory/put", json=body) == (403, "forbidden")
    done = await door.done("POST", "/memory/put", json=body)
    assert await scope_of(door, done["id"]) == "user:ana"


async def test_a_request_that_names_two_projects_is_refused(door: Door) -> None:
    body = {"content": "Friday", "project_id": "shop", "partition": {"project_id": "bank"}}

    assert await door.refused("POST", "/memory/put", json=body) == (400, "invalid_input")


async def test_the_answer_names_the_partition_and_the_row_of_the_audit(door: Door) -> None:
    done = await door.put("We ship on Fridays", run_id="r1", partition={"project_id": "shop", "tier": "project"})

    [row] = await door.audit(run_id="r1")
    assert done["partition_key"] == "default/default/shop/project"
    assert done["audit_id"] == row["audit_id"] == row["id"]
    assert (row["action"], row["status"], row["memory_id"]) == ("memory_put", "ok", done["id"])
    assert row["partition_key"] == "default/default/shop/project"
    assert row["created_at_ms"] == row["ts_ms"]


@pytest.mark.parametrize(
    "body",
    [
        {"text": "Rust it is", "session_id": "s1", "run_id": "r1"},
        {"text": "Rust it is", "sessionId": "s1", "runId": "r1"},
        {"content": "Rust it is", "session_id": "s1", "run_id": "r1", "partition": None, "unknown": 7},
    ],
)
async def test_what_the_clients_send_is_read_as_what_the_server_asks_for(door: Door, body: dict[str, Any]) -> None:
    done = await door.done("POST", "/memory/put", json=body)

    [item] = (await door.done("GET", "/memory"))["items"]
    assert done["stored"] is True
    assert (item["text"], item["session_id"], item["run_id"]) == ("Rust it is", "s1", "r1")


async def test_a_secret_is_taken_out_and_a_private_key_keeps_the_whole_text_out(door: Door) -> None:
    redacted = await door.put("api_key = 9f8e7d6c5b4a39281706")
    blocked = await door.put(f"Here it is:\n{PRIVATE_KEY}", run_id="r1")

    [item] = (await door.done("GET", "/memory"))["items"]
    assert redacted["scrub_report"] == {"status": "redacted", "redactions": 1, "block_reason": None}
    assert "9f8e7d6c" not in item["content"]
    assert item["governance"]["redaction_status"] == "redacted"
    assert (blocked["ok"], blocked["stored"], blocked["id"]) == (False, False, "")
    assert blocked["scrub_report"]["status"] == "blocked"
    [row] = await door.audit(run_id="r1")
    assert (row["audit_id"], row["status"]) == (blocked["audit_id"], "refused")


async def test_a_private_key_in_the_metadata_keeps_the_text_out_as_well(door: Door) -> None:
    done = await door.put("Where the key lies", metadata={"note": PRIVATE_KEY})

    assert (done["stored"], done["scrub_report"]["status"]) == (False, "blocked")


async def test_at_most_8000_characters_are_kept_as_they_are_after_the_scrub(door: Door) -> None:
    whole = await door.put("x" * 8_000)
    secret = "api_key = " + "9f8e7d6c5b4a39281706" * 20

    assert whole["stored"]
    assert await door.refused("POST", "/memory/put", json={"content": "y" * 8_001}) == (400, "invalid_input")
    assert (await door.put("z" * 7_900 + " " + secret))["stored"]


@pytest.mark.parametrize("content", ["", "   ", "a\0b", "\ud800"])
async def test_what_is_no_text_is_refused(door: Door, content: str) -> None:
    body = json.dumps({"content": content})

    status, _ = await door.refused("POST", "/memory/put", content=body)

    assert status == 400


async def test_the_same_from_the_same_run_is_kept_once(either: Door) -> None:
    first = await either.put("We ship on Fridays", run_id="r1", kind="fact")
    again = await either.put("We ship on Fridays", run_id="r1", kind="fact", tags=["other"])
    elsewhere = await either.put("We ship on Fridays", run_id="r2", kind="fact")
    otherwise = await either.put("We ship on Fridays", run_id="r1", kind="note")

    assert (again["ok"], again["stored"], again["deduped"], again["id"]) == (True, False, True, first["id"])
    assert elsewhere["stored"]
    assert otherwise["stored"]
    assert len({first["id"], elsewhere["id"], otherwise["id"]}) == 3


async def test_a_record_its_audit_row_and_its_event_are_kept_together(either: Door) -> None:
    done = await either.put("We ship on Fridays", run_id="r1")

    store = either.running.services.desk.store
    [row] = (await store.journal.audit("default/default", AuditQuery(run="r1"), 10, None)).rows
    [event] = await store.events.read_events(0, 10, tenant="default/default")
    assert (row.id, row.record, row.action, row.door) == (done["audit_id"], done["id"], "record.put", "governed")
    assert (event.news.type, event.news.data["id"]) == ("record.created", done["id"])
    assert "Fridays" not in f"{row}{event}"


async def test_of_many_at_once_one_is_kept(either: Door) -> None:
    done = await asyncio.gather(*(either.put("We ship on Fridays", run_id="r1") for _ in range(8)))

    assert sum(one["stored"] for one in done) == 1
    assert len({one["id"] for one in done}) == 1


async def test_what_was_deleted_can_be_put_again(either: Door) -> None:
    first = await either.put("We ship on Fridays", run_id="r1")
    await either.done("DELETE", f"/memory/{first['id']}")

    again = await either.put("We ship on Fridays", run_id="r1")
    third = await either.put("We ship on Fridays", run_id="r1")

    assert (again["stored"], third["deduped"], third["id"]) == (True, True, again["id"])
    assert again["id"] != first["id"]


async def test_what_was_demoted_does_not_come_back_by_being_put_again(door: Door) -> None:
    first = await door.put("We ship on Fridays", run_id="r1")
    await door.done("POST", "/memory/demote", json={"id": first["id"]})

    again = await door.put("We ship on Fridays", run_id="r1")

    assert (again["deduped"], again["id"]) == (True, first["id"])
    assert await door.found("ship Fridays") == []


async def test_whose_it_is_cannot_be_claimed(door: Door) -> None:
    forged = {
        "owner_subject": "root",
        "governed": {"subject": "root", "project_id": "bank"},
        "promotion": {"to_tier": "global"},
        "redactions": 9,
        "ticket": "T-7",
    }

    await door.put("We ship on Fridays", metadata=forged)

    [item] = (await door.done("GET", "/memory"))["items"]
    assert item["user_id"] != "root"
    assert (item["project_id"], item["tier"]) == ("default", "session")
    assert item["metadata"] == {"ticket": "T-7", "classification": "internal"}
    assert item["governance"]["redaction_count"] == 0


async def test_classification_references_kind_and_tags_are_kept(door: Door) -> None:
    await door.put(
        "Retry with backoff",
        kind="solution_capsule",
        classification="restricted",
        artifact_refs=["run/report.md"],
        tags=["retries"],
        source="coder",
    )

    [item] = (await door.done("GET", "/memory"))["items"]
    assert (item["kind"], item["classification"], item["tags"]) == ("solution_capsule", "restricted", ["retries"])
    assert (item["artifact_refs"], item["source_type"]) == (["run/report.md"], "coder")


@pytest.mark.parametrize(
    ("label", "told", "role"),
    [
        ({}, "system_generated", "context"),
        ({"trust": "connector_sourced"}, "connector_sourced", "evidence"),
        ({"metadata": {"trust_label": "external_user_supplied"}}, "external_user_supplied", "evidence"),
        ({"metadata": {"memory_trust": {"label": "whatever"}}}, "external_user_supplied", "evidence"),
    ],
)
async def test_a_trust_label_is_read_wherever_it_stands(
    door: Door, label: dict[str, Any], told: str, role: str
) -> None:
    await door.put("We ship on Fridays", **label)

    [item] = (await door.done("GET", "/memory"))["items"]
    trust = item["memory_trust"]
    assert (trust["label"], trust["rendering_role"]) == (told, role)
    assert trust["trusted_for_promotion"] == (role == "context")


async def test_nobody_below_admin_says_that_what_they_put_was_verified(door: Door) -> None:
    writer, reviewer = await door.key("writer"), await door.key("reviewer")

    for label in ("verified", "human_approved"):
        body = {"content": f"We ship on Fridays, {label}", "trust": label}
        assert await writer.refused("POST", "/memory/put", json=body) == (403, "forbidden")
        assert await reviewer.refused("POST", "/memory/put", json=body) == (403, "own_review")
        put = await door.done("POST", "/memory/put", json=body)
        assert (await door.done("GET", "/memory", params={"q": label}))["items"][0]["memory_trust"][
            "label"
        ] == "verified"
        assert put["stored"]


@pytest.mark.parametrize("tier", ["team", "curated"])
async def test_no_record_is_kept_in_a_tier_without_a_store(door: Door, tier: str) -> None:
    body = {"content": "We ship on Fridays", "partition": {"tier": tier}}

    assert await door.refused("POST", "/memory/put", json=body) == (403, "tier_not_storage_backed")


async def test_a_partition_of_another_tenant_is_for_the_operator_alone(door: Door) -> None:
    admin = await door.key("admin")
    body = {"content": "We ship on Fridays", "partition": {"org_id": "umbrella", "workspace_id": "lab"}}

    refused = await admin.refused("POST", "/memory/put", json=body)
    done = await door.done("POST", "/memory/put", json=body)

    assert refused == (403, "forbidden")
    assert done["partition_key"] == "umbrella/lab/default/session"
    assert (await scope_of(door, done["id"], "umbrella/lab")).startswith("user:")
    [denied] = [row for row in await door.audit() if row["status"] == "denied"]
    assert denied["actor"] == "admin"


async def test_a_reader_and_a_key_that_does_not_reach_the_scope_put_nothing(door: Door) -> None:
    reader, narrow = await door.key("reader"), await door.key("writer", "workspace:web")
    body = {"content": "We ship on Fridays", "partition": {"project_id": "shop", "tier": "project"}}

    assert await reader.refused("POST", "/memory/put", json=body) == (403, "forbidden")
    assert await narrow.refused("POST", "/memory/put", json=body) == (403, "forbidden")
    assert (await door.done("GET", "/memory"))["count"] == 0


# ---- capabilities


async def test_a_capability_takes_the_partition_with_it_and_comes_as_an_object_or_as_text(door: Door) -> None:
    writer = await door.key("writer")

    as_object = await writer.put("We ship on Fridays", capability=capability())
    as_text = await writer.put("We ship on Mondays", capability=json.dumps(capability()))

    assert as_object["partition_key"] == as_text["partition_key"] == "default/default/shop/session"
    assert as_object["tier"] == as_text["tier"] == "session"


async def test_by_default_a_capability_writes_to_the_session_only(door: Door) -> None:
    writer = await door.key("writer")
    bare = capability()
    del bare["memory"]
    project = {"project_id": "shop", "tier": "project"}

    assert (await writer.put("We ship on Fridays", capability=bare))["stored"]
    body = {"content": "We ship on Fridays", "capability": bare, "partition": project}
    assert await writer.refused("POST", "/memory/put", json=body) == (403, "tier_not_allowed")


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"expires_at": 1}, (401, "capability_expired")),
        ({"expires_at": "2025-12-31T23:59:59Z"}, (401, "capability_expired")),
        ({"run_id": "r2"}, (403, "capability_mismatch")),
        ({"org_id": "umbrella"}, (403, "capability_mismatch")),
        ({"workspace_id": "lab"}, (403, "capability_mismatch")),
        ({"project_id": "bank"}, (403, "capability_mismatch")),
        ({"subject": "somebody else"}, (403, "capability_mismatch")),
    ],
)
async def test_a_capability_that_is_not_good_here_is_refused(
    door: Door, fields: dict[str, Any], answer: tuple[int, str]
) -> None:
    writer = await door.key("writer")
    place = {"org_id": "default", "workspace_id": "default", "project_id": "shop"}
    body = {"content": "Friday", "run_id": "r1", "partition": place, "capability": capability(**fields)}

    assert await writer.refused("POST", "/memory/put", json=body) == answer
    [row] = await door.audit()
    assert (row["status"], row["detail"]) == ("denied", answer[1])


async def test_a_capability_is_good_until_it_expires(door: Door, clock: FakeClock) -> None:
    writer = await door.key("writer")
    held = capability(expires_at=int((clock.now() + timedelta(seconds=1)).timestamp() * 1000))

    assert (await writer.put("We ship on Fridays", capability=held))["stored"]
    clock.advance(timedelta(seconds=1))
    refused = await writer.refused("POST", "/memory/put", json={"content": "Monday", "capability": held})
    assert refused == (401, "capability_expired")


@pytest.mark.parametrize("written", ["", "token", "[]", "{}", "[" * 50_000, "{" * 70_000])
async def test_a_text_that_is_no_capability_is_refused(door: Door, written: str) -> None:
    status, _ = await door.refused("POST", "/memory/put", json={"content": "Friday", "capability": written})

    assert status == 400


async def test_a_capability_widens_nothing(door: Door) -> None:
    reader = await door.key("reader", name="writer")

    refused = await reader.refused("POST", "/memory/put", json={"content": "Friday", "capability": capability()})

    assert refused == (403, "forbidden")
