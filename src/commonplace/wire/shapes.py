"""
What every body shares: how strict it is, how short texts are written, and how answers are made of values and read again.

What comes in is checked here only for what it is; whether it may be kept is the engine's to say, with an error of its own
(`invalid_key`, `text_too_large`). So a bound here is often wider than the one the schema shows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from commonplace.values.record import MAX_KEY
from commonplace.values.scope import MAX_SCOPE_ID

T = TypeVar("T")

MAX_LABEL: Final = 255
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 4 * 1024 * 1024
MAX_COUNT: Final = 2**31 - 1
MAX_LIST: Final = 1_000


class Body(BaseModel):
    """What a caller sends. A field we do not know is ignored, so that a client of another version works."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class NarrowBody(Body):
    """A body whose fields say which records count, or how much is allowed. A field we do not know is refused: it might have narrowed."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """What we send back. A field that is new since the reader was written does not disturb it."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def shared(answer: type[Answer], value: object) -> dict[str, Any]:
    """What a value has under the same names as its answer."""
    return {name: getattr(value, name) for name in answer.model_fields if hasattr(value, name)}


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def reader(shape: type[T]) -> Callable[[bytes | str], T]:
    """What reads a value of this shape from JSON. Its adapter is made when it is first needed."""

    def read(body: bytes | str) -> T:
        return _adapter(shape).validate_json(body)

    return read


def parsed(shape: type[T], value: object) -> T:
    """A value of this shape, out of what JSON was read as."""
    return _adapter(shape).validate_python(value)


def to_json(value: object, now: datetime | None = None, *, indent: int | None = None) -> bytes:
    """A value as JSON, the records in it with the state that they have at `now`."""
    return _adapter(type(value)).dump_json(value, indent=indent, context={"now": now})


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


_NoNul: Final = AfterValidator(_without_nul)

Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LABEL), _NoNul]
"""A kind, a source, a tag, a session, a speaker."""
Line: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), _NoNul]
"""A reason, a file, a cursor."""
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT, json_schema_extra={"minLength": 1, "maxLength": 2 << 20})]
"""What is remembered: at most 2 MiB of UTF-8."""
Everyone: TypeAlias = Annotated[
    bool, Field(description="Other people's memory, too, where no scope is named. For admins; the audit says so.")
]
Question: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT, json_schema_extra={"maxLength": 10_000}), _NoNul]
KeyName: TypeAlias = Annotated[
    str, Field(max_length=MAX_LINE, json_schema_extra={"minLength": 1, "maxLength": MAX_KEY}), _NoNul
]
ScopeName: TypeAlias = Annotated[
    str,
    Field(max_length=MAX_LINE, examples=["workspace:web"], json_schema_extra={"maxLength": MAX_SCOPE_ID + 10}),
]
"""`kind:id`, or `global`."""
RecordId: TypeAlias = Annotated[str, Field(max_length=MAX_LABEL), _NoNul]
"""A record's id, or the first 16 digits of it or more, while only one record has them."""
Version: TypeAlias = Annotated[int, Field(ge=0, le=MAX_COUNT)]
