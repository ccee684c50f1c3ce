"""
What we know of the chats of a channel, kept so that a restart knows it: whether one is a group, whose it is if it is a talk of two, its last webhook and how long
that holds, and the id that DingTalk takes if it is not the chat's own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.channels.dingtalk.options import DingTalkOptions
from commonplace.channels.dingtalk.wire import RobotMessage
from commonplace.ports.channel_store import ChannelStore
from commonplace.values.channel import PlatformError

_PREFIX: Final = "chat/"
_MARGIN: Final = 5.0
"""Seconds before its end at which a webhook is used no more."""
_HOUR: Final = 3_600_000
_NAMES: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class DingTalkChat:
    """`webhook` is a secret: whoever has it writes in the room. `until` in milliseconds."""

    title: str = ""
    is_group: bool = True
    person: str = ""
    webhook: str = ""
    until: int = 0
    open_id: str = ""


class DingTalkChats:
    def __init__(self, tenant: str, channel: str, store: ChannelStore, options: DingTalkOptions) -> None:
        self._place = tenant, channel
        self._store = store
        self._options = options
        self._chats: dict[str, DingTalkChat] = {}
        self._rows: dict[str, DingTalkChat] = {}
        """As the store has them."""
        self._names: dict[str, dict[str, None]] = {}

    async def load(self) -> None:
        """What was kept. What cannot be read is forgotten."""
        for name, text in (await self._store.platform_values(*self._place, _PREFIX)).items():
            try:
                self._rows[name.removeprefix(_PREFIX)] = DingTalkChat(**json.loads(text))
            except (ValueError, TypeError):
                continue
        self._chats = dict(self._rows)

    def chat(self, chat: str) -> DingTalkChat:
        return self._chats.get(chat) or DingTalkChat()

    def knows(self, chat: str) -> bool:
        return chat in self._chats

    def people(self, chat: str) -> tuple[str, ...]:
        """Who spoke there lately."""
        return tuple(self._names.get(chat, ()))

    def hear(self, message: RobotMessage, now: datetime) -> bool:
        """What a message says of its chat. False: its webhook is on a server that is not DingTalk's, and is not used."""
        before = self.chat(message.conversation_id)
        has_webhook = bool(message.session_webhook)
        is_ours = has_webhook and self._options.trusts(message.session_webhook)
        until = message.session_webhook_expired_time
        self._chats[message.conversation_id] = replace(
            before,
            title=message.conversation_title or before.title,
            is_group=message.is_group,
            person="" if message.is_group else message.sender,
            webhook=message.session_webhook if is_ours else before.webhook,
            until=(_milliseconds(now) + _HOUR if until is None else until) if is_ours else before.until,
        )
        names = self._names.setdefault(message.conversation_id, {})
        names.pop(message.sender_nick, None)
        names[message.sender_nick] = None
        for name in list(names)[:-_NAMES]:
            del names[name]
        return is_ours or not has_webhook

    def open_group(self, chat: str, title: str) -> None:
        """We were let in."""
        before = self.chat(chat)
        self._chats[chat] = replace(before, title=title or before.title, is_group=True)

    def webhook(self, chat: str, now: datetime) -> str | None:
        """None: it has ended, or there was none."""
        entry = self.chat(chat)
        holds = bool(entry.webhook) and entry.until > _milliseconds(now) + _MARGIN * 1_000
        return entry.webhook if holds else None

    def drop_webhook(self, chat: str) -> None:
        """DingTalk does not take it any more."""
        if chat in self._chats:
            self._chats[chat] = replace(self._chats[chat], webhook="", until=0)

    def open_id(self, chat: str) -> str:
        """The id by which DingTalk takes messages to the group."""
        return self.chat(chat).open_id or chat

    def chat_id(self, chat: str) -> str | None:
        """The chatId from which DingTalk makes that id, if somebody said it; a room may be named by it, too."""
        return self._options.chat_ids.get(chat) or (chat if chat.startswith("chat") and chat.isalnum() else None)

    async def put_open_id(self, chat: str, open_id: str) -> None:
        self._chats[chat] = replace(self.chat(chat), open_id=open_id)
        await self.keep(chat)

    async def keep(self, chat: str) -> None:
        """So that a restart knows it. Raises PlatformError: it is too long to be anybody's."""
        entry = self._chats.get(chat)
        if entry is None or self._rows.get(chat) == entry:
            return
        text = json.dumps(asdict(entry), ensure_ascii=False)
        if len(text) > 16_384 or "\0" in text:
            raise PlatformError("What DingTalk says of this chat cannot be kept.")
        await self._store.put_platform_value(*self._place, f"{_PREFIX}{chat}", text)
        self._rows[chat] = entry


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)
