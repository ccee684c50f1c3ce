"""
An agent that speaks the Agent Client Protocol over stdin and stdout, and plays a script: for tests of whoever hosts one.

    python acp_child.py SCRIPT.json

The script is an object. `greeting` and `session` are the answers to `initialize` and to `session/new` (an object with `error` is an error),
`known` are ids of sessions that it can load, `turns` a list of steps for each prompt, the last one for all that follow; `log` is a file that
everything it is sent is written to. A step has one of the keys of `_STEPS`, or one of those below it. It needs nothing but the standard library, so that it
starts at once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

Fields = dict[str, Any]
_SESSION = "session-1"


class _Child:
    def __init__(self, script: Fields) -> None:
        self.script = script
        self.turns: list[list[Fields]] = script.get("turns") or [[]]
        self.played = 0
        self.next_id = 0
        self.session = _SESSION
        self.is_cancelled = False
        self.servers: list[Fields] = []
        self.memory: subprocess.Popen[bytes] | None = None
        self.log = Path(script["log"]).open("a", encoding="utf-8") if script.get("log") else None  # noqa: SIM115 - it is open to the end

    def replay(self, lines: list[Fields]) -> None:
        """Play what an agent said once: each message of the client has to come before what was said behind it."""
        ids: dict[Any, Any] = {}
        for line in lines:
            message = line["msg"]
            if line["dir"] == "incoming":
                is_answer = "method" not in message
                self.send({**message, "id": ids[message["id"]]} if is_answer else message)
                continue
            while not _is_like(came := self.read(), message):
                self.handle(came)
            if "method" in message:
                ids[message.get("id")] = came.get("id")

    def serve(self) -> None:
        self.write_log({"pid": os.getpid(), "environment": dict(os.environ), "cwd": str(Path.cwd())})
        while True:
            self.handle(self.read())

    # ---- messages

    def read(self) -> Fields:
        line = sys.stdin.buffer.readline()
        if not line:
            if self.script.get("stays"):
                time.sleep(1_000)
            sys.exit(0)
        message: Fields = json.loads(line)
        self.write_log(message)
        return message

    def write_log(self, message: Fields) -> None:
        if self.log is not None:
            self.log.write(json.dumps(message) + "\n")
            self.log.flush()

    def send(self, message: Fields) -> None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def handle(self, message: Fields) -> None:
        method, params = message.get("method"), cast(Fields, message.get("params") or {})
        if method == "session/cancel":
            self.is_cancelled = True
        elif method == "session/prompt":
            self.prompt(message["id"])
        elif method is not None and "id" in message:
            self.reply(message["id"], self.answer_of(method, params))

    def reply(self, id_: Any, answer: Any) -> None:
        if answer == "hang":
            self.hang()
        if isinstance(answer, dict) and "error" in answer:
            self.send({"id": id_, "error": answer["error"]})
        else:
            self.send({"id": id_, "result": answer})

    def answer_of(self, method: str, params: Fields) -> Any:
        script = self.script
        if method == "initialize":
            for text in script.get("before", ()):
                self.say(text)
            able = {"loadSession": bool(script.get("known")), "sessionCapabilities": script.get("sessions", {})}
            return script.get("greeting") or {"protocolVersion": 1, "agentCapabilities": able}
        self.servers = params.get("mcpServers", self.servers)
        if method == "session/new":
            return script.get("session") or {"sessionId": self.session}
        if method in ("session/load", "session/resume"):
            if params["sessionId"] not in script.get("known", ()):
                return {"error": {"code": -32002, "message": "Resource not found"}}
            self.session = params["sessionId"]
            self.update({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "What was said."}})
            return script.get("session") or {}
        if method in ("session/set_mode", "session/set_config_option", "session/set_model"):
            return script.get("set", {})
        return {"error": {"code": -32601, "message": "Method not found"}}

    def update(self, fields: Fields) -> None:
        self.send({"method": "session/update", "params": {"sessionId": self.session, "update": fields}})

    def status(self, meta: Fields) -> None:
        """An empty piece of a message, with something beside it."""
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}}
        self.send(
            {"method": "session/update", "params": {"sessionId": self.session, "update": update, "_meta": dict(meta)}}
        )

    # ---- a turn

    def prompt(self, id_: Any) -> None:
        steps = self.turns[min(self.played, len(self.turns) - 1)]
        self.played += 1
        self.is_cancelled = False
        end: Any = {"stopReason": "end_turn"}
        for step in steps:
            match step:
                case {"end": answer}:
                    end = answer
                case {"text": text}:
                    self.chunks(step.get("times", 1), text)
                case {"ask": params}:
                    self.request("session/request_permission", {**step, "params": params})
                case {"request": method}:
                    self.request(method, step)
                case _:
                    [(name, value)] = step.items()
                    _STEPS[name](self, value)
        self.reply(id_, {"stopReason": "cancelled"} if self.is_cancelled else end)

    def request(self, method: str, step: Fields) -> None:
        id_ = step.get("id", f"request-{self.next_id}")
        self.next_id += 1
        self.send({"id": id_, "method": method, "params": {"sessionId": self.session, **step.get("params", {})}})
        while (message := self.read()).get("id") != id_ or "method" in message:
            self.handle(message)

    def say(self, text: str) -> None:
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()

    def complain(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def wait_for_cancel(self) -> None:
        while not self.is_cancelled:
            self.handle(self.read())

    def spawn(self, where: str) -> None:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=where == "away")
        self.write_log({"grandchild": child.pid})

    def hang(self) -> None:
        time.sleep(1_000)

    def await_file(self, path: str) -> None:
        """Until somebody has written it."""
        while not Path(path).exists() or not Path(path).read_text(encoding="utf-8"):
            time.sleep(0.02)

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def use_memory(self, call: Fields) -> None:
        """Call a tool of the first MCP server that it was given, and write the answer into the log."""
        if self.memory is None:
            server = self.servers[0]
            command = [server["command"], *server["args"]]
            self.memory = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            about = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "child", "version": "0"},
            }
            self.ask_memory({"id": 0, "method": "initialize", "params": about})
            self.ask_memory({"method": "notifications/initialized"})
        self.write_log({"memory": self.ask_memory({"id": 1, "method": "tools/call", "params": call})})

    def ask_memory(self, message: Fields) -> Any:
        memory = self.memory
        assert memory is not None
        assert memory.stdin is not None
        assert memory.stdout is not None
        memory.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        memory.stdin.flush()
        return json.loads(memory.stdout.readline()) if "id" in message else None

    def flood(self, lines: int) -> None:
        piece = b"nonsense " * 100 + b"\n"
        for _ in range(lines):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()

    def chunks(self, count: int, text: str) -> None:
        for _ in range(count):
            self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


_STEPS: dict[str, Callable[[_Child, Any], object]] = {
    "update": _Child.update,
    "status": _Child.status,
    "send": _Child.send,
    "print": _Child.say,
    "complain": _Child.complain,
    "oversize": lambda child, size: child.say("x" * size),
    "flood": _Child.flood,
    "memory": _Child.use_memory,
    "spawn": _Child.spawn,
    "wait_for_cancel": lambda child, _: child.wait_for_cancel(),
    "await_file": _Child.await_file,
    "hang": lambda child, _: child.hang(),
    "exit": lambda _, code: os._exit(code),
    "die": lambda child, _: child.die(),
}
"""Beside them `text`, which is said `times` over; `ask`, the parameters of a permission; `request`, a method with its `params`; `end`, the answer."""


def _is_like(message: Fields, recorded: Fields) -> bool:
    if "method" in recorded:
        return message.get("method") == recorded["method"]
    return "method" not in message and message.get("id") == recorded["id"]


def main() -> None:
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    child = _Child(script)
    if "trace" in script:
        lines = Path(script["trace"]).read_text(encoding="utf-8").splitlines()
        child.replay([json.loads(line) for line in lines])
    child.serve()


if __name__ == "__main__":
    main()
