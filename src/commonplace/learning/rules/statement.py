"""Statements as the rules write them, and who speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

Category = Literal["user_preference", "fact", "task_outcome", "learning"]
ScopeHint = Literal["agent", "workspace", "user"]
EXPLICIT: Final = 0.9
"""How sure we are of what somebody asked us to remember."""

Role = Literal["person", "assistant", "other"]


class Voice(NamedTuple):
    """Who speaks. `name` is empty if only an id is known."""

    role: Role
    name: str = ""


class Statement(NamedTuple):
    """
    A fact as a rule states it.

    `topic` names what can have one value only ("lives in"): a later statement on it replaces the earlier one. `strong`: it counts
    even if an assistant says it. `day` is what was said of the day ("yesterday") and left out of the text; with `dated`, the day
    is still in the text, and the statement counts only if its date can be worked out.
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
