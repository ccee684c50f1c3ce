"""What `doctor` looks at in a PostgreSQL store."""

from __future__ import annotations

from typing import NamedTuple

from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.rows import is_object
from commonplace.stores.postgres.schema import newest
from commonplace.values.upkeep import Finding, Severity

_SQL = statements("sql/checks.sql")
_NAMED = 20
_REINDEX = "Run `commonplace reindex`."
_RESTORE = "Restore a backup, or export what can be read and import it into a new store."
_RELOAD = "Load the export that they came from again, or restore a backup."


class _Check(NamedTuple):
    """A query that counts faults, and what to say of them."""

    name: str
    severity: Severity
    well: str
    fault: str
    advice: str


_CHECKS = (
    _Check("extension", "error", "pgvector is there", "pgvector is missing", "Run CREATE EXTENSION vector."),
    _Check("damage", "error", "no damaged page was met", "damaged pages were met", _RESTORE),
    _Check("indexes", "error", "all indexes are valid", "indexes are not valid", "Run REINDEX SCHEMA on our schema."),
    _Check("counters", "error", "the counters add up", "scopes have counters that do not add up", _REINDEX),
    _Check("texts", "error", "every version has its text", "versions lack their text, or the reverse", _RESTORE),
    _Check("versions", "error", "no version is missing", "records lack a past version", _RESTORE),
    _Check("passages", "warning", "every live record has passages", "live records have no passages", _REINDEX),
    _Check("words", "error", "words and records agree", "passages have no words, or words no record", _REINDEX),
    _Check("stray_vectors", "error", "vectors and passages agree", "vectors belong to no passage", _REINDEX),
    _Check("history", "error", "every session has its messages", "sessions lack messages, or miscount them", _RELOAD),
    _Check("missing_vectors", "warning", "no vector is missing", "vectors are missing", _REINDEX),
)


async def findings(connection: Connection, version: int) -> list[Finding]:
    results = [_schema(version)]
    for check in _CHECKS:
        [(count,)] = await rows(connection, _SQL[check.name])
        if count:
            results.append(Finding(check.name, check.severity, f"{count}: {check.fault}.", check.advice))
        else:
            results.append(Finding(check.name, "ok", f"{check.well.capitalize()}."))
    results.append(await _unreadable_rows(connection))
    return results


async def _unreadable_rows(connection: Connection) -> Finding:
    """The ids of records whose metadata is no JSON: all else the database itself holds to its type."""
    names: dict[str, None] = {}
    async with connection.cursor(name="metadata") as cursor:
        cursor.itersize = 2_000
        await cursor.execute(_SQL["some_metadata"])
        async for id, metadata in cursor:
            if not is_object(metadata):
                names[str(id)] = None
    if not names:
        return Finding("rows", "ok", "Every record and every version can be read.")
    listed = ", ".join([*names][:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    advice = "`commonplace export` writes everything else and says what is missing."
    return Finding("rows", "error", f"{len(names):,} records cannot be read: {listed}", advice)


def _schema(version: int) -> Finding:
    if version == newest():
        return Finding("schema", "ok", f"The schema is at version {version}.")
    advice = "Open the store once with the newest Commonplace you use."
    return Finding("schema", "error", f"The schema is at version {version}, not {newest()}.", advice)
