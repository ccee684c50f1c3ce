"""Scheduled turns in rooms: they stand in the queue of the room's session as everybody's do, and their reply is posted there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from commonplace.channels.gates import GROUP, admission_refusal, sender_refusal
from commonplace.channels.residence import Residence
from commonplace.channels.speakers import identity_of
from commonplace.errors import CommonplaceError, Forbidden
from commonplace.governance.access import require_role
from commonplace.ports.schedule_target import Delivered, Delivery, ScheduleTarget
from commonplace.service.desk import Desk
from commonplace.values.channel import LOCAL_KINDS, ChannelNotFound, ChatRoom, RoomNotFound
from commonplace.values.platform import Bilingual
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.schedule import PostingRefused, room_of
from commonplace.values.session_lease import SessionElsewhere, SessionInUse

ONLY_ANSWERS: Final = (
    "The platform of this channel only answers: nothing can be posted where nobody has just spoken, so the turn was not "
    "played. Its set-up says what the platform needs to post by itself."
)

ResidenceOf = Callable[[str, str], Awaitable[Residence]]
"""The channel at work, by its tenant and name."""


class RoomTarget(ScheduleTarget):
    """`turns` plays a turn in a session."""

    def __init__(self, desk: Desk, residence_of: ResidenceOf, turns: ScheduleTarget) -> None:
        self._desk = desk
        self._residence_of = residence_of
        self._turns = turns

    async def refusal(self, who: Principal, target: str) -> str | None:
        room = await self._room(who, target)
        try:
            residence = await self._residence_of(who.tenant, room.channel)
        except (ChannelNotFound, SessionElsewhere, SessionInUse):
            raise
        except CommonplaceError as error:
            # Stopped, or it could not begin: somebody may start it before the next time.
            return error.message
        await self._require_admitted(residence, room)
        await self._require_heard(who, residence, room)
        return None if residence.platform.can_cold_send else ONLY_ANSWERS

    async def deliver(self, delivery: Delivery) -> Delivered:
        room = await self._room(delivery.who, delivery.target)
        residence = await self._residence_of(delivery.who.tenant, room.channel)
        return await residence.scheduled.deliver(room, delivery, self._turns)

    async def announce(self, who: Principal, target: str, text: Bilingual) -> None:
        room = await self._room(who, target)
        residence = await self._residence_of(who.tenant, room.channel)
        await self._require_admitted(residence, room)
        await residence.scheduled.announce(room, text)

    async def _room(self, who: Principal, target: str) -> ChatRoom:
        place = room_of(target)
        room = None if place is None else await self._desk.store.channels.room(who.tenant, *place)
        if room is None:
            raise RoomNotFound
        return room

    async def _require_admitted(self, residence: Residence, room: ChatRoom) -> None:
        """Raises PostingRefused: its group was let in no longer."""
        if not room.is_group:
            return
        group = await self._desk.store.channels.sender(residence.tenant, room.channel, f"{GROUP}{room.chat}")
        refusal = admission_refusal(residence.profile.settings, room.chat, group)
        if refusal is not None:
            raise PostingRefused(f"The channel does not let this group in: {refusal}.", reason=refusal)

    async def _require_heard(self, who: Principal, residence: Residence, room: ChatRoom) -> None:
        """Raises Forbidden: whoever set it would not be heard in the room any more."""
        require_role(who, "writer")
        store, settings = self._desk.store, residence.profile.settings
        own = f"{residence.profile.subject}/"
        if who.subject.startswith(own):
            sender = who.subject.removeprefix(own)
            approved = await store.channels.sender(who.tenant, room.channel, sender)
            if sender_refusal(settings, sender, approved) is None:
                return
        elif await self._is_known(who, residence, room):
            return
        raise Forbidden("Whoever set this schedule is not heard in the room any more.")

    async def _is_known(self, who: Principal, residence: Residence, room: ChatRoom) -> bool:
        """The operator, a member, a person who is linked to a platform where the room is not ours, or an admin by their key."""
        store = self._desk.store
        if who.subject == LOCAL or room.scope in await store.members.among(who.tenant, who.subject, {room.scope}):
            return True
        kind = identity_of(residence.profile, "")
        links = await store.channels.links(who.tenant) if _takes_links(who, residence) else ()
        if any(link.subject == who.subject and link.identity.startswith(kind) for link in links):
            return True
        keys = await store.keys.list_keys(who.tenant)
        return any(key.id == who.key and key.role == "admin" for key in keys)


def _takes_links(who: Principal, residence: Residence) -> bool:
    """In rooms of ours their members speak, whoever is linked; in those of the terminal also whom the operator speaks for, who has no key."""
    kind = residence.profile.kind
    return kind not in LOCAL_KINDS or (kind == "terminal" and who.key is None)
