"""
Many schedules that are due within one minute in rooms of the web, on two daemons over one PostgreSQL, of which one is killed when half of them were played.

Afterwards everything is counted in the store: what was said in the sessions of the rooms, and what was posted in them.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from bench.machine import percentile
from bench.postgres import server
from commonplace.channels.speakers import channel_principal
from commonplace.compose.services import ComposeOptions, composed
from commonplace.ports.channel_store import ChannelStore
from commonplace.service.schedules import FIRE
from commonplace.service.services import Services
from commonplace.settings import load_settings
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.values.channel import WEB, ChannelProfile
from commonplace.values.principal import Principal
from commonplace.values.schedule import room_target
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import SessionMessage

SCHEDULES: Final = 1_000
A_ROOM: Final = 5
"""Schedules of one room."""
OVER: Final = 60.0
"""Seconds over which they come due, evenly."""
_ALLOWANCE: Final = 5.0
"""Times what it takes to make a room: what a schedule has to be set, before the first is due."""
_PATIENCE: Final = 600.0
_PAGE: Final = 200
_HEADING: Final = re.compile(r'\[Scheduled task "([0-9]+)" set by ')
_AGAIN: Final = "which is played again"
_TOKEN: Final = "a-token-that-both-daemons-know"


@dataclass(slots=True)
class Played:
    """What the store has of one schedule."""

    prompts: list[str] = field(default_factory=list[str])
    ends: int = 0
    posts: list[str] = field(default_factory=list[str])

    @property
    def is_said_again(self) -> bool:
        """Whether whatever came twice says so."""
        return all(_AGAIN in text for text in self.prompts[1:]) and len(self.posts) <= 1


def measure(folder: Path, schedules: int, a_room: int, over: float, tell: Callable[[str], None]) -> dict[str, Any]:
    """`tell` hears how far it is."""
    with server(folder / "postgres") as address, _daemon(folder / "one", address) as one:
        with _daemon(folder / "two", address) as two, one.client() as client:
            a_call = _make_rooms(client, -(-schedules // a_room))
            first_due = datetime.now(UTC) + timedelta(seconds=5 + schedules * a_call * _ALLOWANCE)
            _set(client, schedules, a_room, first_due, over, tell)
            tell(f"all are set; the first is due in {(first_due - datetime.now(UTC)).total_seconds():.0f} s")
            with two.client() as other:
                _wait(other, schedules // 2, schedules, tell)
            one.process.kill()
            one.process.wait()
            in_flight = _held_by(address, one.process.pid)
            tell(f"a daemon is killed, which played {in_flight}")
            with two.client() as other:
                _wait(other, schedules, schedules, tell)
                rows = list(_schedules(other))
        played = asyncio.run(_looked(folder / "look", address))
    return {
        "schedules": schedules,
        "rooms": -(-schedules // a_room),
        "due_in_s": over,
        "in_flight_at_the_kill": in_flight,
        **figures(schedules, rows, played),
    }


def figures(schedules: int, rows: list[dict[str, Any]], played: dict[str, Played]) -> dict[str, Any]:
    late = [_seconds(row["last"]["finished_at"], row["last"]["due"]) for row in rows if row["last"] is not None]
    every = [played.get(str(number), Played()) for number in range(schedules)]
    return {
        "not_once": sum(one.ends != 1 for one in every) + sum(row["fires"] != 1 for row in rows),
        "failed": sum(row["last"] is None or row["last"]["status"] != "ok" for row in rows),
        "begun_twice": sum(len(one.prompts) > 1 for one in every),
        "posted_twice": sum(len(one.posts) > 1 for one in every),
        "not_posted": sum(not one.posts for one in every),
        "twice_without_saying_so": sum(not one.is_said_again for one in every),
        "late_p50_s": round(percentile(late, 0.5), 1),
        "late_p95_s": round(percentile(late, 0.95), 1),
        "late_most_s": round(max(late), 1),
    }


# ---- the daemons


@contextmanager
def _daemon(home: Path, store: str) -> Generator[Daemon]:
    env = {"COMMONPLACE_TOKEN": _TOKEN, "COMMONPLACE_STORE": store, "COMMONPLACE_AGENT_LEARN": "false"}
    with running_daemon(home, env=env) as daemon:
        yield daemon


def _make_rooms(client: httpx.Client, rooms: int) -> float:
    """How long each took."""
    begun = time.monotonic()
    for number in range(rooms):
        _made(client, "/v1/channels/web/rooms", {"title": f"Room {number}", "id": f"room-{number}"})
    return (time.monotonic() - begun) / rooms


def _set(
    client: httpx.Client, schedules: int, a_room: int, first: datetime, over: float, tell: Callable[[str], None]
) -> None:
    for number in range(schedules):
        due = first + timedelta(seconds=over * number / schedules)
        _made(
            client,
            "/v1/schedules",
            {
                "target": room_target(WEB, f"room-{number // a_room}"),
                "at": due.isoformat(),
                "prompt": f"What do we know about part {number}?",
                "label": f"{number}",
            },
        )
        if number % _PAGE == _PAGE - 1:
            tell(f"{number + 1} of {schedules} schedules set")


def _made(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    if not answer.is_success:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:200]}")


def _schedules(client: httpx.Client) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/v1/schedules", params={"limit": _PAGE, **cursor}).raise_for_status().json()
        yield from page["schedules"]
        if page["cursor"] is None:
            return
        cursor = {"cursor": page["cursor"]}


def _wait(client: httpx.Client, count: int, schedules: int, tell: Callable[[str], None]) -> None:
    """Until so many were played. Raises TimeoutError."""
    deadline, before = time.monotonic() + _PATIENCE, -1
    while True:
        over = sum(row["last"] is not None for row in _schedules(client))
        if over != before:
            tell(f"{over} of {schedules} were played")
        if over >= count:
            return
        before = over
        if time.monotonic() > deadline:
            raise TimeoutError(f"{over} of {schedules} schedules were played within {_PATIENCE:.0f} s.")
        time.sleep(0.5)


def _held_by(address: str, process: int) -> int:
    """Turns that a process was playing."""
    # An extra, and most measurements do without.
    import psycopg  # noqa: PLC0415

    with psycopg.connect(address, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT worker FROM commonplace.jobs WHERE kind = %s AND worker IS NOT NULL", [FIRE]
        ).fetchall()
    return sum(f":{process}:" in f":{worker}:" for (worker,) in rows)


# ---- what there is afterwards


async def _looked(home: Path, address: str) -> dict[str, Played]:
    async with composed(load_settings(home=home, store=address, embedder="none"), ComposeOptions()) as services:
        return await counted(services)


async def counted(services: Services) -> dict[str, Played]:
    """What was said and posted in the rooms of the web, by the labels of schedules, which are numbers."""
    played: dict[str, Played] = {}
    channels = services.desk.store.channels
    profile = ChannelProfile(name=WEB, kind="web", created_at=services.desk.clock.now())
    for route in await channels.routes(DEFAULT_TENANT, WEB):
        labels: dict[str, str] = {}
        for message in await _said(services, channel_principal(DEFAULT_TENANT, profile), route.session):
            if message.role == "user" and (label := _label(message.text)) is not None:
                labels[message.run or ""] = label
                played.setdefault(label, Played()).prompts.append(message.text)
            elif _is_end(message) and message.run in labels:
                played[labels[message.run]].ends += 1
    for room in await channels.rooms(DEFAULT_TENANT, WEB):
        for text in await _posted(channels, room.chat):
            if (label := _label(text)) is not None:
                played.setdefault(label, Played()).posts.append(text)
    return played


async def _said(services: Services, owner: Principal, session: str) -> list[SessionMessage]:
    """All of a session, hidden events too."""
    messages: list[SessionMessage] = []
    position: int | None = 0
    while True:
        page = await services.history.messages(owner, session, after=position, limit=_PAGE, hidden=True)
        messages += page.messages
        if len(page.messages) < _PAGE:
            return messages
        position = page.messages[-1].position


async def _posted(channels: ChannelStore, chat: str) -> list[str]:
    """What the agent wrote in a room."""
    texts: list[str] = []
    before: int | None = None
    while True:
        page = await channels.messages(DEFAULT_TENANT, WEB, chat, before=before, limit=_PAGE)
        texts += [message.text for message in page.messages if message.author == "agent"]
        if not page.before:
            return texts
        before = page.messages[0].number


def _label(text: str) -> str | None:
    """The schedule that a text is of."""
    found = _HEADING.match(text)
    return None if found is None else found[1]


def _is_end(message: SessionMessage) -> bool:
    """Whether it is recorded here that a turn is over. One that was cancelled ended with its daemon."""
    if message.role != "event" or message.text not in ("turn_ended", "turn_failed"):
        return False
    return message.data.get("stop_reason") != "cancelled"


def _seconds(later: str, earlier: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
