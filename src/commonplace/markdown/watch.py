"""
Records that follow files.

An entry's file is the truth; the store holds a record of it, so that it is found like any other memory. `sync` looks at the
folder and updates the records: an edit becomes the next version, a file that is gone leaves a tombstone, a file that
cannot be read leaves its record alone, and so does a whole folder that is not there. If a folder looks as before, neither its
files nor the store are read. In a chat room's file every line is a record of its own. Records of a workspace have the mark of
its folder in their keys, so that another folder of the same name has records of its own; records from before there were marks
get theirs at the first sync.

The file stays as its owner wrote it. Its record holds no secret and says so; text that tries to steer an agent is flagged
and not trusted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from commonplace.errors import (
    CommonplaceError,
    FileError,
    InvalidInput,
    MemoryWriteTimeout,
    PathEscape,
    PathNotFound,
    RecordChanged,
    RecordNotFound,
)
from commonplace.markdown.confine import MOST_LISTED, FileInfo, Parts
from commonplace.markdown.cues import normal
from commonplace.markdown.entries import EntryFile, EntryProblem, MemoryEntry, load
from commonplace.markdown.gate import entered, shared
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf
from commonplace.markdown.updates import former
from commonplace.memory.lifecycle import bury
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.records import RecordStore
from commonplace.text.digest import fitting_key
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import GONE, RootKind
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import TRUSTED, Draft, Json, Provenance, Record, Trust

SOURCE: Final = "managed"
MARKED: Final = "the key names the folder"
EVERY: Final = 2.0
BATCH: Final = 100
PAGE: Final = 200
MOST_LINES: Final = 2_000
MOST_CHANNEL: Final = 16 * 1024 * 1024
_LONGEST_LINE: Final = 4_000
_LONGEST_CAUSE: Final = 200

Mark = tuple[Parts, tuple[int, ...]]
Suspect = Callable[[str, RootKind], bool]
Sleep = Callable[[float], Awaitable[None]]
Report = Callable[["Root", "SyncSummary | CommonplaceError"], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncSummary:
    """How many records a sync wrote and deleted. `problems` are files that could not become records."""

    writes: int = 0
    deleted: int = 0
    problems: tuple[EntryProblem, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.writes or self.deleted)


@dataclass(slots=True)
class _Work:
    notes: list[Note] = field(default_factory=list[Note])
    there: set[str] = field(default_factory=set[str])
    problems: list[EntryProblem] = field(default_factory=list[EntryProblem])


class Following:
    """Updates records from files, for one tenant. `suspect` says whether a text in that kind of memory looks like an order to an agent."""

    def __init__(
        self,
        store: RecordStore,
        writer: Writer,
        clock: Clock,
        tenant: str,
        *,
        actor: str | None = None,
        suspect: Suspect | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._tenant = tenant
        self._actor = actor
        self._suspect = suspect
        self._seen: dict[Root, tuple[tuple[Mark, ...], SyncSummary]] = {}

    async def sync(self, root: Root) -> SyncSummary:
        """
        Update the records of `root` from its files.

        Raises:
            FileError, PathEscape, ManagedMemoryUnavailable: the folder cannot be looked at; no record is touched.
            StoreError: as the store has it.
        """
        files = await asyncio.to_thread(_files, root)
        if files is None:
            return SyncSummary()
        marks = tuple((file.parts, file.mark) for file in files)
        last = self._seen.get(root)
        if last is not None and last[0] == marks:
            return SyncSummary(problems=last[1].problems)
        async with _passing(root):
            # Anew: somebody may have erased files while this waited.
            return await self._brought_up(root, await asyncio.to_thread(_files, root))

    async def _brought_up(self, root: Root, files: list[FileInfo] | None) -> SyncSummary:
        if files is None:
            return SyncSummary()
        marks = tuple((file.parts, file.mark) for file in files)
        last = self._seen.get(root)
        records = await self._known(root, _prefix(root))
        if root.mark and root not in self._seen:
            records |= await self._adopted(root, files, records)
        unmoved = frozenset(last[0]) if last else None
        work = await asyncio.to_thread(self._work, root, files, records, unmoved)
        writes = 0
        for start in range(0, len(work.notes), BATCH):
            writes += await self._put(work.notes[start : start + BATCH], work)
        # Of a folder that holds more than is listed, nobody knows what is gone.
        gone = [record for key, record in records.items() if key not in work.there and record.deleted_at is None]
        deleted = await self._bury(gone) if len(files) < MOST_LISTED else 0
        summary = SyncSummary(writes=writes, deleted=deleted, problems=tuple(work.problems))
        self._seen[root] = (marks, summary)
        if summary.changed:
            # Whoever edited an entry did not edit the index. Where it cannot be written, the next change brings it.
            with suppress(FileError, PathEscape, InvalidInput):
                await asyncio.to_thread(Shelf(root).rebuild)
        return summary

    async def watch(
        self, roots: Callable[[], Sequence[Root]], report: Report, *, every: float = EVERY, sleep: Sleep = asyncio.sleep
    ) -> None:
        """
        Sync all roots again and again, until cancelled. `report` hears of each sync that changed something and of each that
        failed; the next round tries again.
        """
        while True:
            for root in roots():
                try:
                    summary = await self.sync(root)
                except CommonplaceError as error:
                    report(root, error)
                else:
                    if summary.changed:
                        report(root, summary)
            await sleep(every)

    async def _known(self, root: Root, prefix: str) -> dict[str, Record]:
        records: dict[str, Record] = {}
        selection = Filter(scopes=(root.scope,), key_prefix=prefix, states=ALL_STATES)
        cursor: str | None = None
        while True:
            page = await self._store.find(self._tenant, selection, "oldest", PAGE, cursor)
            records.update({record.key: record for record in page.records if record.key})
            if (cursor := page.cursor) is None:
                return records

    async def _adopted(self, root: Root, files: Sequence[FileInfo], records: Mapping[str, Record]) -> dict[str, Record]:
        """
        Records of this folder from before its mark was in their keys, under their new keys: those of present files and, as soon
        as one of these is known to be ours, those of files that are gone.
        """
        old = await self._known(root, f"managed:{root.kind}:")
        if not old:
            return {}
        paths = {_unmarked(root, file.path): file for file in files}
        here = {key: record for key, record in old.items() if key in paths}
        ours = old if any(_same_file(record, paths[key]) for key, record in here.items()) else here
        now = self._clock.now()
        renamed: dict[str, Record] = {}
        for key, record in ours.items():
            new = key_of(root, paths[key].path if key in paths else record.provenance.file or key)
            if new not in records:
                draft = Draft(record=_renamed(record, new, now, self._actor), expected=record.version)
                with suppress(RecordChanged, RecordNotFound):
                    [renamed[new]] = await self._store.revise([draft])
        return renamed

    async def _put(self, notes: Sequence[Note], work: _Work) -> int:
        """Write the notes in one call; if one of them is refused, each in a call of its own."""
        try:
            await self._writer.put(notes, actor=self._actor)
        except InvalidInput as refused:
            if len(notes) == 1:
                work.problems.append(EntryProblem(notes[0].provenance.file or "", refused.message))
                return 0
            return sum([await self._put([note], work) for note in notes])
        return len(notes)

    async def _bury(self, gone: Sequence[Record]) -> int:
        now = self._clock.now()
        buried = 0
        for start in range(0, len(gone), BATCH):
            part = gone[start : start + BATCH]
            buried += await bury(self._store, part, change="deleted", now=now, actor=self._actor, reason=GONE)
        return buried

    def _work(
        self, root: Root, files: Sequence[FileInfo], records: Mapping[str, Record], unmoved: frozenset[Mark] | None
    ) -> _Work:
        """
        What to write. `unmoved` are the files that have not changed since this process last looked; None if it never did:
        then time and size decide.
        """
        work = _Work()
        if root.kind == "channel":
            self._lines(root, files, records, work)
            return work
        shelf = Shelf(root)
        for info in files:
            key = key_of(root, info.path)
            before = records.get(key)
            same = _same_file(before, info) if unmoved is None else (info.parts, info.mark) in unmoved
            if before and _stands(before) and same:
                work.there.add(key)
                continue
            file = load(shelf.folder, info, shelf.default)
            if file is not None:
                work.there.add(key)
            if isinstance(file, EntryProblem):
                work.problems.append(file)
            elif file is not None and not _same_content(before, file):
                work.notes.append(self._note(root, key, file, before))
        return work

    def _note(self, root: Root, key: str, file: EntryFile, before: Record | None) -> Note:
        entry = file.entry
        fields: dict[str, Json] = {"name": entry.name, "description": entry.description, "type": entry.type}
        text, metadata, trust = self._safe(root, text_of(entry), fields, trust_of(root, entry))
        stamp = file.stamp
        metadata |= {"mtime": stamp.mtime // 1_000_000, "size": stamp.size, "sha256": stamp.sha256}
        was = former(entry)
        if was:
            metadata["was"] = list[Json](scrub(statement).text for statement in was)
        return Note(
            text=text,
            scope=root.scope,
            key=key,
            kind="note" if entry.type == "reference" else "fact",
            source=SOURCE,
            metadata=metadata,
            trust=trust,
            provenance=Provenance(file=file.path),
            reason=_cause(before, was),
        )

    def _lines(self, root: Root, files: Sequence[FileInfo], records: Mapping[str, Record], work: _Work) -> None:
        try:
            data = root.folder.read((INDEX,), MOST_CHANNEL).data if files else b""
        except PathNotFound:
            return
        except CommonplaceError as error:
            work.problems.append(EntryProblem(INDEX, error.message))
            work.there.update(records)
            return
        for line in claims_of(data.decode("utf-8", "replace")):
            key = key_of(root, f"{INDEX}#{line_hash(line)}")
            if key in work.there:
                continue
            work.there.add(key)
            before = records.get(key)
            if before is None or not _stands(before):
                text, metadata, trust = self._safe(root, line, {}, root.trust)
                origin = Provenance(file=INDEX)
                work.notes.append(
                    Note(
                        text=text,
                        scope=root.scope,
                        key=key,
                        kind="fact",
                        source=SOURCE,
                        metadata=metadata,
                        trust=trust,
                        provenance=origin,
                    )
                )

    def _safe(
        self, root: Root, text: str, fields: Mapping[str, Json], trust: Trust
    ) -> tuple[str, dict[str, Json], Trust]:
        """Text and metadata without secrets, the metadata with its flags, and how far to trust them."""
        scrubbed = scrub(text)
        metadata: dict[str, Json] = {
            key: scrub(value).text if isinstance(value, str) else value for key, value in fields.items()
        }
        flags: list[Json] = []
        if scrubbed.report.redactions:
            metadata["redactions"] = scrubbed.report.redactions
            flags.append("secret")
        if self._suspect is not None and self._suspect(text, root.kind):
            flags.append("suspect")
            trust = "external_user_supplied"
        if flags:
            metadata["flags"] = flags
        return scrubbed.text, metadata, trust


def _cause(before: Record | None, was: Sequence[str]) -> str | None:
    """Why the version held is over, if a statement of it was replaced since."""
    earlier = before.metadata.get("was") if before is not None else ()
    if before is None or not was or (isinstance(earlier, list) and len(earlier) >= len(was)):
        return None
    statement = " ".join(scrub(was[-1]).text.split())
    return f"superseded: {statement}"[:_LONGEST_CAUSE]


def trust_of(root: Root, entry: MemoryEntry) -> Trust:
    """The label of the record that follows an entry: that of its folder, unless the entry itself says less."""
    return root.trust if root.trust not in TRUSTED else entry.trust or root.trust


@asynccontextmanager
async def _passing(root: Root) -> AsyncGenerator[None]:
    """Nobody erases what is being read. If nothing can be written, nothing can be erased, and there is no gate."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(entered(shared(root)))
        except MemoryWriteTimeout:
            raise
        except (FileError, PathEscape):
            pass
        yield


def key_of(root: Root, path: str) -> str:
    """`managed:<kind>:<path>`, of a workspace `managed:project@<mark>:<path>`."""
    return fitting_key(_prefix(root), path)


def _prefix(root: Root) -> str:
    return f"managed:{root.kind}@{root.mark}:" if root.mark else f"managed:{root.kind}:"


def _unmarked(root: Root, path: str) -> str:
    return key_of(replace(root, mark=""), path)


def _renamed(record: Record, key: str, now: datetime, actor: str | None) -> Record:
    return replace(
        record,
        version=record.version + 1,
        updated_at=max(utc(now), record.updated_at),
        key=key,
        change="edited" if record.deleted_at is None else record.change,
        actor=actor,
        reason=MARKED if record.deleted_at is None else record.reason,
        restores=None,
    )


def _files(root: Root) -> list[FileInfo] | None:
    """None if the whole folder is missing: a home that is not mounted has not forgotten anything."""
    if not root.folder.exists():
        return None
    if root.kind == "channel":
        return [file for file in root.folder.walk() if file.parts == (INDEX,)]
    return Shelf(root).files()


def text_of(entry: MemoryEntry) -> str:
    """The text to search: the title, the description if it says more, and the body."""
    parts = [entry.name]
    parts += [part for part in (entry.description, entry.body) if part.strip()]
    if len(parts) > 2 and normal(entry.description) in normal(entry.body):
        parts.remove(entry.description)
    if len(parts) > 1 and normal(parts[1]).startswith(normal(entry.name.rstrip("…"))):
        parts.pop(0)
    return "\n\n".join(parts)


def line_hash(claim: str) -> str:
    """What stands for a line of a room's memory in the key of its record."""
    return hashlib.sha256(claim.encode()).hexdigest()[:16]


def claims_of(text: str) -> list[str]:
    """The lines of a room's memory that say something, without their bullets, the last of them if there are very many."""
    lines = (line.strip() for line in text.splitlines())
    texts = (line.lstrip("-*•").strip() for line in lines if line and not line.startswith(("#", "<!--", "```", "---")))
    claims = ["".join(c for c in line if c >= " ")[:_LONGEST_LINE] for line in texts if line]
    # The newest: an old line is shown to nobody for being old.
    return [line for line in claims if line.strip()][-MOST_LINES:]


def _stands(record: Record) -> bool:
    """Whether the record need not be written again: a person's deletion stands until the file changes, one of ours does not."""
    return record.deleted_at is None or record.reason != GONE


def _same_file(record: Record | None, info: FileInfo) -> bool:
    if record is None:
        return False
    metadata = record.metadata
    return (metadata.get("mtime"), metadata.get("size")) == (info.mtime // 1_000_000, info.size)


def _same_content(record: Record | None, file: EntryFile) -> bool:
    return record is not None and _stands(record) and record.metadata.get("sha256") == file.stamp.sha256
