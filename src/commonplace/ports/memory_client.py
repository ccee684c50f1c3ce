"""
How a memory is used: by every face the same, in this process (`service/local`) or over HTTP (`sdk`), asynchronously. The agent
and the tools of MCP ask for the parts that they use.

Wherever a record's `id` is asked for, its first 16 digits or more will do, while only one record has them; delete and demote take all of it. A scope is written
`kind:id`. Every change of a record makes a new version of it; `expected` refuses the change if the record is no longer at
that version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commonplace.ports.catalog_client import CatalogClient, KnowledgeClient
from commonplace.ports.history_client import HistoryClient
from commonplace.ports.run_client import ArtifactClient, RunClient

if TYPE_CHECKING:
    # Half of all values: whoever only searches needs few of them.
    import builtins
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path
    from typing import Literal, TextIO, Unpack

    from commonplace.values.approval import Approval, ApprovalKind, ApprovalPage, ApprovalState
    from commonplace.values.audit import AuditPage, AuditQuery
    from commonplace.values.capability import CapabilityFields, IssuedCapability
    from commonplace.values.census import By, Recalls, ScopeCounts, Tally, Weight
    from commonplace.values.changes import Changes, SuccessorFields
    from commonplace.values.context import ContextBlock
    from commonplace.values.distillation import DistillFields, DistillReport
    from commonplace.values.embedder import EmbedderStatus
    from commonplace.values.event import Heard
    from commonplace.values.extraction import Extracted, TalkFields
    from commonplace.values.knowledge import (
        ReviewFields,
    )
    from commonplace.values.layer import LayerChoice, LayerName
    from commonplace.values.member import Member
    from commonplace.values.note import Note
    from commonplace.values.principal import Key, Principal, Role, User
    from commonplace.values.query import Filters, Hit, Mode, Order, Page
    from commonplace.values.record import Json, Record, State, Trust, Turn, Visibility
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
    from commonplace.values.transfer import ExportCount, ImportFields, ImportReport, LoadReport, Progress
    from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep
    from commonplace.values.usage import Budget


class RecordsClient(Protocol):
    """Write records and change them."""

    async def put(  # noqa: PLR0913 - the public door names every field
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
        ...

    async def put_many(self, notes: Sequence[Note], *, dedupe: Literal["near"] | None = None) -> builtins.list[Record]:
        """Remember several things, in order; all of them or none."""
        ...

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
        ...

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
        ...

    async def get(self, id: str, *, version: int | None = None) -> Record:
        """The record as it is, or as it was in `version`. Raises RecordNotFound, VersionNotFound."""
        ...

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
        ...

    async def history(self, id: str) -> builtins.list[Record]:
        """Every version of a record, oldest first."""
        ...

    async def pin(
        self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Pin a record, or unpin it. Pinned records come first, and no rule removes them."""
        ...

    async def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Delete a record. `undo` brings it back; `purge` removes it for good."""
        ...

    async def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Take the last change back; again, the one before. Raises NothingToUndo."""
        ...

    async def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Share a record, in its scope or in a wider one. Raises SecretRefused, and Conflict where the key is taken."""
        ...

    async def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Keep a record, but take it out of every search."""
        ...

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
        ...

    async def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Let a record be found until `at`, or no longer."""
        ...

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
        their scope, said or written by them, and their sessions). Name exactly one. A file of managed memory that they follow goes with them; where it
        cannot be removed, nothing is (PurgeRefused), or with `leave_files` it stays and is named in the answer.
        """
        ...


class RecallClient(Protocol):
    """Find what is remembered."""

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
        ...

    async def context(
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
        ...

    async def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        """The `## Agent Memory` and `## Workspace Memory` of a prompt, each within `budget`."""
        ...


class LearningClient(Protocol):
    """Talk becomes memory."""

    async def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **fields: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. By the language model of the settings, else by
        rules; it is waited for in any case.
        """
        ...

    async def distill(
        self, session: str, conversation: Sequence[str], **fields: Unpack[DistillFields]
    ) -> DistillReport:
        """
        Keep the important facts of a conversation, part by part, in its session's scope or in `scope`. The same conversation
        again adds nothing.
        """
        ...

    async def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        """Keep what a director learned in a run of these agents, with the first of them."""
        ...

    async def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        """What was learned in runs of these agents, the newest 20."""
        ...


class FilesClient(Protocol):
    """Memory in Markdown files, and the jobs that file and tidy it."""

    async def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in Markdown: in the home folder, or with the workspace. Poll the task until it `is_over`. In
        the mode `clean` no existing memory is looked at.
        """
        ...

    async def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """How it goes: as soon as it `is_over`, or after `wait` seconds."""
        ...

    async def forget_workspace_memory(self, query: str, *, scope: TargetScope | None = None) -> MemoryTask:
        """Have entries removed that are about `query`, at most five."""
        ...

    async def get_workspace_memory_forget_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """As for a fact that was handed over."""
        ...

    async def dream_workspace_memory(self) -> MemoryTask:
        """Have entries that say nearly the same made one."""
        ...

    async def get_workspace_memory_dream_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """As for a fact that was handed over."""
        ...

    async def managed_files(self) -> builtins.list[ShelfFiles]:
        """The folders of managed memory in reach, with their files."""
        ...

    async def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        """Entries of managed memory that fit a question, at most five; not what only explains one of the `tools`."""
        ...

    async def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        """A file as it is, and the `etag` that a write of it needs. Raises PathNotFound."""
        ...

    async def write_managed_file(
        self, root: ShelfName, path: str, text: str, *, etag: str | None = None
    ) -> ShelfWritten:
        """
        Change the file that was read with this `etag`, or (None) make one. Raises FilePreconditionFailed, whose details hold the
        `text` and `etag` of the file as it is now.
        """
        ...

    async def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        """Remove the file that was read with this `etag`. Raises FilePreconditionFailed, PathNotFound."""
        ...

    async def move_managed_file(self, root: ShelfName, path: str, *, to: ShelfName) -> ShelfWritten:
        """File an entry in the other memory, the person's own or the workspace's. Raises PathNotFound, FactRefused, InvalidScope."""
        ...

    async def managed_changes(self) -> builtins.list[ShelfChange]:
        """What changed in managed memory and can be undone, newest first."""
        ...

    async def undo_managed_change(self, id: str) -> ShelfUndone:
        """Take a change back; files that somebody edited since are left. Raises NothingToUndo."""
        ...


class ReviewClient(Protocol):
    """Decide about what waits for a person."""

    async def review(
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
        ...

    async def release(
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
        ...

    async def reject(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> builtins.list[Record]:
        """Delete records in quarantine: these, or all of a source or a session. `restore_rejected` brings them back."""
        ...

    async def restore_rejected(self, ids: Sequence[str], *, reason: str) -> builtins.list[Record]:
        """Bring back records that were rejected: they are in quarantine again. For reviewers."""
        ...

    async def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        """Remove records in quarantine, or rejected ones, for good: these, or all of a source or a session. For reviewers."""
        ...

    async def release_finding(self, id: str, *, reason: str) -> None:
        """Let a finding of the knowledge registry out of quarantine. For reviewers."""
        ...

    async def purge_finding(self, id: str, *, reason: str) -> None:
        """Remove a finding in quarantine for good. For reviewers."""
        ...

    async def promote_finding(
        self, id: str, *, to: Literal["promoted", "approved_default"] = "promoted", **review: Unpack[ReviewFields]
    ) -> None:
        """
        Take a finding from working to promoted, or from there to the approved default, which names its reviewer and approval. The
        reason is kept in the audit. For reviewers. Raises InvalidTransition.
        """
        ...

    async def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        """Give a finding up, for good. The reason is kept in the audit. For reviewers. Raises InvalidTransition."""
        ...

    async def approve(
        self, id: str, version: int | None = None, *, kind: ApprovalKind = "record", reason: str | None = None
    ) -> Approval:
        """
        Stand for a record as it is at `version`, or for a finding: then whoever may write can promote it. For reviewers, about what
        others wrote; an admin may approve their own. Raises RecordChanged, OwnReview.
        """
        ...

    async def approvals(
        self, *, state: ApprovalState | None = None, limit: int = 100, cursor: str | None = None
    ) -> ApprovalPage:
        """
        Approvals, and the requests that promotions have left (`state="requested"`), newest first: one's own, and for reviewers
        those about what they may review.
        """
        ...

    async def withdraw_approval(self, id: str, *, reason: str | None = None) -> Approval:
        """Take back one's own approval or request; for admins, anybody's. A reviewer declines a request by it."""
        ...

    async def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        """
        Take back all that one source, session, actor or import wrote: each record is set back to the version before, or
        deleted. `Origin(rollback=…)` takes a rollback back. For reviewers.
        """
        ...


class TransferClient(Protocol):
    """Bring memory in, take it out."""

    async def import_folder(
        self,
        path: str | Path,
        *,
        sync_deletes: bool = False,
        progress: Progress | None = None,
        **fields: Unpack[ImportFields],
    ) -> ImportReport:
        """
        Bring in a folder of Markdown and text, or OpenClaw's memory; with `kinds` code, JSON. Unchanged files are left alone. Without `force`,
        a person's edits stay (`kept_edits`), and RemovalRefused is raised if more than half of what came from there would go.
        """
        ...

    async def import_files(
        self, files: Mapping[str, str], *, progress: Progress | None = None, **fields: Unpack[ImportFields]
    ) -> ImportReport:
        """Bring in texts by their paths, which are relative."""
        ...

    async def export(
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
        ...

    async def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """Read what `export` wrote, here or elsewhere."""
        ...

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a copy of the whole store, every tenant, while others go on writing. `target` must not exist."""
        ...


class StatisticsClient(Protocol):
    """What there is, and what happened to it."""

    async def stats(self, *, everyone: bool = False) -> Stats:
        """How much there is, and in which scopes: of what is shared and one's own, or (for admins) of everyone's."""
        ...

    async def scopes(
        self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100, everyone: bool = False
    ) -> ScopeCounts:
        """The scopes, shared and one's own, that have `text` in their names, last written first."""
        ...

    async def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        """How many records fit, by one or two of `source`, `kind`, `scope`, `trust`, `state` and `day`."""
        ...

    async def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        """Which of the latest searches showed a record, newest first. Never what was asked."""
        ...

    async def weights(self) -> builtins.list[Weight]:
        """What `weights` of a search may name, with the defaults."""
        ...

    async def audit(
        self, wanted: AuditQuery | None = None, *, limit: int = 100, cursor: str | None = None
    ) -> AuditPage:
        """Who did what, newest first, a page at a time. For reviewers."""
        ...

    async def audit_seals(self, *, verify: bool = False, limit: int = 20) -> SealState:
        """The seals of the audit, newest first. `verify` hashes all rows again: `broken` is the first that does not fit. Operator only."""
        ...

    def events(
        self, *, types: Sequence[str] = (), scopes: Scopes = None, after: int | None = None
    ) -> AsyncIterator[Heard]:
        """
        What happens, as it happens, without an end. `types` are names (`record.created`) or nouns (`record.*`); `after` is the
        id of the last event known, to begin where an earlier listener ended. A client's connection that drops is taken up again.
        """
        ...


class AdminClient(Protocol):
    """Keep the memory in order: retention, keys, people, money."""

    async def me(self) -> Principal:
        """Who uses this memory, in which role, and which scopes that reaches."""
        ...

    async def check(self) -> builtins.list[Finding]:
        """Look for faults in the store and its embedders, without changing anything."""
        ...

    async def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were."""
        ...

    async def use_embedder(self, name: str) -> EmbedderStatus:
        """
        Change over to other embedders, `gte-small` for instance, in the background; `embedder_status` says how far it is. Searches
        go on with the old ones until the new ones know every text.
        """
        ...

    async def embedder_status(self) -> EmbedderStatus:
        """Which embedders answer, and how far the store is with a change to others."""
        ...

    async def rules(self) -> builtins.list[Rule]:
        """How long the records of which scopes are kept."""
        ...

    async def set_rule(self, rule: Rule) -> None:
        """Keep a rule for its scope; one without limits lifts the rule before."""
        ...

    async def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        """Delete what expired or the rules no longer keep (undoable); purge what was deleted `purge_after` ago or longer."""
        ...

    async def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        """What `tidy` and `reindex` did, newest first."""
        ...

    async def create_key(
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
        ...

    async def keys(self) -> builtins.list[Key]:
        """All keys of the tenant, revoked ones too, without their secrets. For admins."""
        ...

    async def revoke_key(self, id: str) -> Key:
        """From now on it opens nothing, nor do the keys that were made with it. For admins."""
        ...

    async def create_capability(self, key: str, run: str, **fields: Unpack[CapabilityFields]) -> IssuedCapability:
        """Let another key, by its name or id, do at the governed door a part of what yours may. Raises CapabilityTooWide."""
        ...

    async def members(self, scope: Scope | str) -> builtins.list[Member]:
        """Whose a session or a room is, the owner first, and with whom it is shared. Raises NotFound."""
        ...

    async def share(self, scope: Scope | str, subject: str) -> Member:
        """Let another person (a key's `user`, a gateway's user, `key/<key id>`) use a session or a room. Raises Conflict."""
        ...

    async def unshare(self, scope: Scope | str, subject: str) -> None:
        """Share it with them no longer. For its owner, for admins, and for the one who leaves."""
        ...

    async def create_user(self, user: str) -> tuple[User, str]:
        """A new user of the gateway and their key, shown this once. Raises Conflict on a known id."""
        ...

    async def users(self) -> builtins.list[User]:
        """The users of the gateway. For admins."""
        ...

    async def rotate_user(self, user: str) -> tuple[User, str]:
        """A new key for a user; the old one opens nothing any more. For admins."""
        ...

    async def remove_user(self, user: str) -> None:
        """Their key opens nothing any more. `purge(user=…)` removes what they told."""
        ...

    async def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        """Today's budget, what it went into on the last `days` days (UTC), and the latest tasks. For admins."""
        ...

    async def set_budget(self, daily_usd: float | None) -> Budget:
        """Set what the tenant may spend in a day: 0 turns models off, None goes back to the setting. For admins."""
        ...


class MemoryClient(
    RecordsClient,
    RecallClient,
    LearningClient,
    FilesClient,
    ReviewClient,
    KnowledgeClient,
    TransferClient,
    StatisticsClient,
    CatalogClient,
    HistoryClient,
    AdminClient,
    Protocol,
):
    """All of it. `runs` and `artifacts` have operations of their own."""

    @property
    def runs(self) -> RunClient: ...

    @property
    def artifacts(self) -> ArtifactClient: ...
