"""The marks by which people vote on a question."""

from __future__ import annotations

from typing import Final

from commonplace.channels.votes import command_of_mark

MARKS: Final = {"approve": "✅", "approve-always": "♾️", "deny": "❌"}
"""What stands for each command on a question."""
_ALWAYS: Final = "♾🔁"


def command_of(mark: str) -> str | None:
    """What a reaction to a question means; None: nothing."""
    return "approve-always" if mark[:1] and mark[:1] in _ALWAYS else command_of_mark(mark)
