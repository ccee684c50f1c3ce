"""
Rooms of our own, as people with a key use them: make one, speak, read, listen.

A room is its members': whoever makes it owns it, and shares its scope (`service/members.py`). What is out of reach is not found. In a room of the
terminal the operator says who speaks; in one of the web everybody is who their key says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from commonplace.channels.command_line import parse_command
from commonplace.channels.host import ChannelHost
from commonplace.channels.inbox import is_blank
from commonplace.channels.local import LocalChannel, shown
from commonplace.channels.residence import Residence
from commonplace.channels.speakers import member_speaker
from commonplace.errors import Forbidden, InvalidInput, InvalidText
from commonplace.events.ring import Ring
from commonplace.governance.access import reaches_all, require_role
from commonplace.markdown.room_file import author_name
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.values.artifact import Artifact
from commonplace.values.channel import (
    LOCAL_KINDS,
    MAX_ROOM_TITLE,
    ChannelProfile,
    ChatRoom,
    RoomMessage,
    RoomMessagePage,
    RoomNotFound,
    check_chat,
)
from commonplace.values.envelope import Envelope
from commonplace.values.line import is_text
from commonplace.values.member import Member
from commonplace.values.moment import new_id, utc
from commonplace.values.permission import PermissionVote, PermissionVoteChoice
from commonplace.values.principal import KEY_SUBJECT, LOCAL, Principal
from commonplace.values.room_event import RoomEvent
from commonplace.values.room_memory import RoomMemoryChange

MAX_MESSAGE: Final = 100_000
MOST_MESSAGES: Final = 500
_OURS: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-")
"""What the ids of replies, notices and questions begin with."""
_MENTION: Final = re.compile(r"(?<!\w)@(bot|all|助手)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomSpeech:
    """
    What somebody says. `mention`: it is for the agent; None: as its text says. `reply_to` is a message of the room, `id` makes it known again.
    `speaker`: in a room of the terminal, whom the operator speaks for.
    """

    text: str
    mention: bool | None = None
    reply_to: str | None = None
    id: str | None = None
    speaker: str | None = None
    attachments: tuple[str, ...] = ()
    """Ids of files that were uploaded to the room."""


class Rooms:
    def __init__(self, desk: Desk, host: ChannelHost) -> None:
        self._desk = desk
        self.host = host

    # ---- rooms

    async def rooms(self, who: Principal, channel: str, *, everyone: bool = False) -> list[ChatRoom]:
        """Those that are the caller's; `everyone`: all, for an admin."""
        desk = self._desk
        async with desk.account(who, "room.list") as account:
            require_role(who, "reader")
            await self.host.profile(who.tenant, channel)
            rooms = await self.host.parts.store.rooms(who.tenant, channel)
            if everyone:
                require_role(who, "admin")
                if not reaches_all(who):
                    raise Forbidden("Everybody's rooms are for an admin's key that reaches every scope.")
                await account.note_read(everyone=True, channel=channel)
                return rooms
            if who.role == "admin":
                own_scopes = (await desk.with_every_scope(who)).is_at_home
                return [room for room in rooms if own_scopes(room.scope)]
            knows = await desk.with_members(who, [room.scope for room in rooms])
            return [room for room in rooms if knows.reaches(room.scope)]

    async def create(self, who: Principal, channel: str, title: str, *, chat: str | None = None) -> ChatRoom:
        """Begin a room; it is the caller's. Raises InvalidInput, Forbidden."""
        desk = self._desk
        async with desk.account(who, "room.create") as account:
            require_role(who, "writer")
            await self._local_profile(who, channel)
            if not 1 <= len(title.strip()) <= MAX_ROOM_TITLE or not title.isprintable():
                raise InvalidInput(f"A room's title has 1 to {MAX_ROOM_TITLE} printable characters.")
            now = utc(desk.clock.now())
            room = ChatRoom(channel=channel, chat=check_chat(chat or new_id(now)), title=title.strip(), created_at=now)
            if who.scopes is not None and not who.reaches(room.scope):
                raise Forbidden(f"This key does not reach rooms such as {room.scope}.")
            if await self.host.parts.store.room(who.tenant, channel, room.chat) is not None:
                raise InvalidInput("There is a room of this id already. Choose another.")
            account.scope = room.scope
            row = account.row("ok", details={"room": str(room.scope)})
            news = account.news("room.created", scope=room.scope, data={"room": str(room.scope)})
            # The owner first: a room that nobody reached could not be removed.
            owner = Member(scope=room.scope, subject=who.subject, owner=True, since=now)
            await desk.store.members.add_member(who.tenant, owner, Entries())
            await self.host.parts.store.put_room(who.tenant, room, Entries(audit=(row,), events=(news,)))
            return room

    async def room(self, who: Principal, channel: str, chat: str) -> ChatRoom:
        """Raises RoomNotFound."""
        async with self._desk.account(who, "room.get"):
            return await self._found(who, channel, chat)

    async def delete(self, who: Principal, channel: str, chat: str) -> None:
        """With all that was said in it. What it remembered stays until it is purged. For its owner, and for admins."""
        desk = self._desk
        async with desk.account(who, "room.delete") as account:
            require_role(who, "writer")
            room = await self._found(who, channel, chat)
            members = await desk.store.members.members(who.tenant, room.scope)
            if who.role != "admin" and not any(member.owner and member.subject == who.subject for member in members):
                raise Forbidden("Only the owner of a room and admins remove it.")
            account.scope = room.scope
            entries = Entries(audit=(account.row("ok", details={"room": str(room.scope)}),))
            residence = await self.host.residence(who.tenant, channel)
            routes = await self.host.parts.store.routes(who.tenant, channel)
            for route in routes:
                if route.chat == chat:
                    await self.host.parts.agent.let_go(who.tenant, route.session)
            await self.host.parts.store.remove_room(who.tenant, channel, chat, entries)
            await self.host.parts.files.artifacts.erase_room(who.tenant, room.scope)
            if isinstance(residence.platform, LocalChannel):
                residence.platform.close_room(chat)

    # ---- talk

    async def say(self, who: Principal, channel: str, chat: str, words: RoomSpeech) -> RoomMessage:
        """
        Say something; it is kept when this returns, and the agent answers in the room.

        Raises:
            RoomNotFound: out of reach.
            InvalidText: there is nothing in it, or too much.
        """
        desk = self._desk
        async with desk.account(who, "room.say"):
            require_role(who, "writer")
            room = await self._found(who, channel, chat)
            residence, platform = await self._at_work(who, channel)
            files = await self.host.parts.files.uploaded(who, room, words.attachments)
            if words.text or not files:
                _check_text(words.text)
            quote = await self._quote(who, room, words.reply_to)
            sender, asker = await self._sender(who, residence, words.speaker)
            now = utc(desk.clock.now())
            envelope = Envelope(
                id=_message_id(words.id) if words.id is not None else new_id(now),
                channel=channel,
                chat=chat,
                sender=sender,
                sender_name=words.speaker or person_name(who),
                text=words.text,
                at=now,
                mentions_bot=await self._is_for_agent(who, residence, room, words),
                replies_to_bot=quote is not None and quote.author == "agent",
                quote=None if quote is None else quote.text,
                attachments=files,
                asker=asker,
            )
            return await platform.post(envelope)

    async def upload(
        self, who: Principal, channel: str, chat: str, name: str, media_type: str | None, data: bytes
    ) -> Artifact:
        """Keep a file for the room, so that a message may bring it. Raises RoomNotFound, ArtifactTooLarge, InvalidInput."""
        require_role(who, "writer")
        room = await self._found(who, channel, chat)
        await self._local_profile(who, channel)
        return await self.host.parts.files.upload(who, room, name, media_type, data)

    async def messages(
        self, who: Principal, channel: str, chat: str, *, before: int | None = None, limit: int = 100
    ) -> RoomMessagePage:
        async with self._desk.account(who, "room.read") as account:
            if not 1 <= limit <= MOST_MESSAGES:
                raise InvalidInput(f"A page has 1 to {MOST_MESSAGES} messages.")
            await self._note_stranger(account, await self._found(who, channel, chat), "messages")
            page = await self.host.parts.store.messages(who.tenant, channel, chat, before=before, limit=limit)
            return RoomMessagePage(tuple(map(shown, page.messages)), before=page.before)

    async def ring(self, who: Principal, channel: str, chat: str) -> tuple[Ring[RoomEvent], LocalChannel]:
        """Where what happens in the room is told, and who keeps who is there."""
        async with self._desk.account(who, "room.read") as account:
            await self._note_stranger(account, await self._found(who, channel, chat), "events")
        _, platform = await self._at_work(who, channel)
        return platform.ring(chat), platform

    async def hears(self, who: Principal, channel: str, chat: str, ring: Ring[RoomEvent]) -> bool:
        """Whether somebody who listens may still."""
        try:
            await self._found(who, channel, chat)
        except RoomNotFound:
            return False
        return not ring.closed

    async def show_typing(self, who: Principal, channel: str, chat: str, active: bool) -> None:
        require_role(who, "writer")
        await self._found(who, channel, chat)
        _, platform = await self._at_work(who, channel)
        platform.person_types(chat, who.subject, person_name(who), active)

    # ---- permissions and memory

    async def vote(
        self, who: Principal, channel: str, chat: str, request: str, choice: PermissionVoteChoice
    ) -> PermissionVote:
        """Answer what a tool asks of the room. Raises what `RoomVotes.vote` raises."""
        async with self._desk.account(who, "room.vote"):
            require_role(who, "writer")
            room = await self._found(who, channel, chat)
            residence, _ = await self._at_work(who, channel)
            return await residence.votes.vote(member_speaker(residence.profile, room, who), room.chat, request, choice)

    async def memory(self, who: Principal, channel: str, chat: str) -> tuple[str, ...]:
        """The lines that the room remembers."""
        async with self._desk.account(who, "room.read") as account:
            room = await self._found(who, channel, chat)
            await self._note_stranger(account, room, "memory")
        return await self.host.parts.memory.lines(who, room)

    async def remember(
        self, who: Principal, channel: str, chat: str, text: str, *, replace_all: bool = False
    ) -> RoomMemoryChange:
        """Add a line, or replace all of them. Raises what `RoomMemories` raises."""
        require_role(who, "writer")
        room = await self._found(who, channel, chat)
        if replace_all:
            await self._require_allowed(who, room)
            return await self.host.parts.memory.replace(who, room, text, by=author_name(person_name(who)))
        return await self.host.parts.memory.remember(who, room, text, by=author_name(person_name(who)))

    async def correct(self, who: Principal, channel: str, chat: str, line: str, text: str) -> RoomMemoryChange:
        """Another text in the place of a line. For those who may change the room for everybody."""
        require_role(who, "writer")
        room = await self._found(who, channel, chat)
        await self._require_allowed(who, room)
        return await self.host.parts.memory.correct(who, room, line, text, by=author_name(person_name(who)))

    async def forget(self, who: Principal, channel: str, chat: str, line: str) -> RoomMemoryChange:
        """Drop a line. For those who may change the room for everybody."""
        require_role(who, "writer")
        room = await self._found(who, channel, chat)
        await self._require_allowed(who, room)
        return await self.host.parts.memory.forget(who, room, line)

    async def _require_allowed(self, who: Principal, room: ChatRoom) -> None:
        """As `/forget` in the room: admins, and whom the channel allows by the name that its platform knows."""
        profile = await self.host.profile(who.tenant, room.channel)
        if who.role == "admin" or not profile.settings.allowed:
            return
        senders = {who.subject} if profile.kind == "web" else set[str]()
        links = await self.host.parts.store.links(who.tenant) if profile.kind != "web" else ()
        for link in links:
            kind, _, sender = link.identity.partition(":")
            if link.subject == who.subject and kind == profile.kind:
                senders.add(sender)
        if not any(map(profile.settings.is_allowed, senders)):
            raise Forbidden(
                "The channel of this room says who may correct and forget what it remembers, and you are not among them."
            )

    async def of_session(self, who: Principal, session: str) -> ChatRoom:
        """The room whose turns a session of the agent has, by the routes that are kept. Raises RoomNotFound."""
        require_role(who, "reader")
        for profile in await self.host.profiles(who.tenant):
            for route in await self.host.parts.store.routes(who.tenant, profile.name):
                if route.session == session:
                    return await self._found(who, profile.name, route.chat)
        raise RoomNotFound

    # ---- whose

    async def _note_stranger(self, account: Account, room: ChatRoom, what: str) -> None:
        """An admin reads in a room that is others'."""
        who = account.who
        if who.role != "admin":
            return
        members = await self._desk.store.members.members(who.tenant, room.scope)
        if not any(member.subject == who.subject for member in members):
            account.scope = room.scope
            await account.note_read(everyone=True, room=str(room.scope), read=what)

    async def _found(self, who: Principal, channel: str, chat: str) -> ChatRoom:
        require_role(who, "reader")
        room = await self.host.parts.store.room(who.tenant, channel, chat) if chat.isprintable() else None
        if room is None:
            raise RoomNotFound
        if not (await self._desk.with_members(who, [room.scope])).reaches(room.scope):
            raise RoomNotFound
        return room

    async def _local_profile(self, who: Principal, channel: str) -> ChannelProfile:
        profile = await self.host.profile(who.tenant, channel)
        if profile.kind not in LOCAL_KINDS:
            raise InvalidInput("The rooms of this channel are made on its own platform.")
        return profile

    async def _at_work(self, who: Principal, channel: str) -> tuple[Residence, LocalChannel]:
        residence = await self.host.residence(who.tenant, channel)
        if not isinstance(residence.platform, LocalChannel):
            raise InvalidInput("Speak in the rooms of this channel on its own platform.")
        return residence, residence.platform

    async def _sender(self, who: Principal, residence: Residence, speaker: str | None) -> tuple[str, Principal | None]:
        """Who speaks, for the platform and for us."""
        profile = residence.profile
        if speaker is None:
            return who.subject, who
        if profile.kind != "terminal" or not who.operator:
            raise Forbidden("Only the operator speaks for somebody else, and only in a room of the terminal.")
        check_chat(speaker)
        return speaker, None

    async def _quote(self, who: Principal, room: ChatRoom, reply_to: str | None) -> RoomMessage | None:
        if reply_to is None:
            return None
        message = await self.host.parts.store.message(who.tenant, room.channel, room.chat, reply_to)
        if message is None:
            raise InvalidInput("The message that this replies to is not in the room.")
        return message

    async def _is_for_agent(self, who: Principal, residence: Residence, room: ChatRoom, words: RoomSpeech) -> bool:
        """By its sign, its text, or because nobody else is there."""
        if parse_command(words.text) is not None:
            return True
        if words.mention is not None:
            return words.mention
        if _MENTION.search(words.text) or _mentions(words.text, residence.profile.settings.for_room(room.chat).agent):
            return True
        return len(await self._desk.store.members.members(who.tenant, room.scope)) <= 1


def _mentions(text: str, agent: str) -> bool:
    """Whether it has the name of the agent behind an @, as a word of its own."""
    text, name = text.casefold(), f"@{agent.casefold()}"
    place = text.find(name)
    while place >= 0:
        end = place + len(name)
        if not any(sign.isalnum() or sign == "_" for sign in (text[place - 1 : place], text[end : end + 1])):
            return True
        place = text.find(name, end)
    return False


def person_name(who: Principal) -> str:
    """What others call somebody: a key of nobody in particular goes by its name, and so does the operator."""
    is_nobody = who.subject == LOCAL or who.subject.startswith(KEY_SUBJECT)
    return (who.name or who.subject) if is_nobody else who.subject


def _message_id(id: str) -> str:
    """Raises InvalidInput: it is none, or one that a message of ours will have."""
    if _OURS.match(id):
        raise InvalidInput("Messages of the agent have ids of this form. Choose another one.")
    return check_chat(id)


def _check_text(text: str) -> None:
    if is_blank(text) or "\0" in text or not is_text(text):
        raise InvalidText("There is nothing to say. Give a text without NUL characters.")
    if len(text) > MAX_MESSAGE:
        raise InvalidText(f"A message has at most {MAX_MESSAGE:,} characters. Put the text into a file.")
