"""What becomes of a change of what a room remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commonplace.values.json import JsonObject

EXCHANGE: Final = "chat_exchange"
"""The kind of a record that holds a request of a room with its answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomMemoryChange(JsonObject):
    """What became of a write: whether it changed anything, the lines there are now, and how many secrets were taken out."""

    changed: bool
    lines: tuple[str, ...] = ()
    text: str = ""
    redactions: int = 0
