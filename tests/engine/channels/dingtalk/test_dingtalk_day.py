"""A day of a group by a clock that is moved: tokens and webhooks end, connections are lost, and nothing is lost or said twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from commonplace.ports.channel import Outgoing
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.dingtalk.bench import open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, said
from commonplace.testing.dingtalk.server import DingTalkServer, RobotWords
from commonplace.testing.events import until
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

ROUNDS = 16
STEP = timedelta(minutes=90)
"""More than a webhook lasts, less than a token."""


async def test_a_day_of_answers_and_reminders_comes_whole_and_once(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    bench.model = ScriptedChatModel(*(f"Answer {number}." for number in range(ROUNDS)))
    begun = clock.now()
    async with open_dingtalk(bench, server) as room:
        for number in range(ROUNDS):
            await room.connected()
            message = said(f"Question {number}?")
            await server.push(message)
            await room.texts(2 * number + 1)
            if number % 4 == 0:
                lost = server.links[-1]
                await lost.close()
                await until(lambda lost=lost: bool(server.links) and server.links[-1] is not lost)
                # It was not sure that we had it.
                await server.push(message)
            clock.advance(STEP)
            await room.platform.send(Outgoing(chat=GROUP, text=f"Reminder {number}.", key=f"reminder-{number}"))
        async with asyncio.timeout(5):
            # What is waited for is in the store.
            while await room.parts.store.unhandled(DEFAULT_TENANT, "ding"):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    assert clock.now() - begun == timedelta(hours=24)
    texts = [f"{what} {number}." for number in range(ROUNDS) for what in ("Answer", "Reminder")]
    assert [words.text for words in server.rooms[GROUP]] == texts
    assert Counter(way_of(words) for words in server.rooms[GROUP]) == {("A", "webhook"): ROUNDS, ("R", "group"): ROUNDS}
    # Two hours each, less five minutes.
    assert len(server.made("/oauth2/accessToken")) == 9
    assert room.events.count("connected") == 1 + ROUNDS // 4


def way_of(words: RobotWords) -> tuple[str, str]:
    return words.text[0], words.way
