"""What the parts of a Matrix channel share."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.channels.connection import Connection
from commonplace.channels.matrix.client import MatrixClient
from commonplace.channels.matrix.rooms import MatrixRooms
from commonplace.channels.matrix.values import KeptValues
from commonplace.ports.clock import Clock
from commonplace.values.channel import ChannelSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixAccount:
    """The account of our agent: how its server is asked, what is known of its rooms and kept of them."""

    client: MatrixClient
    values: KeptValues
    connection: Connection
    clock: Clock
    settings: ChannelSettings = field(default_factory=ChannelSettings)
    rooms: MatrixRooms = field(default_factory=MatrixRooms)
