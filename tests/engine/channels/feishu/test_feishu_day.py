"""A day of a group by a clock that is moved: tokens end, connections are lost, schedules are due, the budget is full again at midnight, and nothing is lost or said twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.engine.channels.feishu.conftest import Room

from commonplace.testing.agents import TurnBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer
from commonplace.testing.room_day import DAY, MORNING, ROUNDS, SETTINGS, TURNS, WARNINGS, RoomDay, kinds_of, replies_of

pytestmark = pytest.mark.anyio


async def test_a_day_of_answers_and_reminders_comes_whole_and_once(
    bench: TurnBench, server: FeishuServer, clock: FakeClock, make_room: Callable[..., Room]
) -> None:
    begun = clock.advance(MORNING)
    room, server.clock = make_room(SETTINGS), clock
    async with room.open() as residence:

        async def ask(number: int) -> None:
            await room.answered(await room.say("ou_ana", f"Question {number}?"))
            await room.rooms.handled()

        async def lose(number: int) -> None:
            if number % 4 == 0:
                connections = server.connections
                await server.disconnect()
                await until(lambda: server.connections > connections)
                await until(lambda: residence.platform.connection.status == "connected")

        await RoomDay(bench, clock, residence, "oc_room").play(ask, lose)
        await room.rooms.handled()

    texts = [posted.text for posted in server.in_chat("oc_room")]
    assert clock.now() - begun == timedelta(hours=24)
    assert kinds_of(texts) == (DAY, WARNINGS)
    assert replies_of(texts) == list(range(TURNS))
    # Renewed before it ends, so that none was ever refused.
    assert (len(server.tokens), server.refusals) == (9, 0)
    assert server.connections == 1 + ROUNDS // 4
