"""
Several daemons on one store: one leads a channel, answers everybody once, and another takes it over when it is gone. What is asked of a room at a
daemon that does not lead it is refused with the address of the one that does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import until
from commonplace.testing.homeserver import ANA, BOB, TOKEN, Homeserver, homeserver
from commonplace.testing.vendor import Reply, Vendor, running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]
KEY = "a-token-that-all-know"
SECRET = "MATRIX_TOKEN_OF_THE_TESTS"
LEASE = "3"
PATIENCE = 40.0


@dataclass
class Node:
    """A daemon, and its operator's connection to it."""

    daemon: Daemon
    http: httpx.AsyncClient

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.http.request(method, path, json=body)
        assert answer.is_success, (path, answer.status_code, answer.text[:300])
        return answer.json() if answer.content else None

    async def status(self, holds: Callable[[dict[str, Any]], bool], channel: str = "team") -> dict[str, Any]:
        """How a channel is, once that is as it should be."""
        async with asyncio.timeout(PATIENCE):
            while True:
                status = await self.ask("GET", f"/v1/channels/{channel}")
                if holds(status):
                    return status
                await asyncio.sleep(0.05)

    async def messages(self, room: str) -> list[dict[str, Any]]:
        return (await self.ask("GET", f"/v1/channels/web/rooms/{room}/messages?limit=500"))["messages"]

    async def answers(self, room: str, message: str) -> list[str]:
        """What was answered to a message, once it is whole."""
        async with asyncio.timeout(PATIENCE):
            while True:
                messages = await self.messages(room)
                texts = [each["text"] for each in messages if each["data"].get("reply_to") == message]
                if texts and not any(text.endswith("…") for text in texts):
                    return texts
                await asyncio.sleep(0.05)


@dataclass
class Cluster:
    folder: Path
    store: str
    vendor: Vendor
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def node(self, name: str) -> Node:
        env = {
            "COMMONPLACE_TOKEN": KEY,
            "COMMONPLACE_STORE": self.store,
            "COMMONPLACE_EMBEDDER": "none",
            "COMMONPLACE_LLM_MODEL": "openai:small",
            "COMMONPLACE_LLM_BASE_URL": self.vendor.url,
            "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
            "COMMONPLACE_LLM_PRICE": "0.1/0.1",
            "COMMONPLACE_AGENT_LEARN": "false",
            "COMMONPLACE_AGENT_LEASE_SECONDS": LEASE,
            "COMMONPLACE_JOB_LEASE_SECONDS": "2",
            SECRET: TOKEN,
        }
        daemon = self.stack.enter_context(running_daemon(self.folder / name, env=env, patience=90))
        client = httpx.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=20.0)
        return Node(daemon, await self.stack.enter_async_context(client))


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture(params=["sqlite", "postgres"])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path, vendor: Vendor) -> AsyncGenerator[Cluster]:
    store = str(tmp_path / "memory.db") if request.param == "sqlite" else request.getfixturevalue("address")
    begun = Cluster(tmp_path, store, vendor)
    async with begun.stack:
        yield begun


@pytest.fixture
async def matrix() -> AsyncGenerator[Homeserver]:
    async with homeserver() as begun:
        begun.room()
        yield begun


def is_running(status: dict[str, Any]) -> bool:
    return status["running"]


def replies(server: Homeserver, message: str) -> list[str]:
    """The answers to a message that are whole."""
    return [
        content["body"]
        for content in server.said()
        if content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id") == message
        and not content["body"].endswith("…")
    ]


def one_each(server: Homeserver, messages: list[str]) -> bool:
    return all(replies(server, message) for message in messages)


async def test_of_two_daemons_one_answers_and_the_other_takes_over_when_it_is_killed(
    cluster: Cluster, matrix: Homeserver
) -> None:
    one, two = await cluster.node("one"), await cluster.node("two")
    settings = {
        "group_policy": "open",
        "senders": "open",
        "options": {"homeserver": matrix.url},
        "secrets": {"token": SECRET},
    }
    await one.ask("POST", "/v1/channels", {"name": "team", "kind": "matrix", "settings": settings})
    await until(lambda: "sync" in [call for call, _ in matrix.calls], PATIENCE)

    first = [matrix.say(f"Question {number}?", sender) for number in range(2) for sender in (ANA, BOB)]
    await until(lambda: one_each(matrix, first), PATIENCE)
    leaders = [(await node.ask("GET", "/v1/channels/team"))["running"] for node in (one, two)]
    open_gate = Event()
    asked = len(cluster.vendor.requests)
    cluster.vendor.replies = [Reply(body="", until=open_gate), stream("Done.")]
    second = [matrix.say("And now?", sender) for sender in (ANA, BOB)]
    await until(lambda: len(cluster.vendor.requests) > asked, PATIENCE)
    one.daemon.process.kill()
    open_gate.set()
    third = [matrix.say("Are you there?", sender) for sender in (ANA, BOB)]
    await two.status(is_running)
    await until(lambda: one_each(matrix, [*first, *second, *third]), PATIENCE)

    assert leaders == [True, False]
    assert [len(replies(matrix, message)) for message in [*first, *second, *third]] == [1] * 8
    assert {text for message in first for text in replies(matrix, message)} == {"Done."}
    assert replies(matrix, third[0]) == ["Done."]


async def test_a_channel_that_is_set_at_another_daemon_is_set_where_it_is_led(
    cluster: Cluster, matrix: Homeserver
) -> None:
    one, two = await cluster.node("one"), await cluster.node("two")
    settings = {"senders": "open", "options": {"homeserver": matrix.url}, "secrets": {"token": SECRET}}
    await one.ask("POST", "/v1/channels", {"name": "team", "kind": "matrix", "settings": settings})
    await one.status(is_running)
    status = await two.status(lambda status: status["leader"] is not None)

    refused = await two.http.post("/v1/channels/team/test", json={"chat": "!releases:home"})
    await two.ask("PATCH", "/v1/channels/team", {"settings": {"group_policy": "open"}})
    asked = matrix.say("Are you there?")
    async with asyncio.timeout(PATIENCE):
        while not replies(matrix, asked):
            asked = matrix.say("And now?")
            await asyncio.sleep(0.5)
    await two.ask("PATCH", "/v1/channels/team", {"enabled": False})
    stopped = await one.status(lambda status: not status["running"])

    assert status["leader"] == one.daemon.url
    assert (refused.status_code, refused.headers["X-Commonplace-Owner"]) == (421, one.daemon.url)
    assert (stopped["channel"]["enabled"], stopped["leader"]) == (False, None)


async def test_a_room_of_the_web_is_where_its_channel_is_led_and_loses_nothing_when_that_is_killed(
    cluster: Cluster,
) -> None:
    one, two = await cluster.node("one"), await cluster.node("two")
    await one.ask("POST", "/v1/channels/web/rooms", {"title": "Releases", "id": "releases"})
    path, body = "/v1/channels/web/rooms/releases/messages", {"text": "When?", "mention": True}
    first = (await one.ask("POST", path, body))["id"]
    answered = await one.answers("releases", first)

    refused = [
        await two.http.post(path, json=body),
        await two.http.get("/v1/channels/web/rooms/releases/events"),
        await two.http.post("/v1/channels/web/rooms/releases/typing", json={"active": True}),
    ]
    open_gate, asked = Event(), len(cluster.vendor.requests)
    cluster.vendor.replies = [Reply(body="", until=open_gate), stream("Yes.")]
    second = (await one.ask("POST", path, body))["id"]
    third = (await one.ask("POST", path, body))["id"]
    await until(lambda: len(cluster.vendor.requests) > asked, PATIENCE)
    one.daemon.process.kill()
    open_gate.set()
    rest = [await two.answers("releases", message) for message in (second, third)]
    last = (await two.ask("POST", path, body))["id"]

    assert answered == ["Done."]
    assert {answer.status_code for answer in refused} == {421}
    assert {answer.json()["error"]["code"] for answer in refused} == {"session_elsewhere"}
    assert {answer.headers["X-Commonplace-Owner"] for answer in refused} == {one.daemon.url}
    assert await two.answers("releases", last) == ["Yes."]
    assert [len(texts) for texts in rest] == [1, 1]
    assert [len(await two.answers("releases", message)) for message in (first, second, third)] == [1, 1, 1]


async def played(node: Node, count: int) -> list[dict[str, Any]]:
    """The schedules, once all were."""
    async with asyncio.timeout(PATIENCE):
        while True:
            rows = (await node.ask("GET", "/v1/schedules"))["schedules"]
            if sum(row["last"] is not None for row in rows) == count:
                return rows
            await asyncio.sleep(0.1)


async def test_what_is_due_in_rooms_is_played_once_whichever_daemon_takes_its_job(cluster: Cluster) -> None:
    one, two = await cluster.node("one"), await cluster.node("two")
    await one.ask("POST", "/v1/channels/web/rooms", {"title": "Releases", "id": "releases"})
    message = {"text": "When?", "mention": True}
    await one.answers("releases", (await one.ask("POST", "/v1/channels/web/rooms/releases/messages", message))["id"])
    due = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    for number in range(6):
        schedule = {"target": "channel/web/releases", "at": due, "prompt": "what is open?", "label": f"{number}"}
        await two.ask("POST", "/v1/schedules", schedule)

    rows = await played(two, 6)

    texts = [each["text"] for each in await two.messages("releases") if each["text"].startswith("[Scheduled task")]
    assert ({row["last"]["status"] for row in rows}, {row["fires"] for row in rows}) == ({"ok"}, {1})
    assert sorted(text.split('"')[1] for text in texts) == [f"{number}" for number in range(6)]
