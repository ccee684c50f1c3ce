"""Seals of the audit: what shows that its rows are those that were written."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Seal(JsonObject):
    """
    A hash of the rows after those of the seal before, together with that seal's hash. `last` is the number of the last row it covers,
    `count` how many there were, `latest` the latest moment of them. Of a `trimmed` one the rows are gone.
    """

    number: Natural
    at: Moment
    last: int
    count: Natural
    latest: Moment
    hash: str
    trimmed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SealState(JsonObject):
    """
    The seals of a store, newest first, as far as they were asked for. `sealed` rows are under a seal, of which `trimmed` are gone; `waiting`
    ones are not sealed yet. `broken` is the number of the first seal that does not fit its rows, `reason` says how; both are None as
    long as all fit, and if nobody `verified` them.
    """

    seals: tuple[Seal, ...] = ()
    sealed: Natural = 0
    trimmed: Natural = 0
    waiting: Natural = 0
    verified: bool = False
    broken: int | None = None
    reason: str | None = None
