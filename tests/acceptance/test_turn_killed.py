"""
A daemon is killed in the middle of a turn, at every moment of it. What it acknowledged is there, no tool ran twice, the model learns what was
cut off, and the session goes on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.agent.compaction import INTERRUPTED
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import until
from commonplace.testing.turns import AgentTalk, text_of
from commonplace.testing.vendor import Reply, Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@dataclass
class Place:
    """Where the daemon lives, and the folder that its agent works in."""

    home: Path
    folder: Path
    vendor: Vendor
    env: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.env = {
            "COMMONPLACE_EMBEDDER": "none",
            "COMMONPLACE_LLM_MODEL": "openai:small",
            "COMMONPLACE_LLM_BASE_URL": self.vendor.url,
            "COMMONPLACE_LLM_PRICE": "0.1/0.1",
            "COMMONPLACE_AGENT_LEARN": "false",
            "COMMONPLACE_AGENT_ALLOW_ALL": "true",
        }

    @property
    def lines(self) -> list[str]:
        """What tools have written."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[tuple[Daemon, AgentTalk]]:
        with running_daemon(self.home, env=self.env) as daemon:
            async with httpx.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=10.0) as http:
                yield daemon, AgentTalk(http)

    async def begin(self, talk: AgentTalk) -> str:
        """A session with an agent that asks nobody."""
        await talk.done("POST", "/v1/agents", json={"id": "bold", "name": "Bold", "profile": {"approval": "yolo"}})
        return await talk.begin(agent="bold", folder=str(self.folder))


@pytest.fixture
def place(tmp_path: Path, vendor: Vendor) -> Place:
    return Place(tmp_path / "home", tmp_path / "folder", vendor)


def shell(command: str) -> tuple[str, str]:
    return "shell", json.dumps({"command": command})


def script(number: int, moment: str) -> list[Reply]:
    """What the model says in the turn that is cut off. The tool writes a line that no other turn writes."""
    line = f"echo round-{number} >> log"
    if moment == "text":
        return [stream("Once upon ", hang=True)]
    if moment == "in the tool":
        # It ends by itself, long after the daemon that started it.
        return [stream("I begin.", calls=[shell(f"{line}; sleep 2")]), stream("Never.")]
    return [stream("I look.", calls=[shell(line)]), stream("All ", "done.")]


MOMENTS = (
    "acknowledged",
    "turn_started",
    "memory_recalled",
    "text",
    "tool_started",
    "in the tool",
    "tool_ended",
    "turn_ended",
    "memory_learned",
)


async def cut_off(
    place: Place, talk: AgentTalk, session: str, number: int, moment: str, kill: Callable[[], Any]
) -> str:
    """Say something, and kill the daemon at that moment of its answer. What was acknowledged."""
    place.vendor.replies = script(number, moment)
    text = f"Round {number}, until: {moment}."
    ticket = await talk.say(session, text)
    if moment == "in the tool":
        await until(lambda: f"round-{number}" in place.lines)
    elif moment != "acknowledged":
        await talk.hear(session, moment, last=ticket["last_event"], seconds=20)
    kill()
    return text


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_daemon_killed_at_any_moment_of_a_turn_loses_nothing_and_runs_no_tool_twice(place: Place) -> None:
    vendor, said, session = place.vendor, list[str](), ""
    messages, runs = list[dict[str, Any]](), list[Any]()
    for number, moment in enumerate((*MOMENTS, "")):
        async with place.served() as (daemon, talk):
            session = session or await place.begin(talk)
            vendor.replies = [stream(f"Fine {number}.")]
            checked = await talk.turn(session, f"Are you there, {number}?", seconds=20)
            said.append(f"Are you there, {number}?")
            assert text_of(checked) == f"Fine {number}.", moment
            if moment:
                said.append(await cut_off(place, talk, session, number, moment, daemon.process.kill))
                daemon.process.wait(timeout=5)
            else:
                messages = await talk.messages(session)
                runs = (await talk.done("GET", "/v1/runs?limit=200"))["runs"]

    # Nothing that was acknowledged is lost, and it stands in its order.
    assert [message["text"] for message in messages if message["role"] == "user"] == said
    # No tool ran twice; where its call was told, it ran.
    counts = {line: place.lines.count(line) for line in set(place.lines)}
    assert set(counts.values()) == {1}
    assert {f"round-{MOMENTS.index(moment)}" for moment in ("in the tool", "tool_ended", "turn_ended")} <= counts.keys()
    # Every call has one result at most, and the model was told of those that have none.
    calls = [message["call"] for message in messages if message["kind"] == "tool_call"]
    results = [message["call"] for message in messages if message["kind"] == "tool_result"]
    of_runs = [message["run"] for message in messages if message["kind"] == "tool_call"]
    assert len(of_runs) == len(set(of_runs))
    assert len(results) <= len(calls)
    told = [one["content"] for one in vendor.requests[-1]["messages"] if one["role"] == "tool"]
    assert len(told) == len(calls)
    assert sum(INTERRUPTED in one for one in told) == len(calls) - len(results) >= 1
    # The reply that was told whole is whole.
    replies = [message["text"] for message in messages if message["role"] == "assistant" and message["kind"] == "text"]
    assert replies.count("All done.") >= 2
    assert len(runs) >= len(MOMENTS)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_what_waited_when_a_daemon_was_killed_was_said_and_is_not_played(place: Place) -> None:
    place.vendor.replies = [stream("Once upon ", hang=True)]
    async with place.served() as (daemon, talk):
        session = await place.begin(talk)
        await talk.say(session, "first")
        # The first turn of a daemon loads the library for models.
        await talk.hear(session, "text", seconds=20)
        await talk.say(session, "second")
        await talk.say(session, "third")
        daemon.process.kill()
        daemon.process.wait(timeout=5)
    asked = len(place.vendor.requests)

    place.vendor.replies = [stream("Yes.")]
    async with place.served() as (_, talk):
        # Whoever only listens writes nothing.
        await talk.hear(session, "replay_complete")
        found = await talk.turn(session, "fourth", seconds=20)
        messages = await talk.messages(session)

    assert text_of(found) == "Yes."
    assert len(place.vendor.requests) == asked + 1
    said = [message["text"] for message in messages if message["role"] == "user"]
    assert said == ["first", "second", "third", "fourth"]


def running(mark: str) -> list[str]:
    """The command lines of all processes that have this word in them."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked at there")
async def test_a_cancel_stops_a_shell_and_all_its_children_within_two_seconds(place: Place) -> None:
    mark = "sleep 60.73"
    command = f"{mark}1 & setsid {mark}2 & nohup sh -c '{mark}3; true' & (trap '' TERM; {mark}4) & echo up >> log; wait; {mark}5"
    place.vendor.replies = [stream(calls=[shell(command)]), stream("Here.")]
    async with place.served() as (_, talk):
        session = await place.begin(talk)
        await talk.say(session, "Wait a minute.")
        await until(lambda: len([line for line in running(mark) if line.startswith("sleep")]) == 4, 20)

        # It answers when all is stopped, or after two seconds.
        answer = await talk.done("POST", f"/v1/sessions/{session}/cancel", json={})
        left = running(mark)
        place.vendor.replies = [stream("Here.")]
        later = await talk.turn(session, "Are you there?", seconds=20)
        told = [one["content"] for one in place.vendor.requests[-1]["messages"] if one["role"] == "tool"]

    assert answer == {"cancelled": True}
    assert left == []
    assert text_of(later) == "Here."
    assert [INTERRUPTED in one for one in told] == [True]
