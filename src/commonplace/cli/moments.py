"""Times as people write them, and ages as people read them."""

import re
from datetime import UTC, datetime, timedelta

from commonplace.errors import InvalidInput
from commonplace.values.moment import from_iso

_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
_SPAN = re.compile(r"(\d{1,6})\s*([smhdwy])")
_SPANS = re.compile(rf"(?:{_SPAN.pattern}\s*)+")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}


def now() -> datetime:
    return datetime.now(UTC)


def span(written: str) -> timedelta:
    """Read `30d`, `3h`, `1w 2d`."""
    text = written.strip().lower()
    if not _SPANS.fullmatch(text):
        raise InvalidInput(f"{written!r} is not a span of time. Write it as 30m, 3h, 2d, 1w or 1y.")
    try:
        return sum((int(count) * _UNITS[unit] for count, unit in _SPAN.findall(text)), timedelta())
    except OverflowError:
        raise InvalidInput(f"{written!r} is longer than any memory lasts.") from None


def moment(written: str, *, ahead: bool = False) -> datetime:
    """
    Read an ISO date or time (UTC unless it says otherwise), `now`, `today`, `yesterday`, `tomorrow`, or a span such as
    `2d`: that long ago, or that far `ahead`.
    """
    text = written.strip().lower()
    if text == "now":
        return now()
    if text in _DAYS:
        midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + timedelta(days=_DAYS[text])
    try:
        if _SPANS.fullmatch(text):
            return now() + span(text) if ahead else now() - span(text)
        return from_iso(written.strip())
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{written!r} is not a time. Write an ISO date (2026-03-01, 2026-03-01T09:30Z), `yesterday`, or a span: 2d, 3h."
        ) from None


def optional(written: str | None, *, ahead: bool = False) -> datetime | None:
    return None if written is None else moment(written, ahead=ahead)


def age(then: datetime) -> str:
    """How long ago, in one short word: `now`, `5m`, `3h`, `2d`, `6w`, `4y`; `in 3h` for what is to come."""
    seconds = (now() - then).total_seconds()
    size = abs(seconds)
    if size < 60:
        return "now"
    steps = ((365 * 86400, "y"), (14 * 86400, "w"), (86400, "d"), (3600, "h"), (60, "m"))
    least, unit = next(step for step in steps if size >= step[0])
    length = 7 * 86400 if unit == "w" else least
    told = f"{int(size // length)}{unit}"
    return told if seconds > 0 else f"in {told}"


def stamp(then: datetime) -> str:
    """To the minute, in UTC."""
    return then.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
