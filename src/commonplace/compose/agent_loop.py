"""What plays the turns of agents, from the settings. Loaded when it is first needed: it takes the library for models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import pydantic_ai

from commonplace.agent.acp.host.player import AcpHost
from commonplace.agent.equipment import EquipmentParts, Outfit
from commonplace.agent.live_session import LiveSession, Player, Prompt
from commonplace.agent.memory.backend import TurnContext
from commonplace.agent.memory.room import RoomLines, RoomMemoryBackend
from commonplace.agent.memory.workspace import RoomSpeeches
from commonplace.agent.record import MessageLog
from commonplace.agent.rooms import RoomPlace, RoomRegistry
from commonplace.agent.turn import LoopParts, TurnLoop
from commonplace.compose.agent_host import host_parts
from commonplace.compose.agent_memory import AgentMemory, agent_memory
from commonplace.compose.agent_parts import chat_task, open_run, tool_options, turn_limits
from commonplace.compose.services import asked_model
from commonplace.llms.chat import ChatModels
from commonplace.llms.librarian.model import Librarian
from commonplace.ports.chat import ChatTask
from commonplace.ports.memory_client import MemoryClient
from commonplace.service.local import LocalMemory
from commonplace.service.local_schedules import LocalSchedules
from commonplace.service.room_lessons import RoomDialogue
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.values.artifact import Artifact
from commonplace.values.channel import ChatRoom
from commonplace.values.principal import Principal
from commonplace.values.run_errors import ArtifactNotFound
from commonplace.values.scope import Scope

# A program says what it has to say itself; the library would print an advertisement into the first answer.
pydantic_ai.BANNER_ENABLED = False


@asynccontextmanager
async def player(
    settings: Settings, services: Services, log: MessageLog, rooms: RoomRegistry
) -> AsyncGenerator[Player]:
    """
    Our own loop, or the agent that the operator hosts; what is said is kept in `log`. Closed at the end: connections to vendors and to a gateway.
    """
    async with AsyncExitStack() as stack:
        memory = agent_memory(
            settings,
            consolidate=partial(_consolidate, services),
            learn_in_room=partial(_learn_in_room, services, rooms),
        )
        rooms.learn_now = None if memory.workspace is None else memory.workspace.learn_now
        stack.push_async_callback(memory.aclose)
        clock = services.desk.clock
        models = await stack.enter_async_context(
            ChatModels(asked_model(settings), services.desk.store, clock, lambda _: Librarian())
        )
        outfit = Outfit(
            replace(
                _equipment(settings, services, memory, models),
                rooms=rooms,
                room_memory=RoomMemoryBackend(rooms, partial(_room_lines, services)),
                file_of_room=partial(_file_of_room, services),
            )
        )
        if settings.agent_command:
            yield AcpHost(host_parts(settings, services, outfit, log, rooms, recalls=_recalls(memory)))
            return
        yield TurnLoop(
            LoopParts(
                log=log,
                clock=clock,
                models=models,
                equip=outfit.equip,
                task=partial(_task, settings, rooms),
                open_run=partial(open_run, services.runs),
                profile_of=services.owners.profile,
                limits=turn_limits(settings),
            )
        )


def _equipment(settings: Settings, services: Services, memory: AgentMemory, models: ChatModels) -> EquipmentParts:
    return EquipmentParts(
        memory_of=partial(_memory_of, settings, services),
        scopes_of=partial(_scopes_of, services),
        profile_of=services.owners.profile,
        model_of=models.name_of,
        backends=memory.backends,
        curated=memory.curated,
        recalls=_recalls(memory),
        clock=services.desk.clock,
        schedules_of=partial(LocalSchedules, services.schedules),
        zone=settings.schedule_zone,
        tools=tool_options(settings, services),
    )


def _recalls(memory: AgentMemory) -> bool:
    return memory.workspace is not None and memory.workspace.options.recall


def _task(settings: Settings, rooms: RoomRegistry, live: LiveSession, prompt: Prompt, model: str | None) -> ChatTask:
    return chat_task(settings, rooms, live, prompt.who, model)


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


async def _room_lines(services: Services, who: Principal, place: RoomPlace) -> RoomLines:
    room = _room(services, place)
    # Before the lines: what changes meanwhile is read the next time.
    revision = services.room_memory.revision(who.tenant, room)
    return RoomLines(lines=await services.room_memory.lines(who, room), revision=revision)


async def _file_of_room(services: Services, who: Principal, room: Scope, id: str) -> tuple[Artifact, bytes]:
    artifact, data = await services.artifacts.content(who, id)
    if artifact.room != room:
        raise ArtifactNotFound
    return artifact, data


async def _learn_in_room(
    services: Services, rooms: RoomRegistry, turn: TurnContext, speeches: RoomSpeeches
) -> tuple[str, ...]:
    who = await turn.memory.me()
    place = rooms.place(who.tenant, turn.session, who)
    if place is None or not place.learn or who.role == "reader":
        return ()
    talk = RoomDialogue(turns=speeches.turns, session=turn.session, run=turn.run, shown_ids=speeches.shown_ids)
    return await services.room_lessons.learn(who, _room(services, place), talk)


def _room(services: Services, place: RoomPlace) -> ChatRoom:
    return ChatRoom(channel=place.channel, chat=place.chat, created_at=services.desk.clock.now())
