"""What a rule makes of a statement, and who made the statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

Category = Literal["user_preference", "fact", "task_outcome", "learning"]
ScopeHint = Literal["agent", "workspace", "user"]
EXPLICIT: Final = 0.9
"""How sure we are of what somebody asked to be remembered."""

Role = Literal["person", "assistant", "other"]


class Voice(NamedTuple):
    """Who speaks. `name` is empty where only an id is known."""

    role: Role
    name: str = ""


class Statement(NamedTuple):
    """
    A fact as a rule states it.

    `topic` names what can have one value only ("lives in"): a later statement on it takes the earlier one's place. `strong`
    cues count in an assistant's mouth, too. `day` is what was said of the day ("yesterday") and left out of the text; with
    `dated`, the day is still in the text, and the statement is worth something only where the date can be told.
    """

    text: str
    category: Category
    scope: ScopeHint
    confidence: float
    topic: str = ""
    strong: bool = False
    day: str = ""
    dated: bool = False


Reader: TypeAlias = Callable[[str, Voice], list[Statement]]
"""Reads one sentence."""
