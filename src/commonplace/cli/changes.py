"""What changed from one version of a record to the next."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from commonplace.values.record import Record

# These differ in every version, or are told in the heading of one.
_TOLD = {
    "text",
    "version",
    "updated_at",
    "created_at",
    "id",
    "tenant",
    "change",
    "actor",
    "reason",
    "restores",
    "outcome",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A version, the fields that differ from the one before (name, old, new) and its text's differences, line by line."""

    record: Record
    fields: tuple[tuple[str, object, object], ...]
    lines: tuple[str, ...]


def steps(versions: Sequence[Record]) -> Iterator[Step]:
    """Each version with what it changed, oldest first."""
    before: Record | None = None
    for record in versions:
        if before is None:
            yield Step(record=record, fields=(), lines=tuple(f"+ {line}" for line in record.text.splitlines()))
        else:
            yield Step(record=record, fields=_fields(before, record), lines=_lines(before.text, record.text))
        before = record


def _fields(before: Record, after: Record) -> tuple[tuple[str, object, object], ...]:
    pairs = [
        (field.name, getattr(before, field.name), getattr(after, field.name))
        for field in fields(Record)
        if field.name not in _TOLD
    ]
    return tuple(pair for pair in pairs if pair[1] != pair[2])


def _lines(before: str, after: str) -> tuple[str, ...]:
    if before == after:
        return ()
    compared = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    shown = [line for line in compared if not line.startswith(("---", "+++"))]
    return tuple("…" if line.startswith("@@") else f"{line[:1]} {line[1:]}" for line in shown[1:])
