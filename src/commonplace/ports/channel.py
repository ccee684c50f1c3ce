"""A chat platform, as the rooms of our agent use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from commonplace.values.channel import RoomMessage
from commonplace.values.envelope import ChatAttachment, Envelope
from commonplace.values.permission import PermissionRequest

Receive: TypeAlias = Callable[[Envelope], Awaitable[RoomMessage | None]]
"""Takes a message over: when it returns, the message is kept, and the platform may be told so. None: it is known already."""


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
    A message of ours. `key` makes it known again if it is sent a second time; `reply_to` is the message that it answers; `run` the turn it
    belongs to. `notice`: the room says it, not the agent.
    """

    chat: str
    text: str
    key: str
    thread: str | None = None
    reply_to: str | None = None
    run: str | None = None
    notice: bool = False
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

    def connect(self, receive: Receive) -> AbstractAsyncContextManager[None]:
        """Bring messages until it is left. Each is handed over in the order of its chat; one that is not taken over is brought again if the platform can."""
        ...

    async def send(self, message: Outgoing) -> str:
        """Write into a room; the id of the message."""
        ...

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        """Replace the text of a message of ours."""
        ...

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        """A question that was put as this message is decided."""
        ...

    async def react(self, chat: str, message: str, mark: str) -> None:
        """Mark somebody's message, as seen for instance; an empty mark takes it away."""
        ...

    async def show_typing(self, chat: str, active: bool) -> None: ...

    async def download(self, attachment: ChatAttachment) -> bytes: ...
