"""Signs that we are at work: a mark on the message that is answered, and that we are typing. No answer waits for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final

from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import API, Request, RequestDenied, room_path, transaction
from commonplace.channels.matrix.values import SEEN
from commonplace.channels.matrix.writer import MatrixWriter
from commonplace.values.channel import PlatformError

_SHOWN: Final = 30.0
_AGAIN: Final = 20.0
_PATIENCE: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _SeenMark:
    """`place` is the transaction by which the server knows it, asked again."""

    chat: str
    message: str
    mark: str
    place: str


class SeenMarks:
    """
    One mark a message. Each is noted before it is put, so that those which a process left behind when it ended are taken away by the next,
    also if nobody heard that they were put.
    """

    def __init__(self, account: MatrixAccount, writer: MatrixWriter) -> None:
        self._writer = writer
        self._values = account.values
        self._begun: dict[str, tuple[_SeenMark, asyncio.Task[None]]] = {}
        self._noted: set[str] = set()
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
        for place, text in leftovers.items():
            chat, message, mark = text.rsplit(" ", 2)
            self._writer.do_later(self._take_away(_SeenMark(chat=chat, message=message, mark=mark, place=place)))

    def put(self, chat: str, message: str, mark: str) -> None:
        place = transaction(chat, message, mark, self._process, str(next(self._numbers)))
        entry = _SeenMark(chat=chat, message=message, mark=mark, place=place)
        self._begun[message] = entry, self._writer.do_later(self._put(entry))

    def remove(self, message: str) -> None:
        entry, task = self._begun.pop(message, (None, None))
        if entry is not None and task is not None:
            self._writer.do_later(self._remove(entry, task))

    async def _put(self, entry: _SeenMark) -> None:
        self._noted.add(entry.place)
        await self._values.put(SEEN + entry.place, f"{entry.chat} {entry.message} {entry.mark}")
        try:
            self._ids[entry.place] = await self._mark(entry, patience=0.0)
        except PlatformError as error:
            if isinstance(error, RequestDenied) or error.retry_after is not None:
                # It is surely not there.
                await self._forget(entry)
            raise

    async def _remove(self, entry: _SeenMark, task: asyncio.Task[None]) -> None:
        await asyncio.wait({task})
        if entry.place in self._noted:
            await self._take_away(entry)

    async def _take_away(self, entry: _SeenMark) -> None:
        """If nobody heard its id, the server is asked for it by putting it once more."""
        try:
            id = self._ids.pop(entry.place, None) or await self._mark(entry, patience=_PATIENCE)
            await self._writer.redact(entry.chat, id)
        except RequestDenied:
            # The message is gone, or we are not in the room any more.
            pass
        await self._forget(entry)

    async def _mark(self, entry: _SeenMark, *, patience: float) -> str:
        return await self._writer.mark(entry.chat, entry.message, entry.mark, entry.place, patience=patience)

    async def _forget(self, entry: _SeenMark) -> None:
        self._noted.discard(entry.place)
        await self._values.put(SEEN + entry.place, None)


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
