"""A document that somebody handed in to be searched."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.quarantine import Quarantine
from commonplace.values.record import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class UserResource(JsonObject):
    """`id` is that of its record. `chunks`: into how many passages it was cut, and `outcome`: what became of it, if it was just written."""

    uri: str
    id: str
    title: str | None
    characters: Natural
    created_at: Moment
    updated_at: Moment
    quarantined: bool = False
    quarantine: Quarantine | None = None
    chunks: Natural | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class ResourcePage(JsonObject):
    """A stretch of a listing. `cursor` continues it; None is the end."""

    resources: tuple[UserResource, ...]
    cursor: str | None
