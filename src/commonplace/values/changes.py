"""What a change of a record may name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from commonplace.values.record import Json, Trust, Visibility
from commonplace.values.scope import Scope


class Fields(TypedDict, total=False):
    """One that is absent, or None, stays as it is."""

    key: str | None
    kind: str | None
    tags: Sequence[str] | None
    metadata: dict[str, Json] | None
    pinned: bool | None
    importance: int | None
    trust: Trust | None
    visibility: Visibility | None
    at: datetime | None
    expires_at: datetime | None


class Changes(Fields, total=False):
    """The fields an edit may change. One that is absent, or None, stays as it is."""

    text: str | None
    source: str | None


class SuccessorFields(Fields, total=False):
    """What a successor may have of its own. One that is absent, or None, is as the record it takes the place of had it."""

    scope: Scope | str | None
    source: str | None
    session: str | None
    position: int | None
    speaker: str | None
