"""Which task a claim takes, and what may become of a task."""

from dataclasses import replace

import pytest

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.runs.tasks import chosen_task, moved_task, new_task
from commonplace.values.run import RunTask, RunTaskDraft, StepStatus, TaskAction, TaskClaim, TaskMove
from commonplace.values.run_errors import (
    TaskLeaseInvalid,
    TaskLeaseRequired,
    TaskNotFound,
    TaskRevisionMismatch,
    TaskTransitionInvalid,
)

NOW = 1_000_000
STATUSES: tuple[StepStatus, ...] = ("pending", "runnable", "in_progress", "blocked", "done", "failed")


def task(id: str = "t", /, **fields: object) -> RunTask:
    return replace(RunTask(id=id, task_type="t", status="runnable"), **fields)  # pyright: ignore[reportArgumentType] - fields of a task


def held(**fields: object) -> RunTask:
    lease = {"lease_owner": "a", "lease_token": "token", "lease_expires_at_ms": NOW + 1}
    return task(**{"status": "in_progress", **lease, **fields})


def changes(tasks: list[RunTask], move: TaskMove) -> dict[str, object]:
    payload = moved_task(tasks, "t", move, NOW).payload["changes"]
    assert isinstance(payload, dict)
    return dict(payload)


def claimed(tasks: list[RunTask], **fields: object) -> str | None:
    return chosen_task(tasks, TaskClaim(agent_id="a", **fields), NOW, "new").task_id  # pyright: ignore[reportArgumentType] - as above


def test_the_most_urgent_is_taken_first_and_of_these_the_oldest() -> None:
    tasks = [task("late", created_ts=2), task("early", created_ts=1), task("urgent", created_ts=3, priority=1)]

    assert claimed(tasks) == "urgent"
    assert claimed(tasks[:2]) == "early"


def test_a_task_waits_until_all_that_it_depends_on_is_done() -> None:
    first, second = task("first"), task("second", depends_on_task_ids=("first",), priority=9)

    assert claimed([first, second]) == "first"
    assert claimed([replace(first, status="done"), second]) == "second"
    assert claimed([replace(first, status="failed"), second]) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "blocked"},
        {"status": "done"},
        {"status": "failed"},
        {"attempt": 3},
        {"next_retry_at_ms": NOW + 1},
        {"task_type": "other"},
        {"workflow_id": "other"},
    ],
)
def test_what_does_not_wait_is_not_taken(fields: dict[str, object]) -> None:
    assert claimed([task(**fields)], task_type="t", workflow_id=None if "workflow_id" not in fields else "w") is None


def test_a_lease_that_is_over_is_requeued_first_and_the_task_taken_again() -> None:
    stale = held(lease_expires_at_ms=NOW)

    choice = chosen_task([stale], TaskClaim(agent_id="b"), NOW, "new")

    assert [draft.type for draft in choice.drafts] == ["context.task.requeued", "context.task.started"]
    assert choice.task_id == "t"
    last = choice.drafts[-1].payload["changes"]
    assert isinstance(last, dict)
    assert (last["lease_token"], last["lease_owner"], last["task_rev"]) == ("new", "b", 3)
    assert claimed([held()]) is None


@pytest.mark.parametrize(("lease", "expected"), [(0, 5_000), (30_000, 30_000), (999_999, 300_000)])
def test_a_lease_lasts_between_5_and_300_seconds(lease: int, expected: int) -> None:
    choice = chosen_task([task()], TaskClaim(agent_id="a", lease_ms=lease), NOW, "new")
    change = choice.drafts[-1].payload["changes"]

    assert isinstance(change, dict)
    assert change["lease_expires_at_ms"] == NOW + expected
    assert changes([held()], TaskMove(action="heartbeat", lease_token="token", lease_ms=lease))[
        "lease_expires_at_ms"
    ] == (NOW + expected)


ALLOWED: dict[StepStatus, set[StepStatus]] = {
    "pending": {"runnable", "blocked"},
    "runnable": {"blocked"},
    "in_progress": {"blocked", "done", "failed", "runnable"},
    "blocked": {"runnable", "failed"},
    "failed": {"runnable"},
    "done": set(),
}


@pytest.mark.parametrize("source", STATUSES)
@pytest.mark.parametrize("target", STATUSES)
def test_a_status_goes_where_it_may_and_nowhere_else(source: StepStatus, target: StepStatus) -> None:
    move = TaskMove(action="status", status=target)
    if target in ALLOWED[source]:
        assert changes([task(status=source)], move)["status"] == target
    else:
        with pytest.raises(TaskTransitionInvalid):
            changes([task(status=source)], move)


@pytest.mark.parametrize(
    ("action", "sources", "target"),
    [
        ("complete", {"in_progress"}, "done"),
        ("fail", {"in_progress", "blocked"}, "failed"),
        ("release", {"in_progress", "blocked"}, "runnable"),
        ("retry", {"failed", "blocked"}, "runnable"),
        ("heartbeat", {"in_progress"}, None),
    ],
)
def test_an_action_needs_its_status(action: TaskAction, sources: set[StepStatus], target: StepStatus | None) -> None:
    for source in STATUSES:
        if source in sources:
            assert changes([task(status=source)], TaskMove(action=action)).get("status") == target
        else:
            with pytest.raises(TaskTransitionInvalid):
                changes([task(status=source)], TaskMove(action=action))


def test_whoever_does_not_show_the_lease_changes_nothing() -> None:
    with pytest.raises(TaskLeaseRequired):
        changes([held()], TaskMove(action="complete"))
    with pytest.raises(TaskLeaseInvalid):
        changes([held()], TaskMove(action="complete", lease_token="another's"))
    with pytest.raises(TaskLeaseInvalid):
        changes([held(lease_expires_at_ms=NOW)], TaskMove(action="heartbeat", lease_token="token"))
    assert changes([held()], TaskMove(action="complete", lease_token="token"))["lease_token"] is None


def test_a_revision_that_is_not_the_one_seen_is_refused_and_every_change_raises_it() -> None:
    with pytest.raises(TaskRevisionMismatch) as refused:
        changes([task(task_rev=4, status="blocked")], TaskMove(action="release", expected_task_rev=3))

    assert refused.value.details == {"task_rev": 4}
    assert (
        changes([task(task_rev=4, status="blocked")], TaskMove(action="release", expected_task_rev=4))["task_rev"] == 5
    )


def test_a_failure_raises_the_attempt_and_after_the_last_there_is_no_retry() -> None:
    failed = changes([held(attempt=2)], TaskMove(action="fail", lease_token="token", error="It broke"))

    assert (failed["attempt"], failed["last_error"], failed["lease_owner"]) == (3, "It broke", None)
    with pytest.raises(TaskTransitionInvalid):
        changes([task(status="failed", attempt=3)], TaskMove(action="retry"))


def test_a_task_that_is_not_there_or_a_status_that_is_not_said_is_told() -> None:
    with pytest.raises(TaskNotFound):
        moved_task([], "t", TaskMove(action="complete"), NOW)
    with pytest.raises(InvalidInput):
        changes([task()], TaskMove(action="status"))


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        (RunTaskDraft(task_type="t", id="t"), Conflict),
        (RunTaskDraft(task_type="t", depends_on_task_ids=("nobody",)), InvalidInput),
        (RunTaskDraft(task_type="t", status="done"), InvalidInput),
    ],
)
def test_a_task_that_cannot_be_is_refused(draft: RunTaskDraft, error: type[CommonplaceError]) -> None:
    with pytest.raises(error):
        new_task([task()], draft, NOW, "new")
