"""What plays the turns of agents, from the settings. Loaded when it is first needed: it takes the library for models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import pydantic_ai

from commonplace.agent.equipment import EquipmentParts, Outfit, ToolOptions
from commonplace.agent.live_session import LiveSession, Prompt
from commonplace.agent.memory.backend import TurnContext
from commonplace.agent.run_log import TurnRun
from commonplace.agent.tools.calls import CallLimits
from commonplace.agent.turn import LoopParts, TurnLimits, TurnLoop
from commonplace.compose.agent_memory import agent_memory
from commonplace.compose.services import asked_model
from commonplace.llms.chat import ChatModels
from commonplace.llms.librarian.model import Librarian
from commonplace.ports.chat import ChatTask
from commonplace.ports.memory_client import MemoryClient
from commonplace.ports.models import TaskLimits
from commonplace.service.local import LocalMemory
from commonplace.service.runs import Runs
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.values.principal import Principal
from commonplace.values.run import RunDraft, WorkspaceLease
from commonplace.values.scope import Scope
from commonplace.values.usage import to_micro

_OBJECTIVE: Final = 4_000

# A program says what it has to say itself; the library would print an advertisement into the first answer.
pydantic_ai.BANNER_ENABLED = False


@asynccontextmanager
async def turn_loop(settings: Settings, services: Services) -> AsyncGenerator[TurnLoop]:
    """Closed at the end: connections to vendors and to a gateway."""
    async with AsyncExitStack() as stack:
        memory = agent_memory(settings, consolidate=partial(_consolidate, services))
        stack.push_async_callback(memory.aclose)
        clock = services.desk.clock
        models = await stack.enter_async_context(
            ChatModels(asked_model(settings), services.desk.store, clock, lambda _: Librarian())
        )
        workspace = memory.workspace
        outfit = Outfit(
            EquipmentParts(
                memory_of=partial(_memory_of, settings, services),
                scopes_of=partial(_scopes_of, services),
                profile_of=services.owners.profile,
                model_of=models.name_of,
                backends=memory.backends,
                curated=memory.curated,
                recalls=workspace is not None and workspace.options.recall,
                clock=clock,
                tools=ToolOptions(
                    closed=(settings.home,),
                    folders=services.work_folders,
                    fetch=settings.agent_fetch,
                    sandbox=settings.agent_shell_sandbox,
                    seconds=settings.agent_tool_seconds,
                ),
            )
        )
        yield TurnLoop(
            LoopParts(
                log=services.history,
                clock=clock,
                models=models,
                equip=outfit.equip,
                task=partial(_task, settings),
                open_run=partial(_run, services.runs),
                limits=TurnLimits(
                    requests=settings.agent_requests,
                    seconds=settings.agent_seconds,
                    window=settings.agent_window,
                    calls=CallLimits(seconds=settings.agent_tool_seconds),
                ),
            )
        )


async def _consolidate(services: Services, turn: TurnContext) -> None:
    """A session has ended: the memory in files may be due to be tidied."""
    await services.lanes.met(await turn.memory.me(), turn.session)


def _memory_of(settings: Settings, services: Services, who: Principal) -> MemoryClient:
    return LocalMemory(services, who, token_budget=settings.token_budget)


async def _scopes_of(services: Services, who: Principal) -> tuple[Scope, ...]:
    """
    What is at home with the person, without sessions: what these keep of their own turns is history, and a question is no answer to
    itself.
    """
    desk = services.desk
    who = await desk.with_every_scope(who)
    marks = await desk.store.recall.marks(who.tenant, None)
    return tuple(mark.scope for mark in marks if mark.scope.kind != "session" and who.is_at_home(mark.scope))


def _task(settings: Settings, live: LiveSession, prompt: Prompt, model: str | None) -> ChatTask:
    session = live.session
    limits = TaskLimits(
        seconds=settings.agent_seconds,
        output_tokens=settings.agent_output_tokens,
        micro_usd=to_micro(settings.agent_turn_budget_usd) if settings.agent_turn_budget_usd else None,
        turns=settings.agent_requests,
    )
    return ChatTask(
        tenant=prompt.who.tenant,
        session=session.id,
        agent=session.agent,
        workspace=session.workspace,
        limits=limits,
        model_name=model,
    )


def _run(runs: Runs, live: LiveSession, prompt: Prompt) -> TurnRun:
    session = live.session
    draft = RunDraft(
        objective=prompt.text[:_OBJECTIVE],
        run_id=prompt.run,
        session=session.id,
        source_client=prompt.who.client or session.source,
        workspace=WorkspaceLease(workspace_id=session.workspace or "", canonical_path=session.folder or ""),
    )
    return TurnRun(runs, prompt.who, draft)
