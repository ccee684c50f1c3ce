"""
Whole memories in and out, as JSON Lines.

The first line says what the file is, each further one holds a record with all its versions (`memory.transcript`), or something of what
is carried beside records (`Companion`), the last one how many there were, so that a file cut short is known for one. Both ways stream: a file may be far larger than
memory. Reading goes in batches; each is checked whole before any of it is stored, and a second reading of the same file
changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, TextIO, TypeAlias

from commonplace.errors import Conflict, InvalidFile, PathNotFound
from commonplace.memory.prepare import Preparer, Told
from commonplace.memory.transcript import Life, Malformed, Object, parse_object, read_life, write_life
from commonplace.ports.clock import Clock
from commonplace.ports.maintenance import Progress
from commonplace.ports.records import RecordStore
from commonplace.values.moment import to_iso
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Json, Lineage, Record, Unreadable, renumbered
from commonplace.values.scope import Scope
from commonplace.values.transfer import ExportCount, LoadReport

FORMAT: Final = "commonplace-export"
VERSION: Final = 2
"""2 is written only if there is something beside records, so that what has none can be loaded by every release."""
BATCH: Final = 500
_MOST_NAMED: Final = 10_000
# A batch also ends here, so that a few huge records do not fill the memory.
BATCH_CHARACTERS: Final = 32 * 1024 * 1024


Shown: TypeAlias = Callable[[Sequence[Record]], Sequence[Record]]
Lines: TypeAlias = AsyncIterator[tuple[list[str], int]]
"""Lines of an export, some at a time, and how many records they hold."""


class Companion(Protocol):
    """What an export carries beside records. Its lines are known by having one of its `fields`."""

    @property
    def fields(self) -> Set[str]: ...

    async def is_empty(self) -> bool: ...

    def lines(self) -> AsyncIterator[list[str]]: ...

    def read(self, line: Object) -> object:
        """Raises Malformed."""
        ...

    async def keep(self, items: Sequence[object]) -> None:
        """Raises Conflict."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of each kind were written, or read: `sessions`, `messages`."""
        ...


def _retold(versions: tuple[Record, ...], shown: Shown | None) -> tuple[Record, ...]:
    """The versions that may be told, counted anew from one, so that what is left out leaves no gap."""
    if shown is None:
        return versions
    return renumbered(shown(versions))


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str


class Transfer:
    def __init__(
        self,
        store: RecordStore,
        preparer: Preparer,
        clock: Clock,
        tenant: str,
        *,
        batch: int = BATCH,
        companion: Companion | None = None,
    ) -> None:
        self._companion = companion
        self._store = store
        self._preparer = preparer
        self._clock = clock
        self._tenant = tenant
        self._batch = batch

    async def export(
        self,
        target: Path | TextIO,
        *,
        scopes: tuple[Scope, ...] | None = None,
        total: int = 0,
        progress: Progress | None = None,
        shown: Shown | None = None,
    ) -> ExportCount:
        """
        Write every record of `scopes` (None: all), deleted ones too, and answer how many. What a damaged store cannot hand out is named in the
        answer and in the last line. A path is replaced only when
        the export is complete. `total` is what `progress` is told beside the number done.

        Raises:
            PathNotFound: there is no folder to write into, or it cannot be written.
        """
        unreadable: list[Unreadable] = []
        lines = self.lines(scopes, shown, unreadable)
        if isinstance(target, Path):
            count = await self._export_to_path(target, lines, total, progress)
        else:
            count = await self._write(target, lines, total, progress)
        return ExportCount(count, unreadable)

    async def _export_to_path(self, target: Path, lines: Lines, total: int, progress: Progress | None) -> int:
        try:
            handle, name = await asyncio.to_thread(
                tempfile.mkstemp, prefix=f".{target.name}.", suffix=".part", dir=target.parent
            )
        except OSError as error:
            raise PathNotFound(f"Cannot write to {target.parent}: {error.strerror}.", path=str(target)) from error
        part = Path(name)
        try:
            with await asyncio.to_thread(os.fdopen, handle, "w", encoding="utf-8", newline="\n") as stream:
                written = await self._write(stream, lines, total, progress)
                await asyncio.to_thread(_settle, stream)
            await asyncio.to_thread(part.replace, target)
        except OSError as error:
            raise PathNotFound(f"Cannot write {target}: {error.strerror}.", path=str(target)) from error
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)
        return written

    async def _write(self, stream: TextIO, lines: Lines, total: int, progress: Progress | None) -> int:
        done = 0
        async for portion, records in lines:
            await asyncio.to_thread(stream.writelines, portion)
            done += records
            if progress and records:
                progress(done, max(total, done))
        await asyncio.to_thread(stream.flush)
        return done

    async def lines(
        self,
        scopes: tuple[Scope, ...] | None,
        shown: Shown | None = None,
        unreadable: list[Unreadable] | None = None,
    ) -> AsyncIterator[tuple[list[str], int]]:
        """
        The lines of an export, some at a time, each with its line break, and how many records they hold. `shown` says which
        versions of a record may be told; one that has none is left out. What a damaged store cannot hand out is added to `unreadable`.
        """
        now = to_iso(self._clock.now())
        companion = None if self._companion is None or await self._companion.is_empty() else self._companion
        version = VERSION if companion else 1
        head = {"format": FORMAT, "version": version, "tenant": self._tenant, "exported_at": now}
        yield [json.dumps(head, ensure_ascii=False) + "\n"], 0
        done = 0
        missing: list[Unreadable] = [] if unreadable is None else unreadable
        async for lineages in self._lineages(scopes, missing):
            told = [(lineage, _retold(lineage.versions, shown)) for lineage in lineages]
            lines = [write_life(Life(versions, lineage.once)) + "\n" for lineage, versions in told if versions]
            done += len(lines)
            yield lines, len(lines)
        end: dict[str, Json] = {"end": True, "records": done}
        if companion is not None:
            async for lines in companion.lines():
                yield lines, 0
            end |= companion.counts
        if missing:
            end["unreadable"] = [{"id": item.id, "reason": item.reason} for item in missing[:_MOST_NAMED]]
        yield [json.dumps(end) + "\n"], 0

    async def _lineages(
        self, scopes: tuple[Scope, ...] | None, missing: list[Unreadable]
    ) -> AsyncIterator[tuple[Lineage, ...]]:
        wanted = Filter(scopes=scopes, states=ALL_STATES)
        after: str | None = None
        while True:
            portion = await self._store.salvage(self._tenant, wanted, after, self._batch)
            missing += portion.unreadable
            if portion.lineages:
                yield portion.lineages
            if (after := portion.after) is None:
                return

    async def load(self, source: Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """
        Read an export into this tenant, ids, versions and times unchanged.

        Raises:
            PathNotFound: the file cannot be read.
            InvalidFile: it is not an export, of a later format, damaged or cut short. The error says at which line, and
                how many records were kept before it; nothing of the batch around it was.
            Conflict: a key is held here by another record, or a record was changed both here and where the export was made.
        """
        with ExitStack() as files:
            stream = source
            if isinstance(stream, Path):
                try:
                    stream = files.enter_context(stream.open(encoding="utf-8", newline="\n"))
                except OSError as error:
                    raise PathNotFound(f"Cannot read {source}: {error.strerror}.", path=str(source)) from error
            return await self._read(stream, progress)

    async def _read(self, stream: TextIO, progress: Progress | None) -> LoadReport:
        report = LoadReport()
        lines = _lines(stream)
        size = await asyncio.to_thread(_size, stream)
        read = 0
        head = await asyncio.to_thread(_next_batch, lines, 1, report)
        _check_head(head)
        announced: Mapping[str, int] | None = None
        while announced is None and (batch := await asyncio.to_thread(_next_batch, lines, self._batch, report)):
            lives, others, announced = _parsed(batch, self._tenant, report, self._companion)
            report = await self._keep(lives, report)
            report = await self._keep_others(others, report)
            read += sum(len(line.text) for line in batch)
            if progress:
                progress(min(read, size), size)
        if announced != self._counts(report):
            raise _refused(
                "The export was cut short: its last line, which says how many records there are, "
                + ("is missing" if announced is None else "does not agree"),
                None,
                report,
            )
        return report

    def _counts(self, report: LoadReport) -> dict[str, int]:
        beside: Mapping[str, int] = {} if self._companion is None else self._companion.counts
        return {"records": report.records, **{name: count for name, count in beside.items() if count}}

    async def _keep_others(self, items: Sequence[object], report: LoadReport) -> LoadReport:
        if self._companion is None or not items:
            return report
        await self._companion.keep(items)
        counts = self._companion.counts
        return replace(report, sessions=counts.get("sessions", 0), messages=counts.get("messages", 0))

    async def _keep(self, lives: Sequence[Life], report: LoadReport) -> LoadReport:
        if not lives:
            return report
        told = [{record.text: Told.by(record) for record in life.versions} for life in lives]
        distinct = list(dict.fromkeys(one for texts in told for one in texts.values()))
        passages = dict(zip(distinct, await self._preparer.passages(distinct), strict=True))
        lineages = [
            Lineage(life.versions, {text: passages[one] for text, one in texts.items()}, life.once)
            for life, texts in zip(lives, told, strict=True)
        ]
        try:
            return report.plus(await self._store.load(lineages))
        except Conflict as conflict:
            raise Conflict(
                f"{conflict.message} {report.records} records were loaded before.",
                **{**conflict.details, "loaded": report.records},
            ) from conflict


def _settle(stream: TextIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _size(stream: TextIO) -> int:
    """How much there is to read, where the stream is a file."""
    try:
        return os.fstat(stream.fileno()).st_size
    except (OSError, ValueError):
        return 0


def _lines(stream: TextIO) -> Iterator[_Line]:
    for number, text in enumerate(stream, start=1):
        if text.strip():
            yield _Line(number, text)


def _next_batch(lines: Iterator[_Line], most: int, report: LoadReport) -> list[_Line]:
    batch: list[_Line] = []
    room = BATCH_CHARACTERS
    try:
        for line in islice(lines, most):
            batch.append(line)
            room -= len(line.text)
            if room <= 0:
                break
    except UnicodeDecodeError as error:
        raise _refused(f"The file is not UTF-8 text ({error.reason})", None, report) from error
    return batch


def _check_head(lines: Sequence[_Line]) -> None:
    nothing = LoadReport()
    if not lines:
        raise _refused("The file is empty; an export begins with a line that says so", 1, nothing)
    try:
        head = parse_object(lines[0].text)
    except Malformed as error:
        raise _refused(f"This is not an export of Commonplace: {error}", lines[0].number, nothing) from error
    if head.get("format") != FORMAT:
        raise _refused("This is not an export of Commonplace", lines[0].number, nothing)
    version = head.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= VERSION:
        raise _refused(
            f"The export has format version {version!r}; this Commonplace reads up to {VERSION}. Upgrade it",
            lines[0].number,
            nothing,
        )


def _parsed(
    batch: Sequence[_Line], tenant: str, report: LoadReport, companion: Companion | None
) -> tuple[list[Life], list[object], Mapping[str, int] | None]:
    """The lives of a batch, what it has beside them, and how many there are where its last line is the last of the file."""
    lives: list[Life] = []
    others: list[object] = []
    for line in batch:
        try:
            item = parse_object(line.text)
            if "end" in item:
                return lives, others, _announced(item, line, batch)
            if companion is not None and item.keys() & companion.fields:
                others.append(companion.read(item))
            else:
                lives.append(read_life(item, tenant))
        except Malformed as error:
            raise _refused(f"The export is damaged: {error}", line.number, report) from error
    return lives, others, None


def _announced(end: Object, line: _Line, batch: Sequence[_Line]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in ("records", "sessions", "messages"):
        count = end.get(name, None if name == "records" else 0)
        if not isinstance(count, int) or isinstance(count, bool):
            raise Malformed("the last line does not say how many records there are")
        if count or name == "records":
            counts[name] = count
    if line is not batch[-1]:
        raise Malformed("lines after the last one")
    return counts


def _refused(what: str, line: int | None, report: LoadReport) -> InvalidFile:
    place = f" (line {line})" if line else ""
    kept = f"{report.records} records were loaded before" if report.records else "Nothing was changed"
    return InvalidFile(f"{what}{place}. {kept}.", line=line, loaded=report.records)
