"""A chat platform, as the rooms of our agent use it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from commonplace.values.channel import RoomMessage
from commonplace.values.envelope import ChatAttachment, Envelope
from commonplace.values.permission import PermissionRequest
from commonplace.values.platform import ConnectionEntry, ConnectionState


@dataclass(frozen=True, kw_only=True, slots=True)
class ButtonPress:
    """
    Somebody pressed a button of a message of ours, or put a mark on it that means the same. `key` is the message's, `action` the command of the
    button (`approve`, `approve-always`, `deny`), or `stop`.
    """

    chat: str
    key: str
    sender: str
    action: str


class Inbox(Protocol):
    """Takes what a platform brings. `channels.residence.Residence` is one."""

    async def receive(self, envelope: Envelope) -> RoomMessage | None:
        """Take a message over: when it returns, the message is kept, and the platform may be told so. None: it is known already."""
        ...

    async def press(self, press: ButtonPress) -> str | None:
        """Do what a button says. What its presser is to be shown; None: nothing, the room sees it."""
        ...

    async def open_room(self, chat: str, *, title: str = "", is_group: bool = True) -> None:
        """We were let into a room, or it has another title."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelLimits:
    """
    What a platform can: characters of one message, whether messages can be edited and have buttons, seconds between two edits, whether it
    takes a key by which a message that is sent twice is one.
    """

    characters: int = 4_000
    edits: bool = False
    edit_seconds: float = 1.0
    buttons: bool = False
    send_keys: bool = False
    attachment_bytes: int = 50 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class CardOption:
    """A button: what it says, and the command that does the same."""

    label: str
    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionCard:
    """A question to the room. Where there are no buttons its text and commands do."""

    request: PermissionRequest
    options: tuple[CardOption, ...]
    asker: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardOutcome:
    """What was decided, in a sentence; `voter` is empty if nobody came."""

    text: str
    allowed: bool
    voter: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """
    A message of ours. `key` makes it known again if it is sent a second time, and is how it is edited; `reply_to` is the message that it answers; `run`
    the turn it belongs to. `notice`: the room says it, not the agent. `partial`: it is the beginning of an answer that edits go on with, the last
    of which is `final`. `cold`: by the way that is there also when nobody has spoken for long.
    """

    chat: str
    text: str
    key: str
    thread: str | None = None
    reply_to: str | None = None
    run: str | None = None
    notice: bool = False
    partial: bool = False
    cold: bool = False
    card: PermissionCard | None = field(default=None)


class Channel(Protocol):
    """
    One configured channel of a platform. What it cannot do it does nothing about: a platform without typing shows none. A fault of the
    platform is a PlatformError, and nothing else is raised.
    """

    @property
    def limits(self) -> ChannelLimits: ...

    @property
    def can_cold_send(self) -> bool:
        """Whether it can write to a room in which nobody has spoken lately."""
        ...

    def people(self, chat: str) -> tuple[str, ...]:
        """Who is in a room now, as far as the platform says."""
        ...

    @property
    def connection(self) -> ConnectionState:
        """How it is connected now."""
        ...

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        """What happened to the connection lately, the oldest first."""
        ...

    def connect(self, inbox: Inbox) -> AbstractAsyncContextManager[None]:
        """
        Bring messages until it is left. It does not wait for the platform, and connects again by itself (`channels/connection.py`). Each message is handed over
        in the order of its chat; one that is not taken over is brought again if the platform can.
        """
        ...

    async def send(self, message: Outgoing) -> str:
        """Write into a room; the id of the message."""
        ...

    def is_begun(self, chat: str, key: str) -> bool:
        """Whether the beginning of a message stands there, and nothing else of it: sent now, its text takes that place, and comes once."""
        ...

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        """Replace the text of a message of ours, which is named by its key."""
        ...

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        """A question that was put as the message of this key is decided."""
        ...

    async def react(self, chat: str, message: str, mark: str) -> None:
        """Mark somebody's message, as seen for instance; an empty mark takes it away."""
        ...

    async def show_typing(self, chat: str, active: bool) -> None: ...

    async def download(self, attachment: ChatAttachment) -> bytes: ...
