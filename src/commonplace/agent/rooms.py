"""
Which sessions are those of rooms, and what their turns have of the room. Filled by whoever leads the rooms; a session that is not in here is
nobody's room.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from commonplace.agent.mediator import MediatorOptions
from commonplace.ports.models import Pot
from commonplace.values.permission import PermissionPolicy
from commonplace.values.principal import CHANNEL_SUBJECT
from commonplace.values.scope import Scope
from commonplace.values.session import Session

_MOST: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomPlace:
    """`scope` is what the room remembers, `instructions` what its admin wrote for the agent, `pots` the budgets its turns are charged to. `policy`
    says whose vote decides there."""

    tenant: str
    channel: str
    chat: str
    scope: Scope
    instructions: str = ""
    pots: tuple[Pot, ...] = ()
    policy: PermissionPolicy = "first-responder"
    quorum: int | None = None
    zone: str | None = None
    """The time zone of its schedules."""


class RoomRegistry:
    def __init__(self) -> None:
        self._places: OrderedDict[tuple[str, str], RoomPlace] = OrderedDict()

    def put(self, session: str, place: RoomPlace) -> None:
        self._places[place.tenant, session] = place
        self._places.move_to_end((place.tenant, session))
        while len(self._places) > _MOST:
            self._places.popitem(last=False)

    def place(self, tenant: str, session: str) -> RoomPlace | None:
        return self._places.get((tenant, session))

    def scope(self, tenant: str, session: str) -> Scope | None:
        place = self.place(tenant, session)
        return None if place is None else place.scope

    def permission_options(self, tenant: str, session: Session, options: MediatorOptions) -> MediatorOptions:
        """In a room whoever is first decides, unless its settings say otherwise."""
        if not session.owner.startswith(CHANNEL_SUBJECT):
            return options
        place = self.place(tenant, session.id)
        if place is None:
            return replace(options, policy="first-responder", quorum=None)
        return replace(options, policy=place.policy, quorum=place.quorum)
