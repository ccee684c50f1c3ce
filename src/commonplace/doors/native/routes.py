"""All routes of the native door."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from commonplace.doors.native import (
    audit,
    budgets,
    changes,
    events,
    extraction,
    knowledge,
    lanes,
    maintenance,
    markdown,
    people,
    records,
    review,
    search,
    sign_in,
    statistics,
    tasks,
    transfer,
)
from commonplace.server.door import ApiDoor

_router = APIRouter()
for _part in (
    records,
    changes,
    search,
    review,
    transfer,
    tasks,
    lanes,
    extraction,
    markdown,
    maintenance,
    statistics,
    budgets,
    audit,
    people,
    knowledge,
):
    _router.include_router(_part.router)

DOOR: Final = ApiDoor(routers=(sign_in.router, _router, events.router))
