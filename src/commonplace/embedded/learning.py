"""
What a memory inside a program learns: the facts of a conversation, and facts handed over to be filed in Markdown.

Both are the daemon's own use cases, over the store that is open already and in the name of whoever opened it, with the language model of
the settings where there is one. They are put together when they are first asked for. A fact to be filed stands in the same line as
those of a daemon with the same store; while this memory is open it works on that line itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from commonplace.embedded.choice import Chosen
from commonplace.learning.distill import turns_of
from commonplace.llms import choose as llms
from commonplace.managed.purge import MemoryFolders
from commonplace.ports.clock import Clock
from commonplace.ports.store import Store
from commonplace.service.desk import Desk
from commonplace.service.endings import Endings, Wait
from commonplace.service.engines import EngineRoom
from commonplace.service.extraction import Extracting, Talk
from commonplace.service.lanes import Lanes, memory_lanes
from commonplace.service.managed import Ground, Managed
from commonplace.service.worker import Worker
from commonplace.settings import Settings, load_settings, workspace_folder
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.principal import Principal
from commonplace.values.record import Turn
from commonplace.values.scope import Scope
from commonplace.values.task import ContextMode, MemoryTask, TargetScope
from commonplace.values.usage import to_micro

PATIENCE: Final = 20.0
"""Seconds that a caller waits for a fact to be filed. A model may take longer; the work goes on."""
DOOR: Final = "embedded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """Whose memory it is, and who is named as the writer."""

    tenant: str
    actor: str | None = None

    @property
    def principal(self) -> Principal:
        """Whoever opens the store may do everything with it."""
        return Principal(subject=self.actor or DOOR, tenant=self.tenant, role="admin", operator=True, door=DOOR)


class Learning:
    def __init__(self, desk: Desk, lanes: Lanes, who: Principal, model: AsyncExitStack) -> None:
        self._desk = desk
        self._who = who
        self._model = model
        self._extracting = Extracting(desk)
        self._lanes = lanes
        self._endings = Endings()
        self._working: asyncio.Task[None] | None = None

    @classmethod
    async def over(cls, store: Store, chosen: Chosen, clock: Clock, owner: Owner) -> Self:
        """Raises InvalidInput, ModelUnavailable: the settings name a model that cannot be used."""
        settings = load_settings()
        ground = ground_of(settings)
        room = EngineRoom(
            store=store,
            clock=clock,
            embedders=chosen.embedders,
            count=chosen.count,
            cache_bytes=settings.cache_mb << 20,
            files=MemoryFolders(places=ground.places, queue=store, clock=clock),
        )
        async with AsyncExitStack() as stack:
            model = llms.make_language_model(asked_model(settings), store, clock)
            if model is not None:
                await stack.enter_async_context(model)
            desk = Desk(store=store, clock=clock, room=room, model=model, limits=settings.flood_limits)
            managed, most = Managed(desk, ground), to_micro(settings.llm_dream_budget_usd)
            lanes = Lanes(desk, managed, dreams=False, dream_micro_usd=most)
            return cls(desk, lanes, owner.principal, stack.pop_all())

    async def extract(self, talk: str | Sequence[Turn] | None, told: TalkFields) -> Extracted:
        scope = told.get("scope")
        turns = turns_of(talk.split("\n\n")) if isinstance(talk, str) else talk or ()
        asked = Talk(
            turns=tuple(turns),
            session=told.get("session"),
            agents=tuple(told.get("agents") or ()),
            workspace=told.get("workspace"),
            scope=None if scope is None else Scope.parse(scope),
            run=told.get("run"),
            recalled=tuple(told.get("recalled") or ()),
            at=told.get("at"),
        )
        return await self._extracting.extract(self._who, asked)

    async def remember(self, content: str, mode: ContextMode, scope: TargetScope | None) -> MemoryTask:
        task = await self._lanes.remember(self._who, content, context_mode=mode, scope=scope)
        self._work()
        return await self.task(task.id, PATIENCE)

    async def task(self, id: str, wait: float) -> MemoryTask:
        look = partial(self._lanes.task, self._who, "remember", id)
        return await self._endings.until(self._who, id, Wait(seconds=wait), look)

    async def aclose(self) -> None:
        """What is not done yet goes back to the line."""
        self._endings.close()
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait({self._working})
        await self._desk.room.aclose()
        await self._model.aclose()

    def _work(self) -> None:
        if self._working is None or self._working.done():
            lanes, ended = memory_lanes(self._lanes, own=True), self._endings.told
            worker = Worker(self._desk.store, self._desk.clock, lanes, ended=ended)
            self._lanes.on_queued(worker.wake)
            self._working = asyncio.create_task(worker.run())


def ground_of(settings: Settings) -> Ground:
    """Where the files of memory lie on this machine."""
    return Ground(
        home=settings.home,
        workspace=(settings.workspace or workspace_folder()).absolute(),
        tenant=settings.tenant,
        enabled=settings.managed_memory,
        local=settings.managed_local,
    )


def asked_model(settings: Settings) -> llms.Asked:
    """The language model of the settings."""
    key = settings.llm_api_key
    return llms.Asked(
        model=settings.llm_model,
        api_key=key.get_secret_value() if key else None,
        base_url=settings.llm_base_url,
        timeout=settings.llm_timeout,
        prices=settings.llm_prices,
        price=settings.llm_price,
        daily_micro_usd=to_micro(settings.llm_daily_budget_usd),
    )
