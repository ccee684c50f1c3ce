"""What there is, seen as a whole, and the files of managed memory, as the clients have them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Unpack

from commonplace.sdk.calls import census, moving, shelf
from commonplace.sdk.sending import AsyncSender, Sender
from commonplace.values.census import By, Latency, Recalls, ScopeCounts, Tally, Weight
from commonplace.values.moving import ImportReport, Layout, Progress
from commonplace.values.query import Filters
from commonplace.values.record import State
from commonplace.values.scope import Scope, ScopeKind, Scopes
from commonplace.values.shelf import (
    ShelfChange,
    ShelfFiles,
    ShelfName,
    ShelfRecall,
    ShelfText,
    ShelfUndone,
    ShelfWritten,
)


class AsyncSurveyor(AsyncSender):
    async def scopes(self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100) -> ScopeCounts:
        """The scopes that the key reaches and that have `text` in their names, last written first."""
        return await self._run(census.scopes(text, kinds, limit))

    async def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        """How many records fit, by one or two of `source`, `kind`, `scope`, `trust`, `state` and `day`."""
        return await self._run(census.counts(by, scopes, states, filters))

    async def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        """Which of the latest searches showed a record, newest first. Never what was asked."""
        return await self._run(census.recalls(id, limit))

    async def weights(self) -> builtins.list[Weight]:
        """What `weights` of a search may name, with the defaults."""
        return await self._run(census.weights())

    async def latency(self) -> Latency:
        """How long the daemon's recalls of the last hour took."""
        return await self._run(census.latency())

    async def import_files(
        self,
        files: Mapping[str, str],
        *,
        scope: Scope | str = "global",
        format: Layout = "directory",  # noqa: A002 - what the world calls it
        progress: Progress | None = None,
    ) -> ImportReport:
        """Bring in texts by their paths, which are relative: they are sent along, and need not be on the daemon's machine."""
        return await self._run(moving.import_files(files, scope=scope, format=format, progress=progress))

    # ---- files of managed memory

    async def managed_files(self) -> builtins.list[ShelfFiles]:
        """The folders of managed memory that the key reaches, with their files."""
        return await self._run(shelf.survey())

    async def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        """
        The entries of managed memory that fit a question, at most five, and their block for a prompt. What only explains one of
        the `tools` at hand is left out.
        """
        return await self._run(shelf.recall(query, tools, run))

    async def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        """A file as it is, and the `etag` that a write of it needs. Raises PathNotFound."""
        return await self._run(shelf.read(root, path))

    async def write_managed_file(
        self, root: ShelfName, path: str, text: str, *, etag: str | None = None
    ) -> ShelfWritten:
        """
        Change the file that was read with this `etag`, or (None) make one. Raises FilePreconditionFailed, whose details hold the
        `text` and `etag` of the file as it is now.
        """
        return await self._run(shelf.write(root, path, text, etag))

    async def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        """Remove the file that was read with this `etag`. Raises FilePreconditionFailed, PathNotFound."""
        return await self._run(shelf.remove(root, path, etag))

    async def managed_changes(self) -> builtins.list[ShelfChange]:
        """What changed in managed memory and can be undone, newest first."""
        return await self._run(shelf.changes())

    async def undo_managed_change(self, id: str) -> ShelfUndone:
        """Take a change back; files that somebody edited since are left. Raises NothingToUndo."""
        return await self._run(shelf.undo(id))


class Surveyor(Sender):
    def scopes(self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100) -> ScopeCounts:
        """The scopes that the key reaches and that have `text` in their names, last written first."""
        return self._run(census.scopes(text, kinds, limit))

    def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        """How many records fit, by one or two of `source`, `kind`, `scope`, `trust`, `state` and `day`."""
        return self._run(census.counts(by, scopes, states, filters))

    def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        """Which of the latest searches showed a record, newest first. Never what was asked."""
        return self._run(census.recalls(id, limit))

    def weights(self) -> builtins.list[Weight]:
        """What `weights` of a search may name, with the defaults."""
        return self._run(census.weights())

    def latency(self) -> Latency:
        """How long the daemon's recalls of the last hour took."""
        return self._run(census.latency())

    def import_files(
        self,
        files: Mapping[str, str],
        *,
        scope: Scope | str = "global",
        format: Layout = "directory",  # noqa: A002 - what the world calls it
        progress: Progress | None = None,
    ) -> ImportReport:
        """Bring in texts by their paths, which are relative: they are sent along, and need not be on the daemon's machine."""
        return self._run(moving.import_files(files, scope=scope, format=format, progress=progress))

    # ---- files of managed memory

    def managed_files(self) -> builtins.list[ShelfFiles]:
        """The folders of managed memory that the key reaches, with their files."""
        return self._run(shelf.survey())

    def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        """
        The entries of managed memory that fit a question, at most five, and their block for a prompt. What only explains one of
        the `tools` at hand is left out.
        """
        return self._run(shelf.recall(query, tools, run))

    def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        """A file as it is, and the `etag` that a write of it needs. Raises PathNotFound."""
        return self._run(shelf.read(root, path))

    def write_managed_file(self, root: ShelfName, path: str, text: str, *, etag: str | None = None) -> ShelfWritten:
        """
        Change the file that was read with this `etag`, or (None) make one. Raises FilePreconditionFailed, whose details hold the
        `text` and `etag` of the file as it is now.
        """
        return self._run(shelf.write(root, path, text, etag))

    def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        """Remove the file that was read with this `etag`. Raises FilePreconditionFailed, PathNotFound."""
        return self._run(shelf.remove(root, path, etag))

    def managed_changes(self) -> builtins.list[ShelfChange]:
        """What changed in managed memory and can be undone, newest first."""
        return self._run(shelf.changes())

    def undo_managed_change(self, id: str) -> ShelfUndone:
        """Take a change back; files that somebody edited since are left. Raises NothingToUndo."""
        return self._run(shelf.undo(id))
