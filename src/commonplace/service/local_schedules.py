"""Schedules of somebody in this process."""

from __future__ import annotations

import builtins
from typing import Unpack

from commonplace.ports.schedule_client import ScheduleClient
from commonplace.service.schedules import Schedules
from commonplace.values.principal import Principal
from commonplace.values.schedule import (
    ScheduleFields,
    SchedulePage,
    SchedulePauseView,
    ScheduleProposal,
    ScheduleView,
)


class LocalSchedules(ScheduleClient):
    def __init__(self, schedules: Schedules, principal: Principal) -> None:
        self._schedules = schedules
        self._principal = principal

    async def propose(self, text: str, *, zone: str | None = None, target: str | None = None) -> ScheduleProposal:
        return await self._schedules.propose(self._principal, text, zone=zone, target=target)

    async def add(self, target: str, **fields: Unpack[ScheduleFields]) -> ScheduleView:
        return await self._schedules.add(self._principal, target, fields)

    async def list(
        self, *, target: str | None = None, everyone: bool = False, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        return await self._schedules.list(self._principal, target=target, everyone=everyone, limit=limit, cursor=cursor)

    async def get(self, id: str) -> ScheduleView:
        return await self._schedules.get(self._principal, id)

    async def enable(self, id: str) -> ScheduleView:
        return await self._schedules.enable(self._principal, id)

    async def disable(self, id: str) -> ScheduleView:
        return await self._schedules.disable(self._principal, id)

    async def run(self, id: str) -> ScheduleView:
        return await self._schedules.run(self._principal, id)

    async def cancel(self, id: str) -> None:
        await self._schedules.cancel(self._principal, id)

    async def pause(self, target: str | None = None) -> SchedulePauseView:
        return await self._schedules.pause(self._principal, target)

    async def resume(self, target: str | None = None) -> bool:
        return await self._schedules.resume(self._principal, target)

    async def pauses(self) -> builtins.list[SchedulePauseView]:
        return await self._schedules.pauses(self._principal)
