"""Whom a command talks to: the agents of a daemon where one is named, else one in this process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from commonplace.cli.agent_line import Partner
from commonplace.cli.door import Door
from commonplace.cli.lines import address
from commonplace.compose.open_agent import model_names, open_agent
from commonplace.errors import InvalidInput
from commonplace.sdk.address import address as daemon_address
from commonplace.settings import load_settings


@asynccontextmanager
async def open_partner(door: Door, url: str | None) -> AsyncGenerator[Partner]:
    if url is not None and door.store is not None:
        raise InvalidInput("Choose one of --store and --url.")
    where = url or door.url
    if where is not None:
        async with door.async_client(where) as client:
            yield Partner(
                agent=client,
                memory=client,
                model=None,
                place=where,
                here=daemon_address(where, None, None, None).is_local,
            )
        return
    options: dict[str, Any] = {"store": door.store, "tenant": door.tenant, "embedder": door.embedder}
    settings = load_settings(**{name: value for name, value in options.items() if value is not None})
    async with open_agent(settings) as opened:
        model, *_ = model_names(settings)
        place = address(str(settings.store or settings.home / "memory.db"))
        yield Partner(agent=opened.agent, memory=opened.memory, model=model, place=place, local=opened.agent)
