"""Channels, their rooms, and what arrives in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from commonplace.errors import CommonplaceError, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.channel_rows import (
    channel_of,
    channel_params,
    json_text,
    link_of,
    link_params,
    message_of,
    message_params,
    room_of,
    room_params,
    route_of,
    route_params,
    sender_of,
    sender_params,
)
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.channel import (
    ChannelExists,
    ChannelNotFound,
    ChannelProfile,
    ChannelSender,
    ChatRoom,
    RoomMessage,
    RoomMessageDraft,
    RoomMessagePage,
    RoomNotFound,
    Route,
    SenderLink,
)
from commonplace.values.json import Json
from commonplace.values.moment import to_ms

_SQL = statements("sql/channels.sql")
T = TypeVar("T")
Params = dict[str, Any]


class SqlChannels:
    """Satisfies the port `ChannelStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def channels(self, tenant: str | None = None) -> list[tuple[str, ChannelProfile]]:
        return await self._list("channels", {"tenant": tenant}, channel_of)

    async def put_channel(self, tenant: str, channel: ChannelProfile, entries: Entries, *, new: bool = False) -> None:
        statement = "add_channel" if new else "put_channel"
        await self._change(statement, channel_params(tenant, channel), entries, ChannelExists())

    async def remove_channel(self, tenant: str, name: str, entries: Entries) -> None:
        also = ("remove_messages", "remove_routes", "remove_rooms", "remove_senders", "remove_platform_values")
        params: Params = {"tenant": tenant, "channel": name, "chat": None}
        await self._change("remove_channel", params, entries, ChannelNotFound(), *also)

    # ---- rooms

    async def rooms(self, tenant: str, channel: str) -> list[ChatRoom]:
        return await self._list("rooms", {"tenant": tenant, "channel": channel}, room_of)

    async def room(self, tenant: str, channel: str, chat: str) -> ChatRoom | None:
        return await self._one("room", {"tenant": tenant, "channel": channel, "chat": chat}, room_of)

    async def put_room(self, tenant: str, room: ChatRoom, entries: Entries) -> None:
        await self._change("put_room", room_params(tenant, room), entries, RoomNotFound())

    async def remove_room(self, tenant: str, channel: str, chat: str, entries: Entries) -> None:
        params: Params = {"tenant": tenant, "channel": channel, "chat": chat}
        await self._change("remove_room", params, entries, RoomNotFound(), "remove_messages", "remove_routes")

    # ---- messages

    async def keep_message(self, tenant: str, draft: RoomMessageDraft) -> RoomMessage | None:
        params = message_params(tenant, draft)

        async def work(connection: Connection) -> bool:
            return bool(await rows(connection, _SQL["keep_message"], params))

        is_new = await self._transactions.write(work)
        return await self.message(tenant, draft.channel, draft.chat, draft.id) if is_new else None

    async def change_message(
        self,
        tenant: str,
        channel: str,
        chat: str,
        id: str,
        *,
        text: str | None = None,
        data: Mapping[str, Json] | None = None,
    ) -> None:
        params = _message(tenant, channel, chat) | {"id": id, "text": text, "data": json_text(data)}
        await self._transactions.count(_SQL["change_message"], params)

    async def mark_handled(self, tenant: str, channel: str, chat: str, ids: Sequence[str]) -> None:
        params = _message(tenant, channel, chat) | {"ids": list(ids)}
        await self._transactions.count(_SQL["mark_handled"], params)

    async def messages(
        self, tenant: str, channel: str, chat: str, *, before: int | None = None, limit: int = 100
    ) -> RoomMessagePage:
        params = _message(tenant, channel, chat) | {"before": before, "limit": limit + 1}
        result = await self._list("messages", params, message_of)
        return RoomMessagePage(tuple(reversed(result[:limit])), before=len(result) > limit)

    async def message(self, tenant: str, channel: str, chat: str, id: str) -> RoomMessage | None:
        return await self._one("message", _message(tenant, channel, chat) | {"id": id}, message_of)

    async def unhandled(self, tenant: str, channel: str) -> list[tuple[str, RoomMessage]]:
        params: Params = {"tenant": tenant, "channel": channel}
        return await self._list("unhandled", params, lambda row: (str(row[0]), message_of(row[1:])))

    async def trim_messages(self, before: datetime) -> int:
        return await self._transactions.count(_SQL["trim_messages"], {"before": to_ms(before)})

    # ---- routes

    async def routes(self, tenant: str, channel: str) -> list[Route]:
        return await self._list("routes", {"tenant": tenant, "channel": channel}, route_of)

    async def route(self, tenant: str, channel: str, key: str) -> Route | None:
        return await self._one("route", {"tenant": tenant, "channel": channel, "key": key}, route_of)

    async def put_route(self, tenant: str, route: Route) -> None:
        await self._transactions.count(_SQL["put_route"], route_params(tenant, route))

    async def begin_route(self, tenant: str, route: Route, *, instead: str | None) -> Route:
        params = {**route_params(tenant, route), "instead": instead}
        await self._transactions.count(_SQL["begin_route"], params)
        return await self.route(tenant, route.channel, route.key) or route

    async def remove_route(self, tenant: str, channel: str, key: str) -> None:
        params: Params = {"tenant": tenant, "channel": channel, "key": key}
        await self._transactions.count(_SQL["remove_route"], params)

    # ---- senders

    async def senders(self, tenant: str, channel: str) -> list[ChannelSender]:
        return await self._list("senders", {"tenant": tenant, "channel": channel}, sender_of)

    async def sender(self, tenant: str, channel: str, sender: str) -> ChannelSender | None:
        return await self._one("sender", {"tenant": tenant, "channel": channel, "sender": sender}, sender_of)

    async def put_sender(self, tenant: str, sender: ChannelSender, entries: Entries) -> None:
        await self._change("put_sender", sender_params(tenant, sender), entries, ChannelNotFound())

    async def remove_sender(self, tenant: str, channel: str, sender: str, entries: Entries) -> None:
        params: Params = {"tenant": tenant, "channel": channel, "sender": sender}
        await self._change("remove_sender", params, entries, NotFound("There is no such sender."))

    async def links(self, tenant: str) -> list[SenderLink]:
        return await self._list("links", {"tenant": tenant}, link_of)

    async def link(self, tenant: str, identity: str) -> SenderLink | None:
        return await self._one("link", {"tenant": tenant, "identity": identity}, link_of)

    async def put_link(self, tenant: str, link: SenderLink, entries: Entries) -> None:
        await self._change("put_link", link_params(tenant, link), entries, NotFound())

    async def remove_link(self, tenant: str, identity: str, entries: Entries) -> None:
        params: Params = {"tenant": tenant, "identity": identity}
        await self._change("remove_link", params, entries, NotFound("There is no such link."))

    # ---- what platforms keep

    async def platform_values(self, tenant: str, channel: str, prefix: str = "") -> dict[str, str]:
        params: Params = {"tenant": tenant, "channel": channel, "prefix": prefix}
        return dict(await self._list("platform_values", params, lambda row: (str(row[0]), str(row[1]))))

    async def put_platform_value(self, tenant: str, channel: str, name: str, value: str | None) -> None:
        statement = "remove_platform_value" if value is None else "put_platform_value"
        params: Params = {"tenant": tenant, "channel": channel, "name": name}
        await self._transactions.count(_SQL[statement], params if value is None else params | {"value": value})

    # ---- statements

    async def _list(self, statement: str, params: Params, convert: Callable[[Sequence[Any]], T]) -> list[T]:
        return [convert(row) for row in await self._transactions.ask(_SQL[statement], params)]

    async def _one(self, statement: str, params: Params, convert: Callable[[Sequence[Any]], T]) -> T | None:
        result = await self._list(statement, params, convert)
        return result[0] if result else None

    async def _change(
        self, statement: str, params: Params, entries: Entries, refused: CommonplaceError, *also: str
    ) -> None:
        """A statement that returns what it changed, and others with it; the error if it changed nothing."""

        async def work(connection: Connection) -> tuple[None, Entries]:
            if not await rows(connection, _SQL[statement], params):
                raise refused
            await self._transactions.keep(connection, entries, *((_SQL[other], params) for other in also))
            return None, entries

        await self._transactions.write_beside(work)


def _message(tenant: str, channel: str, chat: str) -> Params:
    return {"tenant": tenant, "channel": channel, "chat": chat}
