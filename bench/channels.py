"""
Rooms at work with the librarian, in this process: how long from a message received to its turn begun, and to its reply in the room.

`one_room`: one message after the other, each when the one before is answered. `many_rooms`: messages come evenly over all rooms, so many a second in
all, whether or not those before were answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.machine import percentile
from commonplace.channels.rooms import Rooms, RoomSpeech
from commonplace.compose.channels import talk
from commonplace.compose.services import ComposeOptions, composed
from commonplace.events.ring import Ring, RingEvent
from commonplace.settings import load_settings
from commonplace.values.principal import Principal
from commonplace.values.room_event import MessageAdded, MessageChanged, MessageMarked, RoomEvent
from commonplace.values.scope import DEFAULT_TENANT

PARTS: Final = ("start", "rooms", "schedules", "connections")
"""Of what `python -m bench channels` measures; the last two are modules of their own."""
SHORT: Final = {"messages": 20, "rooms": 20, "seconds": 5.0, "schedules": 40, "over": 4.0, "losses": 8}
MESSAGES: Final = 200
"""In one room, each when the one before is answered."""
ROOMS: Final = 200
PER_SECOND: Final = 10.0
SECONDS: Final = 30.0
_PATIENCE: Final = 60.0


def _person(number: int = 0) -> Principal:
    """One of many: how much one may say in a while is limited."""
    return Principal(subject=f"person-{number}", tenant=DEFAULT_TENANT, role="admin")


@dataclass(slots=True)
class Clocks:
    """When each message was received, its turn began, and its reply was whole; by the message's id."""

    received: dict[str, float] = field(default_factory=dict[str, float])
    begun: dict[str, float] = field(default_factory=dict[str, float])
    answered: dict[str, float] = field(default_factory=dict[str, float])
    replies: dict[str, str] = field(default_factory=dict[str, str])

    async def listen(self, ring: Ring[RoomEvent]) -> None:
        async for entry in ring.follow(0):
            if not isinstance(entry, RingEvent):
                continue
            match entry.event:
                case MessageMarked(id=id, mark=mark) if mark:
                    self.begun.setdefault(id, time.perf_counter())
                case MessageAdded(message=message) if message.author == "agent":
                    self.replies[message.id] = str(message.data.get("reply_to"))
                case MessageChanged(id=id, final=True) if id in self.replies:
                    self.answered.setdefault(self.replies[id], time.perf_counter())
                case _:
                    pass


def one_room(folder: Path, messages: int) -> dict[str, Any]:
    return asyncio.run(_one_room(folder, messages))


def many_rooms(folder: Path, rooms: int, per_second: float, seconds: float) -> dict[str, Any]:
    return asyncio.run(_many_rooms(folder, rooms, per_second, seconds))


@asynccontextmanager
async def _house(folder: Path) -> AsyncGenerator[Rooms]:
    settings = load_settings(home=folder, workspace=folder, agent_learn=False)
    async with composed(settings, ComposeOptions()) as services, talk(settings, services) as use_cases:
        yield next(one for one in use_cases if isinstance(one, Rooms))


@asynccontextmanager
async def _at_work(folder: Path, rooms: int) -> AsyncGenerator[tuple[Rooms, Clocks]]:
    """So many rooms, in the first of which somebody was answered already: what talks to models is loaded by the first turn."""
    clocks = Clocks()
    async with _house(folder) as house:
        listeners: list[asyncio.Task[None]] = []
        for number in range(rooms):
            await house.create(_person(), "web", f"Room {number}", chat=f"room-{number}")
            ring, _ = await house.ring(_person(), "web", f"room-{number}")
            listeners.append(asyncio.create_task(clocks.listen(ring)))
        first = await house.say(_person(), "web", "room-0", RoomSpeech(text="Hello", mention=True))
        await _until(lambda: first.id in clocks.answered)
        clocks.begun.clear()
        clocks.answered.clear()
        try:
            yield house, clocks
        finally:
            for listener in listeners:
                listener.cancel()
            await asyncio.wait(listeners)


async def _one_room(folder: Path, messages: int) -> dict[str, Any]:
    async with _at_work(folder, 1) as (house, clocks):
        for number in range(messages):
            await _say(house, clocks, 1, number, 0.0)
            await _until(lambda number=number: _id(number) in clocks.answered)
    return _row(clocks, messages)


async def _many_rooms(folder: Path, rooms: int, per_second: float, seconds: float) -> dict[str, Any]:
    async with _at_work(folder, rooms) as (house, clocks):
        begun, count = time.perf_counter(), int(per_second * seconds)
        tasks = [
            asyncio.create_task(_say(house, clocks, rooms, number, begun + number / per_second))
            for number in range(count)
        ]
        await asyncio.gather(*tasks)
        await _until(lambda: len(clocks.answered) >= count)
    return {"rooms": rooms, "per_second": per_second, **_row(clocks, count)}


def _row(clocks: Clocks, count: int) -> dict[str, Any]:
    starts = [clocks.begun[id] - at for id, at in clocks.received.items() if id in clocks.begun]
    ends = [clocks.answered[id] - at for id, at in clocks.received.items() if id in clocks.answered]
    return {"messages": count, "lost": count - len(ends), **_figures("start", starts), **_figures("answer", ends)}


def _id(number: int) -> str:
    return f"message-{number}"


async def _say(house: Rooms, clocks: Clocks, rooms: int, number: int, at: float) -> None:
    await asyncio.sleep(max(at - time.perf_counter(), 0))
    received, id = time.perf_counter(), _id(number)
    clocks.received[id] = received
    text = f"What do we know about the release of part {number}?"
    await house.say(_person(number), "web", f"room-{number % rooms}", RoomSpeech(text=text, mention=True, id=id))


async def _until(holds: Any) -> None:
    deadline = time.perf_counter() + _PATIENCE
    # What is waited for is told by events of many rooms.
    while not holds() and time.perf_counter() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _figures(name: str, values: list[float]) -> dict[str, Any]:
    ms = [value * 1000 for value in values]
    if not ms:
        return {}
    return {f"{name}_p50_ms": round(percentile(ms, 0.5), 1), f"{name}_p95_ms": round(percentile(ms, 0.95), 1)}
