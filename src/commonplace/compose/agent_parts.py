"""What the turns of agents need from the settings, whoever plays them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from commonplace.agent.equipment import ToolOptions
from commonplace.agent.live_session import LiveSession, Prompt
from commonplace.agent.rooms import RoomRegistry
from commonplace.agent.run_log import TurnRun
from commonplace.agent.tools.calls import CallLimits
from commonplace.agent.turn_course import TurnLimits
from commonplace.ports.chat import ChatTask
from commonplace.ports.models import TaskLimits
from commonplace.service.runs import Runs
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.values.principal import Principal
from commonplace.values.run import RunDraft, WorkspaceLease
from commonplace.values.usage import to_micro

_OBJECTIVE: Final = 4_000


def tool_options(settings: Settings, services: Services) -> ToolOptions:
    return ToolOptions(
        closed=(settings.home,),
        folders=services.work_folders,
        fetch=settings.agent_fetch,
        sandbox=settings.agent_shell_sandbox,
        seconds=settings.agent_tool_seconds,
    )


def turn_limits(settings: Settings) -> TurnLimits:
    return TurnLimits(
        requests=settings.agent_requests,
        seconds=settings.agent_seconds,
        window=settings.agent_window,
        calls=CallLimits(seconds=settings.agent_tool_seconds),
    )


def chat_task(
    settings: Settings, rooms: RoomRegistry, live: LiveSession, who: Principal, model: str | None = None
) -> ChatTask:
    """What a turn of this session is charged as. In a room its budgets pay, too, and what has begun is finished."""
    session, place = live.session, rooms.place(who.tenant, live.session.id, who)
    limits = TaskLimits(
        seconds=settings.agent_seconds,
        output_tokens=settings.agent_output_tokens,
        micro_usd=to_micro(settings.agent_turn_budget_usd) if settings.agent_turn_budget_usd else None,
        turns=settings.agent_requests,
    )
    task = ChatTask(
        tenant=who.tenant,
        session=session.id,
        agent=session.agent,
        workspace=session.workspace,
        limits=limits,
        model_name=model,
    )
    return task if place is None else replace(task, pots=place.pots, whole=True)


def open_run(runs: Runs, live: LiveSession, prompt: Prompt) -> TurnRun:
    session = live.session
    draft = RunDraft(
        objective=prompt.text[:_OBJECTIVE],
        run_id=prompt.run,
        session=session.id,
        source_client=prompt.who.client or session.source,
        workspace=WorkspaceLease(workspace_id=session.workspace or "", canonical_path=session.folder or ""),
    )
    return TurnRun(runs, prompt.who, draft)
