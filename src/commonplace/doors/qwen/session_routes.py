"""
The session door: sessions of the agent, as the clients of qwen-code's daemon create, load, talk in and listen to them.

Answers come as events. A client id, which every answer that attaches a client names, addresses events; who may do what is decided by the key.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Header, Path, Query, Request

from commonplace.agent.live_sessions import LiveSessions
from commonplace.doors.native.events import MEDIA_TYPE, EventStream, read_event_id
from commonplace.doors.qwen.session_bridge import Bridge, Reader
from commonplace.doors.qwen.session_bridges import Attachment, Bridges, Restored, model_failed
from commonplace.doors.qwen.session_errors import (
    InvalidApprovalMode,
    InvalidDeadline,
    InvalidMaxQueued,
    InvalidOption,
    InvalidOutcome,
    InvalidPrompt,
    NoPermissionAsked,
    NoPermissionKnown,
    PromptQueueFull,
    VoteForbidden,
)
from commonplace.doors.qwen.session_events import (
    CHOICES,
    WireEvent,
    envelope,
    mention_of_news,
    milliseconds,
    replayed,
)
from commonplace.doors.qwen.session_shapes import (
    CreateBody,
    Heartbeat,
    MetadataAnswer,
    MetadataBody,
    ModeBody,
    ModelBody,
    PendingPrompt,
    PendingPrompts,
    PromptAccepted,
    PromptBody,
    PromptRemoved,
    RestoredSession,
    SessionAnswer,
    SessionModeAnswer,
    SessionModelAnswer,
    SessionRestoreBody,
    VoteBody,
)
from commonplace.doors.qwen.session_state import state_document
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.events.ring import RingStream
from commonplace.events.seat import LONGEST_QUEUE, QUEUE, SHORTEST_QUEUE
from commonplace.governance.access import require_role
from commonplace.server.auth import Caller, Served, app_state, use_case
from commonplace.values.json import Json
from commonplace.values.permission import PermissionForbidden, PermissionNotFound, PermissionResolved
from commonplace.values.principal import Principal
from commonplace.values.session import TurnQueueFull

router = APIRouter(tags=["sessions"])
MOST_PROMPTS: Final = 5
"""Of a session: the one that is played, and those that wait."""
_LONGEST_DEADLINE: Final = 7 * 24 * 3_600_000
_LONGEST_ID: Final = 128

SessionId = Annotated[str, Path(max_length=_LONGEST_ID, description="The session's id.")]
RequestId = Annotated[str, Path(max_length=_LONGEST_ID, description="The request's id, as its event says.")]
Sessions = Annotated[Bridges, use_case(Bridges)]
Live = Annotated[LiveSessions, use_case(LiveSessions)]
ClientId = Annotated[
    str | None,
    Header(alias="X-Qwen-Client-Id", description="The `clientId` of the answer that attached you. It may be left out."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaker:
    """Who asks something of a session that is in use, and with which of their clients."""

    who: Principal
    bridge: Bridge
    client: str | None

    @property
    def session(self) -> str:
        return self.bridge.session.id


async def _speaker(id: SessionId, who: Caller, sessions: Sessions, client: ClientId = None) -> Speaker:
    bridge = await sessions.require(who, id)
    attached = bridge.client_of(who, client)
    name = None if attached is None else attached.id
    return Speaker(who=replace(who, client=name), bridge=bridge, client=name)


async def _writer(id: SessionId, who: Caller, sessions: Sessions, client: ClientId = None) -> Speaker:
    require_role(who, "writer")
    return await _speaker(id, who, sessions, client)


Hears = Annotated[Speaker, Depends(_speaker)]
Speaks = Annotated[Speaker, Depends(_writer)]

# ---- a session


@router.post("/session", summary="Create a session, or attach to yours")
async def create(who: Caller, sessions: Sessions, body: CreateBody = CreateBody()) -> SessionAnswer:  # noqa: B008 - frozen
    """Your session that is in use, if there is one; `sessionScope: thread` makes another."""
    require_role(who, "writer")
    attachment = await sessions.create(who, body)
    return SessionAnswer(**_answer(sessions, attachment))


@router.post("/session/{id}/load", summary="Take a session up again, with what was said in it")
async def load(
    id: SessionId,
    who: Caller,
    sessions: Sessions,
    body: SessionRestoreBody = SessionRestoreBody(),  # noqa: B008 - frozen
) -> RestoredSession:
    restored = await sessions.restore(who, id, body)
    events = enumerate(replayed(restored.bridge.session, restored.messages), start=1)
    return RestoredSession(
        **_restored(sessions, restored),
        compacted_replay=[envelope(number, at, event) for number, (at, event) in events],
        live_journal=restored.bridge.journal(Reader.of(who)),
        history_has_more=restored.has_more,
    )


@router.post("/session/{id}/resume", summary="Take a session up again")
async def resume(
    id: SessionId,
    who: Caller,
    sessions: Sessions,
    body: SessionRestoreBody = SessionRestoreBody(),  # noqa: B008 - frozen
) -> RestoredSession:
    """As `load`, without what was said."""
    return RestoredSession(**_restored(sessions, await sessions.restore(who, id, body)))


@router.delete("/session/{id}", status_code=204, summary="Close a session")
async def close(id: SessionId, who: Caller, sessions: Sessions, client: ClientId = None) -> None:
    """Its turn ends. What was said is kept: `load` takes it up again. For its owner, and for admins."""
    require_role(who, "writer")
    await sessions.close(who, id, client)


@router.post("/session/{id}/detach", status_code=204, summary="Leave a session")
async def detach(id: SessionId, who: Caller, sessions: Sessions, client: ClientId = None) -> None:
    """When its last client has left, it is closed."""
    await sessions.detach(who, id, client)


@router.post("/session/{id}/heartbeat", summary="Say that you are still there")
async def heartbeat(speaker: Hears, served: Served) -> Heartbeat:
    now = served.desk.clock.now()
    return Heartbeat(session_id=speaker.session, client_id=speaker.client, last_seen_at=milliseconds(now))


# ---- prompts


@router.post("/session/{id}/prompt", status_code=202, summary="Say something to the agent")
async def prompt(speaker: Speaks, live: Live, body: PromptBody = PromptBody()) -> PromptAccepted:  # noqa: B008 - frozen
    """It is kept when this answers, and answered by events. Prompts of a session are answered one after the other."""
    deadline = _deadline(body.deadline_ms)
    text = _text(body.prompt)
    bridge, session = speaker.bridge, speaker.session
    async with bridge.say_door:
        count = len((await live.state(speaker.who, session)).prompts)
        if count >= MOST_PROMPTS:
            raise PromptQueueFull.of(session, limit=MOST_PROMPTS, pending=count)
        position = bridge.ring.position
        try:
            ticket = await live.say(speaker.who, session, text)
        except TurnQueueFull as error:
            raise PromptQueueFull.of(session, limit=MOST_PROMPTS, pending=MOST_PROMPTS) from error
        if deadline is not None:
            bridge.limit(ticket.run, deadline, partial(_stop, live, speaker.who, session, ticket.run))
    return PromptAccepted(prompt_id=ticket.run, last_event_id=position, event_epoch=bridge.ring.epoch)


@router.post("/session/{id}/cancel", status_code=204, summary="End the turn that is played")
async def cancel(speaker: Speaks, live: Live) -> None:
    """What waits is played next."""
    speaker.bridge.tell(*speaker.bridge.translator.cancelled(speaker.client))
    await live.cancel(speaker.who, speaker.session)


@router.get("/session/{id}/pending-prompts", summary="What is played, and what waits")
async def pending_prompts(speaker: Hears, live: Live) -> PendingPrompts:
    state = await live.state(speaker.who, speaker.session)
    return PendingPrompts(
        pending_prompts=[
            PendingPrompt(
                prompt_id=prompt.run,
                text=prompt.text,
                queued_at=milliseconds(prompt.at),
                state=prompt.state,
                originator_client_id=prompt.client if prompt.client in speaker.bridge.clients else None,
            )
            for prompt in state.prompts
        ]
    )


@router.delete("/session/{id}/pending-prompts/{prompt}", summary="Take back what waits for its turn")
async def remove_prompt(
    prompt: Annotated[str, Path(max_length=_LONGEST_ID, description="The prompt's id.")], speaker: Speaks, live: Live
) -> PromptRemoved:
    return PromptRemoved(removed=await live.withdraw(speaker.who, speaker.session, prompt))


# ---- events


async def _stream(
    id: SessionId,
    speaker: Hears,
    live: Live,
    served: Served,
    max_queued: Annotated[
        str | None,
        Query(alias="maxQueued", max_length=20, description="How many events may wait for you before you are let go."),
    ] = None,
    resume: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            max_length=64,
            description="The id of the last event you had; what came after it is told first. 0: from the first on.",
        ),
    ] = None,
    epoch: Annotated[
        str | None,
        Header(alias="X-Qwen-Event-Epoch", max_length=64, description="The epoch that this event is of."),
    ] = None,
) -> AsyncGenerator[RingStream[WireEvent]]:
    bridge = speaker.bridge
    who = await served.desk.with_every_scope(speaker.who)
    reader, size = Reader.of(who), _queue(max_queued)

    async def welcome() -> bool:
        return await served.events.is_welcome(who) and await live.hears(who, id, bridge.source)

    async with live.attend(speaker.who, id):
        with bridge.ring.seat(reader, size) as seat:
            async with served.events.beside(who, seat, mention_of_news):
                yield RingStream(bridge.ring, seat, welcome, resume=read_event_id(resume), epoch=epoch)


@router.get(
    "/session/{id}/events",
    summary="Listen to a session",
    status_code=200,
    response_class=EventStream,
    responses={
        200: {
            "description": "Server-sent events, without an end.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        },
    },
)
async def events(request: Request, stream: Annotated[RingStream[WireEvent], Depends(_stream)]) -> EventStream:
    """
    Each event is a frame with `id`, `event` and `data`, the whole event as JSON. Ids begin with 1 when the session is taken up;
    `state_resync_required` says that some are missing: load the session then. What else happens in the workspace is told without an id, as far as
    you may read it.
    """
    answer = EventStream(stream, app_state(request).metrics.subscribers)
    answer.headers["Cache-Control"] = "no-cache, no-transform"
    answer.headers["X-Qwen-Event-Epoch"] = stream.epoch
    answer.headers["X-Qwen-Sse-Stream-Id"] = str(uuid.uuid4())
    return answer


# ---- permissions


@router.post("/session/{id}/permission/{request}", summary="Permit a tool call, or refuse it")
async def vote(request: RequestId, speaker: Speaks, live: Live, body: VoteBody = VoteBody()) -> dict[str, Json]:  # noqa: B008 - frozen
    await _vote(speaker, live, request, body)
    return {}


@router.post("/permission/{request}", summary="Permit a tool call of any of your sessions, or refuse it")
async def vote_anywhere(
    request: RequestId,
    who: Caller,
    sessions: Sessions,
    live: Live,
    client: ClientId = None,
    body: VoteBody = VoteBody(),  # noqa: B008 - frozen
) -> dict[str, Json]:
    require_role(who, "writer")
    for bridge in sessions.of_tenant(who.tenant):
        if request in bridge.translator.requests and await sessions.reaches(who, bridge):
            attached = bridge.client_of(who, client)
            name = None if attached is None else attached.id
            speaker = Speaker(who=replace(who, client=name), bridge=bridge, client=name)
            await _vote(speaker, live, request, body)
            return {}
    raise NoPermissionKnown.of(request)


async def _vote(speaker: Speaker, live: LiveSessions, request: str, body: VoteBody) -> None:
    option = _option(body)
    pending = speaker.bridge.translator.requests.get(request)
    if pending is None:
        raise NoPermissionAsked.of(request, speaker.session)
    choice = "cancel" if option is None else CHOICES.get(option)
    if choice is None or choice not in (*pending.choices, "cancel"):
        raise InvalidOption.of(request, str(option)[:_LONGEST_ID])
    try:
        await live.answer(speaker.who, speaker.session, request, choice)
    except (PermissionNotFound, PermissionResolved) as error:
        raise NoPermissionAsked.of(request, speaker.session) from error
    except PermissionForbidden as error:
        raise VoteForbidden.of(request, speaker.session, str(error.details.get("reason"))) from error


# ---- how it is set


@router.post("/session/{id}/approval-mode", summary="Say how much a session asks")
async def set_mode(speaker: Speaks, live: Live, body: ModeBody = ModeBody()) -> SessionModeAnswer:  # noqa: B008 - frozen
    """For its owner, and for admins."""
    mode = body.mode
    if not isinstance(mode, str) or not mode:
        raise InvalidApprovalMode("`mode` is required and must be a string")
    before = (await live.state(speaker.who, speaker.session)).options
    if mode not in {option.id for option in before.modes}:
        names = ", ".join(option.id for option in before.modes)
        raise InvalidApprovalMode(f"`mode` must be one of: {names}")
    await live.configure(speaker.who, speaker.session, mode=mode)
    return SessionModeAnswer(session_id=speaker.session, mode=mode, previous=before.mode)


@router.post("/session/{id}/model", summary="Choose the model of a session")
async def set_model(speaker: Speaks, live: Live, body: ModelBody = ModelBody()) -> SessionModelAnswer:  # noqa: B008 - frozen
    """For its owner, and for admins."""
    model = body.model_id
    if not isinstance(model, str) or not model:
        raise InvalidInput("`modelId` is required and must be a string")
    try:
        await live.configure(speaker.who, speaker.session, model=model)
    except InvalidInput as error:
        speaker.bridge.tell(model_failed(speaker.bridge, model, error, speaker.client))
        raise
    return SessionModelAnswer(session_id=speaker.session, model_id=model)


@router.patch("/session/{id}/metadata", summary="Name a session")
async def set_metadata(
    speaker: Speaks,
    served: Served,
    body: MetadataBody = MetadataBody(),  # noqa: B008 - frozen
) -> MetadataAnswer:
    """For its owner, and for admins."""
    name = body.display_name
    if not isinstance(name, str):
        raise InvalidInput("`displayName` is required and must be a string")
    changed = await served.history.change(speaker.who, speaker.session, {"title": name})
    title = changed.title or name
    data: dict[str, Json] = {"sessionId": speaker.session, "displayName": title, "titleSource": "manual"}
    speaker.bridge.tell(WireEvent(type="session_metadata_updated", data=data, client=speaker.client))
    return MetadataAnswer(session_id=speaker.session, display_name=title)


# ---- what was sent


def _answer(sessions: Bridges, attachment: Attachment) -> dict[str, Any]:
    bridge = attachment.bridge
    return {
        "session_id": bridge.session.id,
        "workspace_cwd": str(sessions.workspace),
        "attached": attachment.attached,
        "client_id": attachment.client.id,
        "created_at": bridge.session.created_at,
        "event_epoch": bridge.ring.epoch,
        "has_active_prompt": attachment.is_busy if attachment.attached else None,
        "model_applied": attachment.model_applied,
    }


def _restored(sessions: Bridges, restored: Restored) -> dict[str, Any]:
    return {
        **_answer(sessions, restored),
        "has_active_prompt": restored.is_busy,
        "state": state_document(restored.state.options),
        "last_event_id": restored.bridge.ring.position,
    }


def _deadline(value: object) -> float | None:
    """In seconds. Raises InvalidDeadline."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _LONGEST_DEADLINE:
        raise InvalidDeadline
    return value / 1000


async def _stop(live: LiveSessions, who: Principal, session: str, run: str) -> None:
    """Its deadline has passed, whether it is played or waits. Nobody waits for this: if the session is gone, so is the turn."""
    with suppress(CommonplaceError):
        if not await live.withdraw(who, session, run):
            await live.cancel(who, session, run=run)


def _text(blocks: object) -> str:
    """What the blocks of a prompt say. Raises InvalidPrompt."""
    if not isinstance(blocks, list) or not blocks:
        raise InvalidPrompt
    texts = [_block(block) for block in cast(Sequence[object], blocks)]
    return "\n\n".join(texts)


def _block(block: object) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            return f"[{name}]({uri})"
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return f"{uri}:\n{text}"
        case {"type": "text" | "resource_link" | "resource"}:
            raise InvalidPrompt("A content block lacks its text or its uri.")
        case _:
            raise InvalidPrompt("Only text, links and embedded texts can be said. Leave images and sounds out.")


def _queue(value: str | None) -> int:
    if value is None:
        return QUEUE
    if not (value.isascii() and value.isdecimal()) or not SHORTEST_QUEUE <= int(value) <= LONGEST_QUEUE:
        raise InvalidMaxQueued
    return int(value)


def _option(body: VoteBody) -> str | None:
    """The option that was chosen; None: the request is cancelled. Raises InvalidOutcome."""
    match body.outcome:
        case {"outcome": "selected", "optionId": str(option)}:
            return option
        case {"outcome": "cancelled"}:
            return None
        case _:
            raise InvalidOutcome
