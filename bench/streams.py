"""
What idle event streams cost: `python -m bench.streams [COUNT]` opens so many against a daemon of its own, tells one event to all of
them, and says how much its memory grew. A thousand are to cost less than 150 MB.
"""

from __future__ import annotations

import json
import resource
import selectors
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from commonplace.testing.daemon import Daemon, running_daemon

COUNT = 1_000
_PATIENCE = 60.0


def resident(pid: int) -> float:
    """MB of physical memory a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1000


def opened(daemon: Daemon) -> socket.socket:
    host, port = daemon.url.removeprefix("http://").split(":")
    stream = socket.create_connection((host, int(port)), timeout=_PATIENCE)
    request = f"GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {daemon.token}\r\n\r\n"
    stream.sendall(request.encode())
    return stream


def read_until(streams: list[socket.socket], wanted: bytes) -> float:
    """Read every stream until each has told `wanted`. How many seconds that took."""
    began, told = time.monotonic(), dict.fromkeys(streams, b"")
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            if time.monotonic() - began > _PATIENCE:
                raise TimeoutError(f"{len(waiting.get_map())} streams have not told {wanted!r}.")
            for key, _ in waiting.select(1.0):
                stream = key.fileobj
                assert isinstance(stream, socket.socket)
                told[stream] += stream.recv(65_536)
                if wanted in told[stream]:
                    waiting.unregister(stream)
    return time.monotonic() - began


def measure(count: int) -> dict[str, float]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        daemon = stack.enter_context(running_daemon(folder))
        client = stack.enter_context(daemon.client())
        client.post("/v1/records", json={"text": "before"}).raise_for_status()
        client.post("/v1/search", json={"text": "before"}).raise_for_status()
        before = resident(daemon.process.pid)
        streams = [stack.enter_context(opened(daemon)) for _ in range(count)]
        opening = read_until(streams, b"retry: 3000")
        idle = resident(daemon.process.pid)
        client.post("/v1/records", json={"text": "after"}).raise_for_status()
        telling = read_until(streams, b"record.created")
        after = resident(daemon.process.pid)
    return {
        "streams": count,
        "before_mb": before,
        "idle_mb": idle,
        "told_mb": after,
        "cost_mb": round(max(idle, after) - before, 1),
        "kb_a_stream": round(1000 * (max(idle, after) - before) / count, 1),
        "seconds_to_open": round(opening, 2),
        "seconds_to_tell_all": round(telling, 3),
    }


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT), indent=2))


if __name__ == "__main__":
    main()
