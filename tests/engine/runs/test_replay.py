"""A run made again from its journal is the run, whatever happened in it and whatever was left of its other files."""

import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from commonplace.errors import CommonplaceError
from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import BLACKBOARD, EVENTS, STATE, RunFolder, these
from commonplace.runs.replay import replay
from commonplace.runs.tasks import chosen_task, moved_task, new_task
from commonplace.runs.transitions import status_after
from commonplace.values.moment import to_ms
from commonplace.values.run import (
    RUN_STATUSES,
    STEP_STATUSES,
    Blackboard,
    PatchDraft,
    PatchOp,
    RunDraft,
    RunEventDraft,
    RunState,
    RunTaskDraft,
    TaskAction,
    TaskClaim,
    TaskMove,
)
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.wire.shapes import to_json

TYPES = (
    "session_run_started session_run_finished planning_started plan_approved run_paused run_resumed run_cancelled "
    "task_retry_requested revision_requested step_started step_completed step_failed todo_synced note"
).split()
STEP_IDS = st.sampled_from(["step-1", "step-2", "session-run", "nowhere", None])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "why_next_step": JSON,
        "error": JSON,
        "feedback": st.text(max_size=5),
        "step_status": st.sampled_from([*STEP_STATUSES, "odd"]),
        "steps": st.lists(
            st.text(max_size=5) | st.fixed_dictionaries({"title": st.text(max_size=5), "status": JSON}), max_size=3
        ),
        "replace": st.booleans(),
        "more": JSON,
    },
)
OPS: tuple[PatchOp, ...] = get_args(PatchOp)[:6]
NAMES = {"add_artifact": {"path": "artifact://x", "artifact_type": "text/plain"}}


class Journals(RuleBasedStateMachine):
    """Commits, checkpoints and accidents. `past` is what the run was after each event."""

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.archive = RunArchive(self.home)
        draft = RunDraft(run_id="r", objective="One\n- Two\n3. Three")
        self.past: list[tuple[RunState, Blackboard]] = [
            (self.archive.create(DEFAULT_TENANT, "ana", draft, self.now), Blackboard())
        ]

    def teardown(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def folder(self) -> RunFolder:
        return self.archive.folder(DEFAULT_TENANT, "r")

    def _keep(self, *drafts: RunEventDraft) -> None:
        for draft in drafts:
            commit = self.folder.commit(these([draft]), self.now)
            if not commit.deduped:
                self.past.append((commit.state, commit.blackboard))

    @rule(
        kind=st.sampled_from(TYPES),
        status=st.sampled_from([*RUN_STATUSES, None]),
        step=STEP_IDS,
        payload=PAYLOADS,
        command=st.sampled_from([None, None, "a", "b"]),
    )
    def event(
        self, kind: str, status: str | None, step: str | None, payload: dict[str, object], command: str | None
    ) -> None:
        draft = RunEventDraft(type=kind, status=status, step_id=step, command_id=command, payload=payload)  # pyright: ignore[reportArgumentType] - made of those above
        self._keep(draft)

    @rule(op=st.sampled_from(OPS), text=st.text(min_size=1, max_size=9).filter(str.strip))
    def patch(self, op: PatchOp, text: str) -> None:
        patch = PatchDraft(op=op, payload={**NAMES.get(op, {"text": text})})
        self._keep(RunEventDraft(type="blackboard_patched", patch=patch))

    @rule(priority=st.integers(-2, 2), attempts=st.integers(1, 2))
    def task(self, priority: int, attempts: int) -> None:
        tasks = self.past[-1][0].tasks
        depends = tuple(task.id for task in tasks[-1:]) if priority == 0 else ()
        draft = RunTaskDraft(task_type="t", priority=priority, max_attempts=attempts, depends_on_task_ids=depends)
        self._keep(new_task(tasks, draft, to_ms(self.now), f"t{len(tasks)}"))

    @rule()
    def claim(self) -> None:
        choice = chosen_task(self.past[-1][0].tasks, TaskClaim(agent_id="a"), to_ms(self.now), "token")
        self._keep(*choice.drafts)

    @precondition(lambda self: bool(self.past[-1][0].tasks))
    @rule(
        data=st.data(),
        action=st.sampled_from(get_args(TaskAction)),
        status=st.sampled_from(STEP_STATUSES),
        token=st.sampled_from(["token", None]),
    )
    def move(self, data: st.DataObject, action: TaskAction, status: str, token: str | None) -> None:
        tasks = self.past[-1][0].tasks
        task = data.draw(st.sampled_from(tasks))
        before = to_json(self.past[-1][0])
        move = TaskMove(action=action, status=status, lease_token=token, error="e")  # pyright: ignore[reportArgumentType] - one of those above
        try:
            draft = moved_task(tasks, task.id, move, to_ms(self.now))
        except CommonplaceError:
            assert to_json(self.past[-1][0]) == before
            return
        self._keep(draft)
        moved = next(other for other in self.past[-1][0].tasks if other.id == task.id)
        assert moved.task_rev == task.task_rev + 1

    @rule(seconds=st.integers(0, 40))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def checkpoint(self) -> None:
        self.folder.checkpoint("because", self.now)

    @rule(name=st.sampled_from([None, STATE, BLACKBOARD]))
    def begin_anew(self, name: str | None) -> None:
        """Another process, perhaps after a loss of power."""
        if name is not None:
            (self.folder.path / name).write_bytes(b"")
        self.archive = RunArchive(self.home)

    @precondition(lambda self: len(self.past) > 1)
    @rule(part=st.floats(0, 0.99))
    def tear(self, part: float) -> None:
        path = self.folder.path / EVENTS
        data = path.read_bytes()
        begin = data.rfind(b"\n", 0, len(data) - 1) + 1
        path.write_bytes(data[: begin + int((len(data) - 1 - begin) * part)])
        self.past.pop()
        for seq in self.folder.checkpoint_seqs():
            if seq >= len(self.past):
                (self.folder.path / "checkpoints" / f"{seq:020}.json").unlink()
        self.archive = RunArchive(self.home)

    @invariant()
    def the_replay_is_the_run(self) -> None:
        for from_checkpoint in (True, False):
            result = replay(self.folder, from_checkpoint=from_checkpoint)
            assert not result.drift.mismatch, result.drift
            assert (result.replay, result.replay_blackboard) == self.past[-1]

    @invariant()
    def every_moment_of_the_past_can_be_had_again(self) -> None:
        seq = len(self.past) // 2
        result = replay(self.folder, upto_seq=seq)
        assert result.replay == self.past[seq][0]
        assert replace(result.replay_blackboard, tasks=()) == replace(self.past[seq][1], tasks=())
        assert not result.drift.mismatch


Journals.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestJournals = Journals.TestCase


def test_a_checkpoint_and_a_patch_of_the_same_millisecond_are_told_apart_by_their_seq(
    folder: RunFolder, now: datetime
) -> None:
    def fact(text: str) -> RunEventDraft:
        return RunEventDraft(type="note", patch=PatchDraft(op="add_fact", payload={"text": text}))

    folder.commit(these([fact("Before.")]), now)
    folder.checkpoint("now", now)
    folder.commit(these([fact("After.")]), now)

    result = replay(folder)

    assert result.from_checkpoint
    assert (result.checkpoint_seq, result.events_applied, result.patches_applied) == (1, 1, 1)
    assert [item.text for item in result.replay_blackboard.facts] == ["Before.", "After."]
    assert not result.drift.mismatch


def test_a_checkpoint_that_cannot_be_read_is_passed_over(folder: RunFolder, now: datetime) -> None:
    folder.commit(these([RunEventDraft(type="session_run_started")]), now)
    checkpoint = folder.checkpoint("now", now)
    (folder.path / "checkpoints" / f"{checkpoint.seq:020}.json").write_bytes(b"{")

    result = replay(folder)

    assert not result.from_checkpoint
    assert not result.drift.mismatch


def test_a_state_that_somebody_changed_is_drift_and_the_flags_say_where(folder: RunFolder, now: datetime) -> None:
    folder.commit(these([RunEventDraft(type="planning_started")]), now)
    state = folder.state()
    changed = replace(state, status="completed", steps=(), why_next_step="Nobody knows")
    (folder.path / STATE).write_bytes(to_json(changed))

    drift = replay(RunFolder(folder.path)).drift

    assert drift.mismatch
    assert drift.status_mismatch
    assert drift.why_next_step_mismatch
    assert drift.step_count_mismatch
    assert not drift.blackboard_revision_mismatch
    assert not drift.blackboard_task_count_mismatch


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("session_run_started", "failed", "running"),
        ("session_run_finished", None, "completed"),
        ("session_run_finished", "failed", "failed"),
        ("planning_started", "planning", "awaiting_approval"),
        ("plan_approved", None, "running"),
        ("run_paused", None, "paused"),
        ("run_resumed", None, "running"),
        ("run_cancelled", None, "cancelled"),
        ("task_retry_requested", None, "running"),
        ("revision_requested", None, "blocked"),
        ("step_completed", "running", "running"),
        ("anything", None, "queued"),
        ("anything", "blocked", "blocked"),
    ],
)
def test_a_type_of_event_says_what_the_run_comes_to_be(
    folder: RunFolder,
    now: datetime,
    kind: str,
    given: str | None,
    expected: str,
) -> None:
    draft = RunEventDraft(type=kind, status=given)  # pyright: ignore[reportArgumentType] - one of those above

    assert status_after(folder.state(), draft) == expected
    assert folder.commit(these([draft]), now).state.status == expected


def test_a_plan_goes_from_its_lines_to_steps_and_the_first_open_one_is_begun(
    archive: RunArchive, now: datetime
) -> None:
    archive.create(DEFAULT_TENANT, "ana", RunDraft(run_id="p", objective="- Read\n- Write"), now)
    folder = archive.folder(DEFAULT_TENANT, "p")

    folder.commit(these([RunEventDraft(type="planning_started"), RunEventDraft(type="plan_approved")]), now)
    folder.commit(these([RunEventDraft(type="step_completed", step_id="step-1")]), now)
    folder.commit(these([RunEventDraft(type="step_failed", step_id="step-2", payload={"error": "No ink"})]), now)
    failed = folder.state()
    folder.commit(these([RunEventDraft(type="task_retry_requested", step_id="step-2")]), now)
    retried = folder.state()

    assert [(step.title, step.status) for step in failed.steps] == [("Read", "done"), ("Write", "failed")]
    assert failed.last_error == "No ink"
    assert (retried.steps[1].status, retried.status, retried.last_error) == ("runnable", "running", None)


def test_the_end_of_a_run_has_a_time_and_going_on_takes_it_back(folder: RunFolder, now: datetime) -> None:
    later = now + timedelta(seconds=5)
    folder.commit(these([RunEventDraft(type="session_run_started")]), now)
    folder.commit(these([RunEventDraft(type="session_run_finished")]), later)
    ended = folder.state()
    folder.commit(these([RunEventDraft(type="memory_learned")]), later + timedelta(seconds=5))
    afterwards = folder.state()
    folder.commit(these([RunEventDraft(type="run_resumed")]), later)

    assert (ended.started_at_ms, ended.ended_at_ms) == (to_ms(now), to_ms(later))
    assert afterwards.ended_at_ms == to_ms(later)
    assert folder.state().ended_at_ms is None
