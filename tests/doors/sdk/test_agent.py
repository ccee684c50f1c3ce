"""Talking to an agent: the same sentences over HTTP by both clients, and in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Literal, Protocol

import pytest
from httpx_sse import ServerSentEvent

from commonplace import AsyncClient, Client
from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.local_agent import LocalAgent
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.ports.agent_client import AgentClient
from commonplace.sdk.turn_listener import TurnListener
from commonplace.service.local import LocalMemory
from commonplace.testing.daemon import TOKEN, InProcess, on_socket, served
from commonplace.testing.vendor import Vendor, running_vendor, stream
from commonplace.values.permission import PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.session import Session
from commonplace.values.session_state import LiveSessionSummary, SessionState
from commonplace.values.turn_event import (
    EventsMissed,
    MemoryLearned,
    ModeChanged,
    ModelChanged,
    PermissionAsked,
    PromptQueued,
    PromptWithdrawn,
    SessionEvent,
    TextAdded,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    TurnTicket,
)
from commonplace.wire.turns import EPOCH

pytestmark = pytest.mark.anyio

ME = Principal(subject=LOCAL, tenant="default/default", role="admin", operator=True)
PATIENCE = 5.0


class Sessions(Protocol):
    async def create_session(self, agent: str, **fields: Any) -> Session: ...


class InThreads(AgentClient):
    """The client without an event loop, each call in a thread."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        return await asyncio.to_thread(partial(self._client.say, session, text, model=model))

    async def hear(self, session: str, *, after: int | None = None) -> AsyncIterator[SessionEvent]:
        events = self._client.hear(session, after=after)
        try:
            while True:
                yield await asyncio.to_thread(next, events)
        finally:
            close: Callable[[], None] = events.close  # type: ignore[attr-defined] - a generator
            close()

    async def cancel_turn(self, session: str) -> bool:
        return await asyncio.to_thread(self._client.cancel_turn, session)

    async def withdraw_turn(self, session: str, run: str) -> bool:
        return await asyncio.to_thread(self._client.withdraw_turn, session, run)

    async def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        return await asyncio.to_thread(partial(self._client.live_sessions, everyone=everyone))

    async def session_state(self, session: str) -> SessionState:
        return await asyncio.to_thread(self._client.session_state, session)

    async def configure_session(
        self, session: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        return await asyncio.to_thread(partial(self._client.configure_session, session, mode=mode, model=model))

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        return await asyncio.to_thread(self._client.permission_requests, session)

    async def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        return await asyncio.to_thread(self._client.answer_permission, session, request, choice)


class Face:
    """An agent as one of its faces shows it, and the sessions of the same server."""

    def __init__(self, agent: AgentClient, memory: Sessions) -> None:
        self.agent = agent
        self._memory = memory

    async def begin(self, **fields: Any) -> str:
        return (await self._memory.create_session("assistant", **fields)).id

    async def heard(self, session: str, after: int, until: type[TurnEvent] = MemoryLearned) -> list[SessionEvent]:
        found: list[SessionEvent] = []
        hearing = self.agent.hear(session, after=after)
        async with asyncio.timeout(PATIENCE):
            async for event in hearing:
                found.append(event)
                if isinstance(event.event, until):
                    break
        await hearing.aclose()  # type: ignore[attr-defined] - a generator
        return found

    async def turn(self, session: str, text: str) -> list[TurnEvent]:
        ticket = await self.agent.say(session, text)
        return [event.event for event in await self.heard(session, ticket.last_event)]


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Good ", "morning.")]
        yield begun


@pytest.fixture
async def running(home: Path, vendor: Vendor) -> AsyncGenerator[InProcess]:
    async with served(home, llm_model="openai:small", llm_base_url=vendor.url, agent_learn=False) as begun:
        yield begun


@pytest.fixture(params=["client", "client without a loop", "in this process"])
async def face(request: pytest.FixtureRequest, running: InProcess) -> AsyncGenerator[Face]:
    async with AsyncExitStack() as stack:
        if request.param == "in this process":
            agent = LocalAgent(running.use_case(LiveSessions), ME)
            yield Face(agent, LocalMemory(running.services, ME))
            return
        url = await stack.enter_async_context(on_socket(running))
        client = await stack.enter_async_context(AsyncClient(url, TOKEN, timeout=PATIENCE))
        if request.param == "client":
            yield Face(client, client)
        else:
            yield Face(InThreads(stack.enter_context(Client(url, TOKEN, timeout=PATIENCE))), client)


def of(events: Sequence[TurnEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def test_what_is_said_is_heard_to_its_end(face: Face) -> None:
    session = await face.begin()

    events = await face.turn(session, "Hello?")

    assert "".join(event.text for event in of(events, TextAdded)) == "Good morning."
    [started], [ended] = of(events, TurnStarted), of(events, TurnEnded)
    assert (started.text, started.run) == ("Hello?", ended.run)
    assert (ended.reply, ended.stop_reason, ended.usage.model) == ("Good morning.", "end_turn", "openai:small")


async def test_whoever_comes_back_hears_what_they_missed(face: Face) -> None:
    session = await face.begin()
    ticket = await face.agent.say(session, "Hello?")
    whole = await face.heard(session, ticket.last_event)

    rest = await face.heard(session, after=whole[2].id or 0)

    assert rest == whole[3:]


async def test_a_turn_is_cancelled_and_the_next_is_played(face: Face, vendor: Vendor) -> None:
    vendor.replies = [stream("Once upon ", hang=True), stream("Here.")]
    session = await face.begin()
    ticket = await face.agent.say(session, "A story!")
    await face.heard(session, ticket.last_event, TextAdded)

    cancelled = await face.agent.cancel_turn(session)
    heard = await face.heard(session, ticket.last_event, TurnEnded)
    nothing = await face.agent.cancel_turn(session)
    later = await face.turn(session, "Are you there?")

    assert (cancelled, nothing) == (True, False)
    assert of([event.event for event in heard], TurnEnded)[0].stop_reason == "cancelled"
    assert of(later, TurnEnded)[0].reply == "Here."


async def test_a_person_is_asked_and_the_first_answer_counts(face: Face, vendor: Vendor, tmp_path: Path) -> None:
    vendor.replies = [stream(calls=(("write_file", '{"path": "a.txt", "content": "x"}'),)), stream("Written.")]
    session = await face.begin(folder=str(tmp_path))
    ticket = await face.agent.say(session, "Write it!")
    await face.heard(session, ticket.last_event, PermissionAsked)

    [request] = await face.agent.permission_requests(session)
    vote = await face.agent.answer_permission(session, request.id, "allow_once")
    with pytest.raises(CommonplaceError) as second:
        await face.agent.answer_permission(session, request.id, "reject_once")
    with pytest.raises(CommonplaceError) as unknown:
        await face.agent.answer_permission(session, "nothing", "allow_once")
    await face.heard(session, ticket.last_event)

    assert vote.answer is not None
    assert (request.tool, vote.answer.choice, vote.answer.voter) == ("write_file", "allow_once", LOCAL)
    assert (vote.outcome, request.terms and request.terms.policy) == ("resolved", "designated")
    assert (second.value.code, unknown.value.code) == ("permission_resolved", "permission_not_found")
    assert (tmp_path / "a.txt").read_text() == "x"
    assert await face.agent.permission_requests(session) in ((), [])


async def test_too_many_that_wait_are_refused_and_the_others_are_played(face: Face, vendor: Vendor) -> None:
    gate = Event()
    vendor.replies = [replace(stream("Done."), until=gate)]
    session = await face.begin()
    tickets = [await face.agent.say(session, str(number)) for number in range(6)]

    with pytest.raises(CommonplaceError) as full:
        await face.agent.say(session, "6")
    gate.set()
    ended: list[str] = []
    last = 0
    while len(ended) < 6:
        found = await face.heard(session, last, TurnEnded)
        ended += [event.run for event in of([event.event for event in found], TurnEnded)]
        last = found[-1].id or 0

    assert full.value.code == "turn_queue_full"
    assert [ticket.before for ticket in tickets] == [0, 1, 2, 3, 4, 5]
    assert ended == [ticket.run for ticket in tickets]


async def test_a_session_says_how_it_is_set_and_is_set_otherwise(face: Face) -> None:
    session = await face.begin()
    before = await face.agent.session_state(session)

    state = await face.agent.configure_session(session, mode="plan", model="librarian")
    activities = [one for one in await face.agent.live_sessions() if one.session.id == session]

    assert (before.options.mode, before.options.model) == ("default", "openai:small")
    assert "librarian" in before.options.models
    assert [(one.state, one.session.model) for one in activities] == [("idle", "librarian")]
    assert (state.options.mode, state.options.model) == ("plan", "librarian")
    assert [mode.id for mode in state.options.modes] == ["plan", "default", "auto-edit", "yolo"]
    events = [event.event for event in await face.heard(session, 0, ModelChanged)]
    assert events == [
        ModeChanged(mode="plan", previous="default", by=LOCAL),
        ModelChanged(model="librarian", previous="openai:small", by=LOCAL),
    ]


@pytest.mark.parametrize("change", [{"mode": "nonsense"}, {"model": "openai:strange"}, {"mode": "x" * 150}])
async def test_what_a_session_does_not_offer_cannot_be_set(face: Face, change: dict[str, str]) -> None:
    session = await face.begin()

    with pytest.raises(InvalidInput):
        await face.agent.configure_session(session, **change)

    assert (await face.agent.session_state(session)).options.mode == "default"


async def test_what_waits_is_listed_and_can_be_taken_back(face: Face, vendor: Vendor) -> None:
    vendor.replies = [stream("Slow", hang=True), stream("Next.")]
    session = await face.begin()
    first = await face.agent.say(session, "First")
    await face.heard(session, first.last_event, TextAdded)
    second = await face.agent.say(session, "Second")

    state = await face.agent.session_state(session)
    is_withdrawn = await face.agent.withdraw_turn(session, second.run)

    assert [(prompt.text, prompt.state) for prompt in state.prompts] == [("First", "running"), ("Second", "queued")]
    assert is_withdrawn
    assert not await face.agent.withdraw_turn(session, second.run)
    events = [event.event for event in await face.heard(session, second.last_event, PromptWithdrawn)]
    assert events == [PromptQueued(run=second.run, text="Second", speaker=LOCAL), PromptWithdrawn(run=second.run)]
    await face.agent.cancel_turn(session)


async def test_a_session_that_is_nowhere_is_not_found(face: Face) -> None:
    ways = (
        face.agent.say("none", "x"),
        face.agent.cancel_turn("none"),
        face.agent.permission_requests("none"),
        face.agent.answer_permission("none", "x", "allow_once"),
        face.heard("none", 0),
    )

    for way in ways:
        with pytest.raises(CommonplaceError) as refused:
            await way
        assert refused.value.code == "not_found"


@pytest.mark.parametrize("text", ["", " \n", "a\0b"])
async def test_what_nobody_can_say_is_refused(face: Face, text: str) -> None:
    session = await face.begin()

    with pytest.raises(CommonplaceError) as refused:
        await face.agent.say(session, text)

    assert refused.value.code in ("invalid_text", "invalid_input")


async def test_a_listener_names_the_count_that_its_last_id_belongs_to_and_begins_anew_in_another() -> None:
    listener = TurnListener("talk", None)
    listener.opened({EPOCH.lower(): "one"})
    listener.event_of(ServerSentEvent(data='{"id": 5, "v": 1, "type": "text", "data": {"type": "text", "text": "x"}}'))

    same = listener.begin()
    listener.opened({EPOCH.lower(): "two"})
    anew = listener.begin()

    assert (same["Last-Event-ID"], same[EPOCH]) == ("5", "one")
    assert (anew["Last-Event-ID"], anew[EPOCH]) == ("0", "two")


@pytest.mark.parametrize("reason", ["epoch_reset", "ring_evicted"])
async def test_a_listener_is_told_what_it_missed(reason: Literal["epoch_reset", "ring_evicted"]) -> None:
    listener = TurnListener("talk", 5)
    data = f'{{"v": 1, "type": "state_resync_required", "data": {{"reason": "{reason}", "lastDeliveredId": 5}}}}'

    heard = listener.event_of(ServerSentEvent(data=data))

    assert heard is not None
    assert (heard.id, heard.event) == (None, EventsMissed(reason=reason))
