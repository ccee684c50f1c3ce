"""A memory gateway on this machine that keeps what it is sent, says what it is told to, and fails when it is told to."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from commonplace.testing.vendor import Reply


@dataclass
class ScriptedGateway:
    """Answers each path with its reply in `replies`; `requests` are the paths and bodies it got, in order."""

    url: str
    replies: dict[str, Reply]
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    arrival: Event = field(default_factory=Event)
    """Set as soon as there is a request."""
    over: Event = field(default_factory=Event)

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def find(self, *results: dict[str, Any]) -> None:
        """Let every search find these."""
        self.replies["/memories/search"] = Reply(body={"results": list(results)})


@contextmanager
def running_gateway() -> Generator[ScriptedGateway]:
    class _Handler(_GatewayHandler):
        @property
        def gateway(self) -> ScriptedGateway:
            return gateway

    server = _Server(("127.0.0.1", 0), _Handler)
    replies = {
        "/memories/search": Reply(body={"results": []}),
        "/memories/add": Reply(body={"message_count": 2, "status": "accumulated"}),
        "/memories/flush": Reply(body={"status": "extracted"}),
    }
    gateway = ScriptedGateway(url=f"http://127.0.0.1:{server.server_port}", replies=replies)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield gateway
    finally:
        gateway.over.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked may have heard enough, and gone."""


class _GatewayHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def gateway(self) -> ScriptedGateway:
        raise NotImplementedError

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.gateway.requests.append((self.path, body))
        self.gateway.arrival.set()
        reply = self.gateway.replies.get(self.path, Reply(body={}, status=404))
        if reply.hang:
            self.gateway.over.wait(10)
        if reply.hang or not reply.status:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        payload = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library calls it so
        pass
