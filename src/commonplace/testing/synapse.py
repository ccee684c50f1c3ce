"""
A real Synapse on a free port of this machine, and people who use it.

It is installed in an environment of its own (`make .venv-synapse/.installed`): it is no dependency of ours.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

PATIENCE: Final = 60.0
SERVER_NAME: Final = "localhost"
API: Final = "/_matrix/client/v3"
_SECRET: Final = "of-the-tests"
_LOOK_EVERY: Final = 0.05
_NO_LIMIT: Final = {"per_second": 10_000, "burst_count": 10_000}


@dataclass(slots=True)
class SynapseProcess:
    """It may be stopped and started again: what it has is in its folder."""

    python: Path
    folder: Path
    config: Path
    url: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Ready when it returns. Raises RuntimeError: it ended, or was not ready in time."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COMMONPLACE_"))
        }
        with (self.folder / "output.log").open("ab") as output:
            self.process = subprocess.Popen(
                [str(self.python), "-m", "synapse.app.homeserver", "--config-path", str(self.config)],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        _wait_until_ready(self.process, self.url, self.folder)

    def stop(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


@dataclass(frozen=True, slots=True)
class Synapse:
    """`admin` is a user who may do everything at this server. `clients` are closed with it."""

    url: str
    admin: MatrixPerson
    clients: ExitStack
    server: SynapseProcess

    def person(self, name: str, *, admin: bool = False) -> MatrixPerson:
        """Somebody new, whose id begins with `name`."""
        return _register(self.url, self.clients, f"{name}-{secrets.token_hex(3)}", name.title(), admin=admin)

    def limit(self, person: MatrixPerson, *, per_second: int, burst: int) -> None:
        """From now on the server slows somebody down; per_second 0: it does not."""
        path = f"/_synapse/admin/v1/users/{quote(person.id)}/override_ratelimit"
        self.admin.ask("POST", path, {"messages_per_second": per_second, "burst_count": burst})


@dataclass(slots=True)
class MatrixPerson:
    """Somebody with a client of their own."""

    http: httpx.Client
    id: str
    name: str
    token: str
    numbers: Any = field(default_factory=lambda: count(1))

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What the server answers; it must be a yes."""
        answer = self.http.request(method, path, json=body, **more)
        assert answer.is_success, (method, path, answer.status_code, answer.text[:300])
        return answer.json()

    def new_room(self, *invited: MatrixPerson, name: str = "", direct: bool = False, encrypted: bool = False) -> str:
        body: dict[str, Any] = {
            "preset": "trusted_private_chat" if direct else "private_chat",
            "is_direct": direct,
            "invite": [person.id for person in invited],
        }
        if name:
            body["name"] = name
        if encrypted:
            content = {"algorithm": "m.megolm.v1.aes-sha2"}
            body["initial_state"] = [{"type": "m.room.encryption", "state_key": "", "content": content}]
        return self.ask("POST", f"{API}/createRoom", body)["room_id"]

    def invite(self, room: str, person: MatrixPerson) -> None:
        self.ask("POST", f"{API}/rooms/{quote(room)}/invite", {"user_id": person.id})

    def join(self, room: str) -> None:
        self.ask("POST", f"{API}/join/{quote(room)}", {})

    def send(self, room: str, kind: str, content: dict[str, Any]) -> str:
        """The id of the event."""
        path = f"{API}/rooms/{quote(room)}/send/{kind}/t{next(self.numbers)}-{secrets.token_hex(3)}"
        return self.ask("PUT", path, content)["event_id"]

    def say(self, room: str, text: str, *, to: MatrixPerson | None = None, **more: Any) -> str:
        """`to`: whom it mentions, as clients do."""
        content: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {}, **more}
        if to is not None:
            link = f'<a href="https://matrix.to/#/{to.id}">{to.name}</a>: {text}'
            content |= {
                "body": f"{to.name}: {text}",
                "format": "org.matrix.custom.html",
                "formatted_body": link,
                "m.mentions": {"user_ids": [to.id]},
            }
        return self.send(room, "m.room.message", content)

    def react(self, room: str, event: str, mark: str) -> str:
        relation = {"rel_type": "m.annotation", "event_id": event, "key": mark}
        return self.send(room, "m.reaction", {"m.relates_to": relation})

    def events(self, room: str) -> list[dict[str, Any]]:
        """What happened in a room, in order."""
        answer = self.ask("GET", f"{API}/rooms/{quote(room)}/messages?dir=b&limit=500")
        return answer["chunk"][::-1]

    def messages(self, room: str, by: MatrixPerson) -> list[SentMessage]:
        """What somebody said, with the last text of each."""
        messages: dict[str, SentMessage] = {}
        for event in self.events(room):
            content = event["content"]
            if event["type"] != "m.room.message" or event["sender"] != by.id or not content:
                continue
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                messages[relation["event_id"]].texts.append(content["m.new_content"]["body"])
            else:
                messages[event["event_id"]] = SentMessage(
                    id=event["event_id"], content=content, texts=[content["body"]]
                )
        return list(messages.values())

    def members(self, room: str) -> set[str]:
        return set(self.ask("GET", f"{API}/rooms/{quote(room)}/joined_members")["joined"])

    def reactions(self, room: str, event: str, by: MatrixPerson) -> list[str]:
        """The marks of somebody that stand on a message now."""
        events = [event for event in self.events(room) if event["type"] == "m.reaction" and event["sender"] == by.id]
        relations = [entry["content"].get("m.relates_to", {}) for entry in events]
        return [relation["key"] for relation in relations if relation.get("event_id") == event]


@dataclass(slots=True)
class SentMessage:
    """A message as it was sent, and the texts it has had since."""

    id: str
    content: dict[str, Any]
    texts: list[str]

    @property
    def text(self) -> str:
        return self.texts[-1]

    @property
    def answers(self) -> str | None:
        return self.content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")

    @property
    def thread(self) -> str | None:
        relation = self.content.get("m.relates_to", {})
        return relation.get("event_id") if relation.get("rel_type") == "m.thread" else None


def wait_for(look: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What `look` finds, once it finds anything."""
    deadline = time.monotonic() + seconds
    while not (result := look()):
        assert time.monotonic() < deadline, "It did not come."
        time.sleep(_LOOK_EVERY)
    return result


@contextmanager
def running_synapse(python: Path, folder: Path) -> Generator[Synapse]:
    """
    A server in a folder of its own, ready when the block begins. `python` is of the environment that has it.

    Raises:
        RuntimeError: it ended, or was not ready in time.
    """
    port = _free_port()
    config = _configure(folder, port)
    url = f"http://127.0.0.1:{port}"
    server = SynapseProcess(python, folder, config, url)
    try:
        server.start()
        with ExitStack() as clients:
            yield Synapse(url, _register(url, clients, "admin", "Admin", admin=True), clients, server)
    finally:
        server.stop()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/health", timeout=2.0, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(_LOOK_EVERY)
    raise RuntimeError(f"Synapse did not start.\n{(folder / 'output.log').read_text(errors='replace')[-3_000:]}")


def _configure(folder: Path, port: int) -> Path:
    """It is told to talk to nobody, to count nothing, and to slow nobody down."""
    folder.mkdir(parents=True, exist_ok=True)
    seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    (folder / "signing.key").write_text(f"ed25519 a_test {seed}\n", encoding="utf-8")
    log = {
        "version": 1,
        "handlers": {"out": {"class": "logging.StreamHandler"}},
        "root": {"level": "WARNING", "handlers": ["out"]},
    }
    (folder / "log.yaml").write_text(json.dumps(log), encoding="utf-8")
    config = {
        "server_name": SERVER_NAME,
        "pid_file": str(folder / "homeserver.pid"),
        "listeners": [
            {
                "port": port,
                "bind_addresses": ["127.0.0.1"],
                "type": "http",
                "tls": False,
                "resources": [{"names": ["client"], "compress": False}],
            }
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "log_config": str(folder / "log.yaml"),
        "registration_shared_secret": _SECRET,
        "macaroon_secret_key": _SECRET,
        "form_secret": _SECRET,
        "report_stats": False,
        "trusted_key_servers": [],
        "presence": {"enabled": False},
        "rc_message": _NO_LIMIT,
        "rc_registration": _NO_LIMIT,
        "rc_login": dict.fromkeys(("address", "account", "failed_attempts"), _NO_LIMIT),
        "rc_joins": dict.fromkeys(("local", "remote"), _NO_LIMIT),
        "rc_joins_per_room": _NO_LIMIT,
        "rc_invites": dict.fromkeys(("per_room", "per_user", "per_issuer"), _NO_LIMIT),
    }
    # JSON is YAML.
    path = folder / "homeserver.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def _register(url: str, clients: ExitStack, name: str, display_name: str, *, admin: bool = False) -> MatrixPerson:
    """By the secret that the configuration shares with us."""
    http = clients.enter_context(httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False))
    path = "/_synapse/admin/v1/register"
    nonce = http.get(path).json()["nonce"]
    password = secrets.token_hex(8)
    parts = "\0".join((nonce, name, password, "admin" if admin else "notadmin"))
    mac = hmac.new(_SECRET.encode(), parts.encode(), hashlib.sha1).hexdigest()
    body = {
        "nonce": nonce,
        "username": name,
        "displayname": display_name,
        "password": password,
        "admin": admin,
        "mac": mac,
    }
    answer = http.post(path, json=body)
    assert answer.is_success, answer.text
    token = answer.json()["access_token"]
    http.headers["Authorization"] = f"Bearer {token}"
    return MatrixPerson(http=http, id=answer.json()["user_id"], name=display_name, token=token)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
