"""
Permissions in a room: a card that asks, and votes by button or command.

Who may vote are people whom we know: members of a room of ours, and senders whom an admin linked. What their vote does is the session's own
mediator's to say.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.channels.parts import Target
from commonplace.channels.phrases import CHINESE, ENGLISH, RoomPhrases
from commonplace.channels.prefix import display_name
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import ButtonPress, CardOption, CardOutcome, Outgoing, PermissionCard
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionNotFound,
    PermissionRequest,
    PermissionVote,
    PermissionVoteChoice,
)
from commonplace.values.principal import CHANNEL_SUBJECT, Principal

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

_MOST: Final = 512
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


class RoomVotes:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence
        self._cards: OrderedDict[str, _Card] = OrderedDict()

    def waiting_of(self, session: str) -> tuple[str, ...]:
        """The requests of a session that the room was asked about."""
        return tuple(id for id, card in self._cards.items() if card.session == session)

    async def take_over(self, session: str, target: Target, request: PermissionRequest, *, is_asked: bool) -> None:
        """
        A question that waits from before the channel was stopped. `is_asked`: it is before the room already, and asked again only where that is the same
        message, which the platform then knows to be ours.
        """
        if is_asked and not self._residence.platform.limits.send_keys:
            self._keep(session, target, request)
        else:
            await self.ask(session, target, request)

    async def ask(self, session: str, target: Target, request: PermissionRequest) -> None:
        """Put the question before the room."""
        self._keep(session, target, request)
        words, asker = _words(target.chinese), display_name(target.name)
        card = PermissionCard(request=request, options=_options(target.chinese), asker=asker)
        text = words.card.format(asker=asker, title=" ".join(request.title.split())[:500], id=f" {request.id[-6:]}")
        await self._residence.post(
            Outgoing(
                chat=target.chat,
                thread=target.thread,
                text=text,
                key=f"{request.id}-card",
                reply_to=target.message or None,
                run=target.run,
                notice=True,
                card=card,
            ),
            is_due=lambda: request.id in self._cards,
        )

    def _keep(self, session: str, target: Target, request: PermissionRequest) -> None:
        self._cards[request.id] = _Card(
            chat=target.chat,
            thread=target.thread,
            session=session,
            message=f"{request.id}-card",
            chinese=target.chinese,
        )
        while len(self._cards) > _MOST:
            self._cards.popitem(last=False)

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
        await self._residence.platform.settle_card(card.chat, card.message, outcome)

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
            return None
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

    async def _name(self, subject: str | None) -> str:
        return "" if subject is None else display_name(subject)


def _words(chinese: bool) -> RoomPhrases:
    return CHINESE if chinese else ENGLISH


def _options(chinese: bool) -> tuple[CardOption, ...]:
    labels = ("批准", "本次会话都批准", "拒绝") if chinese else ("Allow", "Allow in this session", "Refuse")
    return tuple(CardOption(label=label, command=command) for label, command in zip(labels, CHOICES, strict=True))
