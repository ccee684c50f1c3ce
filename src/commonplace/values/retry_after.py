"""The `Retry-After` header of HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_retry_after(header: str) -> float | None:
    """The seconds to wait, from a number or a date; None if the header says neither."""
    text = header.strip()
    if text.replace(".", "", 1).isdecimal():
        # Longer numbers are no waits, and some of them no floats.
        return float(text[:9])
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - datetime.now(UTC)).total_seconds(), 0.0)
