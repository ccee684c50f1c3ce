"""
What every body shares: how strict it is, how times and short texts are written.

What comes in is checked here only for what it is; whether it may be kept is the engine's to say, with an error of its own
(`invalid_key`, `text_too_large`). So a bound here is often wider than the one the schema shows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from commonplace.errors import CommonplaceError
from commonplace.values.moment import to_iso, utc
from commonplace.values.record import MAX_KEY
from commonplace.values.scope import MAX_SCOPE_ID

MAX_LABEL: Final = 255
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 4 * 1024 * 1024
MAX_COUNT: Final = 2**31 - 1
MAX_LIST: Final = 1_000


class Body(BaseModel):
    """What a caller sends. A field we do not know is refused: it would be lost without anybody noticing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Answer(BaseModel):
    """What we send back. A field that is new since the reader was written does not disturb it."""

    model_config = ConfigDict(frozen=True)


def _read_moment(written: Any) -> datetime:
    if isinstance(written, datetime):
        return written
    if not isinstance(written, str):
        raise ValueError("a time is written in ISO 8601, for instance 2026-03-01T09:30:00Z")
    try:
        return utc(datetime.fromisoformat(written))
    except (ValueError, OverflowError, CommonplaceError):
        raise ValueError("not a time in ISO 8601, for instance 2026-03-01T09:30:00Z") from None


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


Moment: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_read_moment),
    PlainSerializer(to_iso, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-03-01T09:30:00.000Z"]}),
]
"""A time in ISO 8601; without a zone it is UTC."""

_NoNul: Final = AfterValidator(_without_nul)

Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LABEL), _NoNul]
"""A kind, a source, a tag, a session, a speaker."""
Line: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), _NoNul]
"""A reason, a file, a cursor."""
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT, json_schema_extra={"minLength": 1, "maxLength": 2 << 20})]
"""What is remembered: at most 2 MiB of UTF-8."""
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
"""A record's id, or the first eight digits of it or more, while only one record has them."""
Version: TypeAlias = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
