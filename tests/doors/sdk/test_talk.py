"""When a request is sent again, and when it is not: against a server that does as the test says."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace import AsyncClient, Client
from commonplace.errors import (
    CommonplaceError,
    DaemonUnavailable,
    Forbidden,
    InvalidFile,
    InvalidInput,
    StoreUnavailable,
    TimedOut,
    TooManyRequests,
)
from commonplace.sdk import talk
from commonplace.sdk.event_listener import MAX_FRAME

ME = {"subject": "x", "tenant": "a/b", "role": "reader", "scopes": None, "operator": False, "key": None, "client": None}
Step = httpx.Response | Exception


class Scripted:
    """Answers one after the other, and remembers what was asked."""

    def __init__(self, *steps: Step) -> None:
        self._steps: Iterator[Step] = iter(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = next(self._steps)
        if isinstance(step, Exception):
            raise step
        return step

    def client(self) -> Client:
        return Client("http://127.0.0.1:1", "token", transport=httpx.MockTransport(self))


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits; how long they would have."""
    told: list[float] = []
    monkeypatch.setattr("time.sleep", told.append)
    return told


def ok() -> httpx.Response:
    return httpx.Response(200, json=ME)


def refused(status: int, code: str = "store_busy", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": "No."}}, headers=headers)


PASSING: list[Callable[[], Step]] = [
    lambda: httpx.ConnectError("refused"),
    lambda: httpx.ReadError("reset"),
    lambda: httpx.RemoteProtocolError("gone"),
    lambda: refused(429, "rate_limit_exceeded"),
    lambda: refused(502),
    lambda: refused(503),
    lambda: httpx.Response(504, text="<html>"),
]


@pytest.mark.parametrize("step", PASSING)
def test_a_read_is_sent_again_where_that_may_help(step: Callable[[], Step], pauses: list[float]) -> None:
    server = Scripted(step(), step(), ok())

    me = server.client().me()

    assert (me.subject, len(server.requests)) == ("x", 3)
    assert 0.1 <= pauses[0] <= 0.2 <= pauses[1] <= 0.4


def test_a_write_is_sent_again_under_the_same_key() -> None:
    server = Scripted(httpx.ReadError("reset"), refused(503), refused(400, "invalid_text"))

    with pytest.raises(InvalidInput):
        server.client().put("x")

    keys = {request.headers["Idempotency-Key"] for request in server.requests}
    assert (len(server.requests), len(keys)) == (3, 1)


def test_two_writes_have_two_keys() -> None:
    server = Scripted(refused(400, "invalid_text"), refused(400, "invalid_text"))
    client = server.client()

    for _ in range(2):
        with pytest.raises(InvalidInput):
            client.put("x")

    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 2


def test_a_write_without_a_key_is_never_sent_again() -> None:
    server = Scripted(httpx.ReadError("reset"))

    with pytest.raises(DaemonUnavailable):
        server.client().purge(source="x")

    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 422, 500])
def test_what_will_not_change_is_not_asked_again(status: int) -> None:
    server = Scripted(refused(status, "forbidden"))

    with pytest.raises(Forbidden):
        server.client().me()

    assert len(server.requests) == 1


def test_attempts_come_to_an_end() -> None:
    server = Scripted(*[httpx.ConnectError("refused")] * 10)

    with pytest.raises(DaemonUnavailable):
        server.client().me()

    assert len(server.requests) == talk.ATTEMPTS


def test_retry_after_is_kept_to(pauses: list[float]) -> None:
    server = Scripted(refused(429, "rate_limit_exceeded", **{"Retry-After": "2"}), ok())

    server.client().me()

    assert 2.0 <= pauses[0] <= 2.2


def test_a_wait_that_is_too_long_is_told_instead(pauses: list[float]) -> None:
    server = Scripted(refused(429, "rate_limit_exceeded", **{"Retry-After": "3600"}))

    with pytest.raises(TooManyRequests):
        server.client().me()

    assert pauses == []


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [("7", 7, 7), ("Sun, 01 Jan 2090 00:00:00 GMT", 1e8, 1e10), ("Sun, 01 Jan 2012 00:00:00 GMT", 0, 0)],
)
def test_retry_after_is_seconds_or_a_date(written: str, least: float, most: float) -> None:
    wait = talk.wait_named(talk.HttpReply(status=429, body=b"", headers={"retry-after": written}))

    assert wait is not None
    assert least <= wait <= most


@pytest.mark.parametrize("written", ["", "soon", "-1", "١"])
def test_a_retry_after_that_says_nothing_counts_as_none(written: str) -> None:
    wait = talk.wait_named(talk.HttpReply(status=429, body=b"", headers={"retry-after": written}))

    assert wait is None or wait >= 0


def test_no_answer_in_time_is_told_as_such() -> None:
    server = Scripted(*[httpx.ReadTimeout("slow")] * 10)

    with pytest.raises(TimedOut):
        server.client().me()


def test_an_error_of_a_later_version_is_told_with_its_code_and_status() -> None:
    server = Scripted(refused(418, "teapot"), refused(403, "moon_is_full"))
    client = server.client()

    with pytest.raises(CommonplaceError) as unknown:
        client.me()
    with pytest.raises(Forbidden) as related:
        client.me()

    assert unknown.value.details == {"code": "teapot", "status": 418}
    assert related.value.details == {"code": "moon_is_full", "status": 403}


def test_every_error_has_its_way_back() -> None:
    def below(kind: type[CommonplaceError]) -> Iterable[type[CommonplaceError]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    # A door of another system, and an editor, are told in their own words; those are not for our clients.
    ours = [
        kind
        for kind in below(CommonplaceError)
        if kind.__module__.startswith(("commonplace.errors", "commonplace.values."))
    ]
    lost = [kind for kind in ours if type(talk.error_of(kind.code, "m", {})).code != kind.code]

    assert lost == []


@pytest.mark.parametrize("answer", [httpx.Response(200, text="<html>"), httpx.Response(200, json={"hello": 1})])
def test_something_else_than_a_daemon_is_told(answer: httpx.Response) -> None:
    with pytest.raises(CommonplaceError):
        Scripted(answer).client().me()


def test_a_redirect_is_not_followed_with_the_token() -> None:
    server = Scripted(httpx.Response(302, headers={"Location": "http://evil.example/"}))

    with pytest.raises(CommonplaceError):
        server.client().me()

    assert len(server.requests) == 1


def test_an_export_that_was_cut_short_replaces_nothing(tmp_path: Path) -> None:
    target = tmp_path / "memory.jsonl"
    target.write_text("before", encoding="utf-8")
    head = json.dumps({"format": "commonplace-export", "version": 1})
    server = Scripted(httpx.Response(200, text=f'{head}\n{{"versions": []}}\n'))

    with pytest.raises(InvalidFile):
        server.client().export(target)

    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


# --- where the daemon is


def test_the_environment_says_where_and_with_which_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_URL", "https://memory.example:8443/base/")
    monkeypatch.setenv("COMMONPLACE_TOKEN", "secret")
    server = Scripted(ok())

    Client(transport=httpx.MockTransport(server)).me()

    assert str(server.requests[0].url) == "https://memory.example:8443/base/v1/me"
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("url", "shown"), [("http://localhost:1", True), ("http://[::1]:1", True), ("http://10.0.0.1", False)]
)
def test_the_token_of_the_home_folder_never_leaves_the_machine(home: Path, url: str, shown: bool) -> None:
    home.mkdir()
    (home / "token").write_text("mine\n", encoding="utf-8")
    server = Scripted(ok())

    Client(url, transport=httpx.MockTransport(server)).me()

    assert (server.requests[0].headers.get("Authorization") == "Bearer mine") is shown


@pytest.mark.parametrize("url", ["localhost:4170", "ftp://x", "http://", "http://x:port", "http://[::1", "file:///etc"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        Client(url)


@pytest.mark.parametrize("given", [{"token": "a\nb"}, {"token": "ü"}, {"tenant": "acme"}, {"client_id": "a b"}])
def test_what_no_header_can_hold_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:1", **given)


# --- events


def frame(id: int | None, type: str) -> bytes:  # noqa: A002 - as events call it
    told = {"id": id, "v": 1, "type": type, "at": "2026-03-01T00:00:00.000Z", "scope": "global", "data": {"id": "x"}}
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {type}\ndata: {json.dumps(told)}\n\n".encode()


def streamed(*parts: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=iter(parts))


def test_a_listener_takes_up_a_dropped_connection_where_it_ended(pauses: list[float]) -> None:
    server = Scripted(
        streamed(b"retry: 1000\n\n: heartbeat\n\n", frame(7, "record.created")[:30], frame(7, "record.created")[30:]),
        httpx.ConnectError("refused"),
        refused(503),
        streamed(frame(None, "replay_complete"), frame(8, "record.deleted")),
    )
    heard = server.client().events(types=["record.*"], scopes="global", after=3)

    events = [next(heard) for _ in range(3)]

    assert [(event.type, event.id) for event in events] == [
        ("record.created", 7),
        ("replay_complete", None),
        ("record.deleted", 8),
    ]
    assert [request.headers["Last-Event-ID"] for request in server.requests] == ["3", "7", "7", "7"]
    assert dict(server.requests[0].url.params) == {"type": "record.*", "scope": "global"}
    assert len(pauses) == 3


def test_a_listener_that_may_not_listen_is_told() -> None:
    server = Scripted(refused(403, "forbidden"))

    with pytest.raises(Forbidden):
        next(server.client().events())


def test_a_listener_gives_up_in_the_end() -> None:
    server = Scripted(*[httpx.ConnectError("refused")] * 50)

    with pytest.raises(DaemonUnavailable):
        next(server.client().events())

    assert len(server.requests) < 20


def test_frames_are_read_however_they_are_cut(pauses: list[float]) -> None:
    event = {"id": 7, "v": 1, "type": "record.created", "at": "2026-03-01T00:00:00.000Z", "data": {"id": "één"}}
    lines = json.dumps(event, ensure_ascii=False, indent=1).split("\n")
    spread = "".join(f"data: {line}\r\n" for line in lines)
    whole = f"retry: 50\r\n{spread}\r\n: comment\nid: 3\n\ndata\n\ndata:{json.dumps(event)}\r\rdata: open".encode()

    for size in range(1, len(whole)):
        parts = [whole[start : start + size] for start in range(0, len(whole), size)]
        heard = Scripted(streamed(*parts), refused(403, "forbidden")).client().events()

        assert [next(heard).data for _ in range(2)] == [{"id": "één"}] * 2
        with pytest.raises(Forbidden):
            next(heard)
    assert all(pause <= 0.05 * 1.25 for pause in pauses)


def test_a_frame_without_an_end_is_given_up_and_the_listener_goes_on(pauses: list[float]) -> None:
    endless = streamed(frame(7, "record.created"), b"data: ", *[b"x" * 65_536] * 2 * (MAX_FRAME // 65_536))
    server = Scripted(endless, streamed(frame(8, "record.deleted")))
    heard = server.client().events()

    events = [next(heard) for _ in range(2)]

    assert [event.id for event in events] == [7, 8]
    assert server.requests[1].headers["Last-Event-ID"] == "7"


@pytest.mark.parametrize("retry", ["-5", "9" * 400, "soon", "1.5"])
def test_a_pause_that_is_none_keeps_no_listener_away(pauses: list[float], retry: str) -> None:
    server = Scripted(streamed(f"retry: {retry}\n\n".encode()), streamed(frame(8, "record.deleted")))

    event = next(server.client().events())

    assert event.id == 8
    assert [0.0 <= pause < 60.0 for pause in pauses] == [True]


def test_what_is_no_utf_8_costs_a_listener_one_event(pauses: list[float]) -> None:
    server = Scripted(streamed(b"data: \xff\xfe\n\n", frame(8, "record.deleted")))

    assert next(server.client().events()).id == 8


def test_something_else_than_a_stream_is_not_listened_to_for_ever(pauses: list[float]) -> None:
    server = Scripted(*[httpx.Response(200, text="<html>")] * 50)

    with pytest.raises(DaemonUnavailable):
        next(server.client().events())

    assert len(server.requests) < 20


async def _me(client: AsyncClient) -> str:
    async with client:
        return (await client.me()).subject


def test_the_async_client_sends_again_in_the_same_way() -> None:
    server = Scripted(refused(503, **{"Retry-After": "0"}), httpx.ConnectError("refused"), ok())

    subject = asyncio.run(_me(AsyncClient("http://127.0.0.1:1", "token", transport=httpx.MockTransport(server))))

    assert (subject, len(server.requests)) == ("x", 3)


def test_an_unavailable_daemon_is_an_unavailable_store() -> None:
    assert issubclass(DaemonUnavailable, StoreUnavailable)


def test_a_listener_forgets_failures_once_it_hears_something(pauses: list[float]) -> None:
    outages = [
        outcome
        for n in range(12)
        for outcome in (httpx.ConnectError("refused"), streamed(frame(n + 1, "record.created")))
    ]
    heard = Scripted(*outages).client().events()

    assert [next(heard).id for _ in range(12)] == list(range(1, 13))
    assert len(pauses) >= 12
