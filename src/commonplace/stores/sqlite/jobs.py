# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Jobs, claimed by lease. One statement in the writer's transaction decides who gets one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import apsw

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.rows import job_of
from commonplace.stores.sqlite.rows import Row, Where, one, rows, to_json
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.job import Job, JobState
from commonplace.values.record import Json

SQL = load("commonplace.stores.sqlite", "sql/jobs.sql")
_MS = timedelta(milliseconds=1)
_NOTHING = Entries()
_EXHAUSTED = "No attempt came to its end: the worker stopped each time. Look at its log, then retry the job."


def _find_job(db: apsw.Connection, tenant: str, id: str) -> Job:
    row = one(db, SQL["job"], (tenant, id))
    if row is None:
        raise NotFound("There is no such job.")
    return job_of(row[1:])


class SqlJobs:
    """Satisfies the port `JobQueue`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def claim_job(
        self, kinds: Sequence[str], worker: str, lease: timedelta, *, tenant: str | None = None, line: str | None = None
    ) -> Job | None:
        bound = {"kinds": json.dumps(list(kinds)), "now": self._transactions.now(), "tenant": tenant, "line": line}

        def job(db: apsw.Connection) -> Row | None:
            db.execute(SQL["give_up_jobs"], bound | {"error": _EXHAUSTED})
            return one(db, SQL["claim_job"], bound | {"worker": worker, "lease": lease // _MS})

        # Workers look often and mostly find nothing: that takes no lock.
        if not await self._transactions.read(lambda db: db.execute(SQL["has_job"], bound).get):
            return None
        row = await self._transactions.write(job)
        return None if row is None else job_of(row[1:])

    async def renew_job(self, id: str, worker: str, lease: timedelta, *, progress: int, total: int) -> bool:
        now = self._transactions.now()
        bound = {"id": id, "worker": worker, "lease": lease // _MS, "done": progress, "total": total, "now": now}
        return await self._transactions.change(SQL["renew_job"], bound) == 1

    async def job_workers(self) -> list[str]:
        now = self._transactions.now()
        return [row[0] for row in await self._transactions.read(lambda db: rows(db, SQL["job_workers"], (now,)))]

    async def end_leases(self, workers: Sequence[str]) -> int:
        bound = {"workers": json.dumps(list(workers)), "now": self._transactions.now()}
        return await self._transactions.change(SQL["end_leases"], bound)

    async def finish_job(self, id: str, worker: str, result: Mapping[str, Json], entries: Entries) -> bool:
        bound = {"id": id, "worker": worker, "result": to_json(result), "now": self._transactions.now()}
        return await self._end("finish_job", bound, entries)

    async def fail_job(
        self,
        id: str,
        worker: str,
        code: str,
        message: str,
        *,
        retry_in: timedelta | None,
        entries: Entries,
        counts: bool = True,
    ) -> bool:
        wait, now = None if retry_in is None else retry_in // _MS, self._transactions.now()
        bound: dict[str, Any] = {"id": id, "worker": worker, "code": code, "message": message, "now": now}
        bound |= {"retry_in": wait, "uncounted": 0 if counts else 1}
        return await self._end("fail_job", bound, entries)

    async def _end(self, statement: str, bound: dict[str, Any], entries: Entries) -> bool:
        def end(db: apsw.Connection) -> bool:
            db.execute(SQL[statement], bound)
            return db.changes() == 1

        return await self._transactions.keep_beside(end, lambda ended: entries if ended else _NOTHING)

    async def job(self, tenant: str, id: str) -> Job:
        return await self._transactions.read(lambda db: _find_job(db, tenant, id))

    async def open_job(self, tenant: str, kind: str, unique: str) -> str | None:
        row = await self._transactions.read(lambda db: one(db, SQL["open_job"], (tenant, kind, unique)))
        return None if row is None else row[0]

    async def list_jobs(
        self, tenant: str, *, kinds: Sequence[str] = (), states: Sequence[JobState] = (), limit: int = 100
    ) -> list[Job]:
        clause = Where()
        clause.add("tenant = {}", tenant)
        clause.any_of("kind", kinds)
        clause.any_of("state", states)
        sql = f"{SQL['listed']} {clause} ORDER BY created_at DESC, number DESC LIMIT :limit"
        job_rows = await self._transactions.read(lambda db: rows(db, sql, clause.bound | {"limit": limit}))
        return [job_of(row[1:]) for row in job_rows]

    async def retry_job(self, tenant: str, id: str, entries: Entries) -> Job:
        def retry(db: apsw.Connection) -> Job:
            if _find_job(db, tenant, id).state != "failed":
                raise Conflict("Only a job that has failed can be queued again.")
            try:
                row = one(db, SQL["retry_job"], (self._transactions.now(), id))
            except apsw.ConstraintError as error:
                raise Conflict("Another job like this one is waiting or running already.") from error
            if row is None:
                raise NotFound("There is no such job.")
            return job_of(row[1:])

        return await self._transactions.keep(retry, entries)

    async def drop_job(self, tenant: str, id: str, entries: Entries) -> None:
        def drop(db: apsw.Connection) -> None:
            if _find_job(db, tenant, id).state == "running":
                raise Conflict("The job is running. Wait until it ends.")
            db.execute(SQL["drop_job"], (id,))

        await self._transactions.keep(drop, entries)

    async def trim_jobs(self, *, older_than: timedelta, keep: int, failed: timedelta | None = None) -> int:
        now = self._transactions.now()
        params = {"before": now - older_than // _MS, "failed": now - (failed or older_than) // _MS, "keep": keep}
        return await self._transactions.change(SQL["trim_jobs"], params)
