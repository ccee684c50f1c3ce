"""Bodies and answers of `/context/runs`, as Tandem names them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from commonplace.doors.tandem.shapes import Name, Sent
from commonplace.runs.folder import MOST_AT_ONCE
from commonplace.runs.transitions import MOST_STEPS, MOST_TITLE
from commonplace.service.runs import MOST_OBJECTIVE
from commonplace.values.run import (
    Blackboard,
    BlackboardPatch,
    Checkpoint,
    LedgerRow,
    PatchDraft,
    PatchOp,
    ReplayDrift,
    RunDraft,
    RunEvent,
    RunEventDraft,
    RunState,
    RunStatus,
    RunTask,
    RunTaskDraft,
    StepStatus,
    TaskAction,
    TaskClaim,
    TaskMove,
    TodoItem,
    WorkspaceLease,
)
from commonplace.wire.shapes import MAX_COUNT, Answer, Line

Payload = dict[str, JsonValue]
RunName = Annotated[str, Field(min_length=1, max_length=128)]
Ids = Annotated[list[Name], Field(max_length=200)]
LeaseMs = Annotated[
    int, Field(ge=0, le=86_400_000, description="Between 5 and 300 seconds; what is outside is moved there.")
]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class LeaseBody(Sent):
    workspace_id: Annotated[str, Field(max_length=255)] = ""
    canonical_path: Line = ""
    lease_epoch: Count = 0


class RunBody(Sent):
    objective: Annotated[str, Field(min_length=1, max_length=MOST_OBJECTIVE)]
    run_id: RunName | None = None
    run_type: Name = "interactive"
    workspace: LeaseBody | None = None
    source_client: Name | None = None
    model_provider: Name | None = None
    model_id: Name | None = None
    mcp_servers: Ids = Field(default=[])
    session_id: Name | None = None

    def draft(self) -> RunDraft:
        lease = self.workspace or LeaseBody()
        return RunDraft(
            objective=self.objective,
            run_id=self.run_id,
            session=self.session_id,
            run_type=self.run_type,
            source_client=self.source_client,
            model_provider=self.model_provider,
            model_id=self.model_id,
            mcp_servers=tuple(self.mcp_servers),
            workspace=WorkspaceLease(
                workspace_id=lease.workspace_id,
                canonical_path=lease.canonical_path,
                lease_epoch=lease.lease_epoch,
            ),
        )


class EventBody(Sent):
    type: Name
    status: RunStatus | None = None
    step_id: Name | None = None
    command_id: Name | None = None
    payload: Payload = Field(default={})

    def draft(self) -> RunEventDraft:
        return RunEventDraft(
            type=self.type,
            status=self.status,
            step_id=self.step_id,
            command_id=self.command_id,
            payload=self.payload,
        )


class PatchBody(Sent):
    """A `payload` that is a text is the text of a summary, a fact, a decision or a question."""

    op: PatchOp
    payload: Payload | str
    command_id: Name | None = None

    def draft(self) -> PatchDraft:
        return PatchDraft(op=self.op, payload={"text": self.payload} if isinstance(self.payload, str) else self.payload)


class TaskBody(Sent):
    task_type: Name
    id: Name | None = None
    command_id: Name | None = None
    payload: Payload = Field(default={})
    status: StepStatus | None = None
    workflow_id: Name | None = None
    workflow_node_id: Name | None = None
    parent_task_id: Name | None = None
    depends_on_task_ids: Ids = Field(default=[])
    decision_ids: Ids = Field(default=[])
    artifact_ids: Ids = Field(default=[])
    priority: Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)] = 0
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3

    def draft(self) -> RunTaskDraft:
        return RunTaskDraft(
            task_type=self.task_type,
            id=self.id,
            command_id=self.command_id,
            payload=self.payload,
            status=self.status,
            workflow_id=self.workflow_id,
            workflow_node_id=self.workflow_node_id,
            parent_task_id=self.parent_task_id,
            depends_on_task_ids=tuple(self.depends_on_task_ids),
            decision_ids=tuple(self.decision_ids),
            artifact_ids=tuple(self.artifact_ids),
            priority=self.priority,
            max_attempts=self.max_attempts,
        )


class TasksBody(Sent):
    tasks: Annotated[list[TaskBody], Field(min_length=1, max_length=MOST_AT_ONCE)]


class ClaimBody(Sent):
    agent_id: Name
    command_id: Name | None = None
    task_type: Name | None = None
    workflow_id: Name | None = None
    lease_ms: LeaseMs | None = None

    def value(self) -> TaskClaim:
        return TaskClaim(
            agent_id=self.agent_id,
            command_id=self.command_id,
            task_type=self.task_type,
            workflow_id=self.workflow_id,
            lease_ms=30_000 if self.lease_ms is None else self.lease_ms,
        )


class TransitionBody(Sent):
    action: TaskAction
    command_id: Name | None = None
    expected_task_rev: Count | None = None
    lease_token: Name | None = None
    agent_id: Name | None = None
    status: StepStatus | None = None
    error: Line | None = None
    lease_ms: LeaseMs | None = None

    def move(self) -> TaskMove:
        return TaskMove(
            action=self.action,
            command_id=self.command_id,
            expected_task_rev=self.expected_task_rev,
            lease_token=self.lease_token,
            agent_id=self.agent_id,
            status=self.status,
            error=self.error,
            lease_ms=30_000 if self.lease_ms is None else self.lease_ms,
        )


class CheckpointBody(Sent):
    reason: Line


class DriverBody(Sent):
    dry_run: bool = False


class TodoBody(Sent):
    content: Annotated[str, Field(min_length=1, max_length=MOST_TITLE)]
    id: Name | None = None
    status: Annotated[str, Field(max_length=40)] | None = None


class TodosBody(Sent):
    todos: Annotated[list[TodoBody], Field(max_length=MOST_STEPS)]
    source_session_id: Name | None = None
    source_run_id: Name | None = None
    replace: bool = True

    def items(self) -> list[TodoItem]:
        return [TodoItem(content=todo.content, id=todo.id, status=todo.status) for todo in self.todos]


class LeaseCheckBody(Sent):
    current_path: Line
    phase: Annotated[str, Field(max_length=255)] = ""
    step_id: Name | None = None


# ---- out


class RunsListAnswer(Answer):
    runs: list[RunState]


class RunOnlyAnswer(Answer):
    run: RunState


class RunChangedAnswer(Answer):
    ok: bool = True
    run: RunState


class EventsAnswer(Answer):
    events: list[RunEvent]


class EventKeptAnswer(Answer):
    ok: bool = True
    event: RunEvent


class BlackboardAnswer(Answer):
    blackboard: Blackboard


class PatchesAnswer(Answer):
    patches: list[BlackboardPatch]


class PatchKeptAnswer(Answer):
    ok: bool = True
    deduped: bool = False
    patch: BlackboardPatch | None = None
    blackboard: Blackboard


class RunTasksAnswer(Answer):
    tasks: list[RunTask]


class TasksMadeAnswer(Answer):
    ok: bool = True
    tasks: list[RunTask]
    patches: list[BlackboardPatch]
    blackboard: Blackboard


class TaskChangedAnswer(Answer):
    ok: bool = True
    deduped: bool = False
    task: RunTask | None = None
    patch: BlackboardPatch | None = None
    blackboard: Blackboard


class CheckpointMadeAnswer(Answer):
    ok: bool = True
    checkpoint: Checkpoint


class CheckpointAnswer(Answer):
    checkpoint: Checkpoint | None = None


class ReplayAnswer(Answer):
    ok: bool = True
    run_id: str
    from_checkpoint: bool
    checkpoint_seq: int | None = None
    upto_seq: int | None = None
    events_applied: int
    patches_applied: int
    replay: RunState
    replay_blackboard: Blackboard
    persisted: RunState
    persisted_blackboard: Blackboard
    drift: ReplayDrift


class NextStepAnswer(Answer):
    ok: bool = True
    dry_run: bool
    run_id: str
    selected_step_id: str | None = None
    target_status: RunStatus
    why_next_step: str
    run: RunState


class LeaseCheckAnswer(Answer):
    ok: bool
    mismatch: bool
    status: RunStatus


class LedgerSummary(Answer):
    count: int
    tools: dict[str, int]
    failures: int
    cost_micro_usd: int


class LedgerAnswer(Answer):
    run_id: str
    records: list[LedgerRow]
    summary: LedgerSummary
