"""Scopes, counts, recalls, weights and latency over HTTP."""

from typing import Any

import httpx
import pytest
from tests.doors.server.signing import OURS, signed_in

from commonplace.memory.rank import Weights
from commonplace.testing.daemon import InProcess

pytestmark = pytest.mark.anyio


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_scopes_are_listed_with_their_records_and_found_by_a_part_of_their_names(
    http: httpx.AsyncClient, put: Any
) -> None:
    await put("One", scope="workspace:Web shop")
    last = await put("Two", scope="user:ana")

    whole = (await http.get("/v1/scopes?everyone=true")).json()
    home = (await http.get("/v1/scopes")).json()
    found = (await http.get("/v1/scopes?q=SHOP&kind=workspace&kind=agent")).json()
    first = (await http.get("/v1/scopes?limit=1&everyone=true")).json()

    assert [(one["scope"], one["kind"], one["id"], one["records"]) for one in whole["scopes"]] == [
        ("user:ana", "user", "ana", 1),
        ("workspace:Web shop", "workspace", "Web shop", 1),
    ]
    assert [one["scope"] for one in home["scopes"]] == ["workspace:Web shop"]
    assert whole["scopes"][0]["updated_at"] == last["updated_at"]
    assert [one["scope"] for one in found["scopes"]] == ["workspace:Web shop"]
    assert ([one["scope"] for one in first["scopes"]], first["more"]) == (["user:ana"], True)


async def test_scopes_out_of_reach_are_neither_listed_nor_counted(
    http: httpx.AsyncClient, put: Any, keyed: Any
) -> None:
    await put("Ours", scope="workspace:web")
    await put("Theirs", scope="user:ana")
    for pattern in ("workspace:web", "workspace:*"):
        headers = await keyed("reader", pattern)

        listed = await http.get("/v1/scopes", headers=headers)
        counted = await http.get("/v1/counts?by=scope", headers=headers)
        named = await http.get("/v1/counts?by=scope&scope=user:ana", headers=headers)

        assert [one["scope"] for one in listed.json()["scopes"]] == ["workspace:web"]
        assert counted.json() == {
            "counts": [{"by": {"scope": "workspace:web"}, "records": 1}],
            "total": 1,
            "truncated": False,
        }
        assert code(named) == (403, "forbidden")


async def test_records_are_counted_by_two_of_their_fields(http: httpx.AsyncClient, put: Any) -> None:
    day = (await put("One", kind="fact"))["created_at"][:10]
    await put("Two", kind="fact", pinned=True)
    gone = await put("Three", source="import")
    await http.delete(f"/v1/records/{gone['id']}")

    by_two = (await http.get("/v1/counts?by=source&by=day&kind=fact")).json()
    pinned = (await http.get("/v1/counts?by=kind&pinned=true")).json()
    states = (await http.get("/v1/counts?by=state&state=live&state=deleted")).json()

    assert by_two["counts"] == [{"by": {"source": "manual", "day": day}, "records": 2}]
    assert pinned["total"] == 1
    assert {one["by"]["state"]: one["records"] for one in states["counts"]} == {"live": 2, "deleted": 1}


@pytest.mark.parametrize("query", ["", "by=colour", "by=kind&by=kind", "by=kind&by=day&by=source", "by=kind&limit=3"])
async def test_what_cannot_be_counted_by_is_refused(http: httpx.AsyncClient, query: str) -> None:
    assert code(await http.get(f"/v1/counts?{query}")) == (400, "invalid_input")


async def test_a_record_tells_where_it_was_recalled_but_not_for_what(
    http: httpx.AsyncClient, put: Any, keyed: Any
) -> None:
    first = await put("The wombat sleeps", scope="workspace:web")
    await put("A wombat, a wombat and a wombat", scope="workspace:web")
    await http.post("/v1/search", json={"text": "wombat", "run": "r1"})
    await http.post("/v1/context", json={"query": "wombat"})

    answer = await http.get(f"/v1/records/{first['id']}/recalls", headers=await keyed("reader", "workspace:web"))

    told = answer.json()
    assert [(one["action"], one["run"], one["by"], one["door"]) for one in told["recalls"]] == [
        ("record.context", None, "operator", "native"),
        ("record.search", "r1", "operator", "native"),
    ]
    assert {one["rank"] for one in told["recalls"]} <= {1, 2}
    assert (told["searched"], told["complete"]) == (2, True)
    assert "wombat" not in answer.text


async def test_what_a_person_looks_for_in_the_console_is_shown_and_not_recalled(running: InProcess, put: Any) -> None:
    record = await put("The wombat sleeps", scope="workspace:web")
    console = running.stranger
    await signed_in(running)

    hits = (await console.post("/v1/search", json={"text": "wombat"}, headers=OURS)).json()["hits"]
    block = (await console.post("/v1/context", json={"query": "wombat"}, headers=OURS)).json()

    assert [hit["record"]["id"] for hit in hits] == [record["id"]]
    assert "wombat" in block["text"]
    recalls = (await running.client.get(f"/v1/records/{record['id']}/recalls")).json()
    assert recalls == {"recalls": [], "searched": 0, "complete": True}
    assert (await running.client.get("/v1/latency")).json()["count"] == 0
    rows = (await running.client.get("/v1/audit")).json()["rows"]
    looks = {row["action"]: row["details"]["ids"] for row in rows if "ids" in row["details"]}
    assert looks == {"record.browse": [record["id"]], "record.preview": [record["id"]]}


async def test_recalls_of_a_record_out_of_reach_are_not_told(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    theirs = await put("Theirs", scope="user:ana")

    answer = await http.get(f"/v1/records/{theirs['id']}/recalls", headers=await keyed("reader", "workspace:web"))

    assert code(answer) == (404, "record_not_found")


async def test_every_weight_is_told_and_can_be_turned(http: httpx.AsyncClient, put: Any) -> None:
    await put("The wombat sleeps")
    told = (await http.get("/v1/weights")).json()["weights"]

    defaults = {one["name"]: one["default"] for one in told}
    answer = await http.post("/v1/search", json={"text": "wombat", "weights": defaults})

    assert set(defaults) == set(Weights.__dataclass_fields__) - {"embedders"}
    assert all(one["meaning"] for one in told)
    [plain] = (await http.post("/v1/search", json={"text": "wombat"})).json()["hits"]
    [turned] = answer.json()["hits"]
    assert turned["score"] == pytest.approx(plain["score"], abs=1e-4)


async def test_how_long_recalls_take_is_told_of_those_that_were_answered(running: InProcess) -> None:
    http = running.client
    before = (await http.get("/v1/latency")).json()
    await http.post("/v1/search", json={"text": "wombat"})
    await http.post("/v1/context", json={"query": "wombat"})
    await http.post("/v1/search", json={"text": " "})

    after = (await http.get("/v1/latency")).json()

    assert (before["count"], before["p50"], before["minutes"]) == (0, None, [])
    assert (after["count"], sum(one["count"] for one in after["minutes"])) == (2, 2)
    assert 0 < after["p50"] <= after["p95"] <= after["p99"]
