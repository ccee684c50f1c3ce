"""Agents without a daemon: in this process, over the store of the settings, for whoever opened it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.agent.local_agent import LocalAgent
from commonplace.compose.agents import live_sessions
from commonplace.compose.services import ComposeOptions, asked_model, composed
from commonplace.llms.choose import chat_names
from commonplace.service.local import LocalMemory
from commonplace.settings import Settings
from commonplace.values.principal import LOCAL, Principal

DOOR: Final = "embedded"


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedAgent:
    """An agent, and the memory that it and its person have."""

    agent: LocalAgent
    memory: LocalMemory


@asynccontextmanager
async def open_agent(settings: Settings) -> AsyncGenerator[EmbeddedAgent]:
    """What its turns leave behind is kept before it is closed."""
    async with composed(settings, ComposeOptions()) as services, live_sessions(settings, services) as sessions:
        # Whoever opens the store may do everything with it.
        who = Principal(
            subject=LOCAL,
            name=settings.actor,
            tenant=settings.tenant,
            role="admin",
            operator=True,
            loopback=True,
            door=DOOR,
        )
        memory = LocalMemory(services, who, token_budget=settings.token_budget)
        yield EmbeddedAgent(agent=LocalAgent(sessions, who), memory=memory)


def model_names(settings: Settings) -> tuple[str, ...]:
    """The models that may be asked for; the first answers if nobody asks. A hosted agent has its own: it stands for them."""
    if settings.agent_command:
        return (Path(settings.agent_command[0]).name,)
    return chat_names(asked_model(settings))
