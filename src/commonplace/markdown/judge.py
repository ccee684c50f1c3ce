"""What decides about a fact before it is filed, and how sure it must be. Whoever files passes one in: this package knows no rules of language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from commonplace.values.file_ref import RootKind
from commonplace.values.record import Trust

Refuse = Callable[[str, RootKind], str | None]
"""Why a text must not be kept in a memory of that kind; None if it may."""


def _accept(text: str, kind: RootKind) -> str | None:
    del text, kind
    return None


def _unsure(text: str) -> float:
    del text
    return 0.5


def _nobody(text: str) -> bool:
    del text
    return False


def _never(old: str, new: str) -> float:
    del old, new
    return 0.0


def _undated(text: str, now: datetime) -> str:
    del now
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class FilingJudge:
    """
    `personal`: the chance that a sentence is about a person's own life rather than a team or project. `is_family`: whether it tells of
    a family, whom "we" in the next sentence means. `replaces`: the chance that the second text gives another value of what the first one tells. `dated`: the text with the dates that "yesterday" means. What
    is `personal_from` up goes to the person, what is below `shared_below` to the project; between them nobody knows.
    """

    refuse: Refuse = _accept
    personal: Callable[[str], float] = _unsure
    is_family: Callable[[str], bool] = _nobody
    replaces: Callable[[str, str], float] = _never
    dated: Callable[[str, datetime], str] = _undated
    personal_from: float = 0.5
    shared_below: float = 0.42
    replaces_from: float = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class FilingOptions:
    """
    `clean`: no existing entry is read. `by` is the task that asked for it. `trust` is the untrusted label of whoever handed the text
    over; None: a person did. `is_named`: the caller named the one memory to file it in.
    """

    clean: bool = False
    by: str | None = None
    trust: Trust | None = None
    is_named: bool = False
