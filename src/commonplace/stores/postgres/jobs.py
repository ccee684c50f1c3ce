"""
The queue of jobs.

Times are those of the store's clock, as everywhere: daemons on several machines need clocks that agree to well within the
length of a lease, or one takes over what another still holds. Even then no two can end the same job: only its last claimant can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from psycopg import errors

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import NOTHING, json_text
from commonplace.stores.postgres.transactions import SHARE, Transactions
from commonplace.stores.rows import job_of
from commonplace.values.job import Job, JobState
from commonplace.values.moment import to_ms
from commonplace.values.record import Json

_SQL = statements("sql/jobs.sql")
_EXHAUSTED = "No attempt came to an end. See the log of the daemon for what stopped it, then retry the job."
_MARK_TAKEN = "Another job of the same mark is waiting or running. Wait until it has ended."


class _Lost(Conflict):
    """The job is not this worker's any more."""


class _Overtaken(Conflict):
    """Another worker has begun a job of the same line in this moment."""


class SqlJobs:
    """Satisfies the port `JobQueue`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def claim_job(
        self, kinds: Sequence[str], worker: str, lease: timedelta, *, tenant: str | None = None, line: str | None = None
    ) -> Job | None:
        now = self._transactions.now()
        of = {"kinds": list(kinds), "tenant": tenant, "line": line}
        params = {**of, "worker": worker, "message": _EXHAUSTED, **_lease(now, lease)}

        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            try:
                async with connection.pipeline():
                    await connection.execute(_SQL["give_up"], params)
                    claiming = await connection.execute(_SQL["claim"], params, binary=True)
                return await claiming.fetchall()
            except errors.UniqueViolation:
                raise _Overtaken from None

        try:
            claimed = await self._transactions.write(work)
        except _Overtaken:
            return None
        return job_of(claimed[0]) if claimed else None

    async def renew_job(self, id: str, worker: str, lease: timedelta, *, progress: int, total: int) -> bool:
        params = {
            "id": id,
            "worker": worker,
            "done": progress,
            "total": total,
            **_lease(self._transactions.now(), lease),
        }
        return await self._hold(_SQL["renew"], params, NOTHING)

    async def job_workers(self) -> list[str]:
        worker_rows = await self._transactions.ask(_SQL["workers"], {"now": to_ms(self._transactions.now())})
        return [row[0] for row in worker_rows]

    async def end_leases(self, workers: Sequence[str]) -> int:
        params = {"workers": list(workers), "now": to_ms(self._transactions.now())}

        return await self._transactions.count(_SQL["end_leases"], params)

    async def finish_job(self, id: str, worker: str, result: Mapping[str, Json], entries: Entries) -> bool:
        params = {"id": id, "worker": worker, "result": json_text(result), "now": to_ms(self._transactions.now())}
        return await self._hold(_SQL["finish"], params, entries)

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
        now = self._transactions.now()
        params = {
            "id": id,
            "worker": worker,
            "code": code,
            "message": message,
            "again_at": None if retry_in is None else to_ms(now + retry_in),
            "uncounted": 0 if counts else 1,
            "now": to_ms(now),
        }
        return await self._hold(_SQL["fail"], params, entries)

    async def job(self, tenant: str, id: str) -> Job:
        job_rows = await self._transactions.ask(_SQL["job"], {"tenant": tenant, "id": id})
        if not job_rows:
            raise NotFound(f"There is no job {id!r:.80}.")
        return job_of(job_rows[0])

    async def open_job(self, tenant: str, kind: str, unique: str) -> str | None:
        params = {"tenant": tenant, "kind": kind, "mark": unique}
        job_rows = await self._transactions.ask(_SQL["open_job"], params)
        return job_rows[0][0] if job_rows else None

    async def list_jobs(
        self, tenant: str, *, kinds: Sequence[str] = (), states: Sequence[JobState] = (), limit: int = 100
    ) -> list[Job]:
        params = {
            "tenant": tenant,
            "kinds": list(kinds) or None,
            "states": list(states) or None,
            "limit": max(limit, 0),
        }
        return [job_of(row) for row in await self._transactions.ask(_SQL["jobs"], params)]

    async def retry_job(self, tenant: str, id: str, entries: Entries) -> Job:
        params = {"tenant": tenant, "id": id, "now": to_ms(self._transactions.now())}

        async def work(connection: Connection) -> tuple[Job, Entries]:
            if await self._locked_state(connection, tenant, id) != "failed":
                raise Conflict("Only a job that has failed can be queued again.")
            try:
                [row] = await rows(connection, _SQL["retry"], params)
            except errors.UniqueViolation:
                raise Conflict(_MARK_TAKEN) from None
            await self._transactions.keep(connection, entries)
            return job_of(row), entries

        return await self._transactions.write_beside(work)

    async def drop_job(self, tenant: str, id: str, entries: Entries) -> None:
        async def work(connection: Connection) -> tuple[None, Entries]:
            if await self._locked_state(connection, tenant, id) == "running":
                raise Conflict("The job is running. Wait until it has ended.")
            await self._transactions.keep(connection, entries, (_SQL["drop"], {"tenant": tenant, "id": id}))
            return None, entries

        await self._transactions.write_beside(work)

    async def trim_jobs(self, *, older_than: timedelta, keep: int, failed: timedelta | None = None) -> int:
        now = self._transactions.now()
        params = {
            "before": to_ms(now - older_than),
            "failed": to_ms(now - (failed or older_than)),
            "keep": max(keep, 0),
        }

        return await self._transactions.count(_SQL["trim"], params)

    async def _hold(self, sql: bytes, params: Mapping[str, Any], entries: Entries) -> bool:
        """Change a job that this worker holds."""
        try:
            await self._transactions.change(sql, params, entries, _Lost())
        except _Lost:
            return False
        return True

    async def _locked_state(self, connection: Connection, tenant: str, id: str) -> JobState:
        async with connection.pipeline():
            await connection.execute(SHARE)
            locked = await connection.execute(_SQL["lock"], {"tenant": tenant, "id": id})
        state_rows = await locked.fetchall()
        if not state_rows:
            raise NotFound(f"There is no job {id!r:.80}.")
        return state_rows[0][0]


def _lease(now: datetime, lease: timedelta) -> dict[str, int]:
    return {"now": to_ms(now), "until": to_ms(now + lease)}
