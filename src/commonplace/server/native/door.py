"""All routes of the native door."""

from __future__ import annotations

from fastapi import APIRouter

from commonplace.server.native import (
    audit,
    budgets,
    changes,
    keeping,
    knowledge,
    moving,
    people,
    records,
    search,
    tasks,
)

router = APIRouter()
for _part in (records, changes, search, moving, tasks, keeping, budgets, audit, people, knowledge):
    router.include_router(_part.router)
