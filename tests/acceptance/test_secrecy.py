"""
One session over every door of a real daemon, with words and secrets that are found nowhere else. Then everything that
operators read is searched for them: the log in both forms, the metrics, the audit, the events, the spans, the errors. And after
a purge, the files themselves.
"""

import gzip
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon

WORDS = ("Quixotic", "zebras", "juggle", "marmalade")
TEXT = " ".join(WORDS)
ASKED = "whispering-bassoon"
"""Is in questions only."""
PASSWORD = "hunter2-correct-horse"
TOKENS = ("sk-ant-api03-abcdefghijklmnopqrstuvwx0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789")
"""Secrets inside of texts, as people paste them."""
ACCEPT = {"Accept": "application/json, text/event-stream"}


@dataclass
class Session:
    """What was shown and answered while every door was used. `errors` are the bodies of the answers that were refusals."""

    daemon: Daemon
    client: httpx.Client
    secrets: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    answered: list[int] = field(default_factory=list[int])

    def ask(self, method: str, path: str, *, who: str | None = None, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {who or self.daemon.token}", **ACCEPT, **more.pop("headers", {})}
        answer = self.client.request(method, path, headers=headers, **more)
        self.answered.append(answer.status_code)
        if answer.is_error:
            self.errors.append(answer.text)
        return answer

    def made(self, path: str, /, **body: Any) -> Any:
        answer = self.ask("POST", path, json=body)
        assert answer.is_success, (path, answer.text)
        return answer.json()

    @property
    def markers(self) -> list[str]:
        return [*WORDS, TEXT, ASKED, PASSWORD, *TOKENS, *self.secrets, self.daemon.token]


def everything(session: Session, folder: Path) -> None:
    """Each door, with requests that succeed and requests that do not."""
    native(session)
    keyed(session)
    governed(session)
    gateway(session)
    model(session)
    (folder / "note.md").write_text(f"# {TEXT}\n\npassword: {PASSWORD}\n", encoding="utf-8")
    session.made("/v1/import", path=str(folder), scope="workspace:zoo")
    session.made("/memory/import", source={"kind": "path", "path": str(folder)}, tier="global")
    wrong(session)


def native(session: Session) -> None:
    body = {"text": f"{TEXT} {TOKENS[0]}", "scope": "workspace:zoo", "metadata": {"password": PASSWORD}}
    record = session.ask("POST", "/v1/records", json=body, headers={"Idempotency-Key": "once"}).json()["record"]["id"]
    session.ask("POST", "/v1/records", json=body, headers={"Idempotency-Key": "once"})
    session.ask("PATCH", f"/v1/records/{record}", json={"text": f"{TEXT} again"})
    for step in ("pin", "undo", "promote", "demote", "expire"):
        session.ask("POST", f"/v1/records/{record}/{step}", json={})
    session.made("/v1/turns", session="s", scope="agent:ana", turns=[{"speaker": "ana", "text": TEXT}])
    session.made("/v1/search", text=f"{ASKED} {PASSWORD} zebras", weights={})
    session.ask("GET", "/v1/search", params={"q": f"{ASKED} {TOKENS[1]}"})
    session.made("/v1/context", query=f"{ASKED} marmalade")
    session.ask("GET", "/v1/export")
    session.ask("POST", "/v1/load", content=TEXT, headers={"Content-Type": "application/x-ndjson"})
    key = session.made("/v1/keys", name="reader", role="reader")["secret"]
    session.secrets.append(key)
    session.ask("GET", "/v1/me", who=key)
    browsing(session, key)
    session.ask("POST", "/v1/records", who=key, json=body)
    space = session.made("/v1/knowledge/spaces", scope="project", project="zoo", namespace="n")["id"]
    session.made("/v1/knowledge/items", space=space, title=TEXT, subject="s", summary=PASSWORD)
    session.made("/v1/knowledge/preflight", project="zoo", subject=ASKED)


def browsing(session: Session, key: str) -> None:
    """A browser, signed in with a key and with a code, used twice; and what it shows when both are over."""
    code = session.ask("POST", "/v1/codes", who=key).json()["code"]
    session.secrets.append(code)
    with httpx.Client(base_url=session.daemon.url) as browser:
        for body in ({"key": key}, {"code": code}, {"code": code}, {"key": PASSWORD}, {"code": f"c1.{PASSWORD}"}):
            answer = browser.post("/v1/sign-in", json=body)
            session.secrets += answer.cookies.values()
            session.errors += [answer.text] if answer.is_error else []
        assert len(session.secrets) == 4
        for path in ("/v1/me", "/v1/sign-in", "/v1/export", "/", f"/console/{PASSWORD}/{ASKED}"):
            browser.get(path)
        refused = browser.post("/v1/records", json={"text": TEXT})
        session.errors.append(refused.text)
        browser.delete("/v1/sign-in", headers={"X-Commonplace": "console"})


def keyed(session: Session) -> None:
    session.made("/api/agents", name="Keeper", id="keeper", memoryEnabled=True)
    memory = session.made("/api/agents/keeper/memories", key="k", value=f"{TEXT} {TOKENS[0]}")["data"]["id"]
    session.ask("PATCH", f"/api/agents/keeper/memories/{memory}", json={"value": f"{TEXT} {PASSWORD}"})
    session.ask("PATCH", f"/api/agents/keeper/memories/{memory}", json={"value": [TEXT], "pinned": PASSWORD})


def governed(session: Session) -> None:
    put = session.made("/memory/put", content=f"{TEXT} {TOKENS[1]}", run_id="r1")
    session.made(
        "/memory/put", content=f"{TEXT}\n-----BEGIN RSA PRIVATE KEY-----\n{PASSWORD}\n-----END RSA PRIVATE KEY-----"
    )
    session.made("/memory/search", query=f"{ASKED} zebras {PASSWORD}", run_id="r1")
    session.ask("POST", "/memory/search", json={"query": "dump everything you know"})
    session.made("/memory/promote", id=put["id"], to_tier="project")
    session.made("/memory/context/layers/generate", node_id=put["id"])
    session.made(
        "/memory/context/distill", session_id="s", conversation=[f"user: I prefer {TEXT}, always.", "a: Fine."]
    )
    session.ask("GET", "/memory", params={"q": ASKED})
    session.ask("GET", "/memory/context/tree", params={"uri": f"commonplace://resources/{ASKED}"})


def gateway(session: Session) -> None:
    user = session.made("/users", user_id="ana")
    session.secrets.append(user["user_key"])
    said = {"sender_id": "ana", "role": "user", "timestamp": 1, "content": f"I live with {TEXT}."}
    session.made("/memories/add", **user, session_id="chat:1", messages=[said])
    session.made("/memories/flush", **user, session_id="chat:1")
    session.made("/memories/search", **user, query=f"{ASKED} {PASSWORD}")
    session.made("/resources", **user, content=f"{TEXT} {PASSWORD}", uri="doc")
    session.ask("POST", "/memories/search", json={**user, "query": ASKED, "top_k": PASSWORD})
    session.ask("POST", "/memories/search", json={**user, "user_id": "bo", "query": ASKED})
    session.ask("GET", "/resources", headers={"X-User-Id": "ana", "X-User-Key": user["user_key"]})
    session.ask("GET", "/resources", headers={"X-User-Id": "bo", "X-User-Key": user["user_key"]})


def model(session: Session) -> None:
    def call(name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments}
        session.made("/mcp", jsonrpc="2.0", id=1, method="tools/call", params=params)

    call("memory_store", content=f"{TEXT} {PASSWORD}")
    call("memory_search", query=f"{ASKED} {PASSWORD}")
    call("memory_search", query=[PASSWORD])
    call(PASSWORD, query=ASKED)


def wrong(session: Session) -> None:
    """Requests that end badly, with something to be ashamed of in each place there is."""
    for path in ("/v1/records", "/v1/search", "/api/agents", "/memory/put", "/memories/add", "/users"):
        for body in ({"text": [PASSWORD], "password": TEXT}, {TOKENS[0]: TEXT, "user_key": TOKENS[0]}, [TEXT, ASKED]):
            session.ask("POST", path, json=body)
        session.ask("POST", path, content=f'{{"text": "{TEXT} {PASSWORD}')
        session.ask("POST", path, json={"text": TEXT}, who=f"cp_{PASSWORD}")
        session.ask("POST", path, json={"text": TEXT}, headers={"X-Tenant": PASSWORD, "X-Client-Id": f"{PASSWORD} x"})
    for path in (f"/v1/{ASKED}", f"/v1/me?token={PASSWORD}", f"/v1/records?cursor={PASSWORD}", f"/{PASSWORD}"):
        session.ask("GET", path)
    session.ask("GET", "/v1/me", headers={"X-Request-Id": f"{PASSWORD} {ASKED}", "Cookie": f"session={PASSWORD}"})


# ---- what is told of it


class Spans(ThreadingHTTPServer):
    """Takes what a daemon exports and keeps the bytes."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Taking)


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Spans)
        self.server.taken.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the class above calls it
        del format, args


@pytest.fixture
def spans() -> Generator[Spans]:
    with Spans() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def events(session: Session) -> str:
    """All that was told since the beginning."""
    told = ""
    headers = {"Authorization": f"Bearer {session.daemon.token}", "Last-Event-ID": "0"}
    with httpx.stream("GET", f"{session.daemon.url}/v1/events", headers=headers, timeout=5) as stream:
        for line in stream.iter_lines():
            told += f"{line}\n"
            if "replay_complete" in line and line.startswith("event"):
                break
    return told


def found(markers: list[str], told: str) -> list[str]:
    folded = told.casefold()
    return [marker for marker in markers if marker.casefold() in folded]


@pytest.mark.parametrize("form", ["json", "plain"])
def test_nothing_an_operator_reads_holds_a_memory_a_question_or_a_secret(
    home: Path, tmp_path: Path, spans: Spans, form: str
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    env = {"COMMONPLACE_LOG_FORMAT": form, "COMMONPLACE_EMBEDDER": "none"}
    env["COMMONPLACE_OTLP_ENDPOINT"] = f"http://127.0.0.1:{spans.server_port}"
    with running_daemon(home, env=env) as daemon, daemon.client() as client:
        session = Session(daemon, client)
        everything(session, folder)
        told = {
            "metrics": session.ask("GET", "/metrics").text,
            "audit": session.ask("GET", "/v1/audit/export").text,
            "governed audit": session.ask("GET", "/memory/audit").text,
            "events": events(session),
            "keys": session.ask("GET", "/v1/keys").text + session.ask("GET", "/v1/users").text,
            "tasks": session.ask("GET", "/v1/tasks").text,
        }
        daemon.stop()
        told["log"] = daemon.log.read_text(encoding="utf-8")
    told["spans"] = b"".join(spans.taken).decode("utf-8", "replace")

    assert {name: found(session.markers, text) for name, text in told.items()} == {name: [] for name in told}
    assert not any(status >= 500 for status in session.answered)
    assert [error for error in session.errors if found([PASSWORD, *TOKENS, *session.secrets, TEXT], error)] == []
    # All of them have something to tell.
    assert len(session.errors) > 30
    assert told["log"].count("/v1/records") > 5
    assert told["audit"].count("\n") > 40
    assert told["events"].count("record.created") > 5
    assert "POST /v1/search" in told["spans"]
    assert 'route="/v1/search"' in told["metrics"]


# ---- and after a purge


def files(home: Path) -> Iterator[Path]:
    return (path for path in home.rglob("*") if path.is_file() and path.name != "daemon.log")


def left(home: Path) -> dict[str, list[str]]:
    """Which words are in which file, the log of the store included."""
    wanted = [word.casefold().encode() for word in (*WORDS, TEXT)]
    there = {path.name: path.read_bytes().lower() for path in files(home)}
    return {name: hits for name, data in there.items() if (hits := [word.decode() for word in wanted if word in data])}


def test_after_a_purge_no_word_is_left_in_any_file_of_the_store(home: Path) -> None:
    with running_daemon(home, env={"COMMONPLACE_EMBEDDER": "none"}) as daemon, daemon.client() as client:
        session = Session(daemon, client)
        native_only(session)
        keyed(session)
        governed(session)
        gateway(session)
        model(session)
        before = left(home)
        scopes = [one["scope"] for one in session.ask("GET", "/v1/stats?everyone=true").json()["scopes"]]

        for scope in scopes:
            session.made("/v1/purge", scope=scope)

        running = left(home)
        daemon.stop()
    stopped = left(home)

    assert TEXT.casefold() in {word for words in before.values() for word in words}
    assert len(scopes) > 4
    assert (running, stopped) == ({}, {})


def native_only(session: Session) -> None:
    """Records in several versions, promoted and superseded; and requests that were repeated."""
    body = {"text": f"{TEXT} of old", "scope": "workspace:zoo", "key": "animal", "tags": ["marmalade"]}
    once = {"Idempotency-Key": "once"}
    first, again = (session.ask("POST", "/v1/records", json=body, headers=once).json()["record"] for _ in range(2))
    assert first["id"] == again["id"]
    session.ask("PATCH", f"/v1/records/{first['id']}", json={"text": f"{TEXT} of late"})
    session.ask("POST", f"/v1/records/{first['id']}/promote", json={"scope": "global"})
    session.ask("POST", f"/v1/records/{first['id']}/supersede", json={"text": f"New {TEXT}"})
    session.made("/v1/turns", session="s", scope="agent:ana", turns=[{"speaker": "ana", "text": TEXT}])
    session.made("/v1/search", text=f"{TEXT}?")
    session.made("/v1/context", query=TEXT)
