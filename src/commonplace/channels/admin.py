"""Who sets channels up: admins of a tenant. A change is at work at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from commonplace.channels import pairing_codes
from commonplace.channels.budget import room_spending
from commonplace.channels.host import ANOTHER, BUILT_IN, ChannelHost
from commonplace.channels.platforms import GUIDES, PLATFORMS, offered_kind
from commonplace.channels.secrets import read_secret, without_secrets
from commonplace.channels.speakers import channel_principal
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput
from commonplace.governance.access import require_role
from commonplace.governance.work_folders import WorkFolders
from commonplace.ports.channel import Channel, Outgoing
from commonplace.ports.journal import Entries
from commonplace.schedule.times import check_timing
from commonplace.service.desk import Desk
from commonplace.values.channel import (
    LOCAL_KINDS,
    ChannelChanges,
    ChannelProfile,
    ChannelSender,
    ChannelSettings,
    ChannelStatus,
    ChannelTest,
    ChatRoom,
    RoomNotFound,
    RoomSpent,
    SenderLink,
    check_channel_name,
    check_chat,
    check_settings,
)
from commonplace.values.json import Json
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, utc
from commonplace.values.platform import ConnectionEntry
from commonplace.values.principal import Principal, check_person
from commonplace.values.schedule import Timing, room_target
from commonplace.values.scope import Scope
from commonplace.values.usage import to_usd

KINDS: Final = "kinds"
"""Where the guides are, beside the channels."""
UTC: Final = "UTC"
MOST_BUDGETS: Final = 100
_PATIENCE: Final = 20.0
_TEST: Final = "This is a test of the channel: it reaches this room. 这是一条测试消息。"


class ChannelAdmin:
    def __init__(self, desk: Desk, host: ChannelHost, folders: WorkFolders | None = None) -> None:
        """`folders` says where the tools of an agent may work, also in the sessions of a channel."""
        self._desk = desk
        self.host = host
        self._folders = folders or WorkFolders()

    async def channels(self, who: Principal) -> list[ChannelStatus]:
        """Whoever may read knows which there are; how they are set, and what is wrong with them, is for admins."""
        async with self._desk.account(who, "channel.list"):
            require_role(who, "reader")
            return [self._status(who, profile) for profile in await self.host.profiles(who.tenant)]

    async def channel(self, who: Principal, name: str) -> ChannelStatus:
        async with self._desk.account(who, "channel.get"):
            require_role(who, "reader")
            return self._status(who, await self.host.profile(who.tenant, name))

    async def log(self, who: Principal, name: str) -> tuple[ConnectionEntry, ...]:
        """What happened to the channel's connection lately, the oldest first."""
        async with self._desk.account(who, "channel.log"):
            _require(who)
            return self.host.log(await self.host.profile(who.tenant, name), who.tenant)

    async def add(self, who: Principal, name: str, kind: str, settings: ChannelSettings) -> ChannelProfile:
        """
        Raises:
            ChannelExists; InvalidInput: it cannot be so; FolderForbidden: its agent may not work there.
        """
        desk = self._desk
        async with desk.account(who, "channel.create") as account:
            _require(who)
            checked = offered_kind(kind)
            if name == KINDS:
                raise InvalidInput(f"{KINDS} is the address of the kinds of channels. Choose another name.")
            if BUILT_IN.get(name, checked) != checked:
                raise InvalidInput(f"{name} is the name of the channel of kind {BUILT_IN[name]}.")
            now = utc(desk.clock.now())
            profile = ChannelProfile(name=check_channel_name(name), kind=checked, created_at=now, settings=settings)
            await self._check(who, profile)
            details: dict[str, Json] = {"channel": name, "kind": checked}
            entries = Entries(audit=(account.row("ok", details=details),))
            await self.host.parts.store.put_channel(who.tenant, profile, entries, new=True)
            account.noted = True
        await self.host.restart(who.tenant, name)
        return profile

    async def change(self, who: Principal, name: str, changes: ChannelChanges) -> ChannelProfile:
        """Set it otherwise, start or stop it."""
        desk = self._desk
        async with desk.account(who, "channel.change") as account:
            _require(who)
            before = await self.host.profile(who.tenant, name)
            settings = changes.get("settings", before.settings)
            profile = replace(before, settings=settings, enabled=changes.get("enabled", before.enabled))
            # What is only stopped needs nothing that may be gone meanwhile.
            if profile.enabled or settings != before.settings:
                await self._check(who, profile, before.settings)
            details: dict[str, Json] = {"channel": name, "changed": [*sorted(changes)]}
            await self.host.parts.store.put_channel(
                who.tenant, profile, Entries(audit=(account.row("ok", details=details),))
            )
            account.noted = True
        await self.host.restart(who.tenant, name)
        return profile

    async def remove(self, who: Principal, name: str) -> None:
        """With its rooms and what was said in them. What they remember stays until their scopes are purged."""
        async with self._desk.account(who, "channel.delete") as account:
            _require(who)
            await self.host.profile(who.tenant, name)
            entries = Entries(audit=(account.row("ok", details={"channel": name}),))
            await self.host.remove(who.tenant, name)
            for room in await self.host.parts.store.rooms(who.tenant, name):
                await self.host.parts.files.artifacts.erase_room(who.tenant, room.scope)
            await self.host.parts.store.remove_channel(who.tenant, name, entries)
            account.noted = True
        # It may have begun anew for a moment.
        await self.host.remove(who.tenant, name)

    async def test(self, who: Principal, name: str, chat: str) -> ChannelTest:
        """
        Write a message into a room by the channel's own way, and say what came of it.

        Raises:
            RoomNotFound: there is none of this id. A platform of somebody else may know rooms in which nobody has spoken yet.
            ChannelStopped; InvalidInput: this is no id.
        """
        async with self._desk.account(who, "channel.test"):
            _require(who)
            profile = await self.host.profile(who.tenant, name)
            residence = await self.host.residence(who.tenant, name)
            is_known = await self.host.parts.store.room(who.tenant, name, check_chat(chat)) is not None
            if not is_known and profile.kind in LOCAL_KINDS:
                raise RoomNotFound
            error = await self._sent(residence.platform, chat)
            if error is not None:
                error = without_secrets(profile.settings, error)
            return ChannelTest(
                chat=chat,
                is_sent=error is None,
                error=error,
                meaning=None if error is None else GUIDES[profile.kind].meaning(error),
                connection=self.host.status(profile, who.tenant).connection,
            )

    async def _sent(self, platform: Channel, chat: str) -> str | None:
        """Why it was not."""
        if not platform.can_cold_send:
            return "This platform only answers: somebody has to write in the room first."
        key = new_id(self._desk.clock.now())
        try:
            async with asyncio.timeout(_PATIENCE):
                await platform.send(Outgoing(chat=chat, text=_TEST, key=key, notice=True, cold=True))
        except TimeoutError:
            return f"The platform did not take the message within {_PATIENCE:g} seconds: the request timed out."
        except CommonplaceError as error:
            return error.message
        return None

    # ---- its rooms

    async def spending(self, who: Principal, name: str) -> list[RoomSpent]:
        """Each room of the channel, and what was spent in it."""
        async with self._desk.account(who, "channel.spending") as account:
            _require(who)
            profile = await self.host.profile(who.tenant, name)
            await account.note_read(everyone=True, channel=name)
            rooms = await self.host.parts.store.rooms(who.tenant, name)
            return [await self._spent(who.tenant, profile, room) for room in rooms]

    async def budgets(self, who: Principal) -> list[RoomSpent]:
        """Of all channels the rooms that have a budget, those that have used most of it first."""
        async with self._desk.account(who, "channel.spending"):
            _require(who)
            spent = list[RoomSpent]()
            for profile in await self.host.profiles(who.tenant):
                for room in await self.host.parts.store.rooms(who.tenant, profile.name):
                    if profile.settings.for_room(room.chat).budget is not None:
                        spent.append(await self._spent(who.tenant, profile, room))
            return sorted(spent, key=lambda each: -each.share)[:MOST_BUDGETS]

    async def _spent(self, tenant: str, profile: ChannelProfile, room: ChatRoom) -> RoomSpent:
        parts, budget = self.host.parts, profile.settings.for_room(room.chat).budget
        if budget is None:
            return RoomSpent(room=room)
        spending = await room_spending(parts.quotas, tenant, budget, room.scope, parts.clock.now())
        return RoomSpent(
            room=room,
            limit_usd=None if spending.limit is None else to_usd(spending.limit),
            spent_usd=to_usd(spending.spent),
            estimated_usd=to_usd(spending.estimated),
            until=utc(spending.until),
            limit_tokens=spending.token_limit,
            tokens=spending.tokens,
            estimated_tokens=spending.estimated_tokens,
        )

    async def pause(self, who: Principal, name: str, chat: str, paused: bool) -> ChatRoom:
        """Let the agent do nothing in a room, or work there again. Raises RoomNotFound."""
        async with self._desk.account(who, "channel.pause") as account:
            _require(who)
            profile = await self.host.profile(who.tenant, name)
            room = await self.host.parts.store.room(who.tenant, name, check_chat(chat))
            if room is None:
                raise RoomNotFound
            room = replace(room, paused=paused)
            account.scope = room.scope
            row = account.row("ok", details={"room": str(room.scope), "paused": paused})
            await self._pause_schedules(channel_principal(who.tenant, profile), room, paused)
            await self.host.parts.store.put_room(who.tenant, room, Entries(audit=(row,)))
            account.noted = True
            return room

    async def _pause_schedules(self, owner: Principal, room: ChatRoom, paused: bool) -> None:
        """What is said there by itself stops, too, as by `/pause` in the room."""
        schedules, target = self.host.parts.schedules, room_target(room.channel, room.chat)
        await (schedules.pause if paused else schedules.resume)(owner, target)

    # ---- who is let in

    async def senders(self, who: Principal, name: str) -> list[ChannelSender]:
        """Those who wait to be let in, with their codes, and those who were."""
        async with self._desk.account(who, "channel.senders"):
            _require(who)
            await self.host.profile(who.tenant, name)
            return await self.host.parts.store.senders(who.tenant, name)

    async def pair(self, who: Principal, name: str, code: str) -> ChannelSender:
        """Let somebody in by their code. Raises PairingNotFound."""
        desk = self._desk
        async with desk.account(who, "channel.pair") as account:
            _require(who)
            senders = await self.host.parts.store.senders(who.tenant, name)
            sender = pairing_codes.approved(senders, code, utc(desk.clock.now()))
            row = account.row("ok", details={"channel": name, "sender": sender.sender})
            await self.host.parts.store.put_sender(who.tenant, sender, Entries(audit=(row,)))
            account.noted = True
            return sender

    async def dismiss(self, who: Principal, name: str, sender: str) -> None:
        """Somebody is let in no longer. Raises NotFound."""
        async with self._desk.account(who, "channel.dismiss") as account:
            _require(who)
            row = account.row("ok", details={"channel": name, "sender": sender})
            await self.host.parts.store.remove_sender(who.tenant, name, sender, Entries(audit=(row,)))
            account.noted = True

    # ---- who is who

    async def links(self, who: Principal) -> list[SenderLink]:
        async with self._desk.account(who, "channel.links"):
            _require(who)
            return await self.host.parts.store.links(who.tenant)

    async def link(self, who: Principal, identity: str, subject: str) -> SenderLink:
        """That a sender of a platform is a person here: `matrix:@ana:example.org` is `ana`."""
        desk = self._desk
        async with desk.account(who, "channel.link") as account:
            _require(who)
            kind, colon, sender = identity.partition(":")
            if not colon or not sender or not kind.isalnum() or not identity.isprintable() or len(identity) > 255:
                raise InvalidInput("Name the sender as <kind of channel>:<id there>, for instance terminal:ana.")
            check_line("subject", subject)
            link = SenderLink(identity=identity, subject=check_person(subject), created_at=utc(desk.clock.now()))
            row = account.row("ok", details={"identity": identity, "subject": subject})
            await self.host.parts.store.put_link(who.tenant, link, Entries(audit=(row,)))
            account.noted = True
            return link

    async def unlink(self, who: Principal, identity: str) -> None:
        """Raises NotFound."""
        async with self._desk.account(who, "channel.unlink") as account:
            _require(who)
            row = account.row("ok", details={"identity": identity})
            await self.host.parts.store.remove_link(who.tenant, identity, Entries(audit=(row,)))
            account.noted = True

    async def _check(self, who: Principal, profile: ChannelProfile, before: ChannelSettings | None = None) -> None:
        settings = profile.settings
        check_settings(settings)
        check_timing(Timing(zone=settings.zone or UTC, quiet=settings.quiet))
        PLATFORMS[offered_kind(profile.kind)].check(settings)
        if settings.folder is not None:
            # Its sessions are the channel's, whoever sets it: what the operator alone may name is closed to those who talk there.
            owner = channel_principal(who.tenant, profile)
            await asyncio.to_thread(self._folders.require, owner, settings.folder)
        earlier = before or ChannelSettings()
        if (settings.options, settings.secrets) != (earlier.options, earlier.secrets) and not who.operator:
            # Whoever says where a secret is and which server gets it could have any that this machine holds.
            raise Forbidden(
                "Where a channel's secrets are, and which server they are for, is said by the operator. Sign in with the "
                "daemon's own token, for instance by `commonplace open`."
            )
        for name in settings.secrets:
            read_secret(settings, name)

    def _status(self, who: Principal, profile: ChannelProfile) -> ChannelStatus:
        status = self.host.status(profile, who.tenant)
        if _governs(who):
            return status
        connection = None if status.connection is None else replace(status.connection, error=None)
        leader = None if status.leader is None else ANOTHER
        return replace(status, channel=_plain(who, profile), connection=connection, meaning=None, leader=leader)


def _governs(who: Principal) -> bool:
    return who.role == "admin" and who.scopes is None


def _require(who: Principal) -> None:
    require_role(who, "admin")
    if who.scopes is not None:
        raise Forbidden("Channels are for the whole tenant. This needs an admin's key that reaches every scope.")


def _plain(who: Principal, profile: ChannelProfile) -> ChannelProfile:
    """What everybody may know of a channel: its agent and its workspace, if they reach those."""
    agent, workspace = profile.settings.agent, profile.settings.workspace
    if not who.reaches(Scope("agent", agent)):
        agent = ""
    if workspace is not None and not who.reaches(Scope("workspace", workspace)):
        workspace = None
    return replace(profile, settings=ChannelSettings(agent=agent, workspace=workspace))
