"""The governed door: Tandem's memory routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, BackgroundTasks, Path, Query

from commonplace.doors.tandem import runs
from commonplace.doors.tandem.distill import DistillRequest, GovernedDistilling
from commonplace.doors.tandem.partitions import (
    OURS,
    PROMOTION,
    RecordConditions,
    RequestPlace,
    channel_of,
    host_of,
    partition_key,
    partition_of_record,
    project_of,
    subject_of,
    tier_of,
)
from commonplace.doors.tandem.retrieval import NO_LIMITS, GrantLimits, Retrieval, SearchRequest
from commonplace.doors.tandem.shapes import (
    AuditAnswer,
    AuditEntry,
    ChangedAnswer,
    DeletedAnswer,
    DemoteBody,
    DistillAnswer,
    DistillBody,
    FactAnswer,
    GovernanceAnswer,
    GrantBody,
    ImportAnswer,
    ImportBody,
    InfluenceAnswer,
    LayerAnswer,
    LayersAnswer,
    LayersBody,
    LayerSummaryAnswer,
    LinkageAnswer,
    ListAnswer,
    MemoryAnswer,
    Name,
    NodeAnswer,
    PartitionBody,
    PromoteAnswer,
    PromoteBody,
    PutAnswer,
    PutBody,
    ReportAnswer,
    ResolveAnswer,
    ResolveBody,
    ScrubAnswer,
    SearchAnswer,
    SearchBody,
    SourceAnswer,
    TreeAnswer,
    TreeNodeAnswer,
    TrustAnswer,
    WarnedFile,
    one_project,
)
from commonplace.doors.tandem.use_cases import ACTIONS, Governed, ListRequest, Promote, Put
from commonplace.errors import InvalidInput
from commonplace.governance.budgets import RetrievalBudget, RetrievalGrant
from commonplace.server.auth import Caller, Served, use_case
from commonplace.server.door import ApiDoor, only_conditions
from commonplace.service.distill import Conversation
from commonplace.service.services import Services
from commonplace.service.tree import DEPTH, TreeQuery
from commonplace.text.scrub import ScrubReport
from commonplace.values.audit import AuditRow
from commonplace.values.moment import to_ms
from commonplace.values.principal import Principal
from commonplace.values.query import Hit
from commonplace.values.record import TRUSTED, Json, Outcome, Record
from commonplace.values.scope import Scope
from commonplace.values.transfer import ImportOptions
from commonplace.values.tree import Node, TreeNode
from commonplace.wire.shapes import Line, RecordId

router = APIRouter(prefix="/memory", tags=["governed"])
context_router = APIRouter(prefix="/memory/context", tags=["governed"])


def _use_cases(services: Services) -> list[object]:
    desk = services.desk
    return [Governed(desk, services.moving), Retrieval(desk), GovernedDistilling(desk, services.distilling)]


DOOR: Final = ApiDoor(routers=(router, context_router, runs.router), use_cases=_use_cases)
UseGoverned = Annotated[Governed, use_case(Governed)]
UseRetrieval = Annotated[Retrieval, use_case(Retrieval)]
UseDistilling = Annotated[GovernedDistilling, use_case(GovernedDistilling)]

_CONDITIONS: Final = only_conditions(*"q limit offset user_id project_id project_tag channel_tag host_tag".split())
_NOT_SHOWN: Final = frozenset({OURS, "memory_trust", "trust_label"})


@router.post("/put", summary="Keep a note, a fact or a solution")
async def put(body: PutBody, who: Caller, served: Served, governed: UseGoverned) -> PutAnswer:
    """
    It belongs to its subject, and nobody else finds it, until it is promoted. Secrets are taken out first; a private key keeps
    the whole text out, which `scrub_report` tells. The same from the same run is kept once. At most 8,000 characters.
    """
    fields = body.metadata or {}
    metadata: dict[str, Json] = {name: value for name, value in fields.items() if name not in _NOT_SHOWN}
    who = await _presenting(body, who, served)
    report = await governed.put(
        who,
        Put(
            text=body.content,
            place=_place(body, who),
            kind=body.kind,
            tags=tuple(body.tags),
            source=body.source or "agent_note",
            trust=body.label(),
            classification=body.classification,
            artifact_refs=tuple(body.artifact_refs),
            metadata=metadata,
            channel=body.channel_tag,
            host=body.host_tag,
            message=body.message_id,
            tool=body.tool_name,
        ),
    )
    return PutAnswer(
        id=report.id,
        ok=report.stored or report.deduped,
        stored=report.stored,
        deduped=report.deduped,
        tier=report.tier,
        partition_key=report.partition_key,
        audit_id=report.audit_id,
        scrub_report=_scrub(report.scrub),
        quarantined=report.quarantine is not None,
        quarantine=report.quarantine,
    )


@router.post("/search", summary="Search by words", response_model_exclude_none=True)
async def search(body: SearchBody, who: Caller, served: Served, retrieval: UseRetrieval) -> SearchAnswer:
    """
    Words that are meant literally: names, tickets, errors. A question that asks for everything is refused, and what a
    budget allows is told, no more.
    """
    who = await _presenting(body, who, served)
    report = await retrieval.search(who, _request(body, who))
    return SearchAnswer(
        results=[memory_answer(item.hit.record, item.text, item.hit) for item in report.hits],
        count=len(report.hits),
        scopes_used=list(report.used),
        blocked_scopes=list(report.blocked),
        audit_id=report.audit_id,
        left_out=report.left_out,
    )


@router.get("", summary="List memories, newest first", response_model_exclude_none=True, dependencies=[_CONDITIONS])
async def memories(
    who: Caller,
    governed: UseGoverned,
    q: Annotated[str | None, Query(max_length=1_000, description="Those that hold this text.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    user_id: Annotated[Name | None, Query(description="Those of this person.")] = None,
    project_id: Annotated[Name | None, Query(description="Those of this project.")] = None,
    project_tag: Annotated[Name | None, Query(description="The same as `project_id`.")] = None,
    channel_tag: Annotated[Name | None, Query()] = None,
    host_tag: Annotated[Name | None, Query()] = None,
) -> ListAnswer:
    """Demoted ones too, which no search finds."""
    project = one_project(project_id, project_tag)
    conditions = RecordConditions(user=user_id, project=project, channel=channel_tag, host=host_tag)
    listing = ListRequest(text=q, conditions=conditions, limit=limit, offset=offset)
    page = await governed.memories(who, listing)
    items = [memory_answer(record, record.text) for record in page.records]
    return ListAnswer(items=items, count=len(items), offset=offset, limit=limit, truncated=not page.whole)


@router.post("/promote", summary="Share a memory")
async def promote(body: PromoteBody, who: Caller, served: Served, governed: UseGoverned) -> PromoteAnswer:
    """
    With everybody of its project, or of the tenant. It needs a reviewer: a reviewer's key, or a capability and a review that
    names `reviewer_id` and `approval_id`. What cannot be shared is told with `promoted: false`.
    """
    review = body.review
    who = await _presenting(body, who, served)
    report = await governed.promote(
        who,
        Promote(
            id=body.id,
            place=_place(body, who),
            to=body.to_tier,
            reason=body.reason,
            reviewer=review.reviewer_id if review else None,
            approval=review.approval_id if review else None,
            outcome=body.outcome(),
        ),
    )
    return PromoteAnswer(
        ok=report.promoted,
        id=report.id,
        promoted=report.promoted,
        new_memory_id=report.id if report.promoted else None,
        to_tier=report.to,
        scrub_report=_scrub(report.scrub),
        audit_id=report.audit_id,
        policy_decision_id=report.decision,
        reason=report.reason,
    )


@router.post("/demote", summary="Keep a memory to itself")
async def demote(body: DemoteBody, who: Caller, governed: UseGoverned) -> ChangedAnswer:
    """It is kept, and no search finds it. `/memory/promote` brings it back."""
    row = await governed.demote(who, body.id, run=body.run_id)
    return ChangedAnswer(id=body.id, audit_id=row.id, outcome=_outcome(row))


@router.get(
    "/audit",
    summary="What was done, newest first",
    response_model_exclude_none=True,
    dependencies=[only_conditions("run_id", "limit")],
)
async def audit(
    who: Caller,
    governed: UseGoverned,
    run_id: Annotated[Name | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> AuditAnswer:
    """By the caller; a reviewer sees what others did, too. No text of a memory and no question is ever in it."""
    rows = await governed.audit(who, run=run_id, limit=limit)
    return AuditAnswer(entries=[_entry(row) for row in rows], count=len(rows))


@router.post("/import", summary="Import a folder")
async def import_path(body: ImportBody, who: Caller, governed: UseGoverned) -> ImportAnswer:
    """
    Markdown and text files of the machine the daemon runs on, or OpenClaw's memory. Files that did not change are left
    alone. Keys other than the operator's import below `import_roots` only, and nothing
    of the daemon's home folder.
    """
    options = ImportOptions(
        layout=body.format, sync_deletes=body.sync_deletes, force=body.force, binding=body.source_binding_id
    )
    report = await governed.import_path(who, body.source.path, scope=_import_scope(body), options=options)
    return ImportAnswer(
        ok=True,
        source=SourceAnswer(kind="path", path=body.source.path),
        format=body.format,
        tier=body.tier,
        project_id=body.project_id,
        session_id=body.session_id,
        source_binding_id=body.source_binding_id,
        sync_deletes=body.sync_deletes,
        discovered_files=report.discovered_files,
        files_processed=report.files_processed,
        indexed_files=report.indexed_files,
        skipped_files=report.skipped_files,
        deleted_files=report.deleted_files,
        chunks_created=report.chunks_created,
        errors=report.errors,
        quarantined=report.quarantined,
        withheld=list(report.withheld),
        warned=[WarnedFile(file=file, reason=reason) for file, reason in report.warned],
    )


@router.delete("/{id}", summary="Delete a memory")
async def delete(
    id: Annotated[RecordId, Path()],
    who: Caller,
    governed: UseGoverned,
    project_id: Annotated[Name | None, Query(description="It must be this project's.")] = None,
    channel_tag: Annotated[Name | None, Query(description="It must be this channel's.")] = None,
) -> DeletedAnswer:
    """A tombstone stays, which the native door can undo."""
    row = await governed.delete(who, id, project=project_id, channel=channel_tag)
    return DeletedAnswer(id=id, audit_id=row.id, outcome=_outcome(row))


def _outcome(row: AuditRow) -> Outcome:
    return "unchanged" if row.outcome == "unchanged" else "updated"


# ---- in


async def _presenting(
    body: PutBody | SearchBody | PromoteBody | DistillBody, who: Principal, served: Services
) -> Principal:
    """The caller with the capability of the request. One that another key issued is checked, and brings its issuer's reach."""
    capability = body.capability
    if isinstance(capability, str):
        return await served.capabilities.present(who, capability, session=body.session_id)
    return replace(who, capability=capability.value() if capability else None)


def _place(body: PutBody | SearchBody | PromoteBody, who: Principal) -> RequestPlace:
    where = body.partition or PartitionBody()
    return RequestPlace(
        org=where.org_id,
        workspace=where.workspace_id,
        project=one_project(where.project_id, body.project_id, body.project_tag),
        tier=where.tier,
        run=body.run_id,
        session=body.session_id,
        user=body.user_id,
        capability=who.capability,
    )


def _request(body: SearchBody, who: Principal) -> SearchRequest:
    grant = body.retrieval_grant
    return SearchRequest(
        text=body.query,
        place=_place(body, who),
        conditions=RecordConditions(user=body.user_id, channel=body.channel_tag, host=body.host_tag),
        tiers=tuple(body.read_scopes or ()),
        tags=tuple(body.tags),
        limit=body.limit,
        grant=_grant(grant) if grant else None,
        limits=_limits(grant) if grant else NO_LIMITS,
    )


def _limits(grant: GrantBody) -> GrantLimits:
    return GrantLimits(
        org=grant.org_id,
        workspace=grant.workspace_id,
        classes=frozenset(grant.data_classes),
        bindings=frozenset(grant.source_binding_ids),
        objects=frozenset(grant.source_object_ids),
    )


def _grant(grant: GrantBody) -> RetrievalGrant:
    budgets = grant.budgets
    return RetrievalGrant(
        id=grant.grant_id,
        subject=grant.subject,
        projects=frozenset(grant.project_ids),
        budget=RetrievalBudget(
            window=timedelta(milliseconds=budgets.window_ms),
            queries=budgets.max_queries_per_window,
            results=budgets.max_results_per_window,
            tokens=budgets.max_tokens_per_window,
            characters=budgets.max_chars_per_window,
            reply_results=budgets.max_top_k,
            reply_tokens=budgets.max_tokens,
            reply_characters=budgets.max_chars,
        ),
        revoked=grant.revoked,
        expires_at=grant.expires_at,
    )


def _import_scope(body: ImportBody) -> Scope:
    if body.tier == "global":
        return Scope("global")
    id = body.project_id if body.tier == "project" else body.session_id
    if id is None:
        raise InvalidInput(f"{body.tier}_id: an import into a {body.tier} names it.")
    return Scope("workspace" if body.tier == "project" else "session", id)


# ---- out


def memory_answer(record: Record, text: str, hit: Hit | None = None) -> MemoryAnswer:
    """A record as this door tells it. `text` is as much of it as may be told."""
    metadata, provenance, trusted = record.metadata, record.provenance, record.trust in TRUSTED
    count = redactions if isinstance(redactions := metadata.get("redactions"), int) else 0
    classification = str(metadata.get("classification") or "internal")
    promotion = metadata.get(PROMOTION)
    project = project_of(record)
    sources = {
        "run_id": provenance.run,
        "message_id": provenance.message,
        "file": provenance.file,
        "actor": record.actor,
    }
    refs = metadata.get("artifact_refs")
    return MemoryAnswer(
        id=record.id,
        text=text,
        content=text,
        score=hit.score if hit else None,
        relevance=round(hit.relevance, 4) if hit else None,
        contradicted_by=[*hit.contradicted_by] if hit else None,
        tier=tier_of(record),
        partition_key=partition_of_record(record),
        kind=record.kind,
        classification=classification,
        source=record.source,
        source_type=record.source,
        user_id=subject_of(record),
        session_id=record.session,
        run_id=provenance.run,
        project_id=project,
        channel_tag=channel_of(record),
        host_tag=host_of(record),
        tags=list(record.tags),
        artifact_refs=[str(ref) for ref in refs] if isinstance(refs, list) else [],
        visibility=record.visibility,
        demoted=record.demoted,
        created_at_ms=to_ms(record.created_at),
        updated_at_ms=to_ms(record.updated_at),
        memory_trust=TrustAnswer(
            label=record.trust, trusted_for_promotion=trusted, rendering_role="context" if trusted else "evidence"
        ),
        linkage=LinkageAnswer(
            run_id=provenance.run,
            session_id=record.session,
            message_id=provenance.message,
            project_id=project,
            promotion=promotion if isinstance(promotion, dict) else None,
        ),
        governance=GovernanceAnswer(
            classification=classification,
            visibility=record.visibility,
            demoted=record.demoted,
            redaction_status="redacted" if count else "passed",
            redaction_count=count,
        ),
        influence=InfluenceAnswer(pinned=record.pinned, importance=record.importance / 100),
        provenance={name: value for name, value in sources.items() if value is not None},
        metadata={name: value for name, value in metadata.items() if name not in _NOT_SHOWN},
    )


def _scrub(report: ScrubReport) -> ScrubAnswer:
    return ScrubAnswer(status=report.status, redactions=report.redactions, block_reason=report.block_reason)


def _entry(row: AuditRow) -> AuditEntry:
    details: Mapping[str, Any] = row.details
    at = to_ms(row.at)
    derived = partition_key(row.tenant, row.scope) if row.scope else None
    return AuditEntry(
        audit_id=row.id,
        id=row.id,
        action=ACTIONS[row.action],
        run_id=row.run,
        memory_id=row.record,
        source_memory_id=row.record if row.action == "record.promote" else None,
        to_tier=details.get("to_tier"),
        partition_key=details.get("partition") or derived,
        actor=row.actor,
        status=row.outcome,
        detail=details.get("why") or details.get("code"),
        created_at_ms=at,
        ts_ms=at,
    )


@context_router.post("/resolve", summary="What an address in the tree names", response_model_exclude_none=True)
async def resolve(body: ResolveBody, who: Caller, served: Served) -> ResolveAnswer:
    """`commonplace://resources/<project>`, `…user/<id>`, `…agent/<id>`, `…session/<id>`, `…global`, and what is in them."""
    node = await served.tree.resolve(who, body.uri)
    return ResolveAnswer(node=_node(node, served.desk.clock.now()))


@context_router.get("/tree", summary="What is below an address in the tree", response_model_exclude_none=True)
async def tree(
    uri: Annotated[Line, Query(examples=["commonplace://resources/default"])],
    who: Caller,
    served: Served,
    max_depth: Annotated[int, Query(ge=0, le=100, description="Deeper than five levels nothing is shown.")] = DEPTH,
) -> TreeAnswer:
    """Folders and the memories in them. Of other people's nothing is listed."""
    root = await served.tree.tree(who, TreeQuery(uri=uri, depth=max_depth))
    return TreeAnswer(tree=[_tree_node(root, served.desk.clock.now())])


@context_router.post("/layers/generate", summary="Make the shorter tellings of a memory")
async def generate(body: LayersBody, who: Caller, served: Served) -> LayersAnswer:
    """L0 has about a hundred tokens, L1 about two thousand. Those that are there stay."""
    layers = await served.tree.generate(who, body.node_id)
    answers = [
        LayerAnswer(layer_type=layer.name, content=layer.text, token_count=layer.tokens, method=layer.method)
        for layer in layers
    ]
    return LayersAnswer(ok=True, node_id=body.node_id, layers=answers)


@context_router.post("/distill", summary="Keep what a conversation taught", response_model_exclude_none=True)
async def distill(
    body: DistillBody, who: Caller, served: Served, distilling: UseDistilling, after: BackgroundTasks
) -> DistillAnswer:
    """Preferences, facts, outcomes and lessons become facts of the session. The same conversation again adds nothing."""
    after.add_task(served.lanes.met, who, body.session_id)
    conversation = Conversation(
        session=body.session_id,
        parts=tuple(body.conversation),
        run=body.run_id,
        workflow=body.workflow_id,
        artifact_refs=tuple(body.artifact_refs),
        threshold=body.importance_threshold,
    )
    who = await _presenting(body, who, served)
    request = DistillRequest(
        conversation=conversation,
        project=body.project_id,
        subject=body.subject,
        capability=who.capability,
    )
    report = await distilling.distill(who, request)
    facts = [
        FactAnswer(
            category=fact.category,
            content=fact.content,
            importance=fact.importance,
            follow_up_needed=fact.follow_up_needed,
        )
        for fact in report.facts
    ]
    return DistillAnswer(
        ok=True,
        distillation_id=report.id,
        session_id=body.session_id,
        facts_extracted=len(facts),
        stored_count=len(report.stored),
        deduped_count=len(report.deduped),
        memory_ids=[*report.stored, *report.deduped],
        candidate_ids=[],
        quarantined=list(report.quarantined),
        status=report.status,
        report=ReportAnswer(
            method=report.method,
            user_memory_updated=report.user_memory_updated,
            agent_memory_updated=report.agent_memory_updated,
            facts=facts,
        ),
    )


def _node(node: Node, now: datetime) -> NodeAnswer:
    # A directory is there when somebody asks for it; its clients want a time in any case.
    return NodeAnswer(
        id=node.id,
        uri=node.uri,
        parent_uri=node.parent_uri,
        node_type=node.node_type,
        created_at=node.created_at or now,
        updated_at=node.updated_at or now,
        metadata={name: value for name, value in node.metadata.items() if value is not None},
    )


def _tree_node(branch: TreeNode, now: datetime) -> TreeNodeAnswer:
    layers = branch.layer_summary
    return TreeNodeAnswer(
        node=_node(branch.node, now),
        children=[_tree_node(child, now) for child in branch.children],
        layer_summary=LayerSummaryAnswer(
            l0_preview=layers.l0_preview, l1_preview=layers.l1_preview, has_l2=layers.has_l2
        ),
        more=branch.more,
    )
