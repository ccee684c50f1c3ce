"""
Marks on what people wrote: an emotion of the robot says that a message is seen.

They are made one after the other, beside everything else: no answer waits for one, and one that fails is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from commonplace.channels.connection import Connection
from commonplace.channels.dingtalk.api import DingTalkApi
from commonplace.errors import CommonplaceError
from commonplace.values.json import Json

_MOST: Final = 200
_EMOTION: Final = "2659900"
_BACKGROUND: Final = "im_bg_1"


class DingTalkMarks:
    def __init__(self, api: DingTalkApi, connection: Connection, *, open_id: Callable[[str], str]) -> None:
        self._api = api
        self._connection = connection
        self._open_id = open_id
        self._waiting: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue(_MOST)
        self._marks: dict[tuple[str, str], str] = {}
        """What we put on which message."""
        self._last_error = ""

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        task = asyncio.create_task(self._work())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    def put(self, chat: str, message: str, mark: str) -> None:
        """An empty mark takes ours away."""
        if not self._waiting.full():
            self._waiting.put_nowait((chat, message, mark))

    async def _work(self) -> None:
        while True:
            chat, message, mark = await self._waiting.get()
            try:
                await self._mark(chat, message, mark)
                self._last_error = ""
            except CommonplaceError as error:
                # Said once, as long as it is the same.
                if error.message != self._last_error:
                    self._connection.note("mark_failed", error.message)
                self._last_error = error.message

    async def _mark(self, chat: str, message: str, mark: str) -> None:
        place = chat, message
        if mark:
            await self._emote("reply", chat, message, mark)
            self._marks[place] = mark
            while len(self._marks) > _MOST:
                del self._marks[next(iter(self._marks))]
        elif (before := self._marks.pop(place, None)) is not None:
            await self._emote("recall", chat, message, before)

    async def _emote(self, what: str, chat: str, message: str, mark: str) -> None:
        body: dict[str, Json] = {
            "robotCode": self._api.options.robot_code,
            "openMsgId": message,
            "openConversationId": self._open_id(chat),
            "emotionType": 2,
            "emotionName": mark,
            "textEmotion": {
                "emotionId": _EMOTION,
                "emotionName": mark,
                "text": mark,
                "backgroundId": _BACKGROUND,
            },
        }
        pauses = self._api.times.mark_retries
        await self._api.keyed_call(f"emotion/{what}", "POST", f"/v1.0/robot/emotion/{what}", body, pauses=pauses)
