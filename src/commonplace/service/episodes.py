"""
Closing an episode: what was said since the last time becomes facts and a summary.

How far a session was read stands in its episode records (`from` and `to`, places in the session), which are written together
with the facts: stopped in the middle, nothing was written, and asked twice at once, the second finds nothing left to do. A
chat that is flushed after every answer does not get a summary of every answer: a short episode grows until it is a
long one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import random
from typing import Final, Literal

from commonplace.errors import RecordChanged
from commonplace.governance.access import require_role, require_scope
from commonplace.learning.episode import episode
from commonplace.learning.extract import READ, Fact, extract_facts
from commonplace.service.account import Journaled
from commonplace.service.captured import worth_writing
from commonplace.service.desk import Desk
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Json, Provenance, Record, Trust, Turn
from commonplace.values.scope import Scope

LONG: Final = 20
"""An episode of this many turns does not grow any more."""
TALK: Final[Trust] = "external_user_supplied"
"""What somebody said is what somebody said."""

_ATTEMPTS: Final = 20
_PAUSE: Final = 0.02
_PAGE: Final = 200
_COMPARED: Final = 100
_MOST_WINDOWS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Flushed:
    status: Literal["extracted", "no_extraction"]
    turns: int = 0
    facts: tuple[Record, ...] = ()
    episode: Record | None = None


NOTHING: Final = Flushed(status="no_extraction")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """What is to be read of a session: the episode's turns so far, those that are new, and the episode that grows."""

    start: int
    stop: int
    turns: tuple[Record, ...]
    new: tuple[Record, ...]
    grows: Record | None


class Episodes:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def flush(self, who: Principal, scope: Scope, session: str) -> Flushed:
        """Learn from what was said in a session since the last flush. Without any, there is nothing to do."""
        desk = self._desk
        async with desk.account(who, "record.put", scope=scope) as account:
            require_role(who, "writer")
            require_scope(who, scope)
            writer = desk.engines(who).writer(Journaled(desk.store, account))
            for _ in range(_ATTEMPTS):
                stretch = await self._stretch(who, scope, session)
                if not stretch.new:
                    return NOTHING
                facts = await self._facts(who, scope, stretch)
                notes = [_fact_note(scope, session, turn, fact) for turn, fact in facts]
                fresh = await worth_writing(desk.store, who.tenant, notes, desk.clock.now())
                told = await asyncio.to_thread(_episode_note, scope, session, stretch)
                try:
                    written = await writer.put([*fresh, told], actor=who.subject)
                except RecordChanged:
                    # Somebody else closed it, or changed one of the facts: look again.
                    await asyncio.sleep(random() * _PAUSE)
                    continue
                learned = tuple(one.record for one in written[:-1])
                return Flushed(status="extracted", turns=len(stretch.new), facts=learned, episode=written[-1].record)
            raise RecordChanged

    # ---- what is to be read

    async def _stretch(self, who: Principal, scope: Scope, session: str) -> _Stretch:
        last = await self._last_episode(who, scope, session)
        read = -1 if last is None else _place(last, "to")
        grows = last if last is not None and self._may_grow(last) else None
        start = read + 1 if grows is None else _place(grows, "from")
        turns = await self._turns(who, scope, session, start)
        now = self._desk.clock.now()
        live = tuple(one for one in turns if one.state(now) == "live")
        return _Stretch(
            start=start,
            stop=max((one.position or 0 for one in turns), default=read),
            turns=live,
            new=tuple(one for one in live if (one.position or 0) > read),
            grows=grows,
        )

    def _may_grow(self, episode: Record) -> bool:
        is_short = _place(episode, "to") - _place(episode, "from") + 1 < LONG
        return is_short and episode.state(self._desk.clock.now()) == "live"

    async def _last_episode(self, who: Principal, scope: Scope, session: str) -> Record | None:
        """Deleted ones too: what was read once is not read again because its summary went away."""
        wanted = Filter(
            scopes=(scope,),
            kinds=("episode",),
            sessions=(session,),
            key_prefix=_key(session, ""),
            states=ALL_STATES,
        )
        page = await self._desk.store.find(who.tenant, wanted, "newest", _PAGE, None)
        return max(page.records, key=lambda one: _place(one, "to"), default=None)

    async def _turns(self, who: Principal, scope: Scope, session: str, start: int) -> list[Record]:
        """
        Every turn of the session from place `start` on, whatever became of it, in order. The newest are read first, so that
        a long session is not read as a whole each time; it is, where places are missing among those found.
        """
        wanted = Filter(scopes=(scope,), kinds=("turn",), sessions=(session,), states=ALL_STATES)
        found: dict[int, Record] = {}
        cursor: str | None = None
        while True:
            page = await self._desk.store.find(who.tenant, wanted, "newest", _PAGE, cursor)
            placed = {one.position: one for one in page.records if one.position is not None}
            found.update({position: one for position, one in placed.items() if position >= start})
            is_whole = not found or max(found) - start + 1 == len(found)
            cursor = page.cursor
            if cursor is None or (is_whole and any(position < start for position in placed)):
                return [found[position] for position in sorted(found)]

    # ---- what comes of it

    async def _facts(self, who: Principal, scope: Scope, stretch: _Stretch) -> list[tuple[Record, Fact]]:
        """The facts of the new turns, each with the turn that told it. A later one under the same key takes its place."""
        wanted = Filter(scopes=(scope,), kinds=("fact",), states=ALL_STATES)
        page = await self._desk.store.find(who.tenant, wanted, "newest", _COMPARED, None)
        existing = [record.text for record in page.records]
        found: dict[str, tuple[Record, Fact]] = {}
        for n, window in enumerate(_windows(stretch.new)):
            if n == _MOST_WINDOWS:
                break
            told = [_turn(record) for record in window]
            extraction = await asyncio.to_thread(extract_facts, told, existing=tuple(existing), least=0)
            found.update({fact.key: (window[fact.turn], fact) for fact in extraction.facts})
            existing += [fact.text for fact in extraction.facts]
        return list(found.values())


def _windows(turns: Sequence[Record]) -> Iterator[list[Record]]:
    """As many turns at a time as are read at a time."""
    window: list[Record] = []
    size = 0
    for turn in turns:
        if window and size + _length(turn) > READ:
            yield window
            window, size = [], 0
        window.append(turn)
        size += _length(turn)
    if window:
        yield window


def _length(turn: Record) -> int:
    """As it is read: who speaks, and what."""
    return len(turn.speaker or "") + len(turn.text) + 3


def _turn(record: Record) -> Turn:
    return Turn(speaker=record.speaker or "", text=record.text, at=record.at, metadata=record.metadata)


def _fact_note(scope: Scope, session: str, turn: Record, fact: Fact) -> Note:
    metadata: dict[str, Json] = {"category": fact.category, "confidence": fact.confidence, "method": fact.method}
    return Note(
        text=fact.text,
        scope=scope,
        key=fact.key,
        kind="fact",
        source="auto",
        metadata=metadata,
        trust=TALK,
        at=turn.at,
        session=session,
        provenance=Provenance(message=turn.id),
    )


def _episode_note(scope: Scope, session: str, stretch: _Stretch) -> Note:
    subject, summary = episode([_turn(record) for record in stretch.turns])
    text = summary if subject in summary else f"{subject}\n\n{summary}"
    metadata: dict[str, Json] = {
        "from": stretch.start,
        "to": stretch.stop,
        "turns": len(stretch.turns),
        "subject": subject,
        "method": "rules",
    }
    return Note(
        text=text.strip() or f"{len(stretch.turns)} turns",
        scope=scope,
        key=_key(session, stretch.start),
        kind="episode",
        source="auto",
        metadata=metadata,
        trust=TALK,
        at=stretch.turns[0].at,
        session=session,
        expected=0 if stretch.grows is None else stretch.grows.version,
    )


def _key(session: str, start: int | str) -> str:
    return f"episode:{session}:{start}"


def _place(episode: Record, name: str) -> int:
    """-1 where somebody took it out of the metadata."""
    found = episode.metadata.get(name)
    return found if isinstance(found, int) else -1
