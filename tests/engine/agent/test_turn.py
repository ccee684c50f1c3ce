"""A turn: what is kept, what is told, what happens when something goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import anyio
import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from commonplace.agent.compaction import INTERRUPTED
from commonplace.agent.memory.backend import FinishedTurn, Persisted, Recalled, TurnContext
from commonplace.agent.prompt import PromptParts, instructions
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.turn_course import TurnLimits
from commonplace.errors import InvalidText
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel, Thought
from commonplace.values.session import MessageDraft, SessionMessage, TurnQueueFull
from commonplace.values.turn_event import (
    MemoryLearned,
    MemoryRecalled,
    PermissionAsked,
    RecalledMemory,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)

pytestmark = pytest.mark.anyio
E = TypeVar("E")


def of(events: Sequence[TurnEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


async def kept(bench: TurnBench, session: str) -> list[SessionMessage]:
    page = await bench.services.history.messages(WHO, session, after=0, limit=500, hidden=True)
    return list(page.messages)


def sent(model: ScriptedChatModel, request: int = 0) -> list[ModelMessage]:
    return model.requests[request]


def users(messages: Sequence[ModelMessage]) -> list[str]:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


async def add(one: int, other: int) -> str:
    """Add two numbers."""
    return str(one + other)


ADD = AgentTool(name="add", kind="other", function=add)


async def test_a_turn_streams_thoughts_and_text_and_keeps_what_was_said(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel([Thought("Hm. "), "Good ", "morning."])
    session = await bench.session()

    events = await bench.turn(session, "Good morning!")

    assert [event.text for event in of(events, ThinkingAdded)] == ["Hm. "]
    assert "".join(event.text for event in of(events, TextAdded)) == "Good morning."
    [ended] = of(events, TurnEnded)
    assert (ended.reply, ended.stop_reason, ended.usage.requests) == ("Good morning.", "end_turn", 1)
    messages = await kept(bench, session.id)
    visible = [(message.role, message.kind, message.text) for message in messages if message.context_visible]
    assert visible == [
        ("user", "text", "Good morning!"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "text", "Good morning."),
    ]


async def test_a_tool_call_is_kept_before_it_runs_and_its_result_after(bench: TurnBench) -> None:
    seen: list[list[str]] = []
    session = await bench.session()

    async def look() -> str:
        """Look."""
        seen.append([message.kind for message in await kept(bench, session.id)])
        return "seen"

    bench.tools = [AgentTool(name="look", kind="read", function=look)]
    bench.model = ScriptedChatModel(["I look.", ScriptedCall("look", id="c1")], "Done.")

    events = await bench.turn(session, "Look!")

    [started], [ended] = of(events, ToolStarted), of(events, ToolEnded)
    assert (started.call, ended.text, ended.failed) == ("c1", "seen", False)
    assert seen == [["text", "text", "tool_call"]]
    kinds = [message.kind for message in await kept(bench, session.id) if message.context_visible]
    assert kinds == ["text", "text", "tool_call", "tool_result", "text"]


async def test_the_next_turn_tells_the_model_what_was_said_before(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel(
        [ScriptedCall("add", {"one": 2, "other": 3}, id="c1")], "Five.", "You asked for 2 + 3."
    )
    bench.tools = [ADD]
    session = await bench.session()

    await bench.turn(session, "2 + 3?")
    await bench.turn(session, "What did I ask?")

    parts = [part.part_kind for message in sent(model, 2) for part in message.parts]
    kinds = [kind for kind in parts if kind != "system-prompt"]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text", "user-prompt"]


async def test_a_session_that_another_process_led_goes_on_where_it_ended(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel("One.", "Two.")
    session = await bench.session()
    await bench.turn(session, "First?")
    assert bench.sessions is not None
    await bench.sessions.aclose()
    bench.sessions = None

    await bench.turn(session, "Second?")

    assert users(sent(model, 1)) == ["First?", "Second?"]


async def test_a_call_that_a_crash_cut_off_is_told_as_interrupted_and_not_run_again(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel("I see.")
    session = await bench.session()
    drafts = [
        MessageDraft(id="1", role="user", kind="text", text="Delete it.", run="r1"),
        MessageDraft(
            id="2", role="assistant", kind="tool_call", text="Delete", run="r1", call="c1", data={"tool": "add"}
        ),
    ]
    await bench.services.history.append(WHO, session.id, drafts)
    bench.tools = [ADD]

    events = await bench.turn(session, "And?")

    results = [part for message in sent(model) for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [result.content for result in results] == [INTERRUPTED]
    assert not of(events, ToolStarted)


async def test_what_waited_when_a_process_ended_was_said_and_is_not_played(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel("Yes.")
    session = await bench.session()
    queued = MessageDraft(
        id="r1-queued",
        role="event",
        kind="event",
        text="prompt_queued",
        data={"text": "Do it twice."},
        run="r1",
        context_visible=False,
    )
    await bench.services.history.append(WHO, session.id, [queued])

    await bench.turn(session, "Are you there?")

    assert users(sent(model)) == ["Do it twice.", "Are you there?"]


async def test_turns_are_played_one_after_the_other_and_stand_in_that_order(bench: TurnBench) -> None:
    gate = asyncio.Event()
    bench.model = ScriptedChatModel([gate.wait, "One."], "Two.", "Three.")
    session = await bench.session()

    first = await bench.agent.say(session.id, "1")
    others = [await bench.agent.say(session.id, text) for text in ("2", "3")]
    gate.set()
    assert bench.sessions is not None
    async with asyncio.timeout(5):
        await bench.sessions.settle(WHO, session.id)

    assert [first.before, *(ticket.before for ticket in others)] == [0, 1, 2]
    texts = [message.text for message in await kept(bench, session.id) if message.kind == "text"]
    assert texts == ["1", "One.", "2", "Two.", "3", "Three."]


async def test_too_many_prompts_are_refused_and_nothing_is_lost(bench: TurnBench) -> None:
    gate = asyncio.Event()
    bench.model = ScriptedChatModel([gate.wait, "Done."], then="Done.")
    session = await bench.session()

    # One is played, five wait.
    for number in range(6):
        await bench.agent.say(session.id, str(number))
    with pytest.raises(TurnQueueFull):
        await bench.agent.say(session.id, "6")
    gate.set()
    assert bench.sessions is not None
    async with asyncio.timeout(5):
        await bench.sessions.settle(WHO, session.id)

    said = [message.text for message in await kept(bench, session.id) if message.role == "user"]
    assert said == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("text", ["", "  \n", "a\0b", "x" * 1_000_001])
async def test_what_nobody_can_say_is_refused(bench: TurnBench, text: str) -> None:
    session = await bench.session()

    with pytest.raises(InvalidText):
        await bench.agent.say(session.id, text)


async def test_a_prompt_of_a_megabyte_is_answered(bench: TurnBench) -> None:
    session = await bench.session()

    events = await bench.turn(session, "word " * 200_000)

    assert of(events, TurnEnded)


# ---- cancel


async def test_a_turn_is_cancelled_while_the_model_speaks_and_what_it_said_is_kept(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(["Once upon ", anyio.sleep_forever], "Still here.")
    session = await bench.session()
    ticket = await bench.agent.say(session.id, "Tell me a story.")
    await bench.hear(session, ticket.last_event, until=TextAdded)

    cancelled = await bench.agent.cancel_turn(session.id)
    [ended] = of(await bench.hear(session, ticket.last_event), TurnEnded)
    later = await bench.turn(session, "Are you there?")

    assert cancelled
    assert (ended.stop_reason, ended.reply) == ("cancelled", "Once upon ")
    assert of(later, TurnEnded)[0].reply == "Still here."
    [partial] = [message for message in await kept(bench, session.id) if message.data.get("partial")]
    assert partial.text == "Once upon"


async def test_a_tool_is_stopped_with_its_turn(bench: TurnBench) -> None:
    stopped = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        try:
            await anyio.sleep(3_600)
        finally:
            stopped.set()
        return "done"

    bench.tools = [AgentTool(name="wait", kind="other", function=wait)]
    bench.model = ScriptedChatModel([ScriptedCall("wait", id="c1")], then="Done.")
    session = await bench.session()
    ticket = await bench.agent.say(session.id, "Wait.")
    await bench.hear(session, ticket.last_event, until=ToolStarted)

    await bench.agent.cancel_turn(session.id)

    async with asyncio.timeout(2):
        await stopped.wait()
    kinds = [message.kind for message in await kept(bench, session.id)]
    assert "tool_call" in kinds
    assert "tool_result" not in kinds


async def test_a_turn_that_is_told_to_end_again_and_again_has_its_last_words(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(["Once upon ", anyio.sleep_forever])
    session = await bench.session()
    ticket = await bench.agent.say(session.id, "Tell me a story.")
    await bench.hear(session, ticket.last_event, until=TextAdded)
    cancels: list[asyncio.Task[bool]] = []
    # Its last words take a moment: one of these comes in the middle of them.
    for _ in range(40):
        cancels.append(asyncio.create_task(bench.agent.cancel_turn(session.id)))
        await asyncio.sleep(0.0002)
    await asyncio.gather(*cancels)

    [ended] = of(await bench.hear(session, ticket.last_event), TurnEnded)
    assert (ended.stop_reason, ended.reply) == ("cancelled", "Once upon ")
    [partial] = [message for message in await kept(bench, session.id) if message.data.get("partial")]
    assert partial.text == "Once upon"


async def test_a_turn_that_is_cancelled_as_soon_as_it_is_said_ends_with_a_word(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(then="Here.")
    session = await bench.session()
    for number in range(6):
        ticket = await bench.agent.say(session.id, f"Number {number}.")
        for _ in range(number):
            await asyncio.sleep(0)
        await bench.agent.cancel_turn(session.id)

        assert [event.run for event in of(await bench.hear(session, ticket.last_event), TurnEnded)] == [ticket.run]


async def test_nothing_to_cancel_is_said_so(bench: TurnBench) -> None:
    session = await bench.session()

    assert not await bench.agent.cancel_turn(session.id)


# ---- permissions


async def test_a_person_is_asked_and_what_they_answer_is_done(bench: TurnBench) -> None:
    bench.tools = [AgentTool(name="add", kind="edit", function=add, asks=True, changes=True)]
    bench.model = ScriptedChatModel([ScriptedCall("add", {"one": 1, "other": 1}, id="c1")], "Two.")
    session = await bench.session()
    ticket = await bench.agent.say(session.id, "1 + 1?")
    await bench.hear(session, ticket.last_event, until=PermissionAsked)

    [request] = await bench.agent.permission_requests(session.id)
    answer = await bench.agent.answer_permission(session.id, request.id, "allow_once")
    events = await bench.hear(session, ticket.last_event)

    assert answer.answer is not None
    assert (answer.outcome, answer.answer.voter, answer.answer.decided_by) == ("resolved", WHO.subject, "designated")
    assert of(events, ToolEnded)[0].text == "2"
    names = [message.text for message in await kept(bench, session.id) if not message.context_visible]
    assert names[:2] == ["permission_asked", "permission_answered"]


async def test_a_refused_call_does_not_run_and_the_turn_goes_on(bench: TurnBench) -> None:
    bench.tools = [AgentTool(name="add", kind="edit", function=add, asks=True, changes=True)]
    bench.model = ScriptedChatModel([ScriptedCall("add", {"one": 1, "other": 1}, id="c1")], "As you like.")
    session = await bench.session()
    ticket = await bench.agent.say(session.id, "1 + 1?")
    await bench.hear(session, ticket.last_event, until=PermissionAsked)
    [request] = await bench.agent.permission_requests(session.id)

    await bench.agent.answer_permission(session.id, request.id, "reject_once")
    events = await bench.hear(session, ticket.last_event)

    assert of(events, ToolEnded)[0].failed
    assert of(events, TurnEnded)[0].reply == "As you like."


# ---- what goes wrong


async def test_a_model_that_fails_ends_the_turn_with_a_sentence_and_the_session_goes_on(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(ModelHTTPError(400, "scripted"), "Better now.")
    session = await bench.session()

    failed = await bench.turn(session, "Hello?")
    later = await bench.turn(session, "Hello?")

    assert of(failed, TurnFailed)[0].code == "model_refused"
    assert of(later, TurnEnded)[0].reply == "Better now."


async def test_a_model_that_loops_is_stopped_and_says_so(bench: TurnBench) -> None:
    bench.tools = [ADD]
    bench.limits = TurnLimits(requests=3)
    bench.model = ScriptedChatModel(then=[ScriptedCall("add", {"one": 1, "other": 1})])
    session = await bench.session()

    [ended] = of(await bench.turn(session, "Count."), TurnEnded)

    assert ended.stop_reason == "max_turn_requests"
    assert ended.usage.requests == 3
    assert (await kept(bench, session.id))[-2].text == ended.reply


@pytest.mark.parametrize(
    "call",
    [
        ScriptedCall("nothing_of_that_name"),
        ScriptedCall("add", "{not json"),
        ScriptedCall("add", {"one": "x"}),
        ScriptedCall("add", {"one": 1}),
    ],
)
async def test_a_model_that_calls_wrongly_is_told_so_and_may_mend_it(bench: TurnBench, call: ScriptedCall) -> None:
    bench.tools = [ADD]
    bench.model = ScriptedChatModel([call], "I beg your pardon.")
    session = await bench.session()

    events = await bench.turn(session, "Go.")

    assert of(events, TurnEnded)[0].reply == "I beg your pardon."


async def test_a_model_that_never_learns_ends_the_turn_not_the_session(bench: TurnBench) -> None:
    bench.tools = [ADD]
    bench.model = ScriptedChatModel(*[[ScriptedCall("nothing_of_that_name")]] * 8, then="Fine.")
    session = await bench.session()

    first = await bench.turn(session, "Go.")
    later = await bench.turn(session, "Hello?")

    assert of(first, TurnFailed) or of(first, TurnEnded)
    assert of(later, TurnEnded)


async def test_a_model_that_sends_ten_megabytes_of_arguments_costs_the_turn_and_no_more(bench: TurnBench) -> None:
    bench.tools = [ADD]
    bench.model = ScriptedChatModel([ScriptedCall("add", '{"one": "' + "1" * 10_000_000 + '"}')], then="Here I am.")
    session = await bench.session()

    events = await bench.turn(session, "Go.")
    later = await bench.turn(session, "Hello?")

    # To send it all back to the model would cost more than the day has.
    assert of(events, TurnFailed)[0].code == "spending_cap_reached"
    assert not of(events, ToolStarted)
    assert of(later, TurnEnded)[0].reply == "Here I am."


async def test_a_turn_that_takes_too_long_is_stopped(bench: TurnBench) -> None:
    bench.limits = TurnLimits(seconds=0.05)
    bench.model = ScriptedChatModel([anyio.sleep_forever], then="Quick.")
    session = await bench.session()

    events = await bench.turn(session, "Go.")

    assert of(events, TurnFailed)[0].code == "request_timeout"


async def test_a_fault_of_a_memory_costs_the_turn_and_no_more(bench: TurnBench) -> None:
    class Broken:
        name = "broken"

        async def recall_before_run(self, turn: TurnContext) -> Recalled:
            raise RuntimeError(turn.text)

        async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
            raise AssertionError(turn, finished)

        async def end_session(self, turn: TurnContext) -> Persisted:
            raise AssertionError(turn)

    bench.backends = (Broken(),)
    session = await bench.session()

    events = await bench.turn(session, "Go.")

    assert of(events, TurnFailed)[0].code == "internal_error"


# ---- memory


class Memory:
    """A memory that knows one thing, and sees what it is given."""

    name = "one"

    def __init__(self, before_end: asyncio.Event | None = None) -> None:
        self.finished: list[FinishedTurn] = []
        self.ended: list[str] = []
        self._before_end = before_end

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        assert turn.text
        return Recalled(
            sections=("SECTION",),
            reference="REFERENCE",
            rule="RULE",
            memories=(RecalledMemory(id="m1", text="REFERENCE", relevance=0.9),),
        )

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        assert turn.text
        self.finished.append(finished)
        return Persisted(memories=(RecalledMemory(id="m2", text="learned"),))

    async def end_session(self, turn: TurnContext) -> Persisted:
        if self._before_end is not None:
            await self._before_end.wait()
        self.ended.append(turn.session)
        return Persisted()


async def test_what_is_recalled_stands_before_the_history_and_is_never_kept(bench: TurnBench) -> None:
    model = bench.model = ScriptedChatModel("One.", "Two.")
    memory = Memory()
    bench.backends = (memory,)
    session = await bench.session()

    await bench.turn(session, "First?")
    events = await bench.turn(session, "Second?")

    assert users(sent(model, 1)) == ["REFERENCE", "First?", "Second?"]
    [request] = [message for message in sent(model, 1)[-1:] if isinstance(message, ModelRequest)]
    assert request.instructions is not None
    assert request.instructions.index("RULE") < request.instructions.index("SECTION")
    assert "REFERENCE" not in request.instructions
    assert not any("REFERENCE" in message.text for message in await kept(bench, session.id))
    assert of(events, MemoryRecalled)[0].memories[0].relevance == 0.9
    assert of(events, MemoryLearned)[0].memories[0].id == "m2"
    assert [finished.reply for finished in memory.finished] == ["One.", "Two."]


async def test_a_session_that_is_let_go_has_ended(bench: TurnBench) -> None:
    memory = Memory()
    bench.backends = (memory,)
    session = await bench.session()
    await bench.turn(session, "First?")

    assert bench.sessions is not None
    await bench.sessions.aclose()

    assert memory.ended == [session.id]


async def test_a_session_that_is_left_is_stopped_at_once_and_ends_when_its_memory_has_all(bench: TurnBench) -> None:
    go_on = asyncio.Event()
    memory = Memory(before_end=go_on)
    bench.backends = (memory,)
    session = await bench.session()
    await bench.turn(session, "First?")
    assert bench.sessions is not None

    await bench.sessions.leave(WHO.tenant, session.id, seconds=0)
    before = (bench.sessions.in_use, list(memory.ended))
    ending = asyncio.create_task(bench.sessions.aclose())
    go_on.set()
    await asyncio.wait_for(ending, 5.0)

    assert before == ((), [])
    assert memory.ended == [session.id]


async def test_a_turn_that_failed_or_was_cancelled_leaves_nothing_in_the_memory(bench: TurnBench) -> None:
    memory = Memory()
    bench.backends = (memory,)
    bench.model = ScriptedChatModel(ModelHTTPError(400, "scripted"), then="x")
    session = await bench.session()

    await bench.turn(session, "First?")

    assert memory.finished == []


# ---- runs


async def test_every_turn_is_a_run_that_says_why(bench: TurnBench) -> None:
    bench.tools = [ADD]
    bench.backends = (Memory(),)
    bench.model = ScriptedChatModel([ScriptedCall("add", {"one": 2, "other": 3}, id="c1")], "Five.")
    session = await bench.session()

    events = await bench.turn(session, "2 + 3?")

    run = of(events, TurnStarted)[0].run
    state = await bench.services.runs.get(WHO, run)
    types = [event.type for event in await bench.services.runs.events(WHO, run)]
    assert (state.status, state.objective, state.session) == ("completed", "2 + 3?", session.id)
    assert types == [
        "session_run_started",
        "memory_recalled",
        "tool_started",
        "tool_ended",
        "session_run_finished",
        "memory_learned",
    ]


async def test_no_secret_reaches_the_model_the_history_the_run_or_a_listener(bench: TurnBench) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    model = bench.model = ScriptedChatModel("Noted.", "As I said.")
    session = await bench.session()

    events = await bench.turn(session, f"My key is {key}, keep it")
    await bench.turn(session, "And?")

    run = next(event.run for event in events if isinstance(event, TurnStarted))
    heard = [events, model.requests, await kept(bench, session.id), await bench.services.runs.events(WHO, run)]
    assert key not in repr(heard)
    assert "[redacted" in repr(model.requests[0])


def test_no_secret_of_a_file_or_a_row_stands_in_the_prompt() -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

    assert key not in instructions(PromptParts(persona=f"Use {key}", sections=(key,), skills=(key,), resources=(key,)))
