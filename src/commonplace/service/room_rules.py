"""Rooms as targets of schedules: `channel/<channel>/<chat>`. Who may set something there is who may speak there."""

from __future__ import annotations

from commonplace.errors import InvalidInput
from commonplace.governance.access import require_role
from commonplace.ports.schedule_target import TargetRules
from commonplace.service.desk import Desk
from commonplace.values.channel import (
    TERMINAL,
    WEB,
    ChannelKind,
    ChannelSettings,
    ChatRoom,
    RoomNotFound,
)
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.schedule import room_of

_BUILT_IN: dict[str, ChannelKind] = {WEB: "web", TERMINAL: "terminal"}


class RoomRules(TargetRules):
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def require(self, who: Principal, target: str) -> None:
        require_role(who, "writer")
        room = await self._room(who, target)
        _, settings = await self._channel(who.tenant, room.channel)
        if settings.route == "single":
            raise InvalidInput("All rooms of this channel share one conversation, so no room of it has schedules.")

    async def reaches(self, who: Principal, target: str) -> bool:
        try:
            await self._room(who, target)
        except (InvalidInput, RoomNotFound):
            return False
        return True

    async def owns(self, who: Principal, target: str) -> bool:
        """The channel itself, admins, the owner of the room, and those who may do there what changes it for everybody."""
        place = room_of(target)
        if place is not None and who.subject == f"{CHANNEL_SUBJECT}{place[0]}":
            return True
        try:
            room = await self._room(who, target)
        except (InvalidInput, RoomNotFound):
            return False
        kind, settings = await self._channel(who.tenant, room.channel)
        if who.role == "admin" or not (settings.allowed and room.is_group) or settings.route == "user":
            return True
        members = await self._desk.store.members.members(who.tenant, room.scope)
        if any(member.owner and member.subject == who.subject for member in members):
            return True
        return any(settings.is_allowed(sender) for sender in await self._senders(who, room.channel, kind))

    async def zone(self, who: Principal, target: str) -> str | None:
        room = await self._room(who, target)
        return (await self._channel(who.tenant, room.channel))[1].zone

    async def quiet(self, who: Principal, target: str) -> str | None:
        """Quiet hours that name no zone are those of the channel's."""
        room = await self._room(who, target)
        _, settings = await self._channel(who.tenant, room.channel)
        if settings.quiet is None or settings.zone is None or " " in settings.quiet.strip():
            return settings.quiet
        return f"{settings.quiet.strip()} {settings.zone}"

    async def _room(self, who: Principal, target: str) -> ChatRoom:
        """Raises RoomNotFound: there is none, or it is out of reach."""
        place = room_of(target)
        if place is None:
            raise InvalidInput(f"{target!r:.80} is no room. Name it channel/<channel>/<chat>.")
        room = await self._desk.store.channels.room(who.tenant, *place)
        if room is None:
            raise RoomNotFound
        is_own = who.subject == f"{CHANNEL_SUBJECT}{room.channel}"
        if not is_own and not (await self._desk.with_members(who, [room.scope])).reaches(room.scope):
            raise RoomNotFound
        return room

    async def _channel(self, tenant: str, name: str) -> tuple[ChannelKind, ChannelSettings]:
        """Raises RoomNotFound: it was removed."""
        for _, profile in await self._desk.store.channels.channels(tenant):
            if profile.name == name:
                return profile.kind, profile.settings
        if name in _BUILT_IN:
            return _BUILT_IN[name], ChannelSettings()
        raise RoomNotFound

    async def _senders(self, who: Principal, channel: str, kind: ChannelKind) -> set[str]:
        """As whom the platform knows somebody."""
        own = f"{CHANNEL_SUBJECT}{channel}/"
        if who.subject.startswith(own):
            return {who.subject.removeprefix(own)}
        links = await self._desk.store.channels.links(who.tenant)
        linked = {link.identity for link in links if link.subject == who.subject}
        senders = {identity.removeprefix(f"{kind}:") for identity in linked if identity.startswith(f"{kind}:")}
        return senders | ({who.subject} if kind == "web" else set())
