"""The tools as the protocol offers them. Those of the memory are the agent's own (`agent/tools/memory`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_types import Tool, ToolAnnotations

from commonplace.agent.tools.memory.offers import MEMORY_OFFERS, ToolOffer, call, plain_schema
from commonplace.agent.tools.memory.operations import remember, remembers
from commonplace.agent.tools.memory.places import Asker
from commonplace.doors.mcp.knowledge import KNOWLEDGE_OFFERS

__all__ = ["OFFERS", "TOOLS", "call", "offered"]

OFFERS: Final[Mapping[str, ToolOffer]] = {**MEMORY_OFFERS, **KNOWLEDGE_OFFERS}


def _tool(offer: ToolOffer) -> Tool:
    hints = (
        ToolAnnotations(read_only_hint=True, open_world_hint=False)
        if offer.reads
        else ToolAnnotations(
            read_only_hint=False,
            destructive_hint=offer.deletes,
            idempotent_hint=offer.repeats,
            open_world_hint=False,
        )
    )
    return Tool(
        name=offer.name,
        title=offer.title,
        description=offer.description,
        input_schema=offer.input_schema,
        output_schema=plain_schema(offer.output),
        annotations=hints,
    )


TOOLS: Final[Mapping[str, Tool]] = {name: _tool(offer) for name, offer in OFFERS.items()}


def offered(asker: Asker, *, allow_delete: bool) -> list[Tool]:
    offers = [offer for offer in OFFERS.values() if allow_delete or not offer.deletes]
    return [TOOLS[offer.name] for offer in offers if offer.run is not remember or remembers(asker)]
