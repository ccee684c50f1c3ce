"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from commonplace.values.moment import utc


class FakeClock:
    """Satisfies the port `Clock`. `advance` is the only way time passes."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = utc(start or datetime(2026, 1, 1, tzinfo=UTC))

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        """Let `by` pass and return the new moment."""
        self._now = utc(self._now + by)
        return self._now
