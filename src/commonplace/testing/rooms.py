"""Rooms for tests: people who speak in one, and hear it as a browser does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

import httpx

import commonplace.compose.agent_loop as _  # noqa: F401 - now: the first turn of a test would wait for it
from commonplace.testing.events import Frame, frames
from commonplace.testing.turns import PATIENCE, AgentHouse, agent_house
from commonplace.testing.vendor import Vendor

ROOM: Final = "releases"


class RoomTalk:
    """Somebody in a room. `http` shows their key."""

    def __init__(self, http: httpx.AsyncClient, room: str = ROOM, channel: str = "web") -> None:
        self.http = http
        self.room = room
        self.channel = channel

    @classmethod
    async def both(cls, house: AgentHouse, room: str = ROOM) -> dict[str, Self]:
        """Ana, who made the room, and Bob, whom she let in."""
        people = {name: cls((await house.key(user=name, name=name)).http, room) for name in ("ana", "bob")}
        ana = people["ana"]
        await ana.done("POST", "/v1/channels/web/rooms", json={"title": room.title(), "id": room})
        await ana.done("POST", "/v1/members", json={"scope": f"channel:web/{room}", "subject": "bob"})
        return people

    @property
    def path(self) -> str:
        return f"/v1/channels/{self.channel}/rooms/{self.room}"

    async def done(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, **more)
        assert answer.is_success, (path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    async def say(self, text: str, **more: Any) -> dict[str, Any]:
        return await self.done("POST", f"{self.path}/messages", json={"text": text, **more})

    async def messages(self) -> list[dict[str, Any]]:
        return (await self.done("GET", f"{self.path}/messages?limit=500"))["messages"]

    async def hear(
        self, holds: Callable[[list[Frame]], object], *, last: int | None = 0, seconds: float = PATIENCE
    ) -> list[Frame]:
        """What is response behind the event `last` (None: from now on), until it is what is waited for."""
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        rest, events = b"", list[Frame]()
        path = f"{self.path}/events"
        async with (
            asyncio.timeout(seconds),
            self.http.stream("GET", path, headers=headers, timeout=seconds) as response,
        ):
            assert response.status_code == 200, await response.aread()
            async for part in response.aiter_raw():
                whole, end, rest = (rest + part).rpartition(b"\n\n")
                events += frames(whole + end)
                if holds(events):
                    break
        return events

    async def wait_for_card(self) -> list[dict[str, Any]]:
        """The messages of the room, once a tool asks for something."""
        await self.hear(lambda messages: any("card" in reply["data"] for reply in replies(messages)))
        return await self.messages()

    async def answer_to(self, text: str, *, seconds: float = PATIENCE, **more: Any) -> str:
        """Say it to the agent, and wait for the reply."""
        message = await self.say(text, **{"mention": True, **more})
        return (await self.reply_to(message["id"], seconds=seconds))["text"]

    async def reply_to(self, message: str, *, seconds: float = PATIENCE) -> dict[str, Any]:
        """What the agent, or the room, answered to a message, when it is whole."""
        await self.hear(lambda messages: _is_answered(messages, message), seconds=seconds)
        return next(m for m in reversed(await self.messages()) if _answers(m, message))


@asynccontextmanager
async def room_house(home: Path, vendor: Vendor, **settings: Any) -> AsyncGenerator[AgentHouse]:
    async with agent_house(home, vendor, **settings) as house:
        yield house


def replies(events: list[Frame]) -> list[dict[str, Any]]:
    """The agent's messages that are whole, as they are at last."""
    messages: dict[str, dict[str, Any]] = {}
    for frame in events:
        if frame.type == "message" and frame.data["message"]["author"] != "person":
            message = frame.data["message"]
            messages[message["id"]] = {**message, "final": message["author"] == "notice"}
        if frame.type == "message_changed" and frame.data["id"] in messages:
            change = frame.data
            messages[change["id"]] |= {"final": change["final"]} | ({"text": change["text"]} if change["text"] else {})
    return [message for message in messages.values() if message["final"]]


def _is_answered(events: list[Frame], message: str) -> bool:
    return any(_answers(reply, message) for reply in replies(events))


def _answers(reply: dict[str, Any], message: str) -> bool:
    """A question to the room is no answer yet."""
    return reply["data"].get("reply_to") == message and "card" not in reply["data"]
