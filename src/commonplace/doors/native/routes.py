"""All routes of the native door."""

from __future__ import annotations

from typing import Final

from commonplace.doors.native import (
    approvals,
    artifacts,
    audit,
    budgets,
    changes,
    channels,
    events,
    extraction,
    knowledge,
    lanes,
    maintenance,
    markdown,
    owners,
    people,
    records,
    review,
    rooms,
    runs,
    schedules,
    search,
    sessions,
    sign_in,
    statistics,
    tasks,
    transfer,
    tree,
    turns,
)
from commonplace.server.door import ApiDoor

_PARTS: Final = (
    sign_in,
    records,
    changes,
    search,
    review,
    approvals,
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
    owners,
    tree,
    knowledge,
    sessions,
    turns,
    channels,
    rooms,
    events,
    schedules,
    runs,
    artifacts,
)

DOOR: Final = ApiDoor(routers=tuple(part.router for part in _PARTS))
