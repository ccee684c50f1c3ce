# Generated from async_client.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The client of a daemon. Each method makes a request (`calls`) and has the connection send it."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TextIO, TypeVar, Unpack

from commonplace.errors import InvalidInput
from commonplace.sdk.agent import DaemonAgent
from commonplace.sdk.calls import extraction, recall, records, transfer
from commonplace.sdk.catalog import DaemonCatalog
from commonplace.sdk.documents import (
    changed,
    document,
    file_path,
    given,
    named,
    named_scopes,
    part,
    query,
    record_path,
    reviewed,
    texts,
)
from commonplace.sdk.event_listener import EventListener
from commonplace.sdk.history import DaemonHistory
from commonplace.sdk.knowledge import Knowledge
from commonplace.sdk.lines import MEDIA_TYPE, Arriving, opened_source, opened_target
from commonplace.sdk.talk import Call, asked
from commonplace.sdk.threads import plain_call
from commonplace.values.approval import Approval, ApprovalKind, ApprovalPage, ApprovalState
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.capability import CapabilityFields, IssuedCapability
from commonplace.values.census import By, Latency, Recalls, ScopeCounts, Tally, Weight
from commonplace.values.changes import Changes, SuccessorFields
from commonplace.values.context import ContextBlock
from commonplace.values.embedder import EmbedderStatus
from commonplace.values.event import Heard
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.layer import LayerChoice, LayerName
from commonplace.values.member import Member
from commonplace.values.note import Note
from commonplace.values.principal import Key, Principal, Role, User
from commonplace.values.query import Filter, Filters, Hit, Mode, Order, Page
from commonplace.values.record import Json, Provenance, Record, State, Trust, Turn, Visibility
from commonplace.values.review import Origin, RolledBack, WaitingPage
from commonplace.values.scope import Scope, ScopeKind, Scopes
from commonplace.values.seal import SealState
from commonplace.values.shelf import (
    ShelfChange,
    ShelfFiles,
    ShelfName,
    ShelfRecall,
    ShelfText,
    ShelfUndone,
    ShelfWritten,
)
from commonplace.values.task import ContextMode, MemoryTask, TargetScope
from commonplace.values.transfer import ExportCount, ImportFields, ImportOptions, ImportReport, LoadReport, Progress
from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep
from commonplace.values.usage import Budget
from commonplace.wire.budgets import BudgetAnswer
from commonplace.wire.census import LatencyAnswer, ScopesAnswer, WeightsAnswer
from commonplace.wire.extraction import LearningsAnswer
from commonplace.wire.maintenance import FindingsAnswer, LogAnswer, ReindexedAnswer, RulesAnswer
from commonplace.wire.people import (
    CodeAnswer,
    KeysAnswer,
    MeAnswer,
    MembersAnswer,
    NewKeyAnswer,
    NewUserAnswer,
    UsersAnswer,
)
from commonplace.wire.queries import AuditFilter
from commonplace.wire.review import ReleasedAnswer, RollbackBody
from commonplace.wire.shapes import reader
from commonplace.wire.shelf import ShelfChangesAnswer, ShelvesAnswer

T = TypeVar("T")


class Client(DaemonCatalog, Knowledge, DaemonHistory, DaemonAgent):
    """
    A daemon's memory, with the methods of `Memory`. Errors are those that the daemon met, of the same class.

    `url`, `token` and `tenant` come from the environment where they are not given (COMMONPLACE_URL, COMMONPLACE_TOKEN); on this
    machine the token of the home folder will do. A request is sent again, a few times and with pauses, where the connection
    fails or the daemon is busy, and only if that cannot do anything twice.
    """

    # ---- write

    def put(  # noqa: PLR0913 - the public door names every field
        self,
        text: str,
        *,
        scope: Scope | str = "global",
        key: str | None = None,
        kind: str | None = None,
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

        Under a `key` that the scope has already, it becomes the next version of that record; `kind`, `pinned` and `importance`
        of None then stay as they are. With `dedupe="near"` a text that is nearly there already is not stored again.
        """
        note = Note(
            text=text,
            scope=scope,
            key=key,
            kind=kind,
            source=source,
            tags=tuple(texts(tags)),
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
        return self._daemon.ask(records.put(note, dedupe))

    def put_many(self, notes: Sequence[Note], *, dedupe: Literal["near"] | None = None) -> builtins.list[Record]:
        """Remember several things, at most 1,000, in order; all of them or none."""
        return self._daemon.ask(records.put_many(notes, dedupe))

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
        return self._daemon.ask(records.add_turns(session, turns, scope=scope, source=source, trust=trust, tags=tags))

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
        return self._daemon.ask(records.edit(id, changes, clear=clear, expected=expected, reason=reason))

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
        everyone: bool = False,
        layer: LayerName | None = None,
        budget: int | None = None,
        min_relevance: float = 0.0,
        copies: bool = False,
    ) -> builtins.list[Hit]:
        """
        What fits the question, best first, each hit with its reasons (`hit.why`) and the chance that it answers (`hit.relevance`). If no hit is
        `relevant`, no memory answers the question; hits below `min_relevance` are left out. Of
        records that say the same one is shown, the others are its `evidence`; `copies` shows each.

        `scopes` None reads what is shared and what is the caller's own; with `everyone`, which is for admins, other people's
        memory, too. `as_of` searches the memory as it stood at that moment. With a
        `layer` each hit has that text in `hit.layer`; a `budget` of tokens for all of them shortens it and ends the list.
        """
        filters: Filters = {"kinds": kinds, "sources": sources, "tags": tags, "trust": trust, "sessions": sessions}
        filters |= {"speaker": speaker, "pinned": pinned, "since": since, "until": until, "everyone": everyone}
        filter = Filter.parse(scopes, ("live",), filters)
        options = {"limit": limit, "mode": mode, "as_of": as_of, "diversity": diversity, "weights": weights}
        options |= {"layer": layer, "budget": budget, "min_relevance": min_relevance or None, "copies": copies or None}
        return self._daemon.ask(recall.search(text, filter, options))

    def get(self, id: str, *, version: int | None = None) -> Record:
        """The record as it is, or as it was in `version`. Raises RecordNotFound, VersionNotFound."""
        return self._daemon.ask(records.get(id, version))

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
        return self._daemon.ask(records.listing(scopes, states, order, limit, cursor, filters))

    def history(self, id: str) -> builtins.list[Record]:
        """Every version of a record, oldest first."""
        return self._daemon.ask(records.history(id))

    # ---- lifecycle

    def pin(self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Pin a record, or unpin it. Pinned records come first, and no rule removes them."""
        return self._daemon.ask(records.change(id, "pin", expected=expected, reason=reason, fields={"pinned": pinned}))

    def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Delete a record. `undo` brings it back; `purge` removes it for good."""
        return self._daemon.ask(records.delete(id, expected=expected, reason=reason))

    def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Take the last change back; again, the one before. Raises NothingToUndo."""
        return self._daemon.ask(records.change(id, "undo", expected=expected, reason=reason))

    def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Share a record, in its scope or in a wider one. Raises SecretRefused, and Conflict where the key is taken."""
        return self._daemon.ask(
            records.change(id, "promote", expected=expected, reason=reason, fields={"scope": scope})
        )

    def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Keep a record, but take it out of every search."""
        return self._daemon.ask(records.change(id, "demote", expected=expected, reason=reason))

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
        return self._daemon.ask(records.supersede(id, text, fields, expected=expected, reason=reason))

    def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Let a record be found until `at`, or no longer."""
        return self._daemon.ask(records.expire(id, at, expected=expected, reason=reason))

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
        their scope, said or written by them, and their sessions). Name exactly one. A file of managed memory that they follow goes with them; where it
        cannot be removed, nothing is (PurgeRefused), or with `leave_files` it stays and is named in the answer.
        """
        purging = records.purge(ids=ids, scope=scope, user=user, source=source, leave_files=leave_files)
        return self._daemon.ask(purging)

    # ---- statistics

    def scopes(
        self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100, everyone: bool = False
    ) -> ScopeCounts:
        """The scopes, shared and one's own, that have `text` in their names, last written first."""
        params = {"q": text or None, "kind": kinds, "limit": limit, "everyone": everyone or None}
        return (self._get("/v1/scopes", ScopesAnswer, params)).value()

    def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        """How many records fit, by one or two of `source`, `kind`, `scope`, `trust`, `state` and `day`."""
        return self._daemon.ask(records.counts(by, scopes, states, filters))

    def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        """Which of the latest searches showed a record, newest first. Never what was asked."""
        return self._get(record_path(id, "recalls"), Recalls, {"limit": limit})

    def weights(self) -> builtins.list[Weight]:
        """What `weights` of a search may name, with the defaults."""
        return builtins.list((self._get("/v1/weights", WeightsAnswer)).weights)

    def latency(self) -> Latency:
        """How long the daemon's recalls of the last hour took."""
        return (self._get("/v1/latency", LatencyAnswer)).value()

    # ---- context

    def context(
        self,
        query: str,
        *,
        scopes: Scopes = None,
        session: str | None = None,
        budget: int | None = None,
        everyone: bool = False,
        layer: LayerChoice | None = None,
        min_relevance: float | None = None,
    ) -> ContextBlock:
        """
        A `<memory_context>` block for a prompt: the session so far and the memories that answer the question, within `budget`; empty if there are
        none. With `min_relevance`, all that are at least so relevant. `scopes` and `everyone` as in a search. Each memory is told by its passage, or by `layer`; `auto` is the fullest layer that fits.
        """
        options = {"session": session, "budget": budget, "everyone": everyone or None, "layer": layer}
        options |= {"min_relevance": min_relevance}
        return self._daemon.ask(recall.context(query, scopes, options))

    def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """The `## Agent Memory` and `## Workspace Memory` of a prompt, each within `budget`."""
        return self._daemon.ask(recall.sections(agent=agent, workspace=workspace, budget=budget))

    # ---- files

    def import_folder(
        self,
        path: str | Path,
        *,
        sync_deletes: bool = False,
        progress: Progress | None = None,
        **fields: Unpack[ImportFields],
    ) -> ImportReport:
        """Bring in a folder of Markdown and text files, or OpenClaw's memory, of the machine the daemon runs on."""
        options = ImportOptions.of(fields, sync_deletes=sync_deletes)
        return self._daemon.ask(transfer.import_folder(path, fields.get("scope", "global"), options, progress))

    def import_files(
        self, files: Mapping[str, str], *, progress: Progress | None = None, **fields: Unpack[ImportFields]
    ) -> ImportReport:
        """Bring in texts by their paths, which are relative: they are sent along, and need not be on the daemon's machine."""
        scope, options = fields.get("scope", "global"), ImportOptions.of(fields)
        return self._daemon.ask(transfer.import_files(files, scope, options, progress))

    def export(
        self,
        target: str | Path | TextIO,
        *,
        scopes: Scopes = None,
        everyone: bool = False,
        progress: Progress | None = None,
    ) -> ExportCount:
        """
        Write records with all their versions as JSON Lines; how many, and what was `unreadable`. `scopes` and `everyone` as in a
        search: only an admin's export of everyone's memory is the whole.
        """
        params = query({"scope": named_scopes(scopes), "everyone": everyone or None})
        total = (self.stats(everyone=everyone)).records if progress and scopes is None else 0
        with opened_target(target) as stream:
            arriving = Arriving(stream, total, progress)
            self._daemon.download("/v1/export", params, arriving.take)
            return plain_call(arriving.end)

    def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """Read what `export` wrote, here or elsewhere."""
        with opened_source(source, progress) as parts:
            return reader(LoadReport)(self._daemon.upload("/v1/load", parts, MEDIA_TYPE))

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Not over the network: a store is backed up where it is. Raises InvalidInput."""
        del target, progress
        raise InvalidInput(transfer.NO_BACKUP)

    # ---- talk becomes memory

    def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **fields: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. Without `wait` the answer says which job does it.
        """
        return self._daemon.ask(extraction.extract(talk, fields, wait=wait))

    def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        """Keep what a director learned in a run of these agents, with the first of them."""
        return self._send(
            "POST", "/v1/agents/learnings", Record, given({"agents": [*agents], "learning": learning, "run": run})
        )

    def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        """What was learned in runs of these agents, the newest 20."""
        return builtins.list((self._get("/v1/agents/learnings", LearningsAnswer, {"agent": [*agents]})).learnings)

    # ---- upkeep

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were. For the operator."""
        del progress
        return (self._send("POST", "/v1/reindex", ReindexedAnswer, endless=True)).texts

    def use_embedder(self, name: str) -> EmbedderStatus:
        """
        Have the daemon change over to other embedders, `gte-small` for instance, in the background; `embedder_status` says how far it is.
        Searches go on with the old ones until the new ones know every text. For the operator.
        """
        return self._send("POST", "/v1/embedder", EmbedderStatus, {"embedder": name})

    def embedder_status(self) -> EmbedderStatus:
        """Which embedders answer, and how far the store is with a change to others."""
        return self._get("/v1/embedder", EmbedderStatus)

    def stats(self, *, everyone: bool = False) -> Stats:
        """How much there is, and in which scopes: of what is shared and one's own, or (for admins) of everyone's."""
        return self._get("/v1/stats", Stats, {"everyone": everyone or None})

    def check(self) -> builtins.list[Finding]:
        """Look for faults in the store and its embedders, without changing anything."""
        return builtins.list((self._get("/v1/check", FindingsAnswer)).findings)

    def rules(self) -> builtins.list[Rule]:
        """How long the records of which scopes are kept."""
        return builtins.list((self._get("/v1/rules", RulesAnswer)).rules)

    def set_rule(self, rule: Rule) -> None:
        """Keep a rule for its scope; one without limits lifts the rule before."""
        limits = {"scope": rule.scope, "max_age": rule.max_age, "max_records": rule.max_records}
        self._send("PUT", "/v1/rules", RulesAnswer, changed(limits))

    def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        """Delete what expired or the rules no longer keep (undoable); purge what was deleted `purge_after` ago or longer."""
        body = changed({"purge_after": purge_after})
        return builtins.list((self._send("POST", "/v1/tidy", LogAnswer, body, endless=True)).log)

    def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        """What `tidy` and `reindex` did, newest first."""
        return builtins.list((self._get("/v1/upkeep", LogAnswer, {"since": since, "limit": limit})).log)

    # ---- files of managed memory

    def managed_files(self) -> builtins.list[ShelfFiles]:
        """The folders of managed memory that the key reaches, with their files."""
        return builtins.list((self._get("/v1/managed", ShelvesAnswer)).roots)

    def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        """Entries of managed memory that fit a question, at most five; not what only explains one of the `tools`."""
        body = changed({"query": query, "tools": texts(tools), "run": run})
        return self._send("POST", "/v1/managed/recall", ShelfRecall, body, reads=True)

    def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        """A file as it is, and the `etag` that a write of it needs. Raises PathNotFound."""
        return self._get(file_path(root, path), ShelfText)

    def write_managed_file(self, root: ShelfName, path: str, text: str, *, etag: str | None = None) -> ShelfWritten:
        """
        Change the file that was read with this `etag`, or (None) make one. Raises FilePreconditionFailed, whose details hold the
        `text` and `etag` of the file as it is now.
        """
        condition = ("If-None-Match", "*") if etag is None else ("If-Match", etag)
        return self._send("PUT", file_path(root, path), ShelfWritten, changed({"text": text}), condition=condition)

    def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        """Remove the file that was read with this `etag`. Raises FilePreconditionFailed, PathNotFound."""
        return self._send("DELETE", file_path(root, path), ShelfWritten, condition=("If-Match", etag))

    def move_managed_file(self, root: ShelfName, path: str, *, to: ShelfName) -> ShelfWritten:
        """File an entry in the other memory, the person's own or the workspace's. Raises PathNotFound, FactRefused, InvalidScope."""
        return self._send("POST", "/v1/managed/move", ShelfWritten, {"root": root, "path": path, "to": to})

    def managed_changes(self) -> builtins.list[ShelfChange]:
        """What changed in managed memory and can be undone, newest first."""
        return builtins.list((self._get("/v1/managed/changes", ShelfChangesAnswer)).changes)

    def undo_managed_change(self, id: str) -> ShelfUndone:
        """Take a change back; files that somebody edited since are left. Raises NothingToUndo."""
        return self._send("POST", f"/v1/managed/changes/{part(id)}/undo", ShelfUndone)

    # ---- the Markdown of the daemon's workspace

    def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in the daemon's Markdown. Look at the task until it `is_over`. In the mode `clean` no
        existing memory is looked at.
        """
        body = given({"content": content, "context_mode": context_mode, "scope": scope})
        return self._send("POST", "/v1/remember", MemoryTask, body)

    def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """
        How it goes: as soon as it `is_over`, or after `wait` seconds, at most 30. Only for the client id that asked. A daemon that
        cannot wait answers at once, so pause before you ask again.
        """
        return self._get(f"/v1/remember/{part(id)}", MemoryTask, waits=wait)

    def forget_workspace_memory(self, query: str, *, scope: TargetScope | None = None) -> MemoryTask:
        """Have entries removed that are about `query`, at most five."""
        return self._send("POST", "/v1/forget", MemoryTask, given({"query": query, "scope": scope}))

    def get_workspace_memory_forget_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """As for a fact that was handed over."""
        return self._get(f"/v1/forget/{part(id)}", MemoryTask, waits=wait)

    def dream_workspace_memory(self) -> MemoryTask:
        """Have entries that say nearly the same made one."""
        return self._send("POST", "/v1/dream", MemoryTask)

    def get_workspace_memory_dream_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """As for a fact that was handed over."""
        return self._get(f"/v1/dream/{part(id)}", MemoryTask, waits=wait)

    # ---- review

    def review(
        self,
        *,
        scopes: Scopes = None,
        source: str | None = None,
        session: str | None = None,
        rejected: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> WaitingPage:
        """What is in quarantine, or what was `rejected`, newest first, a page at a time. For reviewers."""
        which = {"scope": named_scopes(scopes), "source": source, "session": session, "rejected": rejected or None}
        return self._get("/v1/review", WaitingPage, {**which, "limit": limit, "cursor": cursor})

    def release(
        self,
        ids: Sequence[str] = (),
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str,
        trust: Trust | None = None,
        expected: Mapping[str, int] | None = None,
    ) -> builtins.list[Record]:
        """Let out of quarantine: these, or all of a source or a session, at the `expected` versions (by id) or none."""
        body = reviewed(ids, source, session, reason) | given({"trust": trust, "versions": expected})
        return self._decide("release", body)

    def reject(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> builtins.list[Record]:
        """Delete records in quarantine: these, or all of a source or a session. `restore_rejected` brings them back."""
        return self._decide("reject", reviewed(ids, source, session, reason))

    def restore_rejected(self, ids: Sequence[str], *, reason: str) -> builtins.list[Record]:
        """Bring back records that were rejected: they are in quarantine again. For reviewers."""
        return self._decide("restore", reviewed(ids, None, None, reason))

    def _decide(self, step: str, body: dict[str, Json]) -> builtins.list[Record]:
        answer = self._send("POST", f"/v1/review/{step}", ReleasedAnswer, body, endless=True)
        return builtins.list(answer.records)

    def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        """Remove records in quarantine, or rejected ones, for good: these, or all of a source or a session. For reviewers."""
        body = reviewed(ids, source, session, reason)
        return self._send("POST", "/v1/review/purge", Purged, body, endless=True)

    def approve(
        self, id: str, version: int | None = None, *, kind: ApprovalKind = "record", reason: str | None = None
    ) -> Approval:
        """
        Stand for a record as it is at `version`, or for a finding: then whoever may write can promote it. For reviewers, about what
        others wrote; an admin may approve their own. Raises RecordChanged, OwnReview.
        """
        body = given({"id": id, "version": version, "kind": kind, "reason": reason})
        return self._send("POST", "/v1/approvals", Approval, body)

    def approvals(
        self, *, state: ApprovalState | None = None, limit: int = 100, cursor: str | None = None
    ) -> ApprovalPage:
        """
        Approvals, and the requests that promotions have left (`state="requested"`), newest first: one's own, and for reviewers
        those about what they may review.
        """
        return self._get("/v1/approvals", ApprovalPage, {"state": state, "limit": limit, "cursor": cursor})

    def withdraw_approval(self, id: str, *, reason: str | None = None) -> Approval:
        """Take back one's own approval or request; for admins, anybody's. A reviewer declines a request by it."""
        path, params = f"/v1/approvals/{part(id)}", query({"reason": reason})
        return self._daemon.ask(asked(Call(method="DELETE", path=path, query=params, decode=reader(Approval))))

    def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        """
        Take back all that one source, session, actor or import wrote: each record is set back to the version before, or
        deleted. `Origin(rollback=…)` takes a rollback back. For reviewers.
        """
        body = changed({**named(RollbackBody, origin), "reason": reason, "dry_run": dry_run})
        return self._send("POST", "/v1/rollback", RolledBack, body, endless=True)

    # ---- budgets

    def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        """Today's budget, what it went into on the last `days` days (UTC), and the latest tasks. For admins."""
        return (self._get("/v1/budgets", BudgetAnswer, {"days": days, "limit": limit})).value()

    def set_budget(self, daily_usd: float | None) -> Budget:
        """Set what the tenant may spend in a day: 0 turns models off, None goes back to the daemon's setting. For admins."""
        return (self._send("PUT", "/v1/budgets", BudgetAnswer, {"daily_usd": daily_usd})).value()

    # ---- what only a daemon has

    def me(self) -> Principal:
        """Whose key this is, its role, and which scopes it reaches."""
        return (self._get("/v1/me", MeAnswer)).value()

    def sign_in_url(self) -> tuple[str, datetime]:
        """An address that signs a browser in to the console, once, and until when it does."""
        code = self._send("POST", "/v1/codes", CodeAnswer)
        return code.url, code.expires_at

    def create_key(
        self,
        name: str,
        role: Role = "writer",
        *,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        user: str | None = None,
        agent: bool = False,
    ) -> tuple[Key, str]:
        """
        A new key and its secret, which nobody can read again. `user` is the person it speaks for, whose memory it reaches. `agent`: a
        program holds it, whose writes are not a person's words. It ends with the key that made it, at the latest. For admins.
        """
        fields = {"name": name, "role": role, "scopes": scopes, "expires_at": expires_at, "user": user}
        body = changed({**fields, "agent": agent or None})
        new = self._send("POST", "/v1/keys", NewKeyAnswer, body)
        return new.key, new.secret

    def keys(self) -> builtins.list[Key]:
        """All keys of the tenant, revoked ones too, without their secrets. For admins."""
        return builtins.list((self._get("/v1/keys", KeysAnswer)).keys)

    def revoke_key(self, id: str) -> Key:
        """From now on it opens nothing, nor do the keys that were made with it. For admins."""
        return self._send("DELETE", f"/v1/keys/{part(id)}", Key)

    def create_capability(self, key: str, run: str, **fields: Unpack[CapabilityFields]) -> IssuedCapability:
        """Let another key, by its name or id, do at the governed door a part of what yours may. Raises CapabilityTooWide."""
        body = changed({"key": key, "run": run, **fields})
        return self._send("POST", "/v1/capabilities", IssuedCapability, body)

    def members(self, scope: Scope | str) -> builtins.list[Member]:
        """Whose a session or a room is, the owner first, and with whom it is shared. Raises NotFound."""
        return builtins.list((self._get("/v1/members", MembersAnswer, {"scope": str(scope)})).members)

    def share(self, scope: Scope | str, subject: str) -> Member:
        """Let another person (a key's `user`, a gateway's user, `key/<key id>`) use a session or a room. Raises Conflict."""
        return self._send("POST", "/v1/members", Member, changed({"scope": str(scope), "subject": subject}))

    def unshare(self, scope: Scope | str, subject: str) -> None:
        """Share it with them no longer. For its owner, for admins, and for the one who leaves."""
        body = changed({"scope": str(scope), "subject": subject})
        self._send_only("POST", "/v1/members/remove", body)

    def create_user(self, user: str) -> tuple[User, str]:
        """A new user of the gateway and their key, shown this once. Raises Conflict on a known id."""
        return (self._send("POST", "/v1/users", NewUserAnswer, {"user_id": document(user)})).value()

    def users(self) -> builtins.list[User]:
        """The users of the gateway. For admins."""
        return [user.value() for user in (self._get("/v1/users", UsersAnswer)).users]

    def rotate_user(self, user: str) -> tuple[User, str]:
        """A new key for a user; the old one opens nothing any more. For admins."""
        return (self._send("POST", f"/v1/users/{part(user)}/rotate", NewUserAnswer)).value()

    def remove_user(self, user: str) -> None:
        """Their key opens nothing any more. `purge(user=…)` removes what they told."""
        self._send_only("DELETE", f"/v1/users/{part(user)}")

    def audit(self, wanted: AuditQuery | None = None, *, limit: int = 100, cursor: str | None = None) -> AuditPage:
        """Who did what, newest first, a page at a time. For reviewers."""
        parameters = named(AuditFilter, wanted or AuditQuery())
        return self._get("/v1/audit", AuditPage, {**parameters, "limit": limit, "cursor": cursor})

    def audit_seals(self, *, verify: bool = False, limit: int = 20) -> SealState:
        """The seals of the audit, newest first. `verify` hashes all rows again: `broken` is the first that does not fit. Operator only."""
        return self._get("/v1/audit/seals", SealState, {"verify": verify, "limit": limit})

    def events(self, *, types: Sequence[str] = (), scopes: Scopes = None, after: int | None = None) -> Iterator[Heard]:
        """
        What happens, as it happens, without an end. `types` are names (`record.created`) or nouns (`record.*`); `after` is the
        id of the last event known, to begin where an earlier listener ended. A connection that drops is taken up again.
        """
        for event in self._daemon.listen(EventListener(types, scopes, after)):
            yield event
