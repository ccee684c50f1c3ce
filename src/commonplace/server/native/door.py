"""All routes of the native door."""

from __future__ import annotations

from fastapi import APIRouter

from commonplace.server.native import (
    audit,
    budgets,
    census,
    changes,
    extraction,
    keeping,
    knowledge,
    lanes,
    managed,
    moving,
    people,
    records,
    review,
    search,
    tasks,
)

router = APIRouter()
for _part in (
    records,
    changes,
    search,
    review,
    moving,
    tasks,
    lanes,
    extraction,
    managed,
    keeping,
    census,
    budgets,
    audit,
    people,
    knowledge,
):
    router.include_router(_part.router)
