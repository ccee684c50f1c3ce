"""Memories under their keys: the tables of the seed, a test a row."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess
from commonplace.values.note import Note

pytestmark = pytest.mark.anyio

ROW = {
    "id",
    "agentId",
    "workspaceId",
    "scope",
    "source",
    "key",
    "value",
    "pinned",
    "importance",
    "createdAt",
    "updatedAt",
}
PLACES = ["agent", "workspace"]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, agent: str, workspace: str) -> str:
    """The memories of an agent, and those of a workspace: both are held to the same."""
    return agent if request.param == "agent" else workspace


async def put(client: httpx.AsyncClient, path: str, **fields: object) -> dict[str, Any]:
    response = await client.post(path, json={"key": "deploy-cmd", "value": "npm run deploy", **fields})
    assert response.status_code == 201, response.text
    return response.json()["data"]


async def keys(client: httpx.AsyncClient, path: str, **query: str) -> list[str]:
    response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    return [row["key"] for row in response.json()["data"]]


# ---- the row


async def test_a_row_has_the_fields_of_the_seed_and_their_defaults(client: httpx.AsyncClient, agent: str) -> None:
    response = await client.post(agent, json={"key": "deploy-cmd", "value": "npm run deploy"})

    row = response.json()["data"]
    assert (response.status_code, set(response.json()), set(row)) == (201, {"success", "data", "outcome"}, ROW)
    assert UUID(row["id"])
    assert (row["agentId"], row["workspaceId"], row["scope"]) == ("notes", None, "agent")
    assert (row["source"], row["pinned"], row["importance"]) == ("manual", False, 0)
    assert (row["key"], row["value"]) == ("deploy-cmd", "npm run deploy")


async def test_a_row_of_a_workspace_belongs_to_no_agent(client: httpx.AsyncClient, workspace: str) -> None:
    row = await put(client, workspace)

    assert (row["agentId"], row["workspaceId"], row["scope"]) == (None, "web", "workspace")


async def test_what_is_sent_is_kept(client: httpx.AsyncClient, place: str) -> None:
    row = await put(client, place, source="director", pinned=True, importance=80)

    assert (row["source"], row["pinned"], row["importance"]) == ("director", True, 80)
    assert (await client.get(place)).json()["data"] == [row]


async def test_a_body_out_of_bounds_is_refused_and_says_where(client: httpx.AsyncClient, place: str) -> None:
    bad: list[tuple[str, dict[str, object]]] = [
        ("key", {"value": "v"}),
        ("value", {"key": "k"}),
        ("key", {"key": "", "value": "v"}),
        ("key", {"key": "k" * 256, "value": "v"}),
        ("key", {"key": 1, "value": "v"}),
        ("value", {"key": "k", "value": 1}),
        ("value", {"key": "k", "value": ""}),
        ("source", {"key": "k", "value": "v", "source": "robot"}),
        ("pinned", {"key": "k", "value": "v", "pinned": "yes"}),
        ("importance", {"key": "k", "value": "v", "importance": -1}),
        ("importance", {"key": "k", "value": "v", "importance": 101}),
        ("importance", {"key": "k", "value": "v", "importance": 1.5}),
        ("importance", {"key": "k", "value": "v", "importance": True}),
    ]
    answers = [(where, await client.post(place, json=body)) for where, body in bad]

    assert {(answer.status_code, answer.json()["success"]) for _, answer in answers} == {(400, False)}
    assert [answer.json()["error"].partition(":")[0] for _, answer in answers] == [where for where, _ in answers]
    assert await keys(client, place) == []


async def test_every_problem_of_a_body_is_told(client: httpx.AsyncClient, agent: str) -> None:
    response = await client.post(agent, json={"importance": 101})

    assert [part.partition(":")[0] for part in response.json()["error"].split("; ")] == ["key", "value", "importance"]


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'"text"', b"null", b"", b'{"key": "k", "value": "\\ud800"}', b'{"key":"k","value":"\\u0000"}'],
)
async def test_a_body_that_is_no_memory_is_refused(client: httpx.AsyncClient, agent: str, content: bytes) -> None:
    response = await client.post(agent, content=content, headers={"Content-Type": "application/json"})

    assert (response.status_code, response.json()["success"]) == (400, False)


async def test_a_key_may_have_255_characters(client: httpx.AsyncClient, place: str) -> None:
    assert (await put(client, place, key="k" * 255))["key"] == "k" * 255


async def test_the_routes_take_values_beyond_2000_characters(client: httpx.AsyncClient, place: str) -> None:
    assert len((await put(client, place, value="v" * 5_000))["value"]) == 5_000


# ---- upsert by key


async def test_the_same_key_again_overwrites_value_source_pin_and_importance(
    client: httpx.AsyncClient, place: str, clock: FakeClock
) -> None:
    first = await put(client, place, source="auto", pinned=True, importance=80)
    clock.advance(timedelta(seconds=1))
    second = await put(client, place, value="make ship")

    assert second == {
        **first,
        "value": "make ship",
        "source": "manual",
        "pinned": False,
        "importance": 0,
        "updatedAt": second["updatedAt"],
    }
    assert second["updatedAt"] > first["updatedAt"]
    assert await keys(client, place) == ["deploy-cmd"]


async def test_a_new_key_always_makes_a_row_whatever_it_says(client: httpx.AsyncClient, place: str) -> None:
    first, second = await put(client, place, key="a"), await put(client, place, key="b")

    assert first["value"] == second["value"]
    assert await keys(client, place) == ["a", "b"] or await keys(client, place) == ["b", "a"]


async def test_the_same_key_elsewhere_is_another_memory(client: httpx.AsyncClient, agent: str, workspace: str) -> None:
    mine, shared = await put(client, agent), await put(client, workspace, value="make ship")

    assert mine["id"] != shared["id"]
    assert (await client.get(agent)).json()["data"][0]["value"] == "npm run deploy"


async def test_a_deleted_key_that_is_written_again_is_there_again(client: httpx.AsyncClient, place: str) -> None:
    first = await put(client, place, pinned=True)
    await client.delete(f"{place}/{first['id']}")
    again = await put(client, place, value="make ship")

    assert (again["id"], again["value"], again["pinned"]) == (first["id"], "make ship", False)
    assert await keys(client, place) == ["deploy-cmd"]


async def test_many_writers_of_one_key_leave_one_row(either: InProcess) -> None:
    await either.client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    writes = [
        either.client.post("/api/agents/notes/memories", json={"key": "k", "value": f"value {n}"}) for n in range(12)
    ]
    answers = await asyncio.gather(*writes)

    [row] = (await either.client.get("/api/agents/notes/memories")).json()["data"]
    assert {answer.status_code for answer in answers} == {201}
    assert {answer.json()["data"]["id"] for answer in answers} == {row["id"]}
    history = await either.services.records.history(caller("reader"), row["id"])
    assert {record.text for record in history} == {f"value {n}" for n in range(12)}


async def test_writing_a_memory_leaves_alone_what_a_memory_does_not_name(door: InProcess, workspace: str) -> None:
    note = Note(
        text="npm run deploy", scope="workspace:web", key="deploy-cmd", kind="note", tags=("ops",), importance=5
    )
    [written] = await door.services.records.put(caller("writer"), [note])
    row = await put(door.client, workspace, value="make ship")

    record = await door.services.records.get(caller("reader"), row["id"])
    assert row["id"] == written.record.id
    assert (record.kind, record.tags, record.importance, record.text) == ("note", ("ops",), 0, "make ship")


async def test_a_key_of_a_document_is_not_overwritten(door: InProcess, workspace: str) -> None:
    note = Note(text="The handbook", scope="workspace:web", key="deploy-cmd", kind="resource")
    await door.services.records.put(caller("writer"), [note])
    response = await door.client.post(workspace, json={"key": "deploy-cmd", "value": "make ship"})

    assert (response.status_code, response.json()["success"]) == (409, False)


# ---- partial update


@pytest.mark.parametrize(
    "change", [{"value": "make ship"}, {"source": "auto"}, {"pinned": True}, {"importance": 7}, {}]
)
async def test_a_patch_changes_what_it_names_and_nothing_else(
    client: httpx.AsyncClient, place: str, change: dict[str, object]
) -> None:
    row = await put(client, place, importance=3)
    response = await client.patch(f"{place}/{row['id']}", json=change)

    assert response.status_code == 200
    assert response.json()["data"] == {**row, **change, "updatedAt": response.json()["data"]["updatedAt"]}


async def test_a_patch_cannot_change_the_key(client: httpx.AsyncClient, place: str) -> None:
    row = await put(client, place)
    changed = await client.patch(f"{place}/{row['id']}", json={"key": "other", "value": "make ship"})

    assert (changed.json()["data"]["key"], changed.json()["data"]["value"]) == ("deploy-cmd", "make ship")


@pytest.mark.parametrize("change", [{"value": ""}, {"source": "x"}, {"pinned": 1}, {"importance": 101}, {"value": 4}])
async def test_a_patch_out_of_bounds_is_refused(
    client: httpx.AsyncClient, place: str, change: dict[str, object]
) -> None:
    row = await put(client, place)
    response = await client.patch(f"{place}/{row['id']}", json=change)

    assert response.status_code == 400
    assert (await client.get(place)).json()["data"] == [row]


@pytest.mark.parametrize("source", ["auto", "director"])
async def test_what_was_captured_can_be_changed_through_the_api(
    client: httpx.AsyncClient, place: str, source: str
) -> None:
    row = await put(client, place, source=source)
    changed = await client.patch(f"{place}/{row['id']}", json={"value": "make ship"})

    assert (changed.json()["data"]["value"], changed.json()["data"]["source"]) == ("make ship", source)


# ---- pin


@pytest.mark.parametrize("source", ["manual", "auto", "director"])
async def test_any_memory_can_be_pinned_and_unpinned(client: httpx.AsyncClient, place: str, source: str) -> None:
    row = await put(client, place, source=source)
    pinned = await client.patch(f"{place}/{row['id']}/pin", json={"pinned": True})
    again = await client.patch(f"{place}/{row['id']}/pin", json={"pinned": True})
    unpinned = await client.patch(f"{place}/{row['id']}/pin", json={"pinned": False})

    assert (pinned.json()["data"]["pinned"], unpinned.json()["data"]["pinned"]) == (True, False)
    assert again.json()["data"] == pinned.json()["data"]
    assert (pinned.json()["outcome"], again.json()["outcome"]) == ("updated", "unchanged")


@pytest.mark.parametrize("body", [{}, {"pinned": "true"}, {"pinned": None}])
async def test_a_pin_is_true_or_false(client: httpx.AsyncClient, agent: str, body: dict[str, object]) -> None:
    row = await put(client, agent)

    assert (await client.patch(f"{agent}/{row['id']}/pin", json=body)).status_code == 400


# ---- delete


async def test_deleting_answers_as_each_kind_does(client: httpx.AsyncClient, agent: str, workspace: str) -> None:
    mine, shared = await put(client, agent), await put(client, workspace)
    of_agent = await client.delete(f"{agent}/{mine['id']}")
    of_workspace = await client.delete(f"{workspace}/{shared['id']}")

    assert of_agent.json() == {"success": True, "data": {"deleted": True}}
    assert of_workspace.json() == {"success": True, "data": {"id": shared["id"]}}


@pytest.mark.parametrize("source", ["manual", "auto", "director"])
async def test_what_is_deleted_is_gone_from_this_door(client: httpx.AsyncClient, place: str, source: str) -> None:
    row = await put(client, place, source=source)
    path = f"{place}/{row['id']}"
    await client.delete(path)

    assert await keys(client, place) == []
    assert (await client.delete(path)).status_code == 404
    assert (await client.patch(path, json={"value": "v"})).status_code == 404
    assert (await client.patch(f"{path}/pin", json={"pinned": True})).status_code == 404


# ---- ids


@pytest.mark.parametrize("id", ["1", "not-a-uuid", "7f3e4a52", "7f3e4a52-53f1-4bb0-8a9c-0d7f2b9c1e1g"])
async def test_an_id_that_is_no_uuid_is_refused(client: httpx.AsyncClient, place: str, id: str) -> None:
    changed = await client.patch(f"{place}/{id}", json={"value": "v"})
    pinned = await client.patch(f"{place}/{id}/pin", json={"pinned": True})
    deleted = await client.delete(f"{place}/{id}")

    assert [one.status_code for one in (changed, pinned, deleted)] == [400, 400, 400]


async def test_a_memory_of_somebody_else_is_not_found(client: httpx.AsyncClient, agent: str, workspace: str) -> None:
    row = await put(client, agent)
    responses = [
        await client.patch(f"{workspace}/{row['id']}", json={"value": "v"}),
        await client.patch(f"{workspace}/{row['id']}/pin", json={"pinned": True}),
        await client.delete(f"{workspace}/{row['id']}"),
    ]

    assert [response.status_code for response in responses] == [404, 404, 404]
    assert (await client.get(agent)).json()["data"] == [row]


# ---- order


async def test_an_agents_memories_come_pinned_then_important_then_by_key(client: httpx.AsyncClient, agent: str) -> None:
    for key, importance, pinned in [("b", 5, False), ("a", 5, False), ("z", 1, True), ("y", 9, True), ("c", 90, False)]:
        await put(client, agent, key=key, importance=importance, pinned=pinned)

    assert await keys(client, agent) == ["y", "z", "c", "a", "b"]


async def test_a_workspaces_memories_come_pinned_then_important_then_newest(
    client: httpx.AsyncClient, workspace: str, clock: FakeClock
) -> None:
    for key, importance, pinned in [("a", 5, False), ("b", 5, False), ("z", 1, True), ("y", 9, True), ("c", 90, False)]:
        await put(client, workspace, key=key, importance=importance, pinned=pinned)
        clock.advance(timedelta(seconds=1))

    assert await keys(client, workspace) == ["y", "z", "c", "b", "a"]


async def test_no_row_is_left_out_of_a_long_list(door: InProcess, agent: str) -> None:
    for start in range(0, 1_200, 600):
        notes = [Note(text="v", scope="agent:notes", key=f"k{n:04}") for n in range(start, start + 600)]
        await door.services.records.put(caller("writer"), notes)

    assert await keys(door.client, agent) == [f"k{n:04}" for n in range(1_200)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"source": "manual"}, {"by-hand", "pinned"}),
        ({"source": "auto"}, {"learned"}),
        ({"source": "director"}, set[str]()),
        ({"pinned": "true"}, {"pinned"}),
        ({"pinned": "true", "source": "auto"}, set[str]()),
    ],
)
async def test_a_workspaces_list_can_be_narrowed(
    client: httpx.AsyncClient, workspace: str, query: dict[str, str], expected: set[str]
) -> None:
    await put(client, workspace, key="by-hand")
    await put(client, workspace, key="pinned", pinned=True)
    await put(client, workspace, key="learned", source="auto")

    assert set(await keys(client, workspace, **query)) == expected


async def test_a_source_nobody_knows_is_refused(client: httpx.AsyncClient, workspace: str) -> None:
    response = await client.get(workspace, params={"source": "robot"})

    assert (response.status_code, response.json()["success"]) == (400, False)


# ---- secrets


async def test_a_secret_is_taken_out_and_the_answer_says_so(client: httpx.AsyncClient, place: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    row = await put(client, place, value=f"The token is {secret}")

    assert row["redactions"] == 1
    assert secret not in (await client.get(place)).text


async def test_a_private_key_is_refused(client: httpx.AsyncClient, place: str) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
    response = await client.post(place, json={"key": "k", "value": key})

    assert (response.status_code, response.json()["success"]) == (422, False)
    assert "MIIEow" not in response.text
