"""A hosted agent from the settings, and what it has of our memory: over MCP, in the reach of who speaks, by an agent's hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.local_agent import LocalAgent
from commonplace.compose.agents import live_sessions
from commonplace.compose.services import ComposeOptions, composed
from commonplace.service.local import LocalMemory
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.testing.agents import WHO
from commonplace.testing.host_bench import CHILD
from commonplace.values.principal import Principal
from commonplace.values.scope import Scope
from commonplace.values.turn_event import MemoryLearned, TurnEnded, TurnFailed

pytestmark = pytest.mark.anyio
ANA = Principal(subject="ana", tenant=WHO.tenant, role="writer")


@dataclass
class House:
    """A daemon's sessions without the daemon, whose agent plays a script."""

    services: Services
    sessions: LiveSessions
    folder: Path

    def memory(self, who: Principal = WHO) -> LocalMemory:
        return LocalMemory(self.services, who)

    async def turn(self, who: Principal, session: str, text: str) -> TurnEnded | TurnFailed:
        agent = LocalAgent(self.sessions, who)
        ticket = await agent.say(session, text)
        end: TurnEnded | TurnFailed | None = None
        async with asyncio.timeout(20):
            async for heard in agent.hear(session, after=ticket.last_event):
                if isinstance(heard.event, TurnEnded | TurnFailed):
                    end = heard.event
                if isinstance(heard.event, MemoryLearned | TurnFailed):
                    break
        assert end is not None
        return end

    def heard(self, name: str) -> list[Any]:
        lines = (self.folder / "heard.jsonl").read_text().splitlines()
        messages: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [message[name] for message in messages if name in message]


@asynccontextmanager
async def house(folder: Path, *turns: list[dict[str, Any]], **more: Any) -> AsyncGenerator[House]:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": list(turns), "log": str(folder / "heard.jsonl")}))
    command = ("python", "-I", "-S", str(CHILD), str(script))
    settings = Settings(home=folder / "home", embedder="none", agent_command=command, agent_learn=False, **more)
    async with (
        composed(settings, ComposeOptions()) as services,
        live_sessions(settings, services) as sessions,
    ):
        yield House(services, sessions, folder)


def store(text: str, **more: Any) -> dict[str, Any]:
    return {"memory": {"name": "memory_store", "arguments": {"content": text, **more}}}


async def test_what_it_stores_is_the_models_word_in_the_reach_of_the_person(tmp_path: Path) -> None:
    async with house(tmp_path, [store("The gate is green."), {"text": "Kept."}]) as home:
        session = await home.memory().create_session("assistant", workspace="web")

        end = await home.turn(WHO, session.id, "Keep that the gate is green.")
        page = await home.memory().list()

    assert isinstance(end, TurnEnded), end
    [record] = [record for record in page.records if record.text == "The gate is green."]
    assert (record.trust, record.scope) == ("model_generated", Scope("user", "local"))


async def test_a_person_whom_the_operator_let_in_reaches_no_more_than_before(tmp_path: Path) -> None:
    secret = {"memory": {"name": "memory_search", "arguments": {"query": "Where is the spare key?"}}}
    async with house(tmp_path, [secret, {"text": "No."}], agent_command_users="writers") as home:
        await home.memory().put("The spare key is under the mat.", scope="user:local")
        session = await home.memory(ANA).create_session("assistant")

        end = await home.turn(ANA, session.id, "Where is the spare key?")

    assert isinstance(end, TurnEnded), end
    [answer] = home.heard("memory")
    assert "mat" not in json.dumps(answer)


async def test_between_turns_its_tools_are_listed_and_none_is_served(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Hello."}]) as home:
        session = await home.memory().create_session("assistant", workspace="web")
        await home.turn(WHO, session.id, "Hello?")
        [[server]] = [params["mcpServers"] for params in home.heard("params") if "mcpServers" in params]
        program = await asyncio.create_subprocess_exec(
            server["command"], *server["args"], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "0"}}
        await _ask(program, "initialize", about)
        listed = await _ask(program, "tools/list", {})
        refused = await _ask(program, "tools/call", {"name": "memory_list", "arguments": {}})
        program.terminate()
        await program.wait()

    assert "memory_search" in {tool["name"] for tool in listed["result"]["tools"]}
    assert refused["error"]["data"]["reason"] == "hosted_agent_closed"


async def _ask(program: asyncio.subprocess.Process, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert program.stdin is not None
    assert program.stdout is not None
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    program.stdin.write(json.dumps(request).encode() + b"\n")
    async with asyncio.timeout(20):
        return json.loads(await program.stdout.readline())


async def test_who_is_not_the_operator_is_refused_and_no_program_is_started(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Hello."}]) as home:
        session = await home.memory(ANA).create_session("assistant")

        end = await home.turn(ANA, session.id, "Hello?")

    assert isinstance(end, TurnFailed)
    assert end.code == "hosted_agent_closed"
    assert not (tmp_path / "heard.jsonl").exists()


async def test_what_is_recalled_stands_before_the_words_of_the_person(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Green."}]) as home:
        await home.memory().put("The garden gate is green.", scope="workspace:web")
        session = await home.memory().create_session("assistant", workspace="web")

        await home.turn(WHO, session.id, "What colour is the garden gate?")

    [params] = [params for params in home.heard("params") if "prompt" in params]
    *before, last = [block["text"] for block in params["prompt"]]
    assert last == "What colour is the garden gate?"
    assert "The garden gate is green." in "\n".join(before)


async def test_the_program_is_given_no_secret_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_TOKEN", "a-token-of-ours")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-agent")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")

    async with house(tmp_path, [{"text": "Hello."}], agent_environment=("OPENAI_API_KEY",)) as home:
        session = await home.memory().create_session("assistant")
        await home.turn(replace(WHO), session.id, "Hello?")

    [environment] = home.heard("environment")
    assert environment["OPENAI_API_KEY"] == "a-key-of-the-agent"
    assert not {"COMMONPLACE_TOKEN", "ANTHROPIC_API_KEY"} & environment.keys()
