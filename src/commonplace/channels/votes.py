"""
Permissions in a room: a card that asks, and votes by button or command.

Who may vote are people whom we know: members of a room of ours, and senders whom an admin linked. What their vote does is the session's own
mediator's to say.

Where a question is a card with buttons, it is kept in the store until its outcome is shown: a process that ended in between leaves no buttons behind that do
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from commonplace.channels.parts import Target
from commonplace.channels.phrases import CHINESE, ENGLISH, RoomPhrases, words
from commonplace.channels.prefix import display_name
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import ButtonPress, CardOption, CardOutcome, Outgoing, PermissionCard
from commonplace.values.channel import PlatformError
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionNotFound,
    PermissionRequest,
    PermissionVote,
    PermissionVoteChoice,
)
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.session_lease import SessionElsewhere

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

LOGGER: Final = logging.getLogger("commonplace")
_MOST: Final = 512
_PREFIX: Final = "permission/"
_SUFFIX: Final = "-card"
CHOICES: Final[dict[str, PermissionVoteChoice]] = {
    "approve": "allow_once",
    "approve-always": "allow_session",
    "deny": "reject_once",
}

_MARKS: Final[dict[str, str]] = {
    mark: command for command, marks in (("approve", "👍✅☑✔🆗"), ("deny", "👎❌✖🚫⛔")) for mark in marks
}


def command_of_mark(mark: str) -> str | None:
    """What a reaction to a question means; None: nothing. Skin tones and variants of a sign do not count."""
    return _MARKS.get(mark[:1])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Card:
    chat: str
    thread: str | None
    session: str
    message: str
    chinese: bool
    outcome: CardOutcome | None = None
    """What was decided, and may not be shown yet."""


class RoomVotes:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence
        self._cards: OrderedDict[str, _Card] = OrderedDict()
        self._closed: OrderedDict[tuple[str, str], bool] = OrderedDict()
        """Whether it was asked in Chinese, by the chats and messages of questions that are decided."""

    async def load(self) -> None:
        """Take up the questions that an earlier process left open: those that still wait are asked, the others are closed."""
        place = self._residence.tenant, self._residence.profile.name
        cards: list[tuple[str, _Card]] = []
        for name, text in (await self._residence.parts.store.platform_values(*place, _PREFIX)).items():
            request, card = name.removeprefix(_PREFIX), _read_card(text)
            if not await self._still_waits(request, card):
                self._note_closed(card)
                cards.append((request, card))
        if cards:
            self._residence.do_later(self._close(cards))

    def waiting_of(self, session: str) -> tuple[str, ...]:
        """The requests of a session that the room was asked about."""
        return tuple(id for id, card in self._cards.items() if card.session == session)

    async def take_over(self, session: str, target: Target, request: PermissionRequest, *, is_asked: bool) -> None:
        """
        A question that waits from before the channel was stopped. `is_asked`: it is before the room already, and asked again only where that is the same
        message, which the platform then knows to be ours.
        """
        if is_asked and not self._residence.platform.limits.send_keys:
            await self._open(session, target, request)
        else:
            await self.ask(session, target, request)

    async def ask(self, session: str, target: Target, request: PermissionRequest) -> None:
        """Put the question before the room."""
        entry = await self._open(session, target, request)
        words, asker = _words(target.chinese), display_name(target.name)
        card = PermissionCard(request=request, options=_options(target.chinese), asker=asker)
        text = words.card.format(asker=asker, title=" ".join(request.title.split())[:500], id=f" {request.id[-6:]}")
        await self._residence.post(
            Outgoing(
                chat=target.chat,
                thread=target.thread,
                text=text,
                key=entry.message,
                reply_to=target.message or None,
                run=target.run,
                notice=True,
                card=card,
            ),
            is_due=lambda: request.id in self._cards,
        )

    async def _open(self, session: str, target: Target, request: PermissionRequest) -> _Card:
        entry = self._cards[request.id] = _Card(
            chat=target.chat,
            thread=target.thread,
            session=session,
            message=f"{request.id}{_SUFFIX}",
            chinese=target.chinese,
        )
        while len(self._cards) > _MOST:
            await self._keep(self._cards.popitem(last=False)[0], None)
        await self._keep(request.id, entry)
        return entry

    async def tell_outcome(self, answer: PermissionAnswer) -> None:
        """The question is decided: by a vote, or because nobody came."""
        card = self._cards.pop(answer.request, None)
        if card is None:
            return
        words, voter = _words(card.chinese), await self._name(answer.voter)
        if answer.voter is None:
            text = words.unanswered
        else:
            text = (words.answered if answer.allows else words.refused).format(voter=voter)
        outcome = CardOutcome(text=text, allowed=answer.allows, voter=voter)
        self._note_closed(card)
        await self._keep(answer.request, replace(card, outcome=outcome))
        try:
            await self._show(answer.request, card, outcome)
        except PlatformError as error:
            if error.untaken or self._residence.platform.limits.send_keys:
                self._residence.do_later(self._close([(answer.request, replace(card, outcome=outcome))]))
            else:
                # It may be there: it is not told a second time.
                await self._keep(answer.request, None)
            raise

    async def vote(self, who: Principal, chat: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        """
        Raises:
            PermissionNotFound: nothing of this id waits in the room.
            PermissionForbidden, PermissionResolved, PermissionNotOffered: as the mediator says.
        """
        card = self._cards.get(request)
        if card is None or card.chat != chat:
            raise PermissionNotFound(request=request[:100])
        who = self._residence.in_session(who, card.session)
        return await self._residence.parts.agent.answer(who, card.session, request, choice)

    async def by_press(self, who: Principal, press: ButtonPress) -> str | None:
        """A vote by a button or a mark. What its presser is shown; None: the card says it."""
        request = next(
            (id for id, card in self._cards.items() if (card.chat, card.message) == (press.chat, press.key)), None
        )
        if request is None:
            return self._over(press)
        words = _words(self._cards[request].chinese)
        if who.subject.startswith(CHANNEL_SUBJECT):
            return words.not_linked
        return await self._cast(who, press.chat, request, press.action, words)

    async def by_command(
        self, who: Principal, chat: str, command: str, argument: str, words: RoomPhrases
    ) -> str | None:
        """A vote by `/approve` and the like. What the room is told; None: the card says it."""
        if who.subject.startswith(CHANNEL_SUBJECT):
            return words.not_linked
        waiting = [id for id, card in self._cards.items() if card.chat == chat]
        meant = [id for id in waiting if argument and id.endswith(argument.lower())] if argument else waiting
        if not meant:
            return words.nothing_waits
        if len(meant) > 1:
            return words.several_wait.format(ids=", ".join(id[-6:] for id in meant))
        return await self._cast(who, chat, meant[0], command, words)

    async def _cast(self, who: Principal, chat: str, request: str, command: str, words: RoomPhrases) -> str | None:
        try:
            vote = await self.vote(who, chat, request, CHOICES[command])
        except CommonplaceError as error:
            return error.message
        if vote.outcome == "recorded":
            return words.recorded.format(needed=vote.votes_needed)
        return None

    def _over(self, press: ButtonPress) -> str | None:
        """What somebody is told who answers a question that is not open. None: it is none of ours."""
        chinese = self._closed.get((press.chat, press.key))
        if chinese is not None:
            return _words(chinese).question_over
        is_question = press.key.endswith(_SUFFIX)
        return words(self._residence.profile.settings.language).question_over if is_question else None

    # ---- what a process leaves to the next

    async def _still_waits(self, request: str, card: _Card) -> bool:
        """Whether the session, which went on without the channel, still waits for an answer. It is asked then."""
        residence = self._residence
        if card.outcome is not None:
            return False
        try:
            waiting = await residence.parts.agent.permission_requests(residence.owner, card.session)
            if all(entry.id != request for entry in waiting):
                return False
            await residence.follower(card.session)
        except CommonplaceError:
            return False
        self._cards[request] = card
        return True

    async def _close(self, cards: Sequence[tuple[str, _Card]]) -> None:
        """Show the outcomes of questions that are not asked any more. What the platform does not take in all this time stays as it is."""
        for pause in (0.0, *self._residence.parts.pauses):
            await asyncio.sleep(pause)
            cards = [entry for entry in cards if not await self._is_closed(*entry)]
            if not cards:
                return
        for request, card in cards:
            if not await self._is_elsewhere(card):
                await self._keep(request, None)

    async def _is_closed(self, request: str, card: _Card) -> bool:
        if await self._is_elsewhere(card):
            return False
        lapse = CardOutcome(text=_words(card.chinese).lapsed, allowed=False)
        try:
            await self._show(request, card, card.outcome or lapse)
        except PlatformError as error:
            LOGGER.warning("room", extra={"told": {"code": error.code, "message": error.message}})
            return False
        return True

    async def _is_elsewhere(self, card: _Card) -> bool:
        """Whether another daemon leads the session, and asks for itself. One that was killed seems to for a while."""
        if card.outcome is not None:
            return False
        residence = self._residence
        try:
            await residence.parts.agent.permission_requests(residence.owner, card.session)
        except SessionElsewhere:
            return True
        except CommonplaceError:
            # The session is gone.
            return False
        return False

    async def _show(self, request: str, card: _Card, outcome: CardOutcome) -> None:
        await self._residence.platform.settle_card(card.chat, card.message, outcome)
        await self._keep(request, None)

    async def _keep(self, request: str, card: _Card | None) -> None:
        """For the next process; None: nothing is left to show. What is no card has no buttons that stay behind."""
        residence = self._residence
        if residence.platform.limits.buttons:
            value = None if card is None else json.dumps(asdict(card), ensure_ascii=False)
            await residence.parts.store.put_platform_value(
                residence.tenant, residence.profile.name, f"{_PREFIX}{request}", value
            )

    def _note_closed(self, card: _Card) -> None:
        self._closed[card.chat, card.message] = card.chinese
        while len(self._closed) > _MOST:
            self._closed.popitem(last=False)

    async def _name(self, subject: str | None) -> str:
        return "" if subject is None else display_name(subject)


def _read_card(text: str) -> _Card:
    fields = cast("dict[str, Any]", json.loads(text))
    outcome = fields.pop("outcome", None)
    return _Card(**fields, outcome=None if outcome is None else CardOutcome(**outcome))


def _words(chinese: bool) -> RoomPhrases:
    return CHINESE if chinese else ENGLISH


def _options(chinese: bool) -> tuple[CardOption, ...]:
    labels = ("批准", "本次会话都批准", "拒绝") if chinese else ("Allow", "Allow in this session", "Refuse")
    return tuple(CardOption(label=label, command=command) for label, command in zip(labels, CHOICES, strict=True))
