"""A session that several people use, and an id that several sessions had: what is one person's stays theirs."""

from __future__ import annotations

import asyncio

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.local_agent import LocalAgent
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import Forbidden, NotFound, ScopeTaken
from commonplace.service.local import LocalMemory
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.values.permission import PermissionForbidden, PermissionRequest
from commonplace.values.principal import Principal
from commonplace.values.session import Session
from commonplace.values.turn_event import PermissionAsked, TurnEnded

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", tenant=WHO.tenant, role="writer")
BOB = Principal(subject="bob", tenant=WHO.tenant, role="writer")
READER = Principal(subject="rex", tenant=WHO.tenant, role="reader")


async def push() -> str:
    """Push it."""
    return "Pushed."


@pytest.fixture
def asking(bench: TurnBench) -> TurnBench:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    return bench


def live(bench: TurnBench) -> LiveSessions:
    assert bench.agent
    assert bench.sessions is not None
    return bench.sessions


def agent(bench: TurnBench, who: Principal) -> LocalAgent:
    return LocalAgent(live(bench), who)


async def begun(bench: TurnBench, who: Principal, id: str = "talk", *, shared: bool = True) -> Session:
    memory = LocalMemory(bench.services, who)
    return await memory.create_session("assistant", id=id, workspace="web", shared=shared)


async def asked(bench: TurnBench, who: Principal, session: Session) -> PermissionRequest | None:
    """What a turn of this person asks for first; None: it ends without a question."""
    ticket = await agent(bench, who).say(session.id, "Push it")
    async with asyncio.timeout(5):
        async for heard in agent(bench, who).hear(session.id, after=ticket.last_event):
            match heard.event:
                case PermissionAsked(request=request):
                    return request
                case TurnEnded():
                    return None
                case _:
                    pass
    raise AssertionError


def pushing(times: int) -> ScriptedChatModel:
    return ScriptedChatModel(*(turn for _ in range(times) for turn in ([ScriptedCall("push")], "Done.")))


async def test_an_agents_key_permits_nothing_and_may_refuse(asking: TurnBench) -> None:
    asking.model = pushing(1)
    robot = Principal(subject="robot", tenant=WHO.tenant, role="writer", agent=True)
    session = await begun(asking, robot)
    request = await asked(asking, robot, session)
    assert request is not None

    with pytest.raises(Forbidden):
        await agent(asking, robot).answer_permission(session.id, request.id, "allow_once")

    vote = await agent(asking, robot).answer_permission(session.id, request.id, "reject_once")
    assert vote.answer is not None
    assert not vote.answer.allows


async def test_a_reader_neither_permits_nor_refuses_nor_stops_anything(asking: TurnBench) -> None:
    asking.model = pushing(1)
    session = await begun(asking, ANA)
    request = await asked(asking, ANA, session)
    assert request is not None
    rex = agent(asking, READER)

    for attempt in (
        rex.answer_permission(session.id, request.id, "allow_once"),
        rex.answer_permission(session.id, request.id, "reject_once"),
        rex.cancel_turn(session.id),
        rex.say(session.id, "Push it"),
    ):
        with pytest.raises(Forbidden):
            await attempt

    assert await rex.permission_requests(session.id) == (request,)


async def test_a_call_is_permitted_by_whose_turn_it_is_and_cancelled_by_anybody_who_may_write(
    asking: TurnBench,
) -> None:
    asking.model = pushing(2)
    session = await begun(asking, BOB)
    request = await asked(asking, WHO, session)
    assert request is not None

    # The operator speaks in Bob's session: the call has the operator's rights, which Bob has not.
    for choice in ("allow_once", "reject_once"):
        with pytest.raises(PermissionForbidden) as refused:
            await agent(asking, BOB).answer_permission(session.id, request.id, choice)
        assert refused.value.details["reason"] == "designated_mismatch"
    cancelled = await agent(asking, BOB).answer_permission(session.id, request.id, "cancel")
    await agent(asking, BOB).settle(session.id)
    again = await asked(asking, WHO, session)
    assert again is not None
    permitted = await agent(asking, WHO).answer_permission(session.id, again.id, "allow_once")

    assert cancelled.answer is not None
    assert permitted.answer is not None
    assert (cancelled.answer.allows, cancelled.answer.voter, cancelled.answer.decided_by) == (False, "bob", "cancelled")
    assert permitted.answer.allows


async def test_what_one_person_always_allows_is_asked_about_when_another_speaks(asking: TurnBench) -> None:
    asking.model = pushing(3)
    session = await begun(asking, BOB)
    request = await asked(asking, BOB, session)
    assert request is not None
    await agent(asking, BOB).answer_permission(session.id, request.id, "allow_session")
    await agent(asking, BOB).settle(session.id)

    assert await asked(asking, BOB, session) is None
    assert await asked(asking, WHO, session) is not None


async def test_a_new_session_under_the_id_of_a_deleted_one_knows_nothing_of_it(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel("Noted.", "Hello.")
    first = await begun(bench, ANA, "daily", shared=False)
    await agent(bench, ANA).say(first.id, "The vault code is 4711")
    await agent(bench, ANA).settle(first.id)
    # Not by the daemon's door, which would stop it: a command, or another daemon.
    await LocalMemory(bench.services, ANA).delete_session(first.id)
    # What the session left in the memory is hers still.
    with pytest.raises(ScopeTaken):
        await begun(bench, BOB, "daily", shared=False)
    await LocalMemory(bench.services, WHO).purge(scope="session:daily")
    second = await begun(bench, BOB, "daily", shared=False)

    ticket = await agent(bench, BOB).say(second.id, "What did I say?")
    await agent(bench, BOB).settle(second.id)
    ring = await live(bench).ring(BOB, second.id)

    assert "4711" not in repr(model.requests[1])
    assert "4711" not in repr(ring.after(0, 1_000))
    assert ticket.last_event == 0
    with pytest.raises(NotFound):
        await agent(bench, ANA).say(second.id, "Hello?")


async def test_what_was_taken_back_is_not_said_after_a_restart(bench: TurnBench) -> None:
    asking, gate = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        asking.set()
        await gate.wait()
        return "Waited."

    bench.tools = [AgentTool(name="wait", kind="other", function=wait)]
    bench.model = ScriptedChatModel([ScriptedCall("wait")], "One.", "Two.")
    session = await begun(bench, ANA)
    await agent(bench, ANA).say(session.id, "First")
    await asyncio.wait_for(asking.wait(), 5)
    second = await agent(bench, ANA).say(session.id, "Second")
    sessions = live(bench)
    with pytest.raises(Forbidden):
        await sessions.withdraw(BOB, session.id, second.run)
    assert await sessions.withdraw(ANA, session.id, second.run)
    gate.set()
    await agent(bench, ANA).settle(session.id)

    await sessions.aclose()
    bench.sessions = None
    await live(bench).ring(ANA, session.id)

    page = await bench.services.history.messages(ANA, session.id)
    assert [message.text for message in page.messages if message.role == "user"] == ["First"]


async def test_a_listener_hears_no_more_once_the_session_is_not_theirs(bench: TurnBench) -> None:
    session = await begun(bench, ANA)
    memory = LocalMemory(bench.services, ANA)
    ring = await live(bench).ring(BOB, session.id)
    before = await live(bench).hears(BOB, session.id, ring)

    await memory.change_session(session.id, shared=False)
    with ring.seat(lambda _: ("x", {})) as seat:
        live(bench).doubt(ANA.tenant, session.id)

        assert (before, seat.doubted) == (True, True)
    assert not await live(bench).hears(BOB, session.id, ring)
    assert await live(bench).hears(ANA, session.id, ring)
    await memory.delete_session(session.id)
    assert not await live(bench).hears(ANA, session.id, ring)
