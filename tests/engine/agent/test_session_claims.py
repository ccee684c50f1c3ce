"""Two processes over one store: a session is led by one of them, and by the other when that one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.session_claims import SessionClaims
from commonplace.agent.tools.tool import AgentTool
from commonplace.compose.services import ComposeOptions, composed
from commonplace.errors import NotFound
from commonplace.jobs.leases import worker_name
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.values.session import Session, SessionMessage
from commonplace.values.session_lease import LeaseHolder, SessionElsewhere, SessionInUse, SessionLost
from commonplace.values.turn_event import PromptQueued, TurnEvent, TurnFailed, TurnStarted

pytestmark = pytest.mark.anyio

LEASE = timedelta(seconds=30)
ONE, TWO = "http://127.0.0.1:4170", "http://127.0.0.1:4171"


@dataclass
class Pair:
    """`dead` are the processes that are known to have ended."""

    services: Services
    clock: FakeClock
    dead: set[str]
    one: TurnBench
    two: TurnBench

    def claims(self, url: str | None) -> SessionClaims:
        holder = LeaseHolder(process=worker_name(), url=url)
        leases = self.services.desk.store.session_leases
        return SessionClaims(leases, self.clock, holder, lease=LEASE, dead=self.dead.__contains__)

    async def said(self, session: Session) -> list[str]:
        page = await self.services.history.messages(WHO, session.id)
        return [message.text for message in page.messages if message.role == "user"]


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncGenerator[Pair]:
    clock = FakeClock()
    async with composed(Settings(home=tmp_path / "home", embedder="none"), ComposeOptions(clock=clock)) as services:
        found = Pair(services, clock, set(), TurnBench(services), TurnBench(services))
        found.one.claims, found.two.claims = found.claims(ONE), found.claims(TWO)
        yield found
        await found.one.aclose()
        await found.two.aclose()


def live(bench: TurnBench) -> LiveSessions:
    assert bench.agent
    assert bench.sessions is not None
    return bench.sessions


async def _hear(bench: TurnBench, session: Session, events: list[TurnEvent]) -> None:
    """Whatever is told from the beginning to the end of the stream."""
    async with asyncio.timeout(5):
        async for heard in bench.agent.hear(session.id, after=0):
            events += [heard.event]


USES: Sequence[Callable[[TurnBench, str], Awaitable[object]]] = (
    lambda bench, id: bench.agent.say(id, "Hello?"),
    lambda bench, id: anext(aiter(bench.agent.hear(id))),
    lambda bench, id: bench.agent.session_state(id),
    lambda bench, id: bench.agent.configure_session(id, mode="plan"),
    lambda bench, id: bench.agent.cancel_turn(id),
    lambda bench, id: bench.agent.withdraw_turn(id, "run"),
    lambda bench, id: bench.agent.permission_requests(id),
    lambda bench, id: bench.agent.answer_permission(id, "request", "allow_once"),
    lambda bench, id: live(bench).require_here(WHO, id),
)


async def test_whatever_is_asked_for_a_session_of_another_process_says_where_it_is(pair: Pair) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "Hello.")
    refusals: list[SessionElsewhere] = []

    for use in USES:
        with pytest.raises(SessionElsewhere) as refused:
            await use(pair.two, session.id)
        refusals.append(refused.value)

    assert {refused.details["owner"] for refused in refusals} == {ONE}
    assert all(0 < float(str(refused.details["retry_after"])) <= 30 for refused in refusals)
    assert await pair.said(session) == ["Hello."]


async def test_whoever_does_not_reach_a_session_is_not_told_where_it_is(pair: Pair) -> None:
    await pair.one.session()

    with pytest.raises(NotFound):
        await pair.two.agent.say("none", "Hello?")


async def test_a_program_without_an_address_has_the_session_in_use(pair: Pair) -> None:
    pair.one.claims = pair.claims(None)
    session = await pair.one.session()
    await pair.one.turn(session, "Hello.")

    with pytest.raises(SessionInUse):
        await pair.two.agent.say(session.id, "Hello?")


async def test_a_session_that_is_let_go_is_taken_up_with_all_that_was_said(pair: Pair) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "first")

    await live(pair.one).aclose()
    await pair.two.turn(session, "second")

    assert await pair.said(session) == ["first", "second"]


async def test_nobody_waits_for_a_process_that_is_known_to_be_dead(pair: Pair) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "first")
    pair.dead.add(pair.one.led.holder.process)

    await pair.two.turn(session, "second")

    assert await pair.said(session) == ["first", "second"]


@dataclass
class Overtaken:
    """
    One is in the middle of a turn when its lease runs out and the other takes over: the model asks for a tool when the `gate` opens. `hearing`
    is a listener of the one, `pushed` what the tool did.
    """

    session: Session
    gate: asyncio.Event
    pushed: list[str]
    events: list[TurnEvent]
    hearing: asyncio.Task[None]

    @property
    def failures(self) -> list[str]:
        return [event.code for event in self.events if isinstance(event, TurnFailed)]


@pytest.fixture
async def overtaken(pair: Pair) -> AsyncGenerator[Overtaken]:
    gate, pushed = asyncio.Event(), list[str]()

    async def push() -> str:
        """Push it."""
        pushed.append("once")
        return "Pushed."

    pair.one.tools = [AgentTool(name="push", kind="execute", function=push, asks=False, changes=True)]
    pair.one.model = ScriptedChatModel([gate.wait, ScriptedCall("push")], then="Done.")
    session = await pair.one.session()
    ticket = await pair.one.agent.say(session.id, "Push it")
    await pair.one.hear(session, ticket.last_event, TurnStarted)
    await pair.one.agent.say(session.id, "And what else?")
    events: list[TurnEvent] = []
    hearing = asyncio.create_task(_hear(pair.one, session, events))
    await until(lambda: any(isinstance(event, PromptQueued) for event in events))
    pair.clock.advance(2 * LEASE)
    await pair.two.turn(session, "Hello?")
    yield Overtaken(session, gate, pushed, events, hearing)
    hearing.cancel()


async def look_for_losses(bench: TurnBench) -> None:
    """As it does from time to time."""
    for key in await bench.led.renew():
        await live(bench).lose(key)


async def everything(pair: Pair, session: Session) -> Sequence[SessionMessage]:
    return (await pair.services.history.messages(WHO, session.id, limit=1000, hidden=True)).messages


async def test_a_turn_that_goes_on_at_a_process_that_was_overtaken_fails_before_its_next_call(
    pair: Pair, overtaken: Overtaken
) -> None:
    before = await everything(pair, overtaken.session)
    overtaken.gate.set()
    # What it plays, and what waits behind it: it has not looked yet.
    await until(lambda: len(overtaken.failures) == 2)

    await look_for_losses(pair.one)
    await overtaken.hearing

    assert overtaken.failures == [SessionLost.code] * 2
    assert overtaken.pushed == []
    assert await everything(pair, overtaken.session) == before


async def test_what_waited_at_the_process_that_is_gone_was_said_and_not_answered(
    pair: Pair, overtaken: Overtaken
) -> None:
    assert await pair.said(overtaken.session) == ["Push it", "And what else?", "Hello?"]


async def test_the_listeners_of_a_process_that_was_overtaken_come_to_an_end(pair: Pair, overtaken: Overtaken) -> None:
    await look_for_losses(pair.one)

    await overtaken.hearing
    with pytest.raises(SessionElsewhere) as refused:
        await pair.one.agent.say(overtaken.session.id, "Am I there?")

    assert refused.value.details["owner"] == TWO
    assert live(pair.one).in_use == ()


async def test_a_use_finds_out_that_the_lease_was_lost(pair: Pair, overtaken: Overtaken) -> None:
    with pytest.raises(SessionElsewhere):
        await pair.one.agent.say(overtaken.session.id, "Am I there?")

    assert live(pair.one).in_use == ()


async def test_a_lease_that_ran_out_while_nobody_came_is_taken_up_again(pair: Pair) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "first")
    pair.clock.advance(10 * LEASE)

    await pair.one.turn(session, "second")

    assert await pair.said(session) == ["first", "second"]


async def test_a_session_that_somebody_deleted_elsewhere_is_let_go_and_one_of_its_id_is_another(pair: Pair) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "first")

    await pair.services.history.delete(WHO, session.id)
    pair.clock.advance(timedelta(seconds=1))
    again = await pair.two.memory.create_session("assistant", id=session.id)
    await pair.two.turn(again, "second")
    await live(pair.one).changed(WHO.tenant, session.id, again)

    assert live(pair.one).in_use == ()
    assert await pair.said(again) == ["second"]


@pytest.mark.parametrize("is_archived", [True, False])
async def test_a_session_that_was_changed_elsewhere_is_known_so_here(pair: Pair, is_archived: bool) -> None:
    session = await pair.one.session()
    await pair.one.turn(session, "first")

    changed = await pair.services.history.change(WHO, session.id, {"title": "New", "archived": is_archived})
    await live(pair.one).changed(WHO.tenant, session.id, changed)

    assert live(pair.one).in_use == (() if is_archived else (session.id,))
