"""A daemon is killed while it plays schedules. Each due time has one turn that is over, and what was in the middle says that it may come twice."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from commonplace.testing.daemon import Daemon, running_daemon

ENV = {"COMMONPLACE_EMBEDDER": "none", "COMMONPLACE_JOB_LEASE_SECONDS": "2"}
SCHEDULES = 9
PATIENCE = 30.0


def made(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def texts(client: httpx.Client, session: str) -> list[str]:
    page = client.get(f"/v1/sessions/{session}/messages", params={"limit": 1_000}).json()
    return [message["text"] for message in page["messages"] if message["kind"] == "text"]


def some_are_over(client: httpx.Client, count: int) -> list[dict[str, Any]]:
    """The schedules, as soon as so many were played."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        schedules = client.get("/v1/schedules").json()["schedules"]
        if sum(schedule["last"] is not None for schedule in schedules) >= count:
            return schedules
        time.sleep(0.02)
    raise AssertionError("they were not played in time")


def begun(daemon: Daemon, client: httpx.Client) -> list[str]:
    """Sessions, in each of which something is due in a moment."""
    sessions = [made(client, "/v1/sessions", {})["id"] for _ in range(SCHEDULES)]
    due = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    for number, session in enumerate(sessions):
        body = {"target": f"session:{session}", "at": due, "prompt": f"what is number {number}?", "label": str(number)}
        made(client, "/v1/schedules", body)
    assert daemon.process.poll() is None
    return sessions


def test_each_due_time_is_played_to_its_end_once_though_its_daemon_is_killed(tmp_path: Path) -> None:
    with running_daemon(tmp_path, env=ENV) as first, first.client() as client:
        sessions = begun(first, client)
        some_are_over(client, 1)
        first.process.kill()
        first.process.wait()

    with running_daemon(tmp_path, env=ENV) as second, second.client() as client:
        schedules = some_are_over(client, SCHEDULES)
        said = [texts(client, session) for session in sessions]

    assert {schedule["last"]["status"] for schedule in schedules} == {"ok"}
    assert {schedule["fires"] for schedule in schedules} == {1}
    for number, lines in enumerate(said):
        marks = [line for line in lines if line.startswith(f'[Scheduled task "{number}" set by operator]')]
        assert 1 <= len(marks) <= 2
        assert all("which is played again" in mark for mark in marks[1:])
        assert not lines[-1].startswith("[")
