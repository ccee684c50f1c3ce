"""Looking after the memory over HTTP, and the audit."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.stores.sqlite.schema import SCHEMA
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served

pytestmark = pytest.mark.anyio

ADMINS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/v1/check", None),
    ("GET", "/v1/rules", None),
    ("PUT", "/v1/rules", {"scope": "session", "max_records": 1}),
    ("POST", "/v1/tidy", {}),
    ("GET", "/v1/upkeep", None),
    ("POST", "/v1/reindex", None),
    ("GET", "/v1/embedder", None),
    ("POST", "/v1/embedder", {"embedder": "none"}),
    ("GET", "/v1/budgets", None),
    ("PUT", "/v1/budgets", {"daily_usd": 0}),
    ("POST", "/v1/keys", {"name": "x"}),
    ("GET", "/v1/keys", None),
    ("DELETE", "/v1/keys/x", None),
    ("POST", "/v1/users", {"user_id": "x"}),
    ("GET", "/v1/users", None),
    ("POST", "/v1/users/x/rotate", None),
    ("DELETE", "/v1/users/x", None),
]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(("method", "path", "body"), ADMINS)
async def test_a_reviewer_may_not_do_what_is_an_admins(
    http: httpx.AsyncClient, keyed: Any, method: str, path: str, body: dict[str, Any] | None
) -> None:
    answer = await http.request(method, path, json=body, headers=await keyed("reviewer"))

    assert code(answer) == (403, "forbidden")


@pytest.mark.parametrize(("method", "path", "body"), ADMINS[:5])
async def test_upkeep_tells_of_every_scope_and_is_for_admins_who_reach_them_all(
    http: httpx.AsyncClient, keyed: Any, method: str, path: str, body: dict[str, Any] | None
) -> None:
    some = await http.request(method, path, json=body, headers=await keyed("admin", "workspace:web"))
    every = await http.request(method, path, json=body, headers=await keyed("admin", "*"))

    assert code(some) == (403, "forbidden")
    assert every.status_code == 200


async def test_stats_count_what_the_key_reaches(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    await put("Ours", scope="workspace:web")
    await put("Theirs", scope="user:ana")

    home = await http.get("/v1/stats")
    whole = await http.get("/v1/stats?everyone=true")
    part = await http.get("/v1/stats", headers=await keyed("reader", "workspace:web"))

    assert (whole.json()["live"], whole.json()["tenant"], whole.json()["schema"]) == (2, "default/default", SCHEMA)
    assert home.json()["live"] == 1
    assert (part.json()["live"], [one["scope"] for one in part.json()["scopes"]]) == (1, ["workspace:web"])
    # What is counted of the whole store alone is not told of a part of it.
    assert (whole.json()["versions"], whole.json()["bytes"] > 0) == (0, True)
    assert [(answer.json()["versions"], answer.json()["bytes"]) for answer in (home, part)] == [(None, None)] * 2


async def test_a_store_that_is_sound_says_so(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/check")

    assert "error" not in {one["severity"] for one in answer.json()["findings"]}
    assert {"file", "contents"} <= {one["check"] for one in answer.json()["findings"]}


async def test_a_key_that_is_called_like_a_user_of_the_gateway_is_named(http: httpx.AsyncClient) -> None:
    await http.post("/users", json={"user_id": "dan"})
    for name in ("dan", "eva"):
        await http.post("/v1/keys", json={"name": name})

    answer = await http.get("/v1/check")

    [finding] = [one for one in answer.json()["findings"] if one["check"] == "persons"]
    assert (finding["severity"], "'dan'" in finding["message"]) == ("warning", True)


async def test_a_rule_is_set_applied_logged_and_lifted(http: httpx.AsyncClient, put: Any) -> None:
    for number in range(3):
        await put(f"Note {number}", scope="session:s")

    rules = await http.put("/v1/rules", json={"scope": "session", "max_records": 1, "max_age": 86400})
    done = await http.post("/v1/tidy")
    log = await http.get("/v1/upkeep?limit=1")
    lifted = await http.put("/v1/rules", json={"scope": "session"})

    assert rules.json()["rules"] == [{"scope": "session", "max_age": 86400.0, "max_records": 1}]
    assert [(one["action"], one["records"]) for one in done.json()["log"]] == [("evicted", 2)]
    assert log.json()["log"] == done.json()["log"]
    assert lifted.json() == {"rules": []}


@pytest.mark.parametrize(
    "body",
    [{"scope": "session", "max_age": -1}, {"scope": "session", "max_age": 1e300}, {"scope": "x", "max_records": 1}],
)
async def test_a_rule_that_cannot_be_kept_is_400(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.put("/v1/rules", json=body)

    assert answer.status_code == 400


async def test_tidying_purges_old_deletions_where_asked(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]
    await http.delete(f"/v1/records/{id}")
    # Deleted before this moment, not in it.
    await asyncio.sleep(0.005)

    done = await http.post("/v1/tidy", json={"purge_after": 0})

    assert [one["action"] for one in done.json()["log"]] == ["purged"]
    assert code(await http.get(f"/v1/records/{id}")) == (404, "record_not_found")


async def test_only_the_operator_reindexes(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    await put("A")

    operator = await http.post("/v1/reindex")
    admin = await http.post("/v1/reindex", headers=await keyed("admin"))

    assert operator.json() == {"texts": 1}
    assert code(admin) == (403, "forbidden")


async def test_only_the_operator_changes_the_embedder_and_the_settings_come_first(
    http: httpx.AsyncClient, keyed: Any
) -> None:
    same = await http.post("/v1/embedder", json={"embedder": "none"})
    other = await http.post("/v1/embedder", json={"embedder": "static"})
    unknown = await http.post("/v1/embedder", json={"embedder": "no-such-embedder"})
    admin = await http.post("/v1/embedder", json={"embedder": "none"}, headers=await keyed("admin"))

    assert (same.json()["active"], same.json()["state"]) == ([], "queued")
    assert code(other) == (409, "conflict")
    assert code(unknown) == (400, "invalid_input")
    assert code(admin) == (403, "forbidden")
    assert (await http.get("/v1/embedder", headers=await keyed("admin"))).json()["state"] == "queued"


# --- audit


async def test_the_audit_tells_who_did_what_and_never_what_was_said(http: httpx.AsyncClient, put: Any) -> None:
    record = await put("The launch code is blue")
    await http.post("/v1/search", json={"text": "launch code"}, headers={"X-Client-Id": "pad-1"})

    answer = await http.get("/v1/audit")

    search, written = answer.json()["rows"]
    assert (search["action"], search["actor"], search["client"]) == ("record.search", "operator", "pad-1")
    assert (written["action"], written["record"], written["version"]) == ("record.put", record["id"], 1)
    assert "launch" not in answer.text


async def test_the_audit_is_narrowed_and_paged(http: httpx.AsyncClient, put: Any) -> None:
    for number in range(3):
        await put(f"Note {number}")
    await http.get("/v1/records/01920000-0000-7000-8000-000000000000")

    first = (await http.get("/v1/audit?action=record.put&limit=2")).json()
    rest = (await http.get(f"/v1/audit?action=record.put&limit=2&cursor={first['cursor']}")).json()
    missing = (await http.get("/v1/audit?outcome=not_found&outcome=denied")).json()

    assert (len(first["rows"]), len(rest["rows"])) == (2, 1)
    assert [row["action"] for row in missing["rows"]] == ["record.get"]


async def test_the_audit_is_exported_a_row_a_line(http: httpx.AsyncClient, put: Any) -> None:
    await put("A")
    await put("B")

    answer = await http.get("/v1/audit/export?action=record.put")

    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["action"] for row in rows] == ["record.put", "record.put"]


async def test_the_audit_is_for_reviewers(http: httpx.AsyncClient, keyed: Any) -> None:
    writer = await keyed("writer")

    answers = [await http.get(path, headers=writer) for path in ("/v1/audit", "/v1/audit/export")]
    reviewer = await http.get("/v1/audit", headers=await keyed("reviewer"))

    assert {code(answer) for answer in answers} == {(403, "forbidden")}
    assert reviewer.status_code == 200


async def test_statistics_and_the_check_tell_the_limits_in_force(home: Path) -> None:
    given: dict[str, Any] = {
        "rate_limit_read": 7,
        "rate_limit_query_cost": 0,
        "max_connections": 40,
        "max_in_flight_mb": 3,
    }
    async with served(home, clock=FakeClock(), **given) as running:
        told = (await running.client.get("/v1/stats")).json()["limits"]
        findings = (await running.client.get("/v1/check")).json()["findings"]

    assert told == {
        "reads": 7,
        "writes": 30_000,
        "prompts": 3_000,
        "query_cost": None,
        "connections": 40,
        "in_flight_bytes": 3 << 20,
        "body_bytes": 10 << 20,
        "anonymous_body_bytes": 1 << 20,
    }
    [finding] = [finding for finding in findings if finding["check"] == "limits"]
    assert finding["severity"] == "ok"
    for words in ("at most 7 reads", "any number of words times scopes", "at most 40 connections", "3 MiB of requests"):
        assert words in finding["message"]
