"""
Runs, for those whose they are: made, written to, read, replayed, deleted.

A run belongs to the subject that made it. Besides them only an admin who reaches everything sees it. The audit has a row for a run that is made,
kept at a checkpoint or deleted; what happens in a run is in its own journal.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final, TypeVar

from commonplace.errors import FileError, InvalidInput, StoreFull
from commonplace.governance.access import reaches_all, require_role
from commonplace.ports.journal import Entries
from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import Decide, RunFolder, these
from commonplace.runs.replay import replay
from commonplace.runs.tasks import chosen_task, moved_task, new_task
from commonplace.runs.transitions import MOST_STEPS, MOST_TITLE, open_step
from commonplace.values.audit import AuditQuery
from commonplace.values.json import Json
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, to_ms
from commonplace.values.principal import LOCAL, Principal, Role
from commonplace.values.run import (
    TASK_EVENTS,
    TASK_OPS,
    Blackboard,
    BlackboardPatch,
    Checkpoint,
    LedgerRow,
    NextStep,
    PatchDraft,
    RunCommit,
    RunDraft,
    RunEvent,
    RunEventDraft,
    RunLedger,
    RunPage,
    RunQuery,
    RunReplay,
    RunRows,
    RunState,
    RunTask,
    RunTaskDraft,
    StepStatus,
    TaskClaim,
    TaskMove,
    TaskOutcome,
    TodoItem,
)
from commonplace.values.run_errors import (
    RunNotFound,
    RunsUnavailable,
    TaskEventRefused,
    TaskPatchRefused,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from commonplace.runs.archive import RunCard
    from commonplace.service.desk import Desk

T = TypeVar("T")

MOST_ROWS: Final = 10_000
MOST_RUNS: Final = 1_000
MOST_OBJECTIVE: Final = 64 * 1024
_MOST_TYPE: Final = 100
_ROWS: Final = 20
_PATCHED: Final = "blackboard_patched"
_DONE_BEFORE: Final = "context.task.repeated"
_TODO: Final[Mapping[str, StepStatus]] = {
    "pending": "pending",
    "runnable": "runnable",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "active": "in_progress",
    "working": "in_progress",
    "blocked": "blocked",
    "cancelled": "blocked",
    "done": "done",
    "complete": "done",
    "completed": "done",
    "failed": "failed",
    "error": "failed",
}
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


ALL_ROWS: Final = RunRows()


class Runs:
    """`home` is where their folders lie; None: there is no place for any. `keep`: for how long after the last event; None: forever."""

    def __init__(self, desk: Desk, home: Path | None, *, keep: timedelta | None = None) -> None:
        self._desk = desk
        self._archive = None if home is None else RunArchive(home)
        self._keep = keep
        self._lines: dict[str, tuple[asyncio.Lock, int]] = {}
        self._watching: set[asyncio.Event] = set()

    # ---- make, list, delete

    async def create(self, who: Principal, draft: RunDraft) -> RunState:
        """
        Raises:
            Conflict: there is a run of that id.
            InvalidInput: the id is none, or the objective is too long.
        """
        desk = self._desk
        async with desk.account(who, "run.create") as account:
            require_role(who, "writer")
            _check_draft(draft)
            archive = self._here()
            state = await _in_thread(lambda: archive.create(who.tenant, who.subject, draft, desk.clock.now()))
            account.run = state.run_id
            await account.note(owner=state.owner, run_type=state.run_type)
        self._pulse()
        return state

    async def get(self, who: Principal, run_id: str) -> RunState:
        """Raises RunNotFound, RunsUnavailable."""
        return await self._read(who, "run.read", run_id, lambda folder: folder.state())

    async def list(self, who: Principal, query: RunQuery) -> RunPage:
        """Newest first: the caller's own, or, for `everyone`, all that an admin may see."""
        async with self._desk.account(who, "run.list") as account:
            require_role(who, "reader")
            _require_count(query.limit, MOST_RUNS)
            if query.everyone:
                _require_all(who)
                await account.note_read(everyone=True)
            archive = self._here()
            return await _in_thread(lambda: _page(archive, who, query))

    async def delete(self, who: Principal, run_id: str) -> None:
        """The folder and all in it. Its artifacts stay, and so does what was learned from it."""
        archive = self._here()
        async with self._desk.account(who, "run.delete", run=run_id) as account:
            require_role(who, "writer")
            await self._in_folder(who, run_id, RunFolder.state)
            await self._in_line(run_id, lambda: archive.remove(who.tenant, run_id))
            await account.note()
        self._pulse()

    async def erase(self, tenant: str, owner: str, session: str | None = None) -> int:
        """Delete all runs of a person, or theirs of one session, for good. For whoever was let in already, and keeps the account."""
        archive, count = self._archive, 0
        if archive is None:
            return 0
        for card in await _in_thread(lambda: archive.cards(tenant)):
            if card.owner != owner or session not in (None, card.session):
                continue
            with suppress(RunNotFound):
                await self._in_line(card.run_id, lambda run_id=card.run_id: archive.remove(tenant, run_id))
                count += 1
        self._pulse()
        return count

    async def expire(self) -> int:
        """Delete runs that nobody has written to for as long as the settings say, of every tenant. How many that were."""
        archive, clock = self._archive, self._desk.clock
        if archive is None:
            return 0
        await _in_thread(lambda: archive.sweep(clock.now() - timedelta(days=1)))
        if self._keep is None:
            return 0
        before, count = clock.now() - self._keep, 0
        for tenant, run_id in await _in_thread(lambda: archive.stale(before)):
            who = Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", operator=True, door="daemon")
            account = self._desk.account(who, "run.delete", run=run_id)
            try:
                await self._in_line(run_id, lambda tenant=tenant, run_id=run_id: archive.remove(tenant, run_id))
            except RunNotFound:
                # Another process was quicker.
                continue
            await self._desk.store.journal.note(Entries(audit=(account.row("ok", details={"expired": True}),)))
            count += 1
        return count

    # ---- events and the blackboard

    async def append(self, who: Principal, run_id: str, draft: RunEventDraft) -> RunEvent:
        """
        Keep one event. It is durable when this returns.

        Raises:
            TaskEventRefused, TaskPatchRefused: it is about tasks.
            InvalidInput, TextTooLarge: it cannot be kept.
            RunNotFound, RunsUnavailable, RunBusy, RunDamaged.
        """
        return (await self.append_all(who, run_id, [draft])).events[0]

    async def append_all(self, who: Principal, run_id: str, drafts: Sequence[RunEventDraft]) -> RunCommit:
        """Keep several, all or none, for the price of one."""
        for draft in drafts:
            _check_event(draft)
        return await self._commit(who, "run.append", run_id, these(drafts))

    async def patch(
        self, who: Principal, run_id: str, draft: PatchDraft, *, command_id: str | None = None
    ) -> RunCommit:
        """Change the blackboard; the event that it comes with is a `blackboard_patched`."""
        event = RunEventDraft(type=_PATCHED, payload={"op": draft.op}, patch=draft, command_id=command_id)
        return await self.append_all(who, run_id, [event])

    async def events(self, who: Principal, run_id: str, rows: RunRows = ALL_ROWS) -> Sequence[RunEvent]:
        """In their order."""
        _require_rows(rows)

        def read(folder: RunFolder) -> Sequence[RunEvent]:
            if rows.tail is not None:
                return [event for event in folder.last_events(rows.tail) if event.seq > rows.after]
            return folder.events(rows.after, most=rows.limit or MOST_ROWS)

        return await self._read(who, "run.read", run_id, read)

    async def patches(self, who: Principal, run_id: str, rows: RunRows = ALL_ROWS) -> Sequence[BlackboardPatch]:
        _require_rows(rows)

        def read(folder: RunFolder) -> Sequence[BlackboardPatch]:
            if rows.tail is not None:
                return [patch for patch in folder.last_patches(rows.tail) if patch.seq > rows.after]
            return folder.patches(rows.after, most=rows.limit or MOST_ROWS)

        return await self._read(who, "run.read", run_id, read)

    async def blackboard(self, who: Principal, run_id: str) -> Blackboard:
        return await self._read(who, "run.read", run_id, lambda folder: folder.blackboard())

    # ---- tasks

    async def tasks(self, who: Principal, run_id: str) -> Sequence[RunTask]:
        return (await self.get(who, run_id)).tasks

    async def create_tasks(self, who: Principal, run_id: str, drafts: Sequence[RunTaskDraft]) -> RunCommit:
        """All or none. Those whose command was done before are passed over."""
        if not drafts:
            raise InvalidInput("Name at least one task.")
        for draft in drafts:
            _check_label("task_type", draft.task_type)
        now = self._desk.clock.now()

        def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            tasks, events = list(state.tasks), list[RunEventDraft]()
            for draft in drafts:
                if draft.command_id in commands:
                    events.append(RunEventDraft(type=_DONE_BEFORE, command_id=draft.command_id))
                    continue
                event = new_task(tasks, draft, to_ms(now), new_id(now))
                tasks.append(RunTask(id=event.task_id or "", task_type=draft.task_type))
                events.append(event)
            return events

        return await self._commit(who, "run.task", run_id, decide)

    async def claim(self, who: Principal, run_id: str, claim: TaskClaim) -> TaskOutcome:
        """The task that is now the caller's for as long as its lease lasts, or none that waits."""
        _check_label("agent_id", claim.agent_id)
        token, choices = token_urlsafe(24), list[str | None]()

        def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            if claim.command_id in commands:
                return [RunEventDraft(type=_DONE_BEFORE, command_id=claim.command_id)]
            choice = chosen_task(state.tasks, claim, to_ms(self._desk.clock.now()), token)
            choices.append(choice.task_id)
            return choice.drafts

        commit = await self._commit(who, "run.task", run_id, decide)
        task_id = commit.events[0].task_id if commit.deduped else choices[0] if choices else None
        return TaskOutcome(task=_task(commit.state, task_id), commit=commit)

    async def transition(self, who: Principal, run_id: str, task_id: str, move: TaskMove) -> TaskOutcome:
        """
        Raises:
            TaskNotFound, TaskRevisionMismatch, TaskLeaseRequired, TaskLeaseInvalid, TaskTransitionInvalid: as their names say.
        """

        def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            if move.command_id in commands:
                return [RunEventDraft(type=_DONE_BEFORE, command_id=move.command_id)]
            return [moved_task(state.tasks, task_id, move, to_ms(self._desk.clock.now()))]

        commit = await self._commit(who, "run.task", run_id, decide)
        return TaskOutcome(task=_task(commit.state, task_id), commit=commit)

    # ---- checkpoints and replay

    async def checkpoint(self, who: Principal, run_id: str, reason: str) -> Checkpoint:
        check_line("reason", reason)
        async with self._desk.account(who, "run.checkpoint", run=run_id) as account:
            require_role(who, "writer")
            now = self._desk.clock.now()
            checkpoint = await self._in_folder(who, run_id, lambda folder: folder.checkpoint(reason, now))
            await account.note(seq=checkpoint.seq)
            return checkpoint

    async def checkpoints(self, who: Principal, run_id: str) -> Sequence[int]:
        """After which events there are checkpoints, the latest first."""
        return await self._read(who, "run.read", run_id, lambda folder: folder.checkpoint_seqs())

    async def latest_checkpoint(self, who: Principal, run_id: str) -> Checkpoint | None:
        def read(folder: RunFolder) -> Checkpoint | None:
            checkpoints = map(folder.read_checkpoint, folder.checkpoint_seqs())
            return next((checkpoint for checkpoint in checkpoints if checkpoint), None)

        return await self._read(who, "run.read", run_id, read)

    async def replay(
        self, who: Principal, run_id: str, *, upto_seq: int | None = None, from_checkpoint: bool = True
    ) -> RunReplay:
        """The run made again from its journal, and where that differs from what is kept."""
        if upto_seq is not None and upto_seq < 0:
            raise InvalidInput("Events are counted from 1.")

        def read(folder: RunFolder) -> RunReplay:
            return replay(folder, upto_seq=upto_seq, from_checkpoint=from_checkpoint)

        return await self._read(who, "run.replay", run_id, read)

    async def ledger(self, who: Principal, run_id: str) -> RunLedger:
        """What the run did by tools, and what it cost."""
        return await self._read(who, "run.read", run_id, lambda folder: _ledger(run_id, folder.events()))

    # ---- the plan

    async def driver_next(self, who: Principal, run_id: str, *, dry_run: bool = False) -> NextStep:
        """Choose the step to do next: the first that is runnable, else the first that is pending. `dry_run` only says which."""

        def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            del commands
            step = open_step(state.steps)
            if step is None:
                return []
            payload: dict[str, Json] = {"selected_step_id": step.step_id, "why_next_step": _why(step.step_id)}
            event = RunEventDraft(
                type="meta_next_step_selected",
                status="running",
                step_id=step.step_id,
                payload={**payload, "step_status": "in_progress"},
            )
            return [event]

        if dry_run:
            state = await self.get(who, run_id)
            step = open_step(state.steps)
            why = _why(step.step_id) if step else "No step waits."
            return NextStep(run=state, step=step, why=why, dry_run=True)
        commit = await self._commit(who, "run.append", run_id, decide)
        step_id = commit.events[0].step_id if commit.events else None
        step = next((step for step in commit.state.steps if step.step_id == step_id), None)
        return NextStep(run=commit.state, step=step, why=_why(step_id) if step_id else "No step waits.")

    async def todos_sync(
        self,
        who: Principal,
        run_id: str,
        todos: Sequence[TodoItem],
        *,
        replace: bool = True,
        source: Mapping[str, str | None] | None = None,
    ) -> RunState:
        """Make a list of things to do the steps of the run: in place of those there (`replace`), or beside them."""
        if len(todos) > MOST_STEPS:
            raise InvalidInput(f"A run has at most {MOST_STEPS:,} steps.")
        steps: list[Json] = [
            {
                "step_id": item.id or f"todo-{number}",
                "title": item.content[:MOST_TITLE],
                "status": _TODO.get((item.status or "").strip().lower(), "pending"),
            }
            for number, item in enumerate(todos, 1)
        ]
        payload: dict[str, Json] = {"steps": steps, "replace": replace, **(source or {})}
        drafts = [RunEventDraft(type="todo_synced", payload=payload)]
        return (await self._commit(who, "run.append", run_id, these(drafts))).state

    async def validate_lease(
        self, who: Principal, run_id: str, current_path: str, *, phase: str = "", step_id: str | None = None
    ) -> RunCommit:
        """Whether the work is in the folder that the run was made for. If not, an event says so, and the run is paused."""
        check_line("current_path", current_path)

        def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            del commands
            expected = state.workspace.canonical_path
            if not expected or expected.rstrip("/") == current_path.rstrip("/"):
                return []
            payload: dict[str, Json] = {"phase": phase, "expected_path": expected, "actual_path": current_path}
            why = "The work is in another folder than the run's."
            event = RunEventDraft(
                type="workspace_mismatch", status="paused", step_id=step_id, payload={**payload, "why_next_step": why}
            )
            return [event]

        return await self._commit(who, "run.append", run_id, decide)

    # ---- for those who follow

    @contextmanager
    def watched(self) -> Generator[asyncio.Event]:
        """Set whenever this process has written to any run. Other processes' writes show in the sizes of the journals."""
        wake = asyncio.Event()
        self._watching.add(wake)
        try:
            yield wake
        finally:
            self._watching.discard(wake)

    async def cards(self, who: Principal) -> Sequence[RunCard]:
        """The caller's own runs, newest first."""
        archive = self._here()
        return [card for card in await _in_thread(lambda: archive.cards(who.tenant)) if card.owner == who.subject]

    def folder(self, who: Principal, run_id: str) -> RunFolder:
        """For whoever was let in already. Raises RunNotFound."""
        return self._here().folder(who.tenant, run_id)

    # ---- the way in

    async def _read(self, who: Principal, action: str, run_id: str, work: Callable[[RunFolder], T]) -> T:
        async with self._desk.account(who, action, run=run_id):
            require_role(who, "reader")
            return await self._in_folder(who, run_id, work)

    async def _commit(
        self,
        who: Principal,
        action: str,
        run_id: str,
        decide: Decide,
        role: Role = "writer",
    ) -> RunCommit:
        def own(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
            _require_own(who, state)
            return decide(state, commands)

        async with self._desk.account(who, action, run=run_id):
            require_role(who, role)
            folder = self._here().folder(who.tenant, run_id)
            now = self._desk.clock.now()
            commit = await self._found(who, run_id, lambda: folder.commit(own, now))
        if not commit.deduped:
            self._pulse()
        return commit

    async def _in_folder(self, who: Principal, run_id: str, work: Callable[[RunFolder], T]) -> T:
        """What `work` makes of the run, if it is the caller's to see."""
        archive = self._here()

        def looked() -> T:
            folder = archive.folder(who.tenant, run_id)
            _require_own(who, folder.state())
            return work(folder)

        return await self._found(who, run_id, looked)

    async def _found(self, who: Principal, run_id: str, work: Callable[[], T]) -> T:
        try:
            return await self._in_line(run_id, work)
        except RunNotFound:
            if await self._is_elsewhere(who, run_id):
                raise RunsUnavailable(run=run_id) from None
            raise

    async def _in_line(self, run_id: str, work: Callable[[], T]) -> T:
        """One thread a run at a time: those who wait for the same run keep nobody else from working."""
        line, waiting = self._lines.get(run_id, (asyncio.Lock(), 0))
        self._lines[run_id] = line, waiting + 1
        try:
            async with line:
                return await _in_thread(work)
        finally:
            line, waiting = self._lines[run_id]
            self._lines[run_id] = line, waiting - 1
            if waiting == 1:
                del self._lines[run_id]

    async def _is_elsewhere(self, who: Principal, run_id: str) -> bool:
        """
        Whether the caller's run was made at another daemon, whose home folder is not ours. The store, which daemons do share, has the row
        of its creation, and none of its end.
        """
        query = AuditQuery(actions=("run.create", "run.delete"), outcomes=("ok",), run=run_id)
        rows = (await self._desk.store.journal.audit(who.tenant, query, _ROWS, None)).rows
        if not rows or rows[0].action != "run.create":
            return False
        return reaches_all(who) or rows[0].details.get("owner") == who.subject

    def _here(self) -> RunArchive:
        if self._archive is None:
            raise RunsUnavailable("There is no home folder for runs here.")
        return self._archive

    def _pulse(self) -> None:
        for wake in self._watching:
            wake.set()


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull from error
        raise FileError(f"The files of the run cannot be used: {error.strerror}.") from error


def _require_own(who: Principal, state: RunState) -> None:
    if state.owner != who.subject and not (who.role == "admin" and reaches_all(who)):
        raise RunNotFound(run=state.run_id)


def _require_all(who: Principal) -> None:
    require_role(who, "admin")
    if not reaches_all(who):
        raise InvalidInput("Everyone's runs are for an admin whose key reaches every scope.")


def _page(archive: RunArchive, who: Principal, query: RunQuery) -> RunPage:
    before = _parsed_cursor(query.cursor)
    states: list[RunState] = []
    for card in archive.cards(who.tenant):
        place = (card.created_at_ms, card.run_id)
        if (before is not None and place >= before) or not _fits(card, who, query):
            continue
        state = archive.saved_state(who.tenant, card.run_id)
        if state is None or (query.status is not None and state.status != query.status):
            continue
        if len(states) == query.limit:
            last = states[-1]
            return RunPage(tuple(states), f"{last.created_at_ms}.{last.run_id}")
        states.append(state)
    return RunPage(tuple(states))


def _fits(card: RunCard, who: Principal, query: RunQuery) -> bool:
    return (
        (query.everyone or card.owner == who.subject)
        and (query.session is None or card.session == query.session)
        and (query.workspace is None or card.workspace == query.workspace)
        and (query.run_type is None or card.run_type == query.run_type)
    )


def _parsed_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    ms, _, run_id = cursor.partition(".")
    if not (ms.isascii() and ms.isdecimal() and len(ms) < 20 and run_id):
        raise InvalidInput("The cursor is none of ours. Leave it out to begin anew.")
    return int(ms), run_id


def _ledger(run_id: str, events: Iterable[RunEvent]) -> RunLedger:
    rows = [row for event in events if (row := _ledger_row(event))]
    tools: dict[str, int] = {}
    for row in rows:
        if row.tool is not None:
            tools[row.tool] = tools.get(row.tool, 0) + 1
    return RunLedger(
        run_id=run_id,
        records=tuple(rows),
        tools=tools,
        failures=sum(row.failed for row in rows),
        cost_micro_usd=sum(row.cost_micro_usd for row in rows),
    )


def _ledger_row(event: RunEvent) -> LedgerRow | None:
    tool, cost, call = (event.payload.get(name) for name in ("tool", "cost_micro_usd", "call"))
    is_cost = isinstance(cost, int) and not isinstance(cost, bool) and cost >= 0
    if not isinstance(tool, str) and not is_cost:
        return None
    return LedgerRow(
        seq=event.seq,
        ts_ms=event.ts_ms,
        event_id=event.event_id,
        type=event.type,
        tool=tool if isinstance(tool, str) else None,
        call=call if isinstance(call, str) else None,
        failed=event.payload.get("failed") is True,
        cost_micro_usd=cost if isinstance(cost, int) and is_cost else 0,
    )


def _task(state: RunState, task_id: str | None) -> RunTask | None:
    return next((task for task in state.tasks if task.id == task_id), None)


def _why(step_id: str | None) -> str:
    return f"Step {step_id} is the first that waits."


def _check_draft(draft: RunDraft) -> None:
    if not draft.objective.strip():
        raise InvalidInput("Say what the run is for: it needs an objective.")
    if len(draft.objective) > MOST_OBJECTIVE:
        raise InvalidInput(f"An objective has at most {MOST_OBJECTIVE >> 10} KiB.")
    if len(draft.steps) > MOST_STEPS:
        raise InvalidInput(f"A run has at most {MOST_STEPS:,} steps.")
    for name in ("session", "run_type", "source_client", "model_provider", "model_id"):
        check_line(name, getattr(draft, name))


def _check_event(draft: RunEventDraft) -> None:
    _check_label("type", draft.type)
    if draft.type.startswith(TASK_EVENTS):
        raise TaskEventRefused
    if draft.patch is not None and draft.patch.op in TASK_OPS:
        raise TaskPatchRefused


def _check_label(name: str, text: str) -> None:
    if not 1 <= len(text.strip()) <= _MOST_TYPE or not text.isprintable():
        raise InvalidInput(f"`{name}` has 1 to {_MOST_TYPE} printable characters.")


def _require_rows(rows: RunRows) -> None:
    for count in (rows.limit, rows.tail):
        if count is not None:
            _require_count(count, MOST_ROWS)


def _require_count(count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise InvalidInput(f"A page has 1 to {most:,} rows.")
