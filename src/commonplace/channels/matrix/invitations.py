"""
Invitations to rooms. We go where somebody would be heard; another invitation is kept, and taken when the settings of the channel say so.

It is kept before we try, and tried beside the listening: a server that is away, of a room far off, keeps nobody waiting.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast
from urllib.parse import quote

from commonplace.channels.gates import sender_refusal
from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import JsonMap, RequestDenied, ServerBroken, join_path
from commonplace.channels.matrix.events import NAME, InvitedRoom, events_of
from commonplace.channels.matrix.values import INVITED
from commonplace.channels.matrix.writer import MatrixWriter
from commonplace.values.channel import ChannelSettings, PlatformError, PlatformRefused

_PATIENCE: Final = 30.0
_PAUSES: Final = (60.0, 600.0, 3_600.0)
_MOST: Final = 200
"""Invitations that are kept; strangers may send any number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Invitation:
    """`by` who invited us; `via` a server that is in the room. `follows`: the room replaces one that we are in, and nobody need invite us."""

    by: str
    via: str = ""
    is_direct: bool = False
    has_name: bool = False
    follows: bool = False


def would_hear(settings: ChannelSettings, chat: str, invitation: Invitation) -> bool:
    """Whether anybody would be heard in the room, so far as the invitation tells what room it is."""
    if invitation.follows:
        return True
    is_open = settings.group_policy in ("open", "pairing")
    if is_open or (settings.group_policy == "allowlist" and chat in settings.groups):
        return True
    may_be_direct = invitation.is_direct or not invitation.has_name
    return may_be_direct and sender_refusal(settings, invitation.by, None) in (None, "pairing_required")


class Invitations:
    def __init__(self, account: MatrixAccount, writer: MatrixWriter, pauses: Sequence[float] = _PAUSES) -> None:
        """`pauses`, in seconds, lie before each further try."""
        self._client = account.client
        self._rooms = account.rooms
        self._values = account.values
        self._connection = account.connection
        self._settings = account.settings
        self._writer = writer
        self._pauses = pauses
        self._kept: dict[str, Invitation] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def load(self) -> None:
        """What was not taken before a restart."""
        for chat, text in (await self._values.all(INVITED)).items():
            self._kept[chat] = Invitation(**json.loads(text))

    def begin(self) -> None:
        """Try those again that are kept."""
        for chat, invitation in self._kept.items():
            if would_hear(self._settings, chat, invitation):
                self._try(chat)

    async def take(self, chat: str, invited: InvitedRoom) -> None:
        events = list(events_of(invited.invite_state.events))
        own = [event for event in events if event.membership_of(self._rooms.me)]
        invitation = Invitation(
            by=own[-1].sender if own else "",
            is_direct=any(event.content.get("is_direct") is True for event in own),
            has_name=any(event.type == NAME and event.text("name") for event in events),
        )
        await self._keep(chat, invitation)

    async def follow(self, chat: str, via: str) -> None:
        """Into a room that replaces one of ours."""
        await self._keep(chat, Invitation(by="", via=via, follows=True))

    async def forget(self, chat: str) -> None:
        """We are in, or nobody wants us there any more."""
        if self._kept.pop(chat, None) is not None:
            await self._values.put(INVITED + chat, None)

    async def _keep(self, chat: str, invitation: Invitation) -> None:
        if chat not in self._kept and len(self._kept) >= _MOST:
            self._connection.note("not_joined", f"{chat}: too many invitations wait.")
            return
        self._kept[chat] = invitation
        await self._values.put(INVITED + chat, json.dumps(asdict(invitation)))
        if would_hear(self._settings, chat, invitation):
            self._try(chat)
        else:
            self._connection.note("not_joined", f"{chat}: nobody is heard there by the settings ({invitation.by}).")

    def _try(self, chat: str) -> None:
        task = self._tasks.get(chat)
        if task is None or task.done():
            self._tasks[chat] = self._writer.do_later(self._join(chat, self._kept[chat]))

    async def _join(self, chat: str, invitation: Invitation) -> None:
        for pause in (*self._pauses, None):
            try:
                await self._client.post(join_path(chat, invitation.via), patience=_PATIENCE)
            except RequestDenied as error:
                # The room is gone, or the invitation was taken back.
                self._connection.note("not_joined", f"{chat}: {error.message}")
                break
            except PlatformRefused:
                raise
            except PlatformError as error:
                self._connection.note("not_joined", f"{chat}: {error.message}")
                if pause is None:
                    return
                await self._client.pause(pause)
            else:
                self._connection.note("joined", chat)
                if invitation.is_direct:
                    await self._keep_direct(chat, invitation.by)
                break
        await self.forget(chat)

    async def _keep_direct(self, chat: str, inviter: str) -> None:
        """A room for one person and us: as other clients keep it."""
        path = f"/user/{quote(self._rooms.me, safe='')}/account_data/m.direct"
        try:
            content = await self._direct(path)
            chats = content.get(inviter)
            others = [entry for entry in cast("list[Any]", chats) if entry != chat] if isinstance(chats, list) else []
            await self._client.put(path, {**content, inviter: [*others, chat]}, patience=_PATIENCE)
        except (RequestDenied, ServerBroken) as error:
            self._connection.note("left_out", error.message)

    async def _direct(self, path: str) -> JsonMap:
        try:
            return await self._client.get(path, patience=_PATIENCE)
        except RequestDenied as error:
            if error.errcode != "M_NOT_FOUND":
                raise
            return {}
