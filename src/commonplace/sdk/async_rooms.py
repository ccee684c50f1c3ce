"""The parts of the client that are about rooms and channels: `client.rooms` and `client.channels`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Mapping
from typing import TypeVar

from commonplace.sdk.async_connection import AsyncDaemonConnection
from commonplace.sdk.documents import changed, part, query, written
from commonplace.sdk.room_listener import RoomListener
from commonplace.sdk.talk import Call, asked
from commonplace.values.artifact import Artifact
from commonplace.values.channel import (
    ChannelProfile,
    ChannelSender,
    ChannelStatus,
    ChannelTest,
    ChatRoom,
    RoomMessage,
    RoomMessagePage,
    RoomSpent,
    SenderLink,
)
from commonplace.values.json import Json
from commonplace.values.permission import PermissionVote, PermissionVoteChoice
from commonplace.values.platform import ConnectionEntry
from commonplace.values.room_event import HeardInRoom
from commonplace.values.room_memory import RoomMemoryChange
from commonplace.wire.channels import (
    ChannelDeletedAnswer,
    ChannelKindAnswer,
    ChannelKindsAnswer,
    ChannelLogAnswer,
    ChannelsAnswer,
    ChannelSpendingAnswer,
    LinksAnswer,
    RoomDeletedAnswer,
    RoomMemoryAnswer,
    RoomsAnswer,
    SendersAnswer,
)
from commonplace.wire.shapes import reader

T = TypeVar("T")


def _rooms(channel: str) -> str:
    return f"/v1/channels/{part(channel)}/rooms"


class AsyncDaemonRooms:
    """Rooms of the web and of the terminal."""

    def __init__(self, daemon: AsyncDaemonConnection) -> None:
        self._daemon = daemon

    async def list(self, channel: str = "web", *, everyone: bool = False) -> builtins.list[ChatRoom]:
        """The caller's rooms, by title; `everyone`: all, for admins, and the audit says so."""
        parameters = {"everyone": True} if everyone else {}
        return builtins.list((await self._get(_rooms(channel), RoomsAnswer, parameters)).rooms)

    async def create(self, title: str, *, id: str | None = None, channel: str = "web") -> ChatRoom:
        """A new room; it is the caller's. Let others in by `share` of its scope, `channel:<channel>/<id>`."""
        return await self._post(_rooms(channel), ChatRoom, changed({"title": title, "id": id}))

    async def get(self, room: str, *, channel: str = "web") -> ChatRoom:
        """One room."""
        return await self._get(f"{_rooms(channel)}/{part(room)}", ChatRoom)

    async def delete(self, room: str, *, channel: str = "web") -> None:
        """With what was said in it."""
        path = f"{_rooms(channel)}/{part(room)}"
        await self._daemon.ask(asked(Call(method="DELETE", path=path, decode=reader(RoomDeletedAnswer))))

    async def say(
        self,
        room: str,
        text: str,
        *,
        mention: bool | None = None,
        reply_to: str | None = None,
        id: str | None = None,
        speaker: str | None = None,
        channel: str = "web",
    ) -> RoomMessage:
        """Say something; the agent answers in the room if it is meant. `speaker`: whom the operator speaks for, at the terminal."""
        body = changed({"text": text, "mention": mention, "reply_to": reply_to, "id": id, "speaker": speaker})
        return await self._post(f"{_rooms(channel)}/{part(room)}/messages", RoomMessage, body)

    async def send_files(
        self,
        room: str,
        files: builtins.list[str],
        *,
        text: str = "",
        mention: bool | None = None,
        speaker: str | None = None,
        channel: str = "web",
    ) -> RoomMessage:
        """Say something that brings files, which were uploaded to the room: their ids."""
        body: dict[str, Json] = {
            "text": text,
            "attachments": [*files],
            **changed({"mention": mention, "speaker": speaker}),
        }
        return await self._post(f"{_rooms(channel)}/{part(room)}/messages", RoomMessage, body)

    async def upload(self, room: str, name: str, data: bytes, *, channel: str = "web") -> Artifact:
        """Keep a file for a room, so that a message may bring it. Raises ArtifactTooLarge."""
        call = Call(
            method="POST",
            path=f"{_rooms(channel)}/{part(room)}/files",
            query=query({"name": name}),
            body=data,
            decode=reader(Artifact),
            condition=("Content-Type", "application/octet-stream"),
        )
        return await self._daemon.ask(asked(call))

    async def messages(
        self, room: str, *, before: int | None = None, limit: int = 100, channel: str = "web"
    ) -> RoomMessagePage:
        """The last ones before a number, in order."""
        path = f"{_rooms(channel)}/{part(room)}/messages"
        return await self._get(path, RoomMessagePage, {"before": before, "limit": limit})

    async def hear(self, room: str, *, after: int | None = None, channel: str = "web") -> AsyncIterator[HeardInRoom]:
        """What happens from now on, or from behind the event `after`."""
        async for event in self._daemon.listen(RoomListener(channel, room, after)):
            yield event

    async def vote(
        self, room: str, request: str, choice: PermissionVoteChoice, *, channel: str = "web"
    ) -> PermissionVote:
        """Answer what a tool asks of the room."""
        path = f"{_rooms(channel)}/{part(room)}/permissions/{part(request)}"
        return await self._post(path, PermissionVote, {"choice": choice})

    async def memory(self, room: str, *, channel: str = "web") -> builtins.list[str]:
        """What the room remembers, a line each."""
        return builtins.list((await self._get(f"{_rooms(channel)}/{part(room)}/memory", RoomMemoryAnswer)).lines)

    async def remember(
        self, room: str, content: str, *, replace: bool = False, channel: str = "web"
    ) -> RoomMemoryChange:
        """A line more; `replace`: in place of all of them."""
        body: dict[str, Json] = {"content": content, "mode": "replace" if replace else "append"}
        return await self._post(f"{_rooms(channel)}/{part(room)}/memory", RoomMemoryChange, body)

    async def forget(self, room: str, line: str, *, channel: str = "web") -> RoomMemoryChange:
        """Drop a line, as `memory` has it."""
        return await self._post(f"{_rooms(channel)}/{part(room)}/memory/forget", RoomMemoryChange, {"line": line})

    async def correct(self, room: str, line: str, text: str, *, channel: str = "web") -> RoomMemoryChange:
        """Another text in the place of a line, as `memory` has it."""
        body: dict[str, Json] = {"line": line, "text": text}
        return await self._post(f"{_rooms(channel)}/{part(room)}/memory/correct", RoomMemoryChange, body)

    async def _get(self, path: str, answer: type[T], parameters: Mapping[str, object] | None = None) -> T:
        params = query(parameters or {})
        call = Call(method="GET", path=path, query=params, decode=reader(answer), reads=True)
        return await self._daemon.ask(asked(call))

    async def _post(self, path: str, answer: type[T], body: Mapping[str, Json]) -> T:
        call = Call(method="POST", path=path, body=written(dict(body)), decode=reader(answer))
        return await self._daemon.ask(asked(call))


class AsyncDaemonChannels:
    """Channels, for admins."""

    def __init__(self, daemon: AsyncDaemonConnection) -> None:
        self._daemon = daemon

    async def list(self) -> builtins.list[ChannelStatus]:
        """Those of the tenant."""
        return builtins.list((await self._get("/v1/channels", ChannelsAnswer)).channels)

    async def get(self, name: str) -> ChannelStatus:
        """One channel."""
        return await self._get(f"/v1/channels/{part(name)}", ChannelStatus)

    async def add(self, name: str, kind: str = "web", settings: Mapping[str, Json] | None = None) -> ChannelProfile:
        """A new channel. It begins at once; `get` tells whether it is connected."""
        body: dict[str, Json] = {"name": name, "kind": kind, "settings": dict(settings or {})}
        return await self._send("POST", "/v1/channels", ChannelProfile, body)

    async def change(
        self, name: str, settings: Mapping[str, Json] | None = None, *, enabled: bool | None = None
    ) -> ChannelProfile:
        """What is absent stays."""
        body = changed({"settings": dict(settings) if settings else None, "enabled": enabled})
        return await self._send("PATCH", f"/v1/channels/{part(name)}", ChannelProfile, body)

    async def remove(self, name: str) -> None:
        """With its rooms."""
        path = f"/v1/channels/{part(name)}"
        await self._daemon.ask(asked(Call(method="DELETE", path=path, decode=reader(ChannelDeletedAnswer))))

    async def test(self, name: str, room: str) -> ChannelTest:
        """Write a test message into a room, and say what came of it."""
        return await self._send("POST", f"/v1/channels/{part(name)}/test", ChannelTest, {"chat": room})

    async def log(self, name: str) -> builtins.list[ConnectionEntry]:
        """What happened to its connection lately, the oldest first."""
        return builtins.list((await self._get(f"/v1/channels/{part(name)}/log", ChannelLogAnswer)).entries)

    async def spending(self, name: str) -> builtins.list[RoomSpent]:
        """Its rooms, and what each has spent."""
        return builtins.list((await self._get(f"/v1/channels/{part(name)}/spending", ChannelSpendingAnswer)).rooms)

    async def pause(self, name: str, room: str, *, paused: bool = True) -> ChatRoom:
        """Let the agent do nothing in a room, or work there again."""
        body: dict[str, Json] = {"chat": room, "paused": paused}
        return await self._send("POST", f"/v1/channels/{part(name)}/pause", ChatRoom, body)

    async def kinds(self) -> builtins.list[ChannelKindAnswer]:
        """How each kind of channel is set up."""
        return builtins.list((await self._get("/v1/channels/kinds", ChannelKindsAnswer)).kinds)

    async def senders(self, name: str) -> builtins.list[ChannelSender]:
        """Who waits to be let in, and who was."""
        return builtins.list((await self._get(f"/v1/channels/{part(name)}/senders", SendersAnswer)).senders)

    async def pair(self, name: str, code: str) -> ChannelSender:
        """Let a sender in by their code."""
        return await self._send("POST", f"/v1/channels/{part(name)}/pair", ChannelSender, {"code": code})

    async def dismiss(self, name: str, sender: str) -> None:
        """Let a sender in no longer."""
        await self._tell("DELETE", f"/v1/channels/{part(name)}/senders/{part(sender)}")

    async def links(self) -> builtins.list[SenderLink]:
        """Which senders are which persons."""
        return builtins.list((await self._get("/v1/sender-links", LinksAnswer)).links)

    async def link(self, identity: str, subject: str) -> SenderLink:
        """Say that a sender is a person here."""
        return await self._send("POST", "/v1/sender-links", SenderLink, {"identity": identity, "subject": subject})

    async def unlink(self, identity: str) -> None:
        """Take it back."""
        await self._tell("DELETE", f"/v1/sender-links/{part(identity)}")

    async def _get(self, path: str, answer: type[T]) -> T:
        return await self._daemon.ask(asked(Call(method="GET", path=path, decode=reader(answer), reads=True)))

    async def _send(self, method: str, path: str, answer: type[T], body: Mapping[str, Json]) -> T:
        call = Call(method=method, path=path, body=written(dict(body)), decode=reader(answer))
        return await self._daemon.ask(asked(call))

    async def _tell(self, method: str, path: str, body: Mapping[str, Json] | None = None) -> None:
        content = None if body is None else written(dict(body))
        await self._daemon.ask(asked(Call(method=method, path=path, body=content, decode=_nothing)))


def _nothing(_: object) -> None:
    """An answer without a body."""
