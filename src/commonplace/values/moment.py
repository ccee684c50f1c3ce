"""Moments and ids: UTC datetimes outside, whole milliseconds in the stores, UUIDv7 for ids that sort by birth."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime, timedelta
from typing import Literal

from commonplace.errors import InvalidInput

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


def to_ms(moment: datetime) -> int:
    past = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    return past.days * 86_400_000 + past.seconds * 1000 + past.microseconds // 1000


def from_ms(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def new_id(now: datetime) -> str:
    """A UUIDv7 born at `now`: 48 bits of milliseconds, then chance."""
    return id_at(to_ms(now))


def id_at(ms: int) -> str:
    bits = (ms & (1 << 48) - 1) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=bits))
