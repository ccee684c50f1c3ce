"""`/mcp`: a real daemon, spoken to by the official client."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.mcp import remote

pytestmark = pytest.mark.anyio

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def door(daemon: Daemon, **meant: str) -> str:
    return str(httpx.URL(f"{daemon.url}/mcp", params=meant))


def key(daemon: Daemon, role: str, *scopes: str, tenant: str = "default/default") -> str:
    body = {"name": role, "role": role, **({"scopes": scopes} if scopes else {})}
    with daemon.client() as client:
        answer = client.post("/v1/keys", json=body, headers={"X-Tenant": tenant})
    assert answer.status_code == 201, answer.text
    return answer.json()["secret"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_a_model_stores_is_found_by_it_and_at_our_own_door(daemon: Daemon, mode: str) -> None:
    async with remote(door(daemon, project=f"atlas-{mode}"), key(daemon, "writer"), mode=mode) as model:
        offered = await model.tools()
        stored = await model("memory_store", content="We deploy with make ship.")
        found = await model("memory_search", query="how do we deploy?")
        block = await model.text("memory_context", query="how do we deploy?")

    assert offered == {
        "memory_search",
        "memory_store",
        "memory_correct",
        "memory_remember",
        "memory_list",
        "memory_context",
        "memory_tree",
        "knowledge_preflight",
        "knowledge_record",
        "knowledge_list",
    }
    assert stored["scope"] == f"workspace:atlas-{mode}"
    assert [row["id"] for row in found["results"]] == [stored["id"]]
    assert "We deploy with make ship." in block
    with daemon.client() as client:
        record = client.get(f"/v1/records/{stored['id']}").json()
        rows = client.get("/v1/audit", params={"record": stored["id"]}).json()
    assert (record["text"], record["actor"]) == ("We deploy with make ship.", "writer")
    assert [row["door"] for row in rows["rows"] if row["action"] == "record.put"] == ["mcp"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer cp_wrong"}, {"Authorization": "Basic Og=="}])
@pytest.mark.parametrize("body", [json.dumps(PING), "{", ""])
def test_nobody_speaks_to_the_protocol_without_a_key(daemon: Daemon, headers: dict[str, str], body: str) -> None:
    sent = {**ACCEPT, "Content-Type": "application/json", **headers}

    answer = httpx.post(door(daemon), content=body, headers=sent, timeout=5)

    assert (answer.status_code, answer.headers["WWW-Authenticate"][:6]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "unauthenticated"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_open_and_no_session_to_end(daemon: Daemon, method: str) -> None:
    answer = httpx.request(method, door(daemon), headers={**daemon.headers, "Accept": "text/event-stream"}, timeout=5)

    assert answer.status_code == 405


def test_a_request_stands_for_itself_and_leaves_no_session(daemon: Daemon) -> None:
    answer = httpx.post(door(daemon), json=LISTED, headers={**daemon.headers, **ACCEPT}, timeout=5)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    assert len(answer.json()["result"]["tools"]) == 10


@pytest.mark.parametrize("body", [[], {}, {"jsonrpc": "1.0"}, "tools", {**LISTED, "method": 7}, [LISTED] * 3])
def test_what_is_no_message_is_refused(daemon: Daemon, body: Any) -> None:
    answer = httpx.post(door(daemon), json=body, headers={**daemon.headers, **ACCEPT}, timeout=5)

    assert 400 <= answer.status_code < 500


async def test_a_reader_finds_and_cannot_store(daemon: Daemon) -> None:
    async with remote(door(daemon, project="readers"), key(daemon, "writer")) as writer:
        await writer("memory_store", content="The lamp is green.")

    async with remote(door(daemon, project="readers"), key(daemon, "reader")) as reader:
        found = await reader.found("lamp")
        refused = await reader("memory_store", content="The lamp is red.")

    assert found == ["The lamp is green."]
    assert (refused["ok"], refused["reason"]) == (False, "forbidden")


async def test_a_key_of_another_tenant_finds_nothing(daemon: Daemon) -> None:
    async with remote(door(daemon, project="ours"), key(daemon, "writer")) as ours:
        stored = await ours("memory_store", content="The lamp is green.")

    async with remote(door(daemon, project="ours"), key(daemon, "admin", tenant="other/place")) as theirs:
        found = await theirs.found("lamp")
        listed = await theirs("memory_list", scope="workspace:ours")
        resources = await theirs.client.list_resources()

    assert stored["ok"] is True
    assert (found, listed["results"], resources.resources) == ([], [], [])


async def test_a_key_that_reaches_some_scopes_only_works_within_them(daemon: Daemon) -> None:
    async with remote(door(daemon), daemon.token) as operator:
        other = await operator("memory_store", content="The safe is blue.", scope="workspace:vault")
        await operator("memory_store", content="The safe is known to everyone.", scope="global")

    async with remote(door(daemon, project="den"), key(daemon, "writer", "workspace:den", "user:*")) as model:
        stored = await model("memory_store", content="The safe is in the den.")
        found = await model.found("safe")
        by_name = await model("memory_search", query="safe", project_id="vault")
        everyone = await model("memory_store", content="The safe is grey.", tier="global")
        read = await model("memory_list", scope="workspace:vault")
    async with remote(door(daemon), key(daemon, "writer", "user:ana")) as person:
        kept = await person("memory_store", content="Ana has the key.")
        all_of_hers = await person("memory_list")

    assert stored["scope"] == "workspace:den"
    assert found == ["The safe is in the den."]
    assert (by_name["reason"], read["reason"]) == ("forbidden", "forbidden")
    with daemon.client() as client:
        denied = client.get("/v1/audit", params={"door": "mcp", "outcome": "denied"}).json()["rows"]
    assert {"record.search", "record.list"} <= {row["action"] for row in denied}
    assert everyone["reason"] == "global_scope_disabled"
    assert kept["scope"] == "user:ana"
    assert [row["content"] for row in all_of_hers["results"]] == ["Ana has the key."]
    assert other["ok"] is True


async def test_resources_and_prompts_are_there_as_well(daemon: Daemon) -> None:
    async with remote(door(daemon, project="shelf"), key(daemon, "writer", "workspace:shelf")) as model:
        stored = await model("memory_store", content="The atlas lies on the shelf.")
        resources = await model.client.list_resources()
        contents = (await model.client.read_resource(stored["uri"])).contents
        prompt = await model.client.get_prompt("recall", {"question": "Where is the atlas?"})

    assert [one.uri for one in resources.resources] == [stored["uri"]]
    assert stored["id"] in str(contents)
    assert "The atlas lies on the shelf." in str(prompt.messages)


async def test_deleting_is_offered_where_the_operator_allows_it_and_needs_a_writer(tmp_path: Path) -> None:
    env = {"COMMONPLACE_EMBEDDER": "none", "COMMONPLACE_MCP_ALLOW_DELETE": "true"}
    with running_daemon(tmp_path / "daemon", env=env) as daemon:
        async with remote(door(daemon), daemon.token) as model:
            stored = await model("memory_store", content="The gate code is on the board.")
        async with remote(door(daemon), key(daemon, "reader")) as reader:
            refused = await reader("memory_delete", id=stored["id"])
        async with remote(door(daemon), key(daemon, "writer")) as writer:
            offered = await writer.tools()
            gone = await writer("memory_delete", id=stored["id"])
            left = await writer.found("gate")

    assert "memory_delete" in offered
    assert refused["reason"] == "forbidden"
    assert (gone["deleted"], left) == (True, [])


async def test_the_log_is_ours_and_holds_no_question_and_no_memory(daemon: Daemon) -> None:
    async with remote(door(daemon, project="quiet"), key(daemon, "writer"), mode="legacy") as model:
        await model("memory_store", content="Xylophones are quiet.")
        await model("memory_search", query="xylophones?")

    lines = [json.loads(line) for line in daemon.lines() if line.startswith("{")]
    told = [line for line in lines if line.get("door") == "mcp"]
    # What is refused before it has a route has none.
    assert {line["route"] for line in told} <= {"/mcp", "unmatched"}
    assert [line for line in lines if line["event"] not in ("request", "started", "stopped")] == []
    assert "xylophone" not in daemon.log.read_text(encoding="utf-8").lower()
    assert "quiet" not in daemon.log.read_text(encoding="utf-8")


ODD = "zebras graze at night"


def odd_messages() -> list[dict[str, Any]]:
    begin: dict[str, Any] = {"jsonrpc": "2.0", "id": 1}
    asked = [
        ("tools/call", {"name": ODD, "arguments": ODD}),
        ("tools/call", {"name": "memory_search", "arguments": {"query": {"x": ODD}}}),
        (ODD, {"x": ODD}),
        ("resources/read", {"uri": ODD}),
        ("resources/list", {"cursor": ODD}),
        ("prompts/get", {"name": ODD, "arguments": {"x": [ODD]}}),
        ("initialize", {"protocolVersion": ODD}),
        ("tools/list", ODD),
        ("completion/complete", {"ref": ODD}),
    ]
    told = [
        {"jsonrpc": "2.0", "method": f"notifications/{ODD}", "params": {"x": ODD}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"x": ODD}, "reason": ODD}},
        {**begin, "result": {"x": ODD}},
        {**begin, "error": {"code": 1, "message": ODD}},
    ]
    return [*({**begin, "method": method, "params": params} for method, params in asked), *told]


@pytest.mark.parametrize("version", ["", "2025-06-18", "2026-07-28", "3000-01-01", "zebra"])
def test_no_message_however_odd_breaks_the_door_or_gets_into_the_log(daemon: Daemon, version: str) -> None:
    spoken = {"Mcp-Protocol-Version": version} if version else {}
    with daemon.client() as client:
        answers = [client.post("/mcp", json=message, headers={**ACCEPT, **spoken}) for message in odd_messages()]

    assert [answer.text for answer in answers if answer.status_code >= 500 or "-32603" in answer.text] == []
    assert "zebra" not in daemon.log.read_text(encoding="utf-8")


def test_a_daemon_that_no_model_asks_does_not_load_the_protocol() -> None:
    script = (
        "import sys, commonplace.server.app; print(sorted(name for name in sys.modules if name.split('.')[0] == 'mcp'))"
    )

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)

    assert loaded.stdout.strip() == "[]"
