"""Schedules of rooms for tests: a channel at work, a clock that a test moves, and daemons that play what is due."""

from __future__ import annotations

from typing import Any

from commonplace.agent.session_target import SessionTarget
from commonplace.channels.residence import Residence
from commonplace.channels.room_target import RoomTarget
from commonplace.channels.speakers import speaker
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, FakeChannel, RoomBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.schedules import ScheduleBench
from commonplace.values.channel import ChannelSettings, ChatRoom
from commonplace.values.moment import utc
from commonplace.values.principal import Principal
from commonplace.values.schedule import ROOM, ScheduleFields, ScheduleView, room_target
from commonplace.values.scope import DEFAULT_TENANT

CHAT = "room-7"
TARGET = room_target("team", CHAT)


class RoomScheduleBench:
    """`room` is where people talk, `daemon` plays what is due there. The channel has to be open."""

    def __init__(
        self,
        agents: TurnBench,
        clock: FakeClock,
        settings: ChannelSettings = OPEN,
        platform: FakeChannel | None = None,
        **more: Any,
    ) -> None:
        self.room = RoomBench(agents, settings, platform, **more)
        self.clock = clock
        assert agents.sessions is not None
        in_sessions = SessionTarget(agents.sessions, agents.services.history)
        target = RoomTarget(agents.services.desk, self._residence, in_sessions)
        self.daemon = ScheduleBench(agents, clock, {ROOM: target})

    async def _residence(self, tenant: str, name: str) -> Residence:
        del tenant, name
        return self.room.residence

    async def begin(self, **fields: Any) -> None:
        """The channel as it is kept, and its room."""
        store = self.room.parts.store
        await store.put_channel(DEFAULT_TENANT, self.room.profile, Entries())
        now = utc(self.clock.now())
        await store.put_room(DEFAULT_TENANT, ChatRoom(channel="team", chat=CHAT, created_at=now, **fields), Entries())

    async def person(self, sender: str) -> Principal:
        """Somebody as they speak in the room."""
        store, profile = self.room.parts.store, self.room.profile
        room = await store.room(DEFAULT_TENANT, "team", CHAT)
        assert room is not None
        link = await store.link(DEFAULT_TENANT, f"{profile.kind}:{sender}")
        return speaker(DEFAULT_TENANT, profile, room, sender, None if link is None else link.subject)

    async def add(self, who: Principal, target: str = TARGET, **fields: object) -> ScheduleView:
        complete: ScheduleFields = {"prompt": "post the open questions", **fields}  # pyright: ignore[reportAssignmentType] - a test says what it gives
        return await self.room.parts.schedules.add(who, target, complete)

    async def look(self, id: str) -> ScheduleView:
        return await self.room.parts.schedules.get(self.room.residence.owner, id)

    def posted(self) -> list[str]:
        """What is in the room of ours, in order."""
        return list(self.room.platform.texts.values())
