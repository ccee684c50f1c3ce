"""A channel of DingTalk, as rooms use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from commonplace.channels.connection import Connection
from commonplace.channels.dingtalk.api import DingTalkApi
from commonplace.channels.dingtalk.cards import DingTalkCards
from commonplace.channels.dingtalk.chats import DingTalkChats
from commonplace.channels.dingtalk.delivery import DingTalkDelivery
from commonplace.channels.dingtalk.inbound import envelope_of
from commonplace.channels.dingtalk.markdown import messages
from commonplace.channels.dingtalk.marks import DingTalkMarks
from commonplace.channels.dingtalk.mentions import RobotName
from commonplace.channels.dingtalk.options import DingTalkOptions, DingTalkTimes
from commonplace.channels.dingtalk.stream import DingTalkStream, StreamHandlers
from commonplace.channels.dingtalk.wire import CardPress, GroupEvent, RobotMessage
from commonplace.channels.parts import RoomParts
from commonplace.channels.phrases import words
from commonplace.channels.votes import CHOICES
from commonplace.ports.channel import (
    ButtonPress,
    CardOutcome,
    Channel,
    ChannelLimits,
    Inbox,
    Outgoing,
)
from commonplace.values.channel import MAX_CHAT, ChannelProfile, PlatformError
from commonplace.values.envelope import ChatAttachment
from commonplace.values.moment import utc
from commonplace.values.platform import ConnectionEntry, ConnectionState

LOGGER: Final = logging.getLogger("commonplace")
_CHARACTERS: Final = 100_000
"""Of an answer: it is cut into messages here, where tables and fences are known."""


class DingTalkChannel(Channel):
    def __init__(
        self,
        tenant: str,
        profile: ChannelProfile,
        parts: RoomParts,
        *,
        times: DingTalkTimes | None = None,
        connection: Connection | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises InvalidInput: the settings cannot be used."""
        options = DingTalkOptions.of(profile.settings)
        self._channel = profile.name
        self._clock = parts.clock
        self._times = times or DingTalkTimes()
        self._connection = connection or Connection(profile.name, parts.clock)
        self._api = DingTalkApi(options, parts.clock, times=self._times, sleep=sleep)
        self._chats = DingTalkChats(tenant, profile.name, parts.store, options)
        self._delivery = DingTalkDelivery(self._api, self._chats, self._connection, parts.clock, sleep=sleep)
        self._cards = DingTalkCards(self._api, self._chats, (tenant, profile.name), parts.store)
        self._robot = RobotName(tenant, profile.name, parts.store, options.robot_name)
        self._phrases = words(profile.settings.language)
        self._marks = DingTalkMarks(self._api, self._connection, open_id=self._chats.open_id)
        self._inbox: Inbox | None = None

    @property
    def limits(self) -> ChannelLimits:
        return ChannelLimits(
            characters=_CHARACTERS,
            edits=self._cards.grows,
            edit_seconds=self._times.card_edit,
            buttons=self._cards.asks,
        )

    @property
    def can_cold_send(self) -> bool:
        return self._api.options.is_proactive and not self._api.is_refused

    @property
    def connection(self) -> ConnectionState:
        return self._connection.state

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return self._connection.log

    def people(self, chat: str) -> tuple[str, ...]:
        return self._chats.people(chat)

    @asynccontextmanager
    async def connect(self, inbox: Inbox) -> AsyncGenerator[None]:
        handlers = StreamHandlers(message=self._hear, press=self._press, group=self._open)
        stream = DingTalkStream(self._api, self._connection, handlers)
        for part in (self._chats, self._cards, self._robot):
            await part.load()
        self._inbox = inbox
        ending = asyncio.create_task(self._end_failed())
        try:
            async with self._marks.at_work(), self._connection.keep(stream.listen):
                yield
        finally:
            self._inbox = None
            ending.cancel()
            await asyncio.wait({ending})
            await self._api.aclose()

    async def _end_failed(self) -> None:
        try:
            await self._cards.end_failed()
        except PlatformError as error:
            self._connection.note("card_failed", error.message)

    # ---- in

    async def _hear(self, message: RobotMessage) -> None:
        """Returns when it is kept, or is none of ours."""
        inbox = self._inbox
        if inbox is None:
            raise PlatformError("The channel is being stopped.")
        if not message.conversation_id:
            # Nobody could be answered, and two rooms must not become one.
            self._connection.note(
                "no_conversation", f"A message without conversationId was dropped: {message.msg_id:.80}."
            )
            LOGGER.warning("room", extra={"told": {"channel": self._channel, "outcome": "no_conversation"}})
            return
        now = utc(self._clock.now())
        before = self._chats.chat(message.conversation_id).title
        if not self._chats.hear(message, now):
            self._connection.note("webhook_refused", "A message named a webhook on a server that is not DingTalk's.")
        title = message.conversation_title
        if message.is_group and title and title != before and len(message.conversation_id) <= MAX_CHAT:
            await inbox.open_room(message.conversation_id, title=title)
        await self._robot.learn(message)
        if await inbox.receive(envelope_of(self._channel, message, now, self._robot.text)) is not None:
            await self._chats.keep(message.conversation_id)

    async def _press(self, press: CardPress) -> str | None:
        chat = self._cards.chat_of(press.out_track_id)
        if self._inbox is None or not press.user_id or not press.action:
            return None
        if chat is None:
            # A question of long ago: its buttons are still there, and whoever presses one is to know why nothing happens.
            return self._phrases.question_over if press.action in CHOICES else None
        return await self._inbox.press(
            ButtonPress(chat=chat, key=press.out_track_id, sender=press.user_id, action=press.action)
        )

    async def _open(self, event: GroupEvent) -> None:
        """Somebody let the robot into a group."""
        chat = event.open_conversation_id
        if event.robot_code not in ("", self._api.options.robot_code) or len(chat) > MAX_CHAT or not chat.isprintable():
            return
        if self._inbox is not None:
            self._chats.open_group(chat, event.title)
            await self._inbox.open_room(chat, title=event.title)
            await self._chats.keep(chat)

    # ---- out

    async def send(self, message: Outgoing) -> str:
        if message.card is not None and self._cards.asks:
            try:
                await self._cards.ask(message.chat, message.key, message.text, message.card)
                return message.key
            except PlatformError as error:
                # The question is in the text, too, and so is how to answer it.
                self._connection.note("card_failed", error.message)
        if self._cards.is_growing(message.key):
            await self.edit(message.chat, message.key, message.text, final=not message.partial)
            return message.key
        if message.partial and self._cards.grows:
            try:
                await self._cards.begin(message.chat, message.key, message.text)
            except PlatformError as error:
                # The whole answer comes as text, when it is there.
                self._connection.note("card_failed", error.message)
            return message.key
        await self._delivery.send(message.chat, message.key, messages(message.text), cold=message.cold)
        return message.key

    def is_begun(self, chat: str, key: str) -> bool:
        del chat
        return self._cards.is_growing(key)

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        if not final:
            await self._cards.grow(message, text)
            return
        chunks = messages(text)
        try:
            if chunks and await self._cards.finish(message, chunks[0][1]):
                self._delivery.has_chunk(message)
        except PlatformError as error:
            self._connection.note("card_failed", error.message)
            await self._give_up(message)
        await self._delivery.send(chat, message, chunks)

    async def _give_up(self, message: str) -> None:
        try:
            await self._cards.fail(message)
        except PlatformError as error:
            self._connection.note("card_failed", error.message)

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        if not await self._cards.settle(message, outcome):
            await self._delivery.send(chat, f"{message}-outcome", messages(outcome.text))

    async def react(self, chat: str, message: str, mark: str) -> None:
        self._marks.put(chat, message, mark)

    async def show_typing(self, chat: str, active: bool) -> None:
        """DingTalk shows none."""

    async def download(self, attachment: ChatAttachment) -> bytes:
        body = {"downloadCode": attachment.reference, "robotCode": self._api.options.robot_code}
        answer = await self._api.keyed_call(
            "messageFiles/download", "POST", "/v1.0/robot/messageFiles/download", {**body}
        )
        address = answer.get("downloadUrl")
        if not isinstance(address, str) or not self._api.options.reads(address):
            raise PlatformError("DingTalk named no address for the file.")
        return await self._api.download(address, self.limits.attachment_bytes)


def dingtalk_channel(tenant: str, profile: ChannelProfile, parts: RoomParts) -> Channel:
    """Raises InvalidInput: the settings cannot be used."""
    return DingTalkChannel(tenant, profile, parts)
