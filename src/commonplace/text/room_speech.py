"""Who said what in a prompt of a room: `[Ana] …`, as a room writes it in front of each person's words."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SPEECH: Final = re.compile(r"^\[(?!(?:Replying to|Scheduled task)\b)([^\]\n]{1,64})\] ", re.MULTILINE)
_QUOTE: Final = re.compile(r"^\[Replying to: \"[^\"\n]*\"\]\n*", re.MULTILINE)
_FILE: Final = re.compile(r"^User sent an? \w+ \"[^\n]*$", re.MULTILINE)


class Speech(NamedTuple):
    """`name` is what the person calls themselves, which proves nothing; empty: nobody is named."""

    name: str
    text: str


def speeches(prompt: str) -> list[Speech]:
    """
    The people's own words, in order: without what they answer, which others said, and without what came with them. A room sees to it that nobody
    begins a line in another one's name.
    """
    bare = _FILE.sub("", _QUOTE.sub("", prompt))
    marks = list(_SPEECH.finditer(bare))
    if not marks:
        return [Speech("", bare.strip())] if bare.strip() else []
    ends = [*(mark.start() for mark in marks[1:]), len(bare)]
    spoken = [Speech(mark[1], bare[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    return [speech for speech in spoken if speech.text]
