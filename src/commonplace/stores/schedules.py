"""Schedules as both stores keep them: columns for what is looked for, JSON for the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from commonplace.stores.rows import moment, ms
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.schedule import Creator, Fire, LastFire, Schedule, SchedulePause, Timing

_TIMES: Final = frozenset({"at", "due", "since", "fired_at", "finished_at"})


def values_of(schedule: Schedule) -> dict[str, Any]:
    """What is bound to the statements."""
    return {
        "tenant": schedule.tenant,
        "id": schedule.id,
        "target": schedule.target,
        "subject": schedule.creator.subject,
        "enabled": schedule.enabled,
        "next_due": ms(schedule.next_due),
        "created_at": to_ms(schedule.created_at),
        "updated_at": to_ms(schedule.updated_at),
        "version": schedule.version,
        "data": json.dumps(
            {
                "label": schedule.label,
                "prompt": schedule.prompt,
                "timing": _written(schedule.timing),
                "creator": _written(schedule.creator),
                "disabled_because": schedule.disabled_because,
                "fire": _written(schedule.fire),
                "attempt": schedule.attempt,
                "failures": schedule.failures,
                "fires": schedule.fires,
                "last": _written(schedule.last),
            },
            ensure_ascii=False,
            separators=(",", ":"),
        ),
    }


def schedule_of(row: Sequence[Any]) -> Schedule:
    tenant, id, target, enabled, next_due, created_at, updated_at, version, text = row
    data: dict[str, Any] = json.loads(text)
    creator = _read(data["creator"])
    scopes = creator.pop("scopes")
    fire, last = data["fire"], data["last"]
    return Schedule(
        id=id,
        tenant=tenant,
        target=target,
        label=data["label"],
        prompt=data["prompt"],
        timing=Timing(**_read(data["timing"])),
        creator=Creator(**creator, scopes=None if scopes is None else tuple(scopes)),
        created_at=from_ms(created_at),
        updated_at=from_ms(updated_at),
        enabled=bool(enabled),
        disabled_because=data["disabled_because"],
        next_due=moment(next_due),
        fire=None if fire is None else Fire(**_read(fire)),
        attempt=data["attempt"],
        failures=data["failures"],
        fires=data["fires"],
        last=None if last is None else LastFire(**_read(last)),
        version=version,
    )


def pause_of(row: Sequence[Any]) -> SchedulePause:
    tenant, target, at, by = row
    return SchedulePause(tenant=tenant, target=target, at=from_ms(at), by=by)


def _written(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return {name: to_ms(field) if isinstance(field, datetime) else field for name, field in asdict(value).items()}


def _read(data: dict[str, Any]) -> dict[str, Any]:
    return {name: moment(value) if name in _TIMES else value for name, value in data.items()}
