"""
Closing an episode: what was said since the last time becomes facts and a summary.

How far a session was read stands in its episode records (`from` and `to`, places in the session), which are written together
with the facts: stopped in the middle, nothing was written, and asked twice at once, the second finds nothing left to do. A
chat that is flushed after every answer does not get a summary of every answer: a short episode grows until it is a
long one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from commonplace.errors import RecordChanged
from commonplace.governance.access import require_role
from commonplace.learning.by_model import MICRO_USD
from commonplace.learning.episode import episode
from commonplace.learning.extract import READ
from commonplace.learning.news import Lesson
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.fact_reader import Purpose, Reading
from commonplace.service.lessons import TALK, LessonResult, LessonWriter, Placed
from commonplace.service.run_memories import recalled_into
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Json, Record, Turn
from commonplace.values.retry import attempts
from commonplace.values.scope import Scope

LONG: Final = 20
"""An episode of this many turns does not grow any more."""

_ATTEMPTS: Final = 20
_PAGE: Final = 200
_MOST_WINDOWS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Flushed:
    """
    `method` is how the facts were found, `fallback` the code of the error for which a model was not used.
    `dropped` counts what was found and not kept, by the reason.
    """

    status: Literal["extracted", "no_extraction"]
    turns: int = 0
    facts: tuple[Record, ...] = ()
    episode: Record | None = None
    superseded: tuple[str, ...] = ()
    method: Literal["rules", "model"] = "rules"
    fallback: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


NOTHING: Final = Flushed(status="no_extraction")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """What is to be read of a session: the episode's turns so far, those that are new, and the episode that grows."""

    start: int
    stop: int
    turns: tuple[Record, ...]
    new: tuple[Record, ...]
    grows: Record | None

    @property
    def mark(self) -> tuple[int, int, int]:
        """The same while there is the same to read."""
        return self.start, self.stop, len(self.new)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """What was read of a stretch, and how."""

    mark: tuple[int, int, int]
    placed: tuple[Placed, ...]
    method: Literal["rules", "model"]
    fallback: str | None
    dropped: int


class Episodes:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._reading = Reading(desk)
        self._learned = LessonWriter(desk)

    async def flush(self, who: Principal, scope: Scope, session: str) -> Flushed:
        """Learn from what was said in a session since the last flush. Without any, there is nothing to do."""
        desk = self._desk
        async with desk.account(who, "record.put", scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            reading: _Read | None = None
            async for _ in attempts(_ATTEMPTS):
                stretch = await self._stretch(who, scope, session)
                if not stretch.new:
                    return NOTHING
                if reading is None or reading.mark != stretch.mark:
                    reading = await self._read(who, scope, session, stretch)
                try:
                    learning = await self._kept(account, scope, session, stretch, reading)
                except RecordChanged:
                    # Somebody else closed it, or changed one of the facts: look again.
                    continue
                return Flushed(
                    status="extracted",
                    turns=len(stretch.new),
                    facts=learning.facts,
                    episode=learning.beside[-1],
                    superseded=learning.superseded,
                    method=reading.method,
                    fallback=reading.fallback,
                    dropped=dict(Counter(over_limit=reading.dropped) + learning.dropped),
                )
            raise RecordChanged

    async def unread(self, who: Principal, scope: Scope, session: str) -> str | None:
        """The id of the newest turn, where anything was said since the last flush."""
        require_role(who, "writer")
        await self._desk.require(who, scope)
        filter = Filter(scopes=(scope,), kinds=("turn",), sessions=(session,))
        page = await self._desk.store.records.find(who.tenant, filter, "newest", 1, None)
        if not page.records:
            return None
        [newest] = page.records
        last = await self._last_episode(who, scope, session)
        if last is None or (newest.position or 0) > _place(last, "to"):
            return newest.id
        return newest.id if (await self._stretch(who, scope, session)).new else None

    async def _kept(
        self, account: Account, scope: Scope, session: str, stretch: _Stretch, reading: _Read
    ) -> LessonResult:
        """Facts and summary in one write: stopped in the middle, neither is there."""
        episode_note = await asyncio.to_thread(_episode_note, scope, session, stretch)
        recalled = await recalled_into(self._desk, account.who, (session,), session=session)
        return await self._learned.keep(account, reading.placed, recalled=recalled, beside=(episode_note,))

    # ---- what is to be read

    async def _stretch(self, who: Principal, scope: Scope, session: str) -> _Stretch:
        last = await self._last_episode(who, scope, session)
        last_place = -1 if last is None else _place(last, "to")
        grows = last if last is not None and self._may_grow(last) else None
        start = last_place + 1 if grows is None else _place(grows, "from")
        turns = await self._turns(who, scope, session, start)
        now = self._desk.clock.now()
        live = tuple(turn for turn in turns if turn.state(now) == "live")
        return _Stretch(
            start=start,
            stop=max((turn.position or 0 for turn in turns), default=last_place),
            turns=live,
            new=tuple(turn for turn in live if (turn.position or 0) > last_place),
            grows=grows,
        )

    def _may_grow(self, episode: Record) -> bool:
        is_short = _place(episode, "to") - _place(episode, "from") + 1 < LONG
        return is_short and episode.state(self._desk.clock.now()) == "live"

    async def _last_episode(self, who: Principal, scope: Scope, session: str) -> Record | None:
        """Deleted ones too: what was read once is not read again because its summary went away."""
        filter = Filter(
            scopes=(scope,),
            kinds=("episode",),
            sessions=(session,),
            key_prefix=_key(session, ""),
            states=ALL_STATES,
        )
        page = await self._desk.store.records.find(who.tenant, filter, "newest", _PAGE, None)
        return max(page.records, key=lambda episode: _place(episode, "to"), default=None)

    async def _turns(self, who: Principal, scope: Scope, session: str, start: int) -> list[Record]:
        """
        Every turn of the session from place `start` on, whatever became of it, in order. The newest are read first, so that
        a long session is not read as a whole each time; it is, where places are missing among those found.
        """
        filter = Filter(scopes=(scope,), kinds=("turn",), sessions=(session,), states=ALL_STATES)
        by_position: dict[int, Record] = {}
        cursor: str | None = None
        while True:
            page = await self._desk.store.records.find(who.tenant, filter, "newest", _PAGE, cursor)
            placed = {turn.position: turn for turn in page.records if turn.position is not None}
            by_position.update({position: turn for position, turn in placed.items() if position >= start})
            is_whole = not by_position or max(by_position) - start + 1 == len(by_position)
            cursor = page.cursor
            if cursor is None or (is_whole and any(position < start for position in placed)):
                return [by_position[position] for position in sorted(by_position)]

    # ---- what comes of it

    async def _read(self, who: Principal, scope: Scope, session: str, stretch: _Stretch) -> _Read:
        """The facts of the new turns, each with the turn that told it. A later one under the same key takes its place."""
        known_records = await self._learned.known(who, (scope,)) if self._desk.model is not None else []
        purpose, budget = Purpose(session=session), MICRO_USD
        by_key: dict[str, Placed] = {}
        methods: set[Literal["rules", "model"]] = set()
        fallback: str | None = None
        dropped = 0
        for n, window in enumerate(_windows(stretch.new)):
            if n == _MOST_WINDOWS:
                break
            turns = [_turn(record) for record in window]
            reading = await self._reading.read(
                who, turns, purpose, known_records=known_records, least=0, micro_usd=budget
            )
            budget -= reading.cost
            dropped += reading.dropped
            methods.add(reading.method)
            fallback = fallback or reading.fallback
            for fact in reading.facts:
                turn = window[fact.turn]
                at = None if turn.at is None else utc(turn.at)
                lesson = Lesson(fact=fact, session=session, message=turn.id, said_at=at)
                by_key[fact.key] = Placed(lesson=lesson, scope=scope)
        by: Literal["rules", "model"] = "model" if methods == {"model"} else "rules"
        return _Read(mark=stretch.mark, placed=tuple(by_key.values()), method=by, fallback=fallback, dropped=dropped)


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


def flushed_result(flush: Flushed) -> Mapping[str, Json]:
    """What a job tells of it: ids and counts, no text."""
    facts: list[Json] = [fact.id for fact in flush.facts]
    superseded: list[Json] = [*flush.superseded]
    dropped: dict[str, Json] = {**flush.dropped}
    return {
        "status": flush.status,
        "method": flush.method,
        "fallback": flush.fallback,
        "turns": flush.turns,
        "facts": facts,
        "superseded": superseded,
        "episode": flush.episode.id if flush.episode else None,
        "dropped": dropped,
    }


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
    place = episode.metadata.get(name)
    return place if isinstance(place, int) else -1
