"""
Bytes that nobody well-meaning sends, over a real socket to a real daemon: each is refused or the line is closed, the daemon
goes on as if nothing had been, and its memory does not grow.
"""

import errno
import gzip
import json
import os
import re
import select
import socket
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from commonplace.errors import Unauthenticated
from commonplace.service.identity import Identity, Visit
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import Daemon, InProcess, running_daemon, served

PATIENCE = 2.0
"""Of the daemon, with a body."""
GROWTH = 48 << 20
STATM = Path("/proc/self/statm")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    env = {"COMMONPLACE_EMBEDDER": "none", "COMMONPLACE_REQUEST_TIMEOUT": str(PATIENCE), "COMMONPLACE_MAX_BODY_MB": "2"}
    with running_daemon(tmp_path_factory.mktemp("daemon") / "home", env=env) as running:
        yield running


def connected(daemon: Daemon) -> socket.socket:
    place = urlsplit(daemon.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=5)


def heard(connection: socket.socket) -> bytes:
    """All that comes back until the other side closes the line."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def asked(daemon: Daemon, *parts: bytes, pause: float = 0.0, half: bool = False) -> bytes:
    """`half`: we say that nothing more will come."""
    with connected(daemon) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            if half:
                connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            # The other side has had enough, and has said so already.
            if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                raise
        return heard(connection)


def head(
    daemon: Daemon, *more: str, path: str = "/v1/records", method: str = "POST", token: str | None = None
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token or daemon.token}", *more]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def posted(daemon: Daemon, body: bytes, *more: str, path: str = "/v1/records", kind: str = "application/json") -> bytes:
    told = (f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *more)
    return asked(daemon, head(daemon, *told, path=path) + body)


def status(told: bytes) -> int | None:
    """None: the line was closed without a word."""
    return int(told.split(b" ", 2)[1]) if told.startswith(b"HTTP/1.1 ") else None


def is_well(daemon: Daemon) -> bool:
    answer = httpx.get(f"{daemon.url}/ready", timeout=5)
    return daemon.process.poll() is None and answer.status_code == 200


DEEP = b'{"text":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
BODIES: dict[str, bytes] = {
    "bad utf-8": b'{"text": "\xff\xfe\xfa"}',
    "an overlong slash": b'{"text": "\xc0\xaf"}',
    "a surrogate in bytes": b'{"text": "\xed\xa0\x80"}',
    "a lone surrogate": b'{"text": "\\ud800"}',
    "utf-16": '{"text": "x"}'.encode("utf-16"),
    "utf-32": '{"text": "x"}'.encode("utf-32"),
    "deep": DEEP,
    "deep objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "deep and unclosed": b"[" * 100_000,
    "a number without end": b'{"text": "x", "importance": ' + b"9" * 100_000 + b"}",
    "a tiny number": b'{"text": "x", "importance": 1e-99999999999}',
    "no number": b'{"text": "x", "importance": Infinity}',
    "many names": b"{" + b",".join(b'"a%d":1' % number for number in range(50_000)) + b"}",
    "one name often": b'{"text":"x"' + b',"metadata":{}' * 20_000 + b',"key":1}',
    "nothing": b"",
    "nul": b"\0" * 1_000,
    "a byte order mark": b'\xef\xbb\xbf{"text": 1}',
    "quotes": b'"' * 100_001,
    "backslashes": b'{"text": "' + b"\\" * 100_001,
    "another kind of thing": b"[]",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_none_is_refused(daemon: Daemon, name: str) -> None:
    told = posted(daemon, BODIES[name])

    assert status(told) == 400
    assert b'"code"' in told
    assert is_well(daemon)


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "\xff",
        "json",
    ],
)
@pytest.mark.parametrize("path", ["/v1/records", "/memories/add", "/memory/put", "/api/agents"])
def test_a_body_of_another_kind_is_refused(daemon: Daemon, kind: str, path: str) -> None:
    told = posted(daemon, b'{"text": "x", "content": "x", "name": "x"}', path=path, kind=kind)

    assert status(told) in (400, 401, 415)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-ndjson", "text/event-stream"])
@pytest.mark.parametrize("token", ["", "cp_wrong"])
def test_what_is_too_large_is_refused_whatever_it_calls_itself_and_whoever_sends_it(
    daemon: Daemon, kind: str, token: str
) -> None:
    told = asked(
        daemon,
        head(daemon, f"Content-Type: {kind}", "Transfer-Encoding: chunked", token=token or None),
        *[b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"] * 4,
    )

    # A wrong key is refused before more is read than anybody may send. If more is still coming in, the answer may be lost with the
    # connection.
    assert status(told) in (401 if token else 413, None)
    assert is_well(daemon)


def test_a_bomb_is_not_unpacked(daemon: Daemon) -> None:
    bomb = gzip.compress(json.dumps({"text": "x" * (64 << 20)}).encode(), mtime=0)
    before = resident(daemon)

    told = [status(posted(daemon, bomb, f"Content-Encoding: {how}")) for how in ("gzip", "deflate", "br", "gzip, gzip")]

    assert len(bomb) < 1 << 20
    assert told == [400] * 4
    assert resident(daemon) - before < GROWTH


def test_bodies_that_trickle_are_given_up_and_others_are_served_meanwhile(daemon: Daemon) -> None:
    def trickled(kind: str) -> str:
        begun = head(daemon, f"Content-Type: {kind}", "Content-Length: 1000", path="/v1/import", token="cp_wrong")
        with connected(daemon) as connection:
            connection.sendall(begun)
            for _ in range(40):
                if select.select([connection], [], [], PATIENCE / 8)[0]:
                    # A byte that crosses the answer on its way may cost us the answer, not the end of the line.
                    return "given up" if status(heard(connection)) in (408, None) else "answered"
                connection.sendall(b"x")
        return "never given up"

    with ThreadPoolExecutor(24) as pool:
        slow = [pool.submit(trickled, kind) for kind in ("application/json", "text/plain") for _ in range(12)]
        with daemon.client() as client:
            answers = [client.post("/v1/records", json={"text": f"note {n}"}).status_code for n in range(10)]
        given_up = [one.result(timeout=15) for one in slow]

    assert answers == [201] * 10
    assert given_up == ["given up"] * 24


def test_half_a_request_leaves_nothing_behind(daemon: Daemon) -> None:
    begun = head(daemon, "Content-Type: application/json", "Content-Length: 100")
    with daemon.client() as client:
        before = client.get("/v1/stats").json()["records"]

        told = [asked(daemon, begun + b'{"text": "ha', half=True), asked(daemon, begun[:-20], half=True)]
        for _ in range(50):
            with connected(daemon) as connection:
                connection.sendall(begun + b'{"text": "half"')

        assert {status(one) for one in told} <= {400, None}
        assert client.get("/v1/stats").json()["records"] == before
    assert '"unexpected"' not in daemon.log.read_text(encoding="utf-8")


FIRST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LINES: dict[str, bytes] = {
    "garbage after a request": FIRST + b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" * 100,
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100 + b"\r\n\r\n",
    "two lengths": FIRST[:-2] + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a length and chunks": FIRST[:-2] + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": FIRST[:-2] + b"Content-Length: -5\r\n\r\n",
    "a length that is none": FIRST[:-2] + b"Content-Length: 0x10\r\n\r\n",
    "a length without end": FIRST[:-2] + b"Content-Length: " + b"9" * 50 + b"\r\n\r\n",
    "a chunk that is none": FIRST[:-2] + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n",
    "a chunk without end": FIRST[:-2] + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 30 + b"\r\n",
    "a header without a name": FIRST[:-2] + b": x\r\n\r\n",
    "a name with a space": FIRST[:-2] + b"X Y: z\r\n\r\n",
    "nul in a header": FIRST[:-2] + b"X: a\0b\r\n\r\n",
    "nul in a path": b"GET /health\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /v1/me HTTP/1.1\r\n\r\n",
    "a connect": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    "a method of its own": b"BREW /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_no_request_end_the_connection(daemon: Daemon, name: str) -> None:
    told = asked(daemon, LINES[name], half=True)

    answers = [int(found) for found in re.findall(rb"HTTP/1\.1 (\d+)", told)]
    assert all(answer == 200 or 400 <= answer < 500 for answer in answers)
    assert answers != [200, 200]
    assert is_well(daemon)


@pytest.mark.parametrize(
    "more",
    [
        "X-Tenant: \xff\xfe",
        "X-Tenant: a/b/c",
        "X-Tenant: ../..",
        "X-Client-Id: \x80",
        "X-Request-Id: " + "x" * 5_000,
        "If-None-Match: " + '"' * 2_000,
        "Last-Event-ID: \xb2",
        "Idempotency-Key: \xff",
        "Host: evil.example",
        "Origin: http://[",
        "traceparent: 00-" + "f" * 5_000,
        "Cookie: " + "a=b; " * 5_000,
        "X-Forwarded-For: 1.2.3.4, \xff",
        "Content-Type: \xff; charset=\xff",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==",
        "Expect: 100-continue\r\nContent-Length: 99999999",
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/records/0197", "/v1/me?x=%ff%00", "/%ff/%00/..%2f", "//health", "/v1/records/%ED%A0%80"]
)
def test_headers_and_addresses_of_every_kind_are_answered_without_a_mistake(
    daemon: Daemon, more: str, path: str
) -> None:
    told = asked(
        daemon,
        head(daemon, more, *([] if "Connection" in more else ["Connection: close"]), path=path, method="GET"),
        half=True,
    )

    assert status(told) is None or 200 <= (status(told) or 0) < 500
    assert daemon.process.poll() is None


# ---- and afterwards


def resident(daemon: Daemon) -> int:
    statm = Path(f"/proc/{daemon.process.pid}/statm")
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="only Linux tells how much memory a process has")
def test_after_all_this_the_daemon_is_no_larger_and_has_made_no_mistake(daemon: Daemon) -> None:
    hostile: Sequence[bytes] = (*LINES.values(), *(head(daemon, "Content-Length: 9") + one for one in BODIES.values()))
    large = head(daemon, "Content-Type: application/x-ndjson", "Content-Length: 900000000", token="cp_wrong")
    for one in hostile:
        asked(daemon, one, half=True)
    before = resident(daemon)

    for _ in range(3):
        for one in hostile:
            asked(daemon, one, half=True)
        asked(daemon, large, *[b"x" * (1 << 20)] * 60)

    assert resident(daemon) - before < GROWTH
    assert is_well(daemon)
    lines = [json.loads(line) for line in daemon.lines() if line.startswith("{")]
    assert [line for line in lines if line["level"] == "error" or line.get("status", 0) >= 500] == []


# ---- a key that is wrong tells nothing by the way it is refused


class Followed:
    """A store, or a port of it, as it is; notes what is asked of it."""

    def __init__(self, followed: Any, asked: list[str] | None = None) -> None:
        self._followed = followed
        self.asked: list[str] = [] if asked is None else asked

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        value = getattr(self._followed, name)
        return value if callable(value) else Followed(value, self.asked)


@pytest.fixture
async def running(home: Path) -> Any:
    async with served(home, clock=FakeClock()) as begun:
        yield begun


@pytest.mark.anyio
async def test_a_wrong_a_revoked_and_an_expired_key_cost_the_same_work_and_get_the_same_answer(
    running: InProcess,
) -> None:
    services, admin = running.services, caller("admin")
    clock = services.desk.clock
    assert isinstance(clock, FakeClock)
    revoked, revoked_secret = await services.identity.create_key(admin, "revoked", "admin")
    await services.identity.revoke_key(admin, revoked.id)
    soon = clock.now() + timedelta(seconds=1)
    _, expired_secret = await services.identity.create_key(admin, "expired", "admin", expires_at=soon)
    clock.advance(timedelta(minutes=1))
    secrets = ("cp_" + "0" * 43, revoked_secret, expired_secret, revoked_secret[:-1], "x", "x" * 5_000)

    work: list[list[str]] = []
    answers: list[tuple[int, str, list[str]]] = []
    for secret in secrets:
        followed = Followed(services.desk.store)
        identity = Identity(replace(services.desk, store=followed), b"\1" * 32)
        with pytest.raises(Unauthenticated):
            await identity.principal(Visit(door="native", address="127.0.0.1"), secret)
        work.append(followed.asked)
        answer = await running.stranger.get("/v1/me", headers={"Authorization": f"Bearer {secret}"})
        answers.append((answer.status_code, answer.text, sorted(answer.headers)))

    assert work == [work[0]] * len(secrets)
    assert answers == [answers[0]] * len(secrets)


@pytest.mark.anyio
async def test_nor_does_a_wrong_pair_tell_whether_there_is_such_a_user(running: InProcess) -> None:
    services, admin = running.services, caller("admin")
    await services.identity.create_user(admin, "ana")
    _, other = await services.identity.create_user(admin, "bo")
    pairs = (("ana", "uk_x"), ("nobody", "uk_x"), ("ana", other), ("nobody", other), ("ana", "x" * 250))

    work: list[list[str]] = []
    answers: list[tuple[int, str]] = []
    for user, secret in pairs:
        followed = Followed(services.desk.store)
        identity = Identity(replace(services.desk, store=followed), None)
        with pytest.raises(Unauthenticated):
            await identity.person(Visit(door="gateway", address="127.0.0.1"), "default/default", user, secret)
        work.append(followed.asked)
        body = {"user_id": user, "user_key": secret, "query": "x"}
        answer = await running.stranger.post("/memories/search", json=body)
        answers.append((answer.status_code, answer.text))

    assert work == [work[0]] * len(pairs)
    assert answers == [answers[0]] * len(pairs)
