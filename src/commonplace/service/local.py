"""
A memory in this process: every operation of a client, over the use cases, in the name of one principal.

It is the one way in for an embedded memory, the command without a daemon, MCP and agents: what they write is guarded and audited like all else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO, TypeAlias, Unpack, get_args

from commonplace.errors import InvalidInput, InvalidQuery, TokenRequired
from commonplace.ports.memory_client import MemoryClient
from commonplace.service.local_runs import LocalArtifacts, LocalRuns
from commonplace.service.records import Change
from commonplace.service.services import waited_task
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.context import ContextQuery
from commonplace.values.knowledge import Review
from commonplace.values.line import check_lines
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.paths import expand_path
from commonplace.values.query import Filter, Filters, Hit, Mode, Order, Page, Query
from commonplace.values.record import Json, Provenance, Record, State, Trust, Turn, Visibility
from commonplace.values.scope import Scope, ScopeKind, Scopes, scopes_of
from commonplace.values.seal import SealState
from commonplace.values.transfer import ImportOptions
from commonplace.values.turn_options import TurnOptions

if TYPE_CHECKING:
    import builtins
    from datetime import datetime, timedelta

    from commonplace.memory.transfer import LoadReport
    from commonplace.service.services import Services
    from commonplace.values.agent_profile import AgentFields, NewAgentFields
    from commonplace.values.approval import Approval, ApprovalKind, ApprovalPage, ApprovalState
    from commonplace.values.capability import CapabilityFields, IssuedCapability
    from commonplace.values.census import By, Recalls, ScopeCounts, Tally, Weight
    from commonplace.values.changes import Changes, SuccessorFields
    from commonplace.values.context import ContextBlock
    from commonplace.values.distillation import DistillFields, DistillReport
    from commonplace.values.embedder import EmbedderStatus
    from commonplace.values.event import Heard
    from commonplace.values.extraction import Extracted, TalkFields
    from commonplace.values.knowledge import (
        FindingFields,
        FindingFilters,
        Item,
        Preflight,
        PreflightFields,
        Recording,
        ReviewFields,
        Space,
        SpaceFields,
    )
    from commonplace.values.layer import LayerChoice, LayerName, LayerText
    from commonplace.values.member import Member
    from commonplace.values.principal import Key, Owner, Principal, Role, User
    from commonplace.values.resource import ResourcePage, UserResource
    from commonplace.values.review import Origin, RolledBack, WaitingPage
    from commonplace.values.session import (
        MessagePage,
        Session,
        SessionChanges,
        SessionFields,
        SessionFilters,
        SessionHit,
        SessionPage,
    )
    from commonplace.values.shelf import (
        ShelfChange,
        ShelfFiles,
        ShelfName,
        ShelfRecall,
        ShelfText,
        ShelfUndone,
        ShelfWritten,
    )
    from commonplace.values.task import ContextMode, MemoryTask, TargetScope, TaskKind
    from commonplace.values.transfer import ExportCount, ImportFields, ImportReport
    from commonplace.values.tree import Node, TreeNode
    from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep
    from commonplace.values.usage import Budget

Progress: TypeAlias = Callable[[int, int], None]
MAX_PAGE: Final = 1_000_000
PATIENCE: Final = 20.0  # seconds that `remember_workspace_memory` waits for a fact to be filed; the work goes on


class LocalMemory(MemoryClient):
    """
    One tenant's memory, as `principal` may use it.

    Any unique prefix of an `id` works, of at least 16 digits; delete and demote take all of it. A scope is written `kind:id`. Every change makes
    a new version of a record; `expected` refuses the change if the record is no longer at that version.
    """

    def __init__(self, services: Services, principal: Principal, *, token_budget: int = 2_000) -> None:
        self._services = services
        self._principal = principal
        self._token_budget = token_budget

    @property
    def runs(self) -> LocalRuns:
        return LocalRuns(lambda: self._now, self._principal)

    @property
    def artifacts(self) -> LocalArtifacts:
        return LocalArtifacts(lambda: self._now, self._principal)

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
        note = Note(
            text=text,
            scope=scope,
            key=key,
            kind=kind,
            source=source,
            tags=check_lines("tags", tags),
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
        results = await self._now.records.put(self._principal, notes, dedupe=dedupe)
        return [outcome.record for outcome in results]

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
        telling = TurnOptions(session=session, scope=scope, source=source, trust=trust, tags=check_lines("tags", tags))
        results = await self._now.records.add_turns(self._principal, telling, turns)
        return [outcome.record for outcome in results]

    async def edit(
        self,
        id: str,
        *,
        clear: Collection[str] = (),
        expected: int | None = None,
        reason: str | None = None,
        **changes: Unpack[Changes],
    ) -> Record:
        change = Change(expected=expected, reason=reason)
        return await self._now.records.edit(self._principal, id, changes, clear=clear, change=change)

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
        everyone: bool = False,
        layer: LayerName | None = None,
        budget: int | None = None,
        min_relevance: float = 0.0,
        copies: bool = False,
    ) -> builtins.list[Hit]:
        services = await self._searchable()
        filters: Filters = {"kinds": kinds, "sources": sources, "tags": tags, "trust": trust, "sessions": sessions}
        filters |= {"speaker": speaker, "pinned": pinned, "since": since, "until": until, "everyone": everyone}
        query = Query(
            text=text,
            filter=Filter.parse(scopes, ("live",), filters),
            limit=limit,
            mode=mode,
            as_of=utc(as_of) if as_of else None,
            diversity=diversity,
            weights=weights or {},
            layer=layer,
            budget=budget,
            min_relevance=min_relevance,
            copies=copies,
        )
        return await services.recall.search(self._principal, query)

    async def get(self, id: str, *, version: int | None = None) -> Record:
        return await self._now.records.get(self._principal, id, version=version)

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
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidInput(f"A page has 1 to {MAX_PAGE:,} records.")
        if order not in get_args(Order):
            raise InvalidQuery(f"{order!r:.40} is no order. Use one of {', '.join(get_args(Order))}.")
        filter = Filter.parse(scopes, states, filters)
        return await self._now.records.list(self._principal, filter, order=order, limit=limit, cursor=cursor)

    async def history(self, id: str) -> builtins.list[Record]:
        return await self._now.records.history(self._principal, id)

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
        services = await self._searchable()
        tokens = self._token_budget if budget is None else budget
        filter = Filter(scopes=scopes_of(scopes), everyone=everyone)
        request = ContextQuery(
            text=query, filter=filter, session=session, budget=tokens, layer=layer, min_relevance=min_relevance
        )
        return await services.recall.context(self._principal, request)

    async def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        tokens = self._token_budget if budget is None else budget
        return await self._now.recall.sections(self._principal, agent=agent, workspace=workspace, budget=tokens)

    # ---- lifecycle

    async def pin(
        self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        change = Change(expected=expected, reason=reason)
        return await self._now.records.pin(self._principal, id, pinned, change=change)

    async def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._now.records.delete(self._principal, id, change=Change(expected=expected, reason=reason))

    async def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._now.records.undo(self._principal, id, change=Change(expected=expected, reason=reason))

    async def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        target = None if scope is None else Scope.parse(scope)
        change = Change(expected=expected, reason=reason)
        return await self._now.records.promote(self._principal, id, scope=target, change=change)

    async def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._now.records.demote(self._principal, id, change=Change(expected=expected, reason=reason))

    async def supersede(
        self,
        id: str,
        text: str,
        *,
        expected: int | None = None,
        reason: str | None = None,
        **fields: Unpack[SuccessorFields],
    ) -> Record:
        change = Change(expected=expected, reason=reason)
        return await self._now.records.supersede(self._principal, id, text, fields, change=change)

    async def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        change = Change(expected=expected, reason=reason)
        return await self._now.records.expire(self._principal, id, at, change=change)

    async def purge(
        self,
        *,
        ids: Sequence[str] = (),
        scope: Scope | str | None = None,
        user: str | None = None,
        source: str | None = None,
        leave_files: bool = False,
    ) -> Purged:
        target, lines = None if scope is None else Scope.parse(scope), check_lines("ids", ids)
        return await self._now.records.purge(
            self._principal, ids=lines, scope=target, user=user, source=source, leave_files=leave_files
        )

    # ---- files

    async def import_folder(
        self,
        path: str | Path,
        *,
        sync_deletes: bool = False,
        progress: Progress | None = None,
        **fields: Unpack[ImportFields],
    ) -> ImportReport:
        scope, options = Scope.parse(fields.get("scope", "global")), ImportOptions.of(fields, sync_deletes=sync_deletes)
        return await self._now.moving.import_now(
            self._principal, str(expand_path(path)), scope=scope, options=options, progress=progress
        )

    async def import_files(
        self, files: Mapping[str, str], *, progress: Progress | None = None, **fields: Unpack[ImportFields]
    ) -> ImportReport:
        scope, options = Scope.parse(fields.get("scope", "global")), ImportOptions.of(fields)
        return await self._now.moving.import_files(
            self._principal, files, scope=scope, options=options, progress=progress
        )

    async def export(
        self,
        target: str | Path | TextIO,
        *,
        scopes: Scopes = None,
        everyone: bool = False,
        progress: Progress | None = None,
    ) -> ExportCount:
        where = expand_path(target) if isinstance(target, str | Path) else target
        return await self._now.moving.export_to(
            self._principal, where, scopes=scopes_of(scopes), everyone=everyone, progress=progress
        )

    async def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        where = expand_path(source) if isinstance(source, str | Path) else source
        return await self._now.moving.load(self._principal, where, progress=progress)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        await self._now.keeping.backup(self._principal, expand_path(target), progress)

    # ---- upkeep

    async def reindex(self, *, progress: Progress | None = None) -> int:
        return await self._now.keeping.reindex(self._principal, progress)

    async def use_embedder(self, name: str) -> EmbedderStatus:
        return await self._now.embedders.use(self._principal, name)

    async def embedder_status(self) -> EmbedderStatus:
        return await self._now.embedders.status(self._principal)

    async def stats(self, *, everyone: bool = False) -> Stats:
        return await self._now.keeping.stats(self._principal, everyone=everyone)

    async def check(self) -> builtins.list[Finding]:
        return await self._now.keeping.check(self._principal)

    async def rules(self) -> builtins.list[Rule]:
        return await self._now.keeping.rules(self._principal)

    async def set_rule(self, rule: Rule) -> None:
        await self._now.keeping.set_rule(self._principal, rule)

    async def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        return await self._now.keeping.tidy(self._principal, purge_after=purge_after)

    async def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        start = utc(since) if since else None
        return await self._now.keeping.upkeep_log(self._principal, since=start, limit=limit)

    async def scopes(
        self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100, everyone: bool = False
    ) -> ScopeCounts:
        return await self._now.census.scopes(self._principal, text=text, kinds=kinds, limit=limit, everyone=everyone)

    async def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        fields: tuple[By, ...] = (by,) if isinstance(by, str) else tuple(by)
        return await self._now.census.counts(self._principal, Filter.parse(scopes, states, filters), fields)

    async def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        return await self._now.census.recalls(self._principal, id, limit=limit)

    async def weights(self) -> builtins.list[Weight]:
        return self._now.census.weights()

    async def audit(
        self, wanted: AuditQuery | None = None, *, limit: int = 100, cursor: str | None = None
    ) -> AuditPage:
        return await self._now.keeping.audit(self._principal, wanted or AuditQuery(), limit=limit, cursor=cursor)

    async def audit_seals(self, *, verify: bool = False, limit: int = 20) -> SealState:
        return await self._now.keeping.audit_seals(self._principal, verify=verify, limit=limit)

    async def events(
        self, *, types: Sequence[str] = (), scopes: Scopes = None, after: int | None = None
    ) -> AsyncIterator[Heard]:
        """
        What happens, as it happens, without an end. `types` are names (`record.created`) or nouns (`record.*`); `after` is the
        id of the last event known, to begin where an earlier listener ended.
        """
        events = self._now.events.follow(self._principal, types=types, scopes=scopes_of(scopes), after=after)
        async for event in events:
            yield event

    # ---- talk becomes memory

    async def extract(
        self, talk: str | Sequence[Turn] | None = None, *, wait: bool = True, **fields: Unpack[TalkFields]
    ) -> Extracted:
        del wait
        # Rules of two languages load slowly, and few programs learn.
        from commonplace.service.extraction import Talk  # noqa: PLC0415

        return await (await self._learning()).extraction.extract(self._principal, Talk.of(talk, fields))

    async def distill(
        self, session: str, conversation: Sequence[str], **fields: Unpack[DistillFields]
    ) -> DistillReport:
        # As above.
        from commonplace.service.distill import conversation_of  # noqa: PLC0415

        talk = conversation_of(session, conversation, **fields)
        return await (await self._learning()).distilling.distill(self._principal, talk)

    async def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        return await self._now.director.learn(self._principal, agents, learning, run=run)

    async def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        return await self._now.director.learnings(self._principal, agents)

    # ---- memory in Markdown files

    async def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        services = await self._learning()
        return await services.lanes.remember(self._known(), content, context_mode=context_mode, scope=scope)

    async def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        return await self._task("remember", id, wait)

    async def forget_workspace_memory(self, query: str, *, scope: TargetScope | None = None) -> MemoryTask:
        return await (await self._learning()).lanes.forget(self._known(), query, scope=scope)

    async def get_workspace_memory_forget_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        return await self._task("forget", id, wait)

    async def dream_workspace_memory(self) -> MemoryTask:
        return await (await self._learning()).lanes.dream(self._known())

    async def get_workspace_memory_dream_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        return await self._task("dream", id, wait)

    async def managed_files(self) -> builtins.list[ShelfFiles]:
        return await (await self._learning()).shelves.survey(self._principal)

    async def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        return await (await self._learning()).shelves.recall(self._principal, query, tools=tools, run=run)

    async def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        return await (await self._learning()).shelves.read(self._principal, root, path)

    async def write_managed_file(
        self, root: ShelfName, path: str, text: str, *, etag: str | None = None
    ) -> ShelfWritten:
        return await (await self._learning()).shelves.put(self._principal, root, path, text, etag=etag)

    async def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        return await (await self._learning()).shelves.remove(self._principal, root, path, expected=etag)

    async def move_managed_file(self, root: ShelfName, path: str, *, to: ShelfName) -> ShelfWritten:
        return await (await self._learning()).shelves.move(self._principal, root, path, to=to)

    async def managed_changes(self) -> builtins.list[ShelfChange]:
        return await (await self._learning()).shelves.changes(self._principal)

    async def undo_managed_change(self, id: str) -> ShelfUndone:
        return await (await self._learning()).shelves.undo(self._principal, id)

    # ---- agents, workspaces, documents, folders

    async def agents(self) -> builtins.list[Owner]:
        return await self._now.owners.owners(self._principal, "agent")

    async def agent(self, id: str) -> Owner:
        return await self._now.owners.owner(self._principal, "agent", id)

    async def create_agent(self, name: str, **fields: Unpack[NewAgentFields]) -> Owner:
        return await self._now.owners.create(self._principal, "agent", name, **fields)

    async def edit_agent(self, id: str, **fields: Unpack[AgentFields]) -> Owner:
        return await self._now.owners.change(self._principal, "agent", id, **fields)

    async def remove_agent(self, id: str) -> int:
        return await self._now.owners.remove(self._principal, "agent", id)

    async def workspaces(self) -> builtins.list[Owner]:
        return await self._now.owners.owners(self._principal, "workspace")

    async def workspace(self, id: str) -> Owner:
        return await self._now.owners.owner(self._principal, "workspace", id)

    async def create_workspace(self, name: str, *, id: str | None = None) -> Owner:
        return await self._now.owners.create(self._principal, "workspace", name, id=id, memory_enabled=True)

    async def edit_workspace(self, id: str, *, name: str) -> Owner:
        return await self._now.owners.change(self._principal, "workspace", id, name=name)

    async def remove_workspace(self, id: str) -> int:
        return await self._now.owners.remove(self._principal, "workspace", id)

    async def put_resource(self, content: str, *, uri: str | None = None, title: str | None = None) -> UserResource:
        return await self._now.resources.put(self._principal, content, uri=uri, title=title)

    async def resources(self, *, limit: int = 100, cursor: str | None = None) -> ResourcePage:
        return await self._now.resources.list(self._principal, limit=limit, cursor=cursor)

    async def resource(self, uri: str) -> Record:
        return await self._now.resources.get(self._principal, uri)

    async def remove_resource(self, uri: str) -> None:
        await self._now.resources.remove(self._principal, uri)

    async def tree(
        self, uri: str = "commonplace://", *, depth: int = 1, everyone: bool = False, after: str | None = None
    ) -> TreeNode:
        # Only who looks at folders needs it.
        from commonplace.service.tree import TreeQuery  # noqa: PLC0415

        query = TreeQuery(uri=uri, depth=depth, everyone=everyone, after=after)
        return await self._now.tree.tree(self._principal, query)

    async def resolve(self, uri: str) -> Node:
        return await self._now.tree.resolve(self._principal, uri)

    async def layer(self, node: str, name: LayerName = "L0") -> LayerText:
        return await self._now.tree.layer(self._principal, node, name)

    async def make_layers(self, node: str) -> builtins.list[LayerText]:
        return [*await (await self._learning()).tree.make_layers(self._principal, node)]

    # ---- history

    async def create_session(self, agent: str = "assistant", **fields: Unpack[SessionFields]) -> Session:
        return await self._now.history.create(self._principal, agent, fields)

    async def sessions(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[SessionFilters]
    ) -> SessionPage:
        return await self._now.history.sessions(self._principal, filters, limit=limit, cursor=cursor)

    async def session(self, id: str) -> Session:
        return await self._now.history.session(self._principal, id)

    async def change_session(self, id: str, **changes: Unpack[SessionChanges]) -> Session:
        return await self._now.history.change(self._principal, id, changes)

    async def delete_session(self, id: str) -> int:
        return await self._now.history.delete(self._principal, id)

    async def session_messages(
        self, id: str, *, after: int | None = None, before: int | None = None, limit: int = 100
    ) -> MessagePage:
        return await self._now.history.messages(self._principal, id, after=after, before=before, limit=limit)

    async def search_sessions(
        self, query: str, *, session: str | None = None, limit: int = 10, **filters: Unpack[SessionFilters]
    ) -> builtins.list[SessionHit]:
        return await self._now.history.search(self._principal, query, filters, session=session, limit=limit)

    # ---- review

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
        who, within = self._principal, scopes_of(scopes)
        return await self._now.review.waiting(
            who, scopes=within, source=source, session=session, rejected=rejected, limit=limit, cursor=cursor
        )

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
        selection = self._now.review.select(ids, source, session)
        return await self._now.review.release(self._principal, selection, reason, trust=trust, expected=expected)

    async def reject(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> builtins.list[Record]:
        selection = self._now.review.select(ids, source, session)
        return await self._now.review.reject(self._principal, selection, reason)

    async def restore_rejected(self, ids: Sequence[str], *, reason: str) -> builtins.list[Record]:
        return await self._now.review.restore(self._principal, ids, reason)

    async def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        selection = self._now.review.select(ids, source, session)
        return await self._now.review.purge(self._principal, selection, reason)

    async def release_finding(self, id: str, *, reason: str) -> None:
        await self._now.review.release_finding(self._principal, id, reason)

    async def purge_finding(self, id: str, *, reason: str) -> None:
        await self._now.review.purge_finding(self._principal, id, reason)

    async def promote_finding(
        self, id: str, *, to: Literal["promoted", "approved_default"] = "promoted", **review: Unpack[ReviewFields]
    ) -> None:
        await self._now.knowledge.promote(self._principal, id, to, Review(**review))

    async def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        review = Review(reviewer=reviewer, approval=approval, reason=reason)
        await self._now.knowledge.deprecate(self._principal, id, review)

    async def approve(
        self, id: str, version: int | None = None, *, kind: ApprovalKind = "record", reason: str | None = None
    ) -> Approval:
        return await self._now.approvals.approve(self._principal, id, version, kind=kind, reason=reason)

    async def approvals(
        self, *, state: ApprovalState | None = None, limit: int = 100, cursor: str | None = None
    ) -> ApprovalPage:
        return await self._now.approvals.approvals(self._principal, state=state, limit=limit, cursor=cursor)

    async def withdraw_approval(self, id: str, *, reason: str | None = None) -> Approval:
        return await self._now.approvals.withdraw(self._principal, id, reason=reason)

    async def create_space(self, namespace: str = "general", **fields: Unpack[SpaceFields]) -> Space:
        return await self._now.knowledge.space_named(self._principal, namespace, fields)

    async def spaces(self) -> builtins.list[Space]:
        return await self._now.knowledge.spaces(self._principal)

    async def record_finding(self, space: str, title: str, **fields: Unpack[FindingFields]) -> Recording:
        return await self._now.knowledge.record_fields(self._principal, space, title, fields)

    async def findings(self, **filters: Unpack[FindingFilters]) -> builtins.list[Item]:
        return await self._now.knowledge.findings(self._principal, filters)

    async def finding(self, id: str) -> Item:
        return await self._now.knowledge.item(self._principal, id)

    async def refresh_finding(
        self, id: str, *, freshness_expires_at: datetime | None = None, reason: str | None = None
    ) -> Item:
        return await self._now.knowledge.refresh(self._principal, id, freshness_expires_at, reason)

    async def preflight(self, subject: str, **fields: Unpack[PreflightFields]) -> Preflight:
        return await self._now.knowledge.preflight_fields(self._principal, subject, fields)

    async def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        return await self._now.review.rollback(self._principal, origin, reason, dry_run=dry_run)

    # ---- people, keys and money

    async def me(self) -> Principal:
        return self._principal

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
        return await self._now.identity.create_key(
            self._principal, name, role, scopes=scopes, expires_at=expires_at, user=user, agent=agent
        )

    async def keys(self) -> builtins.list[Key]:
        return await self._now.identity.keys(self._principal)

    async def revoke_key(self, id: str) -> Key:
        return await self._now.identity.revoke_key(self._principal, id)

    async def create_capability(self, key: str, run: str, **fields: Unpack[CapabilityFields]) -> IssuedCapability:
        return await self._now.capabilities.issue(self._principal, key, run, fields)

    async def members(self, scope: Scope | str) -> builtins.list[Member]:
        return await self._now.members.members(self._principal, Scope.parse(scope))

    async def share(self, scope: Scope | str, subject: str) -> Member:
        return await self._now.members.share(self._principal, Scope.parse(scope), subject)

    async def unshare(self, scope: Scope | str, subject: str) -> None:
        await self._now.members.unshare(self._principal, Scope.parse(scope), subject)

    async def create_user(self, user: str) -> tuple[User, str]:
        return await self._now.identity.create_user(self._principal, user)

    async def users(self) -> builtins.list[User]:
        return await self._now.identity.users(self._principal)

    async def rotate_user(self, user: str) -> tuple[User, str]:
        return await self._now.identity.rotate_user(self._principal, user)

    async def remove_user(self, user: str) -> None:
        await self._now.identity.remove_user(self._principal, user)

    async def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        return await (await self._learning()).budgets.read(self._principal, days=days, limit=limit)

    async def set_budget(self, daily_usd: float | None) -> Budget:
        return await (await self._learning()).budgets.set_usd(self._principal, daily_usd)

    # ---- what a composition may put in between

    @property
    def _now(self) -> Services:
        return self._services

    async def _searchable(self) -> Services:
        """The use cases, once the memory can be searched."""
        return self._now

    async def _learning(self) -> Services:
        """The use cases with a language model, and with folders for Markdown, if there are any."""
        return self._now

    def _known(self) -> Principal:
        """Files need somebody known, also where a daemon is open to all."""
        if self._principal.key is None and not self._principal.operator:
            raise TokenRequired
        return self._principal

    async def _task(self, kind: TaskKind, id: str, wait: float) -> MemoryTask:
        return await waited_task(await self._learning(), self._known(), kind, id, wait)
