"""A long question over many scopes, asked of a real daemon: others are answered meanwhile, and a stop does not wait for it."""

import json
import socket
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from commonplace import open_memory
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.values.note import Note

SCOPES = 400
EACH = 15
WORDS = [f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(1_400)]
LONG = " ".join(WORDS)
CALLERS = 4
PATIENCE = 30.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many passages that the first search finds none of them in memory."""
    path = tmp_path_factory.mktemp("load") / "memory.db"
    with open_memory(path, embedder="none") as memory:
        for scope in range(SCOPES):
            memory.put_many(
                [
                    Note(
                        text=" ".join(WORDS[(31 * scope + 7 * n + k) % 1_400] for k in range(20)),
                        scope=f"workspace:p{scope}",
                    )
                    for n in range(EACH)
                ]
            )
    return path


@pytest.fixture
def daemon(store: Path, tmp_path: Path) -> Generator[Daemon]:
    with running_daemon(tmp_path / "home", "--store", str(store), patience=60.0) as running:
        yield running


def search(daemon: Daemon, text: str) -> httpx.Response:
    with daemon.client() as client:
        return client.post("/v1/search", json={"text": text, "limit": 5}, timeout=PATIENCE)


def test_four_long_searches_take_search_from_nobody(daemon: Daemon) -> None:
    with ThreadPoolExecutor(CALLERS + 1) as threads:
        long = [threads.submit(search, daemon, LONG) for _ in range(CALLERS)]
        with daemon.client() as client:
            health = client.get("/health")
        short = threads.submit(search, daemon, f"{WORDS[3]} {WORDS[4]}").result(timeout=PATIENCE)

    assert health.status_code == 200
    assert short.status_code == 200
    assert len(short.json()["hits"]) == 5
    assert [answer.result().status_code for answer in long] == [200] * CALLERS


def test_a_stop_does_not_wait_for_long_searches(daemon: Daemon) -> None:
    place = urlsplit(daemon.url)
    body = json.dumps({"text": LONG, "limit": 5}).encode()
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {daemon.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    callers = [socket.create_connection((place.hostname or "", place.port or 0), timeout=5) for _ in range(CALLERS)]
    for caller in callers:
        caller.sendall(head.encode() + body)

    code = daemon.stop(patience=PATIENCE)

    for caller in callers:
        caller.close()
    assert code == 0
