"""Agents and workspaces."""

from datetime import timedelta
from uuid import UUID

import httpx
import pytest

from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess
from commonplace.values.note import Note
from commonplace.values.query import Filter
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio


async def test_a_new_agent_gets_an_id_and_its_memory_is_off(client: httpx.AsyncClient) -> None:
    response = await client.post("/api/agents", json={"name": "Reviewer"})

    made = response.json()["data"]
    assert (response.status_code, response.json()["success"]) == (201, True)
    assert (made["name"], made["memoryEnabled"], made["createdAt"]) == ("Reviewer", False, made["updatedAt"])
    assert UUID(made["id"]).version == 7


@pytest.mark.parametrize("id", ["a", "rel.notes:2026_v-1", "7f3e4a52-53f1-4bb0-8a9c-0d7f2b9c1e11", "x" * 128])
async def test_an_id_that_is_given_is_kept(client: httpx.AsyncClient, id: str) -> None:
    made = await client.post("/api/agents", json={"name": "Reviewer", "id": id, "memoryEnabled": True})

    assert made.json()["data"]["id"] == id
    assert (await client.get(f"/api/agents/{id}")).json() == made.json()


@pytest.mark.parametrize("id", ["", "two words", "a/b", "x" * 129, "é", 7])
async def test_an_id_of_other_marks_is_refused(client: httpx.AsyncClient, id: object) -> None:
    response = await client.post("/api/workspaces", json={"name": "Web", "id": id})

    assert (response.status_code, response.json()["success"]) == (400, False)
    assert response.json()["error"].startswith("id: ")


@pytest.mark.parametrize("kind", ["agents", "workspaces"])
async def test_an_id_that_is_taken_is_a_conflict(client: httpx.AsyncClient, kind: str) -> None:
    first = await client.post(f"/api/{kind}", json={"name": "First", "id": "one"})
    second = await client.post(f"/api/{kind}", json={"name": "Second", "id": "one"})

    assert (first.status_code, second.status_code) == (201, 409)
    assert (await client.get(f"/api/{kind}/one")).json()["data"]["name"] == "First"


async def test_an_agent_and_a_workspace_may_share_an_id(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"name": "Agent", "id": "one"})
    await client.post("/api/workspaces", json={"name": "Workspace", "id": "one"})

    assert (await client.get("/api/agents/one")).json()["data"]["name"] == "Agent"
    assert (await client.get("/api/workspaces/one")).json()["data"]["name"] == "Workspace"


@pytest.mark.parametrize("kind", ["agents", "workspaces"])
async def test_owners_are_listed_by_name(client: httpx.AsyncClient, kind: str) -> None:
    for name in ("Cy", "Ann", "Bo"):
        await client.post(f"/api/{kind}", json={"name": name})

    listed = (await client.get(f"/api/{kind}")).json()["data"]

    assert [row["name"] for row in listed] == ["Ann", "Bo", "Cy"]


async def test_a_patch_changes_only_what_it_names(client: httpx.AsyncClient, clock: FakeClock) -> None:
    await client.post("/api/agents", json={"name": "Old", "id": "one"})
    clock.advance(timedelta(minutes=1))
    on = (await client.patch("/api/agents/one", json={"memoryEnabled": True})).json()["data"]
    renamed = (await client.patch("/api/agents/one", json={"name": "New"})).json()["data"]

    assert (on["name"], on["memoryEnabled"]) == ("Old", True)
    assert (renamed["name"], renamed["memoryEnabled"]) == ("New", True)
    assert renamed["updatedAt"] > renamed["createdAt"]


async def test_a_workspace_can_be_renamed(client: httpx.AsyncClient) -> None:
    await client.post("/api/workspaces", json={"name": "Old", "id": "one"})
    renamed = await client.patch("/api/workspaces/one", json={"name": "New"})

    assert renamed.json()["data"]["name"] == "New"
    assert (await client.get("/api/workspaces/one")).json() == renamed.json()


@pytest.mark.parametrize("kind", ["agents", "workspaces"])
async def test_an_owner_nobody_knows_is_not_found(client: httpx.AsyncClient, kind: str) -> None:
    memory = "/memories/7f3e4a52-53f1-4bb0-8a9c-0d7f2b9c1e11"
    asked = [
        ("GET", "", None),
        ("PATCH", "", {"name": "x"}),
        ("DELETE", "", None),
        ("GET", "/memories", None),
        ("POST", "/memories", {"key": "k", "value": "v"}),
        ("PATCH", memory, {"value": "v"}),
        ("PATCH", f"{memory}/pin", {"pinned": True}),
        ("DELETE", memory, None),
    ]
    answers = [await client.request(method, f"/api/{kind}/nobody{path}", json=body) for method, path, body in asked]

    assert [answer.status_code for answer in answers] == [404] * len(asked)
    assert all(set(answer.json()) == {"success", "error"} for answer in answers)


async def test_removing_an_owner_leaves_a_tombstone_of_every_record(either: InProcess) -> None:
    client, desk = either.client, either.services.desk
    await client.post("/api/workspaces", json={"name": "Web", "id": "web"})
    made = [await client.post("/api/workspaces/web/memories", json={"key": f"k{n}", "value": "v"}) for n in range(3)]
    response = await client.delete("/api/workspaces/web")

    ids = [one.json()["data"]["id"] for one in made]
    assert response.json() == {"success": True, "data": {"id": "web"}}
    assert all(record.deleted_at for record in await desk.store.records.get("default/default", ids))
    assert (await client.get("/api/workspaces/web")).status_code == 404
    assert (await client.get("/api/workspaces/web/memories")).status_code == 404
    assert (await client.get("/api/workspaces")).json()["data"] == []


async def test_removing_an_agent_answers_that_it_is_deleted(client: httpx.AsyncClient, agent: str) -> None:
    await client.post(agent, json={"key": "k", "value": "v"})
    response = await client.delete("/api/agents/notes")

    assert response.json() == {"success": True, "data": {"deleted": True}}
    assert (await client.delete("/api/agents/notes")).status_code == 404


async def test_removing_an_owner_takes_what_other_doors_wrote_along(door: InProcess, workspace: str) -> None:
    writer, web = caller("writer"), Scope("workspace", "web")
    notes = [Note(text=f"part {n}", scope=web, kind="resource") for n in range(3)]
    await door.services.records.put(writer, notes)
    await door.client.delete("/api/workspaces/web")

    page = await door.services.records.list(writer, Filter(scopes=(web,)))
    assert page.records == ()


async def test_an_owner_that_is_made_again_begins_empty(client: httpx.AsyncClient, agent: str) -> None:
    await client.post(agent, json={"key": "k", "value": "v"})
    await client.delete("/api/agents/notes")
    await client.post("/api/agents", json={"name": "Again", "id": "notes"})

    assert (await client.get(agent)).json()["data"] == []


async def test_an_owner_whose_scope_holds_records_is_there_without_being_created(door: InProcess) -> None:
    await door.services.records.put(caller("writer"), [Note(text="We ship on Fridays", scope="agent:ship", key="ship")])
    found = (await door.client.get("/api/agents/ship")).json()["data"]
    listed = (await door.client.get("/api/agents")).json()["data"]
    memories = (await door.client.get("/api/agents/ship/memories")).json()["data"]

    assert (found["id"], found["name"], found["memoryEnabled"]) == ("ship", "ship", True)
    assert listed == [found]
    assert [row["value"] for row in memories] == ["We ship on Fridays"]


async def test_naming_such_an_owner_creates_it(door: InProcess) -> None:
    await door.services.records.put(caller("writer"), [Note(text="We ship on Fridays", scope="agent:ship")])
    await door.client.patch("/api/agents/ship", json={"name": "Shipping"})

    held = await door.services.desk.store.keys.owner("default/default", "agent", "ship")
    assert held is not None
    assert (held.name, held.memory_enabled) == ("Shipping", True)


async def test_switching_the_memory_of_an_agent_on_brings_it_into_the_prompt(house: InProcess) -> None:
    client = house.client
    await client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    await client.post("/api/agents/notes/memories", json={"key": "tone", "value": "Keep it short"})
    off = (await client.post("/v1/context", json={"agent": "notes"})).json()["text"]
    await client.patch("/api/agents/notes", json={"memoryEnabled": True})
    on = (await client.post("/v1/context", json={"agent": "notes"})).json()["text"]

    assert "Keep it short" not in off
    assert "- **tone**: Keep it short" in on
