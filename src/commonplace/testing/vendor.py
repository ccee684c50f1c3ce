"""A server on this machine that speaks the protocol of OpenAI, says what it is told to, and fails when it is told to."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread
from typing import Any, Final

INPUT_TOKENS: Final = 50
OUTPUT_TOKENS: Final = 7
"""What each answer of `completion` says it took."""
_PATIENCE: Final = 10.0
_LOOK_EVERY: Final = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """
    `hang`: nothing more is said, behind a `body` that is streamed or at all, until the server ends. `status` 0: the connection is cut.
    `gate`: each frame of a stream but the first waits until it is released once more.
    `until`: nothing is said before it is set.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    gate: Semaphore | None = None
    until: Event | None = None


def completion(
    *, text: str | None = None, calls: Sequence[tuple[str, str]] = (), counted: bool = True, **message: Any
) -> Reply:
    """What a model says, and the tools it wants: their names, and their arguments as JSON."""
    tools = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    told = {"role": "assistant", "content": text, **({"tool_calls": tools} if tools else {}), **message}
    choice = {"index": 0, "message": told, "finish_reason": "tool_calls" if tools else "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1_780_000_000, "model": "small", "choices": [choice]}
    total = INPUT_TOKENS + OUTPUT_TOKENS
    usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": total}
    return Reply(body={**body, **({"usage": usage} if counted else {})})


def stream(
    *pieces: str,
    calls: Sequence[tuple[str, str]] = (),
    hang: bool = False,
    thought: str | None = None,
    gate: Semaphore | None = None,
    cached: int = 0,
    thoughts: int = 0,
) -> Reply:
    """
    What a model thinks and says, piece by piece, and the tools it wants. `hang`: it never gets to the end. `cached` and `thoughts` are the
    tokens that it says it had read before, and thought.
    """
    tools = [
        {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "reasoning_content": thought}] if thought else []
    deltas += [{"role": "assistant", "content": piece} for piece in pieces]
    deltas += [{"role": "assistant", "tool_calls": tools}] if tools else []
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1_780_000_000, "model": "small"}
    chunks: list[dict[str, Any]] = [{**head, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if not hang:
        end: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if tools else "stop"}
        usage = {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": thoughts},
        }
        chunks += [{**head, "choices": [end]}, {**head, "choices": [], "usage": usage}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + ("" if hang else "data: [DONE]\n\n")
    return Reply(body=body, headers={"Content-Type": "text/event-stream"}, hang=hang, gate=gate)


def answering(counted: bool = True, **fields: Any) -> Reply:
    """An answer in the form that was asked for."""
    return completion(calls=(("final_result", json.dumps(fields)),), counted=counted)


@dataclass
class Vendor:
    """Answers with `replies`, one a request, and with the last of them for ever."""

    url: str
    replies: list[Reply] = field(default_factory=list[Reply])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])
    over: Event = field(default_factory=Event)

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def running_vendor() -> Generator[Vendor]:
    class Handler(_Answering):
        @property
        def vendor(self) -> Vendor:
            return vendor

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    vendor = Vendor(url=f"http://127.0.0.1:{server.server_port}/v1")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield vendor
    finally:
        vendor.over.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def vendor(self) -> Vendor:
        raise NotImplementedError

    def do_POST(self) -> None:
        self.vendor.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.vendor.keys.append(self.headers.get("Authorization"))
        reply = self.vendor.next()
        if reply.until is not None:
            self._await(reply.until)
        if reply.status and not (reply.hang and reply.body is None):
            self._answer(reply)
        if reply.hang:
            self.vendor.over.wait(_PATIENCE)
        if reply.hang or not reply.status:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    def _await(self, opened: Event) -> None:
        """However long that takes; at the latest until the server ends."""
        while not opened.wait(_LOOK_EVERY) and not self.vendor.over.is_set():
            pass

    def _answer(self, reply: Reply) -> None:
        payload = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        if not reply.hang:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        # Whoever asked may be gone: a turn that was cancelled, a process that was killed.
        with suppress(OSError):
            self._write(reply, payload)

    def _write(self, reply: Reply, payload: bytes) -> None:
        if reply.gate is None:
            self.wfile.write(payload)
            return
        for number, frame in enumerate(payload.split(b"\n\n")[:-1]):
            if number and not reply.gate.acquire(timeout=_PATIENCE):
                break
            self.wfile.write(frame + b"\n\n")
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library calls it so
        pass
