"""A day of a room of the web by a clock that is moved: answers, reminders by the scheduler, and a budget that is full again at midnight."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from commonplace.channels.local import LocalChannel
from commonplace.channels.residence import Residence
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import RoomBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.room_day import DAY, MORNING, SETTINGS, TURNS, WARNINGS, RoomDay, kinds_of, replies_of
from commonplace.values.channel import WEB, ChannelProfile, RoomMessage
from commonplace.values.envelope import Envelope
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio
CHAT = "releases"


async def test_a_day_of_answers_and_reminders_comes_whole_and_once(bench: TurnBench, clock: FakeClock) -> None:
    begun = clock.advance(MORNING)
    parts = RoomBench(bench).parts
    profile = ChannelProfile(name=WEB, kind="web", created_at=clock.now(), settings=SETTINGS)
    platform = LocalChannel(DEFAULT_TENANT, WEB, parts.store, clock)
    residence = Residence(DEFAULT_TENANT, profile, platform, parts)

    async def messages() -> list[RoomMessage]:
        page = await parts.store.messages(DEFAULT_TENANT, WEB, CHAT, limit=500)
        return [message for message in page.messages if message.author != "person"]

    async def ask(number: int) -> None:
        envelope = Envelope(
            id=f"m{number}",
            channel=WEB,
            chat=CHAT,
            sender="ana",
            sender_name="Ana",
            text=f"Question {number}?",
            at=clock.now(),
            mentions_bot=True,
        )
        await platform.post(envelope)
        async with asyncio.timeout(5):
            # What is waited for is in the store.
            while await parts.store.unhandled(DEFAULT_TENANT, WEB):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async with residence.open():
        await RoomDay(bench, clock, residence, CHAT).play(ask)

    texts = [message.text for message in await messages()]
    assert kinds_of(texts) == (DAY, WARNINGS)
    assert replies_of(texts) == list(range(TURNS))
    assert clock.now() - begun == timedelta(hours=24)
    replies = [message.data.get("reply_to") for message in await messages() if message.author == "agent"]
    assert Counter(replies)[None] == DAY.count("reminder")
    assert max(Counter(reply for reply in replies if reply).values()) == 1
