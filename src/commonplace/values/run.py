"""
Runs: how work unfolded, step by step. The names of fields are those of Tandem's context runs, so that its clients can read them.

A run is a folder with an append-only journal. Its events are the truth: state, blackboard and tasks follow from them, and can be
made again from them at any time (`runs/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from commonplace.values.json import Json, Natural, SparseObject

RunStatus = Literal[
    "queued", "planning", "running", "awaiting_approval", "paused", "blocked", "failed", "completed", "cancelled"
]
RUN_STATUSES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
ENDED: Final[frozenset[RunStatus]] = frozenset({"completed", "failed", "cancelled"})

StepStatus = Literal["pending", "runnable", "in_progress", "blocked", "done", "failed"]
STEP_STATUSES: Final[tuple[StepStatus, ...]] = get_args(StepStatus)

PatchOp = Literal[
    "add_fact",
    "add_decision",
    "add_open_question",
    "add_artifact",
    "set_rolling_summary",
    "set_latest_context_pack",
    "add_task",
    "update_task_lease",
    "update_task_state",
]
TASK_OPS: Final[frozenset[PatchOp]] = frozenset({"add_task", "update_task_lease", "update_task_state"})
"""Tasks are changed by the operations for tasks alone, which know about leases."""

TASK_EVENTS: Final = "context.task."
"""What the types of events about tasks begin with."""

TaskAction = Literal["heartbeat", "status", "complete", "fail", "release", "retry"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceLease(SparseObject):
    """The folder a run works in. Work that finds itself in another one is to stop (`Runs.validate_lease`)."""

    workspace_id: str = ""
    canonical_path: str = ""
    lease_epoch: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStep(SparseObject):
    step_id: str
    title: str
    status: StepStatus = "pending"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTask(SparseObject):
    """
    A piece of work that one agent at a time may take, for as long as its lease lasts. `task_rev` rises with every change;
    `attempt` with every failure.
    """

    id: str
    task_type: str
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    status: StepStatus = "pending"
    workflow_id: str | None = None
    workflow_node_id: str | None = None
    parent_task_id: str | None = None
    depends_on_task_ids: tuple[str, ...] = ()
    decision_ids: tuple[str, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    assigned_agent: str | None = None
    priority: int = 0
    attempt: Natural = 0
    max_attempts: Natural = 3
    last_error: str | None = None
    next_retry_at_ms: int | None = None
    lease_owner: str | None = None
    lease_token: str | None = None
    lease_expires_at_ms: int | None = None
    task_rev: Natural = 1
    created_ts: int = 0
    updated_ts: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState(SparseObject):
    """
    What a run has come to. `owner` is the subject whose run it is, `session` the conversation it belongs to. `revision` rises with
    every event, `last_event_seq` is the last one that is in here.
    """

    run_id: str
    tenant: str
    owner: str
    session: str | None = None
    run_type: str = "interactive"
    source_client: str | None = None
    model_provider: str | None = None
    model_id: str | None = None
    mcp_servers: tuple[str, ...] = ()
    status: RunStatus = "queued"
    objective: str = ""
    workspace: WorkspaceLease = field(default_factory=WorkspaceLease)
    steps: tuple[RunStep, ...] = ()
    tasks: tuple[RunTask, ...] = ()
    why_next_step: str | None = None
    revision: Natural = 1
    last_event_seq: Natural = 0
    created_at_ms: int
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    last_error: str | None = None
    updated_at_ms: int

    @property
    def is_over(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEvent(SparseObject):
    """One line of a run's journal. `status` and `revision` are those of the run after it; `seq` counts from 1, without gaps."""

    event_id: str
    run_id: str
    seq: Natural
    ts_ms: int
    type: str
    status: RunStatus
    revision: Natural = 0
    step_id: str | None = None
    task_id: str | None = None
    command_id: str | None = None
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, kw_only=True, slots=True)
class BlackboardPatch(SparseObject):
    """One change of the blackboard, with the `seq` of the event that it came with."""

    patch_id: str
    run_id: str
    seq: Natural
    ts_ms: int
    source_event_seq: int | None = None
    op: PatchOp
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, kw_only=True, slots=True)
class BlackboardItem(SparseObject):
    id: str
    ts_ms: int
    text: str
    step_id: str | None = None
    source_event_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BlackboardArtifact(SparseObject):
    """`path` is a path in the workspace, or `artifact://<id>` for one that is kept here."""

    id: str
    ts_ms: int
    path: str
    artifact_type: str
    step_id: str | None = None
    source_event_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BlackboardSummaries(SparseObject):
    rolling: str = ""
    latest_context_pack: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Blackboard(SparseObject):
    """What those who work on a run share. `revision` is the `seq` of the last patch; `tasks` are those of the run's state."""

    facts: tuple[BlackboardItem, ...] = ()
    decisions: tuple[BlackboardItem, ...] = ()
    open_questions: tuple[BlackboardItem, ...] = ()
    artifacts: tuple[BlackboardArtifact, ...] = ()
    tasks: tuple[RunTask, ...] = ()
    summaries: BlackboardSummaries = field(default_factory=BlackboardSummaries)
    revision: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint(SparseObject):
    """A run as it was after the event `seq`, kept because somebody asked for it."""

    checkpoint_id: str
    run_id: str
    seq: Natural
    ts_ms: int
    reason: str
    run_state: RunState
    blackboard: Blackboard


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayDrift(SparseObject):
    """Where a replay differs from what is kept. `state_mismatch` and `blackboard_mismatch`: in anything at all."""

    mismatch: bool = False
    status_mismatch: bool = False
    why_next_step_mismatch: bool = False
    step_count_mismatch: bool = False
    step_status_mismatch: bool = False
    blackboard_revision_mismatch: bool = False
    blackboard_task_count_mismatch: bool = False
    blackboard_task_status_mismatch: bool = False
    state_mismatch: bool = False
    blackboard_mismatch: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReplay(SparseObject):
    """
    A run made again from its journal, up to `upto_seq` or to its end. Only one that goes to the end is compared with what is kept:
    the past differs from it as a matter of course.
    """

    run_id: str
    from_checkpoint: bool
    checkpoint_seq: int | None
    upto_seq: int | None
    events_applied: Natural
    patches_applied: Natural
    replay: RunState
    replay_blackboard: Blackboard
    persisted: RunState
    persisted_blackboard: Blackboard
    drift: ReplayDrift


# ---- before they are kept


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDraft:
    """A run to be made. Without a `run_id` it gets one of ours."""

    objective: str
    run_id: str | None = None
    session: str | None = None
    run_type: str = "interactive"
    source_client: str | None = None
    model_provider: str | None = None
    model_id: str | None = None
    mcp_servers: tuple[str, ...] = ()
    workspace: WorkspaceLease = field(default_factory=WorkspaceLease)
    steps: tuple[RunStep, ...] = ()
    why_next_step: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchDraft:
    op: PatchOp
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEventDraft:
    """
    An event to be kept. `status` is what the run comes to be by it; None: what the type says, else as it is. The same `command_id`
    again, within the last 500 events, changes nothing. `patch` changes the blackboard in the same commit.
    """

    type: str
    status: RunStatus | None = None
    step_id: str | None = None
    task_id: str | None = None
    command_id: str | None = None
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    patch: PatchDraft | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTaskDraft:
    task_type: str
    id: str | None = None
    command_id: str | None = None
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    status: StepStatus | None = None
    workflow_id: str | None = None
    workflow_node_id: str | None = None
    parent_task_id: str | None = None
    depends_on_task_ids: tuple[str, ...] = ()
    decision_ids: tuple[str, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    priority: int = 0
    max_attempts: int = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskClaim:
    """Which task to take: of that type, of that workflow. The lease lasts `lease_ms`, between 5 and 300 seconds."""

    agent_id: str
    command_id: str | None = None
    task_type: str | None = None
    workflow_id: str | None = None
    lease_ms: int = 30_000


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskMove:
    """What to do with a task. `status` is for the action of that name."""

    action: TaskAction
    command_id: str | None = None
    expected_task_rev: int | None = None
    lease_token: str | None = None
    agent_id: str | None = None
    status: StepStatus | None = None
    error: str | None = None
    lease_ms: int = 30_000


@dataclass(frozen=True, kw_only=True, slots=True)
class TodoItem:
    content: str
    id: str | None = None
    status: str | None = None


# ---- questions


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    """Which runs; None narrows nothing. `everyone`: other people's, too, for an admin."""

    session: str | None = None
    status: RunStatus | None = None
    workspace: str | None = None
    run_type: str | None = None
    everyone: bool = False
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRows:
    """Which rows of a journal: those after `after`, at most `limit`; or the last `tail` of them."""

    after: int = 0
    limit: int | None = None
    tail: int | None = None


# ---- answers


@dataclass(frozen=True, slots=True)
class RunPage(SparseObject):
    """Newest first. `cursor` continues the list; None is the end."""

    runs: tuple[RunState, ...]
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCommit:
    """What a commit made: the run as it is now, the events and patches that are new, and whether all of it was there before."""

    state: RunState
    blackboard: Blackboard
    events: tuple[RunEvent, ...] = ()
    patches: tuple[BlackboardPatch, ...] = ()
    deduped: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutcome:
    """The task as it is now, and the commit that made it so."""

    task: RunTask | None
    commit: RunCommit


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """The step that is to be done next, if there is one, and why."""

    run: RunState
    step: RunStep | None
    why: str
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow(SparseObject):
    """An event that tells of a tool or of money."""

    seq: int
    ts_ms: int
    event_id: str
    type: str
    tool: str | None = None
    call: str | None = None
    failed: bool = False
    cost_micro_usd: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLedger(SparseObject):
    """What a run did to the world and what it cost: its rows, and their sums."""

    run_id: str
    records: tuple[LedgerRow, ...]
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    failures: Natural = 0
    cost_micro_usd: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnvelope(SparseObject):
    """What a stream of several runs says: an event or a patch, and whose."""

    kind: Literal["context_run_event", "blackboard_patch"]
    run_id: str
    workspace: str
    seq: int
    ts_ms: int
    payload: RunEvent | BlackboardPatch
