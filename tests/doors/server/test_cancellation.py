"""A search that nobody waits for ends: when the caller hangs up, and when the daemon stops. What writes goes on."""

import asyncio
import contextlib
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from commonplace.doors.mcp.http import AppResponse
from commonplace.doors.mcp.server import only_reads
from commonplace.server.cancellation import Cancellation
from commonplace.server.exchange import begin

pytestmark = pytest.mark.anyio

PATIENCE = 5


class Work:
    """An application that works for ever, and says what became of it."""

    def __init__(self, *, begins_to_answer: bool = False) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()
        self.go_on = asyncio.Event()
        self.heard: list[str] = []
        self._begins_to_answer = begins_to_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        self.heard.append((await receive())["type"])
        if self._begins_to_answer:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if not self._begins_to_answer:
            await send({"type": "http.response.start", "status": 200, "headers": []})


class Caller:
    """Sends one request, and may hang up."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.messages.put_nowait({"type": "http.request", "body": b"{}", "more_body": False})
        self.statuses: list[int] = []
        self.stopping = asyncio.Event()

    def hang_up(self) -> None:
        self.messages.put_nowait({"type": "http.disconnect"})

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.statuses.append(message["status"])

    def request(self, work: Work, method: str = "POST", path: str = "/v1/search") -> "asyncio.Task[None]":
        app = type("App", (), {"state": type("State", (), {"stopping": self.stopping})})
        scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "headers": [], "app": app}
        begin(scope, "1")
        return asyncio.create_task(Cancellation(work, watch_after=0, grace=0)(scope, self.messages.get, self.send))


@pytest.fixture
async def caller() -> Caller:
    return Caller()


async def test_a_search_ends_when_its_caller_hangs_up(caller: Caller) -> None:
    work = Work()
    request = caller.request(work)
    await asyncio.wait_for(work.begun.wait(), PATIENCE)

    caller.hang_up()
    await asyncio.wait_for(request, PATIENCE)

    assert work.cancelled.is_set()
    assert caller.statuses == []


async def test_a_search_is_refused_when_the_daemon_stops(caller: Caller) -> None:
    work = Work()
    request = caller.request(work)
    await asyncio.wait_for(work.begun.wait(), PATIENCE)

    caller.stopping.set()
    await asyncio.wait_for(request, PATIENCE)

    assert work.cancelled.is_set()
    assert caller.statuses == [503]


async def test_a_write_goes_on_when_its_caller_hangs_up(caller: Caller) -> None:
    work = Work()
    request = caller.request(work, path="/v1/records")
    await asyncio.wait_for(work.begun.wait(), PATIENCE)
    caller.hang_up()
    caller.stopping.set()

    work.go_on.set()
    await asyncio.wait_for(request, PATIENCE)

    assert not work.cancelled.is_set()
    assert caller.statuses == [200]


async def test_an_answer_that_has_begun_is_left_to_whoever_writes_it(caller: Caller) -> None:
    work = Work(begins_to_answer=True)
    request = caller.request(work, "GET", "/v1/events")
    await asyncio.wait_for(work.begun.wait(), PATIENCE)

    caller.hang_up()
    await asyncio.wait({request}, timeout=0.1)

    assert not work.cancelled.is_set()
    request.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await request


async def test_the_application_hears_what_was_sent_whoever_listens_first(caller: Caller) -> None:
    work = Work()
    work.go_on.set()

    await asyncio.wait_for(caller.request(work), PATIENCE)

    assert work.heard == ["http.request"]
    assert caller.statuses == [200]


# ---- the door of the models

READS = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_search", "arguments": {}}}'


def calling(tool: str) -> bytes:
    return READS.replace(b"memory_search", tool.encode())


@pytest.mark.parametrize(("body", "ends"), [(READS, True), (calling("memory_store"), False)], ids=["reads", "writes"])
async def test_a_tool_that_only_reads_ends_when_its_caller_hangs_up(caller: Caller, body: bytes, ends: bool) -> None:
    work = Work()
    caller.messages.get_nowait()
    caller.messages.put_nowait({"type": "http.request", "body": body, "more_body": False})
    app = type("App", (), {"state": type("State", (), {"stopping": caller.stopping})})
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "app": app}
    begin(scope, "1")
    request = asyncio.create_task(AppResponse(work, only_reads)(scope, caller.messages.get, caller.send))
    await asyncio.wait_for(work.begun.wait(), PATIENCE)

    caller.hang_up()
    await asyncio.wait({request}, timeout=PATIENCE if ends else 0.5)

    assert work.cancelled.is_set() is ends
    assert work.heard == ["http.request"]
    work.go_on.set()
    await asyncio.wait_for(request, PATIENCE)
    assert caller.statuses == ([] if ends else [200])


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        (b'{"method": "resources/read", "params": {"uri": "commonplace://records/1"}}', True),
        (b'{"method": "tools/list"}', True),
        *((calling(name), True) for name in ("memory_list", "memory_context", "memory_tree", "knowledge_preflight")),
        *((calling(name), False) for name in ("memory_remember", "memory_delete", "knowledge_record", "no_such_tool")),
        (b'{"method": "tools/call"}', False),
        (b'{"method": "tools/call", "params": {"name": ["memory_search"]}}', False),
        (b"[" + READS + b"]", False),
        (b"no json", False),
        (b'{"method": 7}', False),
        (b'"tools/list"', False),
    ],
)
def test_what_a_message_does_is_told_by_its_method_and_its_tool(body: bytes, reads: bool) -> None:
    assert only_reads(body) is reads
