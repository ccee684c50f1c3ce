"""
However messages, cancels, commands, new conversations, restarts of the channel and the ends of turns fall together: no prompt meets another one in
flight, every message that was taken on
is answered once and where it was asked, in the order of its chat.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
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

Step: TypeAlias = tuple[Literal["say", "wait", "tick", "cancel", "status", "clear", "restart"], str, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "say", "wait", "tick", "cancel", "status", "clear", "restart"]),
        st.sampled_from(["Ana", "Bob"]),
        st.sampled_from(["1", "2"]),
    ),
    min_size=2,
    max_size=12,
)
LINES: dict[str, str] = {"cancel": "/cancel", "status": "/status", "clear": "/clear confirm"}


async def breathe() -> None:
    """A model that takes a moment, so that something may come in between."""
    await asyncio.sleep(0.002)


@given(steps=STEPS, mode=st.sampled_from(["followup", "steer", "collect"]), is_quick=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_message_is_answered_once_and_in_its_order(
    steps: list[Step], mode: DispatchMode, is_quick: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("interleavings")
    anyio.run(_play, steps, mode, is_quick, home, backend="asyncio")


class Rooms:
    """Two rooms of a channel that may begin again; `taken` are the questions of each, apart by the conversations they belong to."""

    def __init__(self, bench: TurnBench, mode: DispatchMode) -> None:
        self._bench = bench
        self._settings = replace(OPEN, dispatch=mode)
        self._stack = AsyncExitStack()
        self.room = RoomBench(bench, self._settings)
        self.taken: dict[str, list[list[str]]] = {"1": [[]], "2": [[]]}

    async def open(self) -> None:
        await self._stack.enter_async_context(self.room.residence.open())

    async def aclose(self) -> None:
        await self._stack.aclose()

    async def play(self, number: int, step: Step) -> None:
        what, name, chat = step
        if what == "say":
            self.taken[chat][-1].append(await self.room.say(name, f"Question {number}", chat=chat))
        elif what == "restart":
            await self.aclose()
            self.room = RoomBench(self._bench, self._settings, self.room.platform)
            await self.open()
        elif what in ("wait", "tick"):
            await asyncio.sleep(0 if what == "wait" else 0.002)
        else:
            await self.room.say(name, LINES[what], chat=chat)
            if what == "clear":
                self.taken[chat].append([])


async def _play(steps: list[Step], mode: DispatchMode, is_quick: bool, home: Path) -> None:
    async with composed(Settings(home=home, embedder="none"), ComposeOptions()) as services:
        bench = TurnBench(services)
        bench.model = model = ScriptedChatModel(then="Answer." if is_quick else ["An", breathe, "swer."])
        rooms = Rooms(bench, mode)
        try:
            await rooms.open()
            for number, step in enumerate(steps):
                await rooms.play(number, step)
            await rooms.room.residence.settle()
            await until(lambda: not rooms.room.residence.is_busy)
            await until_handled(rooms.room)
            _check(rooms, model, mode)
        finally:
            await rooms.aclose()
            await bench.aclose()


async def until_handled(room: RoomBench) -> None:
    async with asyncio.timeout(5.0):
        # What is waited for is in the store.
        while await room.parts.store.unhandled(DEFAULT_TENANT, "team"):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def _check(rooms: Rooms, model: ScriptedChatModel, mode: DispatchMode) -> None:
    # One that was cut off before a word of it stands in the next request, too.
    asked = [_prompts(request[-1].parts)[-1] for request in model.requests]
    platform = rooms.room.platform
    for chat, conversations in rooms.taken.items():
        for messages in conversations:
            answers = [to for to, _ in platform.answers() if to in messages]
            # Each is answered once, in its chat, and in the order in which they came.
            assert len(set(answers)) == len(answers)
            assert answers == [message for message in messages if message in answers]
            if mode != "collect":
                assert answers == messages
            chats = {message.chat for message in platform.messages.values() if message.reply_to in messages}
            assert chats <= {chat}
    assert not any("in flight" in text or "could not answer" in text for _, text in platform.answers())
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
