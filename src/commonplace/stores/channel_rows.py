"""Channels and their rooms as rows, for both stores: the columns stand in the order of the SELECTs of `sql/channels.sql`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from commonplace.stores.rows import moment, object_of
from commonplace.values.channel import (
    ChannelProfile,
    ChannelSender,
    ChannelSettings,
    ChatRoom,
    RoomMessage,
    RoomMessageDraft,
    Route,
    SenderLink,
)
from commonplace.values.moment import from_ms, to_ms

Row = Sequence[Any]


def channel_of(row: Row) -> tuple[str, ChannelProfile]:
    tenant, name, kind, settings, enabled, created_at = row
    profile = ChannelProfile(
        name=name,
        kind=kind,
        created_at=from_ms(created_at),
        settings=ChannelSettings.from_text(settings),
        enabled=bool(enabled),
    )
    return tenant, profile


def channel_params(tenant: str, channel: ChannelProfile) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "name": channel.name,
        "kind": channel.kind,
        "settings": channel.settings.to_text(),
        "enabled": channel.enabled,
        "created_at": to_ms(channel.created_at),
    }


def room_of(row: Row) -> ChatRoom:
    channel, chat, title, is_group, paused, created_at = row
    return ChatRoom(
        channel=channel,
        chat=chat,
        title=title,
        is_group=bool(is_group),
        paused=bool(paused),
        created_at=from_ms(created_at),
    )


def room_params(tenant: str, room: ChatRoom) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "channel": room.channel,
        "chat": room.chat,
        "title": room.title,
        "is_group": room.is_group,
        "paused": room.paused,
        "created_at": to_ms(room.created_at),
    }


def message_of(row: Row) -> RoomMessage:
    number, id, at, author, sender, sender_name, text, data, handled = row
    return RoomMessage(
        number=number,
        id=id,
        at=from_ms(at),
        author=author,
        sender=sender,
        sender_name=sender_name,
        text=text,
        data=object_of(data),
        handled=bool(handled),
    )


def message_params(tenant: str, draft: RoomMessageDraft) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "channel": draft.channel,
        "chat": draft.chat,
        "id": draft.id,
        "at": to_ms(draft.at),
        "author": draft.author,
        "sender": draft.sender,
        "sender_name": draft.sender_name,
        "text": draft.text,
        "data": json_text(draft.data),
        "handled": draft.handled,
    }


def json_text(data: object) -> str | None:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) if data else None


def route_of(row: Row) -> Route:
    channel, key, session, chat, thread, is_group = row
    return Route(channel=channel, key=key, session=session, chat=chat, thread=thread, is_group=bool(is_group))


def route_params(tenant: str, route: Route) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "channel": route.channel,
        "key": route.key,
        "session": route.session,
        "chat": route.chat,
        "thread": route.thread,
        "is_group": route.is_group,
    }


def sender_of(row: Row) -> ChannelSender:
    channel, sender, name, code, code_at, approved_at = row
    return ChannelSender(
        channel=channel,
        sender=sender,
        name=name,
        code=code,
        code_at=moment(code_at),
        approved_at=moment(approved_at),
    )


def sender_params(tenant: str, sender: ChannelSender) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "channel": sender.channel,
        "sender": sender.sender,
        "name": sender.name,
        "code": sender.code,
        "code_at": None if sender.code_at is None else to_ms(sender.code_at),
        "approved_at": None if sender.approved_at is None else to_ms(sender.approved_at),
    }


def link_of(row: Row) -> SenderLink:
    identity, subject, created_at = row
    return SenderLink(identity=identity, subject=subject, created_at=from_ms(created_at))


def link_params(tenant: str, link: SenderLink) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "identity": link.identity,
        "subject": link.subject,
        "created_at": to_ms(link.created_at),
    }
