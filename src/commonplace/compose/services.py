"""Settings become services: the store, the embedders it was made with, the engines over them, every use case."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from commonplace.compose.embedders import Asked, Chosen, choose
from commonplace.compose.learn import asked_model, ground_of
from commonplace.compose.stores import Opened, SystemClock, open_store
from commonplace.events.hub import Hub
from commonplace.governance.keys import secret_hash
from commonplace.governance.sessions import signing_secret
from commonplace.jobs.waiter import Endings
from commonplace.llms import choose as llms
from commonplace.memory.indexing import reindex
from commonplace.memory.prepare import Preparer
from commonplace.ports.clock import Clock
from commonplace.ports.models import LanguageModel
from commonplace.service.budgets import Budgets
from commonplace.service.census import Counting
from commonplace.service.desk import Desk
from commonplace.service.director import Directing
from commonplace.service.engines import EngineRoom
from commonplace.service.events import Listening
from commonplace.service.extraction import Extracting
from commonplace.service.identity import Identity
from commonplace.service.jobs import Tasks
from commonplace.service.keeping import Keeping
from commonplace.service.knowledge import Registry
from commonplace.service.lanes import Lanes
from commonplace.service.managed import Managed
from commonplace.service.moving import Moving
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.service.review import Reviewing
from commonplace.service.services import Services
from commonplace.service.shelves import Shelves
from commonplace.settings import Settings
from commonplace.values.principal import Principal
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import to_micro

WITHOUT: Final = Chosen(embedders=(), own=())


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """`recalls`: whether anything will be searched; what only looks after keys needs no embedder."""

    token: str | None = None
    clock: Clock | None = None
    recalls: bool = True


@asynccontextmanager
async def composed(settings: Settings, wanted: Wanted) -> AsyncGenerator[Services]:
    """All services over the store of the settings, closed at the end."""
    clock = wanted.clock or SystemClock()
    address = settings.store or settings.home / "memory.db"
    async with AsyncExitStack() as stack:
        from_workspace = "store" in settings.from_workspace
        opened = await open_store(address, clock, home=settings.home, from_workspace=from_workspace)
        stack.push_async_callback(opened.aclose)
        chosen = WITHOUT
        if wanted.recalls:
            chosen = await choose(opened.store, replace(_asked(settings), adopted=opened.adopted))
            for embedder in chosen.own:
                stack.push_async_callback(embedder.aclose)
            if chosen.stale:
                preparer = Preparer(chosen.embedders, chosen.count)
                await reindex(opened.store, preparer, DEFAULT_TENANT, None)
        model = llms.make_language_model(asked_model(settings), opened.store, clock) if wanted.recalls else None
        if model is not None:
            await stack.enter_async_context(model)
        services = _services(settings, wanted, opened, clock, chosen, model)
        stack.push_async_callback(services.desk.room.aclose)
        yield services


def operator(tenant: str) -> Principal:
    """Whoever can open the store on this machine."""
    return Principal(subject="operator", tenant=tenant, role="admin", operator=True, door="cli")


def _asked(settings: Settings) -> Asked:
    key = settings.openai_api_key
    return Asked(
        embedder=settings.embedder,
        api_key=key.get_secret_value() if key else None,
        base_url=settings.openai_base_url,
    )


def _services(
    settings: Settings, wanted: Wanted, opened: Opened, clock: Clock, chosen: Chosen, model: LanguageModel | None
) -> Services:
    store = opened.store
    room = EngineRoom(
        store=store,
        clock=clock,
        embedders=chosen.embedders,
        count=chosen.count,
        cache_bytes=settings.cache_mb << 20,
    )
    desk = Desk(
        store=store,
        clock=clock,
        room=room,
        model=model,
        limits=settings.flood_limits,
        works_on_jobs=opened.adopted,
    )
    token = secret_hash(wanted.token) if wanted.token else None
    signing = signing_secret(wanted.token) if wanted.token else None
    identity, records = Identity(desk, token, open_to_all=settings.no_auth, signing=signing), Records(desk)
    extracting, hub, endings = Extracting(desk), Hub(store), Endings()
    hub.watch(endings.hear)
    moving = Moving(desk, settings.import_roots, home=settings.home)
    managed = Managed(desk, ground_of(settings))
    return Services(
        desk=desk,
        identity=identity,
        records=records,
        review=Reviewing(desk),
        recall=Recalling(desk),
        moving=moving,
        keeping=Keeping(desk),
        census=Counting(desk),
        budgets=Budgets(desk, standard=to_micro(settings.llm_daily_budget_usd), model=_name(settings)),
        extraction=extracting,
        director=Directing(desk),
        knowledge=Registry(desk),
        managed=managed,
        shelves=Shelves(desk, managed),
        lanes=Lanes(
            desk,
            managed,
            dreams=settings.managed_dream,
            dream_micro_usd=to_micro(settings.llm_dream_budget_usd),
        ),
        tasks=Tasks(desk),
        endings=endings,
        events=Listening(desk, hub),
    )


def _name(settings: Settings) -> str | None:
    """Of the language model, None where there is none."""
    return None if settings.llm_model in (None, "none") else settings.llm_model
