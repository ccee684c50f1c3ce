"""How an agent is set up at the native door, and who may."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.errors import Forbidden, InvalidInput
from commonplace.sdk.async_client import AsyncClient
from commonplace.testing.daemon import TOKEN, InProcess, served
from commonplace.values.agent_profile import AgentProfile, McpServerRow

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8765"

SERVER = McpServerRow(name="files", command="/usr/bin/files", args=("--root", "/srv"), env=("FILES_TOKEN",))
PROFILE = AgentProfile(
    persona="You write release notes.",
    model="openai:large",
    skills=("/srv/skills",),
    resources=("/srv/style.md", "https://example.com/style"),
    tools=("read", "grep"),
    mcp_servers=(SERVER,),
    approval="auto-edit",
)


@pytest.fixture
async def running(home: Path) -> Any:
    models: dict[str, Any] = {
        "llm_model": "openai:small",
        "llm_models": ["openai:large"],
        "llm_base_url": "http://127.0.0.1:9/v1",
    }
    async with served(home, **models) as begun:
        yield begun


def entered(running: InProcess, secret: str = TOKEN) -> AsyncClient:
    transport = httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))
    return AsyncClient(URL, secret, transport=transport, timeout=5.0)


async def keyed(running: InProcess, role: str) -> AsyncClient:
    answer = await running.client.post("/v1/keys", json={"name": role, "role": role})
    return entered(running, answer.json()["secret"])


async def test_whoever_lists_the_agents_is_told_which_models_may_be_named(running: InProcess) -> None:
    answer = await running.client.get("/v1/agents")

    assert answer.json() == {"agents": [], "models": ["openai:small", "openai:large", "librarian"]}


async def test_an_admin_sets_an_agent_up_and_everybody_reads_it(running: InProcess) -> None:
    async with entered(running) as admin, await keyed(running, "reader") as reader:
        created = await admin.create_agent("Notes", id="notes", profile=PROFILE)
        plain = await admin.create_agent("Plain", id="plain")

        assert (created.profile, plain.profile) == (PROFILE, None)
        assert (await reader.agent("notes")).profile == PROFILE
        assert [agent.profile for agent in await reader.agents()] == [PROFILE, None]


async def test_a_change_without_a_profile_leaves_it_and_one_with_replaces_it_whole(running: InProcess) -> None:
    async with entered(running) as admin:
        await admin.create_agent("Notes", id="notes", profile=PROFILE)
        renamed = await admin.edit_agent("notes", name="Release notes")
        replaced = await admin.edit_agent("notes", profile=AgentProfile(persona="You are brief.", tools=()))

        assert renamed.profile == PROFILE
        # No tools at all, which is not the same as all of them.
        assert replaced.profile == AgentProfile(persona="You are brief.", tools=())


# Before, after, and the field for which a writer is refused; None: they may.
CHANGES: dict[str, tuple[AgentProfile, AgentProfile, str | None]] = {
    "another persona": (PROFILE, replace(PROFILE, persona="You are brief."), None),
    "another model": (PROFILE, replace(PROFILE, model="openai:small"), None),
    "no model": (PROFILE, replace(PROFILE, model=None), None),
    "fewer tools": (PROFILE, replace(PROFILE, tools=("read",)), None),
    "no tools": (PROFILE, replace(PROFILE, tools=()), None),
    "a stricter approval": (PROFILE, replace(PROFILE, approval="plan"), None),
    "some tools where all were": (AgentProfile(), AgentProfile(tools=("shell",)), None),
    "more tools": (PROFILE, replace(PROFILE, tools=("read", "grep", "shell")), "tools"),
    "other tools": (PROFILE, replace(PROFILE, tools=("shell",)), "tools"),
    "all tools": (PROFILE, replace(PROFILE, tools=None), "tools"),
    "a laxer approval": (PROFILE, replace(PROFILE, approval="yolo"), "approval"),
    "no more servers": (PROFILE, replace(PROFILE, mcp_servers=()), "mcp_servers"),
    "another command": (PROFILE, replace(PROFILE, mcp_servers=(replace(SERVER, command="/bin/sh"),)), "mcp_servers"),
    "a server that no longer asks": (PROFILE, replace(PROFILE, mcp_servers=(replace(SERVER, asks=False),)), "mcp_servers"),
    "another folder of skills": (PROFILE, replace(PROFILE, skills=("/etc",)), "skills"),
    "another file": (PROFILE, replace(PROFILE, resources=("/etc/shadow",)), "resources"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_a_writer_may_change_persona_and_model_and_allow_less_and_an_admin_all(
    running: InProcess, change: str
) -> None:
    before, after, refused = CHANGES[change]
    async with entered(running) as admin, await keyed(running, "writer") as writer:
        await admin.create_agent("Notes", id="notes", profile=before)

        if refused is None:
            assert (await writer.edit_agent("notes", profile=after)).profile == after
            return
        with pytest.raises(Forbidden) as error:
            await writer.edit_agent("notes", profile=after)

        assert error.value.details["field"] == refused
        assert (await admin.agent("notes")).profile == before
        assert (await admin.edit_agent("notes", profile=after)).profile == after


async def test_a_writer_does_not_bring_back_what_an_admin_took_away_in_between(running: InProcess) -> None:
    async with entered(running) as admin, await keyed(running, "writer") as writer:
        await admin.create_agent("Notes", id="notes", profile=PROFILE)
        # Their changes come one after the other, in any order; none is undone by the other.
        renames = (writer.edit_agent("notes", name=f"Notes {number}") for number in range(8))
        removal = admin.edit_agent("notes", profile=AgentProfile())
        async with asyncio.timeout(5):
            await asyncio.gather(removal, *renames)

        agent = await admin.agent("notes")
        assert agent.profile == AgentProfile()
        assert agent.name.startswith("Notes ")


@pytest.mark.parametrize(
    ("profile", "allowed"),
    [
        (AgentProfile(persona="You are brief.", model="librarian", tools=("read",), approval="plan"), True),
        (AgentProfile(approval="auto-edit"), False),
        (AgentProfile(mcp_servers=(SERVER,)), False),
        (AgentProfile(skills=("/srv",)), False),
        (AgentProfile(resources=("https://example.com/",)), False),
    ],
)
async def test_a_writer_creates_an_agent_that_reads_and_runs_nothing_of_the_machine(
    running: InProcess, profile: AgentProfile, allowed: bool
) -> None:
    async with await keyed(running, "writer") as writer, await keyed(running, "reader") as reader:
        with pytest.raises(Forbidden):
            await reader.create_agent("Notes", id="notes", profile=profile)
        if allowed:
            assert (await writer.create_agent("Notes", id="notes", profile=profile)).profile == profile
        else:
            with pytest.raises(Forbidden):
                await writer.create_agent("Notes", id="notes", profile=profile)


@pytest.mark.parametrize(
    "profile",
    [
        AgentProfile(model="openai:other"),
        AgentProfile(persona="x" * 20_001),
        AgentProfile(persona="a\0b"),
        AgentProfile(skills=("skills",)),
        AgentProfile(skills=("/srv/\u202eskills",)),
        AgentProfile(resources=("ftp://example.com/a",)),
        AgentProfile(tools=("rm -rf",)),
        AgentProfile(tools=("t",) * 101),
        AgentProfile(mcp_servers=(SERVER, SERVER)),
        AgentProfile(mcp_servers=(McpServerRow(name="none"),)),
        AgentProfile(mcp_servers=(McpServerRow(name="both", command="a", url="https://a.example"),)),
        AgentProfile(mcp_servers=(McpServerRow(name="a b", command="a"),)),
        AgentProfile(mcp_servers=(McpServerRow(name="empty", command=""),)),
        AgentProfile(mcp_servers=(McpServerRow(name="u", url="file:///etc/passwd"),)),
        AgentProfile(mcp_servers=(McpServerRow(name="u", url="https://a.example", env=("A",)),)),
        AgentProfile(mcp_servers=(replace(SERVER, env=("TOKEN=secret",)),)),
        AgentProfile(mcp_servers=(McpServerRow(name="u", url="https://a.example", token_env="s3cr3t!"),)),
    ],
)
async def test_what_cannot_be_used_is_refused_from_an_admin_too(running: InProcess, profile: AgentProfile) -> None:
    async with entered(running) as admin:
        with pytest.raises(InvalidInput):
            await admin.create_agent("Notes", id="notes", profile=profile)

        assert await admin.agents() == []


@pytest.mark.parametrize(
    "profile",
    [{"personna": "typo"}, {"approval": "never"}, {"tools": "read"}, {"mcp_servers": [{"name": "a", "cmd": "b"}]}, []],
)
async def test_a_profile_with_a_field_that_is_none_is_refused(running: InProcess, profile: Any) -> None:
    answer = await running.client.post("/v1/agents", json={"name": "Notes", "profile": profile})

    assert answer.status_code == 400
    assert (await running.client.get("/v1/agents")).json()["agents"] == []


OF_THE_MACHINE: dict[str, AgentProfile] = {
    "a command": AgentProfile(mcp_servers=(replace(SERVER, env=()),)),
    "a variable of the daemon": AgentProfile(
        mcp_servers=(McpServerRow(name="far", url="https://far.example/mcp", token_env="COMMONPLACE_TOKEN"),)
    ),
    "a file": AgentProfile(resources=("/etc/passwd",)),
    "a folder": AgentProfile(skills=("/srv/skills",)),
}


@pytest.mark.parametrize("profile", OF_THE_MACHINE.values(), ids=OF_THE_MACHINE)
async def test_what_runs_or_is_read_on_the_machine_is_the_operators_to_say(
    running: InProcess, profile: AgentProfile
) -> None:
    async with entered(running) as operator, await keyed(running, "admin") as admin:
        await admin.create_agent("Notes", id="notes", profile=AgentProfile(persona="You are brief."))

        with pytest.raises(Forbidden):
            await admin.edit_agent("notes", profile=profile)
        with pytest.raises(Forbidden):
            await admin.create_agent("Others", id="others", profile=profile)
        assert (await operator.edit_agent("notes", profile=profile)).profile == profile
        # What the operator has set up stays, whatever else of it an admin changes.
        later = replace(profile, persona="You are kind.")
        assert (await admin.edit_agent("notes", profile=later)).profile == later


async def test_an_admin_names_files_below_a_root_and_servers_by_their_address(home: Path, tmp_path: Path) -> None:
    async with served(home, agent_roots=[tmp_path / "open"]) as running, await keyed(running, "admin") as admin:
        far = McpServerRow(name="far", url="https://far.example/mcp")
        profile = AgentProfile(
            skills=(f"{tmp_path}/open/skills",), resources=(f"{tmp_path}/open/style.md",), mcp_servers=(far,)
        )
        created = await admin.create_agent("Notes", id="notes", profile=profile)

        assert created.profile == profile
        with pytest.raises(Forbidden):
            await admin.edit_agent("notes", profile=AgentProfile(resources=(f"{home}/token",)))


async def test_a_writer_does_not_remove_an_agent_to_make_it_again_with_more(running: InProcess) -> None:
    async with entered(running) as operator, await keyed(running, "writer") as writer:
        await operator.create_agent("Notes", id="notes", profile=AgentProfile(tools=(), approval="plan"))
        await operator.create_agent("Plain", id="plain", profile=AgentProfile(persona="You are brief."))

        with pytest.raises(Forbidden):
            await writer.remove_agent("notes")
        await writer.remove_agent("plain")
        await operator.remove_agent("notes")
