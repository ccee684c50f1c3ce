"""The commands for runs and artifacts."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import STATE, these
from commonplace.testing.daemon import running_daemon
from commonplace.values.run import PatchDraft, RunDraft, RunEventDraft
from commonplace.values.scope import DEFAULT_TENANT

BOTH = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def run(home: Path, cli: Any) -> str:
    """A run that has ended, in the home folder of this test."""
    cli.put("So that there is a store")
    archive = RunArchive(home)
    run = archive.create(DEFAULT_TENANT, "local", RunDraft(objective="Ship it\nNow"), NOW).run_id
    fact = PatchDraft(op="add_fact", payload={"text": "It rains"})
    drafts = [
        RunEventDraft(type="planning_started"),
        RunEventDraft(type="note", payload={"text": "a\tb"}, patch=fact),
        RunEventDraft(type="session_run_finished", status="failed", payload={"error": "No ink"}),
    ]
    archive.folder(DEFAULT_TENANT, run).commit(these(drafts), NOW)
    return run


def test_a_run_is_listed_shown_and_tailed(cli: Any, run: str) -> None:
    listed = cli.json("runs", "list", "--status", "failed")
    shown = cli("runs", "show", run).out
    tail = cli("runs", "tail", run, "-n", "1").out
    lines = cli("runs", "tail", run, "-n", "2", "--json").out.splitlines()

    assert [row["run_id"] for row in listed["runs"]] == [run]
    assert cli.json("runs", "list", "--status", "running")["runs"] == []
    assert "error\tNo ink" in shown
    assert "step\tstep-2\tpending\tNow" in shown
    assert tail.startswith("3\t")
    assert [json.loads(line)["seq"] for line in lines] == [2, 3]
    assert cli.json("runs", "show", run, "--blackboard")["facts"][0]["text"] == "It rains"
    assert cli("runs", "show", "nobody", "--json").error == "run_not_found"


def test_a_replay_says_where_it_differs(cli: Any, run: str, home: Path) -> None:
    clean = cli("runs", "replay", run).out
    past = cli.json("runs", "replay", run, "--upto", "1")
    path = home / "context_runs" / run / STATE
    path.write_text(path.read_text(encoding="utf-8").replace('"failed"', '"completed"'), encoding="utf-8")

    changed = cli("runs", "replay", run, "--whole").out

    assert "drift\tnone" in clean
    assert past["replay"]["status"] == "awaiting_approval"
    assert "status_mismatch" in changed


@BOTH
def test_a_file_is_added_fetched_promoted_and_deleted(cli: Any, tmp_path: Path) -> None:
    file, copy = tmp_path / "report.md", tmp_path / "copy.md"
    file.write_text("The lighthouse blinks.", encoding="utf-8")

    added = cli.json("artifacts", "add", str(file))
    fetched = cli("artifacts", "get", added["id"], "--output", str(copy))
    over = cli("artifacts", "get", added["id"], "--output", str(copy), "--json")
    promoted = cli.json("artifacts", "promote", added["id"], "--scope", "workspace:web")
    listed = cli("artifacts", "list").out
    deleted = cli.json("artifacts", "delete", added["id"], "--yes")

    assert (added["name"], added["type"], fetched.code) == ("report.md", "text/markdown", 0)
    assert copy.read_text(encoding="utf-8") == "The lighthouse blinks."
    assert over.error == "invalid_input"
    assert promoted["text"] == "The lighthouse blinks."
    assert added["id"] in listed
    assert deleted["deleted"]
    assert cli.json("artifacts", "list")["artifacts"] == []
    assert cli("artifacts", "get", added["id"], "--json").error == "artifact_not_found"
    assert cli("artifacts", "add", str(tmp_path / "nothing"), "--json").error == "path_not_found"


@pytest.mark.slow
def test_a_run_at_a_daemon_is_listed_from_the_command(tmp_path: Path, cli: Any) -> None:
    with running_daemon(tmp_path / "daemon") as daemon:
        answer = httpx.post(f"{daemon.url}/context/runs", json={"objective": "x"}, headers=daemon.headers, timeout=5.0)
        there = type(cli)(
            cli.store, ("--tenant", DEFAULT_TENANT), {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}
        )

        listed = there.json("runs", "list")

    assert [row["run_id"] for row in listed["runs"]] == [answer.json()["run"]["run_id"]]
