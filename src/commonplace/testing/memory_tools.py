"""The memory's tools for a pydantic-ai agent, as a model is offered them, over any memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai import Tool

from commonplace.agent.tools.memory.offers import MEMORY_OFFERS, call
from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.ports.memory_client import MemoryClient

NAMES: Final = ("memory_search", "memory_store", "memory_list", "memory_delete")
"""Those that any model has; our own has `memory_correct`, too."""


def memory_tools(
    memory: MemoryClient, project: str, names: Sequence[str] = NAMES, *, quotes: bool = True
) -> list[Tool[object]]:
    """
    Tools that read and write the memory of a project and answer documents. `quotes`: what is stored are a person's own words, as the
    librarian's are.
    """
    asker = Asker(memory=memory, place=ModelPlace(project=project), quotes=quotes)
    return [_tool(name, asker) for name in names]


def schema_of(name: str) -> dict[str, Any]:
    """The arguments of a tool."""
    return dict(MEMORY_OFFERS[name].input_schema)


def _tool(name: str, asker: Asker) -> Tool[object]:
    async def run(**arguments: Any) -> dict[str, Any]:
        return (await call(MEMORY_OFFERS[name], asker, arguments, allow_delete=True)).document()

    return Tool.from_schema(run, name=name, description=MEMORY_OFFERS[name].description, json_schema=schema_of(name))
