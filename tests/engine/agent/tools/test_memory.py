from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.tools.desk import Desk

from commonplace import AsyncMemory, open_memory_async
from commonplace.agent.tools.memory.offers import MEMORY_OFFERS
from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.agent.tools.memory.tools import memory_tools
from commonplace.agent.tools.tool import AgentTool
from commonplace.doors.mcp.tools import TOOLS

pytestmark = pytest.mark.anyio
Tools = dict[str, AgentTool]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncGenerator[AsyncMemory]:
    async with open_memory_async(tmp_path / "memory.db", embedder="none") as opened:
        yield opened


@pytest.fixture
def tools(memory: AsyncMemory) -> Tools:
    asker = Asker(memory, ModelPlace(project="web"))
    return {tool.name: tool for tool in memory_tools(asker, allow_delete=True)}


async def answered(turn: Desk, tool: AgentTool, **arguments: Any) -> dict[str, Any]:
    return json.loads(str((await turn.call(tool, **arguments)).content))


async def test_what_the_agent_stores_is_its_own_word_and_nobody_is_asked(
    turn: Desk, tools: Tools, memory: AsyncMemory
) -> None:
    stored = await answered(turn, tools["memory_store"], content="The gate opens at six.")
    found = await answered(turn, tools["memory_search"], query="gate")

    record = await memory.get(stored["id"])
    assert (record.trust, record.source, str(record.scope)) == ("model_generated", "agent_note", "workspace:web")
    assert [row["id"] for row in found["results"]] == [record.id]
    assert turn.requests == []


async def test_a_correction_takes_the_place_of_what_the_agent_had_stored(turn: Desk, tools: Tools) -> None:
    before = await answered(turn, tools["memory_store"], content="The gate opens at six.")
    after = await answered(turn, tools["memory_correct"], id=before["id"], content="The gate opens at seven.")
    rows = await answered(turn, tools["memory_list"])

    assert after["ok"]
    assert [row["content"] for row in rows["results"]] == ["The gate opens at seven."]


async def test_the_agent_does_not_correct_what_a_person_wrote(turn: Desk, tools: Tools, memory: AsyncMemory) -> None:
    record = await memory.put("The gate opens at six.", scope="workspace:web")

    answer = await turn.call(tools["memory_correct"], id=record.id, content="The gate opens at seven.")

    assert answer.outcome == "failed"
    assert json.loads(str(answer.content))["reason"] == "trusted_record"


async def test_a_person_is_asked_before_something_is_deleted(tools: Tools, memory: AsyncMemory) -> None:
    record = await memory.put("The gate opens at six.", scope="workspace:web")
    turn = Desk(choice="reject_once")

    await turn.call(tools["memory_delete"], id=record.id)

    assert turn.requests[0].kind == "delete"
    assert (await memory.get(record.id)).deleted_at is None


async def test_the_tool_that_deletes_is_there_only_if_it_is_allowed(memory: AsyncMemory) -> None:
    names = [tool.name for tool in memory_tools(Asker(memory, ModelPlace()), allow_delete=False)]

    assert names == ["memory_search", "memory_store", "memory_correct", "memory_list"]


@pytest.mark.parametrize("arguments", [{}, {"query": 5}, {"query": "x", "more": 1}, {"query": "x", "limit": "all"}])
async def test_wrong_arguments_are_an_answer_with_a_reason(turn: Desk, tools: Tools, arguments: dict[str, Any]) -> None:
    answer = await turn.call(tools["memory_search"], **arguments)

    assert answer.outcome == "failed"
    assert json.loads(str(answer.content))["reason"] in ("missing_query", "invalid_input")


async def test_the_agent_and_the_door_offer_the_same(tools: Tools) -> None:
    for name, tool in tools.items():
        assert tool.description == TOOLS[name].description
        assert tool.schema == TOOLS[name].input_schema
    assert set(tools) <= set(MEMORY_OFFERS)


def test_the_door_needs_nothing_of_the_library_that_drives_a_model() -> None:
    code = (
        "import sys, commonplace.doors.mcp.server; sys.exit('pydantic_ai' in sys.modules or 'fastmcp' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
