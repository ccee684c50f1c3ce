"""
Which sessions are those of rooms, and what their turns have of the room. Filled by whoever leads the rooms; a session that is not in here is
nobody's room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from commonplace.agent.mediator import MediatorOptions
from commonplace.ports.models import Pot
from commonplace.values.agent_profile import McpServerRow
from commonplace.values.permission import PermissionPolicy
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.scope import Scope
from commonplace.values.session import Session

_MOST: Final = 10_000
_MOST_ROOMS: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomPlace:
    """
    `scope` is what the room remembers, `instructions` what its admin wrote for the agent, `pots` the budgets its turns are charged to. `policy`
    says whose vote decides there. `learn`: what is said is distilled into what the room remembers; `archive`: each exchange is kept whole.
    """

    tenant: str
    channel: str
    chat: str
    scope: Scope
    instructions: str = ""
    pots: tuple[Pot, ...] = ()
    policy: PermissionPolicy = "first-responder"
    quorum: int | None = None
    learn: bool = True
    archive: bool = False
    roster: tuple[str, ...] = ()
    """The people of the room who vote where several have to agree."""
    zone: str | None = None
    """The time zone of its schedules."""
    model: str | None = None
    """Who answers there, whatever its session is set to."""
    tools: tuple[str, ...] | None = None
    """Of the agent's own, and of its servers, those that it has there; None: all of them."""
    mcp_servers: tuple[McpServerRow, ...] = ()
    """What it has there beside its own."""


LearnNow: TypeAlias = Callable[[str], Awaitable[tuple[str, ...]]]
"""Distils what a session said since it was last read, because somebody asked for it."""


def profile_reader(who: Principal, session: Session) -> Principal:
    """Who looks how the agent of a session is set up. In a room that is its channel, which says who answers: who speaks there need not reach what the agent knows."""
    if not session.owner.startswith(CHANNEL_SUBJECT):
        return who
    return Principal(subject=session.owner, tenant=who.tenant, role="reader", door=who.door)


class RoomRegistry:
    """`learn_now` is set by whoever plays the turns; None: nothing is learned here."""

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[str, str], dict[Scope, RoomPlace]] = OrderedDict()
        self.learn_now: LearnNow | None = None

    def put(self, session: str, place: RoomPlace) -> None:
        places = self._places.setdefault((place.tenant, session), {})
        places.pop(place.scope, None)
        places[place.scope] = place
        if len(places) > _MOST_ROOMS:
            del places[next(iter(places))]
        self._places.move_to_end((place.tenant, session))
        while len(self._places) > _MOST:
            self._places.popitem(last=False)

    def place(self, tenant: str, session: str, who: Principal | None = None) -> RoomPlace | None:
        """Where a turn of `who` is; without it, where the last one was. A session may be that of several rooms (route `single`), and a speaker reaches their own."""
        places = list(self._places.get((tenant, session), {}).values())
        if who is not None and len(places) > 1:
            places = [place for place in places if who.reaches(place.scope)]
        return places[-1] if places else None

    def scope(self, tenant: str, session: str, who: Principal | None = None) -> Scope | None:
        place = self.place(tenant, session, who)
        return None if place is None else place.scope

    def permission_options(self, tenant: str, session: Session, options: MediatorOptions) -> MediatorOptions:
        """In a room whoever is first decides, unless its settings say otherwise."""
        if not session.owner.startswith(CHANNEL_SUBJECT):
            return options
        place = self.place(tenant, session.id)
        if place is None:
            return replace(options, policy="first-responder", quorum=None)
        return replace(options, policy=place.policy, quorum=place.quorum, voters=place.roster)
