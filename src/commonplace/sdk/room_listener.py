"""The events of a room, without a connection."""

from __future__ import annotations

from collections.abc import Mapping

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from commonplace.sdk.documents import part
from commonplace.sdk.event_listener import FrameListener
from commonplace.values.room_event import HeardInRoom
from commonplace.wire.channels import ROOM_EVENT
from commonplace.wire.turns import EPOCH


class RoomListener(FrameListener[HeardInRoom]):
    """Of one room. A daemon that starts anew counts anew."""

    def __init__(self, channel: str, room: str, after: int | None) -> None:
        super().__init__(f"/v1/channels/{part(channel)}/rooms/{part(room)}/events", after)
        self._epoch: str | None = None

    def begin(self) -> dict[str, str]:
        headers = super().begin()
        return headers if self._epoch is None or self._after is None else {**headers, EPOCH: self._epoch}

    def opened(self, headers: Mapping[str, str]) -> None:
        epoch = headers.get(EPOCH.lower())
        if self._epoch not in (None, epoch):
            # It counts anew, and tells all that there is.
            self.rewind()
        self._epoch = epoch

    def event_of(self, frame: ServerSentEvent) -> HeardInRoom | None:
        """None for one that says nothing of the room."""
        answer = self.answer_of(frame)
        if answer is None:
            return None
        if answer.type == "state_resync_required":
            return HeardInRoom(id=None, event=None)
        if answer.id is None:
            return None
        try:
            return HeardInRoom(id=answer.id, event=ROOM_EVENT.validate_python(answer.data))
        except ValidationError:
            # Of a later version.
            return None
