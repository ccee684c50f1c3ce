"""What a channel at work is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from commonplace.agent.rooms import RoomRegistry
from commonplace.channels.agent import RoomAgent, RoomHistory
from commonplace.channels.attachments import RoomFiles
from commonplace.ports.channel_store import ChannelStore
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Journal
from commonplace.ports.memory_client import MemoryClient
from commonplace.ports.quotas import Quotas
from commonplace.service.room_memory import RoomMemories
from commonplace.service.schedules import Schedules
from commonplace.values.principal import Principal
from commonplace.values.turn_event import TurnUsage


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomParts:
    """
    Handed to every channel of a daemon: the agent and its history, the store's ports, the places of rooms. `memory_of` is the memory as somebody
    reaches it; `chat_micro_usd` is what chat may cost a tenant in a day, None: nobody says; `is_priced`: whether somebody said what a turn cost, or its model costs.
    `pauses`, in seconds, lie before each further try to tell a room what its platform did not take; `session_pauses` before each further try to lead a session
    that another process led.
    """

    agent: RoomAgent
    history: RoomHistory
    store: ChannelStore
    journal: Journal
    quotas: Quotas
    clock: Clock
    memory: RoomMemories
    schedules: Schedules
    memory_of: Callable[[Principal], MemoryClient]
    files: RoomFiles
    rooms: RoomRegistry = field(default_factory=RoomRegistry)
    chat_micro_usd: int | None = None
    is_priced: Callable[[TurnUsage], bool] = lambda _: True
    pauses: tuple[float, ...] = (2.0, 10.0, 60.0, 300.0, 900.0)
    session_pauses: tuple[float, ...] = (0.5,) * 10 + (2.0,) * 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """
    Where what is told of a turn goes: the message that it answers, and whose that is. A turn that a `schedule` plays answers none: `heading` says
    whose task it is, and its reply has the same `key` whichever run it is of.
    """

    run: str
    chat: str
    message: str
    others: tuple[str, ...] = ()
    """Messages that were said with it, as one."""
    thread: str | None = None
    speaker: str = ""
    sender: str = ""
    """As the platform calls them."""
    name: str = ""
    chinese: bool = False
    usage: TurnUsage | None = None
    """What the turn took, when it is over."""
    schedule: str | None = None
    heading: str = ""
    key: str | None = None
