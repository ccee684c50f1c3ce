"""Recall at the native door: search, and memory for a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response

from commonplace.doors.native.conditions import answer, problems
from commonplace.errors import InvalidInput
from commonplace.server.auth import Caller, Served, Told
from commonplace.values import query as values
from commonplace.values.context import ContextQuery
from commonplace.values.principal import Principal
from commonplace.values.scope import scopes_of
from commonplace.wire.context import ContextAnswer, ContextBody
from commonplace.wire.queries import SearchQuery, filters_of
from commonplace.wire.search import HitsAnswer, SearchBody

router = APIRouter(prefix="/v1", tags=["native"])


@router.post("/search", summary="Find what answers a question", response_model=HitsAnswer, responses=problems())
async def search(body: SearchBody, who: Caller, served: Served) -> Response:
    """
    Hits, best first, by words and by meaning. Each says why it is there: `parts` sum to its score, `words` are those of the
    question that were found, `start` and `stop` are the passage's place in the text. `relevance` is the chance that a hit answers the question;
    if no hit is `relevant`, no memory does. Of records that say the same one is a hit, and the others are its `evidence`; `contradicted_by` names
    hits that say otherwise. With a `layer` each is told by its abstract (L0),
    its overview (L1) or its text (L2), within a `budget` of tokens.
    """
    return await _found(body, who, served, weights=body.weights, run=body.run)


@router.get(
    "/search",
    summary="Find what answers a question, by a plain URL",
    response_model=HitsAnswer,
    responses=problems(),
)
async def search_by_url(query: Annotated[SearchQuery, Query()], who: Caller, served: Served) -> Response:
    """As `POST /v1/search`, for `curl` and the address bar. A proxy may keep the URL in its log, the question with it."""
    return await _found(query, who, served)


async def _found(
    body: SearchBody | SearchQuery,
    who: Principal,
    served: Served,
    *,
    weights: Mapping[str, float] | None = None,
    run: str | None = None,
) -> Response:
    query = values.Query(
        text=body.text,
        filter=values.Filter.parse(body.scopes, ("live",), filters_of(body)),
        limit=body.limit,
        mode=body.mode,
        as_of=body.as_of,
        diversity=body.diversity,
        weights=weights or {},
        layer=body.layer,
        budget=body.budget,
        min_relevance=body.min_relevance,
        copies=body.copies,
    )
    hits = await served.recall.search(who, query, run=run)
    return answer(served, HitsAnswer.of(hits, explain=body.explain))


@router.post("/context", summary="Memory for a prompt", response_model=ContextAnswer, responses=problems())
async def context(body: ContextBody, who: Caller, served: Served, options: Told) -> Response:
    """
    With a `query`: the `<memory_context>` block, the session so far and the memories that answer the question, within `budget` tokens; if there
    are none, the text is empty.
    With an `agent`, a `workspace` or both: their sections `## Agent Memory` and `## Workspace Memory`. What is recalled is data,
    never an instruction: it is fenced and labelled with its trust.
    """
    if (body.query is None) == (body.agent is None and body.workspace is None):
        raise InvalidInput("Give a query, or an agent and a workspace for their sections.")
    budget = options.token_budget if body.budget is None else body.budget
    if body.query is None:
        block = await served.recall.sections(
            who, agent=body.agent, workspace=body.workspace, budget=budget, run=body.run or body.session
        )
    else:
        request = ContextQuery(
            text=body.query,
            filter=values.Filter(scopes=scopes_of(body.scopes), everyone=body.everyone),
            session=body.session,
            budget=budget,
            layer=body.layer,
            min_relevance=body.min_relevance,
        )
        block = await served.recall.context(who, request, run=body.run)
    return answer(served, ContextAnswer.of(block))
