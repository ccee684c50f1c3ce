"""A program at the session door, for tests: it is attached to sessions, and reads their events as a client of qwen-code's daemon does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, Final, Self

import httpx

from commonplace.testing.daemon import TOKEN, InProcess, on_socket, served
from commonplace.testing.events import Frame, frames
from commonplace.testing.vendor import Reply, Vendor, stream

PATIENCE: Final = 20.0

Holds = Callable[[list[Frame]], object]


class Program:
    """Somebody's program. After `create` or `restore` it has a `session`, and names its `client` with every request."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.session = ""
        self.client: str | None = None

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """`{}` in the path is the session."""
        headers = {} if self.client is None else {"X-Qwen-Client-Id": self.client}
        headers |= more.pop("headers", {})
        content = {} if body is None else {"json": body}
        return await self.http.request(method, path.replace("{}", self.session), headers=headers, **content, **more)

    async def done(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.ask(method, path, body)
        assert answer.is_success, (path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    async def create(self, **body: Any) -> dict[str, Any]:
        self.client = None
        return self._attached(await self.done("POST", "/session", body))

    async def restore(self, session: str, how: str = "load", **body: Any) -> dict[str, Any]:
        self.client, self.session = None, session
        return self._attached(await self.done("POST", f"/session/{{}}/{how}", body))

    async def prompt(self, text: str, **more: Any) -> dict[str, Any]:
        return await self.done("POST", "/session/{}/prompt", {"prompt": [{"type": "text", "text": text}], **more})

    async def turn(self, text: str, **more: Any) -> list[Frame]:
        """Say it, and hear all of the turn."""
        ticket = await self.prompt(text, **more)
        return await self.hear(over(ticket["promptId"]), last=ticket["lastEventId"])

    async def hear(self, until: Holds, *, last: int | None = 0, **headers: str) -> list[Frame]:
        """The events up to that; what the stream says of itself is left out."""
        async with self.listening(last=last, **headers) as stream:
            return [frame for frame in await stream.wait(until) if frame.id is not None]

    @asynccontextmanager
    async def listening(
        self, *, last: int | None = None, query: str = "", at: str = "/session/{}/events", **headers: str
    ) -> AsyncGenerator[SessionStream]:
        """`at` is another door's address of the same."""
        own = {} if self.client is None else {"X-Qwen-Client-Id": self.client}
        if last is not None:
            own["Last-Event-ID"] = str(last)
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        path = at.replace("{}", self.session) + query
        async with self.http.stream("GET", path, headers=own, timeout=httpx.Timeout(PATIENCE, read=60.0)) as response:
            assert response.status_code == 200, await response.aread()
            async with SessionStream(response) as stream:
                yield stream

    async def vote(self, request: str, option: str | None) -> httpx.Response:
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        return await self.ask("POST", f"/session/{{}}/permission/{request}", {"outcome": outcome})

    def _attached(self, answer: dict[str, Any]) -> dict[str, Any]:
        self.session, self.client = answer["sessionId"], answer["clientId"]
        return answer


class SessionStream:
    """The events of a session, read in a task for as long as it is entered."""

    def __init__(self, response: httpx.Response) -> None:
        self.headers: Mapping[str, str] = response.headers
        self.text = b""
        self.ended = False
        self._response = response
        self._news = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.wait({self._reading})

    @property
    def frames(self) -> list[Frame]:
        # A frame that is not whole yet waits for the rest of it.
        whole, end, _ = self.text.rpartition(b"\n\n")
        return frames(whole + end)

    async def wait(self, until: Holds) -> list[Frame]:
        """The frames, once they are what is waited for, or the stream has ended."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not until(self.frames) and not self.ended:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"It had heard {[frame.type for frame in self.frames]}.") from None
        return self.frames

    async def _read(self) -> None:
        try:
            async for part in self._response.aiter_raw():
                self.text += part
                self._news.set()
        finally:
            self.ended = True
            self._news.set()


class SessionHouse:
    """A server over a socket, with a model that plays a script."""

    def __init__(self, running: InProcess, url: str, stack: AsyncExitStack) -> None:
        self.running = running
        self.url = url
        self._stack = stack

    async def program(self, secret: str = TOKEN) -> Program:
        """Of whoever has this key; without one the operator's."""
        headers = {"Authorization": f"Bearer {secret}"}
        client = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE)
        return Program(await self._stack.enter_async_context(client))

    async def key(self, user: str, role: str = "writer", **more: Any) -> str:
        """The secret of a new key of this person's."""
        body = {"name": f"{user}'s", "role": role, "user": user, **more}
        return (await self.running.client.post("/v1/keys", json=body)).json()["secret"]

    async def person(self, user: str, role: str = "writer", **more: Any) -> Program:
        return await self.program(await self.key(user, role, **more))


class ModelGate:
    """A model that says nothing before it is opened."""

    def __init__(self) -> None:
        self._event = Event()

    def reply(self, *pieces: str) -> Reply:
        return replace(stream(*pieces), until=self._event)

    def open(self) -> None:
        self._event.set()


@asynccontextmanager
async def session_house(home: Path, workspace: Path, vendor: Vendor, **settings: Any) -> AsyncGenerator[SessionHouse]:
    """The server of `served`, whose model is `vendor`'s, and the follower that tells of what happens in the workspace."""
    model: dict[str, Any] = {
        "llm_model": "openai:small",
        "llm_base_url": vendor.url,
        "llm_price": "0.1/0.1",
        "agent_learn": False,
        "workspace": workspace,
        "agent_permission_policy": "first-responder",
    }
    # The library for models takes its time to load, once a process: no request of a test waits for that.
    await asyncio.to_thread(import_module, "commonplace.compose.agent_loop")
    async with (
        served(home, **{**model, **settings}) as running,
        on_socket(running) as url,
        AsyncExitStack() as stack,
    ):
        following = asyncio.create_task(running.services.events.hub.run())
        try:
            yield SessionHouse(running, url, stack)
        finally:
            following.cancel()
            await asyncio.wait({following})


def over(run: str) -> Holds:
    """The turn has come to its end."""
    return lambda events: any(
        frame.type in ("turn_complete", "turn_error") and frame.data.get("promptId") == run for frame in events
    )


def seen(type: str, count: int = 1) -> Holds:  # noqa: A002 - as events call it
    return lambda events: sum(frame.type == type for frame in events) >= count


def of(events: list[Frame], type: str) -> list[dict[str, Any]]:  # noqa: A002 - as events call it
    return [frame.data for frame in events if frame.type == type]


def kinds(events: list[Frame]) -> list[str]:
    """What was told, in order: an update by its kind."""
    return [frame.data["update"]["sessionUpdate"] if frame.type == "session_update" else frame.type for frame in events]
