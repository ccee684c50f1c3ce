"""
A run made again from its journal: from its beginning or from its latest checkpoint, to its end or to any event before.

Which patches a checkpoint has is told by `seq`, never by time: one that was made in the same millisecond is neither lost nor applied twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.runs.blackboard import patched
from commonplace.runs.folder import RunFolder
from commonplace.runs.transitions import advanced
from commonplace.values.run import (
    Blackboard,
    BlackboardPatch,
    Checkpoint,
    ReplayDrift,
    RunEvent,
    RunReplay,
    RunState,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Base:
    state: RunState
    board: Blackboard
    checkpoint: int | None


def replay(folder: RunFolder, *, upto_seq: int | None = None, from_checkpoint: bool = True) -> RunReplay:
    """Raises RunNotFound, RunDamaged."""
    persisted, persisted_board, events, patches = folder.snapshot()
    base = _base(folder, upto_seq if from_checkpoint else -1)
    state, applied = _state(base.state, events, upto_seq)
    board, patch_count = _board(base.board, patches, upto_seq)
    board = replace(board, tasks=state.tasks)
    is_whole = upto_seq is None or upto_seq >= persisted.last_event_seq
    return RunReplay(
        run_id=persisted.run_id,
        from_checkpoint=base.checkpoint is not None,
        checkpoint_seq=base.checkpoint,
        upto_seq=upto_seq,
        events_applied=applied,
        patches_applied=patch_count,
        replay=state,
        replay_blackboard=board,
        persisted=persisted,
        persisted_blackboard=persisted_board,
        drift=drift_of(state, board, persisted, persisted_board) if is_whole else ReplayDrift(),
    )


def _base(folder: RunFolder, upto_seq: int | None) -> _Base:
    """The latest checkpoint that can be read and is not past `upto_seq`, else the run as it was made."""
    checkpoint: Checkpoint | None = None
    for seq in folder.checkpoint_seqs():
        if upto_seq is None or seq <= upto_seq:
            checkpoint = folder.read_checkpoint(seq)
            if checkpoint is not None:
                break
    if checkpoint is None:
        return _Base(state=folder.birth(), board=Blackboard(), checkpoint=None)
    return _Base(state=checkpoint.run_state, board=checkpoint.blackboard, checkpoint=checkpoint.seq)


def _state(state: RunState, events: Sequence[RunEvent], upto_seq: int | None) -> tuple[RunState, int]:
    count = 0
    for event in events:
        if event.seq > state.last_event_seq and (upto_seq is None or event.seq <= upto_seq):
            state = advanced(state, event)
            count += 1
    return state, count


def _board(board: Blackboard, patches: Sequence[BlackboardPatch], upto_seq: int | None) -> tuple[Blackboard, int]:
    count = 0
    for patch in patches:
        if patch.seq > board.revision and (upto_seq is None or patch.seq <= upto_seq):
            board = patched(board, patch)
            count += 1
    return board, count


def drift_of(state: RunState, board: Blackboard, persisted: RunState, persisted_board: Blackboard) -> ReplayDrift:
    """Where what was made again differs from what is kept."""
    return ReplayDrift(
        mismatch=(state, board) != (persisted, persisted_board),
        status_mismatch=state.status != persisted.status,
        why_next_step_mismatch=state.why_next_step != persisted.why_next_step,
        step_count_mismatch=len(state.steps) != len(persisted.steps),
        step_status_mismatch=[step.status for step in state.steps] != [step.status for step in persisted.steps],
        blackboard_revision_mismatch=board.revision != persisted_board.revision,
        blackboard_task_count_mismatch=len(board.tasks) != len(persisted_board.tasks),
        blackboard_task_status_mismatch=_statuses(board) != _statuses(persisted_board),
        state_mismatch=state != persisted,
        blackboard_mismatch=board != persisted_board,
    )


def _statuses(board: Blackboard) -> dict[str, str]:
    return {task.id: task.status for task in board.tasks}
