# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What `doctor` looks at in a SQLite store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw

from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import CURRENT, PAST, name_of, one, record, rows
from commonplace.stores.sqlite.salvage import DAMAGED
from commonplace.values.upkeep import Finding

SQL = load("commonplace.stores.sqlite", "sql/checks.sql")
_NAMED = 20
_LOW_DISK = 200 * 1024 * 1024


def findings(db: apsw.Connection, path: Path) -> list[Finding]:
    report = [check_file(db), unreadable_rows(db)]
    if report[0].severity == "error":
        return report
    counted = (
        ("contents", "bare_contents", "texts without passages"),
        ("records", "bare_records", "records without a text"),
        ("words", "missing_words", "live passages that no word finds"),
        ("words", "stray_words", "entries in the word index without a live passage"),
        ("vectors", "missing_vectors", "live passages without a vector"),
        ("vectors", "stray_vectors", "vectors without a passage"),
        ("versions", "missing_versions", "records whose past versions are not all there"),
        ("counters", "wrong_counters", "scopes whose counters do not add up"),
    )
    for name, query, what in counted:
        wrong = db.execute(SQL[query]).get
        if wrong:
            report.append(Finding(name, "error", f"{wrong} {what}", "Run `commonplace reindex`."))
        else:
            report.append(Finding(name, "ok", f"no {what}"))
    report.append(check_words(db))
    report.append(_check_history(db))
    free = shutil.disk_usage(path.parent).free
    if free < _LOW_DISK:
        report.append(Finding("disk", "warning", f"{free >> 20} MiB free", "Make room before the store is full."))
    else:
        report.append(Finding("disk", "ok", f"{free >> 30} GiB free"))
    return report


def check_file(db: apsw.Connection) -> Finding:
    # SQLite looks into the word index as well. That one can be made anew, and is a finding of its own.
    try:
        damage = [row[0] for row in rows(db, "PRAGMA quick_check(5)") if "fts5" not in str(row[0]).lower()]
    except apsw.CorruptError as error:
        damage = [str(error)]
    if damage in (["ok"], []):
        return Finding("file", "ok", "the file is sound")
    return Finding(
        "file",
        "error",
        "; ".join(map(str, damage)),
        "Restore a backup, or save what can be read: `commonplace export`.",
    )


def unreadable_rows(db: apsw.Connection) -> Finding:
    """Which records cannot be read, by their ids, or by their numbers if these cannot be read either."""
    names = [*_unreadable(db)]
    if not names:
        return Finding("rows", "ok", "every record and every version can be read")
    listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    advice = "`commonplace export` writes everything else and says what is missing. Load that, or a backup, into a new store."
    return Finding("rows", "error", f"{len(names):,} records cannot be read: {listed}", advice)


def _unreadable(db: apsw.Connection) -> Iterator[str]:
    try:
        last = int(db.execute("SELECT next FROM counters WHERE name = 'records'").get)
    except DAMAGED:
        yield "all"
        return
    for number in range(1, last):
        name = f"number {number}"
        try:
            head = one(db, "SELECT id, version FROM records WHERE number = ?", (number,))
            if head is None:
                continue
            name = name_of((number, head[0]))
            stored = [
                *rows(db, f"{CURRENT} WHERE v.number = ?", (number,)),
                *rows(db, f"{PAST} WHERE v.number = ?", (number,)),
            ]
            for row in stored:
                record(row)
            if len(stored) != head[1]:
                yield name
        except DAMAGED:
            yield name


def check_words(db: apsw.Connection) -> Finding:
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except apsw.CorruptError:
        return Finding("words", "error", "the word index is damaged", "Run `commonplace reindex`.")
    except (apsw.ReadOnlyError, apsw.BusyError):
        return Finding("words", "warning", "the word index could not be checked now", "Run `commonplace doctor` again.")
    return Finding("words", "ok", "the word index is sound")


def _check_history(db: apsw.Connection) -> Finding:
    if wrong := db.execute(SQL["wrong_sessions"]).get:
        advice = "Load the export that they came from again, or restore a backup."
        return Finding("history", "error", f"{wrong} sessions lack messages, or miscount them", advice)
    try:
        db.execute("INSERT INTO message_words (message_words) VALUES ('integrity-check')")
        wrong = db.execute(SQL["wrong_message_words"]).get
    except apsw.CorruptError:
        wrong = 1
    except (apsw.ReadOnlyError, apsw.BusyError):
        return Finding(
            "history", "warning", "its word index could not be checked now", "Run `commonplace doctor` again."
        )
    if wrong:
        return Finding("history", "error", "the words of messages are damaged", "Run `commonplace reindex`.")
    return Finding("history", "ok", "every session has its messages, and words find them")


def must_rebuild_words(db: apsw.Connection) -> bool:
    """Whether the word index cannot be put right text by text."""
    return check_words(db).severity == "error" or bool(db.execute(SQL["stray_words"]).get)
