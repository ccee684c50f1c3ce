"""
Messages of ours in Feishu: sent once, changed while an answer is made, settled, and told in a plainer form if Feishu takes no card.

Each has a `uuid` made of its key, by which Feishu knows one that is sent twice. An answer that is begun is kept in the store, so that the next process
finishes it instead of beginning another; a question, so that the next one can take its buttons away.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, cast

from commonplace.channels.blocks import pieces
from commonplace.channels.feishu.api import ATTEMPTS, FeishuAnswer, FeishuApi, safe_id
from commonplace.channels.feishu.cards import (
    STOP,
    Template,
    card_content,
    content_text,
    without_mentions,
    without_tables,
)
from commonplace.channels.phrases import is_chinese
from commonplace.channels.sent import SentMessages
from commonplace.ports.channel import CardOption, CardOutcome, ChannelLimits, Outgoing
from commonplace.ports.channel_store import ChannelStore
from commonplace.values.channel import PlatformError
from commonplace.values.json import Json

LIMITS: Final = ChannelLimits(
    characters=4_000, edits=True, edit_seconds=1.5, buttons=True, send_keys=True, attachment_bytes=50 << 20
)
SHORTENED: Final = 2_000
_MOST_CARDS: Final = 500
_MOST_BEGUN: Final = 500
_PREFIX: Final = "begun/"
_QUESTIONS: Final = "question/"
_GONE: Final = frozenset({230011, 230110, 230019, 230050, 1230002})
"""The message that is answered was taken back, or cannot be answered."""
NO_RIGHT: Final = frozenset({99991672, 99991679})
_NOT_THE_CARD: Final = NO_RIGHT | {230002, 230006, 230013, 230018, 230035, 232009}
"""We may not write there at all: a plainer form would not help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MessagePlace:
    """Which channel of which tenant keeps what is begun, and where."""

    tenant: str
    channel: str
    store: ChannelStore


class FeishuMessages:
    def __init__(self, api: FeishuApi, messages: SentMessages, place: MessagePlace, title: str) -> None:
        self._api = api
        self._sent = messages
        self._place = place
        self._title = title
        self._begun: dict[tuple[str, str], Outgoing] = {}
        """Answers whose end is not told yet."""
        self._questions: OrderedDict[tuple[str, str], Outgoing] = OrderedDict()
        """Those that are not decided."""

    async def load(self) -> None:
        """What an earlier process began."""
        for prefix, messages in ((_PREFIX, self._begun), (_QUESTIONS, self._questions)):
            for text in (await self._place.store.platform_values(*self._where, prefix)).values():
                fields = cast("dict[str, Any]", json.loads(text))
                id = fields.pop("id", None)
                # Those that an earlier version kept have no text.
                message = Outgoing(text=fields.pop("text", ""), partial=prefix == _PREFIX, **fields)
                messages[message.chat, message.key] = message
                if id:
                    self._sent.put(message.chat, message.key, id)

    @property
    def _where(self) -> tuple[str, str]:
        return self._place.tenant, self._place.channel

    # ---- out

    async def send(self, message: Outgoing) -> str:
        place = message.chat, message.key
        if place in self._begun:
            return await self._finish(self._begun[place], message.text, partial=message.partial)
        id = self._sent.id(*place)
        if id is not None:
            return id
        if message.partial:
            return await self._begin(message)
        first, *others = pieces(message.text, LIMITS.characters) or [message.text]
        id = await self._create(replace(message, text=first))
        for number, text in enumerate(others, 2):
            await self._create(replace(message, text=text, key=f"{message.key}-part-{number}", card=None))
        return id

    def is_begun(self, chat: str, key: str) -> bool:
        return (chat, key) in self._begun

    async def edit(self, chat: str, key: str, text: str, *, final: bool) -> None:
        begun = self._begun.get((chat, key))
        if begun is None:
            id = self._sent.id(chat, key)
            if id is None:
                raise PlatformError("The message that is to be changed is not known any more.")
            await self._replace(id, Outgoing(chat=chat, key=key, text=text))
        elif final or self._sent.id(chat, key) is not None:
            await self._finish(begun, text, partial=not final)

    async def settle(self, chat: str, key: str, outcome: CardOutcome) -> None:
        id, question = self._sent.id(chat, key), self._questions.get((chat, key))
        if id is None:
            if question is None:
                raise PlatformError("The question that is decided is not known any more.")
            # Nobody knows whether it is in the room: by the same uuid it is there once.
            id = await self._create(replace(question, card=None))
        text = outcome.text if question is None else f"{question.text}\n\n**{outcome.text}**"
        content = card_content(text, title=self._title, template="green" if outcome.allowed else "red")
        (await self._patch(id, content)).checked()
        await self._drop_question(chat, key)

    # ---- answers while they are made

    async def _begin(self, message: Outgoing) -> str:
        self._begun[message.chat, message.key] = message
        while len(self._begun) > _MOST_BEGUN:
            # Those of rooms that we may not write to any more never end.
            await self._keep(self._begun.pop(next(iter(self._begun))), None)
        # Before it is sent: if we end in between, the next process sends it by the same uuid, and Feishu knows that it is one.
        await self._keep(message, "")
        id = await self._create(message)
        await self._keep(message, id)
        return id

    async def _finish(self, begun: Outgoing, text: str, *, partial: bool) -> str:
        """Put a text into an answer that is begun; its last one, if it is not `partial`."""
        chat, key = begun.chat, begun.key
        id = self._sent.id(chat, key)
        if id is None:
            # Nobody knows whether its beginning is in the room: by the same uuid it is there once.
            id = await self._create(replace(begun, text=text, partial=True))
        message = replace(begun, text=text, partial=partial)
        if partial:
            (await self._patch(id, self._content(message), attempts=1)).checked()
            return id
        id = await self._replace(id, message)
        self._begun.pop((chat, key), None)
        await self._keep(message, None)
        return id

    async def _replace(self, id: str, message: Outgoing) -> str:
        """The last text of a message; in a plainer form if Feishu does not take it."""
        answer = await self._in_forms(message, lambda form: self._patch(id, self._content(form)))
        if answer.problem is None:
            return id
        if answer.code in _NOT_THE_CARD:
            answer.checked()
        await self._api.call("DELETE", f"/im/v1/messages/{safe_id(id)}")
        return await self._send_plain(message)

    # ---- one message

    async def _create(self, message: Outgoing) -> str:
        if message.card is not None:
            await self._keep_question(message)
        answer = await self._in_forms(message, lambda form: self._post(form, "interactive", self._content(form)))
        if answer.problem is not None:
            await self._drop_question(message.chat, message.key)
            if answer.code not in _NOT_THE_CARD:
                return await self._send_plain(message)
        id = self._put(message, answer)
        if message.card is not None:
            await self._put_value(_QUESTIONS, message, id)
        return id

    async def _in_forms(self, message: Outgoing, tell: Callable[[Outgoing], Any]) -> FeishuAnswer:
        """
        Tell a message as it is; else without tables; else its beginning, with the rest as plain text behind it. What came of it, the last
        time if Feishu took none of them.
        """
        answer: FeishuAnswer = await tell(message)
        for text in (without_tables(message.text), message.text[:SHORTENED]):
            if answer.problem is None or answer.code in _NOT_THE_CARD or text == message.text:
                continue
            answer = await tell(replace(message, text=text))
            if answer.problem is None and len(text) == SHORTENED and message.text.startswith(text):
                rest = replace(message, text=message.text[SHORTENED:], key=f"{message.key}-rest", reply_to=None)
                await self._send_plain(rest)
        return answer

    async def _send_plain(self, message: Outgoing) -> str:
        plain = replace(message, key=f"{message.key}-plain")
        answer = await self._post(plain, "text", {"text": without_mentions(message.text) or "…"})
        return self._put(message, answer)

    def _put(self, message: Outgoing, answer: FeishuAnswer) -> str:
        id = answer.checked().get("message_id")
        if not isinstance(id, str) or not id:
            raise PlatformError("Feishu does not say which message it made.")
        self._sent.put(message.chat, message.key, safe_id(id))
        return id

    async def _post(self, message: Outgoing, kind: str, content: dict[str, Json]) -> FeishuAnswer:
        body: dict[str, Json] = {
            "msg_type": kind,
            "content": content_text(content),
            "uuid": uuid_of(message.chat, message.key),
        }
        answered = message.reply_to or message.thread
        if answered is not None:
            answer = await self._api.call("POST", f"/im/v1/messages/{safe_id(answered)}/reply", body=body)
            if answer.code not in _GONE:
                return answer
        query = {"receive_id_type": "chat_id"}
        return await self._api.call(
            "POST", "/im/v1/messages", query=query, body={**body, "receive_id": safe_id(message.chat)}
        )

    async def _patch(self, id: str, content: dict[str, Json], attempts: int = ATTEMPTS) -> FeishuAnswer:
        body: dict[str, Json] = {"content": content_text(content)}
        return await self._api.call("PATCH", f"/im/v1/messages/{safe_id(id)}", body=body, attempts=attempts)

    def _content(self, message: Outgoing) -> dict[str, Json]:
        buttons: list[tuple[CardOption, str]] = []
        template: Template = "green"
        if message.partial:
            template = "blue"
            label = "停止" if is_chinese(message.text) else "Stop"
            buttons = [(CardOption(label=label, command=STOP), message.key)]
        elif message.card is not None:
            template = "orange"
            buttons = [(option, message.key) for option in message.card.options]
        return card_content(message.text, title=self._title, template=template, buttons=buttons)

    async def _keep(self, message: Outgoing, id: str | None) -> None:
        """That it is begun, and its id if we know it; None: it is told to its end."""
        await self._put_value(_PREFIX, replace(message, text=""), id)

    async def _keep_question(self, message: Outgoing) -> None:
        self._questions[message.chat, message.key] = message
        while len(self._questions) > _MOST_CARDS:
            await self._drop_question(*next(iter(self._questions)))
        await self._put_value(_QUESTIONS, message, "")

    async def _drop_question(self, chat: str, key: str) -> None:
        question = self._questions.pop((chat, key), None)
        if question is not None:
            await self._put_value(_QUESTIONS, question, None)

    async def _put_value(self, prefix: str, message: Outgoing, id: str | None) -> None:
        fields = {
            "chat": message.chat,
            "key": message.key,
            "thread": message.thread,
            "reply_to": message.reply_to,
            "run": message.run,
            "text": message.text,
            "id": id,
        }
        name = f"{prefix}{uuid_of(message.chat, message.key)}"
        value = None if id is None else json.dumps(fields, ensure_ascii=False)
        await self._place.store.put_platform_value(*self._where, name, value)


def uuid_of(chat: str, key: str) -> str:
    """At most 50 characters, as Feishu takes it."""
    return sha256(f"{chat}\0{key}".encode()).hexdigest()[:40]
