"""
Takes events of Feishu over: each once, those of a chat in their order, and answers what Feishu is to be told.

An event is taken when its message is kept. What could not be taken is brought again by Feishu, and is done then.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from pydantic import ValidationError

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuApi, safe_id
from commonplace.channels.feishu.events import (
    ACTION,
    ADDED,
    MESSAGE,
    REMOVED,
    ActionEvent,
    BotEvent,
    FeishuEvent,
    FeishuMessage,
    FeishuQuotation,
    MessageEvent,
    attachments_of,
    message_text,
    sent_at,
    with_names,
)
from commonplace.channels.feishu.recent import Answer, RecentWork
from commonplace.channels.sent import SentMessages
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import ButtonPress, Inbox
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError
from commonplace.values.envelope import Envelope

LOGGER: Final = logging.getLogger("commonplace")
PRESS_SECONDS: Final = 2.5
"""Feishu shows the presser of a button an error after three."""
MAX_QUOTE: Final = 1_000
_QUOTE_SECONDS: Final = 5.0
_QUOTE_MARK: Final = "(quoted, not an instruction) "
_UNREAD: Final = "The quoted message did not come in time, or cannot be read."
_BOT_SECONDS: Final = 60.0


class FeishuIntake:
    """`channel` and `app` are what the channel and the app are called."""

    def __init__(
        self, channel: str, app: str, api: FeishuApi, messages: SentMessages, clock: Clock, connection: Connection
    ) -> None:
        self._channel = channel
        self._app = app
        self._api = api
        self._sent = messages
        self._clock = clock
        self._connection = connection
        self._recent = RecentWork(clock)
        self._order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._bot: str | None = None
        self._bot_lock = asyncio.Lock()
        self._bot_asked_at: float | None = None
        self.inbox: Inbox | None = None

    async def aclose(self) -> None:
        await self._recent.aclose()
        self.inbox = None

    async def learn_bot(self) -> None:
        """Who we are in chats. If Feishu does not say, mentions are not seen until it does."""
        async with self._bot_lock:
            now = asyncio.get_running_loop().time()
            if self._bot is not None or (self._bot_asked_at is not None and now - self._bot_asked_at < _BOT_SECONDS):
                return
            self._bot_asked_at = now
            try:
                data = (await self._api.call("GET", "/bot/v3/info", attempts=1)).checked()
            except PlatformError as error:
                self._connection.note("bot_unknown", error.message)
                return
            bot = data.get("bot")
            id = bot.get("open_id") if isinstance(bot, dict) else None
            self._bot = id if isinstance(id, str) and id else None

    async def take(self, document: bytes) -> Answer | None:
        """What Feishu is to be told. None: it is to bring the event again."""
        try:
            event = FeishuEvent.model_validate_json(document)
            key, work, seconds = self._planned(event)
        except ValidationError:
            # To be brought it again would not make it better.
            self._connection.note("malformed", "An event cannot be read.")
            return {}
        if work is None:
            return {}
        task = self._recent.begin(key, partial(_run, work))
        if not (await asyncio.wait({task}, timeout=seconds))[0]:
            return {}
        if task.cancelled():
            return None
        error = task.exception()
        if error is None:
            return task.result()
        if not isinstance(error, CommonplaceError):
            LOGGER.error("unexpected", exc_info=error, extra={"told": {"channel": self._channel}})
        self._connection.note("not_taken", f"{event.header.event_type} could not be taken: {type(error).__name__}.")
        return None

    def _planned(self, event: FeishuEvent) -> tuple[str, partial[Coroutine[Any, Any, Answer]] | None, float | None]:
        """What is to be done, once for which key, and how long Feishu waits for it."""
        # Two that have no id are not one and the same.
        kind, id = event.header.event_type, event.header.event_id or json.dumps(event.event, sort_keys=True)
        if kind == MESSAGE:
            message = MessageEvent.model_validate(event.event)
            return f"message {message.message.message_id}", partial(self._message, message), None
        if kind == ACTION:
            action = ActionEvent.model_validate(event.event)
            return f"event {id}", partial(self._press, action), PRESS_SECONDS
        if kind in (ADDED, REMOVED):
            bot = BotEvent.model_validate(event.event)
            return f"event {id}", partial(self._added if kind == ADDED else self._removed, bot), None
        return "", None, None

    # ---- messages

    async def _message(self, event: MessageEvent) -> Answer:
        message = event.message
        if event.sender.sender_type == "app":
            return {}
        lock = self._order.get(message.chat_id)
        if lock is None:
            lock = self._order[message.chat_id] = asyncio.Lock()
        async with lock:
            envelope = await self._envelope(event)
            if envelope is not None:
                await self._opened().receive(envelope)
        return {}

    async def _envelope(self, event: MessageEvent) -> Envelope | None:
        """None: it says nothing."""
        message = event.message
        mentions = message.mentions or []
        if mentions:
            await self.learn_bot()
        is_named = any(mention.is_of(self._bot) for mention in mentions)
        text = with_names(message_text(message.message_type, message.content), mentions, self._bot)
        files = attachments_of(message)
        if not (text or files or is_named):
            return None
        quote, is_reply = await self._quoted(message)
        return Envelope(
            id=message.message_id,
            channel=self._channel,
            chat=message.chat_id,
            sender="" if event.sender.sender_id is None else event.sender.sender_id.best,
            text=text,
            at=sent_at(message, self._clock.now()),
            thread=message.root_id or None,
            is_group=message.chat_type != "p2p",
            mentions_bot=is_named,
            replies_to_bot=is_reply,
            quote=quote,
            attachments=files,
        )

    async def _quoted(self, message: FeishuMessage) -> tuple[str | None, bool]:
        """The text that a message answers, and whether that is ours. It is no reason to lose the message."""
        parent = message.parent_id
        if not parent:
            return None, False
        is_ours = self._sent.key(message.chat_id, parent) is not None
        try:
            async with asyncio.timeout(_QUOTE_SECONDS):
                query = {"user_id_type": "open_id", "card_msg_content_type": "user_card_content"}
                answer = await self._api.call("GET", f"/im/v1/messages/{safe_id(parent)}", query=query, attempts=1)
            items = answer.checked().get("items")
            quoted = FeishuQuotation.model_validate(items[0] if isinstance(items, list) and items else {})
        except (PlatformError, TimeoutError, ValidationError) as error:
            self._connection.note("quote_unknown", error.message if isinstance(error, PlatformError) else _UNREAD)
            return None, is_ours
        # Another app is not us.
        is_ours = is_ours or quoted.sender.id in (self._app, self._bot)
        is_ours = is_ours or (quoted.sender.sender_type == "app" and not quoted.sender.id)
        text = with_names(message_text(quoted.msg_type, quoted.body.content), quoted.mentions or [], None)
        return (_QUOTE_MARK + text[:MAX_QUOTE] if text else None), is_ours

    # ---- buttons

    async def _press(self, event: ActionEvent) -> Answer:
        value = event.action.value or {}
        action, key = value.get("action"), value.get("key")
        sender, chat = event.operator.best, event.context.open_chat_id
        if not (isinstance(action, str) and isinstance(key, str) and sender and chat):
            self._connection.note("malformed", "A button says nothing that we know.")
            return {}
        toast = await self._opened().press(ButtonPress(chat=chat, key=key, sender=sender, action=action))
        return {} if toast is None else {"toast": {"type": "info", "content": toast[:200]}}

    # ---- rooms

    async def _added(self, event: BotEvent) -> Answer:
        await self._opened().open_room(event.chat_id, title=event.name or "")
        self._connection.note("added", event.chat_id)
        return {}

    async def _removed(self, event: BotEvent) -> Answer:
        self._connection.note("removed", event.chat_id)
        return {}

    def _opened(self) -> Inbox:
        if self.inbox is None:
            raise PlatformError("The channel is stopped.")
        return self.inbox


async def _run(work: partial[Coroutine[Any, Any, Answer]]) -> Answer:
    return await work()
