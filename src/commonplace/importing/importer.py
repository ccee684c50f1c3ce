"""
Folders of notes, and OpenClaw's memory, as records: one a file, found by its passages.

A record's key is the folder's namespace and the file's path, so that a second import changes what changed and leaves the
rest alone: a file with the time and size it had is not even read, one with the same bytes is not written. What is not
there any more is deleted only if the caller asks, and only within the namespace. What a folder says is not ours to
trust: its records are labelled as supplied from outside.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.importing.folders import Layout, Location, SourceFile, SourceFolder, readable, reason_of, survey
from commonplace.memory.lifecycle import bury
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.maintenance import Progress
from commonplace.ports.records import RecordStore
from commonplace.text.chunk import spans
from commonplace.text.tokens import TokenCounter, estimate
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import MAX_KEY, MAX_TEXT_BYTES, Json, Provenance, Record
from commonplace.values.scope import Scope
from commonplace.values.transfer import ImportReport

BATCH: Final = 100
BATCH_BYTES: Final = 4 * 1024 * 1024
PAGE: Final = 200
GONE: Final = "the file is gone from the imported folder"
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

    @classmethod
    def by(cls, record: Record) -> _EarlierImport:
        metadata, deleted = record.metadata, record.deleted_at is not None
        stands = not deleted or record.reason != GONE
        return cls(record.id, metadata.get("mtime"), metadata.get("size"), metadata.get("sha256"), deleted, stands)


@dataclass(slots=True)
class _Tally:
    indexed: int = 0
    skipped: int = 0
    deleted: int = 0
    chunks: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True, slots=True)
class _Source:
    file: SourceFile
    note: Note
    size: int


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
        layout: Layout = "directory",
        sync_deletes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """
        Import the notes under `path` into `scope`. `path` is a Location if they are read for somebody else.

        Raises:
            PathNotFound: there is nothing at `path`.
            PathEscape: a link stands in the way to it.
            Forbidden: it is a folder that is not to be entered.
            InvalidInput: it has no files to import, and `sync_deletes` was not asked for.
        """
        if layout not in _LAYOUTS:
            raise InvalidInput(f"{layout!r} is not a format. Use {' or '.join(_LAYOUTS)}.")
        folder = await asyncio.to_thread(survey, path, layout)
        with closing(folder):
            if not folder.files and not sync_deletes:
                where = path.path if isinstance(path, Location) else path
                raise InvalidInput(_nothing(where, layout), path=str(where))
            return await self.import_folder(
                folder, scope=scope, layout=layout, sync_deletes=sync_deletes, progress=progress
            )

    async def import_folder(
        self,
        folder: SourceFolder,
        *,
        scope: Scope,
        layout: Layout,
        sync_deletes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import the files of a folder into `scope`: a folder of this machine, or files that came with a request."""
        space = namespace(folder.root, layout, scope)
        tally = _Tally(problems=list(folder.problems))
        imports = await self._earlier_imports(space, scope)
        await self._import(folder, space, scope, imports, tally, progress)
        if sync_deletes and folder.whole:
            tally.deleted = await self._forget(folder, space, imports)
        return ImportReport(
            discovered_files=len(folder.files),
            files_processed=tally.indexed + tally.skipped,
            indexed_files=tally.indexed,
            skipped_files=tally.skipped,
            deleted_files=tally.deleted,
            chunks_created=tally.chunks,
            errors=len(tally.problems),
            problems=tuple(tally.problems),
            left_out=folder.left_out,
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

    async def _import(
        self,
        folder: SourceFolder,
        space: str,
        scope: Scope,
        imports: dict[str, _EarlierImport],
        tally: _Tally,
        progress: Progress | None,
    ) -> None:
        total = len(folder.files)
        async for count, batch in self._batches(folder, space, scope, imports, tally):
            await self._write(batch, tally)
            if progress:
                progress(count, total)

    async def _batches(
        self, folder: SourceFolder, space: str, scope: Scope, imports: dict[str, _EarlierImport], tally: _Tally
    ) -> AsyncIterator[tuple[int, list[_Source]]]:
        """The files to write, read as they are needed; with each batch, how many files are done after it."""
        batch: list[_Source] = []
        size = 0
        for count, file in enumerate(folder.files, start=1):
            before = imports.get(key_of(space, file.name))
            if before and before.stands and _unmoved(file, before):
                tally.skipped += 1
            elif source := await asyncio.to_thread(_read, folder, file, space, scope, before, tally):
                batch.append(source)
                size += source.size
            if len(batch) >= BATCH or size >= BATCH_BYTES or count == len(folder.files):
                yield count, batch
                batch, size = [], 0

    async def _write(self, batch: Sequence[_Source], tally: _Tally) -> None:
        """Write a batch; if one of its files is refused, write the others without it."""
        if not batch:
            return
        try:
            await self._writer.put([source.note for source in batch], actor=self._actor)
        except InvalidInput as refused:
            if len(batch) > 1:
                half = len(batch) // 2
                await self._write(batch[:half], tally)
                await self._write(batch[half:], tally)
            else:
                tally.problems.append((readable(Path(batch[0].file.name)), refused.message))
            return
        tally.indexed += len(batch)
        tally.chunks += await asyncio.to_thread(
            lambda: sum(len(spans(source.note.text, self._count)) for source in batch)
        )

    async def _forget(self, folder: SourceFolder, space: str, imports: dict[str, _EarlierImport]) -> int:
        there = {key_of(space, file.name) for file in folder.files}
        # A folder that could not be listed says nothing about the files in it.
        unseen = tuple(f"{space}/{'' if name == '.' else name}" for name, _ in folder.problems)
        gone = [
            before.id
            for key, before in imports.items()
            if key not in there and not before.deleted and not (unseen and key.startswith(unseen))
        ]
        now = self._clock.now()
        deleted = 0
        for start in range(0, len(gone), BATCH):
            records = await self._store.get(self._tenant, gone[start : start + BATCH])
            deleted += await bury(self._store, records, change="deleted", now=now, actor=self._actor, reason=GONE)
        return deleted


def namespace(root: Path, layout: Layout, scope: Scope) -> str:
    """What the records of one folder, format and scope have in common: `import-` and 16 hexadecimal digits."""
    identity = "\0".join([readable(root), layout, str(scope)])
    return f"import-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def key_of(space: str, name: str) -> str:
    """The namespace and the path; one that is too long or unprintable is shortened and gets a hash."""
    key = f"{space}/{name}"
    if len(key) <= MAX_KEY and key.isprintable():
        return key
    mark = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    printable = "".join(character if character.isprintable() else "�" for character in key)
    return f"{printable[: MAX_KEY - len(mark) - 1]}~{mark}"


def _unmoved(file: SourceFile, before: _EarlierImport) -> bool:
    """A file that came with a request has no time of its own: its content decides."""
    return file.content is None and (before.mtime, before.size) == (file.mtime, file.size)


def _read(
    folder: SourceFolder, file: SourceFile, space: str, scope: Scope, before: _EarlierImport | None, tally: _Tally
) -> _Source | None:
    """The note of a file; None if the file is unchanged or cannot be a note."""
    name = readable(Path(file.name))
    if file.size > MAX_TEXT_BYTES:
        tally.problems.append((name, f"larger than {MAX_TEXT_BYTES // 1024 // 1024} MiB"))
        return None
    try:
        content, mtime = folder.content(file)
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
        tally.skipped += 1
        return None
    metadata: dict[str, Json] = {"namespace": space, "mtime": mtime, "size": len(content), "sha256": digest}
    note = Note(
        text=text,
        scope=scope,
        key=key_of(space, file.name),
        kind="resource",
        source="file",
        metadata=metadata,
        trust="external_user_supplied",
        at=file.at,
        provenance=Provenance(file=name),
    )
    return _Source(file, note, len(content))


def _nothing(path: Path, layout: Layout) -> str:
    if layout == "openclaw":
        return f"There is no OpenClaw memory under {path}: neither MEMORY.md nor files in memory/."
    return (
        f"There is nothing to import under {path}: no .md, .markdown, .mdx or .txt file that is not hidden or ignored."
    )
