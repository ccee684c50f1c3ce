"""The governed door's context routes: the tree, its layers, and conversations distilled."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Query

from commonplace.memory.tree import DEPTH, Node, TreeNode
from commonplace.server.auth import Asking, Served
from commonplace.service.distill import Conversation
from commonplace.wire.distill import DistillAnswer, DistillBody, FactAnswer, ReportAnswer
from commonplace.wire.shapes import Line
from commonplace.wire.tree import (
    LayerAnswer,
    LayersAnswer,
    LayersBody,
    LayerSummaryAnswer,
    NodeAnswer,
    ResolveAnswer,
    ResolveBody,
    TreeAnswer,
    TreeNodeAnswer,
)

router = APIRouter(prefix="/memory/context", tags=["governed"])


@router.post("/resolve", summary="What an address in the tree names", response_model_exclude_none=True)
async def resolve(body: ResolveBody, who: Asking, served: Served) -> ResolveAnswer:
    """`commonplace://resources/<project>`, `…user/<id>`, `…agent/<id>`, `…session/<id>`, `…global`, and what is in them."""
    node = await served.browsing.resolve(who, body.uri)
    return ResolveAnswer(node=_node(node, served.desk.clock.now()))


@router.get("/tree", summary="What is below an address in the tree", response_model_exclude_none=True)
async def tree(
    uri: Annotated[Line, Query(examples=["commonplace://resources/default"])],
    who: Asking,
    served: Served,
    max_depth: Annotated[int, Query(ge=0, le=100, description="Deeper than five levels nothing is shown.")] = DEPTH,
) -> TreeAnswer:
    found = await served.browsing.tree(who, uri, max_depth)
    return TreeAnswer(tree=[_tree_node(found, served.desk.clock.now())])


@router.post("/layers/generate", summary="Make the shorter tellings of a memory")
async def generate(body: LayersBody, who: Asking, served: Served) -> LayersAnswer:
    """L0 has about a hundred tokens, L1 about two thousand. Those that are there stay."""
    layers = await served.browsing.generate(who, body.node_id)
    made = [LayerAnswer(layer_type=layer.name, token_count=layer.tokens, method=layer.method) for layer in layers]
    return LayersAnswer(ok=True, node_id=body.node_id, layers=made)


@router.post("/distill", summary="Keep what a conversation taught", response_model_exclude_none=True)
async def distill(body: DistillBody, who: Asking, served: Served, after: BackgroundTasks) -> DistillAnswer:
    """Preferences, facts, outcomes and lessons become facts of the session. The same conversation again adds nothing."""
    after.add_task(served.lanes.met, who, body.session_id)
    done = await served.distilling.distill(
        who,
        Conversation(
            session=body.session_id,
            parts=tuple(body.conversation),
            run=body.run_id,
            workflow=body.workflow_id,
            project=body.project_id,
            subject=body.subject,
            artifact_refs=tuple(body.artifact_refs),
            threshold=body.importance_threshold,
            capability=body.capability.value() if body.capability else None,
        ),
    )
    facts = [
        FactAnswer(
            category=fact.category,
            content=fact.content,
            importance=fact.importance,
            follow_up_needed=fact.follow_up_needed,
        )
        for fact in done.facts
    ]
    return DistillAnswer(
        ok=True,
        distillation_id=done.id,
        session_id=body.session_id,
        facts_extracted=len(facts),
        stored_count=len(done.stored),
        deduped_count=len(done.deduped),
        memory_ids=[*done.stored, *done.deduped],
        candidate_ids=[],
        status=done.status,
        report=ReportAnswer(
            method=done.method,
            user_memory_updated=done.user_memory_updated,
            agent_memory_updated=done.agent_memory_updated,
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


def _tree_node(found: TreeNode, now: datetime) -> TreeNodeAnswer:
    layers = found.layer_summary
    return TreeNodeAnswer(
        node=_node(found.node, now),
        children=[_tree_node(child, now) for child in found.children],
        layer_summary=LayerSummaryAnswer(
            l0_preview=layers.l0_preview, l1_preview=layers.l1_preview, has_l2=layers.has_l2
        ),
        more=found.more,
    )
