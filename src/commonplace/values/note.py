"""A note: what a caller hands over to be remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from commonplace.values.record import Json, Provenance, Trust, Visibility
from commonplace.values.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """
    `kind`, `pinned` and `importance` of None keep what a record under the same key has already (a new record: `note`, False and 0).
    `expected` is the version the caller saw under that key (0: there must be none).
    """

    text: str
    scope: Scope | str = "global"
    key: str | None = None
    kind: str | None = None
    source: str = "manual"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    pinned: bool | None = None
    importance: int | None = None
    trust: Trust = "system_generated"
    visibility: Visibility = "private"
    at: datetime | None = None
    expires_at: datetime | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    provenance: Provenance = Provenance()
    expected: int | None = None
    reason: str | None = None
