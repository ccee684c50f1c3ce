"""
Curated memory: two small files that the agent keeps itself.

A turn begins with the files as they are at that moment. What the tool `memory` writes meanwhile is on the disk at once, and in the prompt of the next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from commonplace.agent.memory.backend import RULE, FinishedTurn, HiddenEvent, Persisted, Recalled, TurnContext
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput
from commonplace.markdown.curated_pair import (
    LIMITS,
    NAMES,
    CuratedAction,
    CuratedFile,
    CuratedFiles,
    CuratedOperation,
    CuratedSnapshot,
    CuratedTarget,
    joined,
)
from commonplace.ports.clock import Clock
from commonplace.text.fence import CLOSE, OPEN, POLICY, entry
from commonplace.values.json import Json

_HEADINGS: Final[dict[CuratedTarget, str]] = {"memory": "Your Notes", "user": "About This Person"}


class CuratedMemoryBackend:
    """A `MemoryBackend`. It persists nothing after a turn: what is worth keeping, the model writes with the tool."""

    name: str = "curated"

    def __init__(self, files: CuratedFiles) -> None:
        self._files = files

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        if turn.room is not None:
            # The agent's notes may be of talks with one person, and `USER.md` is about one.
            return Recalled(rule=RULE)
        try:
            who = await turn.memory.me()
            # What others read has nothing of this person in it.
            person = None if turn.overheard else turn.speaker
            work = partial(self._files.snapshot, turn.agent, person, tenant=who.tenant)
            snapshot = await asyncio.to_thread(work)
        except CommonplaceError as error:
            return Recalled(events=(HiddenEvent(name="curated_memory_recall_failed", data={"code": error.code}),))
        return Recalled(sections=sections_of(snapshot), rule=RULE, events=_events(snapshot))

    async def end_session(self, turn: TurnContext) -> Persisted:
        del turn
        return Persisted()

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        del turn, finished
        return Persisted()


def _events(snapshot: CuratedSnapshot) -> tuple[HiddenEvent, ...]:
    """Only if something of the files is not shown."""
    missing: dict[str, Json] = {"held_back": snapshot.held_back, "left_out": snapshot.left_out}
    return (HiddenEvent(name="curated_memory_incomplete", data=missing),) if any(missing.values()) else ()


def sections_of(snapshot: CuratedSnapshot) -> tuple[str, ...]:
    """The files for a system prompt, one section each, fenced; one without entries is left out."""
    files: tuple[tuple[CuratedTarget, tuple[str, ...]], ...] = (("memory", snapshot.memory), ("user", snapshot.user))
    return tuple(_section(target, entries) for target, entries in files if entries)


def _section(target: CuratedTarget, entries: Sequence[str]) -> str:
    size = f"{NAMES[target]}, {len(joined(entries)):,} of {LIMITS[target]:,} characters"
    rows = [entry("", text) for text in entries]
    return "\n".join([OPEN, POLICY, f"## {_HEADINGS[target]} ({size})", *rows, CLOSE])


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratedMemoryTool:
    """The tool `memory` of one turn: of its agent, about its person."""

    files: CuratedFiles
    clock: Clock
    turn: TurnContext

    async def memory(
        self,
        action: CuratedAction | None = None,
        target: CuratedTarget = "memory",
        content: str | None = None,
        old_text: str | None = None,
        operations: list[CuratedOperation] | None = None,
    ) -> dict[str, Json]:
        """
        Keep short notes that every later conversation begins with.

        The target `memory` holds your own notes, 2,200 characters in all: how things are done here, what you learned. The target `user` holds what you
        know about this person, 1,375 characters: who they are, what they like. Write what will still be true next week, each fact once.
        When there is no room, replace or remove what matters least. What you write shows in your prompt from the next turn on.

        Args:
            action: add, replace or remove one entry. Leave it out if you give operations.
            target: memory for your own notes, user for this person.
            content: The new entry, for add and replace.
            old_text: A part of the entry that is meant, for replace and remove. It has to be in one entry only.
            operations: Several changes of one target at once, all of them or none; only the size at the end has to fit.
        """
        if (action is None) == (operations is None):
            raise InvalidInput("Give an action, or a list of operations, and not both.")
        if self.turn.overheard and target == "user":
            raise Forbidden(
                "Others read this session. What you know about one person is written in a session of theirs alone."
            )
        single = [] if action is None else [CuratedOperation(action=action, content=content, old_text=old_text)]
        turn = self.turn
        who = await turn.memory.me()
        work = partial(
            self.files.change,
            turn.agent,
            turn.speaker,
            target,
            operations or single,
            now=self.clock.now(),
            tenant=who.tenant,
        )
        return _told(await asyncio.to_thread(work))


def _told(file: CuratedFile) -> dict[str, Json]:
    answer: dict[str, Json] = {
        "target": file.target,
        "changed": file.changed,
        "entries": list[Json](file.visible),
        "usage": f"{file.characters:,} of {file.limit:,} characters",
    }
    return {**answer, "redactions": file.redactions} if file.redactions else answer
