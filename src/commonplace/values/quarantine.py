"""What a record says about its quarantine. `guard/quarantine` decides about it."""

from __future__ import annotations

from typing import Final, Literal, cast

from commonplace.values.record import Json, Record

TAG: Final = "quarantined"
WHY: Final = "quarantine"
"""The name in a record's metadata under which it says why it is in quarantine."""


def is_quarantined(record: Record) -> bool:
    """Whether a record waits for a reviewer."""
    return record.demoted and TAG in record.tags and isinstance(record.metadata.get(WHY), dict)


def reasons_of(record: Record) -> tuple[str, ...]:
    """Why a record is in quarantine."""
    note = record.metadata.get(WHY)
    reasons = note.get("reasons") if isinstance(note, dict) else None
    return tuple(reason for reason in reasons if isinstance(reason, str)) if isinstance(reasons, list) else ()


def quarantine_note(record: Record, name: Literal["at", "beside", "key"]) -> str | None:
    note = cast("dict[str, Json]", record.metadata.get(WHY) if isinstance(record.metadata.get(WHY), dict) else {})
    text = note.get(name)
    return text if isinstance(text, str) else None
