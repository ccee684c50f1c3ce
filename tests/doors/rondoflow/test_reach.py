"""Who may, what is written down of it, and the same record at another door."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

import httpx
import pytest

from commonplace.doors.rondoflow.use_cases import CapturedFact, KeyedMemories
from commonplace.errors import Forbidden
from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.note import Note
from commonplace.values.record import Turn
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio

Entered: TypeAlias = Callable[..., Awaitable[dict[str, str]]]


async def audit(door: InProcess, *actions: str) -> list[AuditRow]:
    """Oldest first."""
    page = await door.services.desk.store.journal.audit("default/default", AuditQuery(actions=actions), 100, None)
    return list(reversed(page.rows))


# ---- other doors


async def test_a_memory_is_a_record_at_the_native_door(house: InProcess) -> None:
    client = house.client
    await client.post("/api/workspaces", json={"name": "Web", "id": "web"})
    body = {"key": "stack", "value": "FastAPI on uvicorn"}
    row = (await client.post("/api/workspaces/web/memories", json=body)).json()["data"]
    record = (await client.get(f"/v1/records/{row['id']}")).json()
    found = (await client.post("/v1/search", json={"text": "fastapi", "scopes": ["workspace:web"]})).json()

    assert (record["scope"], record["kind"], record["key"]) == ("workspace:web", "fact", "stack")
    assert (record["visibility"], record["text"]) == ("shared", "FastAPI on uvicorn")
    assert [hit["record"]["id"] for hit in found["hits"]] == [row["id"]]


async def test_a_record_without_a_key_goes_by_its_id(door: InProcess, workspace: str) -> None:
    [written] = await door.services.records.put(caller("writer"), [Note(text="No key", scope="workspace:web")])
    [row] = (await door.client.get(workspace)).json()["data"]
    path = f"{workspace}/{written.record.id}"
    changed = (await door.client.patch(path, json={"value": "Still none"})).json()["data"]

    assert (row["id"], row["key"]) == (written.record.id, f"record:{written.record.id}")
    assert (changed["key"], changed["value"]) == (row["key"], "Still none")


async def test_records_without_a_key_are_in_the_order_of_the_keys_shown(door: InProcess, agent: str) -> None:
    notes = [Note(text="a", scope="agent:notes", key=key) for key in ("a", None, "zebra")]
    await door.services.records.put(caller("writer"), notes)

    keys = [row["key"] for row in (await door.client.get(agent)).json()["data"]]
    assert keys == sorted(keys)
    assert len(keys) == 3


@pytest.mark.parametrize("source", ["file", "agent", "turn"])
async def test_a_source_this_door_has_no_word_for_is_shown_as_auto(
    door: InProcess, workspace: str, source: str
) -> None:
    await door.services.records.put(caller("writer"), [Note(text="x", scope="workspace:web", source=source)])
    listed = (await door.client.get(workspace, params={"source": "auto"})).json()["data"]

    assert [row["source"] for row in listed] == ["auto"]


async def test_turns_and_documents_are_no_memories_here(door: InProcess, workspace: str) -> None:
    writer = caller("writer")
    [document] = await door.services.records.put(writer, [Note(text="d", scope="workspace:web", kind="resource")])
    telling = TurnOptions(session="standup", scope="workspace:web")
    await door.services.records.add_turns(writer, telling, [Turn(speaker="ana", text="Hi")])
    changed = await door.client.patch(f"{workspace}/{document.record.id}", json={"value": "x"})

    assert (await door.client.get(workspace)).json()["data"] == []
    assert changed.status_code == 404


# ---- who may


async def test_a_reader_lists_and_changes_nothing(client: httpx.AsyncClient, key: Entered, agent: str) -> None:
    row = (await client.post(agent, json={"key": "k", "value": "v"})).json()["data"]
    reader = await key("reader")
    path = f"{agent}/{row['id']}"
    refused = [
        await client.post("/api/agents", json={"name": "x"}, headers=reader),
        await client.patch("/api/agents/notes", json={"name": "x"}, headers=reader),
        await client.delete("/api/agents/notes", headers=reader),
        await client.post(agent, json={"key": "k", "value": "w"}, headers=reader),
        await client.patch(path, json={"value": "w"}, headers=reader),
        await client.patch(f"{path}/pin", json={"pinned": True}, headers=reader),
        await client.delete(path, headers=reader),
    ]

    assert [response.status_code for response in refused] == [403] * 7
    assert (await client.get(agent, headers=reader)).json()["data"] == [row]


async def test_a_writer_does_all_of_it(client: httpx.AsyncClient, key: Entered) -> None:
    writer = await key("writer")
    made = await client.post("/api/workspaces", json={"name": "Web", "id": "web"}, headers=writer)
    row = await client.post("/api/workspaces/web/memories", json={"key": "k", "value": "v"}, headers=writer)
    renamed = await client.patch("/api/workspaces/web", json={"name": "Site"}, headers=writer)
    removed = await client.delete("/api/workspaces/web", headers=writer)

    assert [one.status_code for one in (made, row, renamed, removed)] == [201, 201, 200, 200]


async def test_a_key_for_one_workspace_sees_no_other(client: httpx.AsyncClient, key: Entered, workspace: str) -> None:
    await client.post("/api/workspaces", json={"name": "App", "id": "app"})
    await client.post("/api/workspaces/app/memories", json={"key": "k", "value": "hidden"})
    mine = await key("writer", "workspace:web")
    refused = [
        await client.get("/api/workspaces/app", headers=mine),
        await client.get("/api/workspaces/app/memories", headers=mine),
        await client.get("/api/workspaces/nobody/memories", headers=mine),
        await client.post("/api/workspaces/app/memories", json={"key": "k", "value": "v"}, headers=mine),
        await client.post("/api/workspaces", json={"name": "New"}, headers=mine),
        await client.delete("/api/workspaces/app", headers=mine),
    ]

    assert [response.status_code for response in refused] == [403] * 6
    assert [row["id"] for row in (await client.get("/api/workspaces", headers=mine)).json()["data"]] == ["web"]


async def test_a_record_of_another_scope_is_not_found_by_its_id(
    client: httpx.AsyncClient, key: Entered, agent: str, workspace: str
) -> None:
    hidden = (await client.post(agent, json={"key": "k", "value": "v"})).json()["data"]
    mine = await key("writer", "workspace:web")
    response = await client.delete(f"{workspace}/{hidden['id']}", headers=mine)

    assert response.status_code == 404


async def test_the_audit_of_a_place_tells_of_no_record_of_another_that_somebody_named_there(
    door: InProcess, key: Entered, agent: str, workspace: str
) -> None:
    client, writer, reviewer = door.client, await key("writer", "workspace:web"), await key("reviewer", "workspace:web")
    hidden = (await client.post(agent, json={"key": "k", "value": "v"})).json()["data"]["id"]
    absent = "01890000-0000-7000-8000-000000000000"
    for id in (hidden, absent):
        for who in (writer, reviewer):
            assert (await client.delete(f"{workspace}/{id}", headers=who)).status_code == 404
    keys = await door.services.desk.store.keys.list_keys("default/default")
    [id] = [key.id for key in keys if key.role == "reviewer"]
    scoped = replace(caller("reviewer", "workspace:web"), key=id)

    rows = (await door.services.keeping.audit(scoped, AuditQuery(actions=("record.delete",)))).rows

    assert [(row.actor, row.outcome, row.scope) for row in rows if row.record == hidden] == [
        ("reviewer", "not_found", None)
    ]
    assert {row.outcome for row in rows} == {"not_found"}


async def test_another_tenant_sees_nothing_of_this_one(client: httpx.AsyncClient, key: Entered, agent: str) -> None:
    await client.post(agent, json={"key": "k", "value": "v"})
    other = await key("admin", tenant="acme/web")

    assert (await client.get("/api/agents", headers=other)).json()["data"] == []
    assert (await client.get(agent, headers=other)).status_code == 404
    assert (await client.post("/api/agents", json={"name": "x", "id": "notes"}, headers=other)).status_code == 201


async def test_nobody_enters_without_a_key(door: InProcess, agent: str) -> None:
    response = await door.stranger.get(agent)

    assert (response.status_code, response.json()["success"]) == (401, False)


# ---- what is written down


async def test_every_write_leaves_its_row_and_its_event(door: InProcess, agent: str) -> None:
    client, store = door.client, door.services.desk.store
    row = (await client.post(agent, json={"key": "k", "value": "the words of it"})).json()["data"]
    path = f"{agent}/{row['id']}"
    await client.patch(path, json={"value": "other words"})
    await client.patch(f"{path}/pin", json={"pinned": True})
    await client.delete(path)
    await client.patch("/api/agents/notes", json={"name": "Other"})
    await client.delete("/api/agents/notes")

    rows = await audit(door)
    events = await store.events.read_events(0, 100)
    assert [(one.action, one.outcome, one.door) for one in rows] == [
        ("owner.create", "ok", "keyed"),
        ("record.put", "ok", "keyed"),
        ("record.edit", "ok", "keyed"),
        ("record.pin", "ok", "keyed"),
        ("record.delete", "ok", "keyed"),
        ("owner.change", "ok", "keyed"),
        ("owner.remove", "ok", "keyed"),
    ]
    assert [event.news.type for event in events] == [
        "owner.created",
        "record.created",
        "record.updated",
        "record.pinned",
        "record.deleted",
        "owner.changed",
        "owner.removed",
    ]
    assert {str(event.news.scope) for event in events} == {"agent:notes"}
    assert "words" not in json.dumps([dict(one.details) for one in rows])


async def test_writing_the_same_again_is_told_as_unchanged(door: InProcess, agent: str) -> None:
    for _ in range(2):
        await door.client.post(agent, json={"key": "k", "value": "v"})

    assert [row.outcome for row in await audit(door, "record.put")] == ["ok", "unchanged"]


async def test_a_refusal_is_written_down(door: InProcess, key: Entered, agent: str) -> None:
    reader = await key("reader", "workspace:web")
    await door.client.get(agent, headers=reader)

    [row] = await audit(door, "record.list")
    assert (row.outcome, str(row.scope)) == ("denied", "agent:notes")


# ---- what is learned


def learned(value: str, **fields: Any) -> list[CapturedFact]:
    return [CapturedFact(key="auto:deploy", value=value, **fields)]


async def test_what_is_learned_is_cut_to_2000_characters(door: InProcess, agent: str) -> None:
    [written] = await door.use_case(KeyedMemories).upsert_captured(
        caller("writer"), "agent", "notes", learned("v" * 3_000)
    )

    assert (len(written.record.text), written.record.source) == (2_000, "auto")


async def test_what_is_learned_keeps_the_pin_and_the_importance(door: InProcess, agent: str) -> None:
    body = {"key": "auto:deploy", "value": "npm run deploy", "source": "auto", "pinned": True, "importance": 70}
    row = (await door.client.post(agent, json=body)).json()["data"]
    [written] = await door.use_case(KeyedMemories).upsert_captured(
        caller("writer"), "agent", "notes", learned("make ship")
    )

    record = written.record
    assert (record.id, record.text, record.pinned, record.importance) == (row["id"], "make ship", True, 70)


async def test_learning_the_same_again_writes_nothing(door: InProcess, agent: str) -> None:
    memories, writer = door.use_case(KeyedMemories), caller("writer")
    first = await memories.upsert_captured(writer, "agent", "notes", learned("make ship"))
    second = await memories.upsert_captured(writer, "agent", "notes", learned("make ship"))

    assert (len(first), second) == (1, [])


async def test_what_a_person_wrote_is_not_overruled_by_what_was_learned(door: InProcess, agent: str) -> None:
    await door.client.post(agent, json={"key": "auto:deploy", "value": "By hand"})
    written = await door.use_case(KeyedMemories).upsert_captured(
        caller("writer"), "agent", "notes", learned("make ship")
    )

    assert written == []
    assert (await door.client.get(agent)).json()["data"][0]["value"] == "By hand"


async def test_what_was_deleted_is_not_learned_again(door: InProcess, agent: str) -> None:
    memories, writer = door.use_case(KeyedMemories), caller("writer")
    [first] = await memories.upsert_captured(writer, "agent", "notes", learned("Deploy with make ship"))
    await door.client.delete(f"{agent}/{first.record.id}")
    again = await memories.upsert_captured(writer, "agent", "notes", learned("Deploy with make ship"))
    news = await memories.upsert_captured(writer, "agent", "notes", learned("Pushing to main releases by itself"))

    assert again == []
    assert [one.record.id for one in news] == [first.record.id]


async def test_what_is_learned_is_refused_out_of_reach(door: InProcess, agent: str) -> None:
    with pytest.raises(Forbidden):
        await door.use_case(KeyedMemories).upsert_captured(
            caller("writer", "workspace:web"), "agent", "notes", learned("v")
        )
