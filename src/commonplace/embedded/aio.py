"""The memory as a program sees it, for programs with an event loop. `commonplace.embedded.sync` is its twin without."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, TextIO, TypeAlias, Unpack, get_args

from commonplace.embedded.choice import Chosen
from commonplace.embedded.configuration import Configuration
from commonplace.embedded.files import HomeFiles
from commonplace.embedded.learner import AsyncLearner
from commonplace.embedded.store import Opened
from commonplace.errors import InvalidInput, InvalidQuery, StoreClosed, VersionNotFound
from commonplace.learning.guard import Guard, GuardedStore
from commonplace.memory.asking import Filters, Scopes, filter_of, path_of, resolve, scopes_of, texts
from commonplace.memory.context import ContextBlock, Contexts
from commonplace.memory.hygiene import Hygiene
from commonplace.memory.indexing import check_embedders, reindex
from commonplace.memory.lifecycle import Changes, Lifecycle, SuccessorFields
from commonplace.memory.prepare import Preparer
from commonplace.memory.purging import Purger
from commonplace.memory.recall import Recall
from commonplace.memory.transfer import LoadReport, Transfer
from commonplace.memory.write import Telling, Writer
from commonplace.ports.clock import Clock
from commonplace.ports.store import MemoryStore
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.query import Hit, Mode, Order, Page, Query
from commonplace.values.record import Json, Provenance, Record, State, Trust, Turn, Visibility
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep

if TYPE_CHECKING:
    from commonplace.learning.folders import Layout
    from commonplace.learning.imports import ImportReport

Progress: TypeAlias = Callable[[int, int], None]
MAX_PAGE: Final = 1_000_000


class AsyncMemory(AsyncLearner):
    """
    One tenant's memory in one store. `open_memory_async` opens it.

    Wherever a record's `id` is asked for, its first eight digits or more will do, while only one record has them. A scope
    is written `kind:id`. Every change of a record makes a new version of it; `expected` refuses the change if the record
    is no longer at that version.
    """

    def __init__(
        self, opened: Opened, chosen: Chosen, clock: Clock, tenant: str, actor: str | None, settings: Configuration
    ) -> None:
        store, count = opened.store, chosen.count
        preparer = Preparer(chosen.embedders, count)
        self._opened = opened
        self._chosen = chosen
        self._stale = chosen.stale
        self._closed = False
        self._clock = clock
        self._tenant = tenant
        self._actor = actor
        self._settings = settings
        self._held_store = store
        self._preparer = preparer
        self._recall = Recall(store, chosen.embedders, clock, tenant, settings.cache_bytes)
        # Whoever opens the store may review, too.
        guard = Guard(
            store=store,
            clock=clock,
            tenant=tenant,
            actor=actor,
            reviews=True,
            quotas=opened.store,
            limits=settings.limits,
        )
        self._guarded = GuardedStore(guard)
        self._writer = Writer(self._guarded, store, preparer, clock, tenant)
        self._lifecycle = Lifecycle(self._guarded, preparer, clock, tenant, actor)
        self._contexts = Contexts(store, self._recall, tenant, count)
        self._transfer = Transfer(self._guarded, preparer, clock, tenant)
        self._purger = Purger(store, store, tenant, count, HomeFiles(store, clock))
        self._hygiene = Hygiene(store, clock, tenant, actor, remove=partial(self._purger.remove, on_fault="spare"))

    @property
    def tenant(self) -> str:
        return self._tenant

    @property
    def embedders(self) -> tuple[str, ...]:
        """The names of the embedders by which meaning is searched; none: by words only."""
        return tuple(embedder.name for embedder in self._chosen.embedders)

    # ---- write

    async def put(  # noqa: PLR0913 - the public door names every field
        self,
        text: str,
        *,
        scope: Scope | str = "global",
        key: str | None = None,
        kind: str = "note",
        source: str = "manual",
        tags: Sequence[str] = (),
        metadata: Mapping[str, Json] | None = None,
        pinned: bool | None = None,
        importance: int | None = None,
        trust: Trust = "system_generated",
        visibility: Visibility = "private",
        at: datetime | None = None,
        expires_at: datetime | None = None,
        session: str | None = None,
        position: int | None = None,
        speaker: str | None = None,
        run: str | None = None,
        message: str | None = None,
        file: str | None = None,
        expected: int | None = None,
        dedupe: Literal["near"] | None = None,
        reason: str | None = None,
    ) -> Record:
        """
        Remember one thing, and answer the record.

        Under a `key` that the scope has already, it becomes the next version of that record; `pinned` and `importance` of
        None then stay as they are. With `dedupe="near"` a text that is nearly there already is not stored again.
        """
        note = Note(
            text=text,
            scope=scope,
            key=key,
            kind=kind,
            source=source,
            tags=texts("tags", tags),
            metadata=metadata or {},
            pinned=pinned,
            importance=importance,
            trust=trust,
            visibility=visibility,
            at=at,
            expires_at=expires_at,
            session=session,
            position=position,
            speaker=speaker,
            provenance=Provenance(run=run, message=message, file=file),
            expected=expected,
            reason=reason,
        )
        return (await self.put_many([note], dedupe=dedupe))[0]

    async def put_many(self, notes: Sequence[Note], *, dedupe: Literal["near"] | None = None) -> builtins.list[Record]:
        """Remember several things, in order; all of them or none."""
        self._check_open()
        return [written.record for written in await self._writer.put(notes, dedupe=dedupe, actor=self._actor)]

    async def add_turns(
        self,
        session: str,
        turns: Sequence[Turn],
        *,
        scope: Scope | str = "global",
        source: str = "turn",
        trust: Trust = "system_generated",
        tags: Sequence[str] = (),
    ) -> builtins.list[Record]:
        """
        Remember what was said, one record a turn, in order. A turn told before, which is one with the same session, time,
        speaker and text, is not stored twice: give each turn its time, or the same words said again later are not kept.
        """
        self._check_open()
        told = Telling(session=session, scope=scope, source=source, trust=trust, tags=texts("tags", tags))
        return [written.record for written in await self._writer.add_turns(told, turns, actor=self._actor)]

    async def edit(
        self,
        id: str,
        *,
        clear: Collection[str] = (),
        expected: int | None = None,
        reason: str | None = None,
        **changes: Unpack[Changes],
    ) -> Record:
        """Change the fields named, and empty those in `clear` (`key`, `at`, `expires_at`, `tags`, `metadata`)."""
        full = await self._resolve(id)
        return await self._lifecycle.edit(full, changes, clear=clear, expected=expected, reason=reason)

    # ---- read

    async def search(  # noqa: PLR0913 - the public door names every filter
        self,
        text: str,
        *,
        scopes: Scopes = None,
        limit: int = 10,
        mode: Mode = "hybrid",
        kinds: Sequence[str] = (),
        sources: Sequence[str] = (),
        tags: Sequence[str] = (),
        trust: Sequence[Trust] = (),
        sessions: Sequence[str] = (),
        speaker: str | None = None,
        pinned: bool | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        diversity: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> builtins.list[Hit]:
        """
        What answers the question, best first, each hit with its reasons (`hit.why`).

        `scopes` None reads every scope. `as_of` searches the memory as it stood at that moment.
        """
        await self._ready()
        filters: Filters = {"kinds": kinds, "sources": sources, "tags": tags, "trust": trust, "sessions": sessions}
        filters |= {"speaker": speaker, "pinned": pinned, "since": since, "until": until}
        query = Query(
            text=text,
            filter=filter_of(scopes, ("live",), filters),
            limit=limit,
            mode=mode,
            as_of=utc(as_of) if as_of else None,
            diversity=diversity,
            weights=weights or {},
        )
        return await self._recall.search(query)

    async def get(self, id: str, *, version: int | None = None) -> Record:
        """The record as it is, or as it was in `version`. Raises RecordNotFound, VersionNotFound."""
        full = await self._resolve(id)
        if version is None:
            return (await self._store.get(self._tenant, [full]))[0]
        for record in await self._store.history(self._tenant, full):
            if record.version == version:
                return record
        raise VersionNotFound(id=full, version=version)

    async def list(
        self,
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        order: Order = "newest",
        limit: int = 100,
        cursor: str | None = None,
        **filters: Unpack[Filters],
    ) -> Page:
        """Records, a page at a time; the page's `cursor` gets the next one."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidInput(f"A page has 1 to {MAX_PAGE:,} records.")
        if order not in get_args(Order):
            raise InvalidQuery(f"{order!r:.40} is no order. Use one of {', '.join(get_args(Order))}.")
        wanted = filter_of(scopes, states, filters)
        return await self._store.find(self._tenant, wanted, order, limit, cursor)

    async def history(self, id: str) -> builtins.list[Record]:
        """Every version of a record, oldest first."""
        return await self._store.history(self._tenant, await self._resolve(id))

    # ---- lifecycle

    async def pin(
        self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Pin a record, or unpin it. Pinned records come first, and no rule removes them."""
        return await self._lifecycle.pin(await self._resolve(id), pinned, expected=expected, reason=reason)

    async def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Delete a record. `undo` brings it back; `purge` removes it for good."""
        return await self._lifecycle.delete(await self._resolve(id), expected=expected, reason=reason)

    async def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Take the last change back; again, the one before. Raises NothingToUndo."""
        return await self._lifecycle.undo(await self._resolve(id), expected=expected, reason=reason)

    async def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Share a record, in its scope or in a wider one. Raises SecretRefused, and Conflict where the key is taken."""
        target = None if scope is None else Scope.parse(scope)
        full = await self._resolve(id)
        return await self._lifecycle.promote(full, scope=target, expected=expected, reason=reason)

    async def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Keep a record, but take it out of every search."""
        return await self._lifecycle.demote(await self._resolve(id), expected=expected, reason=reason)

    async def supersede(
        self,
        id: str,
        text: str,
        *,
        expected: int | None = None,
        reason: str | None = None,
        **fields: Unpack[SuccessorFields],
    ) -> Record:
        """Put a new record in the place of this one, and answer it. It takes over the key and what is not named."""
        full = await self._resolve(id)
        return await self._lifecycle.supersede(full, text, fields, expected=expected, reason=reason)

    async def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Let a record be found until `at`, or no longer."""
        return await self._lifecycle.expire(await self._resolve(id), at, expected=expected, reason=reason)

    async def purge(
        self,
        *,
        ids: Sequence[str] = (),
        scope: Scope | str | None = None,
        user: str | None = None,
        source: str | None = None,
        leave_files: bool = False,
    ) -> Purged:
        """
        Remove for good, every version and every trace: records, a scope, a source, or all that comes from a user (in
        their scope, said or written by them). Name exactly one. A file of managed memory that they follow goes with them; where it
        cannot be removed, nothing is (PurgeRefused), or with `leave_files` it stays and is named in the answer.
        """
        full = [await self._resolve(id) for id in texts("ids", ids)]
        if full:
            await self._store.get(self._tenant, full)
        target = None if scope is None else Scope.parse(scope)
        return await self._purger.purge(ids=full, scope=target, user=user, source=source, leave_files=leave_files)

    # ---- context

    async def context(
        self, query: str, *, scopes: Scopes = None, session: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """A `<memory_context>` block for a prompt: the session so far and what the question recalls, within `budget`."""
        await self._ready()
        room = self._settings.token_budget if budget is None else budget
        return await self._contexts.context(query, scopes=scopes_of(scopes), session=session, budget=room)

    async def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """The `## Agent Memory` and `## Workspace Memory` of a prompt, each within `budget`."""
        self._check_open()
        room = self._settings.token_budget if budget is None else budget
        return await self._contexts.sections(agent=agent, workspace=workspace, budget=room)

    # ---- files

    async def import_folder(
        self,
        path: str | Path,
        *,
        scope: Scope | str = "global",
        format: Layout = "directory",  # noqa: A002 - what the world calls it
        sync_deletes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Bring in a folder of Markdown and text files, or OpenClaw's memory. Unchanged files are left alone."""
        # What reads a .gitignore loads slowly, and few programs import folders.
        from commonplace.learning.imports import Importer  # noqa: PLC0415

        count = self._chosen.count
        importer = Importer(self._store, self._writer, self._clock, self._tenant, self._actor, count)
        return await importer.import_path(
            path_of(path), scope=Scope.parse(scope), layout=format, sync_deletes=sync_deletes, progress=progress
        )

    async def export(
        self, target: str | Path | TextIO, *, scopes: Scopes = None, progress: Progress | None = None
    ) -> int:
        """Write all records with all their versions as JSON Lines, and answer how many."""
        wanted = scopes_of(scopes)
        total = (await self.stats()).records if progress and wanted is None else 0
        where = path_of(target) if isinstance(target, str | Path) else target
        return await self._transfer.export(where, scopes=wanted, total=total, progress=progress)

    async def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """Read what `export` wrote, here or elsewhere."""
        self._check_open()
        where = path_of(source) if isinstance(source, str | Path) else source
        return await self._transfer.load(where, progress=progress)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a copy of the whole store, every tenant, while others go on writing. `target` must not exist."""
        await self._store.backup(path_of(target), progress)

    # ---- upkeep

    async def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were."""
        count = await reindex(self._store, self._preparer, self._tenant, progress)
        self._stale = False
        self._recall.forget_cache()
        told = f"with {', '.join(self.embedders) or 'words only'}"
        entry = Upkeep(at=self._clock.now(), action="reindexed", scope="all", records=count, detail=told)
        await self._store.log(self._tenant, [entry])
        return count

    async def stats(self) -> Stats:
        return await self._store.stats(self._tenant)

    async def check(self) -> builtins.list[Finding]:
        """Look for faults in the store and its embedders, without changing anything."""
        store = self._store
        return [*await store.check(), *await check_embedders(store, self._chosen.embedders)]

    async def rules(self) -> builtins.list[Rule]:
        """How long the records of which scopes are kept."""
        self._check_open()
        return await self._hygiene.rules()

    async def set_rule(self, rule: Rule) -> None:
        """Keep a rule for its scope; one without limits lifts the rule before."""
        self._check_open()
        await self._hygiene.set_rule(rule)

    async def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        """
        Delete what has expired and what the rules no longer keep; undo brings it back. Deleted records that are older
        than `purge_after` are removed for good; None keeps them.
        """
        self._check_open()
        return await self._hygiene.tidy(purge_after=purge_after)

    async def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        """What `tidy` and `reindex` did, newest first."""
        self._check_open()
        return await self._hygiene.log(since=utc(since) if since else None, limit=limit)

    async def aclose(self) -> None:
        """Close the store. A second time does nothing."""
        if self._closed:
            return
        try:
            await self._ready()
        finally:
            self._closed = True
            await self._unlearn()
            await self._recall.aclose()
            for embedder in self._chosen.own:
                await embedder.aclose()
            await self._opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def _store(self) -> MemoryStore:
        self._check_open()
        return self._held_store

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed

    async def _ready(self) -> None:
        """A store that took other embedders is reindexed before it is searched, and at the latest when it is closed."""
        self._check_open()
        if self._stale:
            await self.reindex()

    async def _resolve(self, id: str) -> str:
        return await resolve(self._store, self._tenant, id)
