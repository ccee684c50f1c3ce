"""Who says something in a room: a name in brackets in front of the words, behind what they answer, if that is quoted."""

from __future__ import annotations

import re
from typing import Final

_PREFIX: Final = re.compile(r'\s*+(?:\[Replying to: "[^"\[\]]{0,500}"\]\s*+)?(?:\[[^\[\]\n]{1,64}\] )?')


def without_speaker(text: str) -> str:
    """What they said, for whom it does not matter who."""
    match = _PREFIX.match(text)
    return text[match.end() :] if match else text
