"""Files of lines on their way to a daemon and from it."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from commonplace.errors import InvalidFile, PathNotFound
from commonplace.sdk.calls.transfer import count_of, unreadable_of
from commonplace.values.paths import expand_path
from commonplace.values.transfer import ExportCount

MEDIA_TYPE: Final = "application/x-ndjson"
PART: Final = 256 * 1024


class Arriving:
    """An export as it comes in: written down part by part, and whole only if its last line says so."""

    def __init__(self, stream: TextIO, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._stream = stream
        self._total = total
        self._progress = progress
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._open = bytearray()
        self._last = b""
        self._lines = 0

    def take(self, part: bytes) -> None:
        try:
            self._stream.write(self._decode.decode(part))
        except UnicodeDecodeError as error:
            raise InvalidFile("What arrived is not UTF-8: it is no export of a daemon.") from error
        *whole, rest = part.split(b"\n")
        if whole:
            self._last = bytes(self._open) + whole[0] if len(whole) == 1 else whole[-1]
            self._open.clear()
            self._lines += len(whole)
            if self._progress is not None:
                # The first line says what the file is.
                line_count = max(0, self._lines - 1)
                self._progress(line_count, max(self._total, line_count))
        self._open += rest

    def end(self) -> ExportCount:
        """
        How many records there are, and what the daemon could not read.

        Raises:
            InvalidFile: the last line is missing: the daemon went away in the middle.
        """
        self._stream.flush()
        count = None if self._open else count_of(self._last)
        if count is None:
            raise InvalidFile("The export was cut short: its last line is missing. Try again.")
        return ExportCount(count, unreadable_of(self._last))


@contextmanager
def opened_target(where: str | Path | TextIO) -> Generator[TextIO]:
    """
    The stream to write to. A path is replaced only when all is written.

    Raises:
        PathNotFound: there is no folder to write into, or it cannot be written.
    """
    if not isinstance(where, str | Path):
        yield where
        return
    path = expand_path(where)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise PathNotFound(f"Cannot write to {path.parent}: {error.strerror}.", path=str(path)) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise PathNotFound(f"Cannot write {path}: {error.strerror}.", path=str(path)) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def opened_source(
    where: str | Path | TextIO, progress: Callable[[int, int], None] | None
) -> Generator[Iterator[bytes]]:
    """
    What to send, part by part.

    Raises:
        PathNotFound: the file cannot be read.
    """
    if not isinstance(where, str | Path):
        yield _text(where)
        return
    path = expand_path(where)
    try:
        file = path.open("rb")
    except OSError as error:
        raise PathNotFound(f"Cannot read {path}: {error.strerror}.", path=str(path)) from error
    with file:
        size = os.fstat(file.fileno()).st_size
        yield _parts(lambda: file.read(PART), size, progress)


def _parts(read_part: Callable[[], bytes], size: int, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    byte_count = 0
    while part := read_part():
        yield part
        byte_count += len(part)
        if progress is not None:
            progress(min(byte_count, size), size)


def _text(stream: TextIO) -> Iterator[bytes]:
    while part := stream.read(PART):
        # What is no character is the daemon's to refuse, with the rest of the file.
        yield part.encode("utf-8", "surrogatepass")
