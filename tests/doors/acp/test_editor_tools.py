"""The agent's tools in an editor: through its files, in its terminals, with its servers, and past none of the questions."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.doors.acp.editor import ALL, EditorPeer, Refusal, editor, selected

from commonplace.agent.acp.connection import RpcConnection
from commonplace.agent.acp.lines import LineTransport
from commonplace.agent.acp.serve.editor_files import EditorBuffers
from commonplace.agent.acp.serve.editor_terminal import EditorTerminal
from commonplace.errors import FileError
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
FS = {"fs": ALL["fs"]}


def wants(tool: str, **arguments: Any) -> Any:
    return stream("I do it.", calls=((tool, json.dumps(arguments)),))


def told_to_model(vendor: Vendor) -> str:
    """What the model was told of its last call."""
    return str(vendor.requests[-1]["messages"][-1]["content"])


def results(peer: EditorPeer) -> list[Any]:
    return [update for update in peer.updates if update["sessionUpdate"] == "tool_call_update" and "status" in update]


class Buffers:
    """The files that are open in an editor, by their paths."""

    def __init__(self, peer: EditorPeer, **texts: str) -> None:
        self.texts = dict(texts)
        peer.answers["fs/read_text_file"] = self.read
        peer.answers["fs/write_text_file"] = self.write

    def read(self, params: Any) -> Any:
        if params["path"] not in self.texts:
            raise Refusal("no such buffer")
        return {"content": self.texts[params["path"]]}

    def write(self, params: Any) -> Any:
        self.texts[params["path"]] = params["content"]
        return {}


async def test_what_is_not_saved_is_read_and_a_change_shows_in_the_editor_after_it_was_permitted(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("We ship on Mondays\n", encoding="utf-8")
    with running_vendor() as vendor:
        vendor.replies = [
            wants("read_file", path="notes.md"),
            wants("edit_file", path="notes.md", old_text="Tuesdays", new_text="Fridays"),
            stream("Done."),
        ]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, **FS)
            buffers = Buffers(peer, **{str(notes): "We ship on Tuesdays\n"})
            ended = await peer.turn(session, "Fridays, please")

    read = next(str(one["content"]) for one in results(peer))
    call = next(params["toolCall"] for method, params in peer.asked if method == "session/request_permission")
    assert ended["result"]["stopReason"] == "end_turn"
    assert "We ship on Tuesdays" in read
    assert call["content"] == [
        {"type": "diff", "path": str(notes), "oldText": "We ship on Tuesdays\n", "newText": "We ship on Fridays\n"}
    ]
    assert call["locations"] == [{"path": str(notes)}]
    assert buffers.texts == {str(notes): "We ship on Fridays\n"}
    assert notes.read_text(encoding="utf-8") == "We ship on Mondays\n"


async def test_a_new_file_is_written_by_the_editor_and_not_without_permission(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [
            wants("write_file", path="a.md", content="one\n"),
            wants("write_file", path="b.md", content="two\n"),
            stream("Done."),
        ]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, **FS)
            buffers = Buffers(peer)
            choices = iter(("reject_once", "allow_once"))
            peer.answers["session/request_permission"] = lambda _: selected(next(choices))
            await peer.turn(session, "Write both")

    assert buffers.texts == {str(tmp_path / "b.md"): "two\n"}
    assert [one["status"] for one in results(peer)] == ["failed", "completed"]


async def test_a_buffer_that_changes_while_a_person_looks_is_left_as_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "a.md")
    with running_vendor() as vendor:
        vendor.replies = [wants("write_file", path="a.md", content="ours\n"), stream("Oh.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, **FS)
            buffers = Buffers(peer, **{path: "theirs\n"})

            def permit(_: Any) -> Any:
                buffers.texts[path] = "theirs, and more\n"
                return selected("allow_once")

            peer.answers["session/request_permission"] = permit
            await peer.turn(session, "Write it")

    assert buffers.texts == {path: "theirs, and more\n"}
    assert [one["status"] for one in results(peer)] == ["failed"]


async def test_an_editor_that_fails_is_an_error_of_the_tool_and_never_asked_for_what_is_closed(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("text", encoding="utf-8")
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    with running_vendor() as vendor:
        vendor.replies = [
            wants("read_file", path="there.md"),
            wants("read_file", path="/etc/hostname"),
            wants("read_file", path="link.md"),
            wants("read_file", path="home/memory.db"),
            wants("write_file", path=".git/config", content="x"),
            stream("I cannot."),
        ]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, **FS)
            Buffers(peer)
            ended = await peer.turn(session, "Read it all")

    assert ended["result"]["stopReason"] == "end_turn"
    assert [one["status"] for one in results(peer)] == ["failed"] * 5
    paths = [params["path"] for method, params in peer.asked if method == "fs/read_text_file"]
    assert str(tmp_path / "there.md") in paths
    assert not {"/etc/hostname", str(tmp_path / "link.md"), str(tmp_path / "home/memory.db")} & set(paths)
    assert "fs/write_text_file" not in [method for method, _ in peer.asked]


async def test_an_editor_that_offers_nothing_is_asked_for_nothing(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [
            wants("write_file", path="a.md", content="one\n"),
            wants("shell", command="cat a.md"),
            stream("Done."),
        ]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            await peer.turn(session, "Write it")

    assert {method for method, _ in peer.asked} == {"session/request_permission"}
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "one\n"
    assert [one["status"] for one in results(peer)] == ["completed", "completed"]


async def test_a_command_runs_in_a_terminal_of_the_editor_that_its_call_shows(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [wants("shell", command="make"), stream("It fails.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, terminal=True)
            peer.answers |= {
                "terminal/create": lambda _: {"terminalId": "t1"},
                "terminal/wait_for_exit": lambda _: {"exitCode": 2},
                "terminal/output": lambda _: {"output": "no rule\n", "truncated": False, "exitStatus": {"exitCode": 2}},
                "terminal/release": lambda _: {},
            }
            await peer.turn(session, "Make it")

    created = next(params for method, params in peer.asked if method == "terminal/create")
    shown = [one for one in peer.updates if '"terminalId": "t1"' in json.dumps(one)]
    assert (created["command"], created["args"], created["cwd"]) == ("/bin/sh", ["-c", "make"], str(tmp_path))
    assert [method for method, _ in peer.asked][-1] == "terminal/release"
    assert shown
    assert [one["status"] for one in results(peer)] == ["failed"]
    assert "no rule" in told_to_model(vendor)


async def test_a_command_that_is_cancelled_is_released_in_the_editor(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [wants("shell", command="sleep 100"), stream("Never.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path, terminal=True)
            peer.answers |= {"terminal/create": lambda _: {"terminalId": "t1"}, "terminal/release": lambda _: {}}
            turn = peer.say(session, "Sleep")
            await peer.until(lambda: "terminal/wait_for_exit" in [method for method, _ in peer.asked])
            peer.note("session/cancel", sessionId=session)
            ended = await turn

    assert ended["result"]["stopReason"] == "cancelled"
    assert [params["terminalId"] for method, params in peer.asked if method == "terminal/release"] == ["t1"]


async def test_a_server_of_the_editor_is_used_and_asked_about(tmp_path: Path) -> None:
    program = Path(__file__).parents[2] / "engine" / "agent" / "mcp_server.py"
    row = {"name": "My books!", "command": sys.executable, "args": [str(program), "stdio"], "env": []}
    with running_vendor() as vendor:
        vendor.replies = [wants("My-books_lend", book="Emma"), stream("Lent.")]
        async with editor(tmp_path, vendor) as peer:
            await peer.call("initialize", protocolVersion=1)
            new = await peer.call("session/new", cwd=str(tmp_path), mcpServers=[row])
            await peer.turn(new["result"]["sessionId"], "Lend me Emma")

    assert [params["toolCall"]["title"] for method, params in peer.asked if method == "session/request_permission"]
    assert "Lent: Emma" in told_to_model(vendor)


@pytest.mark.parametrize(
    "row",
    [
        {"name": "old", "type": "sse", "url": "http://127.0.0.1:1/sse", "headers": []},
        {"name": "none"},
        {"name": "web", "type": "http", "url": "ftp://127.0.0.1", "headers": []},
    ],
)
async def test_a_server_that_cannot_be_used_is_refused_with_the_session(tmp_path: Path, row: Any) -> None:
    async with editor(tmp_path) as peer:
        refused = await peer.call("session/new", cwd=str(tmp_path), mcpServers=[row])
        sessions = await peer.call("session/list")

    assert refused["error"]["code"] == -32602
    assert sessions["result"]["sessions"] == []


async def nobody(method: str, params: Any) -> None:
    del method, params


async def test_files_and_terminals_that_an_editor_never_answers_for_are_given_up_and_taken_back(tmp_path: Path) -> None:
    (source, to_us), (from_us, target) = os.pipe(), os.pipe()
    connection = RpcConnection(LineTransport(source, target), nobody, nobody)
    running = asyncio.create_task(connection.run())
    buffers = EditorBuffers(connection=connection, session="s", reads=True, writes=True, seconds=0.05)
    terminal = EditorTerminal(connection=connection, session="s", show=nobody, seconds=0.05)

    with pytest.raises(FileError):
        await buffers.read("/a")
    with pytest.raises(FileError):
        await terminal.run(["/bin/sh", "-c", "true"], folder=tmp_path, seconds=1, most=100)
    os.close(to_us)
    await asyncio.wait_for(running, 5)
    lines = [json.loads(line) for line in os.read(from_us, 1 << 16).splitlines()]

    assert [line["method"] for line in lines] == [
        "fs/read_text_file", "$/cancel_request", "terminal/create", "$/cancel_request",
    ]  # fmt: skip
    with pytest.raises(FileError):
        await buffers.write("/a", "text")
