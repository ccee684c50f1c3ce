"""
Which session of the agent a message goes to.

The way is kept in the store, so that a room goes on with its session after a restart. The session itself is opened when somebody next speaks;
if it is gone by then, the room begins another one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from commonplace.channels.agent import RoomHistory
from commonplace.errors import CommonplaceError, NotFound
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
        route = await self._kept(envelope)
        return route if route is not None and await self._is_there(route) else None

    async def resolve(self, envelope: Envelope, room: ChatRoom) -> Route:
        """
        The way, begun if there is none yet, or if another agent answers in the room now, or works in another folder. Whoever else begins it
        meanwhile, here or at another daemon, comes to the same session.
        """
        before = await self._kept(envelope)
        if before is not None and await self._is_there(before, room):
            return before
        own = await self._new(envelope, room)
        instead = None if before is None else before.session
        route = await self.store.begin_route(self.owner.tenant, own, instead=instead)
        if route.session != own.session:
            # If it cannot be deleted now, an empty session is left in the history.
            with suppress(CommonplaceError):
                await self.history.delete(self.owner, own.session)
        return route

    async def begin(self, envelope: Envelope, room: ChatRoom) -> Route:
        """A new session from now on. The one before stays in the history."""
        route = await self._new(envelope, room)
        await self.store.put_route(self.owner.tenant, route)
        return route

    async def _kept(self, envelope: Envelope) -> Route | None:
        key = route_key(self.profile.settings.route, envelope)
        return await self.store.route(self.owner.tenant, self.profile.name, key)

    async def _is_there(self, route: Route, room: ChatRoom | None = None) -> bool:
        """With `room`: and is that of the agent which answers there, in the folder where it works."""
        try:
            session = await self.history.session(self.owner, route.session)
        except NotFound:
            return False
        if room is None:
            return True
        settings = self.profile.settings
        # The session of all rooms has the agent of whoever began it.
        is_of_agent = settings.route == "single" or session.agent == settings.for_room(room.chat).agent
        return is_of_agent and session.folder == settings.folder

    async def _new(self, envelope: Envelope, room: ChatRoom) -> Route:
        """A way to a new session. It is not kept yet."""
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
        return Route(
            channel=profile.name,
            key=route_key(settings.route, envelope),
            session=session.id,
            chat=envelope.chat,
            thread=envelope.thread,
            is_group=envelope.is_group,
        )
