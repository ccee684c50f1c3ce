"""
Remember, forget and dream: tasks of managed memory, queued now and done one after another.

All tasks of a workspace stand in one line, whatever daemon took them. The queue outlives a process: a task whose process
died is begun anew, once, from where the memory was before it. A task belongs to the client that asked for it. What it was told
is forgotten as soon as it is done; one that failed keeps it, so that it can be tried again or dropped (`/v1/tasks`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args
from uuid import uuid4

from commonplace.errors import (
    CommonplaceError,
    DreamFailed,
    DreamTaskNotFound,
    DreamTimeout,
    Forbidden,
    ForgetFailed,
    ForgetTaskNotFound,
    ForgetTimeout,
    InvalidContent,
    InvalidContextMode,
    InvalidQuery,
    InvalidScope,
    LaneTimeout,
    ManagedMemoryUnavailable,
    ModelTimeout,
    NotFound,
    RememberFailed,
    RememberTaskNotFound,
    RememberTimeout,
    SecretRefused,
)
from commonplace.governance.access import require_role
from commonplace.jobs.payloads import (
    DREAM_PAYLOAD,
    FORGET_PAYLOAD,
    REMEMBER_PAYLOAD,
    DreamOptions,
    DreamPayload,
    ForgetPayload,
    PayloadFormat,
    PrivateText,
    RememberOptions,
    RememberPayload,
    Requester,
    TaskPayload,
)
from commonplace.jobs.queue import Queue
from commonplace.learning import consolidation_agent, memory_agent
from commonplace.learning.memory_agent import Errand
from commonplace.markdown import forget
from commonplace.markdown.changes import MAX_SUMMARY, Outcome
from commonplace.markdown.cues import text_and_type
from commonplace.markdown.entries import EntryFile
from commonplace.markdown.facts import is_fact
from commonplace.markdown.files import check_content
from commonplace.markdown.gate import epoch_of
from commonplace.markdown.purge import MemoryFolders
from commonplace.markdown.roots import Root
from commonplace.markdown.state import ended
from commonplace.markdown.watch import key_of
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.service.account import Account, Journaled
from commonplace.service.desk import Desk
from commonplace.service.jobs import may_see
from commonplace.service.markdown import ACTOR, Ground, Managed
from commonplace.text.scrub import scrub
from commonplace.values.event import News
from commonplace.values.file_ref import RootKind
from commonplace.values.filing_errors import NotAFact
from commonplace.values.job import Job, JobState, Line, NewJob, Room
from commonplace.values.principal import Principal
from commonplace.values.quarantine import Withheld, withheld
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Json, Record
from commonplace.values.task import ContextMode, MemoryTask, TargetScope, TaskFailure, TaskKind, TaskStatus

LANES: Final[tuple[TaskKind, ...]] = get_args(TaskKind)
MODES: Final[tuple[ContextMode, ...]] = get_args(ContextMode)
MOST_CONTENT: Final = 64 * 1024
PENDING: Final = 16
PENDING_OTHERS: Final = 8
KEPT: Final = 1_000
ATTEMPTS: Final = 2
OUTSIDE: Final = 300.0
"""Seconds for a task as a whole; the agent inside it has five less, so that it is the one that ends."""

log = logging.getLogger(__name__)

_TARGETS: Final = get_args(TargetScope)
_STATUS: Final[dict[JobState, TaskStatus]] = {
    "queued": "queued",
    "running": "running",
    "done": "completed",
    "failed": "failed",
}
_FAILED: Final[dict[TaskKind, type[CommonplaceError]]] = {
    "remember": RememberFailed,
    "forget": ForgetFailed,
    "dream": DreamFailed,
}
_TIMEOUT: Final[dict[TaskKind, type[LaneTimeout]]] = {
    "remember": RememberTimeout,
    "forget": ForgetTimeout,
    "dream": DreamTimeout,
}
_NOT_FOUND: Final[dict[TaskKind, type[NotFound]]] = {
    "remember": RememberTaskNotFound,
    "forget": ForgetTaskNotFound,
    "dream": DreamTaskNotFound,
}
_ERASED: Final = "Done. Something was erased from this memory meanwhile, so that no more is told of it."
_UNSURE: Final = (
    "Unsure whether it is about you or the project: only you see it. To share it, commonplace move FILE --to project."
)
_ENDS: Final = (".", "!", "?", "。", "！", "？", "…")
_PAYLOADS: Final[dict[TaskKind, PayloadFormat[Any]]] = {
    "remember": REMEMBER_PAYLOAD,
    "forget": FORGET_PAYLOAD,
    "dream": DREAM_PAYLOAD,
}
_TOLD_AS_IT_IS: Final = frozenset(
    {
        "managed_memory_unavailable",
        "remember_path_escape",
        "remember_refused",
        "not_a_fact",
        "scope_unclear",
        "secret_refused",
    }
)
PATIENCE: Final = timedelta(minutes=5)
"""How long a task is tried again without counting, while the store is away."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _NewTask:
    """A task before it is queued. `payload` makes its payload, given whose it is and what it may touch."""

    kind: TaskKind
    payload: Callable[..., TaskPayload]
    target: TargetScope | None = None
    roots: tuple[RootKind, ...] | None = None
    unique: str | None = None


class Lanes:
    """`dreams`: whether a dream also comes by itself; `dream_micro_usd`: what one may cost."""

    def __init__(
        self,
        desk: Desk,
        managed: Managed,
        *,
        outside: float = OUTSIDE,
        dreams: bool = True,
        dream_micro_usd: int = consolidation_agent.MICRO_USD,
    ) -> None:
        self._desk = desk
        self._managed = managed
        self._outside = outside
        self._dreams = dreams
        self._dream_micro_usd = dream_micro_usd
        self._wake: list[Callable[[str], None]] = []

    @property
    def ground(self) -> Ground:
        return self._managed.ground

    def on_queued(self, wake: Callable[[str], None]) -> None:
        """Call `wake` with the kind of each task that is queued here, so that nobody has to look for it."""
        self._wake.append(wake)

    # ---- ask

    async def remember(
        self, who: Principal, content: object, *, context_mode: object = None, scope: object = None
    ) -> MemoryTask:
        """
        Queue a fact to be filed.

        Raises:
            InvalidContent (NotAFact), InvalidContextMode, InvalidScope, SecretRefused: what is wrong with the request.
            ManagedMemoryUnavailable: there is no folder of memory here.
            QueueFull: 16 tasks wait already.
            RememberFailed: nobody can tell whether there is one.
            Forbidden: the caller may not write there.
        """
        async with self._desk.account(who, "managed.remember") as account:
            require_role(who, "writer")
            text = _checked(content, InvalidContent, "Give something to remember: text, at most 64 KiB of it.")
            if context_mode is not None and context_mode not in MODES:
                raise InvalidContextMode
            target = _target(scope)
            if not is_fact(text_and_type(text)[0]):
                raise NotAFact
            scrubbed = scrub(text)
            if scrubbed.report.status == "blocked":
                raise SecretRefused
            payload = partial(
                RememberPayload,
                shown=RememberOptions(context_mode=context_mode or "workspace", redactions=scrubbed.report.counts),
                private=PrivateText(text=scrubbed.text),
            )
            return await self._queue(account, _NewTask(kind="remember", payload=payload, target=target))

    async def forget(self, who: Principal, query: object, *, scope: object = None) -> MemoryTask:
        """Queue what is to be forgotten. Raises InvalidQuery, and what `remember` raises."""
        async with self._desk.account(who, "managed.forget") as account:
            require_role(who, "writer")
            text = _checked(query, InvalidQuery, "Say what to forget: text, at most 64 KiB of it.")
            payload = partial(ForgetPayload, private=PrivateText(text=scrub(text).text))
            return await self._queue(account, _NewTask(kind="forget", payload=payload, target=_target(scope)))

    async def dream(self, who: Principal, *, session: str | None = None) -> MemoryTask:
        """Queue a consolidation. `session` is the one that asked for it. Raises what `remember` raises."""
        async with self._desk.account(who, "managed.dream") as account:
            require_role(who, "writer")
            payload = partial(DreamPayload, shown=DreamOptions(session=session))
            return await self._queue(account, _NewTask(kind="dream", payload=payload))

    async def met(self, who: Principal, session: str) -> None:
        """
        A session of `who` is over. Where a day and five sessions have passed since the last consolidation, one is queued in the
        daemon's own name: whose session it was need not reach the memory. One that waits already is enough. This never
        raises, and mostly reads two small files: call it when whatever it follows is answered.
        """
        if not self._dreams or not self._managed.is_on(who):
            return
        try:
            await self._count(who, f"{who.subject} {session}")
        except (CommonplaceError, OSError) as error:
            log.warning("a session could not be counted: %s", getattr(error, "code", type(error).__name__))

    async def _count(self, person: Principal, session: str) -> None:
        ground, now = self._managed.ground_of(person), self._desk.clock.now()
        due: list[RootKind] = [
            root.kind for root in ground.roots if await asyncio.to_thread(ended, root.state, session, now)
        ]
        if not due:
            return
        who = Principal(subject=ACTOR, tenant=ground.tenant, role="admin", door=ACTOR)
        waiting = await self._desk.store.jobs.list_jobs(ground.tenant, kinds=("dream",), states=("queued", "running"))
        if any(job.line == ground.line for job in waiting):
            return
        task = _NewTask(
            kind="dream",
            payload=partial(DreamPayload, shown=DreamOptions(session=session)),
            roots=tuple(due),
            unique=f"by itself, {ground.line}",
        )
        async with self._desk.account(who, "managed.dream") as account:
            await self._queue(account, task, ground)

    async def _queue(self, account: Account, task: _NewTask, ground: Ground | None = None) -> MemoryTask:
        who, now = account.who, self._desk.clock.now()
        ground = ground or self._managed.ground_of(who)
        await self._require(who, task.kind)
        kinds = list(task.roots) if task.roots else _reached(who, ground, task.target)
        account.scope = ground.of(kinds)[0].scope if len(kinds) == 1 else None
        payload = task.payload(
            who=Requester.of(who),
            workspace=str(ground.workspace),
            person=ground.person,
            local=ground.local,
            roots=tuple(kinds),
            target=task.target,
            scope=account.scope,
        )
        new = NewJob(
            id=f"{task.kind}-{uuid4()}",
            tenant=who.tenant,
            kind=task.kind,
            payload=_PAYLOADS[task.kind].write(payload),
            created_at=now,
            created_by=who.actor,
            client=who.client,
            unique=task.unique,
            max_attempts=ATTEMPTS,
            line=Line(name=ground.line, room=_room(task.kind), max_jobs=KEPT),
        )
        account.details["job"] = new.id
        data: dict[str, Json] = {"job": new.id, "kind": new.kind}
        news = account.news("job.queued", scope=account.scope, data=data, admins=account.scope is None)
        await self._desk.store.journal.note(Entries(audit=(account.row("ok"),), jobs=(new,), events=(news,)))
        for wake in self._wake:
            wake(new.kind)
        values = {field.name: getattr(new, field.name) for field in fields(new) if field.name != "line"}
        return shown(Job(**values, updated_at=now, line=ground.line))

    async def _require(self, who: Principal, kind: TaskKind) -> None:
        try:
            await self._managed.require(who)
        except ManagedMemoryUnavailable:
            raise
        except (CommonplaceError, OSError) as error:
            raise _FAILED[kind](
                "The folders of memory cannot be looked at. Check the home folder of the daemon."
            ) from error

    # ---- look

    async def task(self, who: Principal, kind: TaskKind, id: str) -> MemoryTask:
        """Raises RememberTaskNotFound and its like: there is none, or it is another client's."""
        try:
            job = await self._desk.store.jobs.job(who.tenant, id)
        except NotFound:
            raise _NOT_FOUND[kind] from None
        if job.kind != kind or job.client != who.client or not may_see(who, job):
            raise _NOT_FOUND[kind]
        task, forgotten = shown(job), self._managed.recall_forgotten(id)
        if task.result is None or forgotten is None:
            return task
        return replace(task, result={**task.result, "removed_entries": forgotten})

    # ---- work

    async def run(self, job: Job, payload: TaskPayload, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a task."""
        del progress
        kind = cast(TaskKind, job.kind)
        await self._desk.require_good(payload.who.principal(job.tenant), f"managed.{kind}")
        ground = self._ground(job, payload)
        roots = ground.of(payload.roots)
        if job.attempts > 1 or job.error_code is not None:
            await self._take_back(roots, job)
        epochs = await asyncio.to_thread(_epochs, roots)
        try:
            async with asyncio.timeout(self._outside):
                errand = replace(self._errand(job, payload, ground, roots), waited=self._age(job))
                outcome, more = await self._work(job, payload, errand)
        except CommonplaceError as error:
            await self._take_back(roots, job)
            if isinstance(error, ModelTimeout):
                raise _TIMEOUT[kind] from error
            raise
        except TimeoutError as error:
            await self._take_back(roots, job)
            raise _TIMEOUT[kind] from error
        await self._managed.follow([root for root in roots if root.kind in outcome.touched_scopes])
        if kind != "forget":
            waiting = await self._withheld(job.tenant, roots, outcome.files_touched)
            if await asyncio.to_thread(_epochs, roots) != epochs:
                # It may be what this task has just written that somebody erased: its result must not tell of it.
                outcome, waiting = replace(outcome, summary=_ERASED, files_touched=()), ()
            more = {**more, **_told_withheld(waiting)}
            notes = [*(entry.message for entry in waiting), *([_UNSURE] if outcome.unsure else [])]
            outcome = replace(outcome, summary=_with_notes(outcome.summary, notes))
        return {
            "summary": outcome.summary,
            "files_touched": list(outcome.files_touched),
            "touched_scopes": list(outcome.touched_scopes),
            "method": outcome.method,
            **more,
            **(_of_filing(payload, outcome) if isinstance(payload, RememberPayload) else {}),
        }

    def _age(self, job: Job) -> float:
        """Seconds since it was asked for: whoever waits in line has less time left for a model."""
        return max((self._desk.clock.now() - job.created_at).total_seconds(), 0.0)

    async def _work(self, job: Job, payload: TaskPayload, errand: Errand) -> tuple[Outcome, dict[str, Json]]:
        now, model = self._desk.clock.now(), self._desk.model
        if isinstance(payload, RememberPayload):
            return await memory_agent.remember(model, errand, now), {}
        if isinstance(payload, ForgetPayload):
            return await self._forget(job, payload, errand)
        dreamt = await consolidation_agent.dream(
            model, errand, now, payload.shown.session, micro_usd=self._dream_micro_usd
        )
        result = await asyncio.to_thread(_dreamt, dreamt.outcome)
        return dreamt.outcome, {**result, "fallback": dreamt.fallback}

    async def _forget(self, job: Job, payload: ForgetPayload, errand: Errand) -> tuple[Outcome, dict[str, Json]]:
        """The files and all traces of them, then the records. What an attempt that died has erased is not looked for again."""
        method: Literal["rules", "model"] = "rules"
        erased = await asyncio.to_thread(forget.resumed, errand.roots, job.id)
        if erased is None:
            choice = await memory_agent.choose(self._desk.model, errand)
            method, records = choice.method, partial(self._records, job.tenant)
            erased = await self._folders(job, payload).forget(choice.entries, by=job.id, records=records)
            self._managed.note_forgotten(job.id, [_removed(root, item) for root, item in erased.entries])
        if erased.records:
            await self._purge(payload.who.principal(job.tenant), erased.records)
        removed: list[Json] = [_unnamed(root, name) for root, name in erased.types]
        topics = sorted({name for _, name in erased.types})
        outcome = replace(erased.outcome, files_touched=(), method=method)
        return outcome, {"removed_entries": removed, "touched_topics": list[Json](topics)}

    def _folders(self, job: Job, payload: ForgetPayload) -> MemoryFolders:
        desk = self._desk
        places = self._ground(job, payload).places
        return MemoryFolders(places=places, jobs=desk.store.jobs, journal=desk.store.journal, clock=desk.clock)

    async def _records(self, tenant: str, entries: Sequence[tuple[Root, EntryFile]]) -> list[str]:
        """The records that follow these entries."""
        ids: list[str] = []
        for root, item in entries:
            filter = Filter(scopes=(root.scope,), key=key_of(root, item.path), states=ALL_STATES)
            page = await self._desk.store.records.find(tenant, filter, "newest", 1, None)
            ids += [record.id for record in page.records]
        return ids

    async def _withheld(self, tenant: str, roots: Sequence[Root], files: Sequence[str]) -> tuple[Withheld, ...]:
        """Which of the entries just written are in quarantine: kept in their files, and not recalled."""
        records: list[Record] = []
        for root in roots:
            paths = [Path(file).relative_to(root.path) for file in files if Path(file).is_relative_to(root.path)]
            for path in paths:
                filter = Filter(scopes=(root.scope,), key=key_of(root, path.as_posix()), states=frozenset({"demoted"}))
                page = await self._desk.store.records.find(tenant, filter, "newest", 1, None)
                records += page.records
        return withheld(records)

    async def _purge(self, who: Principal, ids: Sequence[str]) -> None:
        desk = self._desk
        async with desk.store.maintenance.removal(), desk.account(who, "managed.forget") as account:
            purger = desk.engines(who).purger(Journaled(desk.store.records, account), who)
            await purger.rows([Filter(ids=tuple(ids), states=ALL_STATES)])

    async def _take_back(self, roots: tuple[Root, ...], job: Job) -> None:
        await asyncio.to_thread(memory_agent.take_back, roots, job.id, self._desk.clock.now())
        await self._managed.follow(roots)

    def _ground(self, job: Job, payload: TaskPayload) -> Ground:
        """Where the task is at home, which may be another workspace of the same person."""
        own = self._managed.ground
        if not own.enabled or job.tenant != own.tenant:
            raise ManagedMemoryUnavailable
        return replace(own, workspace=Path(payload.workspace), local=payload.local, person=payload.person)

    @staticmethod
    def _errand(job: Job, payload: TaskPayload, ground: Ground, roots: tuple[Root, ...]) -> Errand:
        return Errand(
            text="" if isinstance(payload, DreamPayload) else payload.private.text,
            roots=roots,
            task=job.id,
            tenant=job.tenant,
            workspace=ground.name,
            clean=_mode(payload) == "clean",
            trust="model_generated" if payload.who.principal(job.tenant).is_model else None,
            is_named=payload.target is not None,
        )

    def told(self, job: Job, result: Mapping[str, Json]) -> tuple[News, ...]:
        """Who listens hears of a memory that changed, and only then."""
        touched = cast("list[RootKind]", result["touched_scopes"])
        at = self._desk.clock.now()
        # Each memory is told of on its own: whoever reaches one of them need not reach the other.
        return tuple(
            News(
                type="memory_changed",
                tenant=job.tenant,
                at=at,
                scope=root.scope,
                actor=job.created_by,
                client=job.client,
                data={
                    "scope": "managed",
                    "source": f"workspace_memory_{job.kind}",
                    "taskId": job.id,
                    "touchedScopes": [root.kind],
                },
            )
            for root in self._ground(job, _PAYLOADS[cast(TaskKind, job.kind)].read(job.payload)).of(touched)
        )


def memory_queues(lanes: Lanes, *, own: bool = False) -> dict[str, Queue[Any]]:
    """
    The queue of each kind. All their jobs stand in one line: when one ends, any of the others can begin. Jobs of a tenant whose files
    are not here are left to other workers, and if memory in Markdown is switched off, all are. `own`: only jobs of this
    workspace, for a program that runs for a moment and may have another home than the daemon beside it.
    """
    ground = lanes.ground
    if not ground.enabled:
        return {}
    line = ground.line if own else None
    return {
        kind: Queue(
            handler=lanes.run,
            payload=payload,
            events=lanes.told,
            wakes=LANES,
            tenant=ground.tenant,
            line=line,
            patience=PATIENCE,
        )
        for kind, payload in _PAYLOADS.items()
    }


def shown(job: Job) -> MemoryTask:
    """A job of ours, as whoever asked for it sees it. The code of a failure is one that a client may know."""
    kind = cast(TaskKind, job.kind)
    payload: TaskPayload = _PAYLOADS[kind].read(job.payload)
    error: TaskFailure | None = None
    if job.state == "failed" or (job.state == "queued" and job.error_code is not None):
        own = job.error_code or "internal_error"
        is_public = own in _TOLD_AS_IT_IS or own == _TIMEOUT[kind].code
        error = TaskFailure(code=own if is_public else _FAILED[kind].code, message=job.error or "", details=own)
    return MemoryTask(
        id=job.id,
        kind=kind,
        status=_STATUS[job.state],
        created_at=job.created_at,
        updated_at=job.updated_at,
        context_mode=_mode(payload),
        scope=payload.target,
        result=job.result if job.state == "done" else None,
        error=error,
    )


def _of_filing(payload: RememberPayload, outcome: Outcome) -> dict[str, Json]:
    """What the result of remembering says beyond the files."""
    taken_out: list[Json] = [{"kind": kind, "count": count} for kind, count in payload.shown.redactions.items()]
    return {
        "outcome": outcome.outcome,
        "redactions": taken_out,
        "fallback": outcome.fallback,
        "unsure": list[Json](outcome.unsure),
    }


def _with_notes(summary: str, notes: Sequence[str]) -> str:
    """A summary has at most 500 characters, and what must be said beside it is not what is cut."""
    rest = " ".join(notes)
    room = MAX_SUMMARY - len(rest) - 1
    if not notes or len(summary) <= room:
        return f"{summary if not notes or summary.endswith(_ENDS) else f'{summary}.'} {rest}".rstrip()
    return f"{summary[: max(room - 1, 0)]}… {rest}"


def _checked(value: object, wrong: type[CommonplaceError], message: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(message)
    text = value.strip()
    try:
        check_content(text)
    except InvalidContent as error:
        raise wrong(error.message) from None
    if len(text.encode("utf-8")) > MOST_CONTENT:
        raise wrong(message)
    return text


def _told_withheld(waiting: Sequence[Withheld]) -> dict[str, Json]:
    """In the result of a task, if there is any."""
    if not waiting:
        return {}
    reasons = dict.fromkeys(reason for entry in waiting for reason in entry.reasons)
    return {"quarantined": True, "quarantine_reasons": list[Json](reasons)}


def _mode(payload: TaskPayload) -> ContextMode | None:
    return payload.shown.context_mode if isinstance(payload, RememberPayload) else None


def _target(scope: object) -> TargetScope | None:
    if scope is None:
        return None
    if scope not in _TARGETS:
        raise InvalidScope("The scope must be project or user.")
    return cast(TargetScope, scope)


def _reached(who: Principal, ground: Ground, target: RootKind | None) -> list[RootKind]:
    """Whose memory the task may touch: what was asked for, as far as the caller's key reaches."""
    roots = [root for root in ground.roots if target in (None, root.kind)]
    kinds: list[RootKind] = [root.kind for root in roots if who.reaches(root.scope)]
    if not kinds:
        scopes = " nor ".join(str(root.scope) for root in roots)
        raise Forbidden(f"The key does not reach {scopes}. Use one that does.")
    return kinds


def _epochs(roots: Sequence[Root]) -> list[str]:
    return [epoch_of(root) for root in roots]


def _removed(root: Root, item: EntryFile) -> Json:
    """An entry that was forgotten, for whoever asked for it."""
    return {
        "topic": item.entry.type,
        "summary": scrub(item.entry.description or item.entry.name).text,
        "file_path": str(root.path / item.path),
    }


def _unnamed(root: Root, name: str) -> Json:
    """The same, as the queue holds it: what was forgotten is not written down again."""
    return {"topic": name, "summary": f"An entry of {root.kind} memory", "file_path": str(root.path / name)}


def _room(kind: TaskKind) -> tuple[Room, ...]:
    others = tuple(lane for lane in LANES if lane != "remember")
    return (Room(most=PENDING), *(() if kind == "remember" else (Room(most=PENDING_OTHERS, kinds=others),)))


def _dreamt(outcome: Outcome) -> dict[str, Json]:
    """What became one with another is gone from the disk."""
    paths = [Path(path) for path in outcome.files_touched]
    topics = sorted({path.parent.name for path in paths})
    return {"deduped_entries": sum(not path.exists() for path in paths), "touched_topics": list[Json](topics)}
