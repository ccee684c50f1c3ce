"""What stands for the earlier part of a long session in a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """It stands for all messages up to the position `upto`."""

    upto: int
    text: str
    by: Literal["model", "rules"]
