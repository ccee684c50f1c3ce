"""Patterns for paths: `*`, `?`, `**` and `{a,b}`. The time grows with the pattern times the path, whatever both are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.errors import InvalidInput

LONGEST_PATTERN: Final = 512
_MOST_CHOICES: Final = 64


class PathPattern:
    """A pattern without a slash is looked for in every folder."""

    def __init__(self, pattern: str) -> None:
        """
        Raises:
            InvalidInput: it is too long, or its braces do not fit.
        """
        if not pattern or len(pattern) > LONGEST_PATTERN:
            raise InvalidInput(f"A pattern has 1 to {LONGEST_PATTERN} characters.")
        choices = _choices(pattern.removeprefix("./"))
        self._patterns = [tuple(choice.split("/") if "/" in choice else ("**", choice)) for choice in choices]

    def matches(self, parts: Sequence[str]) -> bool:
        return any(_along(pattern, parts) for pattern in self._patterns)


def _choices(pattern: str) -> list[str]:
    """`a{b,c}d` is `abd` and `acd`."""
    choices = [""]
    rest = pattern
    while rest:
        plain, brace, rest = rest.partition("{")
        inside, end, after = rest.partition("}")
        if brace and (not end or "{" in inside):
            raise InvalidInput("A { needs a } after it, and no other { between.")
        ways = inside.split(",") if brace else [""]
        if len(choices) * len(ways) > _MOST_CHOICES:
            raise InvalidInput(f"The pattern stands for more than {_MOST_CHOICES} others.")
        choices = [f"{choice}{plain}{way}" for choice in choices for way in ways]
        rest = after
    return choices


def _along(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Which lengths of the path fit the pattern so far, one part of the pattern after another."""
    reached = {0}
    for name in pattern:
        if name == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            reached = {place + 1 for place in reached if place < len(parts) and _fits(name, parts[place])}
    return len(parts) in reached


def _fits(pattern: str, name: str) -> bool:
    """Whether the name fits. Only the last star is ever tried again, so nothing is tried twice."""
    place = at = 0
    star, begin = -1, 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, begin = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", name[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            begin += 1
            place, at = star + 1, begin
        else:
            return False
    return all(character == "*" for character in pattern[place:])
