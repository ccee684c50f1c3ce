"""An agent at the native door, for tests: it is told something, and what comes of it is heard as a browser hears it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from commonplace.testing.daemon import TOKEN, InProcess, on_socket, served
from commonplace.testing.events import Frame, frames
from commonplace.testing.vendor import Vendor

PATIENCE: Final = 5.0
_OVER: Final = ("memory_learned", "turn_failed")


class AgentTalk:
    """Over a client that shows somebody's key. `headers` of the last stream are in `told`."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.told: Mapping[str, str] = {}

    async def begin(self, **fields: Any) -> str:
        """The id of a new session."""
        return (await self.done("POST", "/v1/sessions", json=fields))["id"]

    async def say(self, session: str, text: str, **more: Any) -> dict[str, Any]:
        return await self.done("POST", f"/v1/sessions/{session}/turns", json={"text": text, **more})

    async def turn(self, session: str, text: str, *, seconds: float = PATIENCE) -> list[Frame]:
        """Say it, and hear all of the turn."""
        ticket = await self.say(session, text)
        return await self.hear(session, *_OVER, last=ticket["last_event"], seconds=seconds)

    async def hear(
        self, session: str, *until: str, last: int | None = 0, seconds: float = PATIENCE, epoch: str | None = None
    ) -> list[Frame]:
        """What is told behind the event `last` (None: from now on), up to one of the types `until`. A turn that was cancelled is over, too."""
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        if epoch is not None:
            headers["X-Commonplace-Epoch"] = epoch
        rest, events = b"", list[Frame]()
        path = f"/v1/sessions/{session}/events"
        async with asyncio.timeout(seconds), self.http.stream("GET", path, headers=headers, timeout=seconds) as stream:
            assert stream.status_code == 200, await stream.aread()
            self.told = stream.headers
            async for part in stream.aiter_raw():
                # A frame that is not whole yet waits for the rest of it.
                whole, end, rest = (rest + part).rpartition(b"\n\n")
                new = frames(whole + end)
                events += new
                if any(frame.type in until or _is_cancelled(frame) for frame in new):
                    break
        return events

    async def messages(self, session: str) -> list[dict[str, Any]]:
        """All that was said, in order."""
        return (await self.done("GET", f"/v1/sessions/{session}/messages?limit=1000&after=0"))["messages"]

    async def done(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, **more)
        assert answer.is_success, (path, answer.status_code, answer.text[:500])
        return answer.json()


class AgentHouse:
    """A server over a socket, with a model that plays a script."""

    def __init__(self, running: InProcess, url: str, stack: AsyncExitStack) -> None:
        self.running = running
        self.url = url
        self._stack = stack

    async def talk(self, secret: str = TOKEN) -> AgentTalk:
        """Whoever has this key; without one the operator."""
        headers = {"Authorization": f"Bearer {secret}"}
        client = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE)
        return AgentTalk(await self._stack.enter_async_context(client))

    async def key(self, role: str = "writer", user: str | None = None, **more: Any) -> AgentTalk:
        """Somebody with a new key."""
        body = {"name": role, "role": role, "user": user, **more}
        answer = await self.running.client.post("/v1/keys", json=body)
        return await self.talk(answer.json()["secret"])


@asynccontextmanager
async def agent_house(home: Path, vendor: Vendor, **settings: Any) -> AsyncGenerator[AgentHouse]:
    """The server of `served`, whose model is `vendor`'s. It learns nothing by itself unless `settings` say so."""
    model: dict[str, Any] = {
        "llm_model": "openai:small",
        "llm_base_url": vendor.url,
        "llm_price": "0.1/0.1",
        "agent_learn": False,
    }
    async with (
        served(home, **{**model, **settings}) as running,
        on_socket(running) as url,
        AsyncExitStack() as stack,
    ):
        yield AgentHouse(running, url, stack)


def _is_cancelled(frame: Frame) -> bool:
    return frame.type == "turn_ended" and frame.data["stop_reason"] == "cancelled"


def of(events: list[Frame], type: str) -> list[dict[str, Any]]:  # noqa: A002 - as events call it
    """The data of the events of a type."""
    return [frame.data for frame in events if frame.type == type]


def text_of(events: list[Frame]) -> str:
    """What the agent said."""
    return "".join(data["text"] for data in of(events, "text"))
