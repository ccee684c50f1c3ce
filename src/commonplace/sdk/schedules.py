# Generated from async_schedules.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The part of the client that is about schedules: `client.schedules`."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TypeVar, Unpack

from commonplace.sdk.connection import DaemonConnection
from commonplace.sdk.documents import changed, part, query, written
from commonplace.sdk.talk import Call, asked
from commonplace.values.schedule import (
    ScheduleFields,
    ScheduleNotFound,
    SchedulePage,
    SchedulePauseView,
    ScheduleProposal,
    ScheduleView,
)
from commonplace.wire.schedules import SchedulePausesAnswer, ScheduleResumedAnswer
from commonplace.wire.shapes import reader

T = TypeVar("T")


class DaemonSchedules:
    """What an agent is told by itself."""

    def __init__(self, daemon: DaemonConnection) -> None:
        self._daemon = daemon

    def propose(self, text: str, *, zone: str | None = None, target: str | None = None) -> ScheduleProposal:
        """What a sentence means, with its next three times. Nothing is set. Raises InvalidInput: it says no time."""
        return self._post("/proposals", ScheduleProposal, {"text": text, "zone": zone, "target": target})

    def add(self, target: str, **fields: Unpack[ScheduleFields]) -> ScheduleView:
        """
        Set a schedule: `cron` or `at` or `when` (a sentence), and the `prompt`.

        Raises:
            InvalidInput: its time is none, or has passed.
            NotFound: the target is out of reach.
            TooManyRequests: the target has ten that are enabled.
        """
        return self._post("", ScheduleView, {**fields, "target": target})

    def list(
        self, *, target: str | None = None, everyone: bool = False, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        """The caller's, newest first; with `target`, all of one that is theirs; `everyone`: all, for an admin."""
        parameters = {"target": target, "everyone": everyone or None, "limit": limit, "cursor": cursor}
        return self._get("", SchedulePage, parameters)

    def get(self, id: str) -> ScheduleView:
        """Raises NotFound."""
        return self._get(f"/{_schedule(id)}", ScheduleView, {})

    def enable(self, id: str) -> ScheduleView:
        """From now on. Raises NotFound; InvalidInput: its only time has passed."""
        return self._post(f"/{_schedule(id)}/enable", ScheduleView, {})

    def disable(self, id: str) -> ScheduleView:
        """Until somebody enables it again. Raises NotFound."""
        return self._post(f"/{_schedule(id)}/disable", ScheduleView, {})

    def run(self, id: str) -> ScheduleView:
        """Play a turn of it now, beside its times. Raises NotFound; Conflict: one is being played."""
        return self._post(f"/{_schedule(id)}/run", ScheduleView, {})

    def cancel(self, id: str) -> None:
        """Remove it. Raises NotFound."""
        self._daemon.ask(asked(Call(method="DELETE", path=f"/v1/schedules/{_schedule(id)}", decode=len)))

    def pause(self, target: str | None = None) -> SchedulePauseView:
        """Nothing is said by itself in this target; without one, in the whole tenant, which is for admins."""
        return self._post("/pause", SchedulePauseView, {"target": target})

    def resume(self, target: str | None = None) -> bool:
        """False: it was not paused."""
        return (self._post("/resume", ScheduleResumedAnswer, {"target": target})).resumed

    def pauses(self) -> builtins.list[SchedulePauseView]:
        """What is paused of what is the caller's."""
        return [*(self._get("/pauses", SchedulePausesAnswer, {})).pauses]

    def _get(self, path: str, answer: type[T], parameters: Mapping[str, object]) -> T:
        return self._daemon.ask(
            asked(
                Call(
                    method="GET",
                    path=f"/v1/schedules{path}",
                    query=query(parameters),
                    decode=reader(answer),
                    reads=True,
                )
            )
        )

    def _post(self, path: str, answer: type[T], body: Mapping[str, object]) -> T:
        call = Call(method="POST", path=f"/v1/schedules{path}", body=written(changed(body)), decode=reader(answer))
        return self._daemon.ask(asked(call))


def _schedule(id: str) -> str:
    """As a part of a path. Raises ScheduleNotFound: it cannot be one."""
    if not id:
        raise ScheduleNotFound
    return part(id)
