"""Context runs at the governed door: journal, blackboard, tasks with leases, checkpoints, replay, and streams."""

import asyncio
import base64
import json
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import anyio
import pytest

from commonplace.service.run_streams import FollowedRuns, RunCursor
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.testing.governed import Door
from commonplace.values.run import RunEnvelope, RunEventDraft

pytestmark = pytest.mark.anyio


async def begun(door: Door, **fields: Any) -> str:
    body = {"objective": "Read\nWrite", **fields}
    return (await door.done("POST", "/context/runs", json=body))["run"]["run_id"]


async def event(door: Door, run: str, type: str, **fields: Any) -> Any:  # noqa: A002 - as events call it
    return (await door.done("POST", f"/context/runs/{run}/events", json={"type": type, **fields}))["event"]


async def task(door: Door, run: str, **fields: Any) -> Any:
    body = {"tasks": [{"task_type": "t", **fields}]}
    return (await door.done("POST", f"/context/runs/{run}/tasks", json=body))["tasks"][0]


async def test_a_run_begins_queued_and_its_state_has_the_fields_that_clients_know(door: Door) -> None:
    lease = {"workspace_id": "web", "canonical_path": "/src/web", "lease_epoch": 3}
    run = await begun(door, workspace=lease, modelProvider="anthropic", mcp_servers=["files"], run_type="automation")

    state = (await door.done("GET", f"/context/runs/{run}"))["run"]

    assert (state["status"], state["revision"], state["last_event_seq"]) == ("queued", 1, 0)
    assert (state["workspace"], state["model_provider"], state["mcp_servers"]) == (lease, "anthropic", ["files"])
    assert state["created_at_ms"] == state["updated_at_ms"]
    assert "started_at_ms" not in state
    listed = await door.done("GET", "/context/runs", params={"workspace": "web", "run_type": "automation"})
    assert [row["run_id"] for row in listed["runs"]] == [run]
    assert (await door.done("GET", "/context/runs", params={"workspace": "other"}))["runs"] == []


async def test_events_are_kept_in_order_and_told_after_any_of_them(door: Door) -> None:
    run = await begun(door)
    for number in range(5):
        await event(door, run, "note", payload={"n": number, "none": None})

    later = await door.done("GET", f"/context/runs/{run}/events", params={"since_seq": 3})
    last = await door.done("GET", f"/context/runs/{run}/events", params={"tail": 1})

    assert [row["seq"] for row in later["events"]] == [4, 5]
    assert last["events"][0]["payload"] == {"n": 4, "none": None}
    assert last["events"][0]["revision"] == 6
    assert await door.refused("GET", f"/context/runs/{run}/events", params={"since": 3}) == (400, "invalid_input")


async def test_the_same_command_is_answered_with_the_event_of_the_first_time(door: Door) -> None:
    run = await begun(door)

    first = await event(door, run, "note", command_id="c", payload={"n": 1})
    again = await event(door, run, "note", command_id="c", payload={"n": 2})

    assert first == again


async def test_a_plan_is_made_approved_and_driven_step_by_step(door: Door) -> None:
    run = await begun(door)

    planned = await event(door, run, "planning_started", status="planning")
    looked = await door.done("POST", f"/context/runs/{run}/driver/next", json={"dry_run": True})
    await event(door, run, "plan_approved")
    await event(door, run, "step_completed", step_id="step-1")
    chosen = await door.done("POST", f"/context/runs/{run}/driver/next")
    finished = await door.done("POST", f"/context/runs/{run}/driver/next")

    assert planned["status"] == "awaiting_approval"
    assert (looked["dry_run"], looked["selected_step_id"], looked["run"]["last_event_seq"]) == (True, "step-1", 1)
    assert (chosen["selected_step_id"], chosen["target_status"]) == ("step-2", "running")
    assert [step["status"] for step in chosen["run"]["steps"]] == ["done", "in_progress"]
    assert "selected_step_id" not in finished


async def test_todos_become_steps_in_place_of_those_there_or_beside_them(door: Door) -> None:
    run = await begun(door)
    todos = [{"id": "a", "content": "Read", "status": "completed"}, {"content": "Write", "status": "odd"}]

    first = await door.done("POST", f"/context/runs/{run}/todos/sync", json={"todos": todos})
    more = {"todos": [{"id": "a", "content": "Read", "status": "in_progress"}, {"id": "c", "content": "Sleep"}]}
    beside = await door.done("POST", f"/context/runs/{run}/todos/sync", json={**more, "replace": False})

    assert [(step["step_id"], step["status"]) for step in first["run"]["steps"]] == [
        ("a", "done"),
        ("todo-2", "pending"),
    ]
    assert [step["step_id"] for step in beside["run"]["steps"]] == ["a", "todo-2", "c"]
    assert beside["run"]["steps"][0]["status"] == "in_progress"


async def test_the_blackboard_takes_facts_decisions_questions_artifacts_and_summaries(door: Door) -> None:
    run = await begun(door)
    patches: list[dict[str, Any]] = [
        {"op": "add_fact", "payload": {"text": "It rains", "step_id": "s"}},
        {"op": "add_decision", "payload": {"text": "Stay in"}},
        {"op": "add_open_question", "payload": "Until when?"},
        {"op": "add_artifact", "payload": {"path": "artifact://x", "artifact_type": "text/plain"}},
        {"op": "set_rolling_summary", "payload": "Wet"},
        {"op": "set_latest_context_pack", "payload": {"text": "Pack"}},
    ]
    for patch in patches:
        answer = await door.done("POST", f"/context/runs/{run}/blackboard/patches", json=patch)
        assert answer["patch"]["seq"] == answer["patch"]["source_event_seq"] == answer["blackboard"]["revision"]

    board = (await door.done("GET", f"/context/runs/{run}/blackboard"))["blackboard"]
    rows = await door.done("GET", f"/context/runs/{run}/blackboard/patches", params={"since_seq": 4})

    assert [board[name][0]["text"] for name in ("facts", "decisions", "open_questions")] == [
        "It rains",
        "Stay in",
        "Until when?",
    ]
    assert board["artifacts"][0]["path"] == "artifact://x"
    assert board["summaries"] == {"rolling": "Wet", "latest_context_pack": "Pack"}
    assert [patch["op"] for patch in rows["patches"]] == ["set_rolling_summary", "set_latest_context_pack"]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("events", {"type": "context.task.started"}, "TASK_EVENT_APPEND_DISABLED"),
        ("blackboard/patches", {"op": "add_task", "payload": {}}, "TASK_PATCH_OP_DISABLED"),
        ("blackboard/patches", {"op": "update_task_lease", "payload": {}}, "TASK_PATCH_OP_DISABLED"),
        ("blackboard/patches", {"op": "add_fact", "payload": {}}, "invalid_input"),
        ("blackboard/patches", {"op": "burn", "payload": {}}, "invalid_input"),
        ("events", {"type": ""}, "invalid_input"),
        ("events", {"type": "note", "status": "odd"}, "invalid_input"),
        ("events", {"type": "note", "payload": [1]}, "invalid_input"),
        ("events", {"type": "note", "payload": {"blackboard_patch": {}}}, "invalid_input"),
        ("tasks", {"tasks": []}, "invalid_input"),
        ("tasks/claim", {}, "invalid_input"),
        ("tasks/t/transition", {"action": "burn"}, "invalid_input"),
        ("lease/validate", {}, "invalid_input"),
    ],
)
async def test_what_does_not_belong_is_refused_and_nothing_is_kept(
    door: Door, path: str, body: dict[str, Any], code: str
) -> None:
    run = await begun(door)

    assert await door.refused("POST", f"/context/runs/{run}/{path}", json=body) == (400, code)

    assert (await door.done("GET", f"/context/runs/{run}"))["run"]["last_event_seq"] == 0


@pytest.mark.parametrize("body", [{}, {"objective": " "}, {"objective": "x", "run_id": "../x"}, {"objective": 1}])
async def test_a_run_that_cannot_be_is_refused(door: Door, body: dict[str, Any]) -> None:
    assert await door.refused("POST", "/context/runs", json=body) == (400, "invalid_input")


async def test_a_name_that_is_taken_is_a_conflict_and_a_strange_one_is_not_found(door: Door) -> None:
    await begun(door, run_id="mine")

    assert await door.refused("POST", "/context/runs", json={"objective": "x", "run_id": "mine"}) == (409, "conflict")
    for name in ("nobody", "%00", "x" * 128):
        assert await door.refused("GET", f"/context/runs/{name}") == (404, "run_not_found")


async def test_a_task_is_taken_kept_up_and_completed_by_the_one_who_holds_its_lease(
    door: Door, clock: FakeClock
) -> None:
    run = await begun(door)
    await task(door, run, id="low")
    await task(door, run, id="high", priority=5)
    path = f"/context/runs/{run}/tasks"

    taken = (await door.done("POST", f"{path}/claim", json={"agent_id": "a"}))["task"]
    move = f"{path}/high/transition"
    required = await door.refused("POST", move, json={"action": "complete"})
    invalid = await door.refused("POST", move, json={"action": "complete", "lease_token": "x"})
    stale = await door.refused("POST", move, json={"action": "complete", "expected_task_rev": 1})
    wrong = await door.refused("POST", f"{path}/low/transition", json={"action": "complete"})
    nobody = await door.refused("POST", f"{path}/no/transition", json={"action": "complete"})
    clock.advance(timedelta(seconds=20))
    kept = await door.done("POST", move, json={"action": "heartbeat", "lease_token": taken["lease_token"]})
    clock.advance(timedelta(seconds=20))
    ended = await door.done(
        "POST", move, json={"action": "complete", "lease_token": taken["lease_token"], "command_id": "c"}
    )
    again = await door.done("POST", move, json={"action": "complete", "command_id": "c"})

    assert (taken["id"], taken["status"], taken["lease_owner"], taken["task_rev"]) == ("high", "in_progress", "a", 2)
    assert (required, invalid) == ((409, "TASK_LEASE_REQUIRED"), (409, "TASK_LEASE_INVALID"))
    assert (stale, wrong) == ((409, "TASK_REV_MISMATCH"), (409, "TASK_TRANSITION_INVALID"))
    assert nobody == (404, "task_not_found")
    assert kept["task"]["lease_expires_at_ms"] == taken["lease_expires_at_ms"] + 20_000
    assert (ended["task"]["status"], ended["task"]["task_rev"], ended["patch"]["op"]) == (
        "done",
        4,
        "update_task_state",
    )
    assert again["deduped"]
    assert again["task"] == ended["task"]
    types = [row["type"] for row in (await door.done("GET", f"/context/runs/{run}/events"))["events"]]
    assert types == [f"context.task.{name}" for name in "created created started heartbeat completed".split()]


async def test_a_lease_that_is_over_goes_to_the_next_who_asks(door: Door, clock: FakeClock) -> None:
    run = await begun(door)
    await task(door, run, id="only")
    path = f"/context/runs/{run}/tasks"
    first = (await door.done("POST", f"{path}/claim", json={"agent_id": "a", "lease_ms": 1}))["task"]
    nothing = await door.done("POST", f"{path}/claim", json={"agent_id": "b"})
    clock.advance(timedelta(seconds=5))

    second = (await door.done("POST", f"{path}/claim", json={"agent_id": "b", "command_id": "c"}))["task"]
    repeated = await door.done("POST", f"{path}/claim", json={"agent_id": "b", "command_id": "c"})
    late = await door.refused(
        "POST", f"{path}/only/transition", json={"action": "complete", "lease_token": first["lease_token"]}
    )

    assert "task" not in nothing
    assert (second["lease_owner"], second["lease_token"] != first["lease_token"]) == ("b", True)
    assert (repeated["deduped"], repeated["task"]) == (True, second)
    assert late == (409, "TASK_LEASE_INVALID")


async def test_tasks_are_made_all_or_none_and_a_repeated_command_makes_none(door: Door) -> None:
    run = await begun(door)
    path = f"/context/runs/{run}/tasks"
    tasks = [{"task_type": "t", "id": "a", "command_id": "c"}, {"task_type": "t", "depends_on_task_ids": ["a"]}]

    made = await door.done("POST", path, json={"tasks": tasks})
    again = await door.done("POST", path, json={"tasks": tasks[:1]})
    refused = await door.refused("POST", path, json={"tasks": [{"task_type": "t"}, {"task_type": "t", "id": "a"}]})

    assert made["tasks"][0]["id"] == "a"
    assert len(made["patches"]) == 2
    assert (again["tasks"], again["patches"]) == ([], [])
    assert refused == (409, "conflict")
    assert len((await door.done("GET", path))["tasks"]) == 2


async def test_a_checkpoint_is_kept_by_its_seq_and_a_replay_begins_there(door: Door) -> None:
    run = await begun(door)
    path = f"/context/runs/{run}"
    none = await door.done("GET", f"{path}/checkpoints/latest")
    await event(door, run, "session_run_started")
    made = (await door.done("POST", f"{path}/checkpoints", json={"reason": "halfway"}))["checkpoint"]
    patch = {"op": "add_fact", "payload": {"text": "In the same millisecond"}}
    await door.done("POST", f"{path}/blackboard/patches", json=patch)

    latest = (await door.done("GET", f"{path}/checkpoints/latest"))["checkpoint"]
    short = await door.done("GET", f"{path}/replay")
    whole = await door.done("GET", f"{path}/replay", params={"from_checkpoint": "false"})
    past = await door.done("GET", f"{path}/replay", params={"upto_seq": 0})

    assert none == {"checkpoint": None}
    assert latest["checkpoint_id"] == made["checkpoint_id"]
    assert (latest["seq"], latest["reason"], latest["run_state"]["status"]) == (1, "halfway", "running")
    assert (short["from_checkpoint"], short["events_applied"], whole["events_applied"]) == (True, 1, 2)
    for answer in (short, whole):
        assert answer["drift"]["mismatch"] is False
        assert answer["replay"] == answer["persisted"]
        assert answer["replay_blackboard"]["facts"][0]["text"] == "In the same millisecond"
    assert past["replay"]["status"] == "queued"


async def test_work_in_another_folder_pauses_the_run(door: Door) -> None:
    run = await begun(door, workspace={"workspace_id": "web", "canonical_path": "/src/web"})
    path = f"/context/runs/{run}/lease/validate"

    right = await door.done("POST", path, json={"phase": "tool", "current_path": "/src/web/"})
    wrong = await door.done("POST", path, json={"phase": "tool", "current_path": "/src/other"})

    assert right == {"ok": True, "mismatch": False, "status": "queued"}
    assert wrong == {"ok": False, "mismatch": True, "status": "paused"}
    last = (await door.done("GET", f"/context/runs/{run}/events"))["events"][-1]
    assert (last["type"], last["payload"]["actual_path"]) == ("workspace_mismatch", "/src/other")


async def test_the_ledger_has_what_was_done_by_tools_and_what_it_cost(door: Door) -> None:
    run = await begun(door)
    await event(door, run, "tool_ended", payload={"tool": "grep", "call": "1"})
    await event(door, run, "tool_ended", payload={"tool": "grep", "call": "2", "failed": True})
    await event(door, run, "note", payload={"text": "nothing"})
    await event(door, run, "turn_ended", payload={"cost_micro_usd": 120})

    ledger = await door.done("GET", f"/context/runs/{run}/ledger")

    assert [row["seq"] for row in ledger["records"]] == [1, 2, 4]
    assert ledger["summary"] == {"count": 3, "tools": {"grep": 2}, "failures": 1, "cost_micro_usd": 120}


async def test_a_run_is_its_owners_and_an_admins_and_nobody_elses(door: Door) -> None:
    ana, bo = await door.key("writer", name="ana", user="ana"), await door.key("writer", name="bo", user="bo")
    reader = await door.key("reader", name="ana-reads", user="ana")
    run = await begun(ana)

    assert await bo.refused("GET", f"/context/runs/{run}") == (404, "run_not_found")
    assert await bo.refused("POST", f"/context/runs/{run}/events", json={"type": "x"}) == (404, "run_not_found")
    assert (await bo.done("GET", "/context/runs"))["runs"] == []
    assert (await reader.done("GET", f"/context/runs/{run}"))["run"]["owner"] == "ana"
    assert await reader.refused("POST", f"/context/runs/{run}/events", json={"type": "x"}) == (403, "forbidden")
    assert (await door.done("GET", f"/context/runs/{run}"))["run"]["owner"] == "ana"


async def test_creations_checkpoints_and_deletions_leave_audit_rows_and_events_none(door: Door) -> None:
    run = await begun(door)
    await event(door, run, "note")
    await door.done("POST", f"/context/runs/{run}/checkpoints", json={"reason": "r"})
    await door.running.services.runs.delete(caller("admin"), run)

    page = await door.running.services.desk.store.journal.audit("default/default", _about(run), 100, None)

    assert [row.action for row in page.rows] == ["run.delete", "run.checkpoint", "run.create"]


def _about(run: str) -> Any:
    from commonplace.values.audit import AuditQuery  # noqa: PLC0415 - this test alone

    return AuditQuery(run=run)


# ---- streams


async def portions(door: Door, followed: FollowedRuns, count: int) -> list[RunEnvelope]:
    """The first rows of a stream, asked behind the door: a stream has no end."""
    streams, who = door.running.services.run_streams, operator()
    await streams.begin(who, followed)
    rows: list[RunEnvelope] = []
    with anyio.fail_after(5):
        async with aclosing(streams.follow(who, followed)) as stream:
            async for portion in stream:
                rows += portion
                if len(rows) >= count:
                    break
    return rows


async def test_a_stream_tells_what_is_past_and_then_what_comes_of_several_runs(door: Door) -> None:
    first, second = await begun(door, workspace={"workspace_id": "web"}), await begun(door)
    await event(door, first, "note")
    services, who = door.running.services, caller("admin")

    async def later() -> None:
        await services.runs.append(who, second, RunEventDraft(type="later"))
        patch = {"op": "add_fact", "payload": {"text": "It rains"}}
        await door.done("POST", f"/context/runs/{first}/blackboard/patches", json=patch)

    following = asyncio.create_task(portions(door, FollowedRuns(run_ids=(first, second)), 4))
    await later()
    rows = await following

    assert [(row.run_id, row.seq, row.kind) for row in rows if row.run_id == first] == [
        (first, 1, "context_run_event"),
        (first, 2, "context_run_event"),
        (first, 2, "blackboard_patch"),
    ]
    assert [row.seq for row in rows if row.run_id == second] == [1]
    assert {row.workspace for row in rows if row.run_id == first} == {"web"}


async def test_a_cursor_goes_on_where_a_stream_ended_and_nothing_comes_twice(door: Door) -> None:
    run = await begun(door)
    for number in range(3):
        await event(door, run, "note", payload={"n": number})
    rows = await portions(door, FollowedRuns(run_ids=(run,)), 3)
    place = RunCursor()
    for row in rows[:2]:
        place = place.after(row)

    text = str(place)
    rest = await portions(door, FollowedRuns(run_ids=(run,), cursor=RunCursor.parse(text)), 1)

    assert [row.seq for row in rest] == [3]
    assert json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == {"events": {run: 2}, "patches": {}}


async def test_a_tail_leaves_out_what_is_long_past_and_new_runs_of_the_workspace_join(door: Door) -> None:
    run = await begun(door, workspace={"workspace_id": "web"})
    for number in range(3):
        await event(door, run, "note", payload={"n": number})

    rows = await portions(door, FollowedRuns(workspace="web", tail=1), 1)

    assert [(row.run_id, row.seq) for row in rows] == [(run, 3)]


@pytest.mark.parametrize("cursor", ["x", "e30=!", base64.b64encode(b'{"events": {"a": -1}}').decode(), "W10="])
async def test_a_cursor_that_is_none_is_refused(door: Door, cursor: str) -> None:
    assert await door.refused("GET", "/context/runs/events/stream", params={"cursor": cursor}) == (400, "invalid_input")


async def test_a_stream_that_nobody_may_hear_does_not_begin(door: Door) -> None:
    ana, bo = await door.key("writer", name="ana", user="ana"), await door.key("writer", name="bo", user="bo")
    run = await begun(ana)

    assert await bo.refused("GET", f"/context/runs/{run}/events/stream") == (404, "run_not_found")
    assert await bo.refused("GET", "/context/runs/events/stream", params={"run_ids": run}) == (404, "run_not_found")


async def test_a_stream_ends_when_the_process_stops(door: Door) -> None:
    run = await begun(door)
    streams = door.running.services.run_streams
    await streams.begin(caller("admin"), FollowedRuns(run_ids=(run,)))

    async def follow() -> int:
        return len([row async for row in streams.follow(caller("admin"), FollowedRuns(run_ids=(run,)))])

    following = asyncio.create_task(follow())
    streams.close()

    with anyio.fail_after(5):
        assert await following == 0


async def test_a_stream_that_is_quiet_shows_that_it_is_open_and_ends_with_its_key(door: Door) -> None:
    ana = await door.key("writer", name="ana", user="ana")
    run = await begun(ana)
    services = door.running.services
    keys = await services.identity.keys(caller("admin"))
    who = caller("writer")
    who = type(who)(subject="ana", tenant=who.tenant, role="writer", key=keys[-1].id)
    stream = services.run_streams.follow(who, FollowedRuns(run_ids=(run,)), keep_alive=0.0)

    with anyio.fail_after(5):
        quiet = await anext(stream)
        await services.identity.revoke_key(caller("admin"), keys[-1].id)
        rest = [portion async for portion in stream]

    assert quiet == ()
    assert all(portion == () for portion in rest)
