"""Two processes over one store: a channel is led by one of them, and by the other when that one is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.agent.session_claims import SessionClaims
from commonplace.channels.host import ChannelHost
from commonplace.channels.local import LocalChannel
from commonplace.jobs.leases import worker_name
from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.service.services import ServiceOptions, Services
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.values.channel import ChannelProfile, ChannelStopped
from commonplace.values.envelope import Envelope
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session_lease import LeaseHolder, SessionElsewhere, channel_lease

pytestmark = pytest.mark.anyio

LEASE = timedelta(seconds=30)
TEAM = "team"


@dataclass
class Process:
    """One of those that share a store. `dead` are processes that are known to have ended."""

    services: Services
    clock: FakeClock
    url: str
    dead: set[str] = field(default_factory=set[str])
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self.bench = TurnBench(self.services)
        self.bench.model = self.model = ScriptedChatModel(then="Done.")
        self.bench.claims = self._claims()
        self.claims = self._claims()
        rooms = RoomBench(self.bench, session_pauses=(0.01,) * 100)
        self.host = ChannelHost(DEFAULT_TENANT, rooms.parts, self.claims)

    def _claims(self) -> SessionClaims:
        holder = LeaseHolder(process=worker_name(), url=self.url)
        leases = self.services.desk.store.session_leases
        return SessionClaims(leases, self.clock, holder, lease=LEASE, dead=self.dead.__contains__)

    async def begin(self) -> None:
        await self.stack.enter_async_context(self.host.open())

    @property
    def leads(self) -> bool:
        return self.claims.holds(DEFAULT_TENANT, channel_lease(TEAM))

    async def say(self, text: str) -> str:
        residence = await self.host.residence(DEFAULT_TENANT, TEAM)
        assert isinstance(residence.platform, LocalChannel)
        return (await residence.platform.post(self.envelope(text))).id

    def envelope(self, text: str) -> Envelope:
        fields: dict[str, Any] = {
            "channel": TEAM,
            "chat": "7",
            "sender": "ana",
            "sender_name": "Ana",
            "mentions_bot": True,
        }
        return Envelope(id=f"m-{text}", text=text, at=self.clock.now(), **fields)

    async def answers(self, message: str) -> list[str]:
        """What was answered to a message, once something was and nothing is left to do."""
        store = self.services.desk.store.channels
        async with asyncio.timeout(5):
            while await store.unhandled(DEFAULT_TENANT, TEAM):  # noqa: ASYNC110 - what is waited for is in the store
                await asyncio.sleep(0.005)
        page = await store.messages(DEFAULT_TENANT, TEAM, "7")
        return [each.text for each in page.messages if each.data.get("reply_to") == message]

    async def aclose(self) -> None:
        await self.stack.aclose()
        await self.bench.aclose()
        await self.claims.aclose()


@pytest.fixture
async def pair(desk: Desk, clock: FakeClock, tmp_path: Any) -> AsyncGenerator[tuple[Process, Process]]:
    services = Services(desk, ServiceOptions(run_home=tmp_path / "home", home=tmp_path / "home"))
    profile = ChannelProfile(name=TEAM, kind="terminal", created_at=clock.now(), settings=OPEN)
    await desk.store.channels.put_channel(DEFAULT_TENANT, profile, Entries(), new=True)
    one, two = Process(services, clock, "http://one:4170"), Process(services, clock, "http://two:4170")
    await one.begin()
    await two.begin()
    yield one, two
    await two.aclose()
    await one.aclose()


async def test_a_channel_is_at_work_at_one_of_two_and_the_other_says_where(pair: tuple[Process, Process]) -> None:
    one, two = pair

    with pytest.raises(SessionElsewhere) as refused:
        await two.say("Hello?")

    status = two.host.status(await two.host.profile(DEFAULT_TENANT, TEAM), DEFAULT_TENANT)
    assert (one.leads, two.leads) == (True, False)
    assert refused.value.details["owner"] == "http://one:4170"
    assert (status.running, status.leader) == (False, "http://one:4170")
    assert await one.answers(await one.say("Hello?")) == ["Done."]


async def test_a_process_that_ends_hands_its_channel_to_the_next(pair: tuple[Process, Process]) -> None:
    one, two = pair
    first = await one.answers(await one.say("first"))
    await one.aclose()

    await two.host.look_around()

    assert two.leads
    assert (first, await two.answers(await two.say("second"))) == (["Done."], ["Done."])


async def test_a_process_that_is_known_to_be_dead_is_not_waited_for(pair: tuple[Process, Process]) -> None:
    one, two = pair
    two.dead |= {one.claims.holder.process, *([one.bench.claims.holder.process] if one.bench.claims else [])}

    await two.host.look_around()

    assert two.leads
    assert await two.answers(await two.say("second")) == ["Done."]


async def test_a_process_that_slept_finds_its_channel_led_elsewhere_and_lets_its_rooms_go(
    pair: tuple[Process, Process],
) -> None:
    one, two = pair
    first = await one.answers(await one.say("first"))
    one.clock.advance(LEASE * 2)
    await two.host.look_around()

    with pytest.raises(SessionElsewhere) as refused:
        await one.say("late")

    assert refused.value.details["owner"] == "http://two:4170"
    assert (one.leads, two.leads) == (False, True)
    assert first == ["Done."]
    assert await two.answers(await two.say("second")) == ["Done."]


async def test_what_a_process_kept_that_leads_no_longer_is_answered_once_by_the_one_that_does(
    pair: tuple[Process, Process],
) -> None:
    one, two = pair
    stale = await one.host.residence(DEFAULT_TENANT, TEAM)
    await one.answers(await one.say("first"))
    one.clock.advance(LEASE * 2)
    await two.host.look_around()
    await two.answers(await two.say("second"))
    # The platform brought it to the one that slept, before that one knew.
    await stale.receive(one.envelope("late"))
    with pytest.raises(SessionElsewhere):
        await one.host.residence(DEFAULT_TENANT, TEAM)

    await two.host.look_around()
    await two.host.look_around()

    assert await two.answers("m-late") == ["Done."]


@pytest.fixture
async def third(pair: tuple[Process, Process]) -> AsyncGenerator[Process]:
    """A process that leads the session of the room, as one does at which somebody looks at it there."""
    one, two = pair
    await one.answers(await one.say("first"))
    owner = (await one.host.residence(DEFAULT_TENANT, TEAM)).owner
    await one.aclose()
    begun = Process(two.services, two.clock, "http://three:4170")
    await begun.host.parts.agent.ring(owner, await session_of(begun))
    yield begun
    await begun.aclose()


async def session_of(process: Process) -> str:
    [route] = await process.host.parts.store.routes(DEFAULT_TENANT, TEAM)
    return route.session


async def test_a_room_waits_for_its_session_while_another_process_leads_it(
    pair: tuple[Process, Process], third: Process, caplog: pytest.LogCaptureFixture
) -> None:
    _, two = pair
    with caplog.at_level(logging.INFO, "commonplace"):
        message = await two.say("second")
        await until(lambda: "elsewhere" in [vars(each).get("told", {}).get("outcome") for each in caplog.records])

    await third.host.parts.agent.let_go(DEFAULT_TENANT, await session_of(third))

    assert await two.answers(message) == ["Done."]


async def test_whoever_speaks_in_a_room_that_is_led_elsewhere_for_long_is_told_where(
    pair: tuple[Process, Process], third: Process
) -> None:
    _, two = pair
    two.host.parts = replace(two.host.parts, session_pauses=(0.0,))

    [answer] = await two.answers(await two.say("second"))

    assert third.url in answer


async def test_a_channel_that_is_stopped_or_set_elsewhere_is_so_here(pair: tuple[Process, Process]) -> None:
    one, two = pair
    store = two.services.desk.store.channels
    profile = await two.host.profile(DEFAULT_TENANT, TEAM)
    changed = replace(profile, settings=replace(OPEN, agent="scribe"))
    await store.put_channel(DEFAULT_TENANT, changed, Entries())

    await one.host.look_around()
    agent = (await one.host.residence(DEFAULT_TENANT, TEAM)).profile.settings.agent
    await store.put_channel(DEFAULT_TENANT, replace(changed, enabled=False), Entries())
    await one.host.look_around()

    assert agent == "scribe"
    assert not one.leads
    with pytest.raises(ChannelStopped):
        await one.host.residence(DEFAULT_TENANT, TEAM)
