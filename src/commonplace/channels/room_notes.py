"""What people tell a room to remember, to correct, to forget and to say again: `/remember`, `/correct`, `/forget`, `/recall`, `/why`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.channels.command_line import UNDO
from commonplace.channels.phrases import RoomPhrases
from commonplace.errors import CommonplaceError, NotFound
from commonplace.markdown.room_file import BY, RoomChange, author_name, claim_of, clean_claim
from commonplace.values.channel import ChatRoom
from commonplace.values.principal import Principal
from commonplace.values.record import Record
from commonplace.values.room_memory import EXCHANGE

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

_LISTED: Final = 30
_SHOWN: Final = 10
_MANAGED: Final = "managed"
_ARROW: Final = re.compile(r"=>|->|→|⇒")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Memory:
    """A line of the room's file, or a record that a tool or the agent itself kept. One of `line` and `record` is there."""

    text: str
    line: str | None = None
    record: str | None = None


class RoomNotes:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence

    async def remember(self, who: Principal, room: ChatRoom, text: str, name: str, words: RoomPhrases) -> str:
        change = await self._residence.parts.memory.remember(who, room, text, by=author_name(name))
        phrase = words.remembered if change.changed else words.remembered_before
        reply = phrase.format(text=" ".join(change.text.split())[:500])
        return f"{reply}\n{words.redacted}" if change.redactions else reply

    async def learn(self, session: str | None, words: RoomPhrases) -> str | None:
        """Distil what was said in a session until now. None: there was nothing to keep."""
        learn_now = self._residence.parts.rooms.learn_now
        if session is None or learn_now is None:
            return None
        claims = await learn_now(session)
        return words.learned.format(lines="\n".join(f"- {claim[:300]}" for claim in claims)) if claims else None

    async def recall(self, who: Principal, room: ChatRoom, words: RoomPhrases) -> str:
        memories = await self._memories(who, room)
        return words.memories.format(lines=_listed(memories)) if memories else words.nothing_known

    async def has(self, who: Principal, room: ChatRoom, argument: str) -> bool:
        """Whether there is something that may be meant by it."""
        if argument.lower() in UNDO:
            return bool(await self._residence.parts.memory.changes(who, room))
        return bool(_meant(await self._memories(who, room), _wish(argument)[0]))

    async def correct(self, who: Principal, room: ChatRoom, argument: str, name: str, words: RoomPhrases) -> str:
        """`2 …`, or `… => …`: another text in the place of one."""
        if argument.lower() in UNDO:
            return await self._bring_back(who, room, words)
        wish, text = _wish(argument)
        memories = await self._memories(who, room)
        meant = _meant(memories, wish)
        if len(meant) != 1 or not text:
            return words.which_one.format(lines=_listed(meant or memories)) if memories else words.nothing_known
        [memory] = meant
        parts = self._residence.parts
        if memory.line is None:
            # What a tool kept becomes a line, which says whose word it is.
            change = await parts.memory.remember(who, room, text, by=author_name(name))
            await parts.memory_of(who).delete(memory.record or "", reason="room_correct")
        else:
            change = await parts.memory.correct(who, room, memory.line, text, by=author_name(name))
        claim = clean_claim(change.text)
        line = next((line for line in change.lines if claim_of(line) == claim), None)
        if memory.record is not None and change.changed and line is not None:
            await parts.memory.note_record(who, room, memory.record, line=line)
        return words.corrected.format(text=claim[:500])

    async def forget(self, who: Principal, room: ChatRoom, argument: str, words: RoomPhrases) -> str:
        if argument.lower() in UNDO:
            return await self._bring_back(who, room, words)
        memories = await self._memories(who, room)
        meant = _meant(memories, argument)
        if len(meant) != 1:
            return words.which_one.format(lines=_listed(meant or memories)) if memories else words.nothing_known
        [memory] = meant
        if memory.line is not None:
            await self._residence.parts.memory.forget(who, room, memory.line)
        else:
            parts, record = self._residence.parts, memory.record or ""
            await parts.memory_of(who).delete(record, reason="room_forget")
            await parts.memory.note_record(who, room, record)
        return words.forgotten.format(text=memory.text[:500])

    async def _bring_back(self, who: Principal, room: ChatRoom, words: RoomPhrases) -> str:
        """Undo the last change; said again, the one before."""
        memory = self._residence.parts.memory
        for change in await memory.changes(who, room):
            try:
                text = await self._bring_back_one(who, room, change)
            except NotFound:
                # It was purged since.
                await memory.drop_change(who, room, change)
                continue
            await memory.drop_change(who, room, change)
            return words.undone.format(text=" ".join(text.split())[:500])
        return words.nothing_to_undo

    async def _bring_back_one(self, who: Principal, room: ChatRoom, change: RoomChange) -> str:
        parts = self._residence.parts
        if change.record is None:
            return await self._bring_back_line(who, room, change)
        record = await parts.memory_of(who).undo(change.record, reason="room_change_undone")
        if change.after is not None:
            await parts.memory.forget(who, room, change.after, undoable=False)
        return record.text

    async def _bring_back_line(self, who: Principal, room: ChatRoom, change: RoomChange) -> str:
        memory, line = self._residence.parts.memory, change.before or ""
        text, _, name = line.rpartition(BY)
        by = name if text else ""
        if change.after is not None:
            corrected = await memory.correct(who, room, change.after, text or line, by=by, undoable=False)
            if corrected.changed:
                return line
        # Also if what was in its place is gone meanwhile.
        await memory.remember(who, room, text or line, by=by)
        return line

    async def why(self, session: str | None, words: RoomPhrases) -> str:
        memories = self._residence.last_memories(session) if session is not None else ()
        lines = [f"{place}. {' '.join(memory.text.split())[:300]}" for place, memory in enumerate(memories[:_SHOWN], 1)]
        return words.why.format(lines="\n".join(lines)) if lines else words.why_nothing

    async def _memories(self, who: Principal, room: ChatRoom) -> list[_Memory]:
        """The file's lines, and what else the room keeps, the newest first."""
        parts = self._residence.parts
        lines = await parts.memory.lines(who, room)
        of_file = [_Memory(text=line, line=line) for line in reversed(lines)]
        try:
            page = await parts.memory_of(who).list(scopes=[room.scope], limit=_LISTED * 3)
        except CommonplaceError:
            return of_file[:_LISTED]
        others = [record for record in page.records if record.source != _MANAGED and record.kind != EXCHANGE]
        return [*of_file, *map(_of_record, others)][:_LISTED]


def _of_record(record: Record) -> _Memory:
    return _Memory(text=" ".join(record.text.split()), record=record.id)


def _listed(memories: list[_Memory]) -> str:
    return "\n".join(f"{place}. {memory.text[:300]}" for place, memory in enumerate(memories[:_SHOWN], 1))


def _wish(argument: str) -> tuple[str, str]:
    """Which one, and what it is to say."""
    number, _, rest = argument.partition(" ")
    if number.isdecimal() and rest.strip():
        return number, rest.strip()
    match = _ARROW.search(argument)
    return (argument, "") if match is None else (argument[: match.start()].strip(), argument[match.end() :].strip())


def _meant(memories: list[_Memory], argument: str) -> list[_Memory]:
    """By number, else those that say it, else those that have it in them."""
    if argument.isdecimal() and 1 <= int(argument[:4]) <= len(memories):
        return [memories[int(argument[:4]) - 1]]
    wish = clean_claim(argument).casefold()
    exact = [memory for memory in memories if claim_of(memory.text).casefold() == wish]
    return exact or ([memory for memory in memories if wish in memory.text.casefold()] if wish else [])
