"""The memory as a program without an event loop sees it: every method of `AsyncMemory`, waited for."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Collection, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO, TypeVar, Unpack

from commonplace.embedded.aio import AsyncMemory, Progress
from commonplace.embedded.background import BackgroundLoop
from commonplace.embedded.opening import Wanted, open_wanted, restore_backup_async
from commonplace.memory.asking import Filters, Scopes
from commonplace.memory.context import ContextBlock
from commonplace.memory.lifecycle import Changes, SuccessorFields
from commonplace.memory.transfer import LoadReport
from commonplace.ports.clock import Clock
from commonplace.ports.embedder import Embedder
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.note import Note
from commonplace.values.query import Hit, Mode, Order, Page
from commonplace.values.record import Json, Record, State, Trust, Turn, Visibility
from commonplace.values.scope import Scope
from commonplace.values.task import ContextMode, MemoryTask, TargetScope
from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep

if TYPE_CHECKING:
    from commonplace.learning.folders import Layout
    from commonplace.learning.imports import ImportReport

T = TypeVar("T")


class Memory:
    """
    One tenant's memory in one store. `open_memory` opens it; any thread may use it.

    Wherever a record's `id` is asked for, its first eight digits or more will do, while only one record has them. A scope
    is written `kind:id`. Every change of a record makes a new version of it; `expected` refuses the change if the record
    is no longer at that version.
    """

    def __init__(self, memory: AsyncMemory, loop: BackgroundLoop) -> None:
        self._memory = memory
        self._loop = loop
        # Whoever forgets to close it has it closed when it is collected, or when the program ends.
        self._end = weakref.finalize(self, _end, memory, loop)

    @property
    def tenant(self) -> str:
        return self._memory.tenant

    @property
    def embedders(self) -> tuple[str, ...]:
        """The names of the embedders by which meaning is searched; none: by words only."""
        return self._memory.embedders

    # ---- write

    def put(  # noqa: PLR0913 - the public door names every field
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
        return self._run(
            self._memory.put(
                text,
                scope=scope,
                key=key,
                kind=kind,
                source=source,
                tags=tags,
                metadata=metadata,
                pinned=pinned,
                importance=importance,
                trust=trust,
                visibility=visibility,
                at=at,
                expires_at=expires_at,
                session=session,
                position=position,
                speaker=speaker,
                run=run,
                message=message,
                file=file,
                expected=expected,
                dedupe=dedupe,
                reason=reason,
            )
        )

    def put_many(self, notes: Sequence[Note], *, dedupe: Literal["near"] | None = None) -> builtins.list[Record]:
        """Remember several things, in order; all of them or none."""
        return self._run(self._memory.put_many(notes, dedupe=dedupe))

    def add_turns(
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
        return self._run(self._memory.add_turns(session, turns, scope=scope, source=source, trust=trust, tags=tags))

    def edit(
        self,
        id: str,
        *,
        clear: Collection[str] = (),
        expected: int | None = None,
        reason: str | None = None,
        **changes: Unpack[Changes],
    ) -> Record:
        """Change the fields named, and empty those in `clear` (`key`, `at`, `expires_at`, `tags`, `metadata`)."""
        return self._run(self._memory.edit(id, clear=clear, expected=expected, reason=reason, **changes))

    # ---- learn

    def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **told: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. By the language model of the settings, else by
        rules; it is waited for in any case.
        """
        return self._run(self._memory.extract(talk, wait=wait, **told))

    def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in Markdown: in the home folder, or with the workspace around the current folder. Where that
        takes longer than 20 seconds, poll the task until it `is_over`. In the mode `clean` no existing memory is looked at.
        """
        return self._run(self._memory.remember_workspace_memory(content, context_mode=context_mode, scope=scope))

    def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """How it goes: as soon as it `is_over`, or after `wait` seconds."""
        return self._run(self._memory.get_workspace_memory_remember_task(id, wait=wait))

    # ---- read

    def search(  # noqa: PLR0913 - the public door names every filter
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
        return self._run(
            self._memory.search(
                text,
                scopes=scopes,
                limit=limit,
                mode=mode,
                kinds=kinds,
                sources=sources,
                tags=tags,
                trust=trust,
                sessions=sessions,
                speaker=speaker,
                pinned=pinned,
                since=since,
                until=until,
                as_of=as_of,
                diversity=diversity,
                weights=weights,
            )
        )

    def get(self, id: str, *, version: int | None = None) -> Record:
        """The record as it is, or as it was in `version`. Raises RecordNotFound, VersionNotFound."""
        return self._run(self._memory.get(id, version=version))

    def list(
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
        return self._run(
            self._memory.list(scopes=scopes, states=states, order=order, limit=limit, cursor=cursor, **filters)
        )

    def history(self, id: str) -> builtins.list[Record]:
        """Every version of a record, oldest first."""
        return self._run(self._memory.history(id))

    # ---- lifecycle

    def pin(self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Pin a record, or unpin it. Pinned records come first, and no rule removes them."""
        return self._run(self._memory.pin(id, pinned, expected=expected, reason=reason))

    def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Delete a record. `undo` brings it back; `purge` removes it for good."""
        return self._run(self._memory.delete(id, expected=expected, reason=reason))

    def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Take the last change back; again, the one before. Raises NothingToUndo."""
        return self._run(self._memory.undo(id, expected=expected, reason=reason))

    def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Share a record, in its scope or in a wider one. Raises SecretRefused, and Conflict where the key is taken."""
        return self._run(self._memory.promote(id, scope=scope, expected=expected, reason=reason))

    def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Keep a record, but take it out of every search."""
        return self._run(self._memory.demote(id, expected=expected, reason=reason))

    def supersede(
        self,
        id: str,
        text: str,
        *,
        expected: int | None = None,
        reason: str | None = None,
        **fields: Unpack[SuccessorFields],
    ) -> Record:
        """Put a new record in the place of this one, and answer it. It takes over the key and what is not named."""
        return self._run(self._memory.supersede(id, text, expected=expected, reason=reason, **fields))

    def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Let a record be found until `at`, or no longer."""
        return self._run(self._memory.expire(id, at, expected=expected, reason=reason))

    def purge(
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
        purging = self._memory.purge(ids=ids, scope=scope, user=user, source=source, leave_files=leave_files)
        return self._run(purging)

    # ---- context

    def context(
        self, query: str, *, scopes: Scopes = None, session: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """A `<memory_context>` block for a prompt: the session so far and what the question recalls, within `budget`."""
        return self._run(self._memory.context(query, scopes=scopes, session=session, budget=budget))

    def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """The `## Agent Memory` and `## Workspace Memory` of a prompt, each within `budget`."""
        return self._run(self._memory.sections(agent=agent, workspace=workspace, budget=budget))

    # ---- files

    def import_folder(
        self,
        path: str | Path,
        *,
        scope: Scope | str = "global",
        format: Layout = "directory",  # noqa: A002 - what the world calls it
        sync_deletes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Bring in a folder of Markdown and text files, or OpenClaw's memory. Unchanged files are left alone."""
        return self._run(
            self._memory.import_folder(path, scope=scope, format=format, sync_deletes=sync_deletes, progress=progress)
        )

    def export(self, target: str | Path | TextIO, *, scopes: Scopes = None, progress: Progress | None = None) -> int:
        """Write all records with all their versions as JSON Lines, and answer how many."""
        return self._run(self._memory.export(target, scopes=scopes, progress=progress))

    def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """Read what `export` wrote, here or elsewhere."""
        return self._run(self._memory.load(source, progress=progress))

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a copy of the whole store, every tenant, while others go on writing. `target` must not exist."""
        self._run(self._memory.backup(target, progress=progress))

    # ---- upkeep

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were."""
        return self._run(self._memory.reindex(progress=progress))

    def stats(self) -> Stats:
        return self._run(self._memory.stats())

    def check(self) -> builtins.list[Finding]:
        """Look for faults in the store and its embedders, without changing anything."""
        return self._run(self._memory.check())

    def rules(self) -> builtins.list[Rule]:
        """How long the records of which scopes are kept."""
        return self._run(self._memory.rules())

    def set_rule(self, rule: Rule) -> None:
        """Keep a rule for its scope; one without limits lifts the rule before."""
        self._run(self._memory.set_rule(rule))

    def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        """
        Delete what has expired and what the rules no longer keep; undo brings it back. Deleted records that are older
        than `purge_after` are removed for good; None keeps them.
        """
        return self._run(self._memory.tidy(purge_after=purge_after))

    def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        """What `tidy` and `reindex` did, newest first."""
        return self._run(self._memory.upkeep_log(since=since, limit=limit))

    def close(self) -> None:
        """Close the store. A second time does nothing."""
        if self._end.detach() is None:
            return
        try:
            self._run(self._memory.aclose())
        finally:
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)


def open_memory(
    address: str | Path | None = None,
    *,
    tenant: str | None = None,
    embedder: str | Embedder | Sequence[Embedder] | None = None,
    create: bool = True,
    actor: str | None = None,
    clock: Clock | None = None,
    reindex: bool = False,
) -> Memory:
    """
    Open a memory: a file, made where there is none unless `create` is False; a `postgresql://` address; or `:memory:`, gone
    when it is closed. Without an address it is the one of the settings, else `memory.db` in the home folder.

    `embedder` is one, several, or how they are written (`static`, `none`, `openai:MODEL@URL`, with commas between). Left
    out, a store keeps those it was made with; a new one takes the static table that comes with the package. `reindex`
    lets a store take other embedders than its own. `actor` is named in every version written here.

    Raises:
        PathNotFound, NotAStore, StoreTooNew, StoreReadOnly, StoreUnavailable: the store cannot be opened.
        EmbedderChanged: the store was made with other embedders.
    """
    loop = BackgroundLoop()
    wanted = Wanted(
        address=address, tenant=tenant, embedder=embedder, create=create, actor=actor, clock=clock, reindex=reindex
    )
    try:
        return Memory(loop.run(open_wanted(wanted)), loop)
    except BaseException:
        loop.stop()
        raise


def restore_backup(
    source: str | Path, address: str | Path, *, progress: Progress | None = None, clock: Clock | None = None
) -> None:
    """
    Make the store at `address`, which must be new or empty, what the backup `source` holds.

    Raises:
        PathNotFound: there is no such backup, or no folder for the store.
        InvalidFile: the backup is damaged or of another kind of store, or the store is not empty.
    """
    loop = BackgroundLoop()
    try:
        loop.run(restore_backup_async(source, address, progress=progress, clock=clock))
    finally:
        loop.stop()


def _end(memory: AsyncMemory, loop: BackgroundLoop) -> None:
    loop.abandon(memory.aclose())
