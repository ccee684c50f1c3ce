"""
What a turn in a room is told of the room: what its admin wrote for the agent, and what the room remembers.

Both stand in the system prompt, so that nobody's message has to carry them. Of a long memory the prompt has the last lines, and of the others those, at most three,
that answer what was said. An exchange may be kept whole (`archive`): a record of the room, found by those who search there.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from commonplace.agent.memory.backend import RULE, FinishedTurn, HiddenEvent, Persisted, Recalled, TurnContext
from commonplace.agent.rooms import RoomPlace, RoomRegistry
from commonplace.errors import CommonplaceError
from commonplace.guard.quarantine import signs
from commonplace.memory.relevance import answering
from commonplace.text.fence import CLOSE, OPEN, POLICY, entry
from commonplace.text.scrub import scrub
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.record import Provenance
from commonplace.values.room_memory import EXCHANGE
from commonplace.values.scope import Scope
from commonplace.values.turn_event import RecalledMemory

MOST_SHOWN: Final = 6_000
"""Characters of a room's memory that a prompt always has."""
MOST_RECALLED: Final = 3
_LOOKED_AT: Final = 12
_SESSIONS: Final = 1_000
_MOST_ARCHIVED: Final = 8_000
_FAILED: Final = "ENGINE_ERROR:"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomLines:
    """What a room remembers. `revision` grows with each change that somebody made on purpose, and with none that was overheard."""

    lines: tuple[str, ...]
    revision: int = 0


ReadLines = Callable[[Principal, RoomPlace], Awaitable[RoomLines]]
"""The lines that a room of the principal's tenant remembers. Raises Forbidden: the principal does not reach the room."""


class RoomMemoryBackend:
    """A `MemoryBackend` beside the agent's own, for turns in rooms."""

    name: str = "room"

    def __init__(self, rooms: RoomRegistry, read_lines: ReadLines) -> None:
        self._rooms = rooms
        self._read_lines = read_lines
        self._shown: OrderedDict[tuple[str, str, Scope], tuple[int, tuple[str, ...]]] = OrderedDict()

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        if turn.room is None:
            return Recalled()
        who = await turn.memory.me()
        place = self._rooms.place(who.tenant, turn.session, who)
        if place is None:
            return Recalled()
        sections = [f"## This room\n{place.instructions.strip()}"] if place.instructions.strip() else []
        try:
            memory = await self._read_lines(who, place)
            visible_lines = await self._visible((who.tenant, turn.session, place.scope), memory)
            if visible_lines:
                title = "## What this room remembers (what its members said; each line names who)"
                sections.append("\n".join([OPEN, POLICY, title, *(entry("", line) for line in visible_lines), CLOSE]))
            recalled = await self._recalled(turn, visible_lines) if set(memory.lines) - set(visible_lines) else ()
        except CommonplaceError as error:
            event = HiddenEvent(name="room_memory_failed", data={"code": error.code})
            return Recalled(sections=tuple(sections), events=(event,))
        reference = (
            "\n".join([OPEN, POLICY, *(entry("", memory.text) for memory in recalled), CLOSE]) if recalled else None
        )
        return Recalled(sections=tuple(sections), reference=reference, rule=RULE, memories=tuple(recalled))

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        """Keep the exchange, if the room is so set. What it teaches is learned beside it (`agent/memory/workspace.py`)."""
        who = await turn.memory.me()
        place = self._rooms.place(who.tenant, turn.session, who)
        if turn.room is None or place is None or not place.archive:
            return Persisted()
        note = exchange_of(turn, finished, place)
        if note is None:
            return Persisted()
        try:
            await turn.memory.put_many([note])
        except CommonplaceError as error:
            return Persisted(events=(HiddenEvent(name="room_archive_failed", data={"code": error.code}),))
        return Persisted(events=(HiddenEvent(name="room_exchange_archived", data={"key": note.key}),))

    async def end_session(self, turn: TurnContext) -> Persisted:
        del turn
        return Persisted()

    async def _visible(self, session: tuple[str, str, Scope], memory: RoomLines) -> tuple[str, ...]:
        """The same lines in each turn of a session, until somebody changes what is remembered on purpose."""
        before = self._shown.get(session)
        if before is None or before[0] != memory.revision:
            before = memory.revision, tuple(await asyncio.to_thread(_last, memory.lines))
        self._shown[session] = before
        self._shown.move_to_end(session)
        while len(self._shown) > _SESSIONS:
            self._shown.popitem(last=False)
        return before[1]

    async def _recalled(self, turn: TurnContext, visible_lines: Sequence[str]) -> Sequence[RecalledMemory]:
        assert turn.room is not None
        hits = answering(await turn.memory.search(turn.text, scopes=[turn.room], limit=_LOOKED_AT))
        fresh = [
            hit
            for hit in hits
            if hit.record.kind != EXCHANGE and hit.record.text not in visible_lines and not signs(hit.record.text)
        ][:MOST_RECALLED]
        return tuple(
            RecalledMemory(
                id=hit.record.id,
                text=hit.record.text,
                relevance=hit.relevance,
                scope=str(hit.record.scope),
                source=hit.record.source,
                why=str(hit.why),
            )
            for hit in fresh
        )


def exchange_of(turn: TurnContext, finished: FinishedTurn, place: RoomPlace) -> Note | None:
    """A request with its answer, as one record of the room, the same one if it is kept twice. None: a command, or an answer that is none."""
    request, reply = turn.text.strip(), finished.reply.strip()
    if not request or not reply or request.startswith("/") or reply.startswith(_FAILED):
        return None
    digest = sha256(f"{turn.session}:{request}:{reply}".encode("utf-8", "replace")).hexdigest()
    text = f"{_cut(request)}\n\nThe answer of {turn.agent} was: {_cut(reply)}"
    return Note(
        text=scrub(text).text,
        scope=place.scope,
        key=f"exchange:{digest}",
        kind=EXCHANGE,
        source="chat_exchange",
        trust="external_user_supplied",
        visibility="shared",
        at=turn.at,
        session=turn.session,
        speaker=turn.speaker,
        metadata={"agent": turn.agent, "workspace": turn.workspace, "run": turn.run},
        provenance=Provenance(run=turn.run),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_ARCHIVED else f"{text[: _MOST_ARCHIVED - 2]} …"


def _last(lines: Sequence[str]) -> list[str]:
    """The newest lines that fit, in their order, without those that look like orders to an agent."""
    visible_lines: list[str] = []
    size = 0
    for line in reversed(lines):
        size += len(line) + 3
        if size > MOST_SHOWN:
            break
        if not signs(line):
            visible_lines.append(line)
    return visible_lines[::-1]
