"""A channel of Feishu, or Lark: what the port `Channel` asks for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuApi, safe_id
from commonplace.channels.feishu.intake import FeishuIntake
from commonplace.channels.feishu.long_connection import LongConnection
from commonplace.channels.feishu.messages import LIMITS, NO_RIGHT, FeishuMessages, MessagePlace
from commonplace.channels.feishu.options import FeishuOptions
from commonplace.channels.feishu.webhook import FeishuWebhook, WebhookListener
from commonplace.channels.sent import SentMessages
from commonplace.ports.channel import CardOutcome, Channel, ChannelLimits, Inbox, Outgoing
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError
from commonplace.values.envelope import ChatAttachment
from commonplace.values.json import Json
from commonplace.values.platform import ConnectionEntry, ConnectionState

_MARKS: Final = {"👀": "OnIt", "✅": "DONE", "👍": "THUMBSUP", "❤️": "HEART"}
_SEEN: Final = "OnIt"
_MOST_MARKS: Final = 2_000
_FILE_SECONDS: Final = 30.0


class FeishuChannel(Channel):
    def __init__(
        self, options: FeishuOptions, place: MessagePlace, api: FeishuApi, connection: Connection, clock: Clock
    ) -> None:
        self._api = api
        self._connection = connection
        own_messages = SentMessages()
        self._messages = FeishuMessages(api, own_messages, place, options.title)
        self._intake = FeishuIntake(place.channel, options.app_id, api, own_messages, clock, connection)
        self._reactions: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._can_react = True
        self.listener: WebhookListener | None = None
        """Where events come in, if they come by the webhook."""
        if options.webhook is None:
            is_safe = options.server.startswith("https:")
            self._listen = LongConnection(api, self._intake, connection, clock, safe=is_safe).listen
        else:
            webhook = FeishuWebhook(options.webhook, self._intake, connection, clock)
            self.listener = WebhookListener(options.webhook, webhook, connection)
            self._listen = self.listener.listen

    @property
    def limits(self) -> ChannelLimits:
        return LIMITS

    @property
    def can_cold_send(self) -> bool:
        return True

    def people(self, chat: str) -> tuple[str, ...]:
        """Feishu does not say who looks at a chat."""
        del chat
        return ()

    @property
    def connection(self) -> ConnectionState:
        return self._connection.state

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return self._connection.log

    @asynccontextmanager
    async def connect(self, inbox: Inbox) -> AsyncGenerator[None]:
        async with self._api.open():
            await self._messages.load()
            self._intake.inbox = inbox
            try:
                async with self._connection.keep(self._listen):
                    yield
            finally:
                await self._intake.aclose()

    async def send(self, message: Outgoing) -> str:
        return await self._messages.send(message)

    def is_begun(self, chat: str, key: str) -> bool:
        return self._messages.is_begun(chat, key)

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        await self._messages.edit(chat, message, text, final=final)

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        await self._messages.settle(chat, message, outcome)

    async def react(self, chat: str, message: str, mark: str) -> None:
        """Without the right to it, which an app need not have, messages are not marked."""
        if not self._can_react:
            return
        path = f"/im/v1/messages/{safe_id(message)}/reactions"
        reaction = self._reactions.pop((chat, message), None)
        if reaction is not None:
            await self._api.call("DELETE", f"{path}/{safe_id(reaction)}")
        if not mark:
            return
        body: dict[str, Json] = {"reaction_type": {"emoji_type": _MARKS.get(mark, _SEEN)}}
        answer = await self._api.call("POST", path, body=body)
        if answer.problem is not None:
            self._can_react = answer.code not in NO_RIGHT
            self._connection.note("no_reactions", answer.problem)
            return
        id = answer.data.get("reaction_id")
        if isinstance(id, str):
            self._reactions[chat, message] = id
            while len(self._reactions) > _MOST_MARKS:
                self._reactions.popitem(last=False)

    async def show_typing(self, chat: str, active: bool) -> None:
        """Feishu has nothing of the kind: the mark and the card that grows say it."""
        del chat, active

    async def download(self, attachment: ChatAttachment) -> bytes:
        parts = attachment.reference.split("/")
        if len(parts) != 3 or parts[1] not in ("image", "file"):
            raise PlatformError(f"{attachment.name!r:.80} is no file of Feishu.")
        path = f"/im/v1/messages/{safe_id(parts[0])}/resources/{safe_id(parts[2])}"
        return await self._api.content(path, {"type": parts[1]}, most=LIMITS.attachment_bytes, seconds=_FILE_SECONDS)
