"""
A file of lines, each a JSON document with a rising `seq`, written at its end alone.

A process that is killed in mid-write leaves a last line that is not whole. It was never acknowledged, so whoever writes next
cuts it off, and whoever reads passes over it. A line that cannot be read anywhere else is damage, and said to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from stat import S_ISREG
from typing import Final, Generic, Protocol, TypeVar

from pydantic import ValidationError

from commonplace.files.atomic import write_all
from commonplace.values.run_errors import RunDamaged
from commonplace.wire.shapes import reader

_BLOCK: Final = 64 * 1024
_NEAR: Final = 2_000
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class JournalRow(Protocol):
    @property
    def seq(self) -> int: ...


R = TypeVar("R", bound=JournalRow)


class RunJournal(Generic[R]):
    def __init__(self, path: Path, row: type[R]) -> None:
        self.path = path
        self._read: Callable[[bytes], R] = reader(row)

    def append(self, lines: Iterable[bytes], *, durable: bool) -> int:
        """Write these lines at the end, in one piece. The size of the file then. Raises OSError."""
        data = b"".join(line + b"\n" for line in lines)
        file = os.open(self.path, _APPEND, 0o600)
        try:
            before = os.fstat(file).st_size
            try:
                write_all(file, data)
                if durable:
                    os.fsync(file)
            except OSError:
                # A full disk took a part of it: nobody is to find that.
                os.ftruncate(file, before)
                raise
            return before + len(data)
        finally:
            os.close(file)

    def size(self) -> int:
        """0: there is no such file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def repair(self) -> None:
        """Cut off a last line that is not whole; one that lacks nothing but its end gets it. Under the run's lock alone."""
        if not self.size():
            return
        file = os.open(self.path, _APPEND, 0o600)
        try:
            size = os.fstat(file).st_size
            if os.pread(file, 1, size - 1) == b"\n":
                # The end came with the line in one write, but not always its beginning: a disk may lose a block of it.
                start, line = next(self._back(file, size - 1), (0, b""))
                if not self._is_whole(line):
                    os.ftruncate(file, start)
                return
            start, line = next(self._back(file, size))
            if self._is_whole(line):
                write_all(file, b"\n")
            else:
                os.ftruncate(file, start)
            os.fsync(file)
        finally:
            os.close(file)

    def last(self, count: int) -> list[R]:
        """The last rows, at most `count`, in their order."""
        return list(islice(self._rows_back(), count))[::-1]

    def after(self, seq: int, *, most: int | None = None, end: int | None = None) -> list[R]:
        """The rows after `seq`, at most the first `most` of them. `end` is the last `seq` there is, if that is known."""
        if seq <= 0 or end is None or end - seq > _NEAR:
            rows = (row for row in self._rows() if row.seq > seq)
            return list(islice(rows, most))
        later = list(takewhile(lambda row: row.seq > seq, self._rows_back()))
        return later[::-1][:most]

    def _rows(self) -> Iterator[R]:
        """All rows, from the first."""
        try:
            data = _whole_file(self.path)
        except FileNotFoundError:
            return
        *lines, rest = data.split(b"\n")
        if rest:
            lines.append(rest)
        for number, line in enumerate(lines, 1):
            try:
                yield self._read(line)
            except ValidationError as error:
                if number == len(lines):
                    return
                raise RunDamaged(file=self.path.name, line=number) from error

    def _rows_back(self) -> Iterator[R]:
        """All rows, from the last."""
        try:
            file = os.open(self.path, _READ)
        except FileNotFoundError:
            return
        try:
            _require_plain(file)
            size = os.fstat(file).st_size
            is_ended = size > 0 and os.pread(file, 1, size - 1) == b"\n"
            is_last = True
            for _, line in self._back(file, size - 1 if is_ended else size):
                try:
                    yield self._read(line)
                except ValidationError as error:
                    if not is_last:
                        raise RunDamaged(file=self.path.name) from error
                is_last = False
        finally:
            os.close(file)

    def _back(self, file: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines that end before `end`, from the last to the first, each with the place where it begins."""
        place, rest = end, b""
        while place > 0:
            begin = max(0, place - _BLOCK)
            rest = os.pread(file, place - begin, begin) + rest
            place = begin
            head, *lines = rest.split(b"\n")
            start = place + len(rest)
            for line in reversed(lines):
                start -= len(line)
                yield start, line
                start -= 1
            rest = head
        if end > 0:
            yield 0, rest

    def _is_whole(self, line: bytes) -> bool:
        try:
            self._read(line)
        except ValidationError:
            return False
        return True


def _whole_file(path: Path) -> bytes:
    file = os.open(path, _READ)
    with os.fdopen(file, "rb") as opened:
        _require_plain(file)
        return opened.read()


def _require_plain(file: int) -> None:
    if not S_ISREG(os.fstat(file).st_mode):
        raise RunDamaged("The journal of the run is no plain file.")
