"""A day of a group by a clock that is moved: tokens and webhooks end, connections are lost, schedules are due, the budget is full again at midnight, and nothing is lost or said twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from commonplace.testing.agents import TurnBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.dingtalk.bench import open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, said
from commonplace.testing.dingtalk.server import DingTalkServer
from commonplace.testing.events import until
from commonplace.testing.room_day import DAY, MORNING, ROUNDS, SETTINGS, TURNS, WARNINGS, RoomDay, kinds_of, replies_of
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio


async def test_a_day_of_answers_and_reminders_comes_whole_and_once(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    begun = clock.advance(MORNING)
    async with open_dingtalk(bench, server, SETTINGS) as room:

        async def handled() -> None:
            async with asyncio.timeout(5):
                # What is waited for is in the store.
                while await room.parts.store.unhandled(DEFAULT_TENANT, "ding"):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)

        async def ask(number: int) -> None:
            await room.connected()
            before = len(server.rooms[GROUP])
            await server.push(question(number))
            await room.texts(before + 1)
            # A warning may have come first: the answer is waited for as well, or its webhook has ended.
            await handled()

        async def lose(number: int) -> None:
            if number % 4 == 0:
                lost = server.links[-1]
                await lost.close()
                await until(lambda: bool(server.links) and server.links[-1] is not lost)
                # It was not sure that we had it.
                await server.push(question(number))

        await RoomDay(bench, clock, room.residence, GROUP).play(ask, lose)
        await handled()

    words = server.rooms[GROUP]
    assert clock.now() - begun == timedelta(hours=24)
    assert kinds_of([each.text for each in words]) == (DAY, WARNINGS)
    assert replies_of([each.text for each in words]) == list(range(TURNS))
    # An answer comes by the webhook of its question, which has ended when the next reminder is due.
    ways = Counter((kind, each.way) for each in words for kind in kinds_of([each.text])[0])
    assert {way for kind, way in ways if kind in ("answer", "declined")} == {"webhook"}
    assert {way for kind, way in ways if kind in ("reminder", "put off")} == {"group"}
    # Two hours each, less five minutes.
    assert len(server.made("/oauth2/accessToken")) == 9
    assert room.events.count("connected") == 1 + ROUNDS // 4


@cache
def question(number: int) -> dict[str, Any]:
    return said(f"Question {number}?")
