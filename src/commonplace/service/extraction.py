"""
Extraction: what a finished run or conversation taught, kept where it belongs.

It follows something else and never disturbs it: it is a job of its own, and whatever goes wrong in it is told by the job alone.
A fact is for one of the agents' memory or for the workspace's, as whoever read it says; without a workspace it is the agent's, and
an agent whose memory is switched off learns nothing. Talk that belongs to neither goes to a scope that is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from commonplace.errors import Conflict, InvalidInput, NotFound, RecordChanged
from commonplace.governance.access import require_role
from commonplace.guard.caution import is_suspect
from commonplace.jobs.payloads import (
    TALK_PAYLOAD,
    ExtractPayload,
    FlushPayload,
    PrivateTurn,
    PrivateTurns,
    Requester,
    TalkPayload,
)
from commonplace.learning.distill import turns_of
from commonplace.learning.extract import LEAST, READ, Fact, extract_facts
from commonplace.learning.news import Lesson
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.episodes import Episodes, flushed_result
from commonplace.service.fact_reader import Purpose, Reading
from commonplace.service.lessons import LessonWriter, Placed
from commonplace.service.run_memories import recalled_into
from commonplace.text.scrub import scrub
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.job import ENDED, Job, Line, NewJob
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import Principal
from commonplace.values.query import Filter
from commonplace.values.record import Json, Record, Turn
from commonplace.values.retry import attempts
from commonplace.values.scope import Scope

EXTRACT: Final = "extract"
AT_ONCE: Final = 4
"""Extractions that a daemon runs at once. A model may take long over one; those of one scope come one after another."""
MOST_TURNS: Final = 1_000
MOST_AGENTS: Final = 100

_ATTEMPTS: Final = 20
_PAGE: Final = 200
_REHEARSED: Final = "I live by the sea, and we deploy on Mondays. 我住在海边，我们周一上线。"


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """
    What is to be read: `turns`, or the turns that are kept of `session`. `agents` are those of the run, the first of which
    learns; `scope` is where facts go that are for no agent and no workspace. `recalled` are the ids of records that were
    shown in it, beside those that were recalled into `run` or `session` by way of us. `at` is the time of turns without one.
    """

    turns: tuple[Turn, ...] = ()
    session: str | None = None
    agents: tuple[str, ...] = ()
    workspace: str | None = None
    scope: Scope | None = None
    run: str | None = None
    recalled: tuple[str, ...] = ()
    at: datetime | None = None

    @classmethod
    def of(cls, talk: str | Sequence[Turn] | None, fields: TalkFields) -> Talk:
        """What a caller hands over: a transcript, turns, or (None) what is kept of the session."""
        scope = fields.get("scope")
        return cls(
            turns=tuple(turns_of(talk.split("\n\n")) if isinstance(talk, str) else talk or ()),
            session=fields.get("session"),
            agents=tuple(fields.get("agents") or ()),
            workspace=fields.get("workspace"),
            scope=None if scope is None else Scope.parse(scope),
            run=fields.get("run"),
            recalled=tuple(fields.get("recalled") or ()),
            at=fields.get("at"),
        )

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All that the run has to do with, where facts go first."""
        agents = [Scope("agent", agent) for agent in self.agents]
        workspace = [] if self.workspace is None else [Scope("workspace", self.workspace)]
        return tuple(dict.fromkeys([*agents, *workspace, *([] if self.scope is None else [self.scope])]))

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(name for name in (self.run, self.session) if name is not None)


class Extracting:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._reading = Reading(desk)
        self._learned = LessonWriter(desk)
        self._episodes = Episodes(desk)
        self._wake: list[Callable[[str], None]] = []

    def on_queued(self, wake: Callable[[str], None]) -> None:
        """Call `wake` with the kind of a job that is queued here, so that nobody has to look for it."""
        self._wake.append(wake)

    def rehearse(self) -> None:
        """Read something nobody said. What is slow the first time, tables and patterns, is then there for the second."""
        self._desk.room.count(_REHEARSED)
        is_suspect(_REHEARSED)
        extract_facts([Turn(speaker="", text=_REHEARSED)], least=0)

    # ---- in the background

    async def queue(self, who: Principal, talk: Talk) -> Job:
        """Read it later. What was said is kept, without its secrets, until that is done."""
        async with self._desk.account(who, "record.extract", run=talk.run) as account:
            await self._allowed(who, talk)
            turns = [PrivateTurn.of(replace(turn, text=scrub(turn.text).text)) for turn in talk.turns]
            payload = ExtractPayload(
                who=Requester.of(who),
                scope=talk.scopes[0],
                agents=talk.agents,
                session=talk.session,
                workspace=talk.workspace,
                target=talk.scope,
                run=talk.run,
                recalled=talk.recalled,
                at=talk.at,
                private=PrivateTurns(turns=tuple(turns)),
            )
            return await self._queued(account, payload)

    async def queue_flush(self, who: Principal, scope: Scope, session: str) -> Job | None:
        """
        Close an episode later; None where nothing was said since the last time. Asked again before that is done, it is the
        same job, unless more was said: the first may have read already, so that what came after it needs its own.
        """
        async with self._desk.account(who, "record.extract", scope=scope) as account:
            payload = FlushPayload(who=Requester.of(who), scope=scope, flush=session)
            before: Job | None = None
            for _ in range(_ATTEMPTS):
                last = await self._episodes.unread(who, scope, session)
                if last is None:
                    return None
                identity = (who.tenant, str(scope), session, last, before and before.id)
                id = str(uuid5(NAMESPACE_OID, repr(identity)))
                try:
                    return await self._queued(account, payload, id)
                except Conflict:
                    # There is one: it waits, or has just ended and left something unread, or failed.
                    with suppress(NotFound):
                        before = await self._desk.store.jobs.job(who.tenant, id)
                        if before.state not in ENDED:
                            return before
            raise RecordChanged

    async def _queued(self, account: Account, payload: TalkPayload, id: str | None = None) -> Job:
        """Raises Conflict: a job of that id is there already."""
        desk, who, scope = self._desk, account.who, payload.scope
        now = desk.clock.now()
        account.scope = scope
        job = NewJob(
            id=id or new_id(now),
            tenant=who.tenant,
            kind=EXTRACT,
            payload=TALK_PAYLOAD.write(payload),
            created_at=now,
            created_by=who.actor,
            client=who.client,
            line=Line(name=f"{EXTRACT} {scope}"),
        )
        news = account.news("job.queued", scope=scope, data={"job": job.id, "kind": EXTRACT})
        row = account.row("ok", details={"job": job.id})
        await desk.store.journal.note(Entries(audit=(row,), jobs=(job,), events=(news,)))
        for wake in self._wake:
            wake(EXTRACT)
        return _queued(job)

    async def work(self, job: Job, payload: TalkPayload, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a job of `queue` or `queue_flush`."""
        del progress
        who = payload.who.principal(job.tenant)
        await self._desk.require_good(who, "record.extract")
        if isinstance(payload, FlushPayload):
            return flushed_result(await self._episodes.flush(who, payload.scope, payload.flush))
        extracted = await self.extract(who, _talk_of(payload))
        facts: list[Json] = [record.id for record in extracted.facts]
        superseded: list[Json] = [*extracted.superseded]
        dropped: dict[str, Json] = {**extracted.dropped}
        return {
            "status": extracted.status,
            "method": extracted.method,
            "fallback": extracted.fallback,
            "facts": facts,
            "superseded": superseded,
            "dropped": dropped,
        }

    # ---- now

    async def extract(self, who: Principal, talk: Talk) -> Extracted:
        """Read it, keep what is news, and answer what came of it."""
        desk = self._desk
        async with desk.account(who, "record.put", run=talk.run) as account:
            await self._allowed(who, talk)
            turns = await self._turns(who, talk)
            known_records = await self._learned.known(who, talk.scopes)
            purpose = Purpose(
                session=talk.session or talk.run or new_id(desk.clock.now()),
                agents=talk.agents,
                workspace=talk.workspace,
            )
            reading = await self._reading.read(who, turns, purpose, known_records=known_records, least=LEAST)
            account.details["method"] = reading.method
            if reading.fallback is not None:
                account.details["fallback"] = reading.fallback
            if reading.short:
                await account.note("unchanged")
                return Extracted(status="skipped_short_conversation")
            dropped: Counter[str] = Counter(over_limit=reading.dropped)
            placed = await self._placed(who, talk, turns, reading.facts, dropped)
            recalled = await recalled_into(desk, who, talk.runs, record_ids=talk.recalled, session=talk.session)
            async for _ in attempts(_ATTEMPTS):
                try:
                    learning = await self._learned.keep(
                        account, placed, run=talk.run, recalled=recalled, around=talk.scopes
                    )
                except RecordChanged:
                    continue
                if not account.noted:
                    await account.note("unchanged", facts=len(reading.facts))
                return Extracted(
                    status="extracted" if learning.facts else "no_extraction",
                    method=reading.method,
                    fallback=reading.fallback,
                    facts=learning.facts,
                    superseded=learning.superseded,
                    dropped=dict(dropped + learning.dropped),
                )
            raise RecordChanged

    async def _allowed(self, who: Principal, talk: Talk) -> None:
        require_role(who, "writer")
        if not talk.scopes:
            raise InvalidInput("Say whose memory it is for: an agent, a workspace or a scope.")
        if not talk.turns and talk.session is None:
            raise InvalidInput(
                "There is nothing to read: give a transcript, turns, or the session they are kept under."
            )
        if len(talk.turns) > MOST_TURNS or len(talk.agents) > MOST_AGENTS:
            raise InvalidInput(f"At most {MOST_TURNS:,} turns and {MOST_AGENTS} agents at a time.")
        await self._desk.require(who, *talk.scopes)

    async def _turns(self, who: Principal, talk: Talk) -> list[Turn]:
        """Those that were given, or those kept of the session, as far as they are read."""
        if talk.turns or talk.session is None:
            return [turn if turn.at or not talk.at else replace(turn, at=talk.at) for turn in talk.turns]
        home = await self._desk.readable(who, None)
        scopes = None if home is None else tuple(dict.fromkeys((*home, *talk.scopes)))
        filter = Filter(scopes=scopes, kinds=("turn",), sessions=(talk.session,))
        records: list[Record] = []
        cursor: str | None = None
        while sum(len(record.text) for record in records) < READ:
            page = await self._desk.store.records.find(who.tenant, filter, "position", _PAGE, cursor)
            records += page.records
            cursor = page.cursor
            if cursor is None:
                break
        return [
            Turn(
                speaker=record.speaker or "",
                text=record.text,
                at=record.at,
                message=record.id,
                metadata=record.metadata,
            )
            for record in records
        ]

    async def _placed(
        self, who: Principal, talk: Talk, turns: Sequence[Turn], facts: Sequence[Fact], dropped: Counter[str]
    ) -> list[Placed]:
        enabled = await self._is_enabled(who, talk)
        placed: list[Placed] = []
        for fact in facts:
            scope = _scope_of(talk, fact)
            if scope is None:
                dropped["no_target"] += 1
            elif scope.kind == "agent" and scope != talk.scope and not enabled:
                dropped["memory_disabled"] += 1
            else:
                turn = turns[fact.turn]
                lesson = Lesson(fact=fact, session=talk.session, message=turn.message, said_at=_told(turn))
                placed.append(Placed(lesson=lesson, scope=scope))
        return placed

    async def _is_enabled(self, who: Principal, talk: Talk) -> bool:
        """Whether the first agent's memory is on. One that nobody created was switched off by nobody."""
        if not talk.agents:
            return False
        owner = await self._desk.store.keys.owner(who.tenant, "agent", talk.agents[0])
        return owner is None or owner.memory_enabled


def _queued(job: NewJob) -> Job:
    """As it stands in the queue: whoever waits for the answer does not wait for it to be read again."""
    return Job(
        id=job.id,
        tenant=job.tenant,
        kind=job.kind,
        payload=job.payload,
        created_at=job.created_at,
        created_by=job.created_by,
        updated_at=job.created_at,
        client=job.client,
        max_attempts=job.max_attempts,
        line=job.line and job.line.name,
    )


def _scope_of(talk: Talk, fact: Fact) -> Scope | None:
    """Where a fact belongs: what it says of the project to the workspace, all else to the agent, or to the scope named."""
    if fact.scope == "workspace" and talk.workspace is not None:
        return Scope("workspace", talk.workspace)
    if fact.scope == "user" and talk.scope is not None:
        return talk.scope
    return Scope("agent", talk.agents[0]) if talk.agents else talk.scope


def _told(turn: Turn) -> datetime | None:
    return None if turn.at is None else utc(turn.at)


def _talk_of(payload: ExtractPayload) -> Talk:
    return Talk(
        turns=tuple(turn.turn() for turn in payload.private.turns),
        session=payload.session,
        agents=payload.agents,
        workspace=payload.workspace,
        scope=payload.target,
        run=payload.run,
        recalled=payload.recalled,
        at=payload.at,
    )
