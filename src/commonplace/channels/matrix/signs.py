"""Signs that we are at work: a mark on the message that is answered, and that we are typing. No answer waits for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from secrets import token_hex
from typing import Final

from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import API, Request, room_path, transaction
from commonplace.channels.matrix.values import SEEN
from commonplace.channels.matrix.writer import MatrixWriter

_SHOWN: Final = 30.0
_AGAIN: Final = 20.0


class SeenMarks:
    """One mark a message. Those that a process left behind when it ended are taken away by the next."""

    def __init__(self, account: MatrixAccount, writer: MatrixWriter) -> None:
        self._writer = writer
        self._values = account.values
        self._begun: dict[str, asyncio.Task[None]] = {}
        self._ids: dict[str, str] = {}
        self._left: dict[str, str] = {}
        # A mark that is put again is another one: the server would know the first by its key, which is taken away.
        self._process = token_hex(4)
        self._numbers = count(1)

    async def load(self) -> None:
        self._left = await self._values.all(SEEN)

    def clear(self) -> None:
        """Take away what was left behind."""
        leftovers, self._left = self._left, {}
        for mark, chat in leftovers.items():
            self._writer.do_later(self._redact(chat, mark))

    def put(self, chat: str, message: str, mark: str) -> None:
        self._begun[message] = self._writer.do_later(self._put(chat, message, mark))

    def remove(self, chat: str, message: str) -> None:
        task = self._begun.pop(message, None)
        if task is not None:
            self._writer.do_later(self._remove(chat, message, task))

    async def _put(self, chat: str, message: str, mark: str) -> None:
        place = transaction(chat, message, mark, self._process, str(next(self._numbers)))
        self._ids[message] = id = await self._writer.mark(chat, message, mark, place)
        await self._values.put(SEEN + id, chat)

    async def _remove(self, chat: str, message: str, task: asyncio.Task[None]) -> None:
        await asyncio.wait({task})
        if (mark := self._ids.pop(message, None)) is not None:
            await self._redact(chat, mark)

    async def _redact(self, chat: str, mark: str) -> None:
        await self._writer.redact(chat, mark)
        await self._values.put(SEEN + mark, None)


class TypingSigns:
    """A server shows it for a while: it is said again as long as anything is made in the room."""

    def __init__(self, account: MatrixAccount, writer: MatrixWriter) -> None:
        self._client = account.client
        self._rooms = account.rooms
        self._writer = writer
        self._turns: Counter[str] = Counter()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def show(self, chat: str, active: bool) -> None:
        self._turns[chat] += 1 if active else -1
        if active and chat not in self._tasks:
            self._tasks[chat] = self._writer.do_later(self._repeat(chat))
        elif self._turns[chat] <= 0:
            del self._turns[chat]
            if (task := self._tasks.pop(chat, None)) is not None:
                task.cancel()
                self._writer.do_later(self._say(chat, active=False))

    async def _repeat(self, chat: str) -> None:
        while True:
            await self._say(chat, active=True)
            await asyncio.sleep(_AGAIN)

    async def _say(self, chat: str, *, active: bool) -> None:
        if not self._rooms.me:
            return
        body = {"typing": True, "timeout": int(_SHOWN * 1000)} if active else {"typing": False}
        path = API + room_path(chat, "typing", self._rooms.me)
        await self._client.ask(Request(method="PUT", path=path, body=body))
