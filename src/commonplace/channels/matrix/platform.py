"""
A channel of a Matrix server: an account of it is our agent.

Our own client, over HTTP: `client.py` asks, `listener.py` hears, `writer.py` says, `signs.py` shows that we are at it. Encrypted rooms are told that
they are not supported, and left alone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from commonplace.channels.connection import Connection
from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import MatrixClient, media_path
from commonplace.channels.matrix.invitations import Invitations
from commonplace.channels.matrix.listener import MatrixListener
from commonplace.channels.matrix.reader import MatrixReader
from commonplace.channels.matrix.signs import SeenMarks, TypingSigns
from commonplace.channels.matrix.values import KeptValues
from commonplace.channels.matrix.writer import EDIT_SECONDS, MatrixWriter
from commonplace.channels.parts import RoomParts
from commonplace.channels.secrets import read_secret
from commonplace.errors import InvalidInput
from commonplace.ports.channel import CardOutcome, Channel, ChannelLimits, Inbox, Outgoing
from commonplace.values.channel import ChannelProfile, PlatformRefused
from commonplace.values.envelope import ChatAttachment
from commonplace.values.platform import ConnectionEntry, ConnectionState

LIMITS = ChannelLimits(characters=4_000, edits=True, edit_seconds=EDIT_SECONDS, buttons=True, send_keys=True)
HOMESERVER = "homeserver"
TOKEN = "token"


class MatrixChannel(Channel):
    def __init__(self, account: MatrixAccount) -> None:
        self._account = account
        self._writer = MatrixWriter(account)
        self._marks = SeenMarks(account, self._writer)
        self._typing = TypingSigns(account, self._writer)
        self._invitations = Invitations(account, self._writer)
        reader = MatrixReader(account)
        self._listener = MatrixListener(account, reader, self._writer, self._marks, self._invitations)

    @property
    def limits(self) -> ChannelLimits:
        return LIMITS

    @property
    def can_cold_send(self) -> bool:
        return True

    @property
    def connection(self) -> ConnectionState:
        return self._account.connection.state

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return self._account.connection.log

    def people(self, chat: str) -> tuple[str, ...]:
        return self._account.rooms.people(chat)

    @asynccontextmanager
    async def connect(self, inbox: Inbox) -> AsyncGenerator[None]:
        await self._writer.load()
        await self._marks.load()
        await self._invitations.load()
        async with self._account.client:
            try:
                async with self._account.connection.keep(partial(self._listener.listen, inbox)):
                    yield
            finally:
                await self._writer.aclose()

    async def send(self, message: Outgoing) -> str:
        return await self._writer.send(message)

    def is_begun(self, chat: str, key: str) -> bool:
        return self._writer.is_begun(chat, key)

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        await self._writer.edit(chat, message, text, final=final)

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        await self._writer.settle_card(chat, message, outcome)

    async def react(self, chat: str, message: str, mark: str) -> None:
        if mark:
            self._marks.put(chat, message, mark)
        else:
            self._marks.remove(message)

    async def show_typing(self, chat: str, active: bool) -> None:
        self._typing.show(chat, active)

    async def download(self, attachment: ChatAttachment) -> bytes:
        return await self._account.client.fetch(media_path(attachment.reference), self.limits.attachment_bytes)


def matrix_channel(tenant: str, profile: ChannelProfile, parts: RoomParts) -> Channel:
    settings = profile.settings
    # If it is not there, that is said now; it is read again for each request, since a new one may take its place.
    read_secret(settings, TOKEN)

    def token() -> str:
        try:
            text = read_secret(settings, TOKEN)
        except InvalidInput as error:
            raise PlatformRefused(error.message) from error
        if not text.isascii() or not text.isprintable() or " " in text:
            # It could not stand in a request, and whoever refuses it there would say it again.
            raise PlatformRefused("The access token has characters that no token has. Look whether it was copied well.")
        return text

    account = MatrixAccount(
        client=MatrixClient(settings.options[HOMESERVER], token),
        values=KeptValues(tenant, profile.name, parts.store),
        connection=Connection(profile.name, parts.clock),
        clock=parts.clock,
        settings=settings,
    )
    return MatrixChannel(account)
