"""The command that gives a model its memory: `commonplace mcp`."""

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.complete import scopes
from commonplace.cli.door import Door, command
from commonplace.cli.editors import install
from commonplace.errors import InvalidInput
from commonplace.values.paths import expand_path
from commonplace.values.scope import DEFAULT_TENANT, Scope

if TYPE_CHECKING:
    from commonplace.agent.tools.memory.places import Asker, ModelPlace

PANEL = "Serve"
ACTOR = "mcp"

OnlyScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        "-s",
        metavar="KIND:ID",
        help="Let the model read and write this scope only; may be repeated. Default: every scope it names.",
        autocompletion=scopes,
    ),
]


def mcp(
    door: Door,
    action: Annotated[
        str | None, typer.Argument(metavar="[install]", help="install: write the entry of an editor, after showing it.")
    ] = None,
    editor: Annotated[
        str | None, typer.Argument(metavar="[EDITOR]", help="claude, claude-desktop, cursor, zed or qwen.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The project that is meant. Default: the folder of the git root around here."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="The conversation that is meant. Default: none.")
    ] = None,
    scope: OnlyScopes = None,
    allow_delete: Annotated[
        bool,
        typer.Option("--allow-delete", help="Offer the tool that deletes, too. Also: COMMONPLACE_MCP_ALLOW_DELETE."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="install: do not ask.")] = False,
    only_show: Annotated[bool, typer.Option("--print", help="install: print the entry, and write nothing.")] = False,
) -> None:
    """
    Give a model this memory as tools, over stdin and stdout (MCP). An editor or an agent starts it; it needs no daemon, and
    uses the one at COMMONPLACE_URL where that is set. `mcp install EDITOR` writes the entry of an editor that starts it with these
    options.
    """
    if action is not None:
        if action != "install":
            raise InvalidInput(f"{action!r:.40} is nothing that can be done here. Say `mcp`, or `mcp install EDITOR`.")
        install(door, editor, _options(door, project, session, scope, allow_delete), yes=yes, only_show=only_show)
        return
    try:
        # The SDK of the protocol is an extra, and slow to load.
        from commonplace.doors.mcp.server import make_server, serve_stdio
    except ImportError as missing:
        raise InvalidInput("MCP is not installed. Run `pip install 'commonplace[mcp]'`.") from missing
    # pydantic and its settings load slowly.
    from commonplace.server.logs import configure_logs
    from commonplace.settings import load_settings

    settings = load_settings()

    async def serve(place: "ModelPlace") -> None:
        async with AsyncExitStack() as stack:
            asker = await _asker(door, place, stack)
            await serve_stdio(make_server(asker, allow_delete=allow_delete or settings.mcp_allow_delete))

    configure_logs(settings.log_format)
    # A thread waits for the next line on stdin and cannot be interrupted; a store outlives the end of its process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve(_place(project, session, scope)))


def _options(
    door: Door, project: str | None, session: str | None, scope: list[str] | None, allow_delete: bool
) -> list[str]:
    """The options that an editor is to start the command with."""
    _place(project, session, scope)
    store = door.store
    if store is not None and "://" not in store:
        store = str(expand_path(store).absolute())
    pairs = {"--store": store, "--tenant": door.tenant, "--embedder": door.embedder}
    pairs |= {"--project": project, "--session": session}
    words = [word for name, value in pairs.items() if value is not None for word in (name, value)]
    words += [word for name in scope or () for word in ("--scope", name)]
    return [*words, *(["--allow-delete"] if allow_delete else [])]


async def _asker(door: Door, place: "ModelPlace", stack: AsyncExitStack) -> "Asker":
    """Over the daemon where one is named, else over the store itself."""
    # As above.
    from commonplace.agent.tools.memory.places import Asker
    from commonplace.compose.configuration import configuration

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
    from commonplace.agent.tools.memory.places import ModelPlace
    from commonplace.settings import workspace_folder

    # What cannot be a scope is refused now, not at every call.
    for kind, name in (("workspace", project), ("session", session)):
        if name is not None:
            Scope.parse(f"{kind}:{name}")
    place = ModelPlace(project=project or workspace_folder().name or None, session=session)
    return place.within([Scope.parse(one) for one in scope]) if scope else place


def add_to(app: typer.Typer) -> None:
    examples = (
        "commonplace mcp",
        "commonplace mcp --project web --allow-delete",
        "commonplace mcp install cursor --project web",
    )
    command(app, *examples, panel=PANEL)(mcp)
