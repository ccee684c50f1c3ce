"""
A backup: a zip file with the rows of each table as COPY writes them, and a manifest that says what they should be.

These functions block; the keeper calls them in a thread.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from commonplace.errors import InvalidFile, PathNotFound, StoreFull, StoreTooNew

_FORMAT = "commonplace-backup"
_STORE = "postgres"
_MANIFEST = "manifest.json"
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The rows of one table."""

    columns: tuple[str, ...]
    rows: int
    sha256: str


@contextmanager
def _plain_errors() -> Generator[None]:
    """What the file system refuses, in our words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull from error
        if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError | IsADirectoryError):
            raise PathNotFound from error
        raise InvalidFile("The file cannot be read or written.") from error


class ArchiveWriter:
    """Writes beside `target` and gives the file its name only when it is complete."""

    def __init__(self, target: Path, schema: int) -> None:
        self._target = target
        self._schema = schema
        self._parts: dict[str, dict[str, object]] = {}
        self._beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        with _plain_errors():
            if target.exists():
                raise InvalidFile("There is a file of that name already. Choose another; it was left untouched.")
            # Only its owner may open it, whatever the umask is.
            handle = os.open(self._beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            self._file = os.fdopen(handle, "w+b")
            self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._into: IO[bytes] | None = None
        self._hash = hashlib.sha256()

    def begin(self, table: str) -> None:
        self._hash = hashlib.sha256()
        self._into = self._zip.open(f"{table}.copy", "w", force_zip64=True)

    def write(self, data: bytes) -> None:
        with _plain_errors():
            self._hash.update(data)
            if self._into is not None:
                self._into.write(data)

    def end(self, table: str, columns: list[str], rows: int) -> None:
        if self._into is not None:
            self._into.close()
        self._into = None
        self._parts[table] = {"columns": columns, "rows": rows, "sha256": self._hash.hexdigest()}

    def finish(self) -> None:
        with _plain_errors():
            manifest = {"format": _FORMAT, "store": _STORE, "schema": self._schema, "tables": self._parts}
            self._zip.writestr(_MANIFEST, json.dumps(manifest, indent=1))
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            # A link, unlike a rename, never takes the place of a file that appeared meanwhile.
            os.link(self._beside, self._target)
            self._beside.unlink()

    def abandon(self) -> None:
        """Leave nothing behind; harmless after `finish`."""
        if self._into is not None:
            self._into.close()
        self._zip.close()
        self._file.close()
        self._beside.unlink(missing_ok=True)


class ArchiveReader:
    """
    A backup whose every byte was found to be as its manifest says.

    Raises:
        InvalidFile: the file is damaged, incomplete, or no backup of a PostgreSQL store.
        StoreTooNew: a newer Commonplace wrote it.
    """

    def __init__(self, source: Path, schema: int) -> None:
        with _plain_errors():
            if not source.exists():
                raise PathNotFound
            try:
                self._zip = zipfile.ZipFile(source)
            except zipfile.BadZipFile:
                raise InvalidFile("The file is not a backup of a PostgreSQL store. Nothing was changed.") from None
        try:
            self.schema, self.tables = _read_manifest(self._zip, schema)
            for table, part in self.tables.items():
                _verify(self._zip, table, part)
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError) as error:
            self._zip.close()
            raise InvalidFile("The backup is damaged. Nothing was changed.") from error

    def chunks(self, table: str) -> Iterator[bytes]:
        with self._zip.open(f"{table}.copy") as part:
            while data := part.read(_CHUNK):
                yield data

    def close(self) -> None:
        self._zip.close()


def _read_manifest(archive: zipfile.ZipFile, schema: int) -> tuple[int, Mapping[str, Part]]:
    """The schema whose tables these are, and the tables."""
    manifest = cast("dict[str, Any]", json.loads(archive.read(_MANIFEST)))
    if manifest["format"] != _FORMAT or manifest["store"] != _STORE:
        raise InvalidFile("The file is a backup of another kind of store. Nothing was changed.")
    if manifest["schema"] > schema:
        raise StoreTooNew("The backup was written by a newer Commonplace. Upgrade this one to restore it.")
    return int(manifest["schema"]), {
        table: Part(columns=tuple(part["columns"]), rows=int(part["rows"]), sha256=part["sha256"])
        for table, part in manifest["tables"].items()
    }


def _verify(archive: zipfile.ZipFile, table: str, part: Part) -> None:
    digest = hashlib.sha256()
    with archive.open(f"{table}.copy") as rows:
        while data := rows.read(_CHUNK):
            digest.update(data)
    if digest.hexdigest() != part.sha256:
        raise ValueError(table)
