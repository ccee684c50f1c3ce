"""What language models cost, at the native door."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, Served
from commonplace.wire.budgets import BudgetAnswer, BudgetBody, BudgetQuery

router = APIRouter(prefix="/v1", tags=["native"])


@router.get("/budgets", summary="What models cost", responses=problems())
async def read(query: Annotated[BudgetQuery, Query()], who: Caller, served: Served) -> BudgetAnswer:
    """The tenant's budget of today, what is left of it, and what it went into. For admins."""
    return BudgetAnswer.of(await served.budgets.read(who, days=query.days, limit=query.limit))


@router.put("/budgets", summary="Set the daily budget", responses=problems())
async def set_budget(body: BudgetBody, who: Caller, served: Served) -> BudgetAnswer:
    """
    For the tenant, from its next call on. For admins; only the operator may set more than the daemon's own
    `llm_daily_budget_usd`.
    """
    return BudgetAnswer.of(await served.budgets.set(who, body.micro_usd))
