"""Talk to the agent: turns of a session, what happens in them, and the permissions they ask for."""

from collections.abc import AsyncGenerator, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request

from commonplace.doors.native.conditions import problems
from commonplace.doors.native.events import MEDIA_TYPE, EventStream, read_event_id
from commonplace.doors.native.sessions import Live, SessionId
from commonplace.events.frames import mention_frame
from commonplace.events.ring import RingEvent, RingStream
from commonplace.server.auth import Caller, Served, app_state
from commonplace.server.door import only_conditions
from commonplace.values.json import Json
from commonplace.values.moment import to_iso
from commonplace.values.permission import PermissionVote
from commonplace.values.session_state import SessionState
from commonplace.values.turn_event import TurnEvent, TurnTicket
from commonplace.wire.shapes import Label
from commonplace.wire.turns import (
    EPOCH,
    EVENT,
    CancelAnswer,
    PermissionBody,
    PermissionsAnswer,
    SayBody,
    SessionStateBody,
)

router = APIRouter(prefix="/v1/sessions", tags=["native"])


@router.post("/{id}/turns", status_code=202, summary="Say something to the agent", responses=problems(404, 409, 421))
async def say(id: SessionId, body: SayBody, who: Caller, sessions: Live) -> TurnTicket:
    """
    It is kept when this answers, and answered by events: listen to `/v1/sessions/{id}/events` from `last_event` on. Turns of a
    session are played one after the other.
    """
    return await sessions.say(who, id, body.text, model=body.model)


@router.delete(
    "/{id}/turns/{run}", summary="Take back what waits for its turn", responses=problems(404, 409, 421), status_code=200
)
async def withdraw(
    id: SessionId, run: Annotated[Label, Path(description="The turn's run.")], who: Caller, sessions: Live
) -> CancelAnswer:
    return CancelAnswer(cancelled=await sessions.withdraw(who, id, run))


@router.post("/{id}/cancel", summary="End the turn that is played", responses=problems(404, 409, 421))
async def cancel(id: SessionId, who: Caller, sessions: Live) -> CancelAnswer:
    """Its tools are stopped, too. What waits is played next."""
    return CancelAnswer(cancelled=await sessions.cancel(who, id))


@router.get("/{id}/state", summary="How a session is set, and what it does now", responses=problems(404, 409, 421))
async def state(id: SessionId, who: Caller, sessions: Live) -> SessionState:
    """Its mode and model with those it may have, its prompts in their order, and the permissions that it waits for."""
    return await sessions.state(who, id)


@router.patch("/{id}/state", summary="Set the mode or the model of a session", responses=problems(404, 409, 421))
async def configure(id: SessionId, body: SessionStateBody, who: Caller, sessions: Live) -> SessionState:
    """For its owner, and for admins. It holds from the next turn on; the mode also for the calls of the turn that is played."""
    return await sessions.configure(who, id, mode=body.mode, model=body.model)


@router.get(
    "/{id}/permissions",
    summary="What waits for your permission",
    responses=problems(404, 409, 421),
    dependencies=[only_conditions()],
)
async def permissions(id: SessionId, who: Caller, sessions: Live) -> PermissionsAnswer:
    return PermissionsAnswer(permissions=tuple(await sessions.permission_requests(who, id)))


@router.post("/{id}/permissions/{request}", summary="Vote on a tool call", responses=problems(404, 409, 421))
async def answer_permission(
    id: SessionId,
    request: Annotated[Label, Path(description="The request's id.")],
    body: PermissionBody,
    who: Caller,
    sessions: Live,
) -> PermissionVote:
    """
    `choice` is one of the request's, or `cancel`, which refuses the call whatever the policy. The answer says whether the vote decided the
    request (`resolved`, with the answer) or was counted, and waits for others (`recorded`). 403 `permission_forbidden`: the policy of the session does
    not let you decide; `details` say why.
    """
    return await sessions.answer(who, id, request, body.choice)


async def _stream(
    id: SessionId,
    who: Caller,
    sessions: Live,
    served: Served,
    last_event_id: Annotated[
        str | None, Query(max_length=64, description="As the header of that name, for clients that cannot send one.")
    ] = None,
    epoch: Annotated[str | None, Query(max_length=64, description="As the header of that name.")] = None,
    resume: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            max_length=64,
            description="The id of the last event you had; what came after it is told first. 0: from the first on.",
        ),
    ] = None,
    same: Annotated[
        str | None,
        Header(alias=EPOCH, max_length=64, description=f"The `{EPOCH}` of the answer that told you of that event."),
    ] = None,
) -> AsyncGenerator[RingStream[TurnEvent]]:
    async with sessions.attend(who, id) as ring:

        async def welcome() -> bool:
            return await served.events.is_welcome(who) and await sessions.hears(who, id, ring)

        with ring.seat(_document) as seat:
            async with served.events.beside(who, seat, mention_frame):
                yield RingStream(
                    ring, seat, welcome, resume=read_event_id(resume or last_event_id), epoch=same or epoch
                )


@router.get(
    "/{id}/events",
    summary="Listen to a session",
    status_code=200,
    response_class=EventStream,
    responses={
        200: {
            "description": "Server-sent events, without an end.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        },
        **problems(404, 409, 421),
    },
)
async def events(request: Request, stream: Annotated[RingStream[TurnEvent], Depends(_stream)]) -> EventStream:
    """
    Each event is a frame with `id`, `event` (its type) and `data`, a JSON document: `turn_started`, `memory_recalled`, `text`,
    `thinking`, `tool_started`, `tool_ended`, `plan`, `permission_asked`, `permission_answered`,
    `permission_voted`, `permission_vote_refused`, `permission_vote_late`, `history_compacted`, `usage`, `turn_ended`,
    `turn_failed`, `memory_learned`; and of the session `prompt_queued`, `prompt_withdrawn`, `mode_changed`, `model_changed`. Ids begin with 1 when a daemon takes the session up; `state_resync_required` says that some are missing:
    read the messages of the session then.

    What happens in the workspace is told as well, as far as you may read its scope: the events of `/v1/events` such as `record.created` and
    `memory_changed`, without an `id`, since they are none of this session's; `log_id` is their place in that log, where those of before are.
    `workspace_events_missed` says how many were left out because you did not keep up.
    """
    answer = EventStream(stream, app_state(request).metrics.subscribers)
    answer.headers[EPOCH] = stream.epoch
    return answer


def _document(entry: RingEvent[TurnEvent]) -> tuple[str, Mapping[str, Json]]:
    event = entry.event
    data: dict[str, Json] = EVENT.dump_python(event, mode="json")
    return event.type, {"id": entry.id, "v": 1, "type": event.type, "at": to_iso(entry.at), "data": data}
