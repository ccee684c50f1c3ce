"""Other people's agents in the place of ours, as they are published: qwen-code, codex-acp and kimi-code, with a model on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.published.model_server import HEARD, ModelServer, model_server
from tests.published.programs import Published

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.local_agent import LocalAgent
from commonplace.compose.agents import live_sessions
from commonplace.compose.services import ComposeOptions, composed
from commonplace.service.local import LocalMemory
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.testing.agents import WHO
from commonplace.testing.events import until
from commonplace.testing.host_bench import is_running
from commonplace.values.permission import PermissionChoice
from commonplace.values.session import Session
from commonplace.values.turn_event import (
    MemoryLearned,
    PermissionAsked,
    TextAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
_PATIENCE = 90.0
CODEX = """
model = "fake-model"
model_provider = "local"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.local]
name = "local"
base_url = "{url}"
env_key = "LOCAL_KEY"
wire_api = "responses"
[projects."{folder}"]
trust_level = "untrusted"
[analytics]
enabled = false
"""
KIMI = """
default_model = "fake"
[models.fake]
provider = "local"
model = "fake-model"
max_context_size = 100000
[providers.local]
type = "openai"
base_url = "{url}"
api_key = "none"
"""
QWEN = {
    "security": {"auth": {"selectedType": "openai"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
    "telemetry": {"enabled": False},
}


@dataclass(frozen=True)
class Program:
    """How an agent is started, what it needs, and how it calls a command of the shell."""

    command: Callable[[Published], tuple[str, ...]]
    prepare: Callable[[Path, str, Path], dict[str, str]]
    shell: Callable[[str], str]
    search: str = '@@CALL ~memory_search {"query": "garden gate"}@@'
    asks_for_memory: bool = True


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def prepare_qwen(home: Path, url: str, folder: Path) -> dict[str, str]:
    del folder
    write(home / ".qwen" / "settings.json", json.dumps(QWEN))
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "fake-model"}


def prepare_codex(home: Path, url: str, folder: Path) -> dict[str, str]:
    write(home / ".codex" / "config.toml", CODEX.format(url=url, folder=folder))
    return {"CODEX_HOME": str(home / ".codex"), "LOCAL_KEY": "none"}


def prepare_kimi(home: Path, url: str, folder: Path) -> dict[str, str]:
    del folder
    write(home / ".kimi-code" / "config.toml", KIMI.format(url=url))
    return {}


def shell_of_qwen(command: str) -> str:
    arguments = {"command": command, "description": "do it", "is_background": False}
    return f"@@CALL run_shell_command {json.dumps(arguments)}@@"


def native_codex(published: Published) -> tuple[str, ...]:
    # The wrapper of npm stands in the way of its end.
    for name in ("codex-acp-linux-x64", "codex-acp-linux-arm64"):
        if (published.programs / name).exists():
            return (published.program(name),)
    return (published.program("codex-acp"),)


# It hides the tools of MCP servers behind one of its own.
SEARCH_OF_QWEN = {"name": "mcp__commonplace__memory_search", "arguments": {"query": "garden gate"}}
PROGRAMS = {
    "qwen": Program(
        lambda published: (published.program("qwen"), "--acp", "--approval-mode", "default"),
        prepare_qwen,
        shell_of_qwen,
        f"@@CALL tool_call {json.dumps(SEARCH_OF_QWEN)}@@",
    ),
    "codex": Program(
        native_codex,
        prepare_codex,
        lambda command: f"@@CALL exec_command {json.dumps({'cmd': command})}@@",
        # It calls what says of itself that it destroys nothing unasked, as our own agent does.
        asks_for_memory=False,
    ),
    "kimi": Program(
        lambda published: (published.program("kimi"), "acp"),
        prepare_kimi,
        lambda command: f"@@CALL Bash {json.dumps({'command': command})}@@",
    ),
}


@dataclass
class Host:
    """Sessions whose turns such an agent plays."""

    services: Services
    sessions: LiveSessions
    program: Program
    folder: Path

    @property
    def agent(self) -> LocalAgent:
        return LocalAgent(self.sessions, WHO)

    @property
    def memory(self) -> LocalMemory:
        return LocalMemory(self.services, WHO)

    async def session(self) -> Session:
        return await self.memory.create_session("assistant", folder=str(self.folder), workspace="web")

    async def turn(self, session: Session, text: str, choice: PermissionChoice = "allow_once") -> list[TurnEvent]:
        """Say it, and answer whatever is asked."""
        await self.agent.settle(session.id)
        ticket = await self.agent.say(session.id, text)
        return await self.hear(session, ticket.last_event, choice)

    async def hear(
        self,
        session: Session,
        after: int,
        choice: PermissionChoice = "allow_once",
        until: type[TurnEvent] = MemoryLearned,
    ) -> list[TurnEvent]:
        events: list[TurnEvent] = []
        async with asyncio.timeout(_PATIENCE):
            async for heard in self.agent.hear(session.id, after=after):
                event = heard.event
                events.append(event)
                if isinstance(event, PermissionAsked):
                    await self.agent.answer_permission(session.id, event.request.id, choice)
                is_cancelled = isinstance(event, TurnEnded) and event.stop_reason == "cancelled"
                if is_cancelled or isinstance(event, TurnFailed | until):
                    break
        return events


@pytest.fixture
def model() -> Generator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(params=sorted(PROGRAMS))
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


@pytest.fixture
async def host(
    program: Program, published: Published, model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Host]:
    async with hosted(program, published, model, tmp_path, monkeypatch) as house:
        yield house


@asynccontextmanager
async def hosted(
    program: Program, published: Published, model: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Host]:
    home, work = folder / "person", folder / "work"
    for path in (home, work):
        path.mkdir(exist_ok=True)
    variables = program.prepare(home, model.url, work)
    for name, value in published.environment(home, **variables).items():
        monkeypatch.setenv(name, value)
    settings = Settings(
        home=folder / "home",
        embedder="none",
        agent_command=program.command(published),
        agent_environment=tuple(variables),
        agent_learn=False,
    )
    async with (
        composed(settings, ComposeOptions()) as services,
        live_sessions(settings, services) as sessions,
    ):
        yield Host(services, sessions, program, work)


def of(events: list[TurnEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def test_it_answers_and_says_what_it_took(host: Host) -> None:
    events = await host.turn(await host.session(), "Good morning!")

    [ended] = of(events, TurnEnded)
    assert HEARD in ended.reply
    assert ended.stop_reason == "end_turn"
    assert ended.usage.input_tokens > 0


async def test_a_command_is_asked_about_and_run(host: Host) -> None:
    made = host.folder / "made"
    session = await host.session()

    events = await host.turn(session, f"please {host.program.shell(f'touch {made}')}")

    assert len(of(events, PermissionAsked)) == 1
    [request] = [event.request for event in of(events, PermissionAsked)]
    assert "touch" in request.title
    assert made.exists()
    assert len(of(events, ToolStarted)) == len(of(events, ToolEnded)) == 1
    assert [event.failed for event in of(events, ToolEnded)] == [False]
    assert [event.stop_reason for event in of(events, TurnEnded)] == ["end_turn"]


async def test_a_command_that_a_person_rejects_is_not_run_and_the_session_goes_on(host: Host) -> None:
    made = host.folder / "made"
    session = await host.session()

    events = await host.turn(session, f"please {host.program.shell(f'touch {made}')}", "reject_once")
    after = await host.turn(session, "Are you there?")

    assert len(of(events, PermissionAsked)) == 1
    assert not made.exists()
    assert of(events, TurnEnded)
    assert HEARD in of(after, TurnEnded)[0].reply


async def test_a_turn_is_cancelled_in_the_middle_and_the_session_goes_on(host: Host) -> None:
    session = await host.session()
    ticket = await host.agent.say(session.id, "Tell me a story. @@SLOW@@")
    await host.hear(session, ticket.last_event, until=TextAdded)

    await host.agent.cancel_turn(session.id)
    events = await host.hear(session, ticket.last_event)
    after = await host.turn(session, "Are you there?")

    assert [event.stop_reason for event in of(events, TurnEnded)] == ["cancelled"]
    assert HEARD in of(after, TurnEnded)[0].reply


async def test_after_a_restart_the_agent_knows_what_was_said(host: Host, model: ModelServer) -> None:
    session = await host.session()
    await host.turn(session, "The word is heliotrope.")
    await host.sessions.let_go(WHO.tenant, session.id)
    model.requests.clear()

    events = await host.turn(session, "What was the word?")

    assert of(events, TurnEnded)
    assert any(
        "heliotrope" in json.dumps(request) and "What was the word" in json.dumps(request) for request in model.requests
    )


async def test_it_uses_our_memory_and_asks_before_if_it_asks_for_such_tools(host: Host, model: ModelServer) -> None:
    await host.memory.put("The garden gate is green.", scope="workspace:web")
    session = await host.session()

    # Some begin their first turn before the servers of tools have started, and a turn takes them less time than that.
    events: list[TurnEvent] = []
    async with asyncio.timeout(_PATIENCE):
        while not any("garden gate" in event.text for event in of(events, ToolEnded)):
            events += await host.turn(session, host.program.search)

    assert of(events, TurnEnded)
    requests = [event.request for event in of(events, PermissionAsked)]
    is_asked = any("memory_search" in f"{request.title} {request.rule} {request.arguments}" for request in requests)
    assert is_asked == host.program.asks_for_memory, requests
    answers = [event.text for event in of(events, ToolEnded)]
    assert any("garden gate is green" in text for text in answers), (answers, model.requests[-1].get("tools"))


async def test_nothing_of_it_is_left_when_the_session_is_let_go(host: Host) -> None:
    session = await host.session()
    await host.turn(session, "Good morning!")
    assert working_in(host.folder)

    await host.sessions.let_go(WHO.tenant, session.id)

    await until(lambda: not working_in(host.folder), seconds=20)


@pytest.mark.timeout(180)
async def test_the_wrapper_that_npm_puts_on_the_path_works_as_well_and_nothing_of_it_is_left(
    published: Published, model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It starts the native program and does not end with its own input; what it started does not end with it.
    wrapper = Program(lambda published: (published.program("codex-acp"),), prepare_codex, PROGRAMS["codex"].shell)
    async with hosted(wrapper, published, model, tmp_path, monkeypatch) as host:
        session = await host.session()
        made = host.folder / "made"
        events = await host.turn(session, f"please {wrapper.shell(f'touch {made}')}")
        began = working_in(host.folder)

        await host.sessions.let_go(WHO.tenant, session.id)

        await until(lambda: not working_in(host.folder), seconds=20)
        await until(lambda: not any(is_running(pid) for pid in began), seconds=20)

    assert len(of(events, PermissionAsked)) == 1
    assert made.exists()
    # The wrapper, what it wraps, and who watches over both.
    assert len(began) >= 2


def working_in(folder: Path) -> list[int]:
    """The processes whose folder it is."""
    pids: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").resolve(strict=True) == folder and is_running(int(process.name)):
                pids.append(int(process.name))
    return pids
