"""How a sentence is recognised: cues, tried in their order, of which the first that fits decides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

IntentKind = Literal["ask", "remember", "list", "correct", "forget", "schedule", "history", "chat"]
FollowUp = Literal["yes", "no", "source", "more", "nearest"]
"""What means something only after an answer."""

_FLAGS: Final = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class SentenceCue:
    """
    If `pattern` is in the sentence, it is of this kind. What it is about stands in the group `what`, else behind the cue if the cue
    `opens` it, else it is the sentence as a whole.
    """

    kind: IntentKind
    pattern: re.Pattern[str]
    opens: bool = False
    explicit: bool = True
    """Whether the sentence asks for it, or only suggests it."""


def opening(kind: IntentKind, *patterns: str) -> Iterable[SentenceCue]:
    """Cues that stand before what the sentence is about."""
    return (SentenceCue(kind, re.compile(pattern, _FLAGS), opens=True) for pattern in patterns)


def within(kind: IntentKind, *patterns: str) -> Iterable[SentenceCue]:
    """Cues that stand somewhere in it."""
    return (SentenceCue(kind, re.compile(pattern, _FLAGS)) for pattern in patterns)


def hinting(kind: IntentKind, *patterns: str) -> Iterable[SentenceCue]:
    """Cues that suggest it: the librarian asks before it does anything."""
    return (SentenceCue(kind, re.compile(pattern, _FLAGS), explicit=False) for pattern in patterns)
