"""The daemon as a process: what reaches it over a socket, how it starts, and how it stops."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from commonplace.compose.daemon import environment, given_secrets
from commonplace.settings import load_settings
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import completion, running_vendor

COMMAND = [sys.executable, "-m", "commonplace"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon") / "home") as running:
        yield running


def connected(daemon: Daemon) -> socket.socket:
    place = urlsplit(daemon.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=5)


def answer(connection: socket.socket) -> bytes:
    """All that comes back until the other side closes or resets the connection."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def asked(daemon: Daemon, *parts: bytes) -> bytes:
    with connected(daemon) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return answer(connection)


def command(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *args], capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=30, check=False
    )


def code_of(refused: subprocess.CompletedProcess[str]) -> str:
    """The code of the last error told; log lines may stand before it."""
    return re.findall(r'"code": "(\w+)"', refused.stderr)[-1]


BEGIN = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "head",
    [
        BEGIN + b"".join(b"X-%d: y\r\n" % number for number in range(10_000)) + b"\r\n",
        BEGIN + b"X-Long: " + b"y" * (1 << 20) + b"\r\n\r\n",
        BEGIN + b"X-Endless: " + b"y" * (1 << 20),
        b"GET /health?" + b"y" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        BEGIN + b"X-Almost: " + b"y" * 70_000 + b"\r\n\r\n",
    ],
    ids=["many", "long", "endless", "url", "almost"],
)
def test_a_flood_of_headers_is_refused_and_does_no_harm(daemon: Daemon, head: bytes) -> None:
    told = asked(daemon, head)

    # Where the flood is still coming in, the answer may be lost with the connection.
    assert told == b"" or told.startswith(b"HTTP/1.1 431")
    assert httpx.get(f"{daemon.url}/health").status_code == 200


@pytest.mark.parametrize("head", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"NO\r\n\r\n"])
def test_what_is_no_http_is_refused(daemon: Daemon, head: bytes) -> None:
    assert asked(daemon, head).startswith(b"HTTP/1.1 400")


def test_as_many_headers_as_people_send_are_fine(daemon: Daemon) -> None:
    many = {f"X-{number}": "y" * 400 for number in range(100)}

    assert httpx.get(f"{daemon.url}/health", headers=many).status_code == 200


def test_a_body_too_large_is_refused_before_it_is_sent(daemon: Daemon) -> None:
    head = f"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {daemon.token}\r\n"

    told = asked(daemon, head.encode() + b"Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n")

    assert told.startswith(b"HTTP/1.1 413")
    assert b"body_too_large" in told


def test_the_token_is_for_its_owner_only_and_is_printed_where_it_is_asked_for(daemon: Daemon) -> None:
    printed = command("token", env={"COMMONPLACE_HOME": str(daemon.home)})

    assert printed.stdout.strip() == daemon.token
    assert (daemon.home / "token").stat().st_mode & 0o777 == 0o600
    assert daemon.token not in daemon.log.read_text(encoding="utf-8")


def test_the_first_thing_it_says_is_where_it_is_and_what_to_try(daemon: Daemon) -> None:
    told = daemon.log.read_text(encoding="utf-8")
    [tried] = re.findall(r'curl -H "Authorization: Bearer \$\(commonplace token\)" (\S+)', told)

    assert httpx.get(tried, headers=daemon.headers).status_code == 200
    assert all(json.loads(line)["event"] for line in daemon.lines() if line.startswith("{"))


def test_an_address_that_is_taken_is_told_as_such(daemon: Daemon, home: Path) -> None:
    port = str(urlsplit(daemon.url).port)

    refused = command("serve", "--port", port, "--json")

    assert (refused.returncode, code_of(refused)) == (4, "address_taken")


def test_a_file_that_is_no_store_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a store " * 1000)

    refused = command("serve", "--port", "0", "--store", str(tmp_path / "notes.txt"), "--json")

    assert (refused.returncode, code_of(refused)) == (1, "not_a_store")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_being_answered_is_finished_before_the_daemon_stops(home: Path, number: signal.Signals) -> None:
    with running_daemon(home) as daemon, connected(daemon) as connection:
        head = f"POST /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {daemon.token}\r\n"
        connection.sendall(head.encode() + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{")
        # An answer here means that the one above has been begun.
        httpx.get(f"{daemon.url}/health")

        daemon.process.send_signal(number)
        refused = until_refused(daemon)
        connection.sendall(b"}")

        assert answer(connection).startswith(b"HTTP/1.1 404")
        assert refused
        assert daemon.process.wait(timeout=15) == 0
        assert '"event": "stopped"' in daemon.lines()[-1]


def until_refused(daemon: Daemon) -> bool:
    """No new connection is taken any more."""
    for _ in range(100):
        try:
            httpx.get(f"{daemon.url}/health", timeout=1)
        except httpx.TransportError:
            return True
    return False


def test_daemons_that_start_at_once_on_one_home_agree_on_the_token(home: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        printed = [ran.stdout for ran in pool.map(command, ["token"] * 6)]

    assert len(set(printed)) == 1
    assert len(printed[0].strip()) >= 32
    assert [path.name for path in home.iterdir()] == ["token"]


def test_two_daemons_may_serve_one_file(home: Path) -> None:
    with running_daemon(home) as one, running_daemon(home) as other:
        ready = [httpx.get(f"{running.url}/ready", headers=running.headers).json() for running in (one, other)]

    assert ready == [{"status": "ready", "store": "up"}] * 2


def test_several_workers_answer_for_each_other_and_stop_together(home: Path) -> None:
    with running_daemon(home, "--workers", "2") as daemon:
        for _ in range(30):
            httpx.get(f"{daemon.url}/health")
        text = httpx.get(f"{daemon.url}/metrics", headers=daemon.headers).text

        assert daemon.stop() == 0

    [told] = [line for line in text.splitlines() if "requests_total" in line and '"/health"' in line]
    assert told.endswith(" 30.0")
    assert sum('"event": "stopped"' in line for line in daemon.lines()) == 2


def test_a_token_of_ones_own_is_used_and_not_kept(home: Path) -> None:
    with running_daemon(home, env={"COMMONPLACE_TOKEN": "one-of-my-own-choosing"}) as daemon:
        mine = httpx.get(f"{daemon.url}/metrics", headers=daemon.headers)

    assert mine.status_code == 200
    assert not (home / "token").exists()


@pytest.mark.parametrize("place", ["environment", "file"])
def test_a_token_that_can_be_guessed_is_refused_at_the_start(home: Path, place: str) -> None:
    home.mkdir()
    (home / "token").write_text("nineteen-characters\n" if place == "file" else "")
    env = {"COMMONPLACE_TOKEN": "nineteen-characters"} if place == "environment" else {}

    refused = command("serve", "--port", "0", "--json", env=env)

    assert refused.returncode == 2
    assert json.loads(refused.stderr)["error"]["code"] == "invalid_input"
    assert "nineteen-characters" not in refused.stderr


def test_a_token_of_twenty_characters_is_long_enough(home: Path) -> None:
    with running_daemon(home, env={"COMMONPLACE_TOKEN": "twenty-characters-ok"}) as daemon:
        answer = httpx.get(f"{daemon.url}/metrics", headers=daemon.headers)

    assert answer.status_code == 200


# ---- secrets of several workers

KEY = "sk-the-key-of-the-model"
TALK = "user: I live in Lisbon. Our CI runs on Buildkite.\n\nassistant: " + "Could you tell me a little more? " * 10


def environments(group: int) -> list[bytes]:
    """The environment of every process in a session."""
    processes = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    found: list[bytes] = []
    for process in processes:
        with suppress(OSError):
            if os.getsid(int(process.name)) == group:
                found.append((process / "environ").read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("place", ["environment", "file"])
def test_every_worker_has_the_key_of_the_model_and_no_log_has_it(home: Path, place: str) -> None:
    home.mkdir()
    env = {"COMMONPLACE_EMBEDDER": "none", **({"COMMONPLACE_LLM_API_KEY": KEY} if place == "environment" else {})}
    with running_vendor() as vendor:
        vendor.replies = [completion(text='{"facts": []}')]
        key = f'api_key = "{KEY}"\n' if place == "file" else ""
        (home / "config.toml").write_text(
            f'[llm]\nmodel = "openai:small"\nbase_url = "{vendor.url}"\nprices = "small=0/0"\n{key}'
        )
        with running_daemon(home, "--workers", "2", env=env, patience=120) as daemon:
            for n in range(8):
                body = {"transcript": f"{TALK} {n}", "agents": ["ana"], "workspace": "web", "session": f"chat-{n}"}
                # A connection each, so that both workers are asked.
                asked = httpx.post(
                    f"{daemon.url}/v1/extract", params={"wait": "true"}, json=body, headers=daemon.headers, timeout=60
                )
                assert asked.status_code == 200, asked.text
            shown = environments(daemon.process.pid)
            log = "".join(daemon.lines())

    assert len(vendor.keys) >= 8
    assert set(vendor.keys) == {f"Bearer {KEY}"}
    assert KEY not in log
    assert "*****" not in log
    if place == "file":
        assert not any(KEY.encode() in environment for environment in shown)


def test_workers_get_a_secret_that_only_this_process_was_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_OPENAI_API_KEY", "from-the-environment")
    settings = load_settings(token="given-by-the-caller-alone", llm_api_key=KEY, workers=2)
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)

    secrets = given_secrets(settings)

    assert secrets == {"COMMONPLACE_TOKEN": "given-by-the-caller-alone", "COMMONPLACE_LLM_API_KEY": KEY}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    assert load_settings().token == settings.token
