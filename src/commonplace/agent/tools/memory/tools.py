"""The memory's tools for our own agent: the same that the MCP door offers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from commonplace.agent.tools.memory.offers import MEMORY_OFFERS, ToolOffer, call
from commonplace.agent.tools.memory.places import Asker
from commonplace.agent.tools.tool import AgentTool, ToolArguments, ToolFunction, ToolResult
from commonplace.values.permission import ToolKind

MEMORY_TOOLS: Final = ("memory_search", "memory_store", "memory_correct", "memory_list", "memory_delete")
_KINDS: Final[dict[str, ToolKind]] = {"memory_store": "edit", "memory_correct": "edit", "memory_delete": "delete"}


def memory_tools(asker: Asker, *, allow_delete: bool, names: Sequence[str] = MEMORY_TOOLS) -> list[AgentTool]:
    """
    Nobody is asked before something is remembered or corrected: it is labelled as the model's word, the guard judges it, and the
    older version is kept. Before something is deleted, a person is; without `allow_delete` that tool is not there.
    """
    offers = [MEMORY_OFFERS[name] for name in names]
    return [_tool(offer, asker) for offer in offers if allow_delete or not offer.deletes]


def _tool(offer: ToolOffer, asker: Asker) -> AgentTool:
    def title(arguments: ToolArguments) -> str:
        subject = arguments.get("query") or arguments.get("content") or arguments.get("id") or arguments.get("chunk_id")
        return f"{offer.title}: {subject}" if subject else offer.title

    return AgentTool(
        name=offer.name,
        kind="search" if offer.reads else _KINDS.get(offer.name, "other"),
        function=_function(offer, asker),
        description=offer.description,
        schema=offer.input_schema,
        asks=offer.deletes,
        changes=not offer.reads,
        title=title,
    )


def _function(offer: ToolOffer, asker: Asker) -> ToolFunction:
    async def run(**arguments: Any) -> ToolResult:
        # Whoever offers a tool that deletes has allowed it.
        answer = await call(offer, asker, arguments, allow_delete=True)
        return ToolResult(text=json.dumps(answer.document(), ensure_ascii=False), failed=not answer.ok)

    return run
