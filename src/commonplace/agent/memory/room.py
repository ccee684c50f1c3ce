"""
What a turn in a room is told of the room: what its admin wrote for the agent, and what the room remembers.

Both stand in the system prompt, so that nobody's message has to carry them. Of a long memory the prompt has the last lines, and of the others those, at most three,
that answer what was said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from commonplace.agent.memory.backend import RULE, FinishedTurn, HiddenEvent, Persisted, Recalled, TurnContext
from commonplace.agent.rooms import RoomPlace, RoomRegistry
from commonplace.errors import CommonplaceError
from commonplace.guard.quarantine import signs
from commonplace.memory.relevance import answering
from commonplace.text.fence import CLOSE, OPEN, POLICY, entry
from commonplace.values.turn_event import RecalledMemory

MOST_SHOWN: Final = 6_000
"""Characters of a room's memory that a prompt always has."""
MOST_RECALLED: Final = 3
_LOOKED_AT: Final = 12

ReadLines = Callable[[str, RoomPlace], Awaitable[Sequence[str]]]
"""The lines that a room of a tenant remembers."""


class RoomMemoryBackend:
    """A `MemoryBackend` beside the agent's own, for turns in rooms."""

    name: str = "room"

    def __init__(self, rooms: RoomRegistry, read_lines: ReadLines) -> None:
        self._rooms = rooms
        self._read_lines = read_lines

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        if turn.room is None:
            return Recalled()
        tenant = (await turn.memory.me()).tenant
        place = self._rooms.place(tenant, turn.session)
        if place is None:
            return Recalled()
        sections = [f"## This room\n{place.instructions.strip()}"] if place.instructions.strip() else []
        try:
            lines = [line for line in await self._read_lines(tenant, place) if not signs(line)]
            visible_lines = _last(lines)
            if visible_lines:
                title = "## What this room remembers (what its members said; each line names who)"
                sections.append("\n".join([OPEN, POLICY, title, *(entry("", line) for line in visible_lines), CLOSE]))
            recalled = await self._recalled(turn, visible_lines) if len(visible_lines) < len(lines) else ()
        except CommonplaceError as error:
            event = HiddenEvent(name="room_memory_failed", data={"code": error.code})
            return Recalled(sections=tuple(sections), events=(event,))
        reference = (
            "\n".join([OPEN, POLICY, *(entry("", memory.text) for memory in recalled), CLOSE]) if recalled else None
        )
        return Recalled(sections=tuple(sections), reference=reference, rule=RULE, memories=tuple(recalled))

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        del turn, finished
        return Persisted()

    async def end_session(self, turn: TurnContext) -> Persisted:
        del turn
        return Persisted()

    async def _recalled(self, turn: TurnContext, visible_lines: Sequence[str]) -> Sequence[RecalledMemory]:
        assert turn.room is not None
        hits = answering(await turn.memory.search(turn.text, scopes=[turn.room], limit=_LOOKED_AT))
        fresh = [hit for hit in hits if hit.record.text not in visible_lines][:MOST_RECALLED]
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


def _last(lines: Sequence[str]) -> list[str]:
    """The newest lines that fit, in their order."""
    visible_lines: list[str] = []
    size = 0
    for line in reversed(lines):
        size += len(line) + 3
        if size > MOST_SHOWN:
            break
        visible_lines.append(line)
    return visible_lines[::-1]
