"""A channel that loses its platform comes back by itself, and not too soon."""

from __future__ import annotations

import asyncio

import pytest

from commonplace.channels import connection as module
from commonplace.channels.connection import Connection
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.values.channel import PlatformError, PlatformRefused

pytestmark = pytest.mark.anyio


class Platform:
    """Fails with each error in turn, then stays connected."""

    def __init__(self, connection: Connection, *errors: Exception | None) -> None:
        self.connection = connection
        self.errors = list(errors)
        self.attempts = 0

    async def listen(self) -> None:
        self.attempts += 1
        if not self.errors:
            self.connection.connected()
            await asyncio.Event().wait()
        error = self.errors.pop(0)
        if error is not None:
            raise error


@pytest.fixture
def pauses() -> list[float]:
    """The pauses of `link`, each over at once."""
    return []


@pytest.fixture
def link(pauses: list[float]) -> Connection:
    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    return Connection("team", FakeClock(), chance=lambda: 1.0, sleep=pause)


async def test_it_comes_back_with_pauses_that_double_up_to_a_limit(link: Connection, pauses: list[float]) -> None:
    platform = Platform(link, *[PlatformError("away")] * 8)

    async with link.keep(platform.listen):
        await until(lambda: link.state.status == "connected")

    assert pauses[:8] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert platform.attempts == 9
    assert link.state.status == "stopped"


async def test_the_first_failure_after_a_connection_is_a_first_one(link: Connection, pauses: list[float]) -> None:
    attempts = 0

    async def listen() -> None:
        nonlocal attempts
        attempts += 1
        link.connected()
        if attempts > 3:
            await asyncio.Event().wait()

    async with link.keep(listen):
        await until(lambda: attempts == 4)

    assert pauses[:3] == [1.0, 1.0, 1.0]


async def test_wrong_credentials_are_tried_again_seldom_and_said(link: Connection, pauses: list[float]) -> None:
    states: list[str] = []
    platform = Platform(link, PlatformRefused("The token is wrong."))

    async with link.keep(platform.listen):
        await until(lambda: link.state.status == "connected")
        states = [f"{entry.event}: {entry.detail}" for entry in link.log]

    assert pauses[0] == module.REFUSED_PAUSE
    assert "refused: The token is wrong." in states


async def test_a_platform_that_names_a_time_is_left_alone_until_then(link: Connection, pauses: list[float]) -> None:
    platform = Platform(link, PlatformError("busy", retry_after=42.0))

    async with link.keep(platform.listen):
        await until(lambda: link.state.status == "connected")

    assert pauses[0] == 42.0


async def test_a_fault_of_ours_costs_a_pause_and_not_the_channel(link: Connection, pauses: list[float]) -> None:
    platform = Platform(link, ZeroDivisionError(), None)

    async with link.keep(platform.listen):
        await until(lambda: link.state.status == "connected")

    assert pauses[:2] == [1.0, 2.0]
    assert link.log[-1].event == "stopped"


async def test_the_log_is_bounded(link: Connection) -> None:

    for number in range(1_000):
        link.note("event", f"{number}")

    assert len(link.log) == 200
    assert link.log[-1].detail == "999"
