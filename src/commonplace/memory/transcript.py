"""
One line of an export: a record's whole life as JSON, and back.

A version is written with the fields in which it differs from a plain note, so that a line stays short; a time is written
in UTC with its milliseconds. Reading checks every field's name, type and limits, and that the versions belong together:
what another program wrote, or a disk spoiled, is refused and never half kept.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from math import isfinite
from typing import Final, cast, get_args

from commonplace.errors import InvalidInput
from commonplace.memory.validate import check_importance, check_key, check_text
from commonplace.text.scrub import scrub
from commonplace.values.moment import to_iso, utc
from commonplace.values.record import ChangeKind, Json, Provenance, Record, Trust, Visibility
from commonplace.values.scope import Scope

Object = Mapping[str, object]


class Malformed(Exception):
    """A line does not say what it should. The message says why."""


@dataclass(frozen=True, slots=True)
class Life:
    """Every version of a record, oldest first, and the mark that keeps it from being written twice."""

    versions: tuple[Record, ...]
    once: bytes | None


def write_life(life: Life) -> str:
    line: dict[str, Json] = {"versions": [_written(record) for record in life.versions]}
    if life.once is not None:
        line["once"] = life.once.hex()
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def parse_object(line: str) -> Object:
    try:
        found: object = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Malformed(f"not JSON ({error})") from error
    if not isinstance(found, dict):
        raise Malformed("not a JSON object")
    return cast(Object, found)


def read_life(line: Object, tenant: str) -> Life:
    """
    Raises:
        Malformed: the line is not a record's life.
    """
    if unknown := line.keys() - {"versions", "once"}:
        raise Malformed(f"unknown fields {', '.join(sorted(unknown))}")
    versions = line.get("versions")
    if not isinstance(versions, list) or not versions:
        raise Malformed("no versions")
    records = tuple(_read(item, tenant) for item in cast(list[object], versions))
    _check_belonging(records)
    return Life(records, _once(line.get("once")))


def _check_belonging(records: tuple[Record, ...]) -> None:
    first = records[0]
    if any((record.id, record.created_at) != (first.id, first.created_at) for record in records):
        raise Malformed("versions of different records")
    if [record.version for record in records] != list(range(1, len(records) + 1)):
        raise Malformed("a version is missing or out of order")
    for record in records:
        if record.restores is not None and not 1 <= record.restores < record.version:
            raise Malformed("a version restores one that was never before it")


def _written(record: Record) -> dict[str, Json]:
    told = {field.name: getattr(record, field.name) for field in _FIELDS}
    return {name: _plain(value) for name, value in told.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


def _plain(value: object) -> Json:
    match value:
        case datetime():
            return to_iso(value)
        case Scope():
            return str(value)
        case Provenance():
            told = {"run": value.run, "message": value.message, "file": value.file}
            return {name: text for name, text in told.items() if text is not None}
        case tuple():
            return list(cast(tuple[Json, ...], value))
        case Mapping():
            return dict(cast(Mapping[str, Json], value))
        case _:
            return cast(Json, value)


def _read(item: object, tenant: str) -> Record:
    if not isinstance(item, dict):
        raise Malformed("a version is not an object")
    given = cast(dict[str, object], item)
    if unknown := given.keys() - _READERS.keys():
        raise Malformed(f"unknown fields {', '.join(sorted(unknown))}")
    if missing := _READERS.keys() - _DEFAULTS.keys() - given.keys():
        raise Malformed(f"{', '.join(sorted(missing))} missing")
    read: dict[str, object] = {}
    for name, value in given.items():
        if value is None and _DEFAULTS.get(name, MISSING) is None:
            continue
        try:
            read[name] = _READERS[name](value)
        except (InvalidInput, TypeError, ValueError, OverflowError) as error:
            raise Malformed(f"{name}: {error}") from error
    return Record(tenant=tenant, **read)  # pyright: ignore[reportArgumentType]


def _once(value: object) -> bytes | None:
    if value is None:
        return None
    try:
        return bytes.fromhex(_text(value))
    except (TypeError, ValueError) as error:
        raise Malformed(f"once: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    value.encode()
    if "\0" in value:
        raise ValueError("holds a NUL character")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not a whole number")
    if abs(value) >= 1 << 63:
        raise ValueError("too large")
    return value


def _positive(value: object) -> int:
    number = _number(value)
    if number < 1:
        raise ValueError("below 1")
    return number


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return utc(moment)


def _id(value: object) -> str:
    text = _text(value)
    if str(uuid.UUID(text)) != text:
        raise ValueError("not an id as we write it")
    return text


def _record_text(value: object) -> str:
    """What we exported was scrubbed when it was written, and stays as it is; a file made by hand is scrubbed here."""
    scrubbed = scrub(check_text(_text(value)))
    if scrubbed.report.status == "blocked":
        raise ValueError(f"holds {scrubbed.report.block_reason}")
    return scrubbed.text


def _key(value: object) -> str:
    key = _text(value)
    check_key(key)
    return key


def _importance(value: object) -> int:
    importance = _number(value)
    check_importance(importance)
    return importance


def _scope(value: object) -> Scope:
    return Scope.parse(_text(value))


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(_text(tag) for tag in cast(list[object], value))


def _metadata(value: object) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    todo: list[object] = [value]
    while todo:
        inner = todo.pop()
        if isinstance(inner, str):
            _text(inner)
        elif isinstance(inner, float) and not isfinite(inner):
            raise ValueError("holds a number that JSON has no form for")
        elif isinstance(inner, dict):
            todo += [part for item in cast(dict[str, object], inner).items() for part in item]
        elif isinstance(inner, list):
            todo += cast(list[object], inner)
    return cast(dict[str, Json], value)


def _provenance(value: object) -> Provenance:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    told = cast(dict[str, object], value)
    if unknown := told.keys() - {"run", "message", "file"}:
        raise ValueError(f"unknown fields {', '.join(sorted(unknown))}")
    return Provenance(**{name: _text(text) for name, text in told.items() if text is not None})


def _one_of(choices: tuple[str, ...]) -> Callable[[object], object]:
    def read(value: object) -> object:
        if value not in choices:
            raise ValueError(f"none of {', '.join(choices)}")
        return value

    return read


_SPECIAL: Final[dict[str, Callable[[object], object]]] = {
    "id": _id,
    "scope": _scope,
    "text": _record_text,
    "key": _key,
    "version": _positive,
    "importance": _importance,
    "position": _number,
    "restores": _positive,
    "tags": _tags,
    "metadata": _metadata,
    "provenance": _provenance,
    "pinned": _flag,
    "demoted": _flag,
    "superseded_by": _id,
    "trust": _one_of(get_args(Trust)),
    "visibility": _one_of(get_args(Visibility)),
    "change": _one_of(get_args(ChangeKind)),
    **dict.fromkeys(("created_at", "updated_at", "at", "expires_at", "deleted_at"), _moment),
}
# The tenant is that of the memory that reads, whichever wrote; an outcome is of an answer.
_FIELDS: Final = tuple(field for field in fields(Record) if field.name not in ("tenant", "outcome"))
_READERS: Final = {field.name: _SPECIAL.get(field.name, _text) for field in _FIELDS}
_DEFAULTS: Final[dict[str, object]] = {
    field.name: {} if field.name == "metadata" else field.default
    for field in _FIELDS
    if field.name == "metadata" or field.default is not MISSING
}
