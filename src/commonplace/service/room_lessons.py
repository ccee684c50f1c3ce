"""
Talk of a room becomes lines of what the room remembers.

It is read as all talk is (`service/fact_reader.py`), and what is news goes into the room's file and nowhere else, with who said it and that it was
overheard. What was only recalled is no news, and what somebody had forgotten does not come back. An overheard line gives way to a later one that says
the contrary; what somebody asked to be remembered stays beside it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.guard.quarantine import signs
from commonplace.learning.contradiction import contradicts
from commonplace.learning.extract import Fact
from commonplace.learning.news import Lesson
from commonplace.markdown.room_file import BY, HEARD, author_name, claim_of, clean_claim
from commonplace.service.fact_reader import Purpose, Reading
from commonplace.service.lessons import LessonWriter, Placed
from commonplace.service.run_memories import recalled_into
from commonplace.values.channel import ChatRoom
from commonplace.values.moment import utc
from commonplace.values.principal import Principal
from commonplace.values.record import Turn

if TYPE_CHECKING:
    from commonplace.service.desk import Desk
    from commonplace.service.room_memory import RoomMemories

_LEAST: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomDialogue:
    """What was said. `shown_ids` are the memories that the agent was shown meanwhile, which are not learned again."""

    turns: tuple[Turn, ...]
    session: str
    run: str | None = None
    shown_ids: tuple[str, ...] = ()


class RoomLessons:
    def __init__(self, desk: Desk, memories: RoomMemories) -> None:
        self._desk = desk
        self._memories = memories
        self._reading = Reading(desk)
        self._lessons = LessonWriter(desk)

    async def learn(self, who: Principal, room: ChatRoom, talk: RoomDialogue) -> tuple[str, ...]:
        """
        Keep what is news; the claims that were kept.

        Raises:
            Forbidden: the caller does not write to the room.
            RoomMemoryFull: nothing more fits.
        """
        desk = self._desk
        await desk.require(who, room.scope)
        known_records = await self._lessons.known(who, (room.scope,))
        reading = await self._reading.read(
            who, talk.turns, Purpose(session=talk.session), known_records=known_records, least=_LEAST
        )
        facts = [fact for fact in reading.facts if not await asyncio.to_thread(signs, fact.text)]
        if not facts:
            return ()
        fresh = await self._news(who, room, talk, facts)
        if not fresh:
            return ()
        claims = [(clean_claim(fact.text), f"{author_name(talk.turns[fact.turn].speaker)}{HEARD}") for fact in fresh]
        lines = await self._memories.lines(who, room)
        over = [line for line in lines if _is_heard(line) and any(_is_over(line, claim) for claim, _ in claims)]
        change = await self._memories.learn(who, room, claims, over, run=talk.run)
        return tuple(claim for claim, _ in claims) if change.changed else ()

    async def _news(self, who: Principal, room: ChatRoom, talk: RoomDialogue, facts: list[Fact]) -> list[Fact]:
        placed = [Placed(lesson=_lesson(talk, fact), scope=room.scope) for fact in facts]
        runs = [name for name in (talk.run, talk.session) if name is not None]
        shown_memories = await recalled_into(self._desk, who, runs, record_ids=talk.shown_ids, session=talk.session)
        shelf = await self._lessons.shelf(who, room.scope, placed, shown_memories)
        verdicts = [shelf.judge(item.lesson) for item in placed]
        # What contradicts a record that somebody vouched for is for a reviewer, and a file has none.
        return [
            fact
            for fact, verdict in zip(facts, verdicts, strict=True)
            if verdict.kind == "new" and verdict.beside is None
        ]


def _lesson(talk: RoomDialogue, fact: Fact) -> Lesson:
    at = talk.turns[fact.turn].at
    return Lesson(fact=fact, session=talk.session, said_at=None if at is None else utc(at))


def _is_heard(line: str) -> bool:
    return line.rpartition(BY)[2].endswith(HEARD)


def _is_over(line: str, claim: str) -> bool:
    return contradicts(claim, claim_of(line))
