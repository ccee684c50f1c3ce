"""What the tools are given: every memory there is fits, which the type checker sees and this holds at run time."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from commonplace import AsyncClient, AsyncMemory
from commonplace.doors.mcp.client import MemoryClient
from commonplace.service.local import LocalMemory
from commonplace.testing.daemon import Daemon
from commonplace.testing.mcp import piped

pytestmark = pytest.mark.anyio

# The type checker refuses a memory here whose methods do not fit.
MEMORIES: tuple[type[MemoryClient], ...] = (AsyncMemory, AsyncClient, LocalMemory)


def methods() -> list[str]:
    return [name for name, _ in inspect.getmembers(MemoryClient, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.__name__)
@pytest.mark.parametrize("name", methods())
def test_every_memory_has_what_the_tools_call(memory: Any, name: str) -> None:
    wanted = inspect.signature(getattr(MemoryClient, name)).parameters
    given = inspect.signature(getattr(memory, name)).parameters

    named = [one.name for one in wanted.values() if one.kind is inspect.Parameter.KEYWORD_ONLY]
    assert [one for one in named if one not in given] == []


async def test_a_model_on_stdio_uses_the_daemon_that_the_environment_names(daemon: Daemon, atlas: Path) -> None:
    env = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}

    async with piped(atlas, env=env) as model:
        stored = await model("memory_store", content="The harbour opens at six.")
        found = await model.found("harbour")

    assert found == ["The harbour opens at six."]
    assert not (atlas / "home" / "memory.db").exists()
    with daemon.client() as client:
        assert client.get(f"/v1/records/{stored['id']}").json()["scope"] == "workspace:atlas"


async def test_a_model_on_stdio_works_within_what_its_key_reaches(daemon: Daemon, atlas: Path) -> None:
    with daemon.client() as client:
        made = client.post("/v1/keys", json={"name": "atlas", "role": "reader", "scopes": ["workspace:atlas"]}).json()
        client.post("/v1/records", json={"text": "The whale is white.", "scope": "workspace:atlas"})
        client.post("/v1/records", json={"text": "The whale is everyone's.", "scope": "global"})

    async with piped(atlas, env={"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": made["secret"]}) as model:
        found = await model.found("whale")
        refused = await model("memory_store", content="The whale is black.")

    assert found == ["The whale is white."]
    assert refused["reason"] == "forbidden"
