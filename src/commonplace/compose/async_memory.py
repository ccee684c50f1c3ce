"""An embedded memory: the use cases in this process, over a store that is opened and closed with it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from commonplace.compose.caretaker import Caretaker
from commonplace.compose.embedders import embedder_maker
from commonplace.compose.files import HomeFiles
from commonplace.errors import StoreClosed
from commonplace.memory.holdings import IndexBudget
from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.service.local import MAX_PAGE, PATIENCE, LocalMemory, Progress
from commonplace.service.read_journal import ReadJournal
from commonplace.service.services import ServiceOptions, Services
from commonplace.values.principal import LOCAL, Principal

if TYPE_CHECKING:
    from types import TracebackType

    from commonplace.compose.configuration import Configuration
    from commonplace.compose.embedders import EmbedderChoice, EmbedderOptions
    from commonplace.compose.stores import Opened
    from commonplace.ports.clock import Clock
    from commonplace.values.embedder import EmbedderStatus
    from commonplace.values.task import ContextMode, MemoryTask, TargetScope

DOOR: Final = "embedded"
_FOLLOW_AFTER: Final = 2.0


class AsyncMemory(LocalMemory):
    """
    One tenant's memory in one store. `open_memory_async` opens it.

    Wherever a record's `id` is asked for, its first 16 digits or more will do, while only one record has them; delete and demote take all of it. A scope
    is written `kind:id`. Every change of a record makes a new version of it; `expected` refuses the change if the record
    is no longer at that version. What is written leaves an audit row and an event in the same transaction; the audit rows of
    searches follow within a second, and when the memory is closed.
    """

    def __init__(
        self,
        opened: Opened,
        embedding: tuple[EmbedderChoice, EmbedderOptions],
        clock: Clock,
        tenant: str,
        actor: str | None,
        settings: Configuration,
        *,
        agent: bool = False,
    ) -> None:
        store, (choice, making) = opened.store, embedding
        room = EngineRoom(
            store=store,
            clock=clock,
            embedders=choice.embedders,
            count=choice.count,
            budget=IndexBudget(settings.cache_bytes),
            files=HomeFiles(store.jobs, store.journal, clock, curated=settings.curated),
        )
        self._reads = ReadJournal(store.journal)
        desk = Desk(
            store=store,
            clock=clock,
            room=room,
            limits=settings.limits,
            reads=self._reads,
            works_on_jobs=opened.adopted,
        )
        # Whoever opens the store may do everything with it.
        who = Principal(subject=LOCAL, name=actor, tenant=tenant, role="admin", operator=True, agent=agent, door=DOOR)
        idle = timedelta(days=settings.session_days) if settings.session_days else None
        options = ServiceOptions(
            most_records=MAX_PAGE,
            session_idle=idle,
            history_kept=timedelta(days=settings.history_days) if settings.history_days else None,
            make_embedders=embedder_maker(store.vectors, making),
            fixed_embedder=settings.embedder,
            run_home=settings.home,
            run_kept=timedelta(days=settings.runs_days) if settings.runs_days else None,
            artifact_kept=timedelta(days=settings.artifacts_days) if settings.artifacts_days else None,
            most_artifact=settings.max_artifact_mb << 20,
        )
        services = Services(desk, options)
        super().__init__(services, who, token_budget=settings.token_budget)
        # What was made elsewhere is not ours to look after.
        self._caretaker = Caretaker(services) if opened.adopted else None
        if self._caretaker is not None:
            self._caretaker.begin()
        self._opened = opened
        self._choice = choice
        self._stale = choice.stale
        self._closed = False
        self._learner: Services | None = None
        self._one_learner = asyncio.Lock()
        self._model = AsyncExitStack()
        self._working: asyncio.Task[None] | None = None
        self._switching: asyncio.Task[None] | None = None
        self._following = asyncio.create_task(self._follow_embedders()) if opened.adopted else None

    @property
    def tenant(self) -> str:
        return self._principal.tenant

    @property
    def embedders(self) -> tuple[str, ...]:
        """The names of the embedders by which meaning is searched; none: by words only."""
        return tuple(embedder.name for embedder in self._services.desk.room.embedders)

    async def reindex(self, *, progress: Progress | None = None) -> int:
        """Make all words and vectors anew from the texts, and answer how many there were."""
        count = await super().reindex(progress=progress)
        self._stale = False
        return count

    async def use_embedder(self, name: str) -> EmbedderStatus:
        """
        Change over to other embedders, `gte-small` for instance, in the background; `embedder_status` says how far it is. Searches
        go on with the old ones until the new ones know every text. If the memory is closed before, call this again: it goes on.
        """
        status = await super().use_embedder(name)
        if self._switching is None or self._switching.done():
            # As below.
            from commonplace.jobs.payloads import EMBED_PAYLOAD  # noqa: PLC0415
            from commonplace.jobs.queue import Queue  # noqa: PLC0415
            from commonplace.jobs.worker import Worker  # noqa: PLC0415
            from commonplace.service.embedders import EMBED  # noqa: PLC0415

            queue = Queue(handler=self._services.embedders.run, payload=EMBED_PAYLOAD, wakes=(EMBED,))
            desk = self._services.desk
            worker = Worker(desk.store, desk.clock, {EMBED: queue})
            self._services.embedders.on_queued(lambda: worker.wake(EMBED))
            self._switching = asyncio.create_task(worker.run())
        return status

    # ---- memory in Markdown: this process does the work, and so it waits for it

    async def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in Markdown: in the home folder, or with the workspace around the current folder. Where that
        takes longer than 20 seconds, poll the task until it `is_over`. In the mode `clean` no existing memory is looked at.
        """
        task = await super().remember_workspace_memory(content, context_mode=context_mode, scope=scope)
        return await self.get_workspace_memory_remember_task(task.id, wait=PATIENCE)

    async def forget_workspace_memory(self, query: str, *, scope: TargetScope | None = None) -> MemoryTask:
        """Have entries removed that are about `query`, at most five. It is waited for as a fact is."""
        task = await super().forget_workspace_memory(query, scope=scope)
        return await self.get_workspace_memory_forget_task(task.id, wait=PATIENCE)

    async def dream_workspace_memory(self) -> MemoryTask:
        """Have entries that say nearly the same made one. It is waited for as a fact is."""
        task = await super().dream_workspace_memory()
        return await self.get_workspace_memory_dream_task(task.id, wait=PATIENCE)

    # ---- open and closed

    async def aclose(self) -> None:
        """Close the store. A second time does nothing."""
        if self._closed:
            return
        try:
            await self._searchable()
        finally:
            self._closed = True
            await self._stop_learning()
            if self._caretaker is not None:
                await self._caretaker.aclose()
            await self._services.desk.room.aclose()
            await self._reads.aclose()
            for embedder in self._choice.own:
                await embedder.aclose()
            await self._close_made()
            await self._opened.aclose()

    async def _follow_embedders(self) -> None:
        """Another process may change the embedders of the store. A short command ends before it would look."""
        await asyncio.sleep(_FOLLOW_AFTER)
        await self._services.embedders.follow()

    async def _close_made(self) -> None:
        if "embedders" in self._services.__dict__:
            await self._services.embedders.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def _now(self) -> Services:
        if self._closed:
            raise StoreClosed
        return self._services

    async def _searchable(self) -> Services:
        """A store that took other embedders is reindexed before it is searched, and at the latest when it is closed."""
        services = self._now
        if self._stale:
            await self.reindex()
        return services

    async def _learning(self) -> Services:
        """The same store and the same engines, with the language model and the folders of the settings."""
        await self._searchable()
        async with self._one_learner:
            if self._learner is None:
                self._learner = await self._with_model()
        return self._learner

    async def _with_model(self) -> Services:
        # Settings and models load slowly, and few programs need them.
        from commonplace.compose.services import asked_model, service_options  # noqa: PLC0415
        from commonplace.llms import choose as llms  # noqa: PLC0415
        from commonplace.settings import load_settings  # noqa: PLC0415

        settings, desk = load_settings(), self._services.desk
        model = llms.make_language_model(asked_model(settings), desk.store, desk.clock)
        if model is not None:
            await self._model.enter_async_context(model)
        # Nothing is consolidated unasked by a program that may end at any moment.
        options = replace(service_options(settings), most_records=MAX_PAGE, dreams=False, limits=None)
        services = Services(replace(desk, model=model), options)
        services.lanes.on_queued(lambda _kind: self._work(services))
        return services

    def _work(self, services: Services) -> None:
        """Jobs that this memory queued stand in the same line as those of a daemon; while it is open it works on them itself."""
        if self._working is None or self._working.done():
            # As above.
            from commonplace.jobs.worker import Worker  # noqa: PLC0415
            from commonplace.service.lanes import memory_queues  # noqa: PLC0415

            desk, queues = services.desk, memory_queues(services.lanes, own=True)
            worker = Worker(desk.store, desk.clock, queues, ended=services.job_waiter.wake)
            services.lanes.on_queued(worker.wake)
            self._working = asyncio.create_task(worker.run())

    async def _stop_learning(self) -> None:
        """What is not done yet goes back to the line."""
        if self._learner is not None:
            self._learner.job_waiter.close()
        for task in (self._working, self._switching, self._following):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        await self._model.aclose()
