"""
How a message gets into a chat: by the webhook of the last message there as long as that holds, else by ourselves.

There is no key by which DingTalk would know a message again. So one is sent a second time, or in the other way, only if DingTalk
said that it did not take it; after a chunk that failed nothing more of the message is sent, until it is sent again, which goes on behind the chunks that are there.

A robot that writes too much is shut out for minutes. So no chat gets more messages in a minute than DingTalk is known to take.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast
from urllib.parse import quote

from commonplace.channels.connection import Connection
from commonplace.channels.dingtalk.api import DingTalkApi, DingTalkThrottled, DingTalkTurnedAway, InvalidConversation
from commonplace.channels.dingtalk.chats import DingTalkChats
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused
from commonplace.values.json import Json

_TEMPLATE: Final = "sampleMarkdown"
_MOST: Final = 1_000
_HELD_BACK: Final = 60.0


class DingTalkDelivery:
    def __init__(
        self,
        api: DingTalkApi,
        chats: DingTalkChats,
        connection: Connection,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._api = api
        self._chats = chats
        self._connection = connection
        self._clock = clock
        self._sleep = sleep
        self._begun: OrderedDict[str, int] = OrderedDict()
        """How many chunks are there of a message that is not there whole, by its key."""
        self._recent: dict[str, deque[datetime]] = {}
        """When the last messages were written, by chat."""

    async def send(self, chat: str, key: str, chunks: Sequence[tuple[str, str]], *, cold: bool = False) -> None:
        """Titles and texts, in their order. `cold`: without a webhook. Raises PlatformError: this one and what is behind it is not there, or may not be."""
        for title, text in chunks[self._begun.get(key, 0) :]:
            await self._pace(chat)
            await self._send(chat, title, text, cold=cold)
            self.has_chunk(key)
        self._begun.pop(key, None)

    def has_chunk(self, key: str) -> None:
        """One more chunk of a message is in the chat, however it came there."""
        self._begun[key] = self._begun.get(key, 0) + 1
        while len(self._begun) > _MOST:
            self._begun.popitem(last=False)

    async def _pace(self, chat: str) -> None:
        times, now = self._api.times, self._clock.now()
        recent = self._recent.setdefault(chat, deque(maxlen=times.burst))
        wait = 0.0
        if len(recent) == times.burst:
            wait = min((recent[0] - now).total_seconds() + times.burst_seconds, times.burst_seconds)
        if wait > 0:
            await self._sleep(wait)
        recent.append(now + timedelta(seconds=max(wait, 0.0)))

    async def _send(self, chat: str, title: str, text: str, *, cold: bool) -> None:
        webhook = None if cold else self._chats.webhook(chat, self._clock.now())
        if webhook is not None:
            body: dict[str, Json] = {"msgtype": "markdown", "markdown": {"title": title, "text": text}}
            try:
                await self._api.reply(webhook, body)
                return
            except (DingTalkTurnedAway, PlatformRefused) as error:
                # It was certainly not taken: the webhook has ended before its time.
                self._connection.note("webhook_ended", error.message)
                self._chats.drop_webhook(chat)
                await self._chats.keep(chat)
        await self._send_first(chat, title, text)

    async def _send_first(self, chat: str, title: str, text: str) -> None:
        """Without being asked: to a group by its id, to a person by theirs."""
        if not self._api.options.is_proactive:
            raise PlatformError(
                "The channel is set to answer only, and nobody has written in this chat lately. Somebody has to write to the robot first."
            )
        body: dict[str, Json] = {
            "robotCode": self._api.options.robot_code,
            "msgKey": _TEMPLATE,
            "msgParam": json.dumps({"title": title, "text": text}, ensure_ascii=False),
        }
        entry = self._chats.chat(chat)
        if entry.is_group:
            await self._send_to_group(chat, body)
        else:
            await self._send_to_person(entry.person, body)

    async def _send_to_group(self, chat: str, body: dict[str, Json]) -> None:
        async def send(open_id: str) -> None:
            await self._api.call(
                "groupMessages/send",
                "POST",
                "/v1.0/robot/groupMessages/send",
                {**body, "openConversationId": open_id},
            )

        open_id = self._chats.open_id(chat)
        try:
            await send(open_id)
        except InvalidConversation as error:
            other = await self._converted(chat, error)
            if other == open_id:
                raise
            await send(other)
            await self._chats.put_open_id(chat, other)

    async def _converted(self, chat: str, error: InvalidConversation) -> str:
        """The id that DingTalk takes, from the chatId that somebody named."""
        chat_id = self._chats.chat_id(chat)
        if chat_id is None:
            raise InvalidConversation(
                f"{error.message} Name the group's chatId in the option chat_ids, as {chat}=chat…: the right id is made of it."
            ) from error
        path = f"/v1.0/im/chat/{quote(chat_id, safe='')}/convertToOpenConversationId"
        answer = await self._api.keyed_call("convertToOpenConversationId", "POST", path, {})
        open_id = answer.get("openConversationId")
        if not isinstance(open_id, str) or not open_id:
            raise InvalidConversation(f"{error.message} DingTalk made no id of the chatId that is configured.")
        return open_id

    async def _send_to_person(self, person: str, body: dict[str, Json]) -> None:
        what = "oToMessages/batchSend"
        answer = await self._api.call(what, "POST", "/v1.0/robot/oToMessages/batchSend", {**body, "userIds": [person]})
        if _named(answer, "invalidStaffIdList"):
            raise DingTalkTurnedAway(
                f"{what}: invalidStaffId: DingTalk does not know this person, or they do not see the app."
            )
        if _named(answer, "flowControlledStaffIdList"):
            raise DingTalkThrottled(
                f"{what}: flowControlled: DingTalk holds messages to this person back.", retry_after=_HELD_BACK
            )


def _named(answer: dict[str, Any], name: str) -> list[Any]:
    """Those whom DingTalk names in a list."""
    people = answer.get(name)
    return cast("list[Any]", people) if isinstance(people, list) else []
