"""What earlier runs found out: kept, promoted, approved, given up, and asked for before a run begins."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.governed import Door
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.moment import to_iso

pytestmark = pytest.mark.anyio

ASKED = {"project": "shop", "namespace": "billing", "task_family": "research", "subject": "VAT rates"}
KEY = "shop::billing::research::vat-rates"
REVIEW = {"reviewer_id": "operator", "approval_id": "a-1"}
NOTHING: dict[str, str] = {}
NOWHERE = "01920000-0000-7000-8000-000000000000"


async def created(door: Door, path: str, **body: Any) -> Any:
    response = await door("POST", f"/v1/knowledge/{path}", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def space(door: Door, **fields: Any) -> Any:
    return await created(door, "spaces", **{"scope": "project", "project": "shop", "namespace": "Billing", **fields})


async def item(door: Door, space: str, title: str = "VAT is 23 % in Portugal", **fields: Any) -> Any:
    told = {"task_family": "research", "subject": "VAT rates", **fields}
    return await created(door, "items", space=space, title=title, **told)


async def change(door: Door, id: str, step: str, **body: Any) -> Any:
    return await door.done("POST", f"/v1/knowledge/items/{id}/{step}", json=body)


async def refused(door: Door, method: str, path: str, **sent: Any) -> tuple[int, str]:
    response = await door(method, f"/v1/knowledge/{path}", **sent)
    return response.status_code, response.json()["error"]["code"]


async def preflight(door: Door, **fields: Any) -> Any:
    return await door.done("POST", "/v1/knowledge/preflight", json={**ASKED, **fields})


async def test_a_finding_goes_from_working_to_the_approved_default_and_a_run_builds_on_it(either: Door) -> None:
    home = await space(either)
    found = await item(either, home["id"], summary="Since 2011.")

    decisions = [(await preflight(either))["decision"]]
    await change(either, found["id"], "promote")
    decisions.append((await preflight(either))["decision"])
    await change(either, found["id"], "promote", status="approved_default", **REVIEW)
    last = await preflight(either)
    decisions.append(last["decision"])
    await change(either, found["id"], "deprecate")
    decisions.append((await preflight(either))["decision"])

    assert decisions == ["no_prior_knowledge", "reuse_promoted", "reuse_approved_default", "no_prior_knowledge"]
    assert [one["id"] for one in last["items"]] == [found["id"]]
    assert last["coverage_key"] == found["coverage_key"] == KEY
    assert "Since 2011." in last["context"]
    assert last["context"].startswith("<knowledge_context>")
    assert last["reason"]


async def test_a_finding_is_removed_for_good_and_its_coverage_tells_of_what_is_left(either: Door) -> None:
    home = await space(either)
    first, second = await item(either, home["id"]), await item(either, home["id"], title="Since 2012.")

    assert (await either("DELETE", f"/v1/knowledge/items/{second['id']}")).status_code == 204
    [left] = (await either.done("GET", "/v1/knowledge/coverage", params={"coverage_key": KEY}))["coverage"]
    assert (await either("DELETE", f"/v1/knowledge/items/{first['id']}")).status_code == 204

    assert left["latest_item"] == first["id"]
    assert (await either.done("GET", "/v1/knowledge/coverage", params={"coverage_key": KEY}))["coverage"] == []
    assert (await either.done("GET", "/v1/knowledge/items"))["items"] == []


async def test_there_is_one_space_a_scope_project_and_namespace(either: Door) -> None:
    first, again = await space(either), await space(either, title="other")
    other = await space(either, namespace="shipping")

    assert first["id"] == again["id"] != other["id"]
    listed = (await either.done("GET", "/v1/knowledge/spaces"))["spaces"]
    assert [one["namespace"] for one in listed] == ["billing", "shipping"]


async def test_the_same_finding_is_kept_once_and_is_fresh_again(either: Door, clock: FakeClock) -> None:
    home = await space(either)
    first = await item(either, home["id"], freshness_expires_at=to_iso(clock.now() + timedelta(days=1)))
    await change(either, first["id"], "promote")
    clock.advance(timedelta(days=2))
    stale = (await preflight(either))["decision"]

    again = await item(either, home["id"])

    assert (first["outcome"], again["outcome"]) == ("created", "refreshed")
    assert (again["id"], again["status"]) == (first["id"], "promoted")
    assert again["last_seen_at"] == to_iso(clock.now())
    assert (stale, (await preflight(either))["decision"]) == ("refresh_required", "reuse_promoted")


async def test_a_changed_finding_is_the_working_successor_of_the_one_with_its_key(either: Door) -> None:
    home = await space(either)
    first = await item(either, home["id"], dedupe_key="vat")
    await change(either, first["id"], "promote")

    second = await item(either, home["id"], title="VAT is 24 % in Portugal", dedupe_key="vat")
    before = [found["id"] for found in (await preflight(either))["items"]]
    await change(either, second["id"], "promote")

    assert (second["outcome"], second["status"], second["supersedes"]) == ("successor", "working", first["id"])
    assert before == [first["id"]]
    assert [found["id"] for found in (await preflight(either))["items"]] == [second["id"]]
    older = await either.done("GET", f"/v1/knowledge/items/{first['id']}")
    assert (older["status"], older["dedupe_key"]) == ("deprecated", None)
    store = either.running.services.desk.store
    events = await store.events.read_events(0, 100, tenant="default/default")
    assert [event.news.type for event in events][-2:] == ["knowledge.promoted", "knowledge.deprecated"]
    assert events[-1].news.data["item"] == first["id"]


async def test_what_was_given_up_can_be_recorded_again(either: Door) -> None:
    home = await space(either)
    first = await item(either, home["id"])
    await change(either, first["id"], "deprecate")

    again = await item(either, home["id"])

    assert (again["outcome"], again["status"]) == ("created", "working")
    assert again["id"] != first["id"]


async def test_a_reviewer_refreshes_what_is_not_given_up(either: Door, clock: FakeClock) -> None:
    home = await space(either)
    found = await item(either, home["id"], freshness_expires_at=to_iso(clock.now() + timedelta(days=1)))
    writer, reviewer = await either.key("writer"), await either.key("reviewer")
    clock.advance(timedelta(days=2))

    path = f"items/{found['id']}/refresh"
    assert await refused(writer, "POST", path, json={}) == (403, "forbidden")
    as_long = await change(reviewer, found["id"], "refresh", reason="still so")
    until = to_iso(clock.now() + timedelta(hours=1))
    shorter = await change(reviewer, found["id"], "refresh", freshness_expires_at=until)
    await change(reviewer, found["id"], "deprecate")

    assert (as_long["status"], as_long["freshness_expires_at"]) == ("working", to_iso(clock.now() + timedelta(days=1)))
    assert shorter["freshness_expires_at"] == until
    assert await refused(reviewer, "POST", path, json={}) == (409, "invalid_transition")


async def test_items_are_found_by_what_they_cover_and_by_their_status(door: Door) -> None:
    home = await space(door)
    vat, other = await item(door, home["id"]), await item(door, home["id"], "Invoices are PDFs", subject="invoices")
    await change(door, vat["id"], "promote")

    async def ids(**params: Any) -> list[str]:
        return [one["id"] for one in (await door.done("GET", "/v1/knowledge/items", params=params))["items"]]

    assert set(await ids()) == {vat["id"], other["id"]}
    assert await ids(coverage_key=KEY) == await ids(status="promoted") == [vat["id"]]
    assert await ids(status=["working", "deprecated"]) == [other["id"]]
    assert await ids(space=NOWHERE) == []
    [covered] = (await door.done("GET", "/v1/knowledge/coverage", params={"coverage_key": KEY}))["coverage"]
    assert (covered["latest_item"], covered["space"]) == (vat["id"], home["id"])
    assert covered["last_promoted_at"] is not None


@pytest.mark.parametrize(
    ("steps", "step", "body"),
    [
        ([], "promote", {"status": "approved_default", **REVIEW}),
        ([("promote", NOTHING)], "promote", {"status": "promoted"}),
        ([("deprecate", NOTHING)], "promote", {"status": "promoted"}),
        ([("deprecate", NOTHING)], "deprecate", NOTHING),
        (
            [("promote", NOTHING), ("promote", {"status": "approved_default", **REVIEW})],
            "promote",
            {"status": "promoted"},
        ),
    ],
)
async def test_no_step_is_left_out_and_none_goes_back(
    door: Door, steps: list[tuple[str, dict[str, str]]], step: str, body: dict[str, str]
) -> None:
    found = await item(door, (await space(door))["id"])
    for name, told in steps:
        await change(door, found["id"], name, **told)

    refusal = await refused(door, "POST", f"items/{found['id']}/{step}", json=body)

    assert refusal == (409, "invalid_transition")


@pytest.mark.parametrize("review", [{}, {"reviewer_id": "bo"}, {"approval_id": "a-1"}])
async def test_the_approved_default_names_who_approved_it(door: Door, review: dict[str, str]) -> None:
    found = await item(door, (await space(door))["id"])
    await change(door, found["id"], "promote")

    body = {"status": "approved_default", **review}

    assert await refused(door, "POST", f"items/{found['id']}/promote", json=body) == (403, "review_required")


async def test_a_reader_reads_a_writer_keeps_and_a_reviewer_promotes(door: Door) -> None:
    reader, writer, reviewer = [await door.key(role) for role in ("reader", "writer", "reviewer")]
    body = {"scope": "project", "project": "shop", "namespace": "billing"}
    assert await refused(reader, "POST", "spaces", json=body) == (403, "forbidden")
    home = await space(writer)
    told = {"space": home["id"], "title": "VAT is 23 %"}
    assert await refused(reader, "POST", "items", json=told) == (403, "forbidden")
    found = await item(writer, home["id"])
    path = f"items/{found['id']}"

    assert await refused(writer, "POST", f"{path}/promote", json={}) == (403, "review_required")
    assert await refused(writer, "POST", f"{path}/deprecate", json={}) == (403, "forbidden")
    promoted = await change(reviewer, found["id"], "promote")
    assert (promoted["status"], promoted["reviewer_id"]) == ("promoted", "reviewer")
    assert (await preflight(reader))["decision"] == "reuse_promoted"
    assert (await reader.done("GET", f"/v1/knowledge/{path}"))["id"] == found["id"]


@pytest.mark.parametrize(
    ("fields", "within", "without"),
    [
        ({"scope": "project", "project": "shop"}, "workspace:shop", "workspace:bank"),
        ({"scope": "run", "project": None, "run": "r1"}, "session:r1", "session:r2"),
        ({"scope": "global", "project": None}, "global", "workspace:shop"),
    ],
)
async def test_a_space_is_reached_by_whoever_reaches_its_scope(
    either: Door, fields: dict[str, Any], within: str, without: str
) -> None:
    home = await space(either, **fields)
    found = await item(either, home["id"])
    inside, outside = await either.key("reviewer", within), await either.key("reviewer", without)

    assert [one["id"] for one in (await inside.done("GET", "/v1/knowledge/spaces"))["spaces"]] == [home["id"]]
    assert (await outside.done("GET", "/v1/knowledge/spaces"))["spaces"] == []
    assert (await outside.done("GET", "/v1/knowledge/items"))["items"] == []
    key = {"coverage_key": found["coverage_key"]}
    assert (await outside.done("GET", "/v1/knowledge/coverage", params=key))["coverage"] == []
    path = f"items/{found['id']}"
    assert await refused(outside, "GET", path) == (404, "not_found")
    assert await refused(outside, "POST", f"{path}/promote", json={}) == (404, "not_found")
    told = {"space": home["id"], "title": "x"}
    assert await refused(outside, "POST", "items", json=told) == (404, "not_found")
    assert (await change(inside, found["id"], "promote"))["status"] == "promoted"


async def test_the_audit_of_a_scoped_reviewer_tells_no_finding_out_of_reach_from_one_that_is_not_there(
    door: Door,
) -> None:
    hidden = (await item(door, (await space(door))["id"]))["id"]
    outside = await door.key("reviewer", "workspace:bank")
    for id in (hidden, NOWHERE):
        assert await refused(outside, "POST", f"items/{id}/promote", json={}) == (404, "not_found")
        assert await refused(outside, "POST", f"items/{id}/deprecate", json={}) == (404, "not_found")

    services = door.running.services
    [key] = await services.desk.store.keys.list_keys("default/default")
    scoped = replace(caller("reviewer", "workspace:bank"), key=key.id)
    rows = (await services.keeping.audit(scoped, AuditQuery())).rows

    seen = {id: [_what_it_tells(row) for row in rows if row.details.get("item") == id] for id in (hidden, NOWHERE)}
    assert len(seen[hidden]) == 2
    assert seen[hidden] == seen[NOWHERE]


def _what_it_tells(row: AuditRow) -> AuditRow:
    details = {name: value for name, value in row.details.items() if name != "item"}
    return replace(row, id="", at=datetime(2026, 1, 1, tzinfo=UTC), request=None, details=details)


async def test_another_tenant_sees_nothing(door: Door) -> None:
    home = await space(door)
    found = await item(door, home["id"])
    stranger = await door.key("admin", tenant="umbrella/lab")

    assert (await stranger.done("GET", "/v1/knowledge/spaces"))["spaces"] == []
    assert await refused(stranger, "GET", f"items/{found['id']}") == (404, "not_found")
    assert (await preflight(stranger))["decision"] == "no_prior_knowledge"


async def test_a_preflight_of_a_project_out_of_reach_is_refused(door: Door) -> None:
    narrow = await door.key("reader", "workspace:bank")

    assert await refused(narrow, "POST", "preflight", json=ASKED) == (403, "forbidden")


async def test_the_tenants_knowledge_serves_every_project(door: Door) -> None:
    home = await space(door, scope="global", project=None)
    found = await item(door, home["id"])
    await change(door, found["id"], "promote")

    assert (await preflight(door))["decision"] == "reuse_promoted"
    assert (await preflight(door, project="bank"))["decision"] == "reuse_promoted"


async def test_what_is_out_of_date_is_to_be_refreshed(door: Door, clock: FakeClock) -> None:
    home = await space(door)
    soon = await item(door, home["id"], freshness_expires_at=to_iso(clock.now() + timedelta(days=1)))
    await change(door, soon["id"], "promote")
    assert (await preflight(door))["decision"] == "reuse_promoted"

    clock.advance(timedelta(days=2))

    assert (await preflight(door))["decision"] == "refresh_required"


@pytest.mark.parametrize(
    ("binding", "decision"),
    [
        ({"enabled": False}, "disabled"),
        ({"reuse_mode": "disabled"}, "disabled"),
        ({"trust_floor": "approved_default"}, "no_prior_knowledge"),
        ({"namespace": "shipping"}, "no_prior_knowledge"),
        ({"read_spaces": [NOWHERE]}, "no_prior_knowledge"),
        ({"freshness_ms": 0}, "reuse_promoted"),
        ({}, "reuse_promoted"),
    ],
)
async def test_a_binding_says_what_may_be_built_on(door: Door, binding: dict[str, Any], decision: str) -> None:
    found = await item(door, (await space(door))["id"])
    await change(door, found["id"], "promote")

    assert (await preflight(door, binding=binding))["decision"] == decision


async def test_every_change_has_its_audit_row_and_its_event_and_neither_tells_what_was_found(door: Door) -> None:
    home = await space(door)
    found = await item(door, home["id"])
    await change(door, found["id"], "promote")

    store = door.running.services.desk.store
    rows = (await store.journal.audit("default/default", AuditQuery(), 100, None)).rows
    events = await store.events.read_events(0, 100, tenant="default/default")
    assert [row.action for row in reversed(rows)] == ["knowledge.space", "knowledge.create", "knowledge.promote"]
    assert [event.news.type for event in events] == [
        "knowledge.space_created", "knowledge.created", "knowledge.promoted",
    ]  # fmt: skip
    assert "VAT" not in f"{rows}{events}"
    assert all(str(event.news.scope) == "workspace:shop" for event in events)


async def test_a_secret_does_not_become_knowledge(door: Door) -> None:
    home = await space(door)

    told = await item(door, home["id"], summary="api_key = 9f8e7d6c5b4a39281706")

    assert "9f8e7d6c" not in str(told)
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----"
    body = {"space": home["id"], "title": "key", "summary": block}
    assert await refused(door, "POST", "items", json=body) == (422, "secret_refused")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("spaces", {"scope": "project"}),
        ("spaces", {"scope": "run"}),
        ("spaces", {"scope": "global", "project": "shop"}),
        ("spaces", {"scope": "galaxy"}),
        ("items", {"space": "no id!", "title": "x"}),
        ("items", {"space": NOWHERE, "title": ""}),
        ("preflight", {"subject": "\ud800"}),
        (f"items/{NOWHERE}/promote", {"status": "working"}),
    ],
)
async def test_what_cannot_be_kept_is_refused(door: Door, path: str, body: dict[str, Any]) -> None:
    assert (await refused(door, "POST", path, content=json.dumps(body)))[0] == 400


async def test_a_coverage_key_has_four_parts(door: Door) -> None:
    assert (await refused(door, "GET", "coverage", params={"coverage_key": "shop"}))[0] == 400
    assert await refused(door, "GET", f"items/{NOWHERE}") == (404, "not_found")
