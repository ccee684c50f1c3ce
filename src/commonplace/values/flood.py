"""How much of what comes from outside is too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class FloodLimits:
    """
    How many notes one source may bring in an hour, and how many of them may say nearly the same, before the rest waits for a
    reviewer. What is said is not counted. Files have limits of their own, and none (0) unless somebody sets one: whoever imports a folder
    chose it, and the notes of ten years may well be alike.
    """

    alike: int = 8
    notes: int = 1_000
    files_alike: int = 0
    files: int = 0


STANDARD: Final = FloodLimits()
