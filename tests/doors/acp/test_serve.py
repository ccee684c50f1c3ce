"""`commonplace acp`: a real process, spoken to line by line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

HELLO = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": 1}}


class Editor:
    def __init__(self, folder: Path) -> None:
        env = {**os.environ, "COMMONPLACE_HOME": str(folder / "home"), "COMMONPLACE_EMBEDDER": "none"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "acp"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=env, text=True,
        )  # fmt: skip
        self.bound = Timer(50, self.process.kill)
        self.bound.start()
        self.updates: list[Any] = []

    def ask(self, line: object) -> Any:
        """Its answer; what is told before it is kept in `updates`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line if isinstance(line, str) else json.dumps(line)}\n")
        self.process.stdin.flush()
        while "id" not in (answer := json.loads(self.process.stdout.readline())):
            self.updates.append(answer["params"]["update"])
        return answer

    def call(self, method: str, **params: Any) -> Any:
        return self.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def leave(self) -> int:
        self.process.communicate()
        self.bound.cancel()
        return self.process.returncode


def test_a_session_is_talked_in_and_loaded_by_another_process(tmp_path: Path) -> None:
    first, second = Editor(tmp_path), Editor(tmp_path)
    hello = first.ask(HELLO)
    id = first.call("session/new", cwd=str(tmp_path), mcpServers=[])["result"]["sessionId"]
    ended = first.call("session/prompt", sessionId=id, prompt=[{"type": "text", "text": "When do we ship?"}])
    codes = [first.leave()]
    loaded = second.call("session/load", sessionId=id, cwd=str(tmp_path), mcpServers=[])
    listed = second.call("session/list")
    second.call("session/delete", sessionId=id)
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
    assert loaded["result"] == {}
    assert [one["sessionId"] for one in listed["result"]["sessions"]] == [id]
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
