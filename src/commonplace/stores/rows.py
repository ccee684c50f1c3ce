"""Rows of the tables that both stores have alike, as values. Times are milliseconds there, and JSON is text, or nothing where it is empty."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from commonplace.stores.groups import StoredAudit
from commonplace.values.audit import AuditRow
from commonplace.values.event import News
from commonplace.values.job import Job
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.record import Json
from commonplace.values.scope import Scope
from commonplace.values.session_lease import LeaseHolder, SessionLease
from commonplace.values.usage import Usage, UsageTotal


def ms(at: datetime | None) -> int | None:
    return None if at is None else to_ms(at)


def moment(at: int | None) -> datetime | None:
    return None if at is None else from_ms(at)


def object_of(text: str | None) -> dict[str, Json]:
    return cast("dict[str, Json]", json.loads(text)) if text else {}


def scope_of(text: str | None) -> Scope | None:
    return None if text is None else Scope.parse(text)


def stored_audit_of(row: Sequence[Any]) -> StoredAudit:
    (
        at, number, records, id, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address,
        request, details,
    ) = row  # fmt: skip
    audit_row = AuditRow(
        id=id,
        at=from_ms(at),
        tenant=tenant,
        actor=actor,
        action=action,
        outcome=outcome,
        record=record,
        version=version,
        scope=scope_of(scope),
        run=run,
        door=door,
        key=key,
        client=client,
        address=address,
        request=request,
        details=object_of(details),
    )
    return StoredAudit(at, number, audit_row, records)


def stored_news_of(row: Sequence[Any]) -> tuple[int, News, bytes | None]:
    """With the id of the last of a group, and the records of it."""
    id, tenant, what, at, scope, actor, client, admins, data, records = row
    news = News(
        type=what,
        tenant=tenant,
        at=from_ms(at),
        scope=scope_of(scope),
        actor=actor,
        client=client,
        admins=bool(admins),
        data=object_of(data),
    )
    return id, news, records


def job_of(row: Sequence[Any]) -> Job:
    (
        id, tenant, kind, payload, created_at, created_by, updated_at, state, mark, client, not_before, max_attempts,
        attempts, worker, leased_until, progress, total, result, error_code, error, line,
    ) = row  # fmt: skip
    return Job(
        id=id,
        tenant=tenant,
        kind=kind,
        payload=object_of(payload),
        created_at=from_ms(created_at),
        created_by=created_by,
        updated_at=from_ms(updated_at),
        state=state,
        unique=mark,
        client=client,
        not_before=moment(not_before),
        max_attempts=max_attempts,
        attempts=attempts,
        worker=worker,
        leased_until=moment(leased_until),
        done=progress,
        total=total,
        result=object_of(result),
        error_code=error_code,
        error=error,
        line=line,
    )


def usage_of(tenant: str, row: Sequence[Any]) -> Usage:
    at, session, purpose, model, agent, workspace, input_tokens, output_tokens, cost, ok = row
    return Usage(
        tenant=tenant,
        at=from_ms(at),
        session=session,
        purpose=purpose,
        model=model,
        agent=agent,
        workspace=workspace,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_micro_usd=cost,
        ok=bool(ok),
    )


def usage_total_of(row: Sequence[Any]) -> UsageTotal:
    purpose, model, tasks, failed, input_tokens, output_tokens, cost = row
    return UsageTotal(
        purpose=purpose,
        model=model,
        tasks=tasks,
        failed=failed,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_micro_usd=cost,
    )


def lease_of(row: Sequence[Any]) -> SessionLease:
    tenant, session, claim, process, url, socket, expires_at = row
    return SessionLease(
        tenant=tenant,
        session=session,
        claim=claim,
        holder=LeaseHolder(process=process, url=url, socket=socket),
        expires_at=from_ms(expires_at),
    )
