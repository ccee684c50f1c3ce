"""
Cards: questions with buttons, and answers that grow while they are written. Each kind needs a template that somebody made on the card platform.

A card has our key as its `outTrackId`, by which its buttons name it. What a card cannot do, text does. A card that is not finished, or not decided, is kept in the
store: the next process ends it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import uuid4

from commonplace.channels.dingtalk.api import DingTalkApi, DingTalkTurnedAway
from commonplace.channels.dingtalk.chats import DingTalkChats
from commonplace.channels.dingtalk.markdown import MOST, title_of
from commonplace.ports.channel import CardOutcome, PermissionCard
from commonplace.ports.channel_store import ChannelStore
from commonplace.values.channel import PlatformError
from commonplace.values.json import Json

_INSTANCES: Final = "/v1.0/card/instances"
_DELIVERY: Final = "/v1.0/card/instances/createAndDeliver"
_STREAMING: Final = "/v1.0/card/streaming"
_BEGUN: Final = "1"
_WRITING: Final = "2"
_FINISHED: Final = "3"
_FAILED: Final = "5"
_CARDS: Final = 2_000
_CUT: Final = "… "
_ANSWERS: Final = "answer/"
_QUESTIONS: Final = "question/"


@dataclass(kw_only=True, slots=True)
class _GrowingCard:
    chat: str
    is_writing: bool = False


class DingTalkCards:
    def __init__(self, api: DingTalkApi, chats: DingTalkChats, place: tuple[str, str], store: ChannelStore) -> None:
        """`place`: the tenant and the channel."""
        self._api = api
        self._chats = chats
        self._place = place
        self._store = store
        self._questions: OrderedDict[str, str] = OrderedDict()
        """Chats by the keys of the questions that are cards there, also of those that are decided."""
        self._answers: OrderedDict[str, _GrowingCard] = OrderedDict()
        self._failed: dict[str, None] = {}
        """The keys of cards that still show the beginning of an answer which is somewhere else."""

    async def load(self) -> None:
        """What an earlier process left open."""
        for name, chat in (await self._store.platform_values(*self._place, _QUESTIONS)).items():
            self._questions[name.removeprefix(_QUESTIONS)] = chat
        for name, text in (await self._store.platform_values(*self._place, _ANSWERS)).items():
            key, fields = name.removeprefix(_ANSWERS), cast("dict[str, Any]", json.loads(text))
            if fields["failed"]:
                self._failed[key] = None
            else:
                self._answers[key] = _GrowingCard(chat=fields["chat"])

    async def end_failed(self) -> None:
        """Try again to end the cards whose answers are somewhere else. Raises PlatformError: one is left."""
        for key in list(self._failed):
            await self.fail(key)

    @property
    def asks(self) -> bool:
        return bool(self._api.options.card_template)

    @property
    def grows(self) -> bool:
        return bool(self._api.options.answer_template)

    # ---- questions

    async def ask(self, chat: str, key: str, text: str, card: PermissionCard) -> None:
        """Raises PlatformError: the card is not there, or may not be."""
        labels: dict[str, Json] = {f"{option.command.replace('-', '_')}_label": option.label for option in card.options}
        parameters: dict[str, Json] = {
            "title": " ".join(card.request.title.split())[:200],
            "text": text[:MOST],
            "tool": card.request.tool[:100],
            "asker": card.asker,
            "status": "open",
            "outcome": "",
            **labels,
        }
        await self._put_question(key, chat)
        try:
            await self._deliver(chat, key, self._api.options.card_template, parameters)
        except PlatformError:
            self._questions.pop(key, None)
            await self._put(_QUESTIONS, key, None)
            raise

    def chat_of(self, key: str) -> str | None:
        """Where the question or answer of a key is."""
        answer = self._answers.get(key)
        return self._questions.get(key) if answer is None else answer.chat

    async def settle(self, key: str, outcome: CardOutcome) -> bool:
        """Show what was decided. False: the question is no card. Raises PlatformError."""
        if key not in self._questions:
            return False
        status = "allowed" if outcome.allowed else "refused"
        try:
            await self._change(key, {"status": status, "outcome": outcome.text})
        except DingTalkTurnedAway:
            # There is no such card, or it cannot be changed.
            await self._put(_QUESTIONS, key, None)
            raise
        await self._put(_QUESTIONS, key, None)
        return True

    async def _put_question(self, key: str, chat: str) -> None:
        self._questions[key] = chat
        while len(self._questions) > _CARDS:
            await self._put(_QUESTIONS, self._questions.popitem(last=False)[0], None)
        await self._put(_QUESTIONS, key, chat)

    # ---- answers

    def is_growing(self, key: str) -> bool:
        """Whether an answer of this key is a card that is not finished, perhaps since before a restart."""
        return key in self._answers

    async def begin(self, chat: str, key: str, text: str) -> None:
        """Raises PlatformError: it is no card, so that the whole answer is to be sent as text."""
        field = self._api.options.answer_field
        parameters: dict[str, Json] = {"flowStatus": _BEGUN, "title": title_of(text), field: ""}
        # Before it is there: a process that ends in between leaves none behind that nobody knows.
        await self._put(_ANSWERS, key, _answer_text(chat))
        try:
            await self._deliver(chat, key, self._api.options.answer_template, parameters)
        except PlatformError:
            await self._put(_ANSWERS, key, None)
            raise
        self._answers[key] = _GrowingCard(chat=chat)
        while len(self._answers) > _CARDS:
            await self._put(_ANSWERS, self._answers.popitem(last=False)[0], None)
        await self.grow(key, text)

    async def grow(self, key: str, text: str) -> None:
        """Show the answer so far; of a long one its end."""
        card = self._answers.get(key)
        if card is None:
            return
        preview = text if len(text) <= MOST else f"{_CUT}{text[len(_CUT) - MOST :]}"
        if not card.is_writing:
            await self._change(key, {"flowStatus": _WRITING})
            card.is_writing = True
        await self._stream(key, preview)

    async def finish(self, key: str, text: str) -> bool:
        """False: it is no card. Raises PlatformError: what it shows is not the answer."""
        card = self._answers.pop(key, None)
        if card is None:
            return False
        try:
            await self._stream(key, text, is_last=True)
            await self._change(key, {"flowStatus": _FINISHED, self._api.options.answer_field: text})
        except PlatformError:
            self._failed[key] = None
            await self._put(_ANSWERS, key, _answer_text(card.chat, failed=True))
            raise
        await self._put(_ANSWERS, key, None)
        return True

    async def fail(self, key: str) -> None:
        """The answer is somewhere else. Raises PlatformError: the card does not say so; the next process tries it again."""
        try:
            await self._change(key, {"flowStatus": _FAILED})
        except DingTalkTurnedAway:
            # There is no such card, or it cannot be changed.
            await self._forget_failed(key)
            raise
        await self._forget_failed(key)

    async def _forget_failed(self, key: str) -> None:
        self._failed.pop(key, None)
        await self._put(_ANSWERS, key, None)

    async def _put(self, kind: str, key: str, value: str | None) -> None:
        await self._store.put_platform_value(*self._place, f"{kind}{key}", value)

    # ---- calls

    async def _deliver(self, chat: str, key: str, template: str, parameters: dict[str, Json]) -> None:
        entry, options = self._chats.chat(chat), self._api.options
        body: dict[str, Json] = {
            "cardTemplateId": template,
            "outTrackId": key,
            "cardData": {"cardParamMap": parameters},
            "callbackType": "STREAM",
            "userIdType": 1,
            "imGroupOpenSpaceModel": {"supportForward": False},
            "imRobotOpenSpaceModel": {"supportForward": False},
        }
        if entry.is_group:
            body["openSpaceId"] = f"dtv1.card//IM_GROUP.{self._chats.open_id(chat)}"
            body["imGroupOpenDeliverModel"] = {"robotCode": options.robot_code}
        else:
            body["openSpaceId"] = f"dtv1.card//IM_ROBOT.{entry.person}"
            body["imRobotOpenDeliverModel"] = {"spaceType": "IM_ROBOT", "robotCode": options.robot_code}
        answer = await self._api.call("card/instances/createAndDeliver", "POST", _DELIVERY, body)
        if (reason := _undelivered(answer)) is not None:
            raise DingTalkTurnedAway(f"card/instances/createAndDeliver: {reason}.")

    async def _change(self, key: str, parameters: dict[str, Json]) -> None:
        body: dict[str, Json] = {
            "outTrackId": key,
            "cardData": {"cardParamMap": parameters},
            "cardUpdateOptions": {"updateCardDataByKey": True},
        }
        await self._api.keyed_call("card/instances", "PUT", _INSTANCES, body)

    async def _stream(self, key: str, text: str, *, is_last: bool = False) -> None:
        body: dict[str, Json] = {
            "outTrackId": key,
            "guid": str(uuid4()),
            "key": self._api.options.answer_field,
            "content": text,
            "isFull": True,
            "isFinalize": is_last,
            "isError": False,
        }
        await self._api.keyed_call("card/streaming", "PUT", _STREAMING, body)


def _undelivered(answer: dict[str, Any]) -> str | None:
    """Why a card that was made is nowhere to be seen."""
    result = answer.get("result")
    places = cast("dict[str, Any]", result).get("deliverResults") if isinstance(result, dict) else None
    for place in cast("list[Any]", places) if isinstance(places, list) else ():
        if isinstance(place, dict) and cast("dict[str, Any]", place).get("success") is False:
            reason = str(cast("dict[str, Any]", place).get("errorMsg") or "it was not delivered")
            return "".join(character if character.isprintable() else " " for character in reason)[:200]
    return None


def _answer_text(chat: str, *, failed: bool = False) -> str:
    return json.dumps({"chat": chat, "failed": failed}, ensure_ascii=False)
