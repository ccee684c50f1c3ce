"""What becomes of a change of what a room remembers."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.values.json import JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomMemoryChange(JsonObject):
    """What became of a write: whether it changed anything, the lines there are now, and how many secrets were taken out."""

    changed: bool
    lines: tuple[str, ...] = ()
    text: str = ""
    redactions: int = 0
