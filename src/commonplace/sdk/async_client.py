"""The client of a daemon. Each method makes a request (`calls`) and has the connection send it."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TextIO, TypeVar, Unpack

from commonplace.errors import InvalidInput
from commonplace.ports.memory_client import MemoryClient
from commonplace.sdk.async_agent import AsyncAgent
from commonplace.sdk.async_catalog import AsyncDaemonCatalog
from commonplace.sdk.async_history import AsyncHistory
from commonplace.sdk.async_knowledge import AsyncKnowledge
from commonplace.sdk.calls import extraction, recall, records, transfer
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
from commonplace.sdk.lines import MEDIA_TYPE, Arriving, opened_source, opened_target
from commonplace.sdk.talk import Call, asked
from commonplace.sdk.threads import async_call
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


class AsyncClient(AsyncDaemonCatalog, AsyncKnowledge, AsyncHistory, AsyncAgent, MemoryClient):
    """
    A daemon's memory, with the methods of `AsyncMemory`. Errors are those that the daemon met, of the same class.

    `url`, `token` and `tenant` come from the environment where they are not given (COMMONPLACE_URL, COMMONPLACE_TOKEN); on this
    machine the token of the home folder will do. A request is sent again, a few times and with pauses, where the connection
    fails or the daemon is busy, and only if that cannot do anything twice.
    """

    # ---- write

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
        return await self._daemon.ask(records.put(note, dedupe))

    async def put_many(self, notes: Sequence[Note], *, dedupe: Literal["near"] | None = None) -> builtins.list[Record]:
        """Remember several things, at most 1,000, in order; all of them or none."""
        return await self._daemon.ask(records.put_many(notes, dedupe))

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
        return await self._daemon.ask(
            records.add_turns(session, turns, scope=scope, source=source, trust=trust, tags=tags)
        )

    async def edit(
        self,
        id: str,
        *,
        clear: Collection[str] = (),
        expected: int | None = None,
        reason: str | None = None,
        **changes: Unpack[Changes],
    ) -> Record:
        return await self._daemon.ask(records.edit(id, changes, clear=clear, expected=expected, reason=reason))

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
        filters: Filters = {"kinds": kinds, "sources": sources, "tags": tags, "trust": trust, "sessions": sessions}
        filters |= {"speaker": speaker, "pinned": pinned, "since": since, "until": until, "everyone": everyone}
        filter = Filter.parse(scopes, ("live",), filters)
        options = {"limit": limit, "mode": mode, "as_of": as_of, "diversity": diversity, "weights": weights}
        options |= {"layer": layer, "budget": budget, "min_relevance": min_relevance or None, "copies": copies or None}
        return await self._daemon.ask(recall.search(text, filter, options))

    async def get(self, id: str, *, version: int | None = None) -> Record:
        return await self._daemon.ask(records.get(id, version))

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
        return await self._daemon.ask(records.listing(scopes, states, order, limit, cursor, filters))

    async def history(self, id: str) -> builtins.list[Record]:
        return await self._daemon.ask(records.history(id))

    # ---- lifecycle

    async def pin(
        self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        return await self._daemon.ask(
            records.change(id, "pin", expected=expected, reason=reason, fields={"pinned": pinned})
        )

    async def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._daemon.ask(records.delete(id, expected=expected, reason=reason))

    async def undo(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._daemon.ask(records.change(id, "undo", expected=expected, reason=reason))

    async def promote(
        self, id: str, *, scope: Scope | str | None = None, expected: int | None = None, reason: str | None = None
    ) -> Record:
        return await self._daemon.ask(
            records.change(id, "promote", expected=expected, reason=reason, fields={"scope": scope})
        )

    async def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._daemon.ask(records.change(id, "demote", expected=expected, reason=reason))

    async def supersede(
        self,
        id: str,
        text: str,
        *,
        expected: int | None = None,
        reason: str | None = None,
        **fields: Unpack[SuccessorFields],
    ) -> Record:
        return await self._daemon.ask(records.supersede(id, text, fields, expected=expected, reason=reason))

    async def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        return await self._daemon.ask(records.expire(id, at, expected=expected, reason=reason))

    async def purge(
        self,
        *,
        ids: Sequence[str] = (),
        scope: Scope | str | None = None,
        user: str | None = None,
        source: str | None = None,
        leave_files: bool = False,
    ) -> Purged:
        purging = records.purge(ids=ids, scope=scope, user=user, source=source, leave_files=leave_files)
        return await self._daemon.ask(purging)

    # ---- statistics

    async def scopes(
        self, text: str = "", *, kinds: Sequence[ScopeKind] = (), limit: int = 100, everyone: bool = False
    ) -> ScopeCounts:
        params = {"q": text or None, "kind": kinds, "limit": limit, "everyone": everyone or None}
        return (await self._get("/v1/scopes", ScopesAnswer, params)).value()

    async def counts(
        self,
        by: By | Sequence[By],
        *,
        scopes: Scopes = None,
        states: Sequence[State] = ("live",),
        **filters: Unpack[Filters],
    ) -> Tally:
        return await self._daemon.ask(records.counts(by, scopes, states, filters))

    async def recalls(self, id: str, *, limit: int = 50) -> Recalls:
        return await self._get(record_path(id, "recalls"), Recalls, {"limit": limit})

    async def weights(self) -> builtins.list[Weight]:
        return builtins.list((await self._get("/v1/weights", WeightsAnswer)).weights)

    async def latency(self) -> Latency:
        """How long the daemon's recalls of the last hour took."""
        return (await self._get("/v1/latency", LatencyAnswer)).value()

    # ---- context

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
        options = {"session": session, "budget": budget, "everyone": everyone or None, "layer": layer}
        options |= {"min_relevance": min_relevance}
        return await self._daemon.ask(recall.context(query, scopes, options))

    async def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        return await self._daemon.ask(recall.sections(agent=agent, workspace=workspace, budget=budget))

    # ---- files

    async def import_folder(
        self,
        path: str | Path,
        *,
        sync_deletes: bool = False,
        progress: Progress | None = None,
        **fields: Unpack[ImportFields],
    ) -> ImportReport:
        """Bring in a folder of Markdown and text files, or OpenClaw's memory, of the machine the daemon runs on."""
        options = ImportOptions.of(fields, sync_deletes=sync_deletes)
        return await self._daemon.ask(transfer.import_folder(path, fields.get("scope", "global"), options, progress))

    async def import_files(
        self, files: Mapping[str, str], *, progress: Progress | None = None, **fields: Unpack[ImportFields]
    ) -> ImportReport:
        """Bring in texts by their paths, which are relative: they are sent along, and need not be on the daemon's machine."""
        scope, options = fields.get("scope", "global"), ImportOptions.of(fields)
        return await self._daemon.ask(transfer.import_files(files, scope, options, progress))

    async def export(
        self,
        target: str | Path | TextIO,
        *,
        scopes: Scopes = None,
        everyone: bool = False,
        progress: Progress | None = None,
    ) -> ExportCount:
        params = query({"scope": named_scopes(scopes), "everyone": everyone or None})
        total = (await self.stats(everyone=everyone)).records if progress and scopes is None else 0
        with opened_target(target) as stream:
            arriving = Arriving(stream, total, progress)
            await self._daemon.download("/v1/export", params, arriving.take)
            return await async_call(arriving.end)

    async def load(self, source: str | Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        with opened_source(source, progress) as parts:
            return reader(LoadReport)(await self._daemon.upload("/v1/load", parts, MEDIA_TYPE))

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Not over the network: a store is backed up where it is. Raises InvalidInput."""
        del target, progress
        raise InvalidInput(transfer.NO_BACKUP)

    # ---- talk becomes memory

    async def extract(
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
        return await self._daemon.ask(extraction.extract(talk, fields, wait=wait))

    async def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        return await self._send(
            "POST", "/v1/agents/learnings", Record, given({"agents": [*agents], "learning": learning, "run": run})
        )

    async def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        return builtins.list((await self._get("/v1/agents/learnings", LearningsAnswer, {"agent": [*agents]})).learnings)

    # ---- upkeep

    async def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were. For the operator."""
        del progress
        return (await self._send("POST", "/v1/reindex", ReindexedAnswer, endless=True)).texts

    async def use_embedder(self, name: str) -> EmbedderStatus:
        """
        Have the daemon change over to other embedders, `gte-small` for instance, in the background; `embedder_status` says how far it is.
        Searches go on with the old ones until the new ones know every text. For the operator.
        """
        return await self._send("POST", "/v1/embedder", EmbedderStatus, {"embedder": name})

    async def embedder_status(self) -> EmbedderStatus:
        return await self._get("/v1/embedder", EmbedderStatus)

    async def stats(self, *, everyone: bool = False) -> Stats:
        return await self._get("/v1/stats", Stats, {"everyone": everyone or None})

    async def check(self) -> builtins.list[Finding]:
        return builtins.list((await self._get("/v1/check", FindingsAnswer)).findings)

    async def rules(self) -> builtins.list[Rule]:
        return builtins.list((await self._get("/v1/rules", RulesAnswer)).rules)

    async def set_rule(self, rule: Rule) -> None:
        limits = {"scope": rule.scope, "max_age": rule.max_age, "max_records": rule.max_records}
        await self._send("PUT", "/v1/rules", RulesAnswer, changed(limits))

    async def tidy(self, *, purge_after: timedelta | None = None) -> builtins.list[Upkeep]:
        body = changed({"purge_after": purge_after})
        return builtins.list((await self._send("POST", "/v1/tidy", LogAnswer, body, endless=True)).log)

    async def upkeep_log(self, *, since: datetime | None = None, limit: int = 100) -> builtins.list[Upkeep]:
        return builtins.list((await self._get("/v1/upkeep", LogAnswer, {"since": since, "limit": limit})).log)

    # ---- files of managed memory

    async def managed_files(self) -> builtins.list[ShelfFiles]:
        """The folders of managed memory that the key reaches, with their files."""
        return builtins.list((await self._get("/v1/managed", ShelvesAnswer)).roots)

    async def recall_managed(self, query: str, tools: Sequence[str] = (), *, run: str | None = None) -> ShelfRecall:
        body = changed({"query": query, "tools": texts(tools), "run": run})
        return await self._send("POST", "/v1/managed/recall", ShelfRecall, body, reads=True)

    async def managed_file(self, root: ShelfName, path: str) -> ShelfText:
        return await self._get(file_path(root, path), ShelfText)

    async def write_managed_file(
        self, root: ShelfName, path: str, text: str, *, etag: str | None = None
    ) -> ShelfWritten:
        condition = ("If-None-Match", "*") if etag is None else ("If-Match", etag)
        return await self._send(
            "PUT", file_path(root, path), ShelfWritten, changed({"text": text}), condition=condition
        )

    async def delete_managed_file(self, root: ShelfName, path: str, *, etag: str) -> ShelfWritten:
        return await self._send("DELETE", file_path(root, path), ShelfWritten, condition=("If-Match", etag))

    async def move_managed_file(self, root: ShelfName, path: str, *, to: ShelfName) -> ShelfWritten:
        return await self._send("POST", "/v1/managed/move", ShelfWritten, {"root": root, "path": path, "to": to})

    async def managed_changes(self) -> builtins.list[ShelfChange]:
        return builtins.list((await self._get("/v1/managed/changes", ShelfChangesAnswer)).changes)

    async def undo_managed_change(self, id: str) -> ShelfUndone:
        return await self._send("POST", f"/v1/managed/changes/{part(id)}/undo", ShelfUndone)

    # ---- the Markdown of the daemon's workspace

    async def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in the daemon's Markdown. Look at the task until it `is_over`. In the mode `clean` no
        existing memory is looked at.
        """
        body = given({"content": content, "context_mode": context_mode, "scope": scope})
        return await self._send("POST", "/v1/remember", MemoryTask, body)

    async def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """
        How it goes: as soon as it `is_over`, or after `wait` seconds, at most 30. Only for the client id that asked. A daemon that
        cannot wait answers at once, so pause before you ask again.
        """
        return await self._get(f"/v1/remember/{part(id)}", MemoryTask, waits=wait)

    async def forget_workspace_memory(self, query: str, *, scope: TargetScope | None = None) -> MemoryTask:
        return await self._send("POST", "/v1/forget", MemoryTask, given({"query": query, "scope": scope}))

    async def get_workspace_memory_forget_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        return await self._get(f"/v1/forget/{part(id)}", MemoryTask, waits=wait)

    async def dream_workspace_memory(self) -> MemoryTask:
        return await self._send("POST", "/v1/dream", MemoryTask)

    async def get_workspace_memory_dream_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        return await self._get(f"/v1/dream/{part(id)}", MemoryTask, waits=wait)

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
        which = {"scope": named_scopes(scopes), "source": source, "session": session, "rejected": rejected or None}
        return await self._get("/v1/review", WaitingPage, {**which, "limit": limit, "cursor": cursor})

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
        body = reviewed(ids, source, session, reason) | given({"trust": trust, "versions": expected})
        return await self._decide("release", body)

    async def reject(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> builtins.list[Record]:
        return await self._decide("reject", reviewed(ids, source, session, reason))

    async def restore_rejected(self, ids: Sequence[str], *, reason: str) -> builtins.list[Record]:
        return await self._decide("restore", reviewed(ids, None, None, reason))

    async def _decide(self, step: str, body: dict[str, Json]) -> builtins.list[Record]:
        answer = await self._send("POST", f"/v1/review/{step}", ReleasedAnswer, body, endless=True)
        return builtins.list(answer.records)

    async def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        body = reviewed(ids, source, session, reason)
        return await self._send("POST", "/v1/review/purge", Purged, body, endless=True)

    async def approve(
        self, id: str, version: int | None = None, *, kind: ApprovalKind = "record", reason: str | None = None
    ) -> Approval:
        body = given({"id": id, "version": version, "kind": kind, "reason": reason})
        return await self._send("POST", "/v1/approvals", Approval, body)

    async def approvals(
        self, *, state: ApprovalState | None = None, limit: int = 100, cursor: str | None = None
    ) -> ApprovalPage:
        return await self._get("/v1/approvals", ApprovalPage, {"state": state, "limit": limit, "cursor": cursor})

    async def withdraw_approval(self, id: str, *, reason: str | None = None) -> Approval:
        path, params = f"/v1/approvals/{part(id)}", query({"reason": reason})
        return await self._daemon.ask(asked(Call(method="DELETE", path=path, query=params, decode=reader(Approval))))

    async def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        body = changed({**named(RollbackBody, origin), "reason": reason, "dry_run": dry_run})
        return await self._send("POST", "/v1/rollback", RolledBack, body, endless=True)

    # ---- budgets

    async def budgets(self, *, days: int = 1, limit: int = 20) -> Budget:
        return (await self._get("/v1/budgets", BudgetAnswer, {"days": days, "limit": limit})).value()

    async def set_budget(self, daily_usd: float | None) -> Budget:
        """Set what the tenant may spend in a day: 0 turns models off, None goes back to the daemon's setting. For admins."""
        return (await self._send("PUT", "/v1/budgets", BudgetAnswer, {"daily_usd": daily_usd})).value()

    # ---- what only a daemon has

    async def me(self) -> Principal:
        """Whose key this is, its role, and which scopes it reaches."""
        return (await self._get("/v1/me", MeAnswer)).value()

    async def sign_in_url(self) -> tuple[str, datetime]:
        """An address that signs a browser in to the console, once, and until when it does."""
        code = await self._send("POST", "/v1/codes", CodeAnswer)
        return code.url, code.expires_at

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
        fields = {"name": name, "role": role, "scopes": scopes, "expires_at": expires_at, "user": user}
        body = changed({**fields, "agent": agent or None})
        new = await self._send("POST", "/v1/keys", NewKeyAnswer, body)
        return new.key, new.secret

    async def keys(self) -> builtins.list[Key]:
        return builtins.list((await self._get("/v1/keys", KeysAnswer)).keys)

    async def revoke_key(self, id: str) -> Key:
        return await self._send("DELETE", f"/v1/keys/{part(id)}", Key)

    async def create_capability(self, key: str, run: str, **fields: Unpack[CapabilityFields]) -> IssuedCapability:
        body = changed({"key": key, "run": run, **fields})
        return await self._send("POST", "/v1/capabilities", IssuedCapability, body)

    async def members(self, scope: Scope | str) -> builtins.list[Member]:
        return builtins.list((await self._get("/v1/members", MembersAnswer, {"scope": str(scope)})).members)

    async def share(self, scope: Scope | str, subject: str) -> Member:
        return await self._send("POST", "/v1/members", Member, changed({"scope": str(scope), "subject": subject}))

    async def unshare(self, scope: Scope | str, subject: str) -> None:
        body = changed({"scope": str(scope), "subject": subject})
        await self._send_only("POST", "/v1/members/remove", body)

    async def create_user(self, user: str) -> tuple[User, str]:
        return (await self._send("POST", "/v1/users", NewUserAnswer, {"user_id": document(user)})).value()

    async def users(self) -> builtins.list[User]:
        return [user.value() for user in (await self._get("/v1/users", UsersAnswer)).users]

    async def rotate_user(self, user: str) -> tuple[User, str]:
        return (await self._send("POST", f"/v1/users/{part(user)}/rotate", NewUserAnswer)).value()

    async def remove_user(self, user: str) -> None:
        await self._send_only("DELETE", f"/v1/users/{part(user)}")

    async def audit(
        self, wanted: AuditQuery | None = None, *, limit: int = 100, cursor: str | None = None
    ) -> AuditPage:
        parameters = named(AuditFilter, wanted or AuditQuery())
        return await self._get("/v1/audit", AuditPage, {**parameters, "limit": limit, "cursor": cursor})

    async def audit_seals(self, *, verify: bool = False, limit: int = 20) -> SealState:
        return await self._get("/v1/audit/seals", SealState, {"verify": verify, "limit": limit})

    async def events(
        self, *, types: Sequence[str] = (), scopes: Scopes = None, after: int | None = None
    ) -> AsyncIterator[Heard]:
        """
        What happens, as it happens, without an end. `types` are names (`record.created`) or nouns (`record.*`); `after` is the
        id of the last event known, to begin where an earlier listener ended. A connection that drops is taken up again.
        """
        async for event in self._daemon.listen(EventListener(types, scopes, after)):
            yield event
