"""Settings become services: the store, the embedders it was made with, the engines over them, every use case."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from commonplace.embedded.choice import Asked, Chosen, choose
from commonplace.embedded.learning import asked_model, ground_of
from commonplace.embedded.store import SystemClock, open_store
from commonplace.events.hub import Hub
from commonplace.governance.keys import secret_hash
from commonplace.governance.sessions import signing_secret
from commonplace.llms import choose as llms
from commonplace.managed.purge import MemoryFolders
from commonplace.memory.indexing import reindex
from commonplace.memory.prepare import Preparer
from commonplace.ports.clock import Clock
from commonplace.ports.models import LanguageModel
from commonplace.ports.store import Store
from commonplace.service.budgets import Budgets
from commonplace.service.census import Counting
from commonplace.service.desk import Desk
from commonplace.service.director import Directing
from commonplace.service.distill import Distilling
from commonplace.service.endings import Endings
from commonplace.service.engines import EngineRoom
from commonplace.service.events import Listening
from commonplace.service.extraction import Extracting
from commonplace.service.gateway import Gateway
from commonplace.service.governed import Governed
from commonplace.service.identity import Identity
from commonplace.service.jobs import Tasks
from commonplace.service.keeping import Keeping
from commonplace.service.knowledge import Registry
from commonplace.service.lanes import Lanes
from commonplace.service.managed import Managed
from commonplace.service.moving import Moving
from commonplace.service.owners import Owners
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.service.retrieval import Retrieval
from commonplace.service.review import Reviewing
from commonplace.service.services import Services
from commonplace.service.shelves import Shelves
from commonplace.service.tree import Browsing
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
        opened = await open_store(address, clock, home=settings.home)
        stack.push_async_callback(opened.aclose)
        chosen = WITHOUT
        if wanted.recalls:
            chosen = await choose(opened.store, _asked(settings))
            for embedder in chosen.own:
                stack.push_async_callback(embedder.aclose)
            if chosen.stale:
                preparer = Preparer(chosen.embedders, chosen.count)
                await reindex(opened.store, preparer, DEFAULT_TENANT, None)
        model = llms.make_language_model(asked_model(settings), opened.store, clock) if wanted.recalls else None
        if model is not None:
            await stack.enter_async_context(model)
        services = _services(settings, wanted, opened.store, clock, chosen, model)
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
    settings: Settings, wanted: Wanted, store: Store, clock: Clock, chosen: Chosen, model: LanguageModel | None
) -> Services:
    ground = ground_of(settings)
    room = EngineRoom(
        store=store,
        clock=clock,
        embedders=chosen.embedders,
        count=chosen.count,
        cache_bytes=settings.cache_mb << 20,
        files=MemoryFolders(places=ground.places, queue=store, clock=clock),
    )
    desk = Desk(store=store, clock=clock, room=room, model=model, limits=settings.flood_limits)
    token = secret_hash(wanted.token) if wanted.token else None
    signing = signing_secret(wanted.token) if wanted.token else None
    identity, records = Identity(desk, token, open_to_all=settings.no_auth, signing=signing), Records(desk)
    extracting, hub, endings = Extracting(desk), Hub(store), Endings()
    hub.watch(endings.hear)
    moving, managed = Moving(desk, settings.import_roots), Managed(desk, ground)
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
        owners=Owners(desk, records),
        gateway=Gateway(desk, identity, records, extracting),
        extraction=extracting,
        director=Directing(desk),
        governed=Governed(desk, moving),
        retrieval=Retrieval(desk),
        browsing=Browsing(desk),
        distilling=Distilling(desk),
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
