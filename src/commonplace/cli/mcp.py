"""The command that gives a model its memory: `commonplace mcp`."""

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.complete import scopes
from commonplace.cli.door import Door, command
from commonplace.errors import InvalidInput
from commonplace.values.scope import DEFAULT_TENANT, Scope

if TYPE_CHECKING:
    from commonplace.doors.mcp.places import Asker, ModelPlace

PANEL = "Serve"
ACTOR = "mcp"


def mcp(
    door: Door,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The project that is meant. Default: the folder of the git root around here."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="The conversation that is meant. Default: none.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            "-s",
            metavar="KIND:ID",
            help="Let the model read and write this scope only; may be repeated. Default: every scope it names.",
            autocompletion=scopes,
        ),
    ] = None,
    allow_delete: Annotated[
        bool,
        typer.Option("--allow-delete", help="Offer the tool that deletes, too. Also: COMMONPLACE_MCP_ALLOW_DELETE."),
    ] = False,
) -> None:
    """
    Give a model this memory as tools, over stdin and stdout (MCP). An editor or an agent starts it; it needs no daemon, and
    uses the one at COMMONPLACE_URL where that is set.
    """
    try:
        # The SDK of the protocol is an extra, and slow to load.
        from commonplace.doors.mcp.server import make_server, serve_stdio
    except ImportError as missing:
        raise InvalidInput("MCP is not installed. Run `pip install 'commonplace[mcp]'`.") from missing
    # pydantic and its settings load slowly.
    from commonplace.server.logs import configure_logs
    from commonplace.settings import load_settings

    settings = load_settings()
    place = _place(project, session, scope)

    async def served() -> None:
        async with AsyncExitStack() as stack:
            asker = await _asker(door, place, stack)
            await serve_stdio(make_server(asker, allow_delete=allow_delete or settings.mcp_allow_delete))

    configure_logs(settings.log_format)
    # A thread waits for the next line on stdin and cannot be interrupted; a store outlives the end of its process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(served())


async def _asker(door: Door, place: "ModelPlace", stack: AsyncExitStack) -> "Asker":
    """Over the daemon where one is named, else over the store itself."""
    # As above.
    from commonplace.compose.configuration import configuration
    from commonplace.doors.mcp.places import Asker

    told = configuration()
    if door.url is not None:
        # httpx and pydantic load slowly.
        from commonplace.sdk.async_client import AsyncClient

        tenant = told.tenant if told.tenant != DEFAULT_TENANT else None
        client = await stack.enter_async_context(
            AsyncClient(door.url, told.token, door.tenant or tenant, ACTOR, agent=True)
        )
        return Asker(client, place.of(await client.me()))
    # The engine brings numpy and the stores: a daemon's client does without.
    from commonplace.compose.open_memory import Opening, OpenOptions

    actor = told.actor or ACTOR
    opening = Opening(
        OpenOptions(address=door.store, tenant=door.tenant, embedder=door.embedder, actor=actor, agent=True)
    )
    return Asker(await stack.enter_async_context(opening), place)


def _place(project: str | None, session: str | None, scope: list[str] | None) -> "ModelPlace":
    # As above.
    from commonplace.doors.mcp.places import ModelPlace
    from commonplace.settings import workspace_folder

    # What cannot be a scope is refused now, not at every call.
    for kind, name in (("workspace", project), ("session", session)):
        if name is not None:
            Scope.parse(f"{kind}:{name}")
    place = ModelPlace(project=project or workspace_folder().name or None, session=session)
    return place.within([Scope.parse(one) for one in scope]) if scope else place


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace mcp", "commonplace mcp --project web --allow-delete", panel=PANEL)(mcp)
