# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What `doctor` looks at in a SQLite store."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import rows
from commonplace.values.upkeep import Finding

SQL = load("commonplace.stores.sqlite", "sql/checks.sql")
_LOW_DISK = 200 * 1024 * 1024


def findings(db: apsw.Connection, path: Path) -> list[Finding]:
    report = [_sound(db)]
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
    free = shutil.disk_usage(path.parent).free
    if free < _LOW_DISK:
        report.append(Finding("disk", "warning", f"{free >> 20} MiB free", "Make room before the store is full."))
    else:
        report.append(Finding("disk", "ok", f"{free >> 30} GiB free"))
    return report


def _sound(db: apsw.Connection) -> Finding:
    # SQLite looks into the word index as well. That one can be made anew, and is a finding of its own.
    damage = [row[0] for row in rows(db, "PRAGMA quick_check(5)") if "fts5" not in str(row[0]).lower()]
    if damage in (["ok"], []):
        return Finding("file", "ok", "the file is sound")
    return Finding(
        "file", "error", "; ".join(map(str, damage)), "Restore a backup, or `commonplace export` what can be read."
    )


def check_words(db: apsw.Connection) -> Finding:
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except apsw.CorruptError:
        return Finding("words", "error", "the word index is damaged", "Run `commonplace reindex`.")
    except (apsw.ReadOnlyError, apsw.BusyError):
        return Finding("words", "warning", "the word index could not be checked now", "Run `commonplace doctor` again.")
    return Finding("words", "ok", "the word index is sound")


def must_rebuild_words(db: apsw.Connection) -> bool:
    """Whether the word index cannot be put right text by text."""
    return check_words(db).severity == "error" or bool(db.execute(SQL["stray_words"]).get)
