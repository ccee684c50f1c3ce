"""Moments and ids: UTC datetimes outside, whole milliseconds in the stores, UUIDv7 for ids that sort by birth."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def utc(moment: datetime) -> datetime:
    """The same moment in UTC, cut to the millisecond. A naive time is taken as UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)


def to_ms(moment: datetime) -> int:
    return (utc(moment) - _EPOCH) // _MILLISECOND


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
