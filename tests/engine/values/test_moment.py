"""Times as documents have them."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from commonplace.errors import InvalidInput
from commonplace.values.moment import from_iso, to_iso

SOURCE = Path(__file__).parents[3] / "src" / "commonplace"


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 3, 1, 9, 30, tzinfo=UTC), "2026-03-01T09:30:00.000Z"),
        (datetime(2026, 3, 1, 9, 30, 0, 123_999, tzinfo=UTC), "2026-03-01T09:30:00.123Z"),
        (datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T07:30:00.000Z"),
        (datetime(2026, 3, 1, 9, 30), "2026-03-01T09:30:00.000Z"),  # noqa: DTZ001 - a naive time on purpose
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_is_written_in_utc_to_the_millisecond(moment: datetime, text: str) -> None:
    assert to_iso(moment) == text
    assert datetime.fromisoformat(text).tzinfo == UTC


@pytest.mark.parametrize(
    ("microsecond", "text"), [(0, "2026-03-01T09:30:00Z"), (123_999, "2026-03-01T09:30:00.123000Z")]
)
def test_the_shortest_form_leaves_out_what_is_zero(microsecond: int, text: str) -> None:
    moment = datetime(2026, 3, 1, 9, 30, 0, microsecond, tzinfo=UTC)

    assert to_iso(moment, timespec="auto") == text


@pytest.mark.parametrize(("year", "hours"), [(1, 1), (9999, -1)])
def test_a_time_outside_the_years_of_utc_is_refused(year: int, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    moment = datetime(year, 1, 1, tzinfo=zone) if year == 1 else datetime(year, 12, 31, 23, 30, tzinfo=zone)

    with pytest.raises(InvalidInput):
        to_iso(moment)


def test_no_other_module_writes_times() -> None:
    others = {
        "moment.py",  # the one
        "due.py",  # the mark of a recurring job, by which stores know it since before
        "times.py",  # a day, not a time
    }

    found = {path.name for path in SOURCE.rglob("*.py") if ".isoformat(" in path.read_text(encoding="utf-8")}

    assert found == others


@pytest.mark.parametrize("text", ["2026-03-01T09:30:00Z", "2026-03-01T10:30:00+01:00", "2026-03-01T09:30"])
def test_a_time_is_read_from_iso_8601_in_any_zone(text: str) -> None:
    assert from_iso(text) == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "9999-12-31T23:59:59-14:00", 7, None])
def test_what_is_no_time_is_not_read_as_one(text: object) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        from_iso(text)
