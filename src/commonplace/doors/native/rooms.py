"""Rooms of our own: people with a key make them, speak in them, and hear what happens there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request

from commonplace.channels.rooms import Rooms, RoomSpeech, person_name
from commonplace.doors.native.artifacts import FILE_IN
from commonplace.doors.native.conditions import problems
from commonplace.doors.native.events import MEDIA_TYPE, EventStream, read_event_id
from commonplace.events.ring import RingEvent, RingStream
from commonplace.server.auth import Caller, Served, app_state, use_case
from commonplace.server.door import only_conditions
from commonplace.values.artifact import Artifact
from commonplace.values.channel import ChatRoom, RoomMessage, RoomMessagePage
from commonplace.values.json import Json
from commonplace.values.moment import to_iso
from commonplace.values.permission import PermissionVote
from commonplace.values.room_event import RoomEvent
from commonplace.values.room_memory import RoomMemoryChange
from commonplace.wire.channels import (
    ROOM_EVENT,
    RoomBody,
    RoomCorrectBody,
    RoomDeletedAnswer,
    RoomForgetBody,
    RoomMemoryAnswer,
    RoomMemoryBody,
    RoomMessagesQuery,
    RoomsAnswer,
    RoomSayBody,
    RoomsQuery,
    RoomTypingBody,
    RoomVoteBody,
)
from commonplace.wire.shapes import Label
from commonplace.wire.turns import EPOCH

router = APIRouter(prefix="/v1/channels/{channel}/rooms", tags=["native"])

ChannelName = Annotated[Label, Path(description="The channel's name.")]
ChatId = Annotated[Label, Path(description="The room's id in its channel.")]
RoomHouse = Annotated[Rooms, use_case(Rooms)]


@router.get("", summary="List your rooms", responses=problems(404))
async def rooms(
    channel: ChannelName, query: Annotated[RoomsQuery, Query()], who: Caller, house: RoomHouse
) -> RoomsAnswer:
    """Those that you are a member of; `everyone`: all, for admins."""
    return RoomsAnswer(tuple(await house.rooms(who, channel, everyone=query.everyone)))


@router.post("", status_code=201, summary="Make a room", responses=problems(404))
async def create_room(channel: ChannelName, body: RoomBody, who: Caller, house: RoomHouse) -> ChatRoom:
    """It is yours. Let others in with `POST /v1/members`, scope `channel:<channel>/<id>`."""
    return await house.create(who, channel, body.title, chat=body.id)


@router.get("/{chat}", summary="Look at a room", responses=problems(404))
async def room(channel: ChannelName, chat: ChatId, who: Caller, house: RoomHouse) -> ChatRoom:
    return await house.room(who, channel, chat)


@router.delete("/{chat}", summary="Remove a room with all that was said in it", responses=problems(404, 421))
async def remove_room(channel: ChannelName, chat: ChatId, who: Caller, house: RoomHouse) -> RoomDeletedAnswer:
    """For its owner, and for admins. What it remembers stays until its scope is purged."""
    await house.delete(who, channel, chat)
    return RoomDeletedAnswer(chat)


@router.get("/{chat}/messages", summary="Read what was said in a room", responses=problems(404))
async def room_messages(
    channel: ChannelName, chat: ChatId, query: Annotated[RoomMessagesQuery, Query()], who: Caller, house: RoomHouse
) -> RoomMessagePage:
    """In order, the last ones, or the last before `before`."""
    return await house.messages(who, channel, chat, before=query.before, limit=query.limit)


@router.post("/{chat}/messages", status_code=202, summary="Say something in a room", responses=problems(404, 409, 421))
async def say_in_room(
    channel: ChannelName, chat: ChatId, body: RoomSayBody, who: Caller, house: RoomHouse
) -> RoomMessage:
    """It is kept when this answers. The agent answers in the room, if it is meant; commands such as `/help` are for the room itself."""
    words = RoomSpeech(
        text=body.text,
        mention=body.mention,
        reply_to=body.reply_to,
        id=body.id,
        speaker=body.speaker,
        attachments=tuple(body.attachments),
    )
    return await house.say(who, channel, chat, words)


@router.post(
    "/{chat}/files",
    status_code=201,
    summary="Upload a file to a room",
    responses=problems(404, 409, 413),
    openapi_extra=FILE_IN,
)
async def upload_to_room(
    request: Request,
    channel: ChannelName,
    chat: ChatId,
    who: Caller,
    house: RoomHouse,
    name: Annotated[str, Query(min_length=1, max_length=1_000, description="What it is called.")],
) -> Artifact:
    """The body is the file. It is the room's, and is said in it by `attachments` of a message. Its type is that of its name."""
    return await house.upload(who, channel, chat, name, None, await request.body())


@router.post("/{chat}/typing", status_code=204, summary="Let others see that you write", responses=problems(404, 421))
async def typing(channel: ChannelName, chat: ChatId, body: RoomTypingBody, who: Caller, house: RoomHouse) -> None:
    await house.show_typing(who, channel, chat, body.active)


@router.post(
    "/{chat}/permissions/{request}", summary="Answer what a tool asks of a room", responses=problems(404, 409, 421)
)
async def vote_in_room(
    channel: ChannelName,
    chat: ChatId,
    request: Annotated[Label, Path(description="The request's id.")],
    body: RoomVoteBody,
    who: Caller,
    house: RoomHouse,
) -> PermissionVote:
    """Whose vote decides is in the channel's settings; unless they say otherwise, the first one's."""
    return await house.vote(who, channel, chat, request, body.choice)


@router.get(
    "/{chat}/memory", summary="What a room remembers", responses=problems(404), dependencies=[only_conditions()]
)
async def room_memory(channel: ChannelName, chat: ChatId, who: Caller, house: RoomHouse) -> RoomMemoryAnswer:
    """The lines of its file, each with who said it."""
    return RoomMemoryAnswer(await house.memory(who, channel, chat))


@router.post("/{chat}/memory", summary="Let a room remember something", responses=problems(404, 409))
async def remember_in_room(
    channel: ChannelName, chat: ChatId, body: RoomMemoryBody, who: Caller, house: RoomHouse
) -> RoomMemoryChange:
    """A line more, or all of them anew. What it says already is kept once."""
    return await house.remember(who, channel, chat, body.content, replace_all=body.mode == "replace")


@router.post("/{chat}/memory/forget", summary="Let a room forget a line", responses=problems(404))
async def forget_in_room(
    channel: ChannelName, chat: ChatId, body: RoomForgetBody, who: Caller, house: RoomHouse
) -> RoomMemoryChange:
    """For those who may change the room for everybody (`allowed` of its channel)."""
    return await house.forget(who, channel, chat, body.line)


@router.post("/{chat}/memory/correct", summary="Let a line of a room say something else", responses=problems(404))
async def correct_in_room(
    channel: ChannelName, chat: ChatId, body: RoomCorrectBody, who: Caller, house: RoomHouse
) -> RoomMemoryChange:
    """For those who may change the room for everybody. The line is the caller's from now on."""
    return await house.correct(who, channel, chat, body.line, body.text)


async def _stream(
    channel: ChannelName,
    chat: ChatId,
    who: Caller,
    house: RoomHouse,
    served: Served,
    last_event_id: Annotated[
        str | None, Query(max_length=64, description="As the header of that name, for clients that cannot send one.")
    ] = None,
    epoch: Annotated[str | None, Query(max_length=64, description="As the header of that name.")] = None,
    resume: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID", max_length=64, description="The id of the last event you had. 0: from the first."
        ),
    ] = None,
    same: Annotated[
        str | None,
        Header(alias=EPOCH, max_length=64, description=f"The `{EPOCH}` of the answer that told you of that event."),
    ] = None,
) -> AsyncGenerator[RingStream[RoomEvent]]:
    ring, platform = await house.ring(who, channel, chat)

    async def welcome() -> bool:
        return await served.events.is_welcome(who) and await house.hears(who, channel, chat, ring)

    with ring.seat(_document) as seat:
        stream = RingStream(ring, seat, welcome, resume=read_event_id(resume or last_event_id), epoch=same or epoch)
        # Whoever comes hears who is there.
        platform.arrive(chat, person_name(who))
        try:
            yield stream
        finally:
            platform.leave(chat, person_name(who))


@router.get(
    "/{chat}/events",
    summary="Listen to a room",
    status_code=200,
    response_class=EventStream,
    responses={
        200: {
            "description": "Server-sent events, without an end.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        },
        **problems(404, 421),
    },
)
async def room_events(request: Request, stream: Annotated[RingStream[RoomEvent], Depends(_stream)]) -> EventStream:
    """
    Frames as those of a session: `message`, `message_changed`, `typing`, `marked`, `presence`. `state_resync_required` says that some are
    missing: read the messages then.
    """
    answer = EventStream(stream, app_state(request).metrics.subscribers)
    answer.headers[EPOCH] = stream.epoch
    return answer


def _document(entry: RingEvent[RoomEvent]) -> tuple[str, Mapping[str, Json]]:
    event = entry.event
    data: dict[str, Json] = ROOM_EVENT.dump_python(event, mode="json")
    return event.type, {"id": entry.id, "v": 1, "type": event.type, "at": to_iso(entry.at), "data": data}
