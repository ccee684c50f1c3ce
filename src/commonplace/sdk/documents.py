"""Our values as the JSON that a daemon reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Final, cast
from urllib.parse import quote

from pydantic import BaseModel

from commonplace.errors import InvalidInput, RecordNotFound
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.moment import to_iso
from commonplace.values.record import Json
from commonplace.values.scope import Scope, Scopes, scopes_of

_EMPTY: Final[tuple[object, ...]] = ((), [], {})
_ID: Final = re.compile(r"[0-9A-Fa-f-]{1,64}")


def document(value: object) -> Json:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Scope() | PurePath():
            return str(value)
        case datetime():
            return to_iso(value)
        case timedelta():
            return value.total_seconds()
        case _:
            return _container(value)


def _container(value: object) -> Json:
    if is_dataclass(value):
        return given({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, Mapping):
        items = cast(Mapping[object, object], value)
        return {str(name): document(item) for name, item in items.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [document(item) for item in cast(Iterable[object], value)]
    raise InvalidInput(f"{value!r:.40} cannot be sent: it is neither a value of ours nor plain JSON.")


def given(fields: Mapping[str, object]) -> dict[str, Json]:
    """What has a value: None and empty are what the daemon assumes anyway."""
    documents = {name: document(value) for name, value in fields.items() if value is not None}
    return {name: value for name, value in documents.items() if value not in _EMPTY}


def changed(fields: Mapping[str, object]) -> dict[str, Json]:
    """As above, but an empty list is a change."""
    return {name: document(value) for name, value in fields.items() if value is not None}


def whole(profile: AgentProfile | None) -> Mapping[str, object] | None:
    """Every field of it: that no tool is allowed is not the same as that nothing is said of tools."""
    return None if profile is None else asdict(profile)


def written(value: Mapping[str, Json]) -> bytes:
    """
    Raises:
        InvalidInput: a number that is none, or a text that nests without end.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This cannot be sent as JSON: {error}.") from error


def query(fields: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """For a URL: a list is its name, repeated."""
    pairs: list[tuple[str, str]] = []
    for name, value in given(fields).items():
        several = cast(Sequence[Json], value) if isinstance(value, list) else [value]
        pairs += [(name, _plain(item)) for item in several]
    return tuple(pairs)


def _plain(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def texts(values: Sequence[str] | None) -> list[str]:
    """Several texts; a single one is meant as such, not as its letters."""
    if values is None:
        return []
    return [values] if isinstance(values, str) else list(values)


def named_scopes(scopes: Scopes) -> tuple[Scope, ...] | None:
    """
    Raises:
        InvalidInput: no scope at all, which in a URL would look like every scope.
    """
    scope_values = scopes_of(scopes)
    if scope_values == ():
        raise InvalidInput("Name a scope, or leave scopes out for all that the key reaches.")
    return scope_values


def named(request: type[BaseModel], value: object) -> dict[str, object]:
    """What a value has of a request's fields, under the names that the request sends."""
    fields = request.model_fields.items()
    return {field.alias or name: getattr(value, name) for name, field in fields if hasattr(value, name)}


def reviewed(ids: Sequence[str], source: str | None, session: str | None, reason: str) -> dict[str, Json]:
    """Which records in quarantine, and why."""
    body = changed({"source": source, "session": session, "reason": reason})
    return {**body, **given({"ids": texts(ids)})}


def record_path(id: str, *rest: str) -> str:
    """
    Raises:
        RecordNotFound: it cannot be an id.
    """
    # Callers without a type checker may give anything.
    if not _ID.fullmatch(str(id).strip()):
        raise RecordNotFound(
            f"There is no record {id!r:.60}. Give its id, or at least the first 8 digits of it.", id=id
        )
    return "/".join(["/v1/records", str(id).strip(), *rest])


def file_path(root: str, path: str) -> str:
    if not path:
        raise InvalidInput("Name the file.")
    return f"/v1/managed/{part(root)}/{part(path)}"


def part(name: str) -> str:
    """A name as one part of a path, dots included: `..` is a name here, not a way up."""
    if not name:
        raise InvalidInput("The name is empty.")
    return quote(name, safe="", errors="replace").replace(".", "%2E")
