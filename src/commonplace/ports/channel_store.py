"""Where channels, their rooms and what arrives in them are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.channel import (
    ChannelProfile,
    ChannelSender,
    ChatRoom,
    RoomMessage,
    RoomMessageDraft,
    RoomMessagePage,
    Route,
    SenderLink,
)
from commonplace.values.json import Json


class ChannelStore(Protocol):
    """`tests/contracts/test_channels.py` holds each implementation to this. What is not there is answered as None, or as nothing."""

    async def channels(self, tenant: str | None = None) -> list[tuple[str, ChannelProfile]]:
        """Tenant and channel, of one tenant or of all, by name."""
        ...

    async def put_channel(self, tenant: str, channel: ChannelProfile, entries: Entries, *, new: bool = False) -> None:
        """Raises ChannelExists: it is to be new, and there is one."""
        ...

    async def remove_channel(self, tenant: str, name: str, entries: Entries) -> None:
        """With its rooms, messages, routes and senders. Raises ChannelNotFound."""
        ...

    # ---- rooms

    async def rooms(self, tenant: str, channel: str) -> list[ChatRoom]:
        """By their titles."""
        ...

    async def room(self, tenant: str, channel: str, chat: str) -> ChatRoom | None: ...

    async def put_room(self, tenant: str, room: ChatRoom, entries: Entries) -> None: ...

    async def remove_room(self, tenant: str, channel: str, chat: str, entries: Entries) -> None:
        """With its messages and routes. Raises RoomNotFound."""
        ...

    # ---- messages

    async def keep_message(self, tenant: str, draft: RoomMessageDraft) -> RoomMessage | None:
        """None: a message of this id is there already, and stays as it is."""
        ...

    async def change_message(
        self,
        tenant: str,
        channel: str,
        chat: str,
        id: str,
        *,
        text: str | None = None,
        data: Mapping[str, Json] | None = None,
    ) -> None: ...

    async def mark_handled(self, tenant: str, channel: str, chat: str, ids: Sequence[str]) -> None: ...

    async def messages(
        self, tenant: str, channel: str, chat: str, *, before: int | None = None, limit: int = 100
    ) -> RoomMessagePage:
        """The last ones before a number."""
        ...

    async def message(self, tenant: str, channel: str, chat: str, id: str) -> RoomMessage | None: ...

    async def unhandled(self, tenant: str, channel: str) -> list[tuple[str, RoomMessage]]:
        """Chat and message, in the order they came."""
        ...

    async def trim_messages(self, before: datetime) -> int:
        """Drop those that were written before and are handled, of all tenants; how many."""
        ...

    # ---- routes

    async def routes(self, tenant: str, channel: str) -> list[Route]: ...

    async def route(self, tenant: str, channel: str, key: str) -> Route | None: ...

    async def put_route(self, tenant: str, route: Route) -> None: ...

    async def begin_route(self, tenant: str, route: Route, *, instead: str | None) -> Route:
        """Keep a way if there is none of its key, or only one to the session `instead`. Answers the way that is kept now: of several that begin one, the first."""
        ...

    async def remove_route(self, tenant: str, channel: str, key: str) -> None: ...

    # ---- senders

    async def senders(self, tenant: str, channel: str) -> list[ChannelSender]: ...

    async def sender(self, tenant: str, channel: str, sender: str) -> ChannelSender | None: ...

    async def put_sender(self, tenant: str, sender: ChannelSender, entries: Entries) -> None: ...

    async def remove_sender(self, tenant: str, channel: str, sender: str, entries: Entries) -> None: ...

    # ---- what platforms keep

    async def platform_values(self, tenant: str, channel: str, prefix: str = "") -> dict[str, str]:
        """What the platform of a channel has to know again after a restart, by names that begin with `prefix`."""
        ...

    async def put_platform_value(self, tenant: str, channel: str, name: str, value: str | None) -> None:
        """Keep a value, or drop it (None). It goes with the channel."""
        ...

    # ---- who is who

    async def links(self, tenant: str) -> list[SenderLink]: ...

    async def link(self, tenant: str, identity: str) -> SenderLink | None: ...

    async def put_link(self, tenant: str, link: SenderLink, entries: Entries) -> None: ...

    async def remove_link(self, tenant: str, identity: str, entries: Entries) -> None:
        """Raises NotFound."""
        ...
