"""
Cards: questions with buttons, and answers that grow while they are written. Each kind needs a template that somebody made on the card platform.

A card has our key as its `outTrackId`, by which its buttons name it. What a card cannot do, text does.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import uuid4

from commonplace.channels.dingtalk.api import DingTalkApi, DingTalkTurnedAway
from commonplace.channels.dingtalk.chats import DingTalkChats
from commonplace.channels.dingtalk.markdown import MOST, title_of
from commonplace.ports.channel import CardOutcome, PermissionCard
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


@dataclass(kw_only=True, slots=True)
class _GrowingCard:
    chat: str
    is_writing: bool = False


class DingTalkCards:
    def __init__(self, api: DingTalkApi, chats: DingTalkChats) -> None:
        self._api = api
        self._chats = chats
        self._questions: OrderedDict[str, str] = OrderedDict()
        """Chats by the keys of the questions that are cards there."""
        self._answers: OrderedDict[str, _GrowingCard] = OrderedDict()

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
        _remember(self._questions, key, chat)
        try:
            await self._deliver(chat, key, self._api.options.card_template, parameters)
        except Exception:
            self._questions.pop(key, None)
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
        await self._change(key, {"status": status, "outcome": outcome.text})
        self._questions.pop(key, None)
        return True

    # ---- answers

    async def begin(self, chat: str, key: str, text: str) -> None:
        """Raises PlatformError: it is no card, so that the whole answer is to be sent as text."""
        field = self._api.options.answer_field
        parameters: dict[str, Json] = {"flowStatus": _BEGUN, "title": title_of(text), field: ""}
        await self._deliver(chat, key, self._api.options.answer_template, parameters)
        _remember(self._answers, key, _GrowingCard(chat=chat))
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
        if self._answers.pop(key, None) is None:
            return False
        await self._stream(key, text, is_last=True)
        await self._change(key, {"flowStatus": _FINISHED, self._api.options.answer_field: text})
        return True

    async def fail(self, key: str) -> None:
        """The answer is somewhere else. Raises PlatformError."""
        self._answers.pop(key, None)
        await self._change(key, {"flowStatus": _FAILED})

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


def _remember(cards: OrderedDict[str, Any], key: str, value: object) -> None:
    cards[key] = value
    while len(cards) > _CARDS:
        cards.popitem(last=False)
