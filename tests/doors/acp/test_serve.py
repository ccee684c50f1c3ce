"""`commonplace acp`: a real process, spoken to line by line."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema
from tests.doors.acp.editor_process import Editor

from commonplace.testing.vendor import running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

HELLO = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": 1}}


def _model(url: str) -> dict[str, str]:
    return {
        "COMMONPLACE_LLM_MODEL": "openai:small",
        "COMMONPLACE_LLM_BASE_URL": url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
    }


class PermittingClient(acp.Client):
    """Permits everything once, and keeps what it was told."""

    def __init__(self) -> None:
        self.kinds: list[list[str]] = []
        self.differences: list[str] = []
        self.updates: list[str] = []

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        del session_id, kwargs
        self.kinds.append([option.kind for option in options])
        content = tool_call.content or []
        self.differences += [part.new_text for part in content if isinstance(part, schema.FileEditToolCallContent)]
        option = next(option.option_id for option in options if option.kind == "allow_once")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=option))

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        del session_id, kwargs
        self.updates.append(update.session_update)


def test_a_session_is_talked_in_and_loaded_by_another_process(tmp_path: Path) -> None:
    first, second = Editor(tmp_path), Editor(tmp_path)
    hello = first.ask(HELLO)
    id = first.call("session/new", cwd=str(tmp_path), mcpServers=[])["result"]["sessionId"]
    ended = first.call("session/prompt", sessionId=id, prompt=[{"type": "text", "text": "When do we ship?"}])
    codes = [first.leave()]
    loaded = second.call("session/load", sessionId=id, cwd=str(tmp_path), mcpServers=[])
    listed = second.call("session/list")
    deleted = second.call("session/delete", sessionId=id)
    gone = second.call("session/load", sessionId=id, cwd=str(tmp_path), mcpServers=[])
    codes.append(second.leave())

    assert hello["id"] == "a"
    assert hello["result"]["agentCapabilities"]["loadSession"] is True
    assert ended["result"]["stopReason"] == "end_turn"
    assert "agent_message_chunk" in {update["sessionUpdate"] for update in first.updates}
    assert second.updates[0] == {
        "sessionUpdate": "user_message_chunk",
        "content": {"type": "text", "text": "When do we ship?"},
    }
    assert "agent_message_chunk" in {update["sessionUpdate"] for update in second.updates}
    assert loaded["result"]["modes"]["currentModeId"] == "default"
    assert [one["sessionId"] for one in listed["result"]["sessions"]] == [id]
    assert deleted["result"] == {}
    assert gone["error"]["code"] == -32002
    assert codes == [0, 0]


def test_what_is_no_request_is_refused_and_the_next_one_answered(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    refused = [editor.ask(line)["error"]["code"] for line in ("{", "[1]", '{"id": [1]}')]
    unknown = editor.call("session/dance")["error"]["code"]
    invalid = editor.call("session/prompt")["error"]["code"]
    hello = editor.ask(HELLO)

    assert refused == [-32700, -32600, -32600]
    assert (unknown, invalid) == (-32601, -32602)
    assert hello["result"]["protocolVersion"] == 1
    assert editor.leave() == 0


async def test_the_protocols_own_client_sees_a_permission_with_its_difference_and_the_file_is_written(
    tmp_path: Path,
) -> None:
    call = ("write_file", json.dumps({"path": "notes.md", "content": "We ship on Fridays\n"}))
    # The library asks for a whole client, and calls what an agent asks for.
    client = PermittingClient()  # pyright: ignore[reportAbstractUsage]
    with running_vendor() as vendor:
        vendor.replies = [stream("I write it down.", calls=(call,)), stream("It is in notes.md.")]
        environment = {
            **os.environ,
            "COMMONPLACE_HOME": str(tmp_path / "home"),
            "COMMONPLACE_EMBEDDER": "none",
            **_model(vendor.url),
        }
        command = (sys.executable, "-m", "commonplace", "acp")
        async with acp.spawn_agent_process(client, *command, env=environment, cwd=tmp_path) as (connection, _):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
            session = await connection.new_session(cwd=str(tmp_path), mcp_servers=[])
            ended = await connection.prompt(
                session_id=session.session_id, prompt=[acp.text_block("Write down when we ship")]
            )

    assert ended.stop_reason == "end_turn"
    assert client.kinds == [["allow_once", "allow_always", "reject_once"]]
    assert client.differences == ["We ship on Fridays\n"]
    assert (tmp_path / "notes.md").read_text() == "We ship on Fridays\n"
    assert {"tool_call", "tool_call_update", "agent_message_chunk"} <= set(client.updates)


def test_an_agent_that_is_told_to_end_leaves_no_command_running(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    call = ("shell", json.dumps({"command": f"echo $$ > {pid}; exec sleep 1000"}))
    with running_vendor() as vendor:
        vendor.replies = [stream("I wait.", calls=(call,)), stream("Never said.")]
        editor = Editor(tmp_path, **_model(vendor.url))
        editor.ask(HELLO)
        id = editor.call("session/new", cwd=str(tmp_path), mcpServers=[])["result"]["sessionId"]
        prompt = [{"type": "text", "text": "Wait"}]
        question = editor.ask({"id": 2, "method": "session/prompt", "params": {"sessionId": id, "prompt": prompt}})
        outcome = {"outcome": "selected", "optionId": "allow_once"}
        editor.write({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})
        deadline = time.monotonic() + 20
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.05)
        editor.process.terminate()
        code = editor.leave()

    assert question["method"] == "session/request_permission"
    assert code == 0
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
