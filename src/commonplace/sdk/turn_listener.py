"""The events of a session, without a connection: which request begins them, and what their frames say."""

from __future__ import annotations

from collections.abc import Mapping

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from commonplace.sdk.documents import part
from commonplace.sdk.event_listener import FrameListener
from commonplace.values.turn_event import EventsMissed, SessionEvent
from commonplace.wire.turns import EPOCH, EVENT


class TurnListener(FrameListener[SessionEvent]):
    """Of one session. A daemon that starts anew counts anew: what is there is then told from the first event on."""

    def __init__(self, session: str, after: int | None) -> None:
        super().__init__(f"/v1/sessions/{part(session)}/events", after)
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

    def event_of(self, frame: ServerSentEvent) -> SessionEvent | None:
        """None for one that says nothing of a turn."""
        answer = self.answer_of(frame)
        if answer is None:
            return None
        if answer.type == "state_resync_required":
            reset = answer.data.get("reason") == "epoch_reset"
            return SessionEvent(id=None, event=EventsMissed(reason="epoch_reset" if reset else "ring_evicted"))
        if answer.id is None:
            return None
        try:
            return SessionEvent(id=answer.id, event=EVENT.validate_python(answer.data))
        except ValidationError:
            # Of a later version.
            return None
