"""
The workspace's own memory in a turn of the agent: recalled before it, and learning from it afterwards.

A turn gets the keyed rows of its agent and its workspace, a `<memory_context>` block of what answers the question, and what earlier runs found out about it
(`<knowledge_context>`), if a preflight says that it may be built upon. Afterwards the session's memory keeps for a while what was said and done, and
what the two said to each other is read for facts. Talk of less than 200 characters is not read by itself, so short exchanges wait for the next ones.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from commonplace.agent.memory.backend import RULE, FinishedTurn, HiddenEvent, Persisted, Recalled, TurnContext
from commonplace.agent.memory.ingestion import notes_of
from commonplace.errors import CommonplaceError
from commonplace.governance.access import exact_scopes
from commonplace.text.room_speech import speeches
from commonplace.values.context import ContextBlock
from commonplace.values.extraction import Extracted
from commonplace.values.ingestion import RETENTION, Capture
from commonplace.values.json import Json
from commonplace.values.knowledge import Preflight
from commonplace.values.principal import Principal
from commonplace.values.record import Record, Turn
from commonplace.values.scope import Scope
from commonplace.values.turn_event import RecalledMemory, ToolEnded

Consolidate = Callable[[TurnContext], Awaitable[None]]
"""Is told when a session has ended, so that the memory in files may be tidied. It decides itself whether it is time, and never raises."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomSpeeches:
    """What was said in a room since it was last read, each by who said it, and the ids of memories that were shown meanwhile."""

    turns: tuple[Turn, ...]
    shown_ids: tuple[str, ...] = ()


LearnInRoom = Callable[[TurnContext, RoomSpeeches], Awaitable[tuple[str, ...]]]
"""Keeps in the room what its talk teaches; what that was. Raises CommonplaceError."""

LEAST: Final = 200
READ: Final = 12_000
_SESSIONS: Final = 1_000
_RECALLED: Final = 200
_SHOWN: Final = 2_000
_FILES: Final = frozenset({"memory", "memory_store", "memory_correct"})
"""Tools by which a turn keeps what it was told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceMemoryOptions:
    """`budget`: the tokens of each block; None is what the memory's settings say."""

    recall: bool = True
    learn: bool = True
    capture: Capture = "summary"
    budget: int | None = None


@dataclass(slots=True)
class _Conversation:
    """
    A session as far as this process saw it. `unread` was said and not yet read for facts; `shown_ids` are the ids of memories that its prompts had.
    `outgrown`: the session's own memory takes more room than a block has.
    """

    unread: list[Turn] = field(default_factory=list[Turn])
    shown_ids: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])
    outgrown: bool = False
    last_turn: TurnContext | None = None

    @property
    def size(self) -> int:
        return sum(len(turn.text) for turn in self.unread)

    def show(self, records: tuple[Record, ...], session: str) -> None:
        """What the session itself said is not shown to it: whoever says it first is not repeating it."""
        self.shown_ids.update({record.id: None for record in records if record.session != session})
        while len(self.shown_ids) > _RECALLED:
            self.shown_ids.popitem(last=False)

    def hear(self, *turns: Turn) -> None:
        """What cannot be read in one go any more, because reading failed again and again, is given up, the oldest first."""
        self.unread += turns
        while self.size > READ and len(self.unread) > len(turns):
            del self.unread[0]


class WorkspaceMemory:
    """A `MemoryBackend` beside the one that the agent has of its own. `consolidate` is called when a session ends."""

    name: str = "workspace"

    def __init__(
        self,
        options: WorkspaceMemoryOptions | None = None,
        *,
        consolidate: Consolidate | None = None,
        learn_in_room: LearnInRoom | None = None,
    ) -> None:
        self.options = options or WorkspaceMemoryOptions()
        self._consolidate = consolidate
        self._learn_in_room = learn_in_room
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        if not self.options.recall:
            return Recalled()
        faults: list[HiddenEvent] = []
        rows, block = ContextBlock(), ContextBlock()
        preflight: Preflight | None = None
        with _noted("sections", faults):
            rows = await self._rows(turn)
        with _noted("context", faults):
            block = await self._block(turn)
        with _noted("preflight", faults):
            preflight = await turn.memory.preflight(turn.text, project=turn.workspace)
        self._conversation(turn).show((*rows.records, *block.records), turn.session)
        findings = preflight.context if preflight and preflight.reuses else ""
        reference = "\n\n".join(text for text in (block.text, findings) if text)
        return Recalled(
            sections=(rows.text,) if rows.text else (),
            reference=reference or None,
            rule=RULE,
            memories=_memories(rows, block, turn.session),
            events=(_summary(rows, block, preflight), *faults),
        )

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        if not self.options.learn:
            return Persisted()
        events: list[HiddenEvent] = []
        with _noted("ingest", events):
            notes = notes_of(turn, finished, self.options.capture)
            if notes:
                await turn.memory.put_many(notes)
                kinds: dict[str, Json] = {**Counter(note.kind or "" for note in notes)}
                events.append(HiddenEvent(name="workspace_memory_ingested", data=kinds))
        if _was_filed(finished):
            # Whoever had it filed need not have it learned as well, in other words.
            return Persisted(events=tuple(events))
        conversation = self._conversation(turn)
        conversation.last_turn = turn
        conversation.hear(
            *_said(turn),
            Turn(speaker="assistant", text=finished.reply, at=finished.at, metadata={"role": "assistant"}),
        )
        memories = await self._learned(turn, events) if conversation.size >= LEAST else ()
        return Persisted(memories=memories, events=tuple(events))

    async def learn_now(self, session: str) -> tuple[str, ...]:
        """
        Learn from what a room said and was too short until now, because somebody asked for it. What was kept.

        Raises:
            CommonplaceError: as the memory has it.
        """
        conversation = self._conversations.get(session)
        turn = None if conversation is None else conversation.last_turn
        if conversation is None or turn is None or not conversation.unread or not self.options.learn:
            return ()
        claims = await self._kept_in_room(turn, conversation)
        conversation.unread.clear()
        return claims

    async def end_session(self, turn: TurnContext) -> Persisted:
        """
        The session is over: learn from what was too short until now, and let the memory in files be tidied. `turn` is any of the
        session's, the last one for instance.
        """
        if not self.options.learn:
            return Persisted()
        events: list[HiddenEvent] = []
        memories = await self._learned(turn, events) if self._conversation(turn).unread else ()
        self._conversations.pop(turn.session, None)
        if self._consolidate is not None:
            await self._consolidate(turn)
        return Persisted(memories=memories, events=tuple(events))

    # ---- recall

    async def _rows(self, turn: TurnContext) -> ContextBlock:
        who = await turn.memory.me()
        agent = turn.agent if who.reaches(Scope("agent", turn.agent)) else None
        workspace = _workspace(turn, who)
        if agent is None and workspace is None:
            return ContextBlock()
        return await turn.memory.sections(agent=agent, workspace=workspace, budget=self.options.budget)

    async def _block(self, turn: TurnContext) -> ContextBlock:
        """
        With the session as it went, while all of it fits; else a long session would leave no room for what answers the question. The prompt has
        its history beside the block, and what of the session fits the question is found like every other memory.
        """
        conversation, budget = self._conversation(turn), self.options.budget
        scopes = None if turn.room is None else _beside(turn.room, await turn.memory.me())
        if scopes is not None and not scopes:
            return ContextBlock()
        if not conversation.outgrown:
            block = await turn.memory.context(turn.text, scopes=scopes, session=turn.session, budget=budget)
            if not block.left_out or not block.meta.session_records:
                return block
            conversation.outgrown = True
        return await turn.memory.context(turn.text, scopes=scopes, budget=budget)

    # ---- learning

    async def _learned(self, turn: TurnContext, events: list[HiddenEvent]) -> tuple[RecalledMemory, ...]:
        conversation = self._conversation(turn)
        if turn.room is not None:
            # What is said in a room stays there.
            with _noted("learn", events):
                claims = await self._kept_in_room(turn, conversation)
                conversation.unread.clear()
                events.append(HiddenEvent(name="room_memory_learned", data={"lines": len(claims)}))
                return tuple(_claim(turn.room, claim) for claim in claims)
            return ()
        extracted: Extracted | None = None
        with _noted("learn", events):
            extracted = await self._extracted(turn, conversation)
            conversation.unread.clear()
        if extracted is None:
            return ()
        data: dict[str, Json] = {
            "status": extracted.status,
            "method": extracted.method,
            "facts": len(extracted.facts),
            "superseded": len(extracted.superseded),
            "dropped": {**extracted.dropped},
        }
        events.append(HiddenEvent(name="workspace_memory_learned", data=data))
        return tuple(_fact(record) for record in extracted.facts)

    async def _extracted(self, turn: TurnContext, conversation: _Conversation) -> Extracted | None:
        """Only what the two said to each other is read: neither what tools answered nor what was recalled."""
        who = await turn.memory.me()
        agents = [turn.agent] if who.reaches(Scope("agent", turn.agent)) else []
        workspace = _workspace(turn, who)
        own = who.home if who.subject == turn.speaker and who.reaches(who.home) else None
        if not agents and workspace is None and own is None:
            return None
        return await turn.memory.extract(
            [spoken for spoken in conversation.unread if spoken.text.strip()],
            agents=agents,
            workspace=workspace,
            scope=own,
            run=turn.run,
            recalled=[*conversation.shown_ids],
        )

    async def _kept_in_room(self, turn: TurnContext, conversation: _Conversation) -> tuple[str, ...]:
        if self._learn_in_room is None:
            return ()
        spoken = tuple(spoken for spoken in conversation.unread if spoken.text.strip())
        return await self._learn_in_room(turn, RoomSpeeches(turns=spoken, shown_ids=(*conversation.shown_ids,)))

    def _conversation(self, turn: TurnContext) -> _Conversation:
        conversation = self._conversations.setdefault(turn.session, _Conversation())
        self._conversations.move_to_end(turn.session)
        while len(self._conversations) > _SESSIONS:
            self._conversations.popitem(last=False)
        return conversation


def _said(turn: TurnContext) -> list[Turn]:
    """In a room several may have spoken, each by name; else it is the person whose turn it is."""
    if turn.room is None:
        return [Turn(speaker="user", text=turn.text, at=turn.at, metadata={"role": "user"})]
    alone = turn.speaker.rpartition("/")[2] or "user"
    return [
        Turn(
            speaker=speech.name or alone,
            text=speech.text,
            at=turn.at,
            metadata={"role": "user", "sender_name": speech.name or alone},
        )
        for speech in speeches(turn.text)
    ]


def _was_filed(finished: FinishedTurn) -> bool:
    """Whether a tool kept in the memory what was said."""
    return any(
        isinstance(entry, ToolEnded) and entry.tool in _FILES and not entry.failed for entry in finished.messages
    )


def _beside(room: Scope, who: Principal) -> list[Scope] | None:
    """All that a speaker of a room reaches, but the room: of that its own block tells (`agent/memory/room.py`). None: all that is at home with them."""
    scopes = exact_scopes(who)
    return None if scopes is None else [scope for scope in scopes if scope != room]


def _workspace(turn: TurnContext, who: Principal) -> str | None:
    return turn.workspace if turn.workspace and who.reaches(Scope("workspace", turn.workspace)) else None


@contextmanager
def _noted(operation: str, events: list[HiddenEvent]) -> Generator[None]:
    """An error of the memory is an event, and the turn goes on."""
    try:
        yield
    except CommonplaceError as error:
        data: dict[str, Json] = {"operation": operation, "code": error.code}
        events.append(HiddenEvent(name="workspace_memory_failed", data=data))


def _summary(rows: ContextBlock, block: ContextBlock, preflight: Preflight | None) -> HiddenEvent:
    data: dict[str, Json] = {
        "rows": len(rows.records),
        "session_records": block.meta.session_records,
        "history_records": block.meta.history_records,
        "fact_records": block.meta.fact_records,
        "left_out": rows.left_out + block.left_out,
        "knowledge": None if preflight is None else preflight.decision,
    }
    return HiddenEvent(name="workspace_memory_recalled", data=data)


def _memories(rows: ContextBlock, block: ContextBlock, session: str) -> tuple[RecalledMemory, ...]:
    hits = {hit.record.id: hit for hit in block.hits}
    memories: dict[str, RecalledMemory] = {}
    for record in (*block.records, *rows.records):
        hit = hits.get(record.id)
        if record.kind in RETENTION or (hit is None and record.session == session):
            # What was said in a session is its history, and no memory, though the block has it.
            continue
        why = str(hit.why) if hit else "always shown"
        text = hit.passage.strip() or record.text if hit else record.text
        memories.setdefault(record.id, _shown(record, text, why, hit.relevance if hit else None))
    return tuple(memories.values())


def _shown(record: Record, text: str, why: str, relevance: float | None) -> RecalledMemory:
    return RecalledMemory(
        id=record.id,
        text=text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …",
        relevance=relevance,
        scope=str(record.scope),
        source=record.source,
        why=why,
    )


def _claim(room: Scope, claim: str) -> RecalledMemory:
    return RecalledMemory(
        id="", text=claim, relevance=None, scope=str(room), source="room", why="learned from this conversation"
    )


def _fact(record: Record) -> RecalledMemory:
    why = "waits for a reviewer" if record.quarantine is not None else "learned from this conversation"
    return _shown(record, record.text, why, None)
