"""
From some embedders to others, while the store is searched.

A change is a job, so that one process does it for all and another goes on if that one dies. The new embedders are announced first: from then
on what is written gets their vectors, too, while searches still ask the old ones. When no text lacks a vector the new ones answer. The
old ones go a moment later, when every process that has the store open has noticed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from commonplace.errors import (
    Conflict,
    EmbedderChanged,
    EmbedderError,
    InvalidInput,
    StoreClosed,
    StoreError,
    StoreNotAdopted,
)
from commonplace.governance.access import require_operator, require_role
from commonplace.jobs.payloads import EMBED_PAYLOAD, EmbedPayload
from commonplace.memory.indexing import embed_missing
from commonplace.ports.embedder import Embedder
from commonplace.ports.embedder_stages import StagedEmbedder
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.service.desk import Desk
from commonplace.values.embedder import EmbedderStage, EmbedderStatus, SwitchState
from commonplace.values.job import Job, JobState, Line, NewJob
from commonplace.values.moment import new_id
from commonplace.values.principal import Principal
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.upkeep import Upkeep

EMBED: Final = "embed"
FOLLOW_EVERY: Final = 1.0
"""Seconds after which a process has noticed at the latest which embedders its store has."""
_LINE: Final = Line(name=EMBED, max_jobs=20)
_ATTEMPTS: Final = 20
_STATES: Final[Mapping[JobState, SwitchState]] = {
    "queued": "queued",
    "running": "running",
    "done": "settled",
    "failed": "failed",
}

MakeEmbedders = Callable[[Sequence[str]], Sequence[Embedder]]
"""From specs or the names of embedders to embedders. Raises InvalidInput, EmbedderUnavailable."""

log = logging.getLogger(__name__)


class EmbedderSwitch:
    """`fixed` are the embedders that the settings name, which a store has to be opened with."""

    def __init__(
        self,
        desk: Desk,
        make: MakeEmbedders,
        *,
        fixed: str | None = None,
        patience: timedelta = timedelta(seconds=2 * FOLLOW_EVERY),
    ) -> None:
        self._desk = desk
        self._make = make
        self._fixed = fixed
        self._patience = patience
        self._seen: dict[str, StagedEmbedder] | None = None
        self._known: dict[str, Embedder] = {embedder.name: embedder for embedder in desk.room.embedders}
        self._given = frozenset(self._known)
        self._own: set[str] = set()
        self._on_queued: Callable[[], None] = lambda: None

    def on_queued(self, hear: Callable[[], None]) -> None:
        """Call `hear` when there is a change to work on."""
        self._on_queued = hear

    async def status(self, who: Principal) -> EmbedderStatus:
        """For admins."""
        async with self._desk.account(who, "embedder.status"):
            require_role(who, "admin")
            return await self._status()

    async def use(self, who: Principal, spec: str) -> EmbedderStatus:
        """
        Change over to other embedders, in the background. For the operator: they are of the whole store.

        Raises:
            InvalidInput: there is no such embedder, or it has an address.
            EmbedderUnavailable: it is not installed here. Nothing was changed.
            Conflict: the settings name other embedders.
        """
        desk = self._desk
        async with desk.account(who, "embedder.use") as account:
            require_operator(who)
            if not desk.works_on_jobs:
                raise StoreNotAdopted
            if "://" in spec:
                raise InvalidInput("Name the embedder without an address, and set openai_base_url in the settings.")
            embedders = await asyncio.to_thread(self._named, [part.strip() for part in spec.split(",")])
            self._check_settings(embedders)
            sizes = await asyncio.to_thread(lambda: {embedder.name: embedder.dimension for embedder in embedders})
            await desk.store.embedder_stages.announce(sizes)
            await self.refresh()
            now, names = desk.clock.now(), sorted(sizes)
            job = NewJob(
                id=new_id(now),
                tenant=DEFAULT_TENANT,
                kind=EMBED,
                payload=EMBED_PAYLOAD.write(EmbedPayload(embedders=tuple(names))),
                created_at=now,
                created_by=who.actor,
                unique=",".join(names) or "none",
                line=_LINE,
                max_attempts=_ATTEMPTS,
            )
            await desk.store.journal.note(
                Entries(audit=(account.row("ok", details={"embedders": list(names)}),), jobs=(job,))
            )
            account.wrote()
        self._on_queued()
        return await self._status()

    async def run(self, job: Job, payload: EmbedPayload, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a job of kind `embed`. If another change was asked for meanwhile, it leaves the store to that one."""
        desk, names = self._desk, payload.embedders
        stages = desk.store.embedder_stages
        if not set(names) <= (await stages.stages()).keys():
            return {"texts": 0, "replaced": True}
        embedders = await asyncio.to_thread(self._named, names)
        try:
            count = await self._embed_all(embedders, progress)
            await stages.promote(names)
        except EmbedderChanged:
            return {"texts": 0, "replaced": True}
        await self.refresh()
        # Others may still write with the old ones, and without the new.
        await asyncio.sleep(self._patience.total_seconds())
        await self._embed_all(embedders, None)
        active = {name: embedder.dimension for name, embedder in (await stages.stages()).items() if name in names}
        await desk.store.maintenance.set_embedders(active)
        await self.refresh()
        detail = f"with {', '.join(names) or 'words only'}"
        entry = Upkeep(at=desk.clock.now(), action="reindexed", scope="all", records=count, detail=detail)
        await desk.store.maintenance.log(job.tenant, [entry])
        return {"texts": count}

    async def refresh(self) -> None:
        """Take the embedders that the store has now, if they are others than before."""
        stages = await self._desk.store.embedder_stages.stages()
        if stages == self._seen:
            return
        room = self._desk.room
        active = await self._of_stage(stages, "active")
        coming = await self._of_stage(stages, "coming")
        if set(active) != set(room.embedders) or set(coming) != set(room.coming):
            room.change_embedders(active, coming)
        self._seen = stages

    async def follow(self) -> None:
        """Notice what other processes do to the store, without an end."""
        while True:
            try:
                await self.refresh()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("which embedders the store has is not known: %s", error.code)
            await asyncio.sleep(FOLLOW_EVERY)

    async def aclose(self) -> None:
        """Close what was made here."""
        for name in self._own:
            await self._known[name].aclose()

    # ---- parts

    async def _embed_all(self, embedders: Sequence[Embedder], progress: Progress | None) -> int:
        """Until nobody wrote a text meanwhile that lacks a vector."""
        stages = self._desk.store.embedder_stages
        total = 0
        while count := await embed_missing(stages, embedders, progress):
            total += count
        return total

    async def _of_stage(self, stages: Mapping[str, StagedEmbedder], stage: EmbedderStage) -> list[Embedder]:
        names = [name for name, embedder in stages.items() if embedder.stage == stage]
        for name in [name for name in names if name not in self._known]:
            try:
                await asyncio.to_thread(self._named, [name])
            except (EmbedderError, InvalidInput) as error:
                log.warning("the store has the embedder %s, which is not available here: %s", name, error.code)
        return [self._known[name] for name in names if name in self._known]

    def _named(self, names: Sequence[str]) -> list[Embedder]:
        """Embedders by name or spec, each made once."""
        if all(name in self._known for name in names):
            return [self._known[name] for name in names]
        embedders = [self._known.setdefault(embedder.name, embedder) for embedder in self._make(names)]
        self._own |= {embedder.name for embedder in embedders} - self._given
        return embedders

    def _check_settings(self, embedders: Sequence[Embedder]) -> None:
        if self._fixed is None:
            return
        fixed = {embedder.name for embedder in self._make(self._fixed.split(","))}
        if fixed != {embedder.name for embedder in embedders}:
            raise Conflict(
                f"The settings name the embedder {self._fixed}. Take `embedder` out of them first: the store knows its own."
            )

    async def _status(self) -> EmbedderStatus:
        store = self._desk.store
        stages = await store.embedder_stages.stages()
        jobs = await store.jobs.list_jobs(DEFAULT_TENANT, kinds=[EMBED], limit=1)
        job = jobs[0] if jobs else None
        count, total = (job.done, job.total) if job else (0, 0)
        if job is not None and job.state == "done":
            count = total = int(str(job.result.get("texts", 0)))

        def of_stage(stage: EmbedderStage) -> tuple[str, ...]:
            return tuple(name for name, embedder in stages.items() if embedder.stage == stage)

        return EmbedderStatus(
            active=of_stage("active"),
            coming=of_stage("coming"),
            leaving=of_stage("leaving"),
            state="settled" if job is None else _STATES[job.state],
            count=count,
            total=total,
            error=job.error if job and job.state == "failed" else None,
        )
