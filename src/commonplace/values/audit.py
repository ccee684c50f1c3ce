"""The audit: who did what to which record, from where, and how it ended. Never what the record says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from commonplace.values.json import Json, JsonObject
from commonplace.values.moment import Moment, nth_id
from commonplace.values.permission_entry import PERMISSION_ACTIONS
from commonplace.values.scope import Scope

AuditOutcome = Literal["ok", "unchanged", "denied", "not_found", "refused", "failed", "blocked", "budget_exhausted"]


ROOM_ACTIONS: Final = (
    "task.requested",
    *PERMISSION_ACTIONS,
    "schedule.fire",
    "room.budget",
    "room.remember",
    "room.correct",
    "room.forget",
    "room.replace_memory",
    "room.learn",
)
"""What is done in rooms: who asked for a turn, what was permitted, what was said by itself, what a room remembers and spends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow(JsonObject):
    """
    One line of the audit. `action` is a verb with its noun (`record.put`, `record.search`, `key.create`, `memory_put` at
    the governed door). `details` holds ids, counts and hashes; a search leaves the hash of its question and the ids it
    found. No text of a memory and no secret is ever in a row.
    """

    id: str
    at: Moment
    tenant: str
    actor: str
    action: str
    outcome: AuditOutcome = "ok"
    record: str | None = None
    version: int | None = None
    scope: Scope | None = None
    run: str | None = None
    door: str = "native"
    key: str | None = None
    client: str | None = None
    address: str | None = None
    request: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class AuditGroup:
    """
    Rows of one write that differ in nothing but the record. A store keeps them as one and answers them one by one, by the ids of
    their records. `row` has the id of the first and names no record; the ids of records are UUIDs.
    """

    row: AuditRow
    records: tuple[str, ...]

    def nth(self, n: int) -> AuditRow:
        return replace(self.row, id=nth_id(self.row.id, n), record=self.records[n])


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditQuery:
    """Which rows; None and empty narrow nothing. since <= at < until."""

    actions: tuple[str, ...] = ()
    outcomes: tuple[AuditOutcome, ...] = ()
    actor: str | None = None
    record: str | None = None
    run: str | None = None
    doors: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditPage(JsonObject):
    """Newest first. `cursor` continues; None is the end."""

    rows: tuple[AuditRow, ...]
    cursor: str | None
