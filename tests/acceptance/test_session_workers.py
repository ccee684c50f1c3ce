"""
Sessions of a daemon with several workers, and of several daemons on one store: one process leads a session, requests reach it from
everywhere, and another one takes over if it is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Semaphore
from typing import Any

import httpx
import pytest

from commonplace.agent.compaction import INTERRUPTED
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import until
from commonplace.testing.turns import AgentTalk, text_of
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]
TOKEN = "a-token-that-all-know"
LEASE = "2"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@dataclass
class Place:
    """Where daemons live, and the folder that their agents work in."""

    root: Path
    vendor: Vendor
    store: str = ""
    folder: Path = field(init=False)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self.folder = self.root / "folder"
        self.folder.mkdir()
        self.store = self.store or str(self.root / "memory.db")

    def daemon(self, *args: str, home: str = "home") -> Daemon:
        env = {
            "COMMONPLACE_TOKEN": TOKEN,
            "COMMONPLACE_STORE": self.store,
            "COMMONPLACE_EMBEDDER": "none",
            "COMMONPLACE_LLM_MODEL": "openai:small",
            "COMMONPLACE_LLM_BASE_URL": self.vendor.url,
            "COMMONPLACE_LLM_PRICE": "0.1/0.1",
            "COMMONPLACE_AGENT_LEARN": "false",
            "COMMONPLACE_AGENT_ALLOW_ALL": "true",
            "COMMONPLACE_AGENT_LEASE_SECONDS": LEASE,
        }
        return self.stack.enter_context(running_daemon(self.root / home, *args, env=env, patience=90))

    async def talk(self, daemon: Daemon) -> AgentTalk:
        """Over a connection of its own, which stays with the worker that it came to."""
        client = httpx.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=20.0)
        return AgentTalk(await self.stack.enter_async_context(client))

    async def begin(self, talk: AgentTalk) -> str:
        """A session with an agent that asks nobody."""
        await talk.done("POST", "/v1/agents", json={"id": "bold", "name": "Bold", "profile": {"approval": "yolo"}})
        return await talk.begin(agent="bold", folder=str(self.folder))

    @property
    def lines(self) -> list[str]:
        """What tools have written."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@asynccontextmanager
async def opened(place: Place) -> AsyncGenerator[Place]:
    async with place.stack:
        yield place


@pytest.fixture
async def place(tmp_path: Path, vendor: Vendor) -> AsyncGenerator[Place]:
    async with opened(Place(tmp_path, vendor)) as begun:
        yield begun


def leader(place: Place, session: str) -> int | None:
    """The id of the process that leads a session of a SQLite store."""
    with sqlite3.connect(place.store) as db:
        row = db.execute("SELECT process FROM session_leases WHERE session = ?", (session,)).fetchone()
    return int(row[0].split(":")[1]) if row else None


async def passed_on(talk: AgentTalk) -> float:
    page = (await talk.http.get("/metrics")).text
    [line] = [line for line in page.splitlines() if line.startswith("commonplace_requests_passed_on_total")]
    return float(line.split()[1])


def shell(command: str) -> tuple[str, str]:
    return "shell", json.dumps({"command": command})


def users(messages: list[dict[str, Any]]) -> list[str]:
    return [message["text"] for message in messages if message["role"] == "user"]


async def test_a_session_is_used_and_heard_through_every_worker(place: Place) -> None:
    daemon = place.daemon("--workers", "2")
    talks = [await place.talk(daemon) for _ in range(8)]
    session = await place.begin(talks[0])
    await talks[0].turn(session, "first", seconds=30)
    last = (await talks[0].say(session, "second"))["last_event"]

    heard = await asyncio.gather(*(talk.hear(session, "memory_learned", last=last, seconds=20) for talk in talks))
    for number, talk in enumerate(talks):
        await talk.turn(session, f"turn {number}", seconds=20)
    states = [await talk.done("GET", f"/v1/sessions/{session}/state") for talk in talks]
    none = [await talk.http.post("/v1/sessions/none/turns", json={"text": "Hi"}) for talk in talks]

    assert [text_of(events) for events in heard] == ["Done."] * 8
    # Where the past ends and the present begins is another place for each.
    assert len({tuple((frame.id, frame.type) for frame in events if frame.id) for events in heard}) == 1
    assert users(await talks[1].messages(session)) == ["first", "second", *(f"turn {number}" for number in range(8))]
    assert {state["session"] for state in states} == {session}
    assert {answer.status_code for answer in none} == {404}
    assert await passed_on(talks[0]) > 0


async def test_a_worker_killed_in_a_turn_loses_nothing_and_another_goes_on(place: Place) -> None:
    daemon = place.daemon("--workers", "2")
    first, second = await place.talk(daemon), await place.talk(daemon)
    session = await place.begin(first)
    place.vendor.replies = [stream("I begin.", calls=[shell("echo once >> log; sleep 2")]), stream("Never.")]
    await first.say(session, "Do it.")
    await until(lambda: place.lines == ["once"], 40)
    await first.say(session, "And then?")
    place.vendor.replies = [stream("Yes.")]
    pid = leader(place, session)
    assert pid is not None

    os.kill(pid, signal.SIGKILL)
    third = await place.talk(daemon)
    events = await third.turn(session, "Are you there?", seconds=40)
    messages = await third.messages(session)

    assert text_of(events) == "Yes."
    assert leader(place, session) not in (pid, None)
    assert users(messages) == ["Do it.", "And then?", "Are you there?"]
    assert place.lines == ["once"]
    # The model learns that its call was cut off, and nothing runs it again.
    told = [one["content"] for one in place.vendor.requests[-1]["messages"] if one["role"] == "tool"]
    assert len(told) == 1
    assert INTERRUPTED in told[0]
    assert await second.messages(session) == messages


async def refused(talk: AgentTalk, session: str) -> httpx.Response:
    return await talk.http.post(f"/v1/sessions/{session}/turns", json={"text": "Not here."})


async def taken_over(talk: AgentTalk, session: str, text: str) -> dict[str, Any]:
    """Say it as soon as the daemon may."""
    async with asyncio.timeout(40):
        while True:
            answer = await talk.http.post(f"/v1/sessions/{session}/turns", json={"text": text})
            if answer.status_code == 202:
                return answer.json()
            assert answer.status_code == 421, answer.text
            await asyncio.sleep(0.1)


@pytest.fixture
async def cluster(tmp_path: Path, vendor: Vendor, address: str) -> AsyncGenerator[Place]:
    async with opened(Place(tmp_path, vendor, address)) as begun:
        yield begun


async def test_of_daemons_on_one_store_one_leads_a_session_until_it_is_gone(cluster: Place) -> None:
    daemons = [cluster.daemon(), cluster.daemon(), cluster.daemon(home="elsewhere")]
    one, two, three = [await cluster.talk(daemon) for daemon in daemons]
    gate = Semaphore(0)
    session = await cluster.begin(one)
    # The pieces that are held back end with a call.
    cluster.vendor.replies = [stream("I ", "begin.", calls=[shell("echo late >> log")], gate=gate), stream("Done.")]
    ticket = await one.say(session, "first")
    await one.hear(session, "text", last=ticket["last_event"], seconds=40)

    answers = [await refused(talk, session) for talk in (two, three)]
    daemons[0].process.send_signal(signal.SIGSTOP)
    asked = len(cluster.vendor.requests)
    cluster.vendor.replies = [stream("Yes.")]
    await taken_over(two, session, "second")
    await two.hear(session, "memory_learned", seconds=40)
    daemons[0].process.send_signal(signal.SIGCONT)
    gate.release(100)
    back = await refused(one, session)
    await one.http.get("/ready")

    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in answers] == [
        (421, "session_elsewhere")
    ] * 2
    assert {answer.headers["X-Commonplace-Owner"] for answer in answers} == {daemons[0].url}
    assert {answer.json()["error"]["details"]["owner"] for answer in answers} == {daemons[0].url}
    assert (back.status_code, back.headers["X-Commonplace-Owner"]) == (421, daemons[1].url)
    messages = await two.messages(session)
    assert users(messages) == ["first", "second"]
    assert [message for message in messages if message["kind"] == "tool_call"] == []

    # Whoever has another home goes on with the session, and has not got what its turns left in files.
    daemons[1].process.kill()
    ticket = await taken_over(three, session, "third")
    await three.hear(session, "memory_learned", seconds=40)
    here, there = await three.http.get(f"/v1/runs/{ticket['run']}"), await one.http.get(f"/v1/runs/{ticket['run']}")
    assert users(await one.messages(session)) == ["first", "second", "third"]
    assert (here.status_code, there.status_code) == (200, 409)
    assert there.json()["error"]["code"] == "runs_unavailable"
    assert cluster.lines == []
    assert len(cluster.vendor.requests) == asked + 2
