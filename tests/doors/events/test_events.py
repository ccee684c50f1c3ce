"""The stream of events, over a socket."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import Frame, Listener


def put(daemon: Daemon, text: str, scope: str = "workspace:web", **more: Any) -> dict[str, Any]:
    with daemon.client() as client:
        response = client.post("/v1/records", json={"text": text, "scope": scope}, **more)
    assert response.status_code == 201, response.text
    return response.json()


def key(daemon: Daemon, role: str, *scopes: str) -> dict[str, str]:
    """The headers of somebody with a new key."""
    with daemon.client() as client:
        body = {"name": role, "role": role, **({"scopes": scopes} if scopes else {})}
        response = client.post("/v1/keys", json=body)
    assert response.status_code == 201, response.text
    return {"Authorization": f"Bearer {response.json()['secret']}"}


def of_records(found: list[Frame]) -> list[Frame]:
    return [frame for frame in found if frame.type.startswith("record.")]


def test_a_write_is_heard_and_its_text_is_not(daemon: Daemon) -> None:
    with Listener(daemon.url, daemon.headers) as listener:
        record = put(daemon, "the secret recipe", headers={"X-Client-Id": "kitchen"})["record"]
        [heard] = of_records(listener.wait(of_records))

    assert listener.headers["content-type"].startswith("text/event-stream")
    assert (listener.headers["cache-control"], listener.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert listener.read.startswith(b"retry: 3000\n\n")
    assert heard.document == {
        "id": heard.id,
        "v": 1,
        "type": "record.created",
        "at": heard.document["at"],
        "scope": "workspace:web",
        "actor": "operator",
        "client": "kitchen",
        "data": {"id": record["id"], "version": 1, "kind": record["kind"]},
    }
    assert b"recipe" not in listener.read


@pytest.mark.parametrize("by", ["header", "query"])
def test_whoever_comes_back_is_told_what_they_missed(daemon: Daemon, by: str) -> None:
    with Listener(daemon.url, daemon.headers) as listener:
        put(daemon, f"first {by}")
        last = of_records(listener.wait(of_records))[-1].id
    missed = [put(daemon, f"{number} {by}")["record"]["id"] for number in range(3)]

    told: dict[str, Any] = {"last": last} if by == "header" else {"last_event_id": last}
    with Listener(daemon.url, daemon.headers, **told) as listener:
        listener.wait(lambda found: any(frame.type == "replay_complete" for frame in found))
        later = put(daemon, f"later {by}")["record"]["id"]
        found = listener.wait(lambda found: len(of_records(found)) == 4)

    assert [frame.data["id"] for frame in of_records(found)] == [*missed, later]
    assert [frame.type for frame in found].index("replay_complete") == 3


def test_a_reader_of_one_scope_hears_of_that_scope(daemon: Daemon) -> None:
    with Listener(daemon.url, key(daemon, "reader", "user:ana")) as listener:
        put(daemon, "of bob", "user:bob")
        put(daemon, "of ana", "user:ana")
        found = listener.wait(of_records)

    assert [frame.document["scope"] for frame in found] == ["user:ana"]


def test_types_are_filtered(daemon: Daemon) -> None:
    with Listener(daemon.url, daemon.headers, type=["record.deleted", "nothing.*"]) as listener:
        id = put(daemon, "to be deleted")["record"]["id"]
        with daemon.client() as client:
            client.delete(f"/v1/records/{id}")
        found = listener.wait(bool)

    assert [frame.type for frame in found] == ["record.deleted"]


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"max_queued": "15"}, 400, "invalid_input"),
        ({"max_queued": "2049"}, 400, "invalid_input"),
        ({"max_queued": "many"}, 400, "invalid_input"),
        ({"type": "Record"}, 400, "invalid_input"),
        ({"scope": "nowhere"}, 400, "invalid_scope"),
        ({"last_event_id": "x"}, 400, "invalid_input"),
        ({"last_event_id": "-1"}, 400, "invalid_input"),
        ({"last_event_id": "9" * 20}, 400, "invalid_input"),
        ({"scope": "user:bob"}, 403, "forbidden"),
    ],
)
def test_what_cannot_be_heard_is_refused(daemon: Daemon, asked: dict[str, str], status: int, code: str) -> None:
    headers = key(daemon, "reader", "user:ana")

    answer = httpx.get(f"{daemon.url}/v1/events", params=asked, headers=headers, timeout=5)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_nobody_hears_without_a_key(daemon: Daemon) -> None:
    assert httpx.get(f"{daemon.url}/v1/events", timeout=5).status_code == 401


def test_open_streams_are_counted(daemon: Daemon) -> None:
    def count() -> float:
        with daemon.client() as client:
            lines = client.get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("commonplace_event_subscribers")))

    def settles(wanted: float) -> bool:
        deadline = time.monotonic() + 5
        while count() != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        return count() == wanted

    assert settles(0)
    with Listener(daemon.url, daemon.headers), Listener(daemon.url, daemon.headers):
        assert settles(2)
    assert settles(0)


def test_a_daemon_that_stops_ends_its_streams_also_those_nobody_reads(tmp_path: Path) -> None:
    with running_daemon(tmp_path, env={"COMMONPLACE_EMBEDDER": "none"}) as daemon:
        host, port = daemon.url.removeprefix("http://").split(":")
        with (
            socket.create_connection((host, int(port))) as idle,
            Listener(daemon.url, daemon.headers) as listener,
        ):
            request = f"GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {daemon.token}\r\n\r\n"
            idle.sendall(request.encode())
            assert idle.recv(12) == b"HTTP/1.1 200"

            began = time.monotonic()
            code = daemon.stop()

            assert listener.ended.wait(5)
        assert code == 0
        assert time.monotonic() - began < 5


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory is in use")
def test_a_stream_that_waits_costs_little(daemon: Daemon) -> None:
    def resident() -> int:
        status = Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0])

    host, port = daemon.url.removeprefix("http://").split(":")
    request = f"GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {daemon.token}\r\n\r\n".encode()
    before = resident()
    with ExitStack() as stack:
        streams = [stack.enter_context(socket.create_connection((host, int(port)), timeout=5)) for _ in range(200)]
        for stream in streams:
            stream.sendall(request)
        assert {stream.recv(12) for stream in streams} == {b"HTTP/1.1 200"}
        grown = resident() - before

    assert grown < 200 * 150
