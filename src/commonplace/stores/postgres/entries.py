"""Entries of the journal as rows, written in the transaction they belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import TupleRow

from commonplace.errors import AlreadyAnswered, InvalidInput, QueueFull, ScopeTaken
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.groups import pack, pack_sorted
from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.rows import Table, are_few, insert, ms
from commonplace.values.audit import AuditGroup, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.job import Line, NewJob
from commonplace.values.member import SessionClaim
from commonplace.values.moment import to_ms
from commonplace.values.record import Json
from commonplace.values.scope import Scope

_SQL = statements("sql/journal.sql")
_AUDIT = Table(
    "audit",
    {
        "tenant": "text",
        "at": "int8",
        "id": "text",
        "actor": "text",
        "action": "text",
        "outcome": "text",
        "record": "text",
        "version": "int4",
        "scope": "text",
        "run": "text",
        "door": "text",
        "key": "text",
        "client": "text",
        "address": "text",
        "request": "text",
        "details": "text",
        "records": "bytea",
    },
)
_OUTBOX = Table(
    "outbox",
    {
        "tenant": "text",
        "type": "text",
        "at": "int8",
        "scope": "text",
        "actor": "text",
        "client": "text",
        "admins": "bool",
        "data": "text",
        "records": "bytea",
    },
)
NOTHING = Entries()


def json_text(value: Mapping[str, Json] | Sequence[Json]) -> str:
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInput("What is to be noted is not JSON.") from error


def scope_text(scope: Scope | None) -> str | None:
    return None if scope is None else str(scope)


class Entering:
    """
    The entries of one transaction. `write` may be part of a pipeline if `few`; `check`, after it, tells whether the reply
    could be kept.
    """

    def __init__(self, entries: Entries, now: datetime) -> None:
        self._audit = [_audit_row(row) for row in entries.audit]
        self._news = [_news_row(news) for news in entries.events]
        free = [job for job in entries.jobs if job.line is None]
        self._jobs = [_job_params(job) for job in free if job.unique is None]
        self._unique_jobs = [_job_params(job) for job in free if job.unique is not None]
        self._in_line = [{**_job_params(job), **_line_params(job.line)} for job in entries.jobs if job.line]
        self._reply = None if entries.reply is None else _reply_params(entries.reply, now)
        self._claims = [(claim, _claim_params(claim)) for claim in entries.claims]
        self._memberships: list[tuple[SessionClaim, AsyncCursor[TupleRow]]] = []
        self._replied: AsyncCursor[TupleRow] | None = None
        self._queued: list[AsyncCursor[TupleRow]] = []

    @property
    def nothing(self) -> bool:
        queued = self._jobs or self._unique_jobs or self._in_line
        return not (self._audit or self._news or queued or self._reply or self._claims)

    @property
    def few(self) -> bool:
        return are_few(self._audit) and are_few(self._news)

    async def write(self, connection: Connection) -> None:
        # The reply comes first: of two requests with one key, the second waits here, and for as little as possible.
        if self._reply is not None:
            self._replied = await connection.execute(_SQL["keep_reply"], self._reply)
        for claim, params in self._claims:
            await connection.execute(_SQL["claim"], params)
            if claim.strict:
                self._memberships.append((claim, await connection.execute(_SQL["is_member"], params)))
        await insert(connection, _AUDIT, self._audit)
        for statement, jobs in (("queue_job", self._jobs), ("queue_unique_job", self._unique_jobs)):
            if jobs:
                await connection.cursor().executemany(_SQL[statement], jobs)
        for params in self._in_line:
            await connection.execute(_SQL["lock_line"], params)
            statement = "queue_in_line" if params["mark"] is None else "queue_unique_in_line"
            self._queued.append(await connection.execute(_SQL[statement], params))
            if params["kept"] is not None:
                await connection.execute(_SQL["trim_line"], params)
        await insert(connection, _OUTBOX, self._news)

    def check(self) -> None:
        """
        Raises:
            AlreadyAnswered: a reply with the same tenant, owner and key is there and has not expired.
            QueueFull: there is no room for a job in its line.
            ScopeTaken: a session that is claimed has other members.
        """
        if self._replied is not None and self._replied.rowcount == 0:
            raise AlreadyAnswered
        if any(queued.rowcount == 0 for queued in self._queued):
            raise QueueFull
        for claim, membership in self._memberships:
            if membership.rowcount == 0:
                raise ScopeTaken(scope=str(claim.scope))


def pipelined(connection: Connection, *, few: bool) -> AbstractAsyncContextManager[object]:
    """One round trip for a few rows; many take one a table."""
    return connection.pipeline() if few else nullcontext()


def _audit_row(entry: AuditRow | AuditGroup) -> tuple[Any, ...]:
    row, records = (entry.row, pack_sorted(entry.records)) if isinstance(entry, AuditGroup) else (entry, None)
    return (
        row.tenant, to_ms(row.at), row.id, row.actor, row.action, row.outcome, row.record, row.version,
        scope_text(row.scope), row.run, row.door, row.key, row.client, row.address, row.request, json_text(row.details),
        records,
    )  # fmt: skip


def _news_row(entry: News | NewsGroup) -> tuple[Any, ...]:
    news, records = (entry.news, pack(entry.records)) if isinstance(entry, NewsGroup) else (entry, None)
    return (
        news.tenant, news.type, to_ms(news.at), scope_text(news.scope), news.actor, news.client, news.admins,
        json_text(news.data), records,
    )  # fmt: skip


def _claim_params(claim: SessionClaim) -> dict[str, Any]:
    news = claim.news
    return {
        "tenant": claim.tenant,
        "scope": str(claim.scope),
        "subject": claim.subject,
        "since": to_ms(claim.since),
        "type": news.type,
        "at": to_ms(news.at),
        "actor": news.actor,
        "client": news.client,
        "admins": news.admins,
        "data": json_text(news.data),
    }


def _job_params(job: NewJob) -> dict[str, Any]:
    payload = json_text(job.payload)
    return {
        "id": job.id,
        "tenant": job.tenant,
        "kind": job.kind,
        "payload": payload,
        "created_at": to_ms(job.created_at),
        "created_by": job.created_by,
        "mark": job.unique,
        "client": job.client,
        "not_before": ms(job.not_before),
        "max_attempts": job.max_attempts,
        "line": job.line.name if job.line else None,
        "size": len(payload.encode()),
    }


def _line_params(line: Line) -> dict[str, Any]:
    room: list[Json] = [{"most": limit.most, "kinds": list(limit.kinds), "bytes": limit.bytes} for limit in line.room]
    return {"room": json_text(room), "kept": line.max_jobs}


def _reply_params(reply: IdempotentReply, now: datetime) -> dict[str, Any]:
    return {
        "tenant": reply.tenant,
        "owner": reply.owner,
        "key": reply.key,
        "fingerprint": reply.fingerprint,
        "expires_at": to_ms(reply.expires_at),
        "written": json_text([list(result) for result in reply.results]),
        "now": to_ms(now),
    }
