from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.process import plain_environment, run_process
from commonplace.agent.tools.shell import Sandbox, ShellOptions, sandbox_arguments, shell_tool
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.workspace import Workspace

pytestmark = pytest.mark.anyio


def make(root: Path, *, seconds: float = 20, sandbox: Sandbox = "none", closed: tuple[Path, ...] = ()) -> AgentTool:
    return shell_tool(Workspace(root), ShellOptions(seconds=seconds, sandbox=sandbox, closed=closed))


def runs(pid: int) -> bool:
    """One that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(500):
        if condition():
            return True
        await asyncio.sleep(0.01)
    return False


async def test_a_command_runs_in_the_workspace_after_a_person_allowed_it(turn: Desk, root: Path) -> None:
    answer = await turn.call(make(root), command="pwd; cat readme.md")

    assert answer.content == f"{root}\none\ntwo\nthree"
    assert turn.requests[0].rule == "shell:pwd; cat readme.md"
    assert turn.requests[0].kind == "execute"


async def test_always_holds_for_just_that_command(root: Path) -> None:
    turn, tool = Desk(choice="allow_session"), make(root)

    await turn.turn(
        [tool], [("shell", {"command": "true"}), ("shell", {"command": "true "}), ("shell", {"command": "true; id"})]
    )

    assert [request.rule for request in turn.requests] == ["shell:true", "shell:true; id"]


async def test_a_code_that_is_not_zero_is_a_failure_that_the_model_sees(turn: Desk, root: Path) -> None:
    answer = await turn.call(make(root), command="echo no >&2; exit 3")

    assert (answer.outcome, answer.content) == ("failed", "no\n[Exit code 3.]")


async def test_a_command_sees_no_key_of_ours(turn: Desk, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_TOKEN", "t-123")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-123")

    answer = await turn.call(make(root), command="env")

    assert "123" not in str(answer.content)
    assert "PATH=" in str(answer.content)


def test_the_environment_of_a_command_is_a_list_of_what_is_let_through() -> None:
    assert set(plain_environment({"AWS_SECRET": "1", "LC_ALL": "C", "PATH": "/bin", "SSH_AUTH_SOCK": "s"})) == {
        "PATH",
        "LC_ALL",
        "TERM",
        "PAGER",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
    }


async def test_a_command_that_waits_for_somebody_to_type_gets_nothing(turn: Desk, root: Path) -> None:
    answer = await turn.call(make(root), command="read line || echo nobody")

    assert answer.content == "nobody"


async def test_a_flood_is_stopped(turn: Desk, root: Path) -> None:
    answer = await turn.call(make(root), command="yes")

    assert answer.outcome == "failed"
    assert "[Stopped: it wrote too much.]" in turn.results[0].text or "[Cut off" in turn.results[0].text
    assert len(str(answer.content)) < 40_000


async def test_of_a_long_output_the_beginning_and_the_end_are_told(turn: Desk, root: Path) -> None:
    output = await run_process(["/bin/sh", "-c", "seq 1 100000"], folder=root, seconds=10, most=1_000)

    assert output.text.startswith("1\n2\n")
    assert output.text.endswith("100000\n")
    assert "bytes left out" in output.text


@pytest.mark.parametrize(
    "child",
    [
        "sleep 300",
        "trap '' TERM INT HUP; while true; do sleep 1; done",
        "exec setsid sh -c 'trap \"\" TERM; sleep 300'",
    ],
    ids=["plain", "deaf", "another session"],
)
@pytest.mark.parametrize("end", ["late", "cancel", "left behind"])
async def test_nothing_that_a_command_started_is_left_running(root: Path, child: str, end: str) -> None:
    script = root / "child.sh"
    script.write_text(f"echo $$ > pid.tmp; mv pid.tmp pid\n{child}\n")
    command = "sh child.sh & while [ ! -e pid ]; do :; done; " + ("true" if end == "left behind" else "wait")
    turn = Desk()

    call = asyncio.ensure_future(turn.call(make(root, seconds=1 if end == "late" else 60), command=command))
    assert await eventually((root / "pid").exists)
    pid = int((root / "pid").read_text())
    if end == "cancel":
        call.cancel()
    await asyncio.wait({call}, timeout=5)

    assert call.done()
    assert await eventually(lambda: not runs(pid))


async def test_a_workspace_that_is_gone_is_told(turn: Desk, root: Path) -> None:
    tool = make(root)
    shutil.rmtree(root)

    answer = await turn.call(tool, command="true")

    assert answer.outcome == "failed"


@pytest.mark.parametrize("command", ["", "a\0b", "x" * 20_000])
async def test_what_is_no_command_is_told(turn: Desk, root: Path, command: str) -> None:
    answers = await turn.turn([make(root)], [("shell", {"command": command})])

    assert answers[0].outcome in ("failed", "retried")


async def test_without_bwrap_a_command_that_must_run_inside_it_does_not_run(
    turn: Desk, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(root))

    answer = await turn.call(make(root, sandbox="bwrap"), command="touch ran")

    assert answer.outcome == "failed"
    assert not (root / "ran").exists()


async def test_with_bwrap_the_command_is_handed_to_it(turn: Desk, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root.parent / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    home = root.parent / "home"
    home.mkdir()

    answer = await turn.call(make(root, sandbox="bwrap", closed=(home,)), command="make test")

    words = str(answer.content).split("\n")
    assert words[-4:] == ["--", "/bin/sh", "-c", "make test"]
    assert words[: words.index("--")] == sandbox_arguments(root, (home,))
    assert words[words.index("--tmpfs", words.index("--bind")) + 1] == str(home)
    assert "--unshare-all" in words


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_inside_bwrap_only_the_workspace_is_written_the_home_is_hidden_and_there_is_no_network(
    turn: Desk, root: Path
) -> None:
    home, outside = root.parent / "home", root.parent / "outside"
    for folder in (home, outside):
        folder.mkdir()
        (folder / "secret").write_text("secret")
    command = (
        f"echo in > written; echo out > {outside}/written; echo out > /usr/written; ls {home}; "
        "cat /proc/net/dev | grep -c :; readme=$(cat readme.md); echo $readme"
    )

    answer = await turn.call(make(root, sandbox="bwrap", closed=(home,)), command=command)

    assert (root / "written").read_text() == "in\n"
    assert not (outside / "written").exists()
    assert "cannot create /usr/written" in str(answer.content)
    # The loopback interface alone.
    assert "\n1\none two three" in str(answer.content)
    assert "secret" not in str(answer.content)
