"""
Folders of notes, and OpenClaw's memory, as records: one a file, found by its passages.

A record's key is the folder's namespace and the file's path, so that a second import changes what changed and leaves the
rest alone: a file with the time and size it had is not even read, one with the same bytes is not written. What is not
there any more is deleted only if the caller asks, and only within the namespace; a file that was emptied gives up its text. Neither takes
away more than half of what was imported, unless that is forced: the folder may just not be mounted. What a person has edited since the
last import stays, and is reported. What a folder says is not ours to trust: its records are labelled as supplied from outside.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError, InvalidInput, RemovalRefused
from commonplace.guard.passages import apart
from commonplace.guard.quarantine import orders, signs
from commonplace.guard.sentence import cause_of
from commonplace.importing.folders import (
    OF_KIND,
    Layout,
    Location,
    SourceFile,
    SourceFolder,
    readable,
    reason_of,
    survey,
)
from commonplace.memory.lifecycle import bury
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.maintenance import Progress
from commonplace.ports.records import RecordStore
from commonplace.text.chunk import spans
from commonplace.text.digest import fitting_key
from commonplace.text.scrub import scrub
from commonplace.text.tokens import TokenCounter, estimate
from commonplace.values.note import Note
from commonplace.values.quarantine import TAG, Withheld, withheld
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import MAX_TEXT_BYTES, Json, Provenance, Record
from commonplace.values.scope import Scope
from commonplace.values.transfer import MOST_NAMED, ImportOptions, ImportReport

BATCH: Final = 100
BATCH_BYTES: Final = 4 * 1024 * 1024
PAGE: Final = 200
GONE: Final = "the file is gone from the imported folder"
EMPTIED: Final = "the imported file was emptied"
EDITED: Final = (
    "it was edited in the memory since the last import, and the edit is kept; --force takes what the folder has"
)
SMALL: Final = 4 * 1024
"""Bytes up to which a changed file is read before anything is written, to see whether it was emptied."""
LONGEST_LINE: Final = 1_000
PLAIN: Final = ImportOptions()
_LAYOUTS: Final = ("directory", "openclaw")


@dataclass(frozen=True, slots=True)
class _EarlierImport:
    """The record that an earlier import wrote under a key."""

    id: str
    mtime: Json
    size: Json
    sha256: Json
    deleted: bool
    stands: bool
    """Whether the file need not be imported again: a person's deletion stands, one of ours does not."""
    version: int
    tags: tuple[str, ...]

    @classmethod
    def by(cls, record: Record) -> _EarlierImport:
        metadata, deleted = record.metadata, record.deleted_at is not None
        stands = not deleted or record.reason not in (GONE, EMPTIED)
        mtime, size, sha256 = (metadata.get(name) for name in ("mtime", "size", "sha256"))
        return cls(record.id, mtime, size, sha256, deleted, stands, record.version, record.tags)


@dataclass(slots=True)
class _Tally:
    indexed: int = 0
    skipped: int = 0
    deleted: int = 0
    chunks: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    withheld: list[Withheld] = field(default_factory=list[Withheld])
    edits: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    warned: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    emptied: list[_EarlierImport] = field(default_factory=list[_EarlierImport])


@dataclass(frozen=True, slots=True)
class _Source:
    file: SourceFile
    note: Note
    size: int
    before: _EarlierImport | None


@dataclass(frozen=True, slots=True)
class _Place:
    """What is imported, where to, and what came from there before."""

    folder: SourceFolder
    space: str
    scope: Scope
    imports: Mapping[str, _EarlierImport]
    force: bool


class Importer:
    def __init__(
        self,
        store: RecordStore,
        writer: Writer,
        clock: Clock,
        tenant: str,
        actor: str | None = None,
        count: TokenCounter = estimate,
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._tenant = tenant
        self._actor = actor
        self._count = count

    async def import_path(
        self,
        path: Path | Location,
        *,
        scope: Scope,
        options: ImportOptions = PLAIN,
        progress: Progress | None = None,
    ) -> ImportReport:
        """
        Import the notes under `path` into `scope`. `path` is a Location if they are read for somebody else.

        Raises:
            PathNotFound: there is nothing at `path`.
            PathEscape: a link stands in the way to it.
            Forbidden: it is a folder that is not to be entered.
            InvalidInput: it has no files to import, and `sync_deletes` was not asked for.
            RemovalRefused: more than half of what it brought would go. Nothing was changed.
        """
        if options.layout not in _LAYOUTS:
            raise InvalidInput(f"{options.layout!r} is not a format. Use {' or '.join(_LAYOUTS)}.")
        folder = await asyncio.to_thread(survey, path, options.layout, options.kinds)
        with closing(folder):
            if not folder.files and not options.sync_deletes:
                where = path.path if isinstance(path, Location) else path
                raise InvalidInput(_nothing(where, options.layout, folder.skipped_kinds), path=str(where))
            return await self.import_folder(folder, scope=scope, options=options, progress=progress)

    async def import_folder(
        self,
        folder: SourceFolder,
        *,
        scope: Scope,
        options: ImportOptions = PLAIN,
        progress: Progress | None = None,
    ) -> ImportReport:
        """
        Import the files of a folder into `scope`: a folder of this machine, or files that came with a request. Raises RemovalRefused.
        """
        space = namespace(folder.root, options.layout, scope)
        tally = _Tally(problems=list(folder.problems))
        imports = await self._earlier_imports(space, scope)
        gone = _gone(folder, space, imports) if options.sync_deletes and folder.whole else {}
        emptied = await asyncio.to_thread(_emptied, folder, space, imports)
        if not options.force:
            _require_most_stays(len(gone) + emptied, [entry for entry in imports.values() if not entry.deleted])
        place = _Place(folder, space, scope, imports, options.force)
        async for count, batch in self._batches(place, tally):
            await self._write(await self._unedited(batch, place, tally), tally)
            if progress:
                progress(count, len(folder.files))
        tally.deleted = await self._forget([before.id for before in tally.emptied], EMPTIED, place, tally)
        tally.deleted += await self._forget(list(gone), GONE, place, tally)
        return ImportReport(
            discovered_files=len(folder.files),
            files_processed=tally.indexed + tally.skipped + len(tally.emptied),
            indexed_files=tally.indexed,
            skipped_files=tally.skipped,
            deleted_files=tally.deleted,
            chunks_created=tally.chunks,
            errors=len(tally.problems),
            problems=tuple(tally.problems),
            left_out=folder.left_out,
            quarantined=len(tally.withheld),
            withheld=tuple(tally.withheld[:MOST_NAMED]),
            skipped_kinds=folder.skipped_kinds,
            kept_edits=tuple(tally.edits),
            warned=tuple(tally.warned[:MOST_NAMED]),
        )

    async def _earlier_imports(self, space: str, scope: Scope) -> dict[str, _EarlierImport]:
        imports: dict[str, _EarlierImport] = {}
        selection = Filter(scopes=(scope,), key_prefix=f"{space}/", states=ALL_STATES)
        cursor: str | None = None
        while True:
            page = await self._store.find(self._tenant, selection, "oldest", PAGE, cursor)
            imports.update({record.key: _EarlierImport.by(record) for record in page.records if record.key})
            if (cursor := page.cursor) is None:
                return imports

    async def _batches(self, place: _Place, tally: _Tally) -> AsyncIterator[tuple[int, list[_Source]]]:
        """The files to write, read as they are needed; with each batch, how many files are done after it."""
        batch: list[_Source] = []
        size = 0
        for count, file in enumerate(place.folder.files, start=1):
            before = place.imports.get(key_of(place.space, file.name))
            if before and before.stands and _unmoved(file, before):
                tally.skipped += 1
            elif source := await asyncio.to_thread(_read, place, file, before, tally):
                batch.append(source)
                size += source.size
            if len(batch) >= BATCH or size >= BATCH_BYTES or count == len(place.folder.files):
                yield count, batch
                batch, size = [], 0

    async def _unedited(self, batch: Sequence[_Source], place: _Place, tally: _Tally) -> list[_Source]:
        """Those that would overwrite nothing a person wrote; the others are reported."""
        writable: list[_Source] = []
        for source in batch:
            before = source.before
            if before is None or place.force or not await self._is_edited(before):
                writable.append(source)
            else:
                tally.edits.append((readable(Path(source.file.name)), EDITED))
        return writable

    async def _is_edited(self, before: _EarlierImport) -> bool:
        """Whether the text is another than the last import wrote. What was deleted is not."""
        if before.version == 1 or before.deleted:
            return False
        text: str | None = None
        sha256: Json = None
        current: str | None = None
        for version in await self._store.history(self._tenant, before.id):
            digest, current = version.metadata.get("sha256"), version.text
            # An edit leaves what the import noted of the file; undoing an import goes back to what one before noted.
            if digest is not None and digest != sha256 and version.change != "restored":
                text, sha256 = version.text, digest
        return current != text

    async def _write(self, batch: Sequence[_Source], tally: _Tally) -> None:
        """Write a batch; if one of its files is refused, write the others without it."""
        if not batch:
            return
        try:
            notes = await asyncio.to_thread(lambda: [part for source in batch for part in apart(source.note)])
            warned = await asyncio.to_thread(lambda: [*_warnings(notes)])
            results = await self._writer.put(notes, actor=self._actor)
        except InvalidInput as refused:
            if len(batch) > 1:
                half = len(batch) // 2
                await self._write(batch[:half], tally)
                await self._write(batch[half:], tally)
            else:
                tally.problems.append((readable(Path(batch[0].file.name)), refused.message))
            return
        tally.indexed += len(batch)
        tally.warned += warned
        tally.withheld += withheld(result.record for result in results)
        tally.chunks += await asyncio.to_thread(
            lambda: sum(len(spans(source.note.text, self._count)) for source in batch)
        )

    async def _forget(self, ids: Sequence[str], reason: str, place: _Place, tally: _Tally) -> int:
        """Delete what these records say, but for what a person wrote. How many that were."""
        by_id = {before.id: (key, before) for key, before in place.imports.items()}
        writable: list[str] = []
        for id in ids:
            key, before = by_id[id]
            if place.force or not await self._is_edited(before):
                writable.append(id)
            else:
                tally.edits.append((key.removeprefix(f"{place.space}/"), f"{reason}; {EDITED}"))
        now = self._clock.now()
        deleted = 0
        for start in range(0, len(writable), BATCH):
            records = await self._store.get(self._tenant, writable[start : start + BATCH])
            deleted += await bury(self._store, records, change="deleted", now=now, actor=self._actor, reason=reason)
        return deleted


def _gone(folder: SourceFolder, space: str, imports: Mapping[str, _EarlierImport]) -> dict[str, None]:
    """The records of files that are not there any more."""
    there = {key_of(space, name) for name in (*(file.name for file in folder.files), *folder.others)}
    # A folder that could not be listed says nothing about the files in it.
    names = [name for name, _ in folder.problems]
    unseen = tuple(f"{space}/" if name == "." else f"{space}/{name}/" for name in names)
    there |= {f"{space}/{name}" for name in names}
    return {
        before.id: None
        for key, before in imports.items()
        if key not in there and not before.deleted and not (unseen and key.startswith(unseen))
    }


def _emptied(folder: SourceFolder, space: str, imports: Mapping[str, _EarlierImport]) -> int:
    """How many files that had a text have none any more."""
    count = 0
    for file in folder.files:
        before = imports.get(key_of(space, file.name))
        if before is None or before.deleted or file.size > SMALL or _unmoved(file, before):
            continue
        try:
            count += not folder.content(file)[0].strip()
        except (OSError, CommonplaceError):
            continue
    return count


def _require_most_stays(removals: int, live: Sequence[_EarlierImport]) -> None:
    if removals * 2 > len(live):
        raise RemovalRefused(
            f"This import would delete {removals:,} of the {len(live):,} records that came from this folder. Nothing was changed. Check that "
            "the folder is mounted and complete. To delete them, repeat the import with force (--force).",
            removals=removals,
            records=len(live),
        )


def namespace(root: Path, layout: Layout, scope: Scope) -> str:
    """What the records of one folder, format and scope have in common: `import-` and 16 hexadecimal digits."""
    identity = "\0".join([readable(root), layout, str(scope)])
    return f"import-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def key_of(space: str, name: str) -> str:
    """The namespace and the path."""
    return fitting_key(f"{space}/", name)


def _unmoved(file: SourceFile, before: _EarlierImport) -> bool:
    """A file that came with a request has no time of its own: its content decides."""
    return file.content is None and (before.mtime, before.size) == (file.mtime, file.size)


def _read(place: _Place, file: SourceFile, before: _EarlierImport | None, tally: _Tally) -> _Source | None:
    """The note of a file; None if the file is unchanged, empty, or cannot be a note."""
    name = readable(Path(file.name))
    if file.size > MAX_TEXT_BYTES:
        tally.problems.append((name, f"larger than {MAX_TEXT_BYTES // 1024 // 1024} MiB"))
        return None
    try:
        content, mtime = place.folder.content(file)
        text = content.decode("utf-8-sig")
    except (OSError, CommonplaceError) as error:
        tally.problems.append((name, reason_of(error)))
        return None
    except UnicodeDecodeError:
        tally.problems.append((name, "not UTF-8 text"))
        return None
    digest = hashlib.sha256(content).hexdigest()
    if before and before.stands and before.sha256 == digest:
        tally.skipped += 1
        return None
    if not text.strip():
        if before and not before.deleted:
            tally.emptied.append(before)
        else:
            tally.skipped += 1
        return None
    metadata: dict[str, Json] = {"namespace": place.space, "mtime": mtime, "size": len(content), "sha256": digest}
    note = Note(
        text=indented(text) if Path(file.name).suffix.lower() in OF_KIND["json"] else text,
        scope=place.scope,
        key=key_of(place.space, file.name),
        kind="resource",
        source="file",
        tags=tuple(tag for tag in before.tags if tag != TAG) if before else (),
        metadata=metadata,
        trust="external_user_supplied",
        at=file.at,
        provenance=Provenance(file=name),
    )
    return _Source(file, note, len(content), before)


def _warnings(notes: Sequence[Note]) -> Iterator[tuple[str, str]]:
    """The files that give no order and have signs of an attack all the same: they are kept, and whoever chose them hears of it."""
    for note in notes:
        if (marks := signs(note.text)) and not orders(note.text):
            sentence = cause_of(scrub(note.text).text, signs)
            yield note.provenance.file or "", f"{', '.join(marks)}: “{sentence}”" if sentence else ", ".join(marks)


def indented(text: str) -> str:
    """JSON whose lines are too long to be passages, with one value a line. What is no JSON stays as it is."""
    if max(map(len, text.splitlines()), default=0) <= LONGEST_LINE:
        return text
    try:
        pretty = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text
    return pretty if len(pretty.encode("utf-8", "surrogatepass")) <= MAX_TEXT_BYTES else text


def _nothing(path: Path, layout: Layout, skipped: Sequence[tuple[str, int]]) -> str:
    if layout == "openclaw":
        return f"There is no OpenClaw memory under {path}: neither MEMORY.md nor files in memory/."
    others = ", ".join(f"{count:,} {suffix}" for suffix, count in skipped[:5])
    return (
        f"There is nothing to import under {path}: no .md, .markdown, .mdx or .txt file that is not hidden or ignored."
        + (
            f" There are files of other kinds: {others}. --kind code and --kind json import code and JSON."
            if others
            else ""
        )
    )
