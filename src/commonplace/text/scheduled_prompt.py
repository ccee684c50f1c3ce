"""The line that stands before what an agent is told by itself."""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = re.compile(r"\[Scheduled task \"[^\"\n]*\" set by [^\]\n]*\]\n(?:\([^\n]*\)\n)*")


def unmarked(text: str) -> str:
    """Only what is to be done: for who looks something up for it."""
    match = _MARK.match(text)
    return text[match.end() :] if match else text
