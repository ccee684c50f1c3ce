"""How long to pause between two looks at something that takes its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_GROWS: Final = 1.3
_EARLY: Final = 0.5


@dataclass(kw_only=True, slots=True)
class Pauses:
    """
    A look that was to wait and did needs no pause after it. One that came back early (from a daemon that does not know how to
    wait, or has no place for it) is followed by pauses that grow, so that nobody ever looks in a tight loop.
    """

    next: float = 0.02
    longest: float = 0.5

    def after(self, took: float, wait: float) -> float:
        """Seconds to pause after a look that `took` so many and was to `wait` for so many."""
        if 0 < wait * _EARLY <= took:
            return 0.0
        pause, self.next = self.next, min(self.next * _GROWS, self.longest)
        return pause
