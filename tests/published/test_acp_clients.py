"""Published clients of the Agent Client Protocol, unchanged, against `commonplace acp`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.published.programs import Published

from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.timeout(280)
AGENT = (sys.executable, "-m", "commonplace", "acp")
BOUND = 120.0


def wants(tool: str, **arguments: Any) -> Any:
    return stream("I do it.", calls=((tool, json.dumps(arguments)),))


class Acpx:
    """acpx in a workspace of its own, with a model of ours behind the agent. It starts the agent for each use anew."""

    def __init__(self, published: Published, folder: Path, vendor: Vendor | None = None) -> None:
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.environment = published.environment(folder, **_variables(folder, vendor))
        self.program = [
            published.node,
            published.program("acpx"),
            "--agent",
            shlex.join(AGENT),
            "--cwd",
            str(self.workspace),
        ]
        self.program += ["--timeout", "100", "--ttl", "1"]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.program, *arguments], env=self.environment, cwd=self.workspace, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        try:
            output, errors = process.communicate(timeout=BOUND)
        finally:
            process.kill()
        assert process.returncode == 0, f"{output}{errors}"
        return output


def _variables(folder: Path, vendor: Vendor | None) -> dict[str, str]:
    model = (
        {}
        if vendor is None
        else {
            "COMMONPLACE_LLM_MODEL": "openai:small",
            "COMMONPLACE_LLM_BASE_URL": vendor.url,
            "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
            "COMMONPLACE_LLM_PRICE": "1/1",
        }
    )
    return {"COMMONPLACE_HOME": str(folder / "home"), "COMMONPLACE_EMBEDDER": "none", **model}


def test_the_official_sdk_finds_every_update_and_answer_valid(published: Published, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    driver = Path(__file__).with_name("acp_editor.mjs")
    with running_vendor() as vendor:
        vendor.replies = [
            wants("todo", entries=[{"text": "Fix the notes", "status": "in_progress"}]),
            wants("edit_file", path="notes.md", old_text="Tuesdays", new_text="Fridays"),
            wants("shell", command="make"),
            stream("Built.", thought="Hm."),
        ]
        environment = published.environment(tmp_path, **_variables(tmp_path, vendor))
        run = subprocess.run(
            [published.node, str(driver), str(published.modules), str(workspace), *AGENT],
            env=environment, capture_output=True, text=True, timeout=BOUND, check=False,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)

    assert report["faults"] == []
    assert report["hello"]["protocolVersion"] == 1
    assert report["stopReason"] == "end_turn"
    assert report["usage"] == {"totalTokens": 228, "inputTokens": 200, "outputTokens": 28}
    assert report["modes"]["currentModeId"] == "default"
    assert report["config"] == [["mode", "default"], ["model", "openai:small"]]
    assert {"plan", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update"} <= set(
        report["first"]
    )
    assert {"usage_update", "session_info_update", "config_option_update", "current_mode_update"} <= set(
        report["first"]
    )
    assert {"user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"} <= set(report["loaded"])
    assert report["asked"].count("session/request_permission") == 2
    assert {"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/release"} <= set(report["asked"])
    assert report["notes"] == "We ship on Fridays\n"
    assert report["sessions"] == [[str(workspace), "Fix the notes, then build"]]
    assert (report["gone"], report["code"]) == (-32002, 0)


def test_acpx_runs_a_prompt_with_its_files_and_terminal(published: Published, tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [
            wants("write_file", path="notes.md", content="We ship on Fridays\n"),
            wants("shell", command="cat notes.md; exit 3"),
            stream("Written."),
        ]
        acpx = Acpx(published, tmp_path, vendor)
        output = acpx.run("--approve-all", "--format", "json", "--json-strict", "exec", "Write it down")
    messages = [json.loads(line) for line in output.splitlines()]

    assert (acpx.workspace / "notes.md").read_text(encoding="utf-8") == "We ship on Fridays\n"
    assert {"fs/write_text_file", "terminal/create"} <= {message.get("method") for message in messages}
    told = vendor.requests[-1]["messages"][-1]["content"]
    assert "We ship on Fridays" in told
    assert "Exit code 3" in told
    assert messages[-1]["result"]["stopReason"] == "end_turn"


def test_acpx_whose_person_denies_writes_nothing(published: Published, tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [wants("write_file", path="notes.md", content="x"), stream("Then not.")]
        acpx = Acpx(published, tmp_path, vendor)
        process = acpx.start("--deny-all", "exec", "Write it down")
        output, _ = process.communicate(timeout=BOUND)

    assert "Then not." in output
    assert not (acpx.workspace / "notes.md").exists()


def test_acpx_goes_on_with_a_session_in_another_process(published: Published, tmp_path: Path) -> None:
    acpx = Acpx(published, tmp_path)
    id = acpx.run("--format", "quiet", "sessions", "new").split()[-1]
    acpx.run("prompt", "Remember that we ship on Fridays")
    acpx.run("set-mode", "plan")
    answer = acpx.run("--format", "quiet", "prompt", "When do we ship?")
    status = acpx.run("--format", "json", "status")
    acpx.run("sessions", "close")
    listed = acpx.run("sessions", "list")

    assert "We ship on Fridays" in answer
    assert id in status
    assert id in listed


def test_acpx_cancels_a_turn_that_does_not_end(published: Published, tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [stream("I begin", hang=True)]
        acpx = Acpx(published, tmp_path, vendor)
        acpx.run("sessions", "new")
        turn = acpx.start("--format", "json", "prompt", "Go on for ever")
        deadline = time.monotonic() + BOUND
        while not vendor.requests and time.monotonic() < deadline:
            time.sleep(0.1)
        acpx.run("cancel")
        output, _ = turn.communicate(timeout=BOUND)

    assert '"stopReason":"cancelled"' in output
