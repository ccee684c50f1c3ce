"""
A day of a room by a clock that a test moves: somebody asks every ninety minutes, the scheduler reminds, the budget warns, declines and is full again at
midnight.

The day begins at nine. A turn costs a sixteenth of what the room may spend in a day, so that the budget is used up in the evening.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from commonplace.agent.session_target import SessionTarget
from commonplace.channels.budget import room_pot
from commonplace.channels.residence import Residence
from commonplace.channels.room_target import RoomTarget
from commonplace.channels.speakers import speaker
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.schedules import ScheduleBench
from commonplace.values.channel import ChannelSettings, RoomBudget, room_scope
from commonplace.values.schedule import ROOM, ScheduleFields, room_target
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER

ROUNDS: Final = 16
STEP: Final = timedelta(minutes=90)
MORNING: Final = timedelta(hours=9)
_A_TURN: Final = 10
SETTINGS: Final = ChannelSettings(
    group_policy="open", senders="open", budget=RoomBudget(micro_usd=16 * _A_TURN, hours=24), zone="UTC", language="en"
)
CRONS: Final = ("0 */3 * * *", "30 1-22/3 * * *")
"""Every ninety minutes."""

KINDS: Final = {
    "Turn ": "answer",
    "[Scheduled task ": "reminder",
    "What this room may spend": "declined",
    "The schedule ": "put off",
}
EVENING: Final = ["declined", "put off", "declined"]
DAY: Final = [*(["answer", "reminder"] * 8), *EVENING, "reminder", *(["answer", "reminder"] * 6)]
"""What is in the room at the end, but for the warnings."""
TURNS: Final = DAY.count("answer") + DAY.count("reminder")
_WARNED: Final = "This room has used "
WARNINGS: Final = ["75 %", "95 %", "75 %"]
"""Once a window each."""


@dataclass
class RoomDay:
    """`residence` leads the room. Played by `play`."""

    agents: TurnBench
    clock: FakeClock
    residence: Residence
    chat: str

    def __post_init__(self) -> None:
        self.agents.model = ScriptedChatModel(*([self._spend, f"Turn {number}."] for number in range(2 * ROUNDS)))
        services = self.agents.services
        assert self.agents.sessions is not None
        in_sessions = SessionTarget(self.agents.sessions, services.history)
        target = RoomTarget(services.desk, self._residence_of, in_sessions)
        self.scheduler = ScheduleBench(self.agents, self.clock, {ROOM: target})

    async def play(
        self, ask: Callable[[int], Awaitable[None]], disturb: Callable[[int], Awaitable[None]] | None = None
    ) -> None:
        """`ask` says something in the room and waits for what comes of it; `disturb` comes after each question."""
        for number in range(ROUNDS):
            await ask(number)
            if number == 0:
                await self._set_schedules()
            if disturb is not None:
                await disturb(number)
            self.clock.advance(STEP)
            await self.scheduler.tick()

    async def _set_schedules(self) -> None:
        residence, parts = self.residence, self.residence.parts
        await parts.store.put_channel(DEFAULT_TENANT, residence.profile, Entries())
        room = await parts.store.room(DEFAULT_TENANT, residence.profile.name, self.chat)
        assert room is not None
        who = speaker(DEFAULT_TENANT, residence.profile, room, "ana", None)
        for cron in CRONS:
            fields: ScheduleFields = {"prompt": "post the open questions", "cron": cron, "zone": "UTC"}
            await parts.schedules.add(who, room_target(room.channel, room.chat), fields)

    async def _spend(self) -> None:
        budget, parts = SETTINGS.budget, self.residence.parts
        assert budget is not None
        pot, _ = room_pot(budget, room_scope(self.residence.profile.name, self.chat), self.clock.now())
        await parts.quotas.spend(DEFAULT_TENANT, f"pot:{pot.name}", pot.lasts, {COUNTER: _A_TURN}, {})

    async def _residence_of(self, tenant: str, name: str) -> Residence:
        assert (tenant, name) == (DEFAULT_TENANT, self.residence.profile.name)
        return self.residence


def kinds_of(texts: list[str]) -> tuple[list[str], list[str]]:
    """What these are, and which warnings are among them."""
    warnings = [text.removeprefix(_WARNED)[:4] for text in texts if text.startswith(_WARNED)]
    rest = [text for text in texts if not text.startswith(_WARNED)]
    return [next((kind for sign, kind in KINDS.items() if text.startswith(sign)), text) for text in rest], warnings


def replies_of(texts: list[str]) -> list[int]:
    """The numbers of the turns whose replies these are, in their order."""
    lines = (text.rpartition("\n")[2] for text in texts)
    return [int(line.removeprefix("Turn ").rstrip(".")) for line in lines if line.startswith("Turn ")]
