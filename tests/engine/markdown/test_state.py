"""The small files beside a folder of memory."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from commonplace.markdown.state import (
    CHECKED_EVERY,
    LOCK,
    REST,
    SESSIONS,
    Cursor,
    Meta,
    begin_consolidation,
    consolidated,
    end_consolidation,
    ended,
    read_cursor,
    read_meta,
    write_cursor,
    write_meta,
)
from commonplace.testing.managed import Place


def test_state_lies_beside_the_workspaces_folder(place: Place, now: datetime) -> None:
    cursor = Cursor(session="s1", offset=7, updated_at=now)

    write_cursor(place.project.state, cursor)
    write_meta(place.project.state, Meta(consolidated_at=now, sessions=("a", "b"), about={"chat": "room"}))

    beside = place.project.path.parent
    assert json.loads((beside / "extract-cursor.json").read_text()) == {
        "sessionId": "s1",
        "processedOffset": 7,
        "updatedAt": "2026-03-01T12:00:00Z",
    }
    assert read_cursor(place.project.state) == cursor
    assert read_meta(place.project.state) == Meta(consolidated_at=now, sessions=("a", "b"), about={"chat": "room"})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"sessionId": 1, "sessions": 3}', '{"processedOffset": -1}', "\xff"]
)
def test_state_that_cannot_be_read_counts_as_absent(place: Place, text: str) -> None:
    for name in ("meta.json", "extract-cursor.json"):
        (place.project.path.parent / name).write_text(text, encoding="latin-1")

    assert read_meta(place.project.state).consolidated_at is None
    assert read_cursor(place.project.state) is None


def test_it_is_time_after_a_day_and_five_sessions(now: datetime) -> None:
    meta = Meta(consolidated_at=now, consolidated_by="s0")
    for n in range(SESSIONS):
        meta = meta.met(f"s{n}").met(f"s{n}")
    later = now + REST

    assert meta.due(later)
    assert not meta.due(later - timedelta(seconds=1))
    assert not meta.due(later, "s0")
    assert not replace(meta, sessions=meta.sessions[1:]).due(later)
    assert not replace(meta, checked_at=later - CHECKED_EVERY / 2).due(later)
    assert replace(meta, consolidated_at=None).due(now)


def test_a_session_is_counted_once_and_only_one_who_asks_is_told_that_it_is_time(place: Place, now: datetime) -> None:
    state = place.project.state
    first = [ended(state, f"s{n}", now) for n in (0, 1, 2, 3, 0, 1, 2, 3)]

    told = [ended(state, "s4", now), ended(state, "s4", now), ended(state, "s5", now)]
    again = ended(state, "s6", now + CHECKED_EVERY)
    consolidated(state, now, "s6")

    assert not any(first)
    assert (told, again) == ([True, False, False], True)
    assert read_meta(state).sessions == ()
    assert not ended(state, "s7", now + REST)


def test_a_session_that_is_known_costs_a_look_and_no_write(place: Place, now: datetime) -> None:
    state, file = place.project.state, place.project.path.parent / "meta.json"
    ended(state, "s1", now)
    before = file.stat()

    ended(state, "s1", now)

    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_meta_says_beside_is_kept_when_it_is_changed(place: Place, now: datetime) -> None:
    write_meta(place.project.state, Meta(about={"chat": "room"}))

    ended(place.project.state, "s1", now)

    assert read_meta(place.project.state) == Meta(sessions=("s1",), about={"chat": "room"})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process began")
def test_a_lock_of_a_process_whose_number_another_one_has_now_holds_nobody_up(place: Place, now: datetime) -> None:
    file = place.project.path.parent / LOCK
    begin_consolidation(place.project.state, now)
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "born": "1"}))

    taken = begin_consolidation(place.project.state, now)

    assert told["born"] is not None
    assert taken


def test_one_consolidates_at_a_time_and_lets_go(place: Place, now: datetime) -> None:
    state = place.project.state

    first = begin_consolidation(state, now)
    second = begin_consolidation(state, now)
    end_consolidation(state)
    third = begin_consolidation(state, now)

    assert (first, second, third) == (True, False, True)


def test_a_consolidation_is_stale_after_an_hour_or_with_its_process(place: Place, now: datetime) -> None:
    state = place.project.state
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)

    begin_consolidation(state, now, pid=int(gone.stdout))
    after_death = begin_consolidation(state, now)
    within = begin_consolidation(state, now + timedelta(minutes=59))
    after_an_hour = begin_consolidation(state, now + timedelta(minutes=61))

    assert (after_death, within, after_an_hour) == (True, False, True)


def test_a_process_on_another_machine_has_its_hour(place: Place, now: datetime) -> None:
    told = {"pid": 1, "host": "elsewhere", "startedAt": now.isoformat()}
    (place.project.path.parent / LOCK).write_text(json.dumps(told), encoding="utf-8")

    assert not begin_consolidation(place.project.state, now, pid=os.getpid())
    assert begin_consolidation(place.project.state, now + timedelta(hours=1))


def test_nobody_lets_go_for_another(place: Place, now: datetime) -> None:
    begin_consolidation(place.project.state, now, pid=1)

    end_consolidation(place.project.state)

    assert not begin_consolidation(place.project.state, now)


def test_nobody_lets_go_for_a_process_of_the_same_number_on_another_machine(place: Place, now: datetime) -> None:
    told = {"pid": os.getpid(), "host": "elsewhere", "startedAt": now.isoformat()}
    (place.project.path.parent / LOCK).write_text(json.dumps(told), encoding="utf-8")

    end_consolidation(place.project.state)

    assert not begin_consolidation(place.project.state, now)
