"""What people write in a room of Matrix, as an envelope."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import AnswerTooLong, RequestDenied, ServerBroken, room_path
from commonplace.channels.matrix.events import MESSAGE, MatrixEvent, events_of
from commonplace.channels.matrix.rooms import MatrixRoom
from commonplace.channels.matrix.text import BotName, without_fallback
from commonplace.values.envelope import AttachmentKind, ChatAttachment, Envelope

_TEXTS: Final = frozenset({"m.text", "m.emote"})
_FILES: Final[dict[str, AttachmentKind]] = {
    "m.image": "image",
    "m.file": "file",
    "m.audio": "audio",
    "m.video": "video",
}
_MOST: Final = 1_000
_QUOTED: Final = 4_000
_PATIENCE: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    sender: str
    text: str


class MatrixReader:
    """Messages of ours, of other agents (`m.notice`), and changes of messages are none to answer."""

    def __init__(self, account: MatrixAccount) -> None:
        self._channel = account.values.channel
        self._client = account.client
        self._rooms = account.rooms
        self._clock = account.clock
        self._said: OrderedDict[tuple[str, str], _Said] = OrderedDict()

    async def envelope(self, room: MatrixRoom, event: MatrixEvent) -> Envelope | None:
        """None: it is nothing that anybody said to us or to each other."""
        kind = event.text("msgtype")
        if event.type != MESSAGE or event.is_state or not event.event_id:
            return None
        self._remember(room.chat, event)
        if event.sender == self._rooms.me or event.relation.rel_type == "m.replace":
            return None
        if kind not in _TEXTS and kind not in _FILES:
            return None
        file = _attachment(event, _FILES[kind]) if kind in _FILES else None
        text = _caption(event) if file is not None else without_fallback(event)
        bot = BotName(self._rooms.me, room.members.get(self._rooms.me, ""))
        is_meant = bot.is_meant(event, text)
        quoted = await self._quoted(room.chat, event)
        is_thread = event.relation.rel_type == "m.thread"
        return Envelope(
            id=event.event_id,
            channel=self._channel,
            chat=room.chat,
            sender=event.sender,
            sender_name=room.sender_name(event.sender),
            text=bot.without_address(text) if is_meant else text,
            at=self._moment(event.origin_server_ts),
            thread=event.relation.event_id or None if is_thread else None,
            is_group=room.is_group,
            mentions_bot=is_meant,
            replies_to_bot=quoted is not None and quoted.sender == self._rooms.me,
            quote=quoted.text if quoted is not None else None,
            attachments=() if file is None else (file,),
        )

    def _remember(self, chat: str, event: MatrixEvent) -> None:
        new: Any = event.content.get("m.new_content")
        if event.relation.rel_type == "m.replace" and isinstance(new, dict):
            before = self._said.get((chat, event.relation.event_id))
            body: Any = new.get("body")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
            if before is not None and before.sender == event.sender and isinstance(body, str):
                self._said[chat, event.relation.event_id] = _Said(sender=event.sender, text=body[:_QUOTED])
            return
        self._said[chat, event.event_id] = _Said(sender=event.sender, text=without_fallback(event)[:_QUOTED])
        while len(self._said) > _MOST:
            self._said.popitem(last=False)

    async def _quoted(self, chat: str, event: MatrixEvent) -> _Said | None:
        """What a message answers. In a thread a client that knows none shows the last message so, which means nothing."""
        relation = event.relation
        if not relation.in_reply_to or (relation.rel_type == "m.thread" and relation.is_falling_back):
            return None
        before = self._said.get((chat, relation.in_reply_to))
        if before is not None:
            return before
        try:
            answer = await self._client.get(room_path(chat, "event", relation.in_reply_to), patience=_PATIENCE)
        except (RequestDenied, ServerBroken, AnswerTooLong):
            # It is gone, or was never there, or is one that the server fails at: nobody else waits for it.
            return None
        original = next(events_of([answer]), None)
        if original is None or original.event_id != relation.in_reply_to:
            return None
        self._remember(chat, original)
        return self._said.get((chat, original.event_id))

    def _moment(self, milliseconds: int) -> datetime:
        """When it was said, as its server says: no later than now."""
        now = self._clock.now()
        if not 0 < milliseconds < int(now.timestamp() * 1000):
            return now
        return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _attachment(event: MatrixEvent, kind: AttachmentKind) -> ChatAttachment | None:
    reference = event.text("url")
    if not reference.startswith("mxc://"):
        return None
    return ChatAttachment(kind=kind, name=event.text("filename") or event.text("body") or kind, reference=reference)


def _caption(event: MatrixEvent) -> str:
    """What was written below a file; a body without a name beside it is the name."""
    name, body = event.text("filename"), event.text("body")
    return body if name and body != name else ""
