"""
Which session of the agent a message goes to.

The way is kept in the store, so that a room goes on with its session after a restart. The session itself is opened when somebody next speaks;
if it is gone by then, the room begins another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.channels.agent import RoomHistory
from commonplace.errors import NotFound
from commonplace.ports.channel_store import ChannelStore
from commonplace.values.channel import ChannelProfile, ChatRoom, Route, RouteScope
from commonplace.values.envelope import Envelope
from commonplace.values.principal import Principal
from commonplace.values.session import SessionFields


def route_key(scope: RouteScope, envelope: Envelope) -> str:
    """Messages of one key go to one session. Parts are apart by a line break, which no id has."""
    match scope:
        case "user":
            return f"{envelope.sender}\n{envelope.chat}"
        case "thread":
            return envelope.thread or envelope.chat
        case "single":
            return "__single__"
        case "chat_thread":
            return f"{envelope.chat}\n{envelope.thread}" if envelope.thread else envelope.chat


@dataclass(frozen=True, kw_only=True, slots=True)
class Router:
    """`owner` is the principal of the channel, who owns its sessions."""

    owner: Principal
    profile: ChannelProfile
    store: ChannelStore
    history: RoomHistory

    async def known(self, envelope: Envelope) -> Route | None:
        """The way, if the session is still there."""
        key = route_key(self.profile.settings.route, envelope)
        route = await self.store.route(self.owner.tenant, self.profile.name, key)
        if route is None:
            return None
        try:
            await self.history.session(self.owner, route.session)
        except NotFound:
            return None
        return route

    async def resolve(self, envelope: Envelope, room: ChatRoom) -> Route:
        """The way, begun if there is none yet, or if another agent answers in the room now."""
        route = await self.known(envelope)
        if route is None or not await self._is_answered_by_its_agent(route, room):
            return await self.begin(envelope, room)
        return route

    async def _is_answered_by_its_agent(self, route: Route, room: ChatRoom) -> bool:
        settings = self.profile.settings
        # The session of all rooms has the agent of whoever began it.
        if settings.route == "single":
            return True
        session = await self.history.session(self.owner, route.session)
        return session.agent == settings.for_room(room.chat).agent

    async def begin(self, envelope: Envelope, room: ChatRoom) -> Route:
        """A new session from now on. The one before stays in the history."""
        settings, profile = self.profile.settings, self.profile
        fields = SessionFields(
            source=f"channel:{profile.kind}", title=room.title or f"{profile.name}/{room.chat}"[:120]
        )
        if settings.workspace is not None:
            fields["workspace"] = settings.workspace
        if settings.folder is not None:
            fields["folder"] = settings.folder
        if settings.model is not None:
            fields["model"] = settings.model
        session = await self.history.create(self.owner, settings.for_room(room.chat).agent, fields)
        route = Route(
            channel=profile.name,
            key=route_key(settings.route, envelope),
            session=session.id,
            chat=envelope.chat,
            thread=envelope.thread,
            is_group=envelope.is_group,
        )
        await self.store.put_route(self.owner.tenant, route)
        return route
