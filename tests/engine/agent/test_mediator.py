"""What waits for a permission: each request ends once, whoever votes, goes away or comes late."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.agent.attendance import Attendance
from commonplace.agent.mediator import (
    MOST_RESOLVED,
    MOST_WAITING,
    MediatorCallbacks,
    MediatorOptions,
    PermissionMediator,
)
from commonplace.errors import CommonplaceError, Conflict, StoreUnavailable
from commonplace.testing.clock import FakeClock
from commonplace.values.permission import (
    CHOICES,
    POLICIES,
    VOTE_CHOICES,
    PermissionAnswer,
    PermissionForbidden,
    PermissionNotFound,
    PermissionNotOffered,
    PermissionRequest,
    PermissionResolved,
    PermissionsFull,
)
from commonplace.values.permission_entry import PermissionEntry
from commonplace.values.principal import Principal
from commonplace.values.turn_event import (
    PermissionAnswered,
    PermissionAsked,
    PermissionVoted,
    PermissionVoteLate,
    PermissionVoteRefused,
    TurnEvent,
)

T = TypeVar("T")
E = TypeVar("E")


def person(name: str, *, role: Any = "writer", loopback: bool = False) -> Principal:
    return Principal(subject=name, tenant="a/b", role=role, client=f"{name}-client", loopback=loopback)


ANA, BOB, CY = person("ana"), person("bob"), person("cy")


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward, so that nobody waits for a timeout."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


def run(work: Callable[[SkippingLoop], Awaitable[T]]) -> T:
    loop = SkippingLoop()
    try:

        async def bounded() -> T:
            return await work(loop)

        return loop.run_until_complete(bounded())
    finally:
        loop.close()


def request(id: str = "r1", **fields: Any) -> PermissionRequest:
    return PermissionRequest(id=id, call="c1", tool="shell", kind="execute", title="ls", rule="shell:ls", **fields)


@dataclass
class Room:
    """A mediator with what it told and wrote down. `fault` is raised by the audit, `stuck` keeps it for ever."""

    options: MediatorOptions = field(default_factory=MediatorOptions)
    attendance: Attendance = field(default_factory=Attendance)
    events: list[TurnEvent] = field(default_factory=list[TurnEvent])
    entries: list[PermissionEntry] = field(default_factory=list[PermissionEntry])
    fault: CommonplaceError | None = None
    stuck: bool = False

    def __post_init__(self) -> None:
        callbacks = MediatorCallbacks(tell=self.events.append, present=lambda: self.attendance.present, note=self._note)
        self.mediator = PermissionMediator(self.options, callbacks, FakeClock())

    async def _note(self, entries: Sequence[PermissionEntry]) -> None:
        if self.stuck:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault
        self.entries += entries

    async def asked(
        self, id: str = "r1", speaker: Principal | None = ANA, **fields: Any
    ) -> asyncio.Task[PermissionAnswer]:
        task = asyncio.create_task(self.mediator.ask(request(id, **fields), speaker=speaker, run="run"))
        await asyncio.sleep(0)
        return task

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def rows(self, action: str) -> list[PermissionEntry]:
        return [entry for entry in self.entries if entry.action == action]


pytestmark = pytest.mark.anyio


async def test_a_vote_reaches_the_call_that_waits_and_says_that_it_decided() -> None:
    room = Room()
    call = await room.asked()
    [asked] = room.mediator.waiting

    vote = await room.mediator.vote(ANA, "r1", "allow_session")

    answer = await call
    assert (vote.outcome, vote.answer) == ("resolved", answer)
    assert (answer.choice, answer.voter, answer.client) == ("allow_session", "ana", "ana-client")
    assert (answer.decided_by, dict(answer.votes)) == ("designated", {"ana": "allow_session"})
    assert asked.terms is not None
    assert (asked.terms.speaker, asked.terms.voters, asked.terms.quorum) == ("ana", ("ana",), 1)
    assert asked.terms.expires_at is not None
    assert (asked.terms.expires_at - asked.terms.asked_at).total_seconds() == 300
    assert room.events == [PermissionAsked(request=asked), PermissionAnswered(answer=answer)]
    assert room.mediator.waiting == ()


async def test_a_late_vote_learns_what_was_decided_and_the_listeners_hear_of_it() -> None:
    room = Room()
    call = await room.asked()
    await room.mediator.vote(ANA, "r1", "allow_once")

    with pytest.raises(PermissionResolved) as late:
        await room.mediator.vote(BOB, "r1", "cancel")

    assert late.value.details["choice"] == "allow_once"
    assert (await call).choice == "allow_once"
    [event] = room.of(PermissionVoteLate)
    assert (event.voter, event.client, event.answer.voter) == ("bob", "bob-client", "ana")
    assert room.rows("permission.voted")[-1].details["outcome"] == "already_resolved"


async def test_nothing_was_asked_under_a_made_up_id() -> None:
    with pytest.raises(PermissionNotFound):
        await Room().mediator.vote(ANA, "made up", "cancel")


async def test_only_what_was_offered_can_be_answered() -> None:
    room = Room()
    call = await room.asked(choices=("allow_once", "reject_once"))

    with pytest.raises(PermissionNotOffered):
        await room.mediator.vote(ANA, "r1", "allow_workspace")

    await room.mediator.vote(ANA, "r1", "reject_once")
    assert not (await call).allows


async def test_an_id_is_asked_about_once() -> None:
    room = Room()
    call = await room.asked()

    with pytest.raises(Conflict):
        await room.mediator.ask(request(), speaker=ANA)

    room.mediator.cancel()
    await call


async def test_a_vote_that_does_not_count_is_told_and_written_down_and_changes_nothing() -> None:
    room = Room()
    call = await room.asked()

    with pytest.raises(PermissionForbidden) as refused:
        await room.mediator.vote(BOB, "r1", "allow_once")

    assert (refused.value.code, refused.value.details["reason"]) == ("permission_forbidden", "designated_mismatch")
    [event] = room.of(PermissionVoteRefused)
    assert (event.voter, event.client, event.choice, event.reason) == (
        "bob",
        "bob-client",
        "allow_once",
        "designated_mismatch",
    )
    [row] = room.rows("permission.forbidden")
    assert (row.who, row.details["reason"]) == (BOB, "designated_mismatch")
    assert not call.done()
    await room.mediator.vote(BOB, "r1", "cancel")
    assert (await call).decided_by == "cancelled"


async def test_those_who_are_present_when_it_is_asked_agree_on_it() -> None:
    room = Room(MediatorOptions(policy="consensus"))
    with room.attendance.attend(BOB), room.attendance.attend(person("rex", role="reader")):
        call = await room.asked()
        with room.attendance.attend(CY), pytest.raises(PermissionForbidden):
            await room.mediator.vote(CY, "r1", "allow_once")

    first = await room.mediator.vote(ANA, "r1", "allow_once")
    again = await room.mediator.vote(replace(ANA, client="another"), "r1", "reject_once")
    second = await room.mediator.vote(BOB, "r1", "allow_once")

    assert (first.outcome, first.votes_needed, again) == ("recorded", 1, first)
    assert (second.outcome, (await call).decided_by) == ("resolved", "consensus")
    [event] = room.of(PermissionVoted)
    assert (event.votes, event.needed, event.quorum, event.tallies) == (1, 1, 2, {"allow_once": 1})
    assert (event.voter, event.client) == ("ana", "ana-client")
    assert room.rows("permission.requested")[0].details["voters_at_issue"] == ["ana", "bob"]
    assert [row.details["outcome"] for row in room.rows("permission.voted")] == ["recorded", "resolved"]


async def test_a_room_says_who_is_present() -> None:
    attendance = Attendance()

    with attendance.attend(ANA), attendance.attend(ANA), attendance.include(lambda: ["dan", "ana"]):
        inside = attendance.present

    assert (inside, attendance.present) == (("ana", "dan"), ())


async def test_always_is_said_by_nobody_for_somebody_else() -> None:
    room = Room(MediatorOptions(policy="first-responder"))
    call = await room.asked()

    vote = await room.mediator.vote(BOB, "r1", "allow_workspace")

    assert vote.answer is not None
    assert (vote.answer.choice, (await call).choice) == ("allow_workspace", "allow_once")


async def test_the_audit_has_each_step_and_nothing_of_the_arguments() -> None:
    room = Room()
    call = await room.asked(arguments={"command": "echo hunter2"}, diff="hunter2")

    await room.mediator.vote(ANA, "r1", "allow_once")

    await call
    assert [entry.action for entry in room.entries] == [
        "permission.requested",
        "permission.voted",
        "permission.resolved",
    ]
    assert {entry.run for entry in room.entries} == {"run"}
    assert "hunter2" not in repr([entry.details for entry in room.entries])


@pytest.mark.parametrize("stuck", [False, True])
def test_an_audit_that_fails_holds_nothing_up(stuck: bool) -> None:
    async def work(loop: SkippingLoop) -> PermissionAnswer:
        room = Room(fault=StoreUnavailable(), stuck=stuck)
        call = await room.asked()
        vote = asyncio.create_task(room.mediator.vote(ANA, "r1", "allow_once"))
        await asyncio.sleep(0)
        assert room.of(PermissionAnswered)
        loop.skipped += 10
        async with asyncio.timeout(5):
            assert (await vote).outcome == "resolved"
            return await call

    assert run(work).allows


def test_a_request_that_nobody_answers_is_rejected_in_time() -> None:
    async def work(loop: SkippingLoop) -> tuple[PermissionAnswer, Room]:
        room = Room(MediatorOptions(seconds=60))
        call = await room.asked()
        loop.skipped += 60
        return await call, room

    answer, room = run(work)

    assert (answer.allows, answer.voter, answer.decided_by) == (False, None, "timeout")
    assert [entry.action for entry in room.entries][-2:] == ["permission.timeout", "permission.resolved"]


def test_a_request_that_may_wait_for_ever_says_no_time_and_waits() -> None:
    async def work(loop: SkippingLoop) -> tuple[PermissionAnswer, Room]:
        room = Room(MediatorOptions(seconds=0))
        call = await room.asked()
        loop.skipped += 365 * 86_400
        await asyncio.sleep(0)
        assert not call.done()
        await room.mediator.vote(ANA, "r1", "allow_once")
        return await call, room

    answer, room = run(work)

    assert answer.allows
    [asked] = room.of(PermissionAsked)
    assert asked.request.terms is not None
    assert asked.request.terms.expires_at is None


async def test_what_is_asked_after_the_end_of_the_session_is_rejected() -> None:
    room = Room()
    first = await room.asked("r1")

    room.mediator.close()

    second = await room.asked("r2")
    assert [(await call).decided_by for call in (first, second)] == ["session_closed"] * 2


async def test_a_call_that_is_cancelled_waits_no_longer() -> None:
    room = Room()
    call = await room.asked()

    call.cancel()
    await asyncio.wait({call})

    assert room.mediator.waiting == ()
    with pytest.raises(PermissionResolved):
        await room.mediator.vote(ANA, "r1", "allow_once")


async def test_no_more_wait_and_no_more_are_remembered_than_may() -> None:
    room = Room()
    for number in range(MOST_RESOLVED):
        call = await room.asked(f"old {number}")
        room.mediator.cancel()
        await call
    calls = [await room.asked(f"r{number}") for number in range(MOST_WAITING)]

    with pytest.raises(PermissionsFull):
        await room.mediator.ask(request("one more"), speaker=ANA)

    room.mediator.cancel()
    await asyncio.gather(*calls)
    with pytest.raises(PermissionNotFound):
        await room.mediator.vote(ANA, f"old {MOST_WAITING - 1}", "cancel")
    with pytest.raises(PermissionResolved):
        await room.mediator.vote(ANA, f"old {MOST_WAITING}", "cancel")


steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(["ana", "bob", None])),
        st.tuples(
            st.just("vote"),
            st.integers(0, 5),
            st.sampled_from(["ana", "bob", "cy"]),
            st.sampled_from(VOTE_CHOICES),
            st.booleans(),
        ),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("wait"), st.sampled_from([10.0, 70.0])),
        st.tuples(st.just("cancel")),
        st.tuples(st.just("breathe")),
    ),
    max_size=30,
)


@given(
    options=st.builds(
        MediatorOptions,
        policy=st.sampled_from(POLICIES),
        quorum=st.none() | st.integers(1, 4),
        seconds=st.sampled_from([0.0, 60.0]),
    ),
    present=st.sets(st.sampled_from(["ana", "bob", "cy"])),
    fault=st.sampled_from([None, StoreUnavailable()]),
    steps=steps,
)
def test_whatever_happens_each_request_ends_once(
    options: MediatorOptions, present: set[str], fault: CommonplaceError | None, steps: list[tuple[Any, ...]]
) -> None:
    room = Room(options, fault=fault)
    run(lambda loop: _played(room, loop, present, steps))

    asked = [event.request for event in room.of(PermissionAsked)]
    answers = {event.answer.request: event.answer for event in room.of(PermissionAnswered)}
    assert Counter(request.id for request in asked) == Counter(
        event.answer.request for event in room.of(PermissionAnswered)
    )
    for request in asked:
        answer, terms = answers[request.id], request.terms
        assert terms is not None
        assert answer.choice in CHOICES
        assert not terms.voters or set(answer.votes) <= set(terms.voters)
        if answer.allows:
            agreed = [voter for voter, choice in answer.votes.items() if choice == answer.choice]
            assert len(agreed) >= terms.quorum
            assert (answer.decided_by, answer.reason) == (options.policy, None)
        if answer.decided_by == "timeout":
            assert options.seconds
    if fault is None:
        resolved = Counter(row.details["permission"] for row in room.rows("permission.resolved"))
        assert resolved == Counter(request.id for request in asked)


async def _played(room: Room, loop: SkippingLoop, present: set[str], steps: list[tuple[Any, ...]]) -> None:
    """Each step, without waiting for what it sets off; then the end of the session."""
    room.attendance.include(lambda: present).__enter__()
    calls: list[asyncio.Task[PermissionAnswer]] = []
    votes: list[asyncio.Task[Any]] = []
    for step in steps:
        match step:
            case ("ask", name):
                speaker = None if name is None else person(name)
                calls.append(asyncio.create_task(room.mediator.ask(request(f"r{len(calls)}"), speaker=speaker)))
            case ("vote", number, name, choice, loopback):
                voter = person(name, loopback=loopback)
                votes.append(asyncio.create_task(room.mediator.vote(voter, f"r{number}", choice)))
            case ("leave", int() as number) if number < len(calls):
                calls[number].cancel()
            case ("wait", seconds):
                loop.skipped += seconds
            case ("cancel",):
                room.mediator.cancel()
            case _:
                await asyncio.sleep(0)
    room.mediator.close()
    async with asyncio.timeout(30):
        await asyncio.gather(*calls, *votes, return_exceptions=True)
        await room.mediator.settle()
    assert room.mediator.waiting == ()
    for vote in votes:
        error = vote.exception()
        assert error is None or isinstance(error, PermissionResolved | PermissionForbidden | PermissionNotFound), error
