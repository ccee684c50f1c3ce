"""
The memory of a room at the remember door: a client that knows a session of the agent writes to what the room of that session remembers.

Which room that is, is looked up here; the client names the session and nothing else. Whoever does not reach the room finds no such session.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter

from commonplace.channels.rooms import Rooms
from commonplace.doors.qwen.session_errors import SessionNotFound
from commonplace.doors.qwen.session_routes import SessionId
from commonplace.doors.qwen.shapes import RoomWrite, RoomWritten
from commonplace.errors import InvalidContent, InvalidMode
from commonplace.governance.access import require_role
from commonplace.server.auth import KeyedCaller, use_case
from commonplace.values.channel import RoomNotFound

router = APIRouter(tags=["remember"])


@router.post("/channel/{id}/memory", summary="Let the room of a session remember something")
async def remember_in_room_of_session(
    id: SessionId,
    who: KeyedCaller,
    house: Annotated[Rooms, use_case(Rooms)],
    body: RoomWrite = RoomWrite(),  # noqa: B008 - frozen
) -> RoomWritten:
    """A line more, or all of them anew. `changed` is false if it says so already. For the room's members."""
    require_role(who, "writer")
    try:
        room = await house.of_session(who, id)
    except RoomNotFound as error:
        raise SessionNotFound.of(id) from error
    mode = _mode(body.mode)
    if not isinstance(body.content, str):
        raise InvalidContent
    change = await house.remember(who, room.channel, room.chat, body.content, replace_all=mode == "replace")
    return RoomWritten(
        channel_name=room.channel,
        chat_id=room.chat,
        line_count=len(change.lines),
        mode=mode,
        changed=change.changed,
    )


def _mode(value: object) -> Literal["append", "replace"]:
    if value is None or value == "append":
        return "append"
    if value == "replace":
        return "replace"
    raise InvalidMode
