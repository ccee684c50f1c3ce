"""What a record says about its quarantine. `guard/quarantine` decides about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.values.json import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.values.record import Record

TAG: Final = "quarantined"
WHY: Final = "quarantine"
"""The name in a record's metadata under which it says why it is in quarantine."""
_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Quarantine(JsonObject):
    """
    Why a record is kept and not recalled until a reviewer has looked. `sentence` is the one that caused it, as the record has it;
    None if none did. `beside` is the record that it would have changed, under `key`. `message` says all of it to a person, and
    what to do next.
    """

    reasons: tuple[str, ...]
    sentence: str | None
    since: str | None
    beside: str | None
    key: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld(JsonObject):
    """One of several that were written, and is in quarantine: as `Quarantine`. `file` is where it came from."""

    id: str
    file: str | None
    reasons: tuple[str, ...]
    sentence: str | None
    message: str

    @classmethod
    def of(cls, id: str, file: str | None, note: Quarantine) -> Withheld:
        return cls(id=id, file=file, reasons=note.reasons, sentence=note.sentence, message=note.message)


def withheld(records: Iterable[Record]) -> tuple[Withheld, ...]:
    """Those of the records that are in quarantine."""
    return tuple(
        Withheld.of(record.id, record.provenance.file, note)
        for record in records
        if (note := record.quarantine) is not None
    )


def quarantine_in(demoted: bool, tags: Collection[str], metadata: Mapping[str, Json]) -> Quarantine | None:
    """What a record with these says about its quarantine; None if it is not in quarantine."""
    return quarantine_of(metadata.get(WHY)) if demoted and TAG in tags else None


def quarantine_of(note: Json) -> Quarantine | None:
    """What is noted under `WHY`."""
    if not isinstance(note, dict):
        return None

    def text(name: str) -> str | None:
        value = note.get(name)
        return value if isinstance(value, str) else None

    reasons = _reasons(note)
    sentence = text("sentence")
    return Quarantine(
        reasons=reasons,
        sentence=sentence,
        since=text("at"),
        beside=text("beside"),
        key=text("key"),
        message=_message(reasons, sentence),
    )


def is_quarantined(record: Record) -> bool:
    """Whether a record waits for a reviewer, or did so when it was deleted."""
    return record.demoted and TAG in record.tags and isinstance(record.metadata.get(WHY), dict)


def reasons_of(record: Record) -> tuple[str, ...]:
    """Why a record is in quarantine."""
    return _reasons(record.metadata.get(WHY))


def _reasons(note: Json) -> tuple[str, ...]:
    reasons = note.get("reasons") if isinstance(note, dict) else None
    return tuple(reason for reason in reasons if isinstance(reason, str)) if isinstance(reasons, list) else ()


def _message(reasons: tuple[str, ...], sentence: str | None) -> str:
    because = ", ".join(reasons) or "no reason given"
    if sentence is not None:
        plain = " ".join("".join(letter if letter.isprintable() else " " for letter in sentence).split())
        because += f": “{plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + '…'}”"
    return (
        f"Quarantined ({because}). It is kept, but not recalled until a reviewer has looked at it: `commonplace review list`, "
        "or the review page of the console."
    )
