"""Forget and dream beside remember: one line for all, room for each, and what they answer."""

import asyncio
from typing import Any

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.errors import ModelTimeout, QueueFull
from commonplace.testing.daemon import TOKEN
from commonplace.testing.lanes import MemoryDesk
from commonplace.testing.models import ScriptedModel

pytestmark = pytest.mark.anyio


async def test_what_fits_is_forgotten_and_told(desk: MemoryDesk) -> None:
    async with desk.working():
        await desk.done("remember", {"content": "I prefer dark mode in all editors"})
        await desk.done("remember", {"content": "The project ships on Fridays"})
        body = await desk.done("forget", {"query": "dark mode"}, "web-1")

    [entry] = body["result"].pop("removedEntries")
    assert body["taskId"].startswith("forget-")
    assert "contextMode" not in body
    assert (entry["topic"], desk.entries()) == ("user", ["project/the-project-ships-on-fridays.md"])
    assert (body["result"]["touchedTopics"], body["result"]["touchedScopes"]) == (["user"], ["user"])
    sources = [(data["source"], client) for data, client in await desk.events("memory_changed")]
    assert sources[-1] == ("workspace_memory_forget", "web-1")
    found = (await desk.client.get("/v1/records")).json()["records"]
    assert [record["text"] for record in found] == ["The project ships on Fridays"]


async def test_a_model_chooses_what_is_forgotten_and_rules_do_where_it_takes_too_long(desk: MemoryDesk) -> None:
    async with desk.working():
        await desk.done("remember", {"content": "I prefer dark mode in all editors"})
        await desk.done("remember", {"content": "I prefer green tea in the morning", "contextMode": "clean"})
    green = next(entry for entry in desk.entries() if "green" in entry)

    async with desk.working(ScriptedModel({"paths": [f"user:{green}", "user:../out.md"]}, ModelTimeout())):
        chosen = await desk.done("forget", {"query": "what I drink"})
        ruled = await desk.done("forget", {"query": "dark mode"})

    assert (chosen["result"]["method"], len(chosen["result"]["removedEntries"])) == ("model", 1)
    assert (ruled["result"]["method"], len(ruled["result"]["removedEntries"])) == ("rules", 1)
    assert desk.entries() == []


async def test_entries_that_say_the_same_become_one_in_a_dream(desk: MemoryDesk) -> None:
    fact = "The project ships its releases on Fridays after the tests have passed"
    async with desk.working():
        for _ in range(2):
            await desk.done("remember", {"content": fact, "contextMode": "clean"})
        before = desk.entries()
        body = await desk.done("dream", {})

    assert (len(before), len(desk.entries())) == (2, 1)
    assert body["taskId"].startswith("dream-")
    assert (body["result"]["dedupedEntries"], body["result"]["touchedTopics"]) == (1, ["project"])


@pytest.mark.parametrize("body", [None, [], {}, {"query": "  "}, {"query": 3}, {"query": "x" * 65_537}])
async def test_a_query_that_says_nothing_or_too_much_is_refused(desk: MemoryDesk, body: Any) -> None:
    refused = await desk.post("forget", body)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_query")


@pytest.mark.parametrize("kind", ["remember", "forget"])
async def test_a_scope_that_is_none_is_refused(desk: MemoryDesk, kind: str) -> None:
    refused = await desk.post(kind, {"content": "A fact", "query": "a fact", "scope": "channel"})

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_scope")


async def test_eight_that_forget_or_dream_leave_room_for_what_is_to_be_remembered(desk: MemoryDesk) -> None:
    for number in range(4):
        await desk.queued("forget", {"query": f"thing {number}"})
        await desk.queued("dream")

    refused = [(await desk.post("forget", {"query": "more"})), (await desk.post("dream"))]
    room = [(await desk.post("remember", {"content": f"Fact {number}"})).status_code for number in range(9)]

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(429, "remember_queue_full")] * 2
    assert room == [202] * 8 + [429]


async def test_a_full_queue_has_its_own_code_at_this_door_and_the_general_one_under_v1(desk: MemoryDesk) -> None:
    for number in range(8):
        await desk.queued("forget", {"query": f"thing {number}"})
        await desk.queued("remember", {"content": f"Fact {number}"})

    here = [await desk.post(kind, {"content": "A fact", "query": "a fact"}) for kind in ("remember", "forget", "dream")]
    there = [
        await desk.client.post("/v1/remember", json={"content": "A fact"}),
        await desk.client.post("/v1/forget", json={"query": "a fact"}),
        await desk.client.post("/v1/dream"),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in here] == [(429, "remember_queue_full")] * 3
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in there] == [(429, "queue_full")] * 3
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in (*here, *there))


async def test_a_client_is_told_that_the_queue_is_full(desk: MemoryDesk) -> None:
    for number in range(8):
        await desk.queued("forget", {"query": f"thing {number}"})

    transport = httpx.ASGITransport(app=desk.running.app)
    async with AsyncClient("http://127.0.0.1", TOKEN, transport=transport) as client:
        with pytest.raises(QueueFull) as refused:
            await client.dream_workspace_memory()

    assert type(refused.value) is QueueFull


async def test_the_tasks_of_a_workspace_are_done_one_at_a_time_whatever_they_are(desk: MemoryDesk) -> None:
    at_once, most = 0, 0

    async def slowly(tools: Any) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1
        return "Done."

    async with desk.working(ScriptedModel(*[slowly] * 12)), desk.working(ScriptedModel(*[slowly] * 12)):
        tasks = [("remember", await desk.queued("remember", {"content": f"Fact {number}"})) for number in range(6)]
        tasks += [("dream", await desk.queued("dream")) for _ in range(2)]
        ended = [(await desk.over(kind, id))["status"] for kind, id in tasks]

    assert ended == ["completed"] * 8
    assert most == 1


@pytest.mark.parametrize(("kind", "name"), [("remember", "content"), ("forget", "query")])
@pytest.mark.parametrize("letter", ["x", "é", "世"])
async def test_exactly_64_kib_of_utf_8_are_taken_and_one_byte_more_is_not(
    desk: MemoryDesk, kind: str, name: str, letter: str
) -> None:
    size = len(letter.encode())
    most = letter * (65_536 // size) + "y" * (65_536 % size)

    taken = await desk.post(kind, {name: most})
    refused = await desk.post(kind, {name: most + "y"})

    assert len(most.encode()) == 65_536
    assert taken.status_code == 202
    assert (refused.status_code, refused.json()["code"]) == (400, f"invalid_{name}")
