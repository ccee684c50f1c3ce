"""Schedules for tests: a clock that a test moves, a scripted agent, and as many daemons as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from commonplace.agent.session_target import SessionTarget
from commonplace.errors import CommonplaceError
from commonplace.jobs.payloads import FIRE_PAYLOAD
from commonplace.jobs.retry import decide_retry
from commonplace.ports.journal import Entries
from commonplace.ports.schedule_target import ScheduleTarget
from commonplace.service.schedule_runner import ScheduleRunner
from commonplace.service.schedules import FIRE, SESSION
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.clock import FakeClock
from commonplace.values.job import Job
from commonplace.values.record import Json
from commonplace.values.schedule import ScheduleFields, ScheduleView

LEASE: Final = timedelta(minutes=1)


@dataclass
class ScheduleBench:
    """A daemon that plays schedules in the sessions of `agents`, or in other `targets`."""

    agents: TurnBench
    clock: FakeClock
    targets: Mapping[str, ScheduleTarget] | None = None
    results: list[Mapping[str, Json]] = field(default_factory=list[Mapping[str, Json]])

    @property
    def runner(self) -> ScheduleRunner:
        services = self.agents.services
        targets = self.targets
        if targets is None:
            assert self.agents.agent
            assert self.agents.sessions is not None
            targets = {SESSION: SessionTarget(self.agents.sessions, services.history)}
        return ScheduleRunner(services.desk, services.schedules, targets)

    async def session(self, **fields: bool) -> str:
        """The target that a new session is."""
        del fields
        session = await self.agents.services.history.create(WHO, "assistant", {})
        return f"{SESSION}:{session.id}"

    async def add(self, target: str, **fields: object) -> ScheduleView:
        complete: ScheduleFields = {"prompt": "post the open questions", **fields}  # pyright: ignore[reportAssignmentType] - a test says what it gives
        return await self.agents.services.schedules.add(WHO, target, complete)

    async def look(self, id: str) -> ScheduleView:
        return await self.agents.services.schedules.get(WHO, id)

    async def said(self, target: str) -> list[str]:
        """What was said in a session, by itself and in answer."""
        page = await self.agents.services.history.messages(WHO, target.partition(":")[2], limit=1_000)
        return [message.text for message in page.messages if message.kind == "text"]

    async def until(self, moment: datetime, *, step: timedelta = timedelta(minutes=1)) -> None:
        """Let time pass, and let what comes due be played."""
        while self.clock.now() < moment:
            self.clock.advance(min(step, moment - self.clock.now()))
            await self.tick()

    async def tick(self) -> None:
        """Queue what is due, and play what is queued."""
        await self.runner.plan()
        while (job := await self.claim()) is not None:
            await self.play(job)

    async def claim(self, worker: str = "one") -> Job | None:
        return await self.agents.services.desk.store.jobs.claim_job([FIRE], worker, LEASE)

    async def play(self, job: Job, worker: str = "one") -> None:
        jobs = self.agents.services.desk.store.jobs
        try:
            result = await self.runner.run(job, FIRE_PAYLOAD.read(job.payload), lambda _count, _total: None)
        except (CommonplaceError, TimeoutError) as error:
            decision = decide_retry(error, job, self.clock.now())
            await jobs.fail_job(
                job.id,
                worker,
                decision.code,
                decision.message,
                retry_in=decision.retry_in,
                counts=decision.counts,
                entries=Entries(),
            )
            return
        self.results.append(result)
        await jobs.finish_job(job.id, worker, result, Entries())
