"""Tandem's published clients, as they are, against a daemon: PyPI's, with and without an event loop, and npm's."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
import tandem_client

from commonplace.testing.daemon import Daemon, running_daemon

HERE = Path(__file__).parent
TEXT = "The team uses Rust for backend services."
TALK = [
    "user: I prefer dark mode in every editor, and please always answer in English when we work together.",
    "assistant: Noted. I will keep that in mind for all of your projects from now on.",
    "user: We decided to deploy the payment service on Fridays. The root cause was a missing index on orders.",
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    """One daemon for all; each client works in sessions and tenants of its own."""
    home = tmp_path_factory.mktemp("daemon")
    with running_daemon(home, env={"COMMONPLACE_EMBEDDER": "none"}) as running:
        yield running


@pytest.fixture
def daemon(house: Daemon) -> Generator[Daemon]:
    yield house
    with house.client() as client:
        for item in client.get("/memory", params={"limit": 1000}).json()["items"]:
            client.delete(f"/memory/{item['id']}").raise_for_status()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "handbook.md").write_text("Expenses are filed by the fifth.", encoding="utf-8")
    return notes


def capability(run: str) -> str:
    tiers = {"read_tiers": ["session", "project"], "write_tiers": ["session"], "promote_targets": ["project"]}
    place = {"org_id": "default", "workspace_id": "default", "project_id": "default"}
    return json.dumps({"run_id": run, "subject": "operator", **place, "memory": tiers})


async def whole_namespace(memory: Any, folder: Path) -> list[str]:
    """Every method of `memory`. The actions that the audit tells of the run."""
    put = await memory.put(TEXT, tags=["team"], source="docs", session_id="s1", run_id="r1")
    assert (put.ok, put.stored, put.tier, put.partition_key) == (
        True,
        True,
        "session",
        "default/default/default/session",
    )
    again = await memory.put(TEXT, tags=["team"], source="docs", session_id="s1", run_id="r1")
    assert (again.stored, again.id) == (False, put.id)
    capable = await memory.put("Ana leads the release.", run_id="r1", capability=capability("r1"))
    assert capable.stored

    found = await memory.search("backend technology Rust", limit=5)
    assert [(one.id, one.text, one.tags) for one in found.results] == [(put.id, TEXT, ["team"])]
    assert (found.count, found.results[0].source_type, found.results[0].run_id) == (1, "docs", "r1")
    assert (await memory.search("Rust", session_id="s1", tags=["team"])).count == 1
    assert (await memory.search("Rust", session_id="s2")).count == 0
    assert [one.id for one in (await memory.search("release", capability=capability("r1"))).results] == [capable.id]

    listed = await memory.list(q="rust", limit=10, offset=0, user_id="operator")
    assert [(one.id, one.content, one.session_id) for one in listed.items] == [(put.id, TEXT, "s1")]
    assert (await memory.list()).count == 2

    promoted = await memory.promote(put.id)
    assert (promoted.promoted, promoted.new_memory_id, promoted.to_tier) == (True, put.id, "project")

    resolved = await memory.context_resolve_uri("tandem://resources/default")
    assert resolved["node"]["node_type"] == "directory"
    assert (await memory.context_generate_layers(put.id))["ok"]
    tree = await memory.context_tree("tandem://resources/default", max_depth=2)
    assert [child["node"]["id"] for child in tree["tree"][0]["children"]] == [put.id]
    distilled = await memory.context_distill("s1", TALK)
    assert (distilled["ok"], distilled["status"]) == (True, "stored")
    assert distilled["facts_extracted"] > 0

    imported = await memory.import_path(path=str(folder), project_id="handbook", sync_deletes=True)
    assert (imported.ok, imported.tier, imported.indexed_files, imported.errors) == (True, "project", 1, 0)

    assert (await memory.demote(put.id, run_id="r1"))["ok"]
    assert (await memory.search("backend technology Rust")).count == 0
    assert (await memory.delete(put.id))["ok"]

    audit = await memory.audit(run_id="r1", limit=50)
    assert audit.count == len(audit.entries)
    assert all(entry.ts_ms and entry.id and entry.run_id == "r1" for entry in audit.entries)
    return [entry.action for entry in audit.entries]


@pytest.mark.anyio
async def test_the_client_of_pypi_works_for_its_whole_memory_namespace(daemon: Daemon, folder: Path) -> None:
    async with tandem_client.TandemClient(base_url=daemon.url, token=daemon.token) as client:
        actions = await whole_namespace(client.memory, folder)

    assert actions == ["memory_demote", "memory_search", "memory_put", "memory_put", "memory_put"]


def test_its_twin_without_an_event_loop_works_for_as_many_calls_as_anybody_likes(daemon: Daemon) -> None:
    client = tandem_client.SyncTandemClient(base_url=daemon.url, token=daemon.token)

    put = client.memory.put(TEXT, session_id="s1")
    found = [client.memory.search("Rust backend").count for _ in range(5)]

    assert found == [1] * 5
    assert client.memory.promote(put.id).promoted
    assert client.memory.list(q="rust").count == 1
    assert client.memory.search("dump everything").count >= 0
    assert client.memory.delete(put.id)["ok"]
    assert [entry.action for entry in client.memory.audit(limit=1).entries] == ["memory_delete"]
    client.close()


@pytest.mark.anyio
async def test_a_refusal_reaches_the_client_as_its_own_error(daemon: Daemon) -> None:
    async with tandem_client.TandemClient(base_url=daemon.url, token="cp_wrong") as client:
        with pytest.raises(httpx.HTTPStatusError) as unknown:
            await client.memory.search("Rust")
    async with tandem_client.TandemClient(base_url=daemon.url, token=daemon.token) as client:
        with pytest.raises(httpx.HTTPStatusError) as absent:
            await client.memory.delete("01890000-0000-7000-8000-000000000001")

    assert (unknown.value.response.status_code, absent.value.response.status_code) == (401, 404)


@pytest.fixture
def node() -> Callable[..., Any]:
    program = shutil.which("node")
    assert program, "Node 18 or newer is needed for the published JavaScript client. Install it, then run `make test`."
    assert (HERE / "node_modules").is_dir(), (
        "Run `make test` once, or `npm ci` in tests/clients: it installs the client."
    )

    def run(*args: str, token: str) -> Any:
        environment = {**os.environ, "COMMONPLACE_TOKEN": token}
        done = subprocess.run(
            [program, *args], cwd=HERE, env=environment, capture_output=True, text=True, check=False, timeout=45
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_the_client_of_npm_works_for_its_whole_memory_namespace(
    daemon: Daemon, folder: Path, node: Callable[..., Any]
) -> None:
    told = node("memory.mjs", daemon.url, str(folder), token=daemon.token)

    script = (HERE / "memory.mjs").read_text(encoding="utf-8")
    methods = [name for name in told["namespace"] if name != "constructor"]
    assert methods
    assert [name for name in methods if f"memory.{name}(" not in script] == []
    with daemon.client() as client:
        assert client.delete(f"/memory/{told['put']}").status_code == 404
