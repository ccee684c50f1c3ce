"""
Cue rules: what a clause must look like to tell something that lasts, and the statement it becomes.

The rules are data, a file a language (`english.toml`, `chinese.toml`), so that adding one needs no code. `[parts]` names pieces of
patterns, written `@NAME` where they are used; every other table is a list of cues. In a pattern a space stands for white space and
a line break with its indent for nothing. `says` is the statement: it may name the pattern's groups and `who`, `whose` and `all`
(the clause as it was said), and the reader of the language puts all of them in the third person. Patterns are narrow on purpose:
a cue that is missed costs one fact, one that fires on small talk costs the trust in all of them.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from commonplace.learning.rules.statement import Category, ScopeHint

_KINDS: Final[dict[str, tuple[Category, ScopeHint]]] = {
    "liking": ("user_preference", "user"),
    "order": ("user_preference", "agent"),
    "person": ("fact", "user"),
    "project": ("fact", "workspace"),
    "outcome": ("task_outcome", "workspace"),
    "lesson": ("learning", "workspace"),
}
_PART: Final = re.compile(r"@([A-Z_]+)")
# These parts bring the white space after them along, since they may be empty.
_BRINGS_SPACE: Final = re.compile(r"(@(?:ADV|OFTEN|HABIT|THING|PRESENT)) ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cue:
    """
    `topic` names what has one value only. `strong` cues count in an assistant's mouth. `states` says that the pattern also fits
    what is so for the moment only, which is then left out; `dated`, that a day may be named: the day goes, the rest stays; `specific`,
    that it must name something: a number, a name, how often, a must.
    """

    spelled: str
    says: str
    category: Category
    scope: ScopeHint
    confidence: float
    topic: str = ""
    strong: bool = False
    states: bool = False
    dated: bool = False
    specific: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is asked for: most programs that could learn never do, and all cues together take a while."""
        return _compiled(self.spelled)


@cache
def _compiled(spelled: str) -> re.Pattern[str]:
    return re.compile(spelled, re.IGNORECASE | re.DOTALL)


def load(language: str) -> dict[str, tuple[Cue, ...]]:
    """The cues of a language, by the name of their table."""
    tables: dict[str, Any] = tomllib.loads(Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = tables.pop("parts")
    return {table: tuple(_cue(dict(entry), parts) for entry in entries) for table, entries in tables.items()}


def _cue(entry: dict[str, Any], parts: dict[str, str]) -> Cue:
    category, scope = _KINDS[entry.pop("kind")]
    spelled = _spelled(entry.pop("pattern"), parts)
    return Cue(spelled=spelled, category=category, scope=scope, **entry)


def _spelled(text: str, parts: dict[str, str]) -> str:
    joined = _BRINGS_SPACE.sub(r"\1", _joined(text))
    filled = _PART.sub(lambda part: _joined(parts[part[1]]), joined)
    # Possessive: white space is read once, however much of it there is. (`x ?y` stays as it is: that mark is no quantifier here.)
    return re.sub(r" +(\??)", lambda space: r"\s+?" if space[1] else r"\s++", filled)


def _joined(text: str) -> str:
    return "".join(line.removeprefix("  ") for line in text.split("\n"))
