"""Jobs as those who asked for them see them: listed, looked at, tried again, dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from commonplace.errors import Forbidden, InvalidInput, NotFound
from commonplace.governance.access import reaches_all, require_role
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.values.job import Job, JobState, scope_of
from commonplace.values.principal import Principal

MOST_TASKS: Final = 1_000


def may_see(who: Principal, job: Job) -> bool:
    """Its creator, those who reach its scope, and admins: of the jobs without a scope, those who reach everything."""
    if job.tenant != who.tenant:
        return False
    scope = scope_of(job)
    if scope is not None and who.reaches(scope):
        return True
    return is_creator(who, job) or (who.is_at_least("admin") and reaches_all(who))


def is_creator(who: Principal, job: Job) -> bool:
    """Two keys may bear the same name, so the key counts where there was one."""
    creator = job.payload.get("who")
    if not isinstance(creator, Mapping):
        return False
    # A key's jobs of before persons were kept apart name it as their subject.
    if who.key is not None:
        return creator.get("key") == who.key
    return creator.get("key") is None and creator.get("subject") == who.subject


class Tasks:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get(self, who: Principal, id: str) -> Job:
        """Raises NotFound: there is none, or it is none of the caller's business."""
        async with self._desk.account(who, "job.get") as account:
            return await self._found(who, account, id)

    async def list(
        self, who: Principal, *, kinds: Sequence[str] = (), states: Sequence[JobState] = (), limit: int = 100
    ) -> list[Job]:
        """Those the caller may see, newest first."""
        async with self._desk.account(who, "job.list"):
            if not 1 <= limit <= MOST_TASKS:
                raise InvalidInput(f"A page has 1 to {MOST_TASKS:,} tasks.")
            jobs = await self._desk.store.jobs.list_jobs(who.tenant, kinds=kinds, states=states, limit=MOST_TASKS)
            caller = await self._desk.with_every_scope(who)
            return [job for job in jobs if may_see(caller, job)][:limit]

    async def retry(self, who: Principal, id: str) -> Job:
        """Queue a failed job again. Raises Conflict where it has not failed, or another like it waits or runs."""
        desk = self._desk
        async with desk.account(who, "job.retry") as account:
            job = await self._changeable(who, account, id)
            return await desk.store.jobs.retry_job(who.tenant, job.id, self._told(account, "job.queued", job))

    async def drop(self, who: Principal, id: str) -> None:
        """Forget a job that is not running: one that waits will never run. Raises Conflict."""
        desk = self._desk
        async with desk.account(who, "job.drop") as account:
            job = await self._changeable(who, account, id)
            await desk.store.jobs.drop_job(who.tenant, job.id, self._told(account, "job.dropped", job))

    async def _found(self, who: Principal, account: Account, id: str) -> Job:
        account.details["job"] = id[:64]
        job = await self._desk.store.jobs.job(who.tenant, id)
        if not may_see(await self._desk.with_every_scope(who), job):
            await account.note("denied")
            raise NotFound(f"There is no job {id!r:.80}.")
        account.scope = scope_of(job)
        return job

    async def _changeable(self, who: Principal, account: Account, id: str) -> Job:
        require_role(who, "writer")
        job = await self._found(who, account, id)
        if not is_creator(who, job):
            if not who.is_at_least("admin"):
                raise Forbidden("The job is somebody else's. Its creator or an admin may retry or drop it.")
            if not reaches_all(who) and scope_of(job) is None:
                raise Forbidden("The job belongs to the whole tenant. This needs a key that reaches every scope.")
        return job

    @staticmethod
    def _told(account: Account, type: str, job: Job) -> Entries:  # noqa: A002 - as events call it
        scope = scope_of(job)
        news = account.news(type, scope=scope, data={"job": job.id, "kind": job.kind}, admins=scope is None)
        return Entries(audit=(account.row("ok"),), events=(news,))
