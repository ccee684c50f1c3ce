"""
Records that follow files.

An entry's file is the truth; the store holds a record of it, so that it is found like any other memory. `sync` looks at the
folder and brings the records up to it: an edit becomes the next version, a file that is gone leaves a tombstone, a file that
cannot be read leaves its record alone, and so does a whole folder that is not there. A folder that looks as it did is not read and the store is not asked. In a chat room's
file every line is a record of its own. Records of a workspace bear the mark of its folder in their keys, so that another folder
of the same name has records of its own; those of before there were marks are given theirs when they are first met.

The file stays as its owner wrote it. Its record holds no secret and says so, and what means to steer an agent is flagged
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
from commonplace.markdown.confine import MOST_LISTED, Found, Parts
from commonplace.markdown.cues import normal
from commonplace.markdown.entries import Entry, Kept, Problem, load
from commonplace.markdown.gate import entered, shared
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf
from commonplace.memory.lifecycle import bury
from commonplace.memory.write import Writer
from commonplace.ports.clock import Clock
from commonplace.ports.records import RecordStore
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import GONE
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import MAX_KEY, Draft, Json, Provenance, Record, Trust

SOURCE: Final = "managed"
MARKED: Final = "the key names the folder"
EVERY: Final = 2.0
BATCH: Final = 100
PAGE: Final = 200
MOST_LINES: Final = 2_000
MOST_CHANNEL: Final = 16 * 1024 * 1024
_LONGEST_LINE: Final = 4_000

Mark = tuple[Parts, tuple[int, ...]]
Suspect = Callable[[str], bool]
Sleep = Callable[[float], Awaitable[None]]
Told = Callable[["Root", "Synced | CommonplaceError"], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What a sync did. `problems` are files that could not become records."""

    written: int = 0
    deleted: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.written or self.deleted)


@dataclass(slots=True)
class _Work:
    notes: list[Note] = field(default_factory=list[Note])
    there: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])


class Following:
    """Brings records up to files, for one tenant. `suspect` tells what looks like an order to an agent."""

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
        self._seen: dict[Root, tuple[tuple[Mark, ...], Synced]] = {}

    async def sync(self, root: Root) -> Synced:
        """
        Bring the records of `root` up to its files.

        Raises:
            FileError, PathEscape, ManagedMemoryUnavailable: the folder cannot be looked at; no record is touched.
            StoreError: as the store has it.
        """
        files = await asyncio.to_thread(_files, root)
        if files is None:
            return Synced()
        marks = tuple((one.parts, one.mark) for one in files)
        seen = self._seen.get(root)
        if seen is not None and seen[0] == marks:
            return Synced(problems=seen[1].problems)
        async with _passing(root):
            # Anew: somebody may have erased files while this waited.
            return await self._brought_up(root, await asyncio.to_thread(_files, root))

    async def _brought_up(self, root: Root, files: list[Found] | None) -> Synced:
        if files is None:
            return Synced()
        marks = tuple((one.parts, one.mark) for one in files)
        seen = self._seen.get(root)
        known = await self._known(root, _prefix(root))
        if root.mark and root not in self._seen:
            known |= await self._adopted(root, files, known)
        unmoved = frozenset(seen[0]) if seen else None
        work = await asyncio.to_thread(self._work, root, files, known, unmoved)
        written = 0
        for start in range(0, len(work.notes), BATCH):
            written += await self._put(work.notes[start : start + BATCH], work)
        # Of a folder that holds more than is listed, nobody knows what is gone.
        gone = [one for key, one in known.items() if key not in work.there and one.deleted_at is None]
        deleted = await self._bury(gone) if len(files) < MOST_LISTED else 0
        done = Synced(written=written, deleted=deleted, problems=tuple(work.problems))
        self._seen[root] = (marks, done)
        return done

    async def watch(
        self, roots: Callable[[], Sequence[Root]], told: Told, *, every: float = EVERY, sleep: Sleep = asyncio.sleep
    ) -> None:
        """
        Sync all roots again and again, until cancelled. `told` hears of each sync that changed something and of each that
        failed; the next round tries again.
        """
        while True:
            for root in roots():
                try:
                    done = await self.sync(root)
                except CommonplaceError as error:
                    told(root, error)
                else:
                    if done.changed:
                        told(root, done)
            await sleep(every)

    async def _known(self, root: Root, prefix: str) -> dict[str, Record]:
        known: dict[str, Record] = {}
        wanted = Filter(scopes=(root.scope,), key_prefix=prefix, states=ALL_STATES)
        cursor: str | None = None
        while True:
            page = await self._store.find(self._tenant, wanted, "oldest", PAGE, cursor)
            known.update({record.key: record for record in page.records if record.key})
            if (cursor := page.cursor) is None:
                return known

    async def _adopted(self, root: Root, files: Sequence[Found], known: Mapping[str, Record]) -> dict[str, Record]:
        """
        Records that follow this folder since before its mark was in their keys, under their new keys: those of files that are
        there, and, once one of them is known to be ours, those of files that are gone.
        """
        old = await self._known(root, f"managed:{root.kind}:")
        if not old:
            return {}
        paths = {_unmarked(root, one.path): one for one in files}
        here = {key: record for key, record in old.items() if key in paths}
        ours = old if any(_same_file(record, paths[key]) for key, record in here.items()) else here
        now = self._clock.now()
        renamed: dict[str, Record] = {}
        for key, record in ours.items():
            new = key_of(root, paths[key].path if key in paths else record.provenance.file or key)
            if new not in known:
                draft = Draft(record=_renamed(record, new, now, self._actor), expected=record.version)
                with suppress(RecordChanged, RecordNotFound):
                    [renamed[new]] = await self._store.revise([draft])
        return renamed

    async def _put(self, notes: Sequence[Note], work: _Work) -> int:
        """Write the notes; where one of them is refused, all others alone."""
        try:
            await self._writer.put(notes, actor=self._actor)
        except InvalidInput as refused:
            if len(notes) == 1:
                work.problems.append(Problem(notes[0].provenance.file or "", refused.message))
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
        self, root: Root, files: Sequence[Found], known: Mapping[str, Record], unmoved: frozenset[Mark] | None
    ) -> _Work:
        """
        What to write. `unmoved` are the files that have not changed since this process last looked, None where it never
        did: then time and size tell.
        """
        work = _Work()
        if root.kind == "channel":
            self._lines(root, files, known, work)
            return work
        shelf = Shelf(root)
        for one in files:
            key = key_of(root, one.path)
            before = known.get(key)
            same = _same_file(before, one) if unmoved is None else (one.parts, one.mark) in unmoved
            if before and _stands(before) and same:
                work.there.add(key)
                continue
            read = load(shelf.folder, one, shelf.default)
            if read is not None:
                work.there.add(key)
            if isinstance(read, Problem):
                work.problems.append(read)
            elif read is not None and not _same_content(before, read):
                work.notes.append(self._note(root, key, read))
        return work

    def _note(self, root: Root, key: str, kept: Kept) -> Note:
        entry = kept.entry
        told: dict[str, Json] = {"name": entry.name, "description": entry.description, "type": entry.type}
        text, metadata, trust = self._safe(text_of(entry), told, root.trust)
        stamp = kept.stamp
        metadata |= {"mtime": stamp.mtime // 1_000_000, "size": stamp.size, "sha256": stamp.sha256}
        return Note(
            text=text,
            scope=root.scope,
            key=key,
            kind="note" if entry.type == "reference" else "fact",
            source=SOURCE,
            metadata=metadata,
            trust=trust,
            provenance=Provenance(file=kept.path),
        )

    def _lines(self, root: Root, files: Sequence[Found], known: Mapping[str, Record], work: _Work) -> None:
        try:
            data = root.folder.read((INDEX,), MOST_CHANNEL).data if files else b""
        except PathNotFound:
            return
        except CommonplaceError as error:
            work.problems.append(Problem(INDEX, error.message))
            work.there.update(known)
            return
        for line in claims_of(data.decode("utf-8", "replace")):
            key = key_of(root, f"{INDEX}#{line_hash(line)}")
            if key in work.there:
                continue
            work.there.add(key)
            before = known.get(key)
            if before is None or not _stands(before):
                text, metadata, trust = self._safe(line, {}, root.trust)
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

    def _safe(self, text: str, told: Mapping[str, Json], trust: Trust) -> tuple[str, dict[str, Json], Trust]:
        """Text and metadata without secrets, with what there is to say against them."""
        scrubbed = scrub(text)
        metadata: dict[str, Json] = {
            key: scrub(value).text if isinstance(value, str) else value for key, value in told.items()
        }
        flags: list[Json] = []
        if scrubbed.report.redactions:
            metadata["redactions"] = scrubbed.report.redactions
            flags.append("secret")
        if self._suspect is not None and self._suspect(text):
            flags.append("suspect")
            trust = "external_user_supplied"
        if flags:
            metadata["flags"] = flags
        return scrubbed.text, metadata, trust


@asynccontextmanager
async def _passing(root: Root) -> AsyncGenerator[None]:
    """Nobody erases what is being read. Where nothing can be written nothing can be erased, and there is no gate."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(entered(shared(root)))
        except MemoryWriteTimeout:
            raise
        except (FileError, PathEscape):
            pass
        yield


def key_of(root: Root, path: str) -> str:
    """`managed:<kind>:<path>`, of a workspace `managed:project@<mark>:<path>`; what is too long is shortened and told apart by its hash."""
    key = f"{_prefix(root)}{path}"
    if len(key) <= MAX_KEY and key.isprintable():
        return key
    mark = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    shown = "".join(character if character.isprintable() else "�" for character in key)
    return f"{shown[: MAX_KEY - len(mark) - 1]}~{mark}"


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


def _files(root: Root) -> list[Found] | None:
    """None where the whole folder is missing: a home that is not mounted has not forgotten anything."""
    if not root.folder.exists():
        return None
    if root.kind == "channel":
        return [one for one in root.folder.walk() if one.parts == (INDEX,)]
    return Shelf(root).files()


def text_of(entry: Entry) -> str:
    """What is searched: the title, the description where it says more, and the body."""
    told = [entry.name]
    told += [part for part in (entry.description, entry.body) if part.strip()]
    if len(told) > 2 and normal(entry.description) in normal(entry.body):
        told.remove(entry.description)
    if len(told) > 1 and normal(told[1]).startswith(normal(entry.name.rstrip("…"))):
        told.pop(0)
    return "\n\n".join(told)


def line_hash(claim: str) -> str:
    """By what a line of a room's memory is known in the key of its record."""
    return hashlib.sha256(claim.encode()).hexdigest()[:16]


def claims_of(text: str) -> list[str]:
    """The lines of a room's memory that say something, without their bullets."""
    lines = (line.strip() for line in text.splitlines())
    said = (line.lstrip("-*•").strip() for line in lines if line and not line.startswith(("#", "<!--", "```", "---")))
    kept = ["".join(c for c in line if c >= " ")[:_LONGEST_LINE] for line in said if line]
    return [line for line in kept if line.strip()][:MOST_LINES]


def _stands(record: Record) -> bool:
    """Whether the record need not be written again: a person's deletion stands until the file changes, one of ours does not."""
    return record.deleted_at is None or record.reason != GONE


def _same_file(record: Record | None, found: Found) -> bool:
    if record is None:
        return False
    told = record.metadata
    return (told.get("mtime"), told.get("size")) == (found.mtime // 1_000_000, found.size)


def _same_content(record: Record | None, kept: Kept) -> bool:
    return record is not None and _stands(record) and record.metadata.get("sha256") == kept.stamp.sha256
