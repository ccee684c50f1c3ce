"""
What we say in a room of Matrix.

Each message has a transaction id made of its key, by which the server knows it again: asked twice, it answers with the id of the first. An answer
that is told while it is made is noted before it begins, so that after a restart its whole text is put in the place of its beginning.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final

from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import RequestDenied, room_path, transaction
from commonplace.channels.matrix.events import MESSAGE, REACTION, read_event_id
from commonplace.channels.matrix.marks import MARKS
from commonplace.channels.matrix.text import bounded, formatted, sendable
from commonplace.channels.matrix.values import BEGUN
from commonplace.channels.sent import SentMessages
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import CardOutcome, Outgoing, PermissionCard
from commonplace.values.channel import PlatformError

EDIT_SECONDS: Final = 2.0
_SLOWEST_EDITS: Final = 30.0
_PATIENCE: Final = 30.0
_MARK_PATIENCE: Final = 60.0
_MOST: Final = 2_000


class MatrixWriter:
    def __init__(self, account: MatrixAccount) -> None:
        self._client = account.client
        self._rooms = account.rooms
        self._values = account.values
        self._connection = account.connection
        self.sent = SentMessages()
        self._begun: dict[str, str] = {}
        self._unsent: OrderedDict[tuple[str, str], Outgoing] = OrderedDict()
        self._cards: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._askers: OrderedDict[str, str] = OrderedDict()
        self._edit_pause = EDIT_SECONDS
        self._edits_from = 0.0
        self._later: set[asyncio.Task[None]] = set()

    async def load(self) -> None:
        """What was begun before a restart."""
        self._begun = await self._values.all(BEGUN)

    async def aclose(self) -> None:
        for task in self._later:
            task.cancel()
        if self._later:
            await asyncio.wait(self._later)

    def heard(self, message: str, sender: str) -> None:
        """Who is told when their message is answered."""
        _keep(self._askers, message, sender)

    # ---- messages

    async def send(self, message: Outgoing) -> str:
        if self._rooms.is_encrypted(message.chat):
            raise PlatformError("The room is encrypted, which is not supported. Use one without encryption.")
        return await self._send(message)

    async def tell(self, message: Outgoing) -> None:
        """Say something beside the answers, also in an encrypted room."""
        await self._send(message)

    async def _send(self, message: Outgoing) -> str:
        place = transaction(message.chat, message.key)
        begun = self._begun.get(place)
        if message.partial and begun is None:
            await self._note_begun(place, "")
        try:
            event_id = begun or await self._put(message, place)
        except PlatformError:
            _keep(self._unsent, (message.chat, message.key), message)
            raise
        self._unsent.pop((message.chat, message.key), None)
        self.sent.put(message.chat, message.key, event_id)
        if message.partial:
            await self._note_begun(place, event_id)
        elif begun is not None:
            # Its beginning may be there: it is made whole.
            await self._replace(message.chat, message.key, event_id, message.text)
            await self._forget_begun(place)
        if message.card is not None:
            self._offer(message, message.card, event_id)
        return event_id

    def is_begun(self, chat: str, key: str) -> bool:
        return transaction(chat, key) in self._begun

    async def edit(self, chat: str, key: str, text: str, *, final: bool = False) -> None:
        place = transaction(chat, key)
        event_id = self.sent.id(chat, key) or self._begun.get(place)
        if not event_id:
            await self._send_late(chat, key, text, final=final)
        elif final:
            await self._replace(chat, key, event_id, text)
            await self._forget_begun(place)
        else:
            await self._preview(chat, key, event_id, text)

    async def settle_card(self, chat: str, key: str, outcome: CardOutcome) -> None:
        text, event_id = self._cards.pop((chat, key), None), self.sent.id(chat, key)
        if text is not None and event_id is not None:
            await self._replace(chat, key, event_id, f"{text}\n\n{outcome.text}", notice=True)

    async def _send_late(self, chat: str, key: str, text: str, *, final: bool) -> None:
        """Its beginning did not get to the server, as far as we know."""
        message = self._unsent.get((chat, key))
        if message is None:
            raise PlatformError("The message that is to be changed is not known any more.")
        if final or not self._client.is_limited:
            await self.send(replace(message, text=text, partial=not final))

    async def _preview(self, chat: str, key: str, event_id: str, text: str) -> None:
        """What is told of an answer before it is whole is left out if the server wants less of us."""
        if self._client.is_limited or _now() < self._edits_from:
            return
        try:
            await self._replace(chat, key, event_id, text, patience=0.0)
        except PlatformError as error:
            if error.retry_after is not None:
                self._edit_pause = min(self._edit_pause * 2, _SLOWEST_EDITS)
        else:
            self._edit_pause = max(self._edit_pause * 0.8, EDIT_SECONDS)
        self._edits_from = _now() + (self._edit_pause if self._edit_pause > EDIT_SECONDS else 0.0)

    async def _put(self, message: Outgoing, place: str) -> str:
        text = message.text
        if message.card is not None:
            text = _with_marks(text, message.card)
        asker = self._askers.get(message.reply_to or "")
        content: dict[str, Any] = {
            "msgtype": "m.notice" if message.notice else "m.text",
            **formatted(text),
            "m.mentions": {"user_ids": [asker]} if asker else {},
        }
        if relation := _relation(message):
            content["m.relates_to"] = relation
        path = room_path(message.chat, "send", MESSAGE, place)
        patience = 0.0 if message.partial else _PATIENCE
        return read_event_id(await self._client.put(path, bounded(content), patience=patience))

    async def _replace(
        self, chat: str, key: str, event_id: str, text: str, *, notice: bool = False, patience: float = _PATIENCE
    ) -> None:
        kind = "m.notice" if notice else "m.text"
        content: dict[str, Any] = {
            "msgtype": kind,
            "body": f"* {sendable(text)[:200]}",
            "m.mentions": {},
            "m.new_content": {"msgtype": kind, **formatted(text), "m.mentions": {}},
            "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
        }
        path = room_path(chat, "send", MESSAGE, transaction(chat, key, "edit", text))
        await self._client.put(path, bounded(content), patience=patience)

    async def _note_begun(self, place: str, event_id: str) -> None:
        self._begun[place] = event_id
        await self._values.put(BEGUN + place, event_id)

    async def _forget_begun(self, place: str) -> None:
        if self._begun.pop(place, None) is not None:
            await self._values.put(BEGUN + place, None)

    # ---- questions

    def is_asking(self, chat: str, key: str) -> bool:
        """Whether the message is a question that is not decided."""
        return (chat, key) in self._cards

    def _offer(self, message: Outgoing, card: PermissionCard, event_id: str) -> None:
        """The marks by which people vote stand below the question."""
        chat = message.chat
        _keep(self._cards, (chat, message.key), _with_marks(message.text, card))
        self.do_later(self._mark_all(chat, event_id, [MARKS[option.command] for option in card.options]))

    async def _mark_all(self, chat: str, event_id: str, marks: list[str]) -> None:
        for mark in marks:
            await self.mark(chat, event_id, mark, transaction(chat, event_id, "mark", mark), patience=_PATIENCE)

    async def mark(self, chat: str, event_id: str, mark: str, place: str, *, patience: float = 0.0) -> str:
        """Put a reaction on a message; its id."""
        content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": event_id, "key": mark}}
        return read_event_id(
            await self._client.put(room_path(chat, "send", REACTION, place), content, patience=patience)
        )

    async def redact(self, chat: str, event_id: str) -> None:
        """Take something of ours back. What is gone, or in a room that we left, is taken back already."""
        try:
            path = room_path(chat, "redact", event_id, transaction(chat, event_id, "redact"))
            await self._client.put(path, {}, patience=_MARK_PATIENCE)
        except RequestDenied as error:
            self._connection.note("not_redacted", error.message)

    # ---- beside the answers

    def do_later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Something that no answer waits for; if it fails, the log says so."""
        task = asyncio.create_task(self._noted(work))
        self._later.add(task)
        task.add_done_callback(self._later.discard)
        return task

    async def _noted(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CommonplaceError as error:
            self._connection.note("left_out", error.message)


def _relation(message: Outgoing) -> dict[str, Any] | None:
    """Into the thread, and to the message that is answered."""
    reply = None if message.reply_to is None else {"m.in_reply_to": {"event_id": message.reply_to}}
    if message.thread is not None:
        answer = reply or {"m.in_reply_to": {"event_id": message.thread}}
        return {"rel_type": "m.thread", "event_id": message.thread, "is_falling_back": reply is None, **answer}
    return reply


def _with_marks(text: str, card: PermissionCard) -> str:
    return f"{text}\n\n{' · '.join(f'{MARKS[option.command]} {option.label}' for option in card.options)}"


def _keep(entries: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    entries[name] = value
    while len(entries) > _MOST:
        entries.popitem(last=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
