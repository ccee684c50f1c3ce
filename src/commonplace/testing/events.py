"""Events for tests: told into a store's log, and read as a browser reads them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR
from threading import Event as ThreadEvent
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final, Self, TypeVar

import httpx

from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries, Journal
from commonplace.values.event import News
from commonplace.values.scope import DEFAULT_TENANT, Scope

T = TypeVar("T")
_FRAME: Final = re.compile(rb"(?:id: (?P<id>\d+)\n)?event: (?P<event>\S+)\ndata: (?P<data>.+)")


@dataclass(frozen=True, slots=True)
class Frame:
    """`data` is the event's own, `document` the whole of it."""

    id: int | None
    type: str
    data: dict[str, Any]
    document: dict[str, Any]


def frames(told: bytes) -> list[Frame]:
    """What a browser would hand to its page: comments and `retry` are not among it."""
    found = [_FRAME.fullmatch(part) for part in told.split(b"\n\n")]
    documents = [(one, json.loads(one["data"])) for one in found if one is not None]
    return [
        Frame(int(one["id"]) if one["id"] else None, one["event"].decode(), document["data"], document)
        for one, document in documents
    ]


class TellEvents:
    """`await tell("record.created", scope="user:ana")` keeps an event; `many` keeps several at once."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    async def __call__(self, type: str = "record.created", *, scope: str | None = None, **more: Any) -> None:  # noqa: A002
        await self.many(1, type, scope=scope, **more)

    async def many(self, count: int, type: str = "record.created", *, scope: str | None = None, **more: Any) -> None:  # noqa: A002
        told: dict[str, Any] = {"tenant": DEFAULT_TENANT, **more}
        where = None if scope is None else Scope.parse(scope)
        news = News(type=type, at=self._clock.now(), scope=where, **told)
        await self._journal.note(Entries(events=(news,) * count))


async def until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something to hold, for so long at most."""
    async with asyncio.timeout(seconds):
        # What is waited for need not be ours to set an event.
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def until_there(ask: Callable[[], Awaitable[T]], seconds: float = 5.0) -> T:
    """What `ask` answers, as soon as that is something."""
    async with asyncio.timeout(seconds):
        while not (answer := await ask()):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
    return answer


class Listener:
    """
    A stream of a daemon, read in a thread: `with Listener(daemon.url, daemon.headers) as heard`. From the first line of the
    block on, nothing is missed.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, last: int | None = None, **wanted: Any) -> None:
        self._headers = {**headers, **({} if last is None else {"Last-Event-ID": str(last)})}
        self._client = httpx.Client(base_url=url, headers=self._headers, timeout=httpx.Timeout(10.0, read=60.0))
        self._wanted = wanted
        self._stack = ExitStack()
        self._reading: Thread | None = None
        self._read = bytearray()
        self.ended = ThreadEvent()
        self.status = 0
        self.headers: Mapping[str, str] = {}

    def __enter__(self) -> Self:
        self._stack.enter_context(self._client)
        response = self._stack.enter_context(self._client.stream("GET", "/v1/events", params=self._wanted))
        self.status, self.headers = response.status_code, response.headers
        self._socket = response.extensions["network_stream"].get_extra_info("socket")
        self._reading = Thread(target=self._listen, args=(response,), daemon=True)
        self._reading.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        # Closing it would wait for the thread that reads it; this wakes that thread.
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        if self._reading is not None:
            self._reading.join(timeout=5)
        self._stack.close()

    def _listen(self, response: httpx.Response) -> None:
        # However the connection ends, and whoever ends it.
        with suppress(httpx.TransportError):
            for part in response.iter_raw():
                self._read += part
        self.ended.set()

    @property
    def read(self) -> bytes:
        return bytes(self._read)

    @property
    def frames(self) -> list[Frame]:
        # What has arrived of the next frame is none yet.
        whole, end, _ = self.read.rpartition(b"\n\n")
        return frames(whole + end)

    def wait(self, holds: Callable[[list[Frame]], object], seconds: float = 5.0) -> list[Frame]:
        """The frames, once they are what is waited for."""
        deadline = monotonic() + seconds
        while not holds(found := self.frames):
            if monotonic() > deadline:
                raise AssertionError(f"After {seconds} s it had heard {[frame.type for frame in found]}.")
            sleep(0.01)
        return found
