"""
What a channel that begins to work goes on with: the messages that were kept and are not handled.

Their turns may be alive, because only the channel was stopped, or its settings were changed: then the room is told of them from where it was left, and
none is asked for again. Of the others the history says what became of them: a turn whose end is kept is over; one that had begun to do something is
not done again; one that had not is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from commonplace.channels.agent import RoomHistory
from commonplace.channels.follower import (
    DeliveryProgress,
    RoomDelivery,
    RoomFollower,
    deliver,
    notice,
    played_turn,
    whole_reply,
)
from commonplace.channels.inbox import PROGRESS, RUN, SESSION, TELLING, envelope_of
from commonplace.channels.parts import Target
from commonplace.channels.prefix import display_name
from commonplace.errors import CommonplaceError, NotFound
from commonplace.values.envelope import Envelope
from commonplace.values.json import Json
from commonplace.values.moment import new_id
from commonplace.values.principal import Principal
from commonplace.values.session import SessionMessage
from commonplace.values.session_state import SessionState

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

_PAGE: Final = 200
_MOST: Final = 5
_ENDINGS: Final = frozenset({"turn_ended", "turn_failed"})
_WITHDRAWN: Final = "prompt_withdrawn"

Standing: TypeAlias = Literal["not_begun", "interrupted", "over"]


@dataclass(kw_only=True, slots=True)
class UnhandledTurn:
    """Messages that were said as one, or are to be said, the last of them last; `data` is what is kept with that. `session` None: nothing was said yet."""

    run: str
    session: str | None
    envelopes: list[Envelope] = field(default_factory=list[Envelope])
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def envelope(self) -> Envelope:
        return self.envelopes[-1]

    @property
    def progress(self) -> DeliveryProgress:
        noted = self.data.get(PROGRESS)
        return DeliveryProgress() if not isinstance(noted, dict) else _progress_of(noted)


class RoomRecovery:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence

    async def unhandled(self) -> list[UnhandledTurn]:
        """What is left to do, in the order it came."""
        residence = self._residence
        turns: dict[str, UnhandledTurn] = {}
        for chat, message in await residence.parts.store.unhandled(residence.tenant, residence.profile.name):
            if not await residence.takes_up(chat, message.id):
                continue
            envelope, run = envelope_of(residence.tenant, residence.profile.name, chat, message)
            turn = turns.setdefault(run, UnhandledTurn(run=run, session=None))
            turn.envelopes.append(envelope)
            turn.data = message.data
            session = message.data.get(SESSION)
            turn.session = str(session) if session is not None else await self._known(envelope)
        return list(turns.values())

    async def _known(self, envelope: Envelope) -> str | None:
        """Of a message that was kept before it was noted where it is said."""
        route = await self._residence.router.known(envelope)
        return None if route is None else route.session

    async def go_on(self, turns: Sequence[UnhandledTurn]) -> None:
        """See to it that each is answered once."""
        sessions = dict.fromkeys(turn.session for turn in turns if turn.session is not None)
        alive = set[str]()
        for session in sessions:
            alive |= await self._follow(session, [turn for turn in turns if turn.session == session])
        for turn in turns:
            if turn.run not in alive:
                await self._settle(turn)

    # ---- turns that are alive

    async def _follow(self, session: str, turns: Sequence[UnhandledTurn]) -> set[str]:
        """Have the room told of those that are played, or wait; their runs."""
        residence = self._residence
        agent, owner = residence.parts.agent, residence.owner
        try:
            ring = await agent.live_ring(owner, session)
            state = None if ring is None else await agent.state(owner, session)
        except CommonplaceError:
            # It is gone, or another daemon leads it.
            return set()
        if ring is None or state is None or ring.closed:
            return set()
        # Nothing happens in the session from here until it is followed.
        speakers = {prompt.run: prompt.speaker for prompt in state.prompts}
        playing = next((prompt.run for prompt in state.prompts if prompt.state == "running"), "")
        alive = [turn for turn in turns if turn.run in speakers]
        if not alive:
            return set()
        played = played_turn(ring, playing) if playing else None
        follower = residence.follow(session, ring, after=None if played is None else played.last)
        for turn in alive:
            target = self._target(turn, speakers[turn.run])
            follower.expect(target)
            if turn.run == playing and played is not None and follower.current is None:
                follower.resume(played, target, turn.progress)
        await self._show(session, follower, state, alive)
        return {turn.run for turn in alive}

    async def _show(
        self, session: str, follower: RoomFollower, state: SessionState, turns: Sequence[UnhandledTurn]
    ) -> None:
        residence, target = self._residence, follower.current
        for chat in dict.fromkeys(turn.envelope.chat for turn in turns):
            room = await residence.parts.store.room(residence.tenant, residence.profile.name, chat)
            if room is not None:
                await residence.place(room, session)
        if target is None:
            return
        questions = next((turn.progress.questions for turn in turns if turn.run == target.run), ())
        try:
            for request in state.permissions:
                await residence.votes.take_over(session, target, request, is_asked=request.id in questions)
            await follower.show_current()
        except CommonplaceError as error:
            residence.log_undelivered(error)

    def _target(self, turn: UnhandledTurn, speaker: str) -> Target:
        others = tuple(envelope.id for envelope in turn.envelopes[:-1])
        return replace(self._residence.target(turn.envelope, turn.run), others=others, speaker=speaker)

    # ---- turns that are not

    async def _settle(self, turn: UnhandledTurn) -> None:
        residence = self._residence
        standing, reply = "not_begun", ""
        if turn.session is not None:
            standing, reply = await standing_of(residence.parts.history, residence.owner, turn.session, turn.run)
        if standing == "not_begun":
            await self._begin(turn)
            return
        envelope, target = turn.envelope, self._target(turn, "")
        if standing == "over" and reply.strip():
            deliveries = whole_reply(residence.platform, target, reply)
        else:
            # Also one that ended with the process, before its first word.
            name = display_name(envelope.sender_name or envelope.sender)
            text = residence.words(envelope).restarted.format(name=name)
            deliveries = [RoomDelivery(message=replace(notice(envelope, text, key=f"{turn.run}-reply"), run=turn.run))]
        first = deliveries[0].message
        if turn.data.get(TELLING) and not residence.platform.is_begun(first.chat, first.key):
            residence.undelivered(target, deliveries)
            return
        await residence.telling(target)
        if rest := await deliver(residence.platform, deliveries):
            residence.undelivered(target, rest)
        else:
            await residence.done(envelope.chat, *target.others, envelope.id)

    async def _begin(self, turn: UnhandledTurn) -> None:
        """Each by itself: what came meanwhile is collected anew."""
        for envelope in turn.envelopes[:-1]:
            run = new_id(self._residence.parts.clock.now())
            await self._residence.note_message(envelope.chat, envelope.id, {RUN: run})
            self._residence.take(envelope, run)
        self._residence.take(turn.envelope, turn.run)


def progress_data(progress: DeliveryProgress) -> dict[str, Json]:
    return {"characters": progress.characters, "blocks": progress.blocks, "questions": list[Json](progress.questions)}


def _progress_of(data: Mapping[str, Json]) -> DeliveryProgress:
    """What `progress_data` wrote."""
    questions = cast("list[str]", data.get("questions") or [])
    return DeliveryProgress(
        characters=cast("int", data.get("characters", 0)),
        blocks=cast("int", data.get("blocks", 0)),
        questions=tuple(questions),
    )


async def standing_of(history: RoomHistory, who: Principal, session: str, run: str) -> tuple[Standing, str]:
    """Where the turn stands, and its reply if there is one."""
    messages = await _of_run(history, who, session, run)
    if any(message.role == "event" and message.text in (*_ENDINGS, _WITHDRAWN) for message in messages):
        replies = [message.text for message in messages if message.role == "assistant" and message.kind == "text"]
        return "over", replies[-1] if replies else ""
    is_begun = any(message.role in ("assistant", "tool") for message in messages)
    return ("interrupted" if is_begun else "not_begun"), ""


async def _of_run(history: RoomHistory, who: Principal, session: str, run: str) -> list[SessionMessage]:
    messages: list[SessionMessage] = []
    before: int | None = None
    for _ in range(_MOST):
        try:
            page = await history.messages(who, session, before=before, limit=_PAGE, hidden=True)
        except NotFound:
            return []
        messages = [message for message in page.messages if message.run == run] + messages
        if not page.before or not page.messages or (messages and page.messages[0].run != run):
            return messages
        before = page.messages[0].position
    return messages
