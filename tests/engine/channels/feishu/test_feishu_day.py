"""A day of a group by a clock that is moved: tokens end, connections are lost, and nothing is lost or said twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.engine.channels.feishu.conftest import Room

from commonplace.ports.channel import Outgoing
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer

pytestmark = pytest.mark.anyio

ROUNDS = 16
STEP = timedelta(minutes=90)
"""Less than a token lasts."""


async def test_a_day_of_answers_and_reminders_comes_whole_and_once(
    bench: TurnBench, server: FeishuServer, clock: FakeClock, make_room: Callable[..., Room]
) -> None:
    bench.model = ScriptedChatModel(*(f"Answer {number}." for number in range(ROUNDS)))
    room, begun, server.clock = make_room(), clock.now(), clock
    async with room.open() as residence:
        for number in range(ROUNDS):
            message = await room.say("ou_ana", f"Question {number}?")
            await room.answered(message, f"Answer {number}.")
            if number % 4 == 0:
                connections = server.connections
                await server.disconnect()
                await until(lambda before=connections: server.connections > before)
                await until(lambda: residence.platform.connection.status == "connected")
            clock.advance(STEP)
            await residence.platform.send(
                Outgoing(chat="oc_room", text=f"Reminder {number}.", key=f"reminder-{number}")
            )
        await room.rooms.handled()

    assert clock.now() - begun == timedelta(hours=24)
    texts = [f"{what} {number}." for number in range(ROUNDS) for what in ("Answer", "Reminder")]
    assert [posted.text for posted in server.in_chat("oc_room")] == texts
    # Renewed before it ends, so that none was ever refused.
    assert (len(server.tokens), server.refusals) == (9, 0)
    assert server.connections == 1 + ROUNDS // 4
