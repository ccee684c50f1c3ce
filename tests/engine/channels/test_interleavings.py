"""
However messages, cancels, commands and the ends of turns fall together: no prompt meets another one in flight, every message that was taken on
is answered once and where it was asked, in the order of its chat.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import UserPromptPart

from commonplace.compose.services import ComposeOptions, composed
from commonplace.errors import Conflict
from commonplace.settings import Settings
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.room_schedules import RoomScheduleBench
from commonplace.values.channel import DispatchMode
from commonplace.values.scope import DEFAULT_TENANT

Step: TypeAlias = tuple[Literal["say"], str, str] | tuple[Literal["wait", "cancel", "status"], str, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "wait", "cancel", "status"]),
        st.sampled_from(["Ana", "Bob"]),
        st.sampled_from(["1", "2"]),
    ),
    min_size=2,
    max_size=10,
)


@given(steps=STEPS, mode=st.sampled_from(["followup", "steer", "collect"]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_message_is_answered_once_and_in_its_order(
    steps: list[Step], mode: DispatchMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("interleavings")
    anyio.run(_play, steps, mode, home, backend="asyncio")


async def _play(steps: list[Step], mode: DispatchMode, home: object) -> None:
    async with composed(Settings(home=home, embedder="none"), ComposeOptions()) as services:  # pyright: ignore[reportArgumentType] - a path
        bench = TurnBench(services)
        bench.model = model = ScriptedChatModel(then="Answer.")
        room = RoomBench(bench, replace(OPEN, dispatch=mode))
        taken: dict[str, list[str]] = {"1": [], "2": []}
        try:
            async with room.residence.open():
                for number, (step, name, chat) in enumerate(steps):
                    if step == "say":
                        taken[chat].append(await room.say(name, f"Question {number}", chat=chat))
                    elif step == "wait":
                        await asyncio.sleep(0)
                    else:
                        await room.say(name, f"/{step}", chat=chat)
                await room.residence.settle()
                await until(lambda: not room.residence.is_busy)
                await until_handled(room)
            _check(room, model, taken, mode)
        finally:
            await bench.aclose()


async def until_handled(room: RoomBench) -> None:
    async with asyncio.timeout(5.0):
        # What is waited for is in the store.
        while await room.parts.store.unhandled(DEFAULT_TENANT, "team"):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def _check(room: RoomBench, model: ScriptedChatModel, taken: dict[str, list[str]], mode: DispatchMode) -> None:
    asked = [text for request in model.requests for text in _prompts(request[-1].parts)]
    for chat, messages in taken.items():
        answers = [to for to, _ in room.platform.answers() if to in messages]
        # Each is answered once, in its chat, and in the order in which they came.
        assert len(set(answers)) == len(answers)
        assert answers == [message for message in messages if message in answers]
        if mode != "collect":
            assert answers == messages
        chats = {message.chat for message in room.platform.messages.values() if message.reply_to in messages}
        assert chats <= {chat}
    assert not any("in flight" in text or "could not answer" in text for _, text in room.platform.answers())
    # Nothing was asked of the model twice.
    questions = [line for text in asked for line in text.splitlines() if "Question" in line]
    assert len(set(questions)) == len(questions)


# ---- what a schedule says by itself, between people


MIXED = st.lists(
    st.tuples(
        st.sampled_from(["say", "fire", "wait", "tick", "cancel"]), st.sampled_from(["Ana", "Bob"]), st.just("room-7")
    ),
    min_size=3,
    max_size=10,
)


@given(steps=MIXED, mode=st.sampled_from(["followup", "steer", "collect"]))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scheduled_turns_and_peoples_are_each_posted_once_and_neither_ends_the_other(
    steps: list[tuple[str, str, str]], mode: DispatchMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    anyio.run(_mix, steps, mode, tmp_path_factory.mktemp("mixed"), backend="asyncio")


async def _mix(steps: list[tuple[str, str, str]], mode: DispatchMode, home: Path) -> None:
    clock = FakeClock()
    async with composed(Settings(home=home, embedder="none"), ComposeOptions(clock=clock)) as services:
        agents = TurnBench(services, model=ScriptedChatModel(then="Answer."))
        bench = RoomScheduleBench(agents, clock, replace(OPEN, dispatch=mode))
        room, ticks, fired, said = bench.room, list[asyncio.Task[None]](), 0, list[str]()
        await bench.begin()
        try:
            async with room.residence.open():
                view = await bench.add(await bench.person("ana"), cron="0 0 1 1 *", label="by itself")
                for number, (step, name, _) in enumerate(steps):
                    if step == "say":
                        said.append(await room.say(name, f"Question {number}"))
                    elif step == "cancel":
                        await _cancel(room)
                    elif step == "fire":
                        # One that is played still is not begun a second time.
                        with suppress(Conflict):
                            await room.parts.schedules.run(room.residence.owner, view.id)
                            fired += 1
                        ticks.append(asyncio.create_task(bench.daemon.tick()))
                    else:
                        await asyncio.sleep(0 if step == "wait" else 0.002)
                await room.residence.settle()
                await asyncio.wait_for(asyncio.gather(*ticks), 5.0)
                while (await bench.look(view.id)).running:
                    # Its place in the queue was taken: it comes again.
                    clock.advance(timedelta(minutes=1))
                    await asyncio.wait_for(bench.daemon.tick(), 5.0)
                await until(lambda: not room.residence.is_busy)
                await until_handled(room)
            posts = [text for _, text in room.platform.answers() if text.startswith("[Scheduled task")]
            assert len(posts) == fired
            assert all(post.endswith("Answer.") for post in posts)
            assert (await bench.look(view.id)).fires == fired
            answers = [to for to, _ in room.platform.answers() if to in said]
            # Each at most once (what is collected is answered as one), and in its order.
            assert answers == [message for message in said if message in answers]
            assert mode == "collect" or answers == said
            assert not any("in flight" in text or "could not answer" in text for _, text in room.platform.answers())
        finally:
            await agents.aclose()


async def _cancel(room: RoomBench) -> None:
    """Somebody ends the turn that is played, if it is a person's: by the way that the room itself takes when it is steered."""
    [route] = await room.parts.store.routes(DEFAULT_TENANT, "team") or [None]
    if route is None:
        return
    prompts = (await room.parts.agent.state(room.residence.owner, route.session)).prompts
    if prompts and prompts[0].scheduled is None:
        await room.parts.agent.cancel(room.residence.owner, route.session, run=prompts[0].run)


def _prompts(parts: object) -> list[str]:
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownMemberType]
