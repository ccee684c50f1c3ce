"""Knowledge at the native door: what earlier runs found out, and whether a later one may build on it."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query

from commonplace.doors.native.conditions import problems
from commonplace.knowledge.findings import Binding, NewFinding, NewSpace
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.knowledge import Sought
from commonplace.values.knowledge import ItemStatus, Review
from commonplace.wire.knowledge import (
    BindingBody,
    CoverageAnswer,
    CoverageKey,
    CoveragesAnswer,
    DeprecateItemBody,
    Id,
    ItemAnswer,
    ItemBody,
    ItemsAnswer,
    PreflightAnswer,
    PreflightBody,
    PromoteItemBody,
    RecordedItemAnswer,
    RefreshItemBody,
    SpaceAnswer,
    SpaceBody,
    SpacesAnswer,
)

router = APIRouter(prefix="/v1/knowledge", tags=["native"])

ItemId = Annotated[Id, Path()]


@router.post("/spaces", status_code=201, summary="Make a knowledge space", responses=problems())
async def create_space(body: SpaceBody, who: Caller, served: Served) -> SpaceAnswer:
    """
    There is one a scope, project (or run) and namespace: asked for again, it is answered as it is. A project's space is open
    to whoever reaches `workspace:<project>`, a run's to `session:<run>`, a global one to `global`.
    """
    new = NewSpace(
        scope=body.scope,
        project=body.run if body.scope == "run" else body.project,
        namespace=body.namespace,
        title=body.title,
        trust_level=body.trust_level,
    )
    return SpaceAnswer.of(await served.knowledge.create_space(who, new))


@router.get("/spaces", summary="Knowledge spaces in reach", responses=problems(), dependencies=[only_conditions()])
async def spaces(who: Caller, served: Served) -> SpacesAnswer:
    return SpacesAnswer(spaces=[SpaceAnswer.of(space) for space in await served.knowledge.spaces(who)])


@router.post("/items", status_code=201, summary="Record a finding", responses=problems(404, 422))
async def record(body: ItemBody, who: Caller, served: Served) -> RecordedItemAnswer:
    """
    It is `working` until a reviewer promotes it; one that looks like an attack is `quarantined` until a reviewer lets it out. The
    same finding again refreshes the one that is there; if it says something else under the same `dedupe_key`, it becomes its working
    successor, and takes its place once it is trusted as much. `outcome` says which.
    """
    finding = NewFinding(
        space=body.space,
        title=body.title,
        item_type=body.item_type,
        task_family=body.task_family,
        subject=body.subject,
        coverage_key=body.coverage_key,
        dedupe_key=body.dedupe_key,
        summary=body.summary,
        payload=body.payload,
        run=body.run,
        artifact_refs=tuple(body.artifact_refs),
        source_memory_ids=tuple(body.source_memory_ids),
        freshness_expires_at=body.freshness_expires_at,
    )
    return RecordedItemAnswer.of(await served.knowledge.record(who, finding))


@router.get(
    "/items",
    summary="Findings in reach, newest first",
    responses=problems(),
    dependencies=[only_conditions("space", "coverage_key", "status", "limit")],
)
async def items(
    who: Caller,
    served: Served,
    space: Annotated[list[Id], Query(max_length=100)] = [],  # noqa: B006 - a default of the framework's, never changed
    coverage_key: Annotated[CoverageKey | None, Query()] = None,
    status: Annotated[list[ItemStatus], Query(max_length=10)] = [],  # noqa: B006 - as above
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> ItemsAnswer:
    sought = Sought(spaces=tuple(space), coverage_key=coverage_key, statuses=tuple(status), limit=limit)
    return ItemsAnswer(items=[ItemAnswer.model_validate(item) for item in await served.knowledge.items(who, sought)])


@router.get("/items/{id}", summary="One finding", responses=problems(404))
async def item(id: ItemId, who: Caller, served: Served) -> ItemAnswer:
    return ItemAnswer.model_validate(await served.knowledge.item(who, id))


@router.post("/items/{id}/promote", summary="Promote or approve a finding", responses=problems(404, 409))
async def promote(id: ItemId, body: PromoteItemBody, who: Caller, served: Served) -> ItemAnswer:
    """From `working` to `promoted`, from there to `approved_default`; no step is left out. For reviewers."""
    review = Review(
        reviewer=body.reviewer_id,
        approval=body.approval_id,
        freshness_expires_at=body.freshness_expires_at,
        reason=body.reason,
    )
    return ItemAnswer.model_validate(await served.knowledge.promote(who, id, body.status, review))


@router.post("/items/{id}/refresh", summary="Confirm a finding", responses=problems(404, 409))
async def refresh(id: ItemId, who: Caller, served: Served, body: RefreshItemBody | None = None) -> ItemAnswer:
    """It keeps its status, and is fresh until `freshness_expires_at`, or for as long again as it was. For reviewers."""
    request = body or RefreshItemBody()
    item = await served.knowledge.refresh(who, id, request.freshness_expires_at, request.reason)
    return ItemAnswer.model_validate(item)


@router.post("/items/{id}/deprecate", summary="Give a finding up, for good", responses=problems(404, 409))
async def deprecate(id: ItemId, who: Caller, served: Served, body: DeprecateItemBody | None = None) -> ItemAnswer:
    """For reviewers."""
    request = body or DeprecateItemBody()
    review = Review(reviewer=request.reviewer_id, approval=request.approval_id, reason=request.reason)
    return ItemAnswer.model_validate(await served.knowledge.deprecate(who, id, review))


@router.delete("/items/{id}", status_code=204, summary="Remove a finding, for good", responses=problems(404))
async def remove(id: ItemId, who: Caller, served: Served) -> None:
    """A purge of records leaves what was found out from them: this removes it. For admins."""
    await served.knowledge.remove(who, id)


@router.get(
    "/coverage",
    summary="What is known about one thing, by space",
    responses=problems(),
    dependencies=[only_conditions("coverage_key")],
)
async def coverage(coverage_key: Annotated[CoverageKey, Query()], who: Caller, served: Served) -> CoveragesAnswer:
    coverages = await served.knowledge.coverage(who, coverage_key)
    return CoveragesAnswer(coverage=[CoverageAnswer.model_validate(entry) for entry in coverages])


@router.post("/preflight", summary="Is it known already?", responses=problems())
async def preflight(body: PreflightBody, who: Caller, served: Served) -> PreflightAnswer:
    """
    Asked before a run works something out: whether to reuse what is known, to refresh it, or to begin. `context` is what is
    known, fenced as data, for the prompt.
    """
    report = await served.knowledge.preflight(who, _binding(body))
    return PreflightAnswer.model_validate(report)


def _binding(body: PreflightBody) -> Binding:
    binding = body.binding or BindingBody()
    return Binding(
        project=body.project,
        namespace=binding.namespace or body.namespace,
        task_family=body.task_family,
        subject=binding.subject or body.subject,
        enabled=binding.enabled,
        reuse_mode=binding.reuse_mode,
        trust_floor=binding.trust_floor,
        read_spaces=tuple(binding.read_spaces),
        freshness=None if binding.freshness_ms is None else timedelta(milliseconds=binding.freshness_ms),
    )
