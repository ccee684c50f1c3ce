from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolReturnPart
from tests.engine.agent import mcp_server
from tests.engine.agent.tools.desk import Desk
from tests.engine.agent.tools.test_shell import eventually, runs

from commonplace.agent.mcp_servers import McpServers
from commonplace.agent.tools.calls import CallLimits
from commonplace.errors import InvalidInput
from commonplace.values.mcp_server import McpServer

pytestmark = pytest.mark.anyio
SCRIPT = str(Path(mcp_server.__file__))


def program(*how: str, trusted: bool = True, **fields: Any) -> McpServer:
    arguments = ("-W", "ignore", SCRIPT, "stdio", *how)
    return McpServer(name="library", command=sys.executable, args=arguments, trusted=trusted, **fields)


async def called(
    servers: McpServers, *calls: str | tuple[str, dict[str, Any]], turn: Desk | None = None
) -> list[ToolReturnPart]:
    return await (turn or Desk()).turn(
        [], [(f"library_{c}", {}) if isinstance(c, str) else (f"library_{c[0]}", c[1]) for c in calls], servers.tools()
    )


async def test_the_tools_of_a_server_are_called_by_its_name_and_its_text_is_fenced(tmp_path: Path) -> None:
    async with McpServers([program()], tmp_path) as servers:
        answers = await called(servers, ("lend", {"book": "Emma"}), "order")

    assert "  | Lent: Emma" in str(answers[0].content)
    assert all(line.startswith("  | ") for line in str(answers[1].content).splitlines()[1:])
    assert "</memory_context>" not in str(answers[1].content)


async def test_what_a_server_says_of_its_tools_is_short_and_told_as_its_word(tmp_path: Path) -> None:
    turn = Desk()
    async with McpServers([program()], tmp_path) as servers:
        await called(servers, ("lend", {"book": "Emma"}), turn=turn)

    assert set(turn.descriptions) == {
        f"library_{name}" for name in ("lend", "order", "long", "hang", "flood", "die", "fail", "environment")
    }
    assert all(text.startswith("A tool of the MCP server library") for text in turn.descriptions.values())
    assert "</memory_context>" not in turn.descriptions["library_order"]
    assert len(turn.descriptions["library_long"]) < 2_200


async def test_a_server_that_is_not_trusted_is_asked_about_and_a_trusted_one_is_not(tmp_path: Path) -> None:
    stranger, friend = Desk(choice="reject_once"), Desk()
    async with McpServers([program(trusted=False)], tmp_path) as servers:
        answers = await called(servers, ("lend", {"book": "Emma"}), turn=stranger)
    async with McpServers([program()], tmp_path) as servers:
        await called(servers, ("lend", {"book": "Emma"}), turn=friend)

    assert answers[0].outcome == "failed"
    assert stranger.requests[0].rule == "library_lend:*"
    assert friend.requests == []


async def test_an_error_of_a_server_and_wrong_arguments_are_told_and_the_next_call_works(tmp_path: Path) -> None:
    async with McpServers([program()], tmp_path) as servers:
        answers = await called(servers, "fail", ("lend", {"book": 5}), "lost", ("lend", {"book": "Emma"}))

    assert [answer.outcome for answer in answers[:3]] != ["success"] * 3
    assert answers[3].outcome == "success"


async def test_a_call_that_hangs_is_stopped_and_the_next_one_works(tmp_path: Path) -> None:
    async with McpServers([program(call_seconds=0.5)], tmp_path) as servers:
        answers = await called(servers, "hang", ("lend", {"book": "Emma"}))

    assert [answer.outcome for answer in answers] == ["failed", "success"]


async def test_a_cancel_ends_a_call_that_hangs(tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def started(call: object) -> None:
        reached.set()

    async with McpServers([program()], tmp_path) as servers:
        turn = asyncio.ensure_future(called(servers, "hang", turn=Desk(on_start=started)))
        await asyncio.wait_for(reached.wait(), 5)
        turn.cancel()
        await asyncio.wait({turn}, timeout=5)

        assert turn.cancelled()
        assert (await called(servers, ("lend", {"book": "Emma"})))[0].outcome == "success"


async def test_a_flood_of_text_is_cut(tmp_path: Path) -> None:
    async with McpServers([program()], tmp_path) as servers:
        answers = await called(servers, "flood", turn=Desk(limits=CallLimits(characters=1_000)))

    assert len(str(answers[0].content)) < 2_000


async def test_a_server_that_dies_gives_errors_and_lives_again_in_the_next_turn(tmp_path: Path) -> None:
    async with McpServers([program()], tmp_path) as servers:
        answers = await called(servers, "die", ("lend", {"book": "Emma"}))
        failures = dict(servers.failures)
        again = await called(servers, ("lend", {"book": "Emma"}))

    assert [answer.outcome for answer in answers] == ["failed", "failed"]
    assert list(failures) == ["library"]
    assert again[0].outcome == "success"


@pytest.mark.parametrize("how", ["hang", "noise", "line", "notify", "die"])
async def test_a_server_that_does_not_start_leaves_the_session_usable(tmp_path: Path, how: str) -> None:
    async with McpServers([program(how, start_seconds=1.5)], tmp_path) as servers:
        failures = dict(servers.failures)
        answers = await called(servers, ("lend", {"book": "Emma"}))

    assert list(failures) == ["library"]
    assert answers[0].outcome == "retried"


async def test_a_command_that_there_is_not_is_told(tmp_path: Path) -> None:
    server = McpServer(name="library", command=str(tmp_path / "nothing"))

    async with McpServers([server], tmp_path) as servers:
        assert list(servers.failures) == ["library"]


async def test_nothing_of_a_server_is_left_running_not_even_a_child_in_another_session(tmp_path: Path) -> None:
    async with McpServers([program(f"child:{tmp_path / 'pid'}")], tmp_path) as servers:
        answers = await called(servers, ("lend", {"book": "Emma"}))
        pid = int((tmp_path / "pid").read_text())
        assert runs(pid)

    assert answers[0].outcome == "success"
    assert await eventually(lambda: not runs(pid))


async def test_a_server_sees_no_key_of_ours_and_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TOKEN", "our-own-word")

    async with McpServers([program(env={"SHELF": "nine"})], tmp_path) as servers:
        answers = await called(servers, "environment")

    assert "our-own-word" not in json.dumps(answers[0].content)
    assert "nine" in json.dumps(answers[0].content)


@contextlib.asynccontextmanager
async def listening() -> AsyncGenerator[McpServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", SCRIPT, str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:

        def answers() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        assert await eventually(answers)
        yield McpServer(name="library", url=f"http://127.0.0.1:{port}/mcp", trusted=True, call_seconds=5)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_a_server_over_http_is_used_like_any_other_and_its_end_is_told(tmp_path: Path) -> None:
    async with listening() as server, McpServers([server], tmp_path) as servers:
        answers = await called(servers, ("lend", {"book": "Emma"}), "flood", "fail")
        died = await called(servers, "die", ("lend", {"book": "Emma"}))

    assert "  | Lent: Emma" in str(answers[0].content)
    assert [answer.outcome for answer in answers] == ["success", "success", "failed"]
    assert died[0].outcome == "failed"
    assert died[1].outcome != "success"


async def test_nobody_at_the_address_of_a_server_is_told(tmp_path: Path) -> None:
    server = McpServer(name="library", url="http://127.0.0.1:9/mcp", start_seconds=3)

    async with McpServers([server], tmp_path) as servers:
        assert list(servers.failures) == ["library"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "a_b", "command": "x"},
        {"name": "\u200ba", "command": "x"},
        {"name": "a"},
        {"name": "a", "command": "x", "url": "http://127.0.0.1"},
        {"name": "a", "url": "file:///etc/passwd"},
        {"name": "a", "command": "x", "args": ("a\0b",)},
        {"name": "a", "url": "http://127.0.0.1", "headers": {"X": "a\nY: b"}},
        {"name": "a", "command": "x", "start_seconds": 0},
    ],
)
def test_a_server_that_could_not_be_used_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        McpServer(**fields).check()


def test_what_a_server_is_shown_is_not_printed() -> None:
    assert "secret" not in repr(McpServer(name="a", url="http://a", headers={"Authorization": "secret"}))
