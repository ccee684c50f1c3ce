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
class PlatformField(JsonObject):
    """
    Something that a channel of a platform is given. `secret`: its value is the name of a variable of the environment, or `file:` and the path of a
    file, and never the secret itself; else it is one of the channel's `options`.
    """

    name: str
    label: Bilingual
    help: Bilingual
    secret: bool = False
    required: bool = True
    default: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformGuide(JsonObject):
    """How to set up a channel of one kind: what to do on the platform, in order, and what to paste here."""

    kind: str
    title: Bilingual
    steps: tuple[Bilingual, ...] = ()
    fields: tuple[PlatformField, ...] = ()


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
    """A line in the log of a connection. Never what was said, nor a secret."""

    at: Moment
    event: str
    detail: str = ""
