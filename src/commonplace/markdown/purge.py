"""
What lies in files, purged together with the records that follow them.

All that stands in the way is told before anything is touched. Then the files go, then what the history and the index have of them,
then the jobs that quote them; until that is done, every file can be put back. The records are purged last, by whoever holds this:
a process that dies before that leaves records without files, which the next look at the folder deletes and another purge removes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, cast, get_args

from commonplace.errors import CommonplaceError, Conflict, NotFound, PurgeRefused
from commonplace.markdown import erase
from commonplace.markdown import forget as forgetting
from commonplace.markdown.entries import EntryFile
from commonplace.markdown.erase import FileTarget, Quotes, Removal
from commonplace.markdown.forget import Erased
from commonplace.markdown.gate import Epochs, alone, entered
from commonplace.markdown.places import Candidate, Places
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import Shelf
from commonplace.ports.clock import Clock
from commonplace.ports.files import LockedFiles
from commonplace.ports.jobs import JobQueue
from commonplace.ports.journal import Entries, Journal
from commonplace.values.event import News
from commonplace.values.file_ref import FileRef
from commonplace.values.job import PRIVATE, Job
from commonplace.values.record import Json
from commonplace.values.scope import Scope
from commonplace.values.task import TaskKind

OUT_OF_REACH: Final = "it is not on this machine, or in a folder that this process does not know"
NOT_THERE: Final = "there is no such file in {folder}, and nobody knows where else it may be"
MOVED: Final = "its record came up while others were purged; purge again"
RecordsOf: TypeAlias = Callable[[Sequence[tuple[Root, EntryFile]]], Awaitable[Sequence[str]]]
_MOST_JOBS: Final = 10_000
_ROUNDS: Final = 100


class NoFiles:
    """Satisfies `FileEraser` for a process that knows no folder of memory: no file can be erased."""

    @asynccontextmanager
    async def locked(
        self, tenant: str, refs: Collection[FileRef], scopes: Collection[Scope]
    ) -> AsyncGenerator[LockedFiles]:
        del tenant, refs, scopes
        yield _Nowhere()


class _Nowhere:
    is_empty = True

    async def faults(self, refs: Sequence[FileRef]) -> tuple[Mapping[FileRef, str], Sequence[str]]:
        return {ref: f"{ref.name}: {OUT_OF_REACH}" for ref in refs}, ()

    async def erase(self, refs: Sequence[FileRef]) -> int:
        if refs:
            raise PurgeRefused(files=[ref.name for ref in refs])
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryFolders:
    """
    Satisfies `FileEraser` over the folders of `places`. `jobs` holds the tasks that may quote what is erased. `follows`: the records
    of these folders are in the store that is purged, also those to come; else that is so of the folders that its records name.
    """

    places: Places
    jobs: JobQueue
    journal: Journal
    clock: Clock
    follows: bool = True

    @asynccontextmanager
    async def locked(
        self, tenant: str, refs: Collection[FileRef], scopes: Collection[Scope]
    ) -> AsyncGenerator[LockedFiles]:
        if tenant != self.places.tenant:
            yield _Nowhere()
            return
        whole, roots = await asyncio.to_thread(self._roots, refs, scopes)
        locked = _Locked(eraser=self, whole=whole)
        async with AsyncExitStack() as stack:
            for root in sorted(roots, key=lambda root: root.path):
                try:
                    locked.epochs[root] = await stack.enter_async_context(entered(alone(root)))
                except CommonplaceError as error:
                    locked.broken[root] = error.message
            yield locked

    async def forget(self, entries: Sequence[tuple[Root, EntryFile]], *, by: str, records: RecordsOf) -> Erased:
        """
        Erase these entries for the task `by`; one that somebody changes in that moment stays. `records` tells which records follow
        them. Once begun it is brought to its end.
        """
        return await asyncio.shield(asyncio.ensure_future(self._forget(entries, by, records)))

    async def _forget(self, entries: Sequence[tuple[Root, EntryFile]], by: str, records: RecordsOf) -> Erased:
        async with AsyncExitStack() as stack:
            for root in forgetting.roots_of(entries):
                (await stack.enter_async_context(entered(alone(root)))).begin()
            there = await asyncio.to_thread(forgetting.standing, entries)
            ids = await records(there)
            work = partial(forgetting.begin, there, now=self.clock.now(), by=by, records=ids)
            removals, quotes = await asyncio.to_thread(work)
            try:
                await self.drop_jobs([path for removal in removals for path in removal.absolute], quotes)
            except BaseException:
                await asyncio.to_thread(erase.restore_all, removals)
                raise
            await asyncio.to_thread(partial(forgetting.end, removals, by=by))
        return forgetting.erased(there, ids)

    async def drop_jobs(self, paths: Sequence[str], quotes: Sequence[Quotes]) -> None:
        """Tasks that tell of what is erased. One that is running has its own end: it writes nothing any more."""
        tenant = self.places.tenant
        for job in await self.jobs.list_jobs(tenant, kinds=get_args(TaskKind), limit=_MOST_JOBS):
            if job.state == "running" or not await self._tells(job, paths, quotes):
                continue
            data: dict[str, Json] = {"job": job.id, "kind": job.kind}
            news = News(type="job.dropped", tenant=tenant, at=self.clock.now(), admins=True, data=data)
            # It may have gone, or have been begun in this moment.
            with suppress(NotFound, Conflict):
                await self.jobs.drop_job(tenant, job.id, Entries(events=(news,)))

    async def _tells(self, job: Job, paths: Sequence[str], quotes: Sequence[Quotes]) -> bool:
        if job.state != "done":
            try:
                job = await self.jobs.job(job.tenant, job.id)
            except NotFound:
                return False
        texts = [*_strings(dict(job.result)), *_strings(job.payload.get(PRIVATE)), job.error or ""]
        return await asyncio.to_thread(_quotes, texts, paths, quotes)

    def _roots(self, refs: Collection[FileRef], scopes: Collection[Scope]) -> tuple[frozenset[Root], set[Root]]:
        scoped = [candidate.root for scope in scopes for candidate in self.places.within(scope)]
        whole = set(scoped if self.follows else ())
        # Two folders may have one name, and so one scope: all that records tell of belong to it.
        places = {(ref.kind, ref.scope, ref.mark): ref for ref in refs}.values()
        pairs = [(ref, candidate) for ref in places for candidate in self.places.of(ref)]
        whole |= {candidate.root for ref, candidate in pairs if ref.scope in scopes and not candidate.spare}
        return frozenset(whole), whole | {candidate.root for _, candidate in pairs}


@dataclass(kw_only=True, slots=True)
class _Locked:
    """Satisfies `LockedFiles`. `broken` are folders whose gate cannot be reached, `skipped` files that `faults` spoke of."""

    eraser: MemoryFolders
    whole: frozenset[Root]
    epochs: dict[Root, Epochs] = field(default_factory=dict[Root, Epochs])
    broken: dict[Root, str] = field(default_factory=dict[Root, str])
    skipped: set[tuple[Root, str]] = field(default_factory=set[tuple[Root, str]])

    @property
    def is_empty(self) -> bool:
        return not self.epochs and not self.broken

    async def faults(self, refs: Sequence[FileRef]) -> tuple[Mapping[FileRef, str], Sequence[str]]:
        return await asyncio.to_thread(self._faults, refs)

    async def erase(self, refs: Sequence[FileRef]) -> int:
        count = 0
        # A folder of more files than are listed at once is emptied in several rounds.
        for _ in range(_ROUNDS):
            targets = await asyncio.to_thread(self._targets, refs)
            removals = await asyncio.to_thread(self._take, targets)
            try:
                quotes = [await asyncio.to_thread(erase.thin, removal) for removal in removals]
                paths = [path for removal in removals for path in removal.absolute]
                await self.eraser.drop_jobs(paths, quotes)
            except BaseException:
                await asyncio.to_thread(erase.restore_all, removals)
                raise
            await asyncio.to_thread(_end, removals)
            await self._tell([removal.root for removal in removals if removal.files])
            count += sum(map(_count, removals))
            if not await asyncio.to_thread(_is_more, removals):
                break
        return count

    async def _tell(self, roots: Sequence[Root]) -> None:
        eraser = self.eraser
        for root in roots:
            data: dict[str, Json] = {"scope": "managed", "source": "purge", "touchedScopes": [root.kind]}
            tenant, now = eraser.places.tenant, eraser.clock.now()
            news = News(type="memory_changed", tenant=tenant, at=now, scope=root.scope, data=data)
            await eraser.journal.note(Entries(events=(news,)))

    # ---- what stands in the way

    def _faults(self, refs: Sequence[FileRef]) -> tuple[Mapping[FileRef, str], Sequence[str]]:
        faults: dict[FileRef, str] = {}
        places: dict[tuple[Root, str], list[FileRef]] = {}
        for ref in refs:
            candidates = self._candidates(ref)
            if isinstance(candidates, str):
                faults[ref] = f"{ref.name}: {candidates}"
            for candidate in candidates if not isinstance(candidates, str) else ():
                places.setdefault((candidate.root, ref.path or ""), []).append(ref)
        others: list[str] = []
        for root, targets in self._targets(refs).items():
            reasons = erase.faults(root, targets.values())
            general = [path for path in reasons if path not in targets]
            for path, reason in reasons.items():
                text = f"{root.path / path}: {reason}"
                follow = places.get((root, path), [])
                faults |= dict.fromkeys(follow, text)
                self.skipped.add((root, path))
                others += [] if follow else [text]
            if general:
                # What cannot be read of the history may hold any of them.
                self.skipped |= {(root, path) for path in targets}
                first = f"{root.path / general[0]}: {reasons[general[0]]}"
                faults |= {ref: first for path in targets for ref in places.get((root, path), []) if ref not in faults}
        others += [f"{root.path}: {reason}" for root, reason in self.broken.items() if root in self.whole]
        return faults, others

    def _candidates(self, ref: FileRef) -> list[Candidate] | str:
        """The folders that the file may lie in, or why it cannot be erased."""
        candidates = self.eraser.places.of(ref)
        if not candidates or ref.path is None:
            return OUT_OF_REACH
        for candidate in candidates:
            if candidate.root in self.broken:
                return self.broken[candidate.root]
            if candidate.root not in self.epochs:
                return MOVED
        sure = [candidate for candidate in candidates if not candidate.spare]
        nowhere = not any(candidate.own or _is_there(candidate.root, ref.path) for candidate in sure)
        if nowhere and not ref.gone and ref.line is None:
            return NOT_THERE.format(folder=candidates[0].root.path)
        return candidates

    # ---- what is erased

    def _targets(self, refs: Sequence[FileRef]) -> dict[Root, dict[str, FileTarget]]:
        targets: dict[Root, dict[str, FileTarget]] = {}
        for root in self.whole & self.epochs.keys():
            targets[root] = {target.path: target for target in erase.all_of(root)}
        for ref in refs:
            candidates = self._candidates(ref)
            for candidate in candidates if not isinstance(candidates, str) else ():
                self._add(targets.setdefault(candidate.root, {}), candidate, ref)
        for root, path in self.skipped:
            targets.get(root, {}).pop(path, None)
        return {root: files for root, files in targets.items() if files or root in self.whole}

    def _add(self, targets: dict[str, FileTarget], candidate: Candidate, ref: FileRef) -> None:
        path = ref.path or ""
        before = targets.get(path)
        if before is not None and before.sha256 is None and not before.lines:
            return
        contents = frozenset(() if ref.sha256 is None else (ref.sha256,))
        lines = frozenset(() if ref.line is None else (ref.line,))
        if before is not None:
            contents, lines = contents | (before.sha256 or frozenset()), lines | before.lines
        target = FileTarget(path=path, sha256=contents, lines=lines)
        if not candidate.spare or not erase.fault_of(candidate.root, target):
            targets[path] = target

    def _take(self, targets: Mapping[Root, Mapping[str, FileTarget]]) -> list[Removal]:
        removals: list[Removal] = []
        now = self.eraser.clock.now()
        for root, files in targets.items():
            self.epochs[root].begin()
            everything = root in self.whole and not any(root == other for other, _ in self.skipped)
            try:
                removals.append(erase.take(root, list(files.values()), now, everything=everything))
            except (CommonplaceError, OSError) as error:
                erase.restore_all(removals)
                raise _refused(root, error) from error
        return removals


def _quotes(texts: Sequence[str], paths: Sequence[str], quotes: Sequence[Quotes]) -> bool:
    return any(any(path in text for path in paths) or any(quote.are_in(text) for quote in quotes) for text in texts)


def _end(removals: Sequence[Removal]) -> None:
    for removal in removals:
        erase.end(removal.root, removal.changes)


def _is_more(removals: Sequence[Removal]) -> bool:
    return any(removal.everything and Shelf(removal.root).files() for removal in removals)


def _count(removal: Removal) -> int:
    """Files of entries: the index is none, unless it is a room's own."""
    room = removal.root.kind == "channel"
    return sum(room or file.parts != (INDEX,) for file in removal.files)


def _is_there(root: Root, path: str) -> bool:
    try:
        root.folder.read(tuple(path.split("/")))
    except NotFound:
        return False
    except CommonplaceError:
        return True
    return True


def _refused(root: Root, error: CommonplaceError | OSError) -> PurgeRefused:
    details = error.details if isinstance(error, CommonplaceError) else {}
    path = details.get("path")
    place = root.path / path if isinstance(path, str) else root.path
    reason = error.message if isinstance(error, CommonplaceError) else str(error.strerror)
    name = f"{place}: {reason}"
    return PurgeRefused(f"Nothing was purged: a file cannot be removed: {name}", files=[name])


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in cast("Mapping[str, Json]", value).values() for text in _strings(item)]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []
