"""
What people have to know about a chat platform to connect it, and how its connection is.

A guide is data, so that the console, the command and the documentation show the same fields and steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment

ConnectionStatus = Literal["connecting", "connected", "waiting", "refused", "stopped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bilingual(JsonObject):
    """A sentence in both languages of the console."""

    en: str
    zh: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldChoice(JsonObject):
    """One of the values that a field may have."""

    value: str
    label: Bilingual


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformField(JsonObject):
    """
    Something that a channel of a platform is given. `secret`: its value is the name of a variable of the environment, or `file:` and the path of a
    file, and never the secret itself; else it is one of the channel's `options`. `choices`: it is one of these; without them it is text. `example`
    is how such a value looks, and for a secret how its variable may be called.
    """

    name: str
    label: Bilingual
    help: Bilingual
    secret: bool = False
    required: bool = True
    default: str = ""
    choices: tuple[FieldChoice, ...] = ()
    example: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformPermission(JsonObject):
    """A right that the platform has to give. `certain`: its name is known to be this one; else the platform's own console has to be looked at."""

    name: str
    purpose: Bilingual
    required: bool = True
    certain: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformProblem(JsonObject):
    """What the words `sign` in an error of the platform, or of the connection to it, mean, and what to do then."""

    sign: str
    meaning: Bilingual


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformGuide(JsonObject):
    """
    How to set up a channel of one kind: the `steps` to take on the platform, in order, the `permissions` to ask for there, the `fields` to fill in
    here, what to do `after` that, what errors mean, and what only the real platform can show (`open_points`, and how to check each).
    """

    kind: str
    title: Bilingual
    summary: Bilingual = Bilingual(en="", zh="")
    steps: tuple[Bilingual, ...] = ()
    permissions: tuple[PlatformPermission, ...] = ()
    fields: tuple[PlatformField, ...] = ()
    after: tuple[Bilingual, ...] = ()
    problems: tuple[PlatformProblem, ...] = ()
    open_points: tuple[Bilingual, ...] = ()

    def meaning(self, error: str) -> Bilingual | None:
        """What an error means, if the sign of one of the problems is in it, as words of their own."""
        text = error.lower()
        return next((problem.meaning for problem in self.problems if _stands_in(problem.sign.lower(), text)), None)


def _stands_in(sign: str, text: str) -> bool:
    """Whether it is there with no letter or digit of a longer word beside it."""
    start = text.find(sign)
    while start >= 0:
        beside = text[max(start - 1, 0) : start] + text[start + len(sign) : start + len(sign) + 1]
        if not any(letter.isalnum() or letter == "_" for letter in beside):
            return True
        start = text.find(sign, start + 1)
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionState(JsonObject):
    """
    How a channel and its platform are connected. `waiting`: it is tried again after a pause; `refused`: the platform does not accept what it was
    given, which is tried again seldom. `attempts` counts those that failed since it was connected last.
    """

    status: ConnectionStatus
    since: Moment
    error: str | None = None
    attempts: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionEntry(JsonObject):
    """A line in the log of a connection. Never what was said, nor a secret. `meaning` is added when it is shown, if we know."""

    at: Moment
    event: str
    detail: str = ""
    meaning: Bilingual | None = None
