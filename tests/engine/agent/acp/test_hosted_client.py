"""What a hosted agent may have us do: files of the session's folder, commands, by the rules of our own tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.events import until
from commonplace.testing.host_bench import HostBench, is_running, options
from commonplace.values.permission import PermissionRequest
from commonplace.values.turn_event import MemoryLearned, PermissionAsked, TurnEnded, TurnEvent

pytestmark = pytest.mark.anyio
ONCE = options(("go", "allow_once"), ("no", "reject_once"))


def request(method: str, id_: str = "r", **params: Any) -> dict[str, Any]:
    return {"request": method, "id": id_, "params": params}


def answers(host: HostBench, id_: str = "r") -> list[dict[str, Any]]:
    return [message for message in host.heard() if message.get("id") == id_ and "method" not in message]


async def play(host: HostBench, *steps: dict[str, Any], choice: Any = "allow_once") -> list[PermissionRequest]:
    """A turn of these steps, in which everything that is asked is answered so; what was asked."""
    host.play([*steps])
    session = await host.session()
    ticket = await host.agent.say(session.id, "Go on.")
    events: list[TurnEvent] = []
    async with asyncio.timeout(10):
        async for heard in host.agent.hear(session.id, after=ticket.last_event):
            events.append(heard.event)
            if isinstance(heard.event, PermissionAsked):
                await host.agent.answer_permission(session.id, heard.event.request.id, choice)
            if isinstance(heard.event, MemoryLearned):
                break
    assert any(isinstance(event, TurnEnded) for event in events)
    return [event.request for event in events if isinstance(event, PermissionAsked)]


def work(host: HostBench) -> Path:
    folder = host.folder / "work"
    folder.mkdir(exist_ok=True)
    return folder


async def test_it_reads_a_part_of_a_file_of_the_folder_unasked(host: HostBench) -> None:
    (work(host) / "poem.txt").write_text("one\ntwo\nthree\n")

    asked = await play(host, request("fs/read_text_file", path=str(work(host) / "poem.txt"), line=2, limit=1))

    assert asked == []
    assert answers(host)[0]["result"] == {"content": "two\n"}


@pytest.mark.parametrize("path", ["/etc/hostname", "../script.json", "link", ".commonplace/config.toml"])
async def test_it_reads_nothing_outside_of_the_folder(host: HostBench, path: str) -> None:
    (work(host) / "link").symlink_to("/etc/hostname")

    await play(host, request("fs/read_text_file", path=path))

    assert answers(host)[0]["error"]["data"]["code"] == "path_escape"


async def test_a_person_is_asked_before_a_file_is_written_and_sees_the_change(host: HostBench) -> None:
    (work(host) / "poem.txt").write_text("one\n")

    [asked] = await play(host, request("fs/write_text_file", path=str(work(host) / "poem.txt"), content="two\n"))

    assert (asked.title, asked.kind, asked.rule) == ("Write poem.txt", "edit", "write_file:*")
    assert asked.diff is not None
    assert "-one\n+two\n" in asked.diff
    assert (work(host) / "poem.txt").read_text() == "two\n"


async def test_what_a_person_rejects_is_not_written(host: HostBench) -> None:
    await play(host, request("fs/write_text_file", path="poem.txt", content="two\n"), choice="reject_once")

    assert answers(host)[0]["error"]["data"]["code"] == "forbidden"
    assert not (work(host) / "poem.txt").exists()


async def test_a_change_that_was_allowed_in_this_turn_is_not_asked_about_twice(host: HostBench) -> None:
    path = str(work(host) / "poem.txt")
    call = {
        "toolCallId": "c1",
        "title": "WriteFile",
        "kind": "edit",
        "content": [{"type": "diff", "path": path, "oldText": None, "newText": "two\n"}],
    }

    asked = await play(
        host,
        {"ask": {"toolCall": call, "options": ONCE}, "id": "q"},
        request("fs/write_text_file", path=path, content="two\n"),
    )

    assert [request.title for request in asked] == ["WriteFile"]
    assert (work(host) / "poem.txt").read_text() == "two\n"


async def test_a_command_is_asked_about_and_its_output_is_had(host: HostBench) -> None:
    host_folder = work(host)

    [asked] = await play(
        host,
        request("terminal/create", command="sh", args=["-c", "echo made > made; echo told"], cwd=str(host_folder)),
    )

    assert asked.kind == "execute"
    assert asked.rule == "shell:echo made > made; echo told"
    assert answers(host)[0]["result"]["terminalId"].startswith("terminal-")


async def test_a_command_that_was_allowed_in_this_turn_runs_and_nothing_of_it_is_left(host: HostBench) -> None:
    line = f"sleep 1000 & echo $! > {work(host)}/pid; wait"
    call = {"toolCallId": "c1", "kind": "execute", "title": "sleep", "rawInput": {"command": line}}

    asked = await play(
        host,
        {"ask": {"toolCall": call, "options": ONCE}, "id": "q"},
        request("terminal/create", command=line),
        {"await_file": str(work(host) / "pid")},
    )

    assert len(asked) == 1
    pid = int((work(host) / "pid").read_text())
    await until(lambda: not is_running(pid))


async def test_a_command_that_first_goes_to_the_folder_of_the_session_is_the_one_that_was_shown(
    host: HostBench,
) -> None:
    line = f"echo made > {work(host)}/made"
    call = {"toolCallId": "c1", "kind": "execute", "title": "Bash", "rawInput": {"command": line}}

    asked = await play(
        host,
        {"ask": {"toolCall": call, "options": ONCE}, "id": "q"},
        request("terminal/create", command="sh", args=["-c", f"cd '{work(host)}' && {line}"]),
        {"await_file": str(work(host) / "made")},
    )

    assert len(asked) == 1


async def test_another_command_than_the_one_that_was_allowed_is_asked_about(host: HostBench) -> None:
    call = {"toolCallId": "c1", "kind": "execute", "title": "shell", "rawInput": {"command": "ls -l"}}

    asked = await play(
        host,
        {"ask": {"toolCall": call, "options": ONCE}, "id": "q"},
        request("terminal/create", command="sh", args=["-c", "rm -rf made"]),
    )

    assert [request.rule for request in asked] == ["execute:ls -l", "shell:rm -rf made"]


async def test_a_terminal_that_nobody_opened_and_a_method_that_nobody_has_are_errors(host: HostBench) -> None:
    await play(host, request("terminal/output", terminalId="x"), request("fs/remove", "s"), request("craft/drain", "t"))

    codes = [answers(host, id_)[0]["error"]["code"] for id_ in "rst"]
    assert codes == [-32002, -32601, -32601]


async def test_what_a_person_allowed_for_the_session_is_not_asked_about_again(host: HostBench) -> None:
    call = {"toolCallId": "c1", "kind": "execute", "title": "make", "rawInput": {"command": "make"}}
    host.play([{"ask": {"toolCall": call, "options": ONCE}, "id": "q"}], [{"ask": {"toolCall": call, "options": ONCE}}])
    session = await host.session()
    ticket = await host.agent.say(session.id, "Make it.")
    [question] = [
        event
        for event in await host.hear(session, ticket.last_event, PermissionAsked)
        if isinstance(event, PermissionAsked)
    ]
    await host.agent.answer_permission(session.id, question.request.id, "allow_session")
    await host.hear(session, ticket.last_event)

    events = await host.turn(session, "And again.")

    assert not any(isinstance(event, PermissionAsked) for event in events)
