"""The small parts beneath the command: times, ids, differences, documents, exit codes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import errors
from commonplace.cli import lines, moments
from commonplace.cli.changes import steps
from commonplace.cli.documents import document
from commonplace.cli.exits import Exit, exit_of
from commonplace.values.moment import new_id
from commonplace.values.query import Hit, Why
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Rule

THEN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def a_record(text: str = "We ship on Fridays") -> Record:
    return Record(id=new_id(THEN), scope=Scope("workspace", "web"), text=text, created_at=THEN, updated_at=THEN)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-03-01T09:30Z", THEN),
        ("2026-03-01T10:30+01:00", THEN),
        ("2026-03-01 09:30", THEN),
        ("2026-03-01", THEN.replace(hour=0, minute=0)),
    ],
)
def test_an_iso_time_is_read_as_utc_unless_it_says_otherwise(written: str, meant: datetime) -> None:
    assert moments.moment(written) == meant


@pytest.mark.parametrize(
    ("written", "ago"),
    [
        ("2d", timedelta(days=2)),
        ("3h", timedelta(hours=3)),
        ("1w 2d", timedelta(days=9)),
        ("90 m", timedelta(hours=1.5)),
    ],
)
def test_a_span_is_that_long_ago_or_that_far_ahead(written: str, ago: timedelta) -> None:
    near = timedelta(minutes=1)

    assert abs(moments.moment(written) - (moments.now() - ago)) < near
    assert abs(moments.moment(written, ahead=True) - (moments.now() + ago)) < near


def test_yesterday_begins_a_day_before_today() -> None:
    assert moments.moment("today") - moments.moment("yesterday") == timedelta(days=1)


@pytest.mark.parametrize("written", ["", "soon", "2 parsecs", "2026-13-01", "999999y", "2d ago"])
def test_what_is_no_time_is_refused(written: str) -> None:
    with pytest.raises(errors.InvalidInput):
        moments.moment(written)


@given(st.timedeltas(min_value=timedelta(days=-4000), max_value=timedelta(days=4000)))
def test_every_age_is_one_short_word(distance: timedelta) -> None:
    assert len(moments.age(moments.now() - distance)) <= 7


@given(st.lists(st.uuids().map(str), min_size=1, max_size=20, unique=True))
def test_short_ids_are_prefixes_that_name_one_record_each(ids: list[str]) -> None:
    short = lines.short_ids(ids)

    assert all([id for id in ids if id.startswith(short[own])] == [own] for own in ids)
    assert all(len(word) >= lines.SHORT_ID for word in short.values())


@given(st.text())
def test_no_text_can_move_the_cursor(text: str) -> None:
    shown = lines.oneline(text)

    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)


@pytest.mark.parametrize(
    "written",
    ["postgresql://ana:secret@db/memory", "postgresql://db/memory?user=ana&password=secret", "host=db password=secret"],
)
def test_a_password_is_never_shown(written: str) -> None:
    assert "secret" not in lines.address(written)


def test_a_history_tells_the_fields_and_the_lines_that_changed() -> None:
    first = a_record("one\ntwo")
    second = replace(first, version=2, text="one\nthree", importance=80, updated_at=THEN + timedelta(days=1))

    _, step = steps([first, second])

    assert step.fields == (("importance", 0, 80),)
    assert [line for line in step.lines if not line.startswith(" ")] == ["- two", "+ three"]


def test_a_document_of_a_hit_has_its_record_its_passage_and_its_parts() -> None:
    hit = Hit(a_record(), 1.5, Why({"words": 1.0, "meaning": 0.5}, ("ship",), 0, 7, 2.5, 0.8), relevance=0.9)

    told = document(hit)

    assert isinstance(told, dict)
    assert told["passage"] == "We ship"
    assert told["why"] == {
        "parts": {"words": 1.0, "meaning": 0.5},
        "words": ["ship"],
        "start": 0,
        "stop": 7,
        "bm25": 2.5,
        "coverage": 0.8,
        "cosine": None,
    }
    assert (told["relevance"], told["relevant"]) == (0.9, True)
    assert isinstance(told["record"], dict)
    assert told["record"]["scope"] == "workspace:web"
    assert told["record"]["created_at"] == "2026-03-01T09:30:00.000Z"
    assert told["record"]["state"] == "live"


def test_a_span_in_a_document_is_in_seconds() -> None:
    assert document(Rule(scope="session", max_age=timedelta(days=1))) == {
        "scope": "session",
        "max_age": 86400.0,
        "max_records": None,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CommonplaceError, Exit.ERROR),
        (errors.InvalidScope, Exit.USAGE),
        (errors.TextTooLarge, Exit.USAGE),
        (errors.InvalidFile, Exit.ERROR),
        (errors.SecretRefused, Exit.REFUSED),
        (errors.RecordNotFound, Exit.NOTHING_FOUND),
        (errors.PathNotFound, Exit.NOTHING_FOUND),
        (errors.RecordChanged, Exit.CONFLICT),
        (errors.StoreBusy, Exit.UNAVAILABLE),
        (errors.StoreUnavailable, Exit.UNAVAILABLE),
        (errors.NotAStore, Exit.ERROR),
        (errors.StoreReadOnly, Exit.ERROR),
        (errors.EmbedderChanged, Exit.ERROR),
    ],
)
def test_the_nearest_class_decides_the_exit_code(error: type[errors.CommonplaceError], code: Exit) -> None:
    assert exit_of(error()) is code
