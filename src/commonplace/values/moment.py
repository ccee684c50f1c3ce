"""Moments and ids: UTC datetimes outside, whole milliseconds in the stores, UUIDv7 for ids that sort by birth."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeAlias

from commonplace.errors import CommonplaceError, InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(moment: datetime) -> datetime:
    """
    The same moment in UTC, cut to the millisecond. A naive time is taken as UTC.

    Raises:
        InvalidInput: not a time, or none that UTC has a year for.
    """
    if not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidInput(f"{moment!r:.40} is not a time. Give a datetime.")
    if moment.tzinfo is not UTC:
        try:
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError:
            raise InvalidInput(f"{moment} lies outside the years 1 to 9999 of UTC.") from None
    odd = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - odd) if odd else moment


def to_iso(moment: datetime, *, timespec: Literal["milliseconds", "auto"] = "milliseconds") -> str:
    """ISO 8601 in UTC, ending in Z. The `timespec` is that of `datetime.isoformat`; a naive time is taken as UTC."""
    return utc(moment).isoformat(timespec=timespec).removesuffix("+00:00") + "Z"


def from_iso(text: object) -> datetime:
    """
    The time that an ISO 8601 text names; without a zone it is UTC. A datetime stays as it is.

    Raises:
        ValueError: it is none, or none that UTC has a year for.
    """
    if isinstance(text, datetime):
        return text
    if not isinstance(text, str):
        raise ValueError("a time is written in ISO 8601, for instance 2026-03-01T09:30:00Z")
    try:
        return utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError, CommonplaceError):
        raise ValueError("not a time in ISO 8601, for instance 2026-03-01T09:30:00Z") from None


class _IsoTime:
    """How pydantic reads and writes a time."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        del source, handler
        from pydantic_core import core_schema  # noqa: PLC0415 - loaded by whoever asks, and slow for those who do not

        to_json = core_schema.plain_serializer_function_ser_schema(
            to_iso, return_schema=core_schema.str_schema(), when_used="json"
        )
        return core_schema.no_info_before_validator_function(
            from_iso, core_schema.datetime_schema(), serialization=to_json
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        del schema, handler
        return {"type": "string", "format": "date-time", "examples": ["2026-03-01T09:30:00.000Z"]}


Moment: TypeAlias = Annotated[datetime, _IsoTime()]
"""A time that is sent as ISO 8601; without a zone it is UTC."""


def to_ms(moment: datetime) -> int:
    past = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    return past.days * 86_400_000 + past.seconds * 1000 + past.microseconds // 1000


def from_ms(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def new_id(now: datetime) -> str:
    """A UUIDv7 born at `now`: 48 bits of milliseconds, then chance."""
    return id_at(to_ms(now))


def nth_id(id: str, n: int) -> str:
    """The id at place `n` of a group to which `id` belongs: what is kept as one need not keep an id for each."""
    return f"{id[:-8]}{n:08x}"


def id_at(ms: int) -> str:
    bits = (ms & (1 << 48) - 1) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=bits))


def born_at(id: str) -> datetime:
    """When a UUIDv7 was made. Raises ValueError: it is no UUID."""
    return from_ms(uuid.UUID(id).int >> 80)
