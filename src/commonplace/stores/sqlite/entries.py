# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What is kept beside a write, in its transaction: audit rows, events, jobs, replies."""

from __future__ import annotations

import json

import apsw

from commonplace.errors import AlreadyAnswered, Conflict, QueueFull, ScopeTaken
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.stores.groups import pack, pack_sorted
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import Row, ms, one, to_json
from commonplace.values.audit import AuditGroup, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.job import NewJob
from commonplace.values.member import SessionClaim
from commonplace.values.moment import to_ms

SQL = load("commonplace.stores.sqlite", "sql/journal.sql")


def write_entries(db: apsw.Connection, entries: Entries, now: int) -> None:
    """
    Raises:
        AlreadyAnswered, QueueFull, ScopeTaken: and the transaction of the caller is to be undone.
    """
    if entries.reply is not None:
        _answer(db, entries.reply, now)
    for claim in entries.claims:
        _claim(db, claim)
    if entries.audit:
        db.executemany(SQL["add_audit"], [_audit_values(row) for row in entries.audit])
    for news in entries.events:
        if isinstance(news, NewsGroup):
            db.execute(SQL["add_events"], (*_event_values(news.news), pack(news.records), len(news.records)))
        else:
            db.execute(SQL["add_event"], _event_values(news))
    for job in entries.jobs:
        _queue(db, job)


def _claim(db: apsw.Connection, claim: SessionClaim) -> None:
    values = {"tenant": claim.tenant, "scope": str(claim.scope), "subject": claim.subject, "since": to_ms(claim.since)}
    db.execute(SQL["claim"], values)
    is_new, is_member = bool(db.changes()), bool(db.execute(SQL["is_member"], values).get)
    if claim.strict and not is_member:
        raise ScopeTaken(scope=str(claim.scope))
    if is_new and is_member:
        db.execute(SQL["add_event"], _event_values(claim.news))


def _queue(db: apsw.Connection, job: NewJob) -> None:
    line, values = job.line, _job_values(job)
    for room in line.room if line else ():
        bound = {"tenant": job.tenant, "line": line.name if line else None, "kinds": json.dumps(room.kinds)}
        count, size = one(db, SQL["in_line"], bound) or (0, 0)
        if count >= room.most or (room.bytes is not None and size and size + _size(values) > room.bytes):
            raise QueueFull
    try:
        db.execute(SQL["add_job" if job.unique is None else "add_unique_job"], values)
    except apsw.ConstraintError as error:
        raise Conflict("A job with that id is there already.") from error
    if line and line.max_jobs is not None:
        db.execute(SQL["trim_line"], {"tenant": job.tenant, "line": line.name, "kept": line.max_jobs})


def _answer(db: apsw.Connection, reply: IdempotentReply, now: int) -> None:
    values = {
        "tenant": reply.tenant,
        "owner": reply.owner,
        "key": reply.key,
        "fingerprint": reply.fingerprint,
        "expires_at": to_ms(reply.expires_at),
        "written": to_json(reply.results),
        "now": now,
    }
    if one(db, SQL["add_reply"], values) is None:
        raise AlreadyAnswered


def _audit_values(entry: AuditRow | AuditGroup) -> Row:
    row, records = (entry.row, pack_sorted(entry.records)) if isinstance(entry, AuditGroup) else (entry, None)
    return (
        row.id,
        to_ms(row.at),
        row.tenant,
        row.actor,
        row.action,
        row.outcome,
        row.record,
        row.version,
        None if row.scope is None else str(row.scope),
        row.run,
        row.door,
        row.key,
        row.client,
        row.address,
        row.request,
        to_json(row.details),
        records,
    )


def _event_values(news: News) -> Row:
    scope = None if news.scope is None else str(news.scope)
    details = (news.actor, news.client, int(news.admins), to_json(news.data))
    return (news.tenant, news.type, to_ms(news.at), scope, *details)


def _size(values: Row) -> int:
    """The bytes of the payload among the values of a job."""
    return len(str(values[3]).encode())


def _job_values(job: NewJob) -> Row:
    born = to_ms(job.created_at)
    head = (job.id, job.tenant, job.kind, to_json(job.payload), born, job.created_by, born)
    return (*head, job.unique, job.client, ms(job.not_before), job.max_attempts, job.line.name if job.line else None)
