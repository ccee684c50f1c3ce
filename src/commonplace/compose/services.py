"""From settings to services: the store, its embedders, the engines over them, every use case."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from commonplace.compose.embedders import MODELS, EmbedderChoice, EmbedderOptions, choose, embedder_maker
from commonplace.compose.stores import Opened, SystemClock, open_store
from commonplace.governance.keys import secret_hash
from commonplace.governance.limits import RateLimits
from commonplace.governance.sessions import signing_secret
from commonplace.llms import choose as llms
from commonplace.markdown.curated_pair import CuratedFiles
from commonplace.markdown.curated_purge import CuratedEraser
from commonplace.markdown.purge import MemoryFolders
from commonplace.memory.holdings import IndexBudget
from commonplace.memory.indexing import reindex
from commonplace.memory.prepare import Preparer
from commonplace.ports.clock import Clock
from commonplace.ports.models import LanguageModel
from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.service.markdown import Ground
from commonplace.service.services import ServiceOptions, Services
from commonplace.settings import Settings, workspace_folder
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.upkeep import LimitsInForce
from commonplace.values.usage import to_micro

WITHOUT: Final = EmbedderChoice(embedders=(), own=())


@dataclass(frozen=True, kw_only=True, slots=True)
class ComposeOptions:
    """`recalls`: whether anything will be searched; a command that only manages keys needs no embedder."""

    token: str | None = None
    clock: Clock | None = None
    recalls: bool = True


@asynccontextmanager
async def composed(settings: Settings, options: ComposeOptions) -> AsyncGenerator[Services]:
    """All services over the store of the settings, closed at the end."""
    clock = options.clock or SystemClock()
    address = settings.store or settings.home / "memory.db"
    async with AsyncExitStack() as stack:
        from_workspace = "store" in settings.from_workspace
        opened = await open_store(address, clock, home=settings.home, from_workspace=from_workspace)
        stack.push_async_callback(opened.aclose)
        choice = WITHOUT
        if options.recalls:
            choice = await choose(opened.store, replace(embedder_options(settings), adopted=opened.adopted))
            for embedder in choice.own:
                stack.push_async_callback(embedder.aclose)
            if choice.stale:
                preparer = Preparer(choice.embedders, choice.count)
                await reindex(opened.store.maintenance, preparer, DEFAULT_TENANT, None)
        model = llms.make_language_model(asked_model(settings), opened.store, clock) if options.recalls else None
        if model is not None:
            await stack.enter_async_context(model)
        services = _services(settings, options, opened, clock, choice, model)
        stack.push_async_callback(services.embedders.aclose)
        stack.push_async_callback(services.desk.room.aclose)
        yield services


def embedder_options(settings: Settings) -> EmbedderOptions:
    key = settings.openai_api_key
    return EmbedderOptions(
        embedder=settings.embedder,
        api_key=key.get_secret_value() if key else None,
        base_url=settings.openai_base_url,
        models=settings.home / MODELS,
    )


def _services(
    settings: Settings,
    options: ComposeOptions,
    opened: Opened,
    clock: Clock,
    choice: EmbedderChoice,
    model: LanguageModel | None,
) -> Services:
    store = opened.store
    room = EngineRoom(
        store=store,
        clock=clock,
        embedders=choice.embedders,
        count=choice.count,
        budget=IndexBudget(settings.cache_mb << 20),
        files=CuratedEraser(
            MemoryFolders(places=ground_of(settings).places, jobs=store.jobs, journal=store.journal, clock=clock),
            CuratedFiles(settings.home, settings.tenant),
        ),
    )
    desk = Desk(
        store=store,
        clock=clock,
        room=room,
        model=model,
        limits=settings.flood_limits,
        queries=RateLimits({"query": settings.rate_limit_query_cost}),
        works_on_jobs=opened.adopted,
    )
    return Services(
        desk,
        replace(
            service_options(settings, options.token),
            make_embedders=embedder_maker(store.vectors, replace(embedder_options(settings), adopted=opened.adopted)),
            fixed_embedder=settings.embedder,
        ),
    )


def service_options(settings: Settings, token: str | None = None) -> ServiceOptions:
    """The settings as the use cases need them; `token` is the operator's."""
    return ServiceOptions(
        token=secret_hash(token) if token else None,
        signing=signing_secret(token) if token else None,
        open_to_all=settings.no_auth,
        import_roots=tuple(settings.import_roots),
        agent_roots=tuple(settings.agent_roots),
        home=settings.home,
        tenant=settings.tenant,
        ground=ground_of(settings),
        model=_name(settings),
        daily_micro_usd=to_micro(settings.llm_daily_budget_usd),
        chat_micro_usd=to_micro(settings.llm_chat_budget_usd),
        models=llms.chat_names(asked_model(settings)),
        dreams=settings.managed_dream,
        dream_micro_usd=to_micro(settings.llm_dream_budget_usd),
        session_idle=timedelta(days=settings.session_days) if settings.session_days else None,
        history_kept=timedelta(days=settings.history_days) if settings.history_days else None,
        limits=limits_of(settings),
        run_home=settings.home,
        run_kept=timedelta(days=settings.runs_days) if settings.runs_days else None,
        artifact_kept=timedelta(days=settings.artifacts_days) if settings.artifacts_days else None,
        most_artifact=settings.max_artifact_mb << 20,
        schedule_zone=settings.schedule_zone,
        schedule_quiet=settings.schedule_quiet,
    )


def limits_of(settings: Settings) -> LimitsInForce:
    """What a daemon with these settings allows; 0 is unlimited there."""
    return LimitsInForce(
        reads=settings.rate_limit_read or None,
        writes=settings.rate_limit_mutation or None,
        prompts=settings.rate_limit_prompt or None,
        query_cost=settings.rate_limit_query_cost or None,
        connections=settings.max_connections or None,
        in_flight_bytes=settings.max_in_flight_mb << 20,
        body_bytes=settings.max_body_mb << 20,
        anonymous_body_bytes=min(settings.max_anonymous_body_kb << 10, settings.max_body_mb << 20),
    )


def _name(settings: Settings) -> str | None:
    """The name of the language model; None if there is none."""
    return None if settings.llm_model in (None, "none") else settings.llm_model


def ground_of(settings: Settings) -> Ground:
    """Where the files of memory are on this machine."""
    return Ground(
        home=settings.home,
        workspace=(settings.workspace or workspace_folder()).absolute(),
        tenant=settings.tenant,
        enabled=settings.managed_memory,
        local=settings.managed_local,
    )


def is_model_priced(settings: Settings) -> bool:
    """Whether somebody said what the language model of the settings costs."""
    return settings.llm_model is not None and llms.is_priced(settings.llm_model, asked_model(settings))


def asked_model(settings: Settings) -> llms.ModelOptions:
    """The language model of the settings."""
    key = settings.llm_api_key
    return llms.ModelOptions(
        model=settings.llm_model,
        api_key=key.get_secret_value() if key else None,
        base_url=settings.llm_base_url,
        timeout=settings.llm_timeout,
        prices=settings.llm_prices,
        price=settings.llm_price,
        daily_micro_usd=to_micro(settings.llm_daily_budget_usd),
        models=settings.llm_models,
        chat_micro_usd=to_micro(settings.llm_chat_budget_usd),
    )
