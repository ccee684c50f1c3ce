"""Our values as JSON documents, the shape that `--json` prints."""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from commonplace.cli.moments import now
from commonplace.values.moment import to_iso
from commonplace.values.query import Hit
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope


def document(value: object) -> Json:
    """Any of our values as JSON: a scope as it is written, a time in ISO, a span in seconds, a record with its state."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Scope() | Path():
            return str(value)
        case datetime():
            return to_iso(value)
        case timedelta():
            return value.total_seconds()
        case Hit():
            return {**_fields(value), "passage": value.passage}
        case Record():
            return {**_fields(value), "state": value.state(now()), "quarantine": document(value.quarantine)}
        case _:
            return _container(value)


def _container(value: object) -> Json:
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        items = cast(Mapping[object, object], value)
        return {str(key): document(item) for key, item in items.items()}
    if isinstance(value, AbstractSet):
        return [*sorted(str(item) for item in cast(AbstractSet[object], value))]
    if isinstance(value, Sequence):
        return [document(item) for item in cast(Sequence[object], value)]
    return str(value)


def _fields(value: object) -> dict[str, Json]:
    assert is_dataclass(value)
    return {field.name: document(getattr(value, field.name)) for field in fields(value)}


def written(value: object) -> str:
    return json.dumps(document(value), ensure_ascii=False, indent=2)
