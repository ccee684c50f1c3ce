"""The commands of whoever runs a daemon: serve, token, and the keys of others."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from commonplace.cli.documents import written
from commonplace.cli.door import Door, command
from commonplace.cli.moments import now, span
from commonplace.cli.opening import nearest
from commonplace.cli.quick import QuickGroup
from commonplace.cli.tour import as_called
from commonplace.errors import InvalidInput
from commonplace.values.principal import Key, Role

if TYPE_CHECKING:
    pass

PANEL = "Serve"
T = TypeVar("T")

HELLO = """Commonplace listens on {address}

  {command} open{place}

signs a browser in to the console there. For programs:

  curl -H "Authorization: Bearer $({command} token)" {address}/v1/stats

What else there is: {address}/docs. Ctrl-C stops it.
"""


def serve(
    door: Door,
    host: Annotated[str | None, typer.Option(help="The address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="The port. Default: 4170; 0 takes a free one.")] = None,
    workspace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The daemon's workspace. Default: the git root around here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="How many processes answer. Default: 1.")] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Let everybody on this machine read and write without a key.")
    ] = False,
    log_format: Annotated[
        str | None, typer.Option(metavar="auto|json|plain", help="How to log. Default: plain at a terminal, else JSON.")
    ] = None,
) -> None:
    """Serve the memory to other programs, agents and people, over HTTP."""
    try:
        # The web framework is an extra, and slow to load.
        from commonplace.compose.daemon import serve as served
        from commonplace.settings import load_settings
    except ImportError as missing:
        raise InvalidInput("The server is not installed. Run `pip install 'commonplace[server]'`.") from missing
    settings = load_settings(
        store=door.store,
        tenant=door.tenant,
        embedder=door.embedder,
        host=host,
        port=port,
        workspace=workspace,
        workers=workers,
        no_auth=no_auth or None,
        log_format=log_format,
    )
    hello = HELLO.replace("{command}", as_called())
    served(settings, lambda address: door.say(hello.replace("{address}", address).replace("{place}", _place(address))))


def _place(address: str) -> str:
    """How `commonplace open` is told where the daemon is; nothing where it looks there anyway."""
    return "" if address == nearest() else f" --url {address}"


def token(door: Door) -> None:
    """Print the operator's token, for `$(commonplace token)`. It is made where there is none."""
    # pydantic and its settings load slowly.
    from commonplace.compose.token import operator_token
    from commonplace.settings import load_settings

    told = operator_token(load_settings())
    typer.echo(written({"token": told}) if door.json else told)


def create(
    door: Door,
    name: Annotated[str, typer.Argument(help="Who or what the key is for.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="reader, writer, reviewer or admin.")] = "writer",
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="What it reaches: workspace:web, user:ana, …; again for more. Default: what is shared, and its person's own.",
        ),
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="SPAN", help="For how long it is good: 90d, 1y.")] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="The person it speaks for. Several keys may be one person's.")
    ] = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="A program holds it: what it writes is labelled model_generated.")
    ] = False,
) -> None:
    """Make a key and print its secret, this once."""
    until = now() + span(expires) if expires else None

    with door.open(create=True) as memory:
        key, secret = memory.create_key(
            name, _role(role), scopes=scope or None, expires_at=until, user=user, agent=agent
        )
    if door.json:
        typer.echo(written({**_shown(key), "secret": secret}))
        return
    door.say(f"Key {key.id} of {key.name}, a {key.role}. Its secret is not shown again:")
    typer.echo(secret)


def show(door: Door) -> None:
    """List the keys of the tenant, newest first, revoked ones too."""

    with door.open(create=True) as memory:
        keys = memory.keys()

    def lines() -> None:
        for key in keys:
            typer.echo(_line(key))

    if door.quiet and not door.json:
        for key in keys:
            typer.echo(key.id)
    else:
        door.answer({"keys": [_shown(key) for key in keys]}, lines)
    if not keys:
        door.say("No keys yet. `commonplace key create NAME` makes one.")


def revoke(door: Door, id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key.")]) -> None:
    """Take a key back. From now on it opens nothing, nor do the keys that were made with it."""

    with door.open(create=True) as memory:
        key = memory.revoke_key(id)
    door.answer(_shown(key), lambda: typer.echo(f"Key {key.id} of {key.name} opens nothing any more."))


def _role(role: str) -> Role:
    # What is none is refused, with the list of those there are.
    return role  # pyright: ignore[reportReturnType]


def _shown(key: Key) -> dict[str, Any]:
    scopes = None if key.scopes is None else [str(pattern) for pattern in key.scopes]
    return {**asdict(key), "scopes": scopes}


def _line(key: Key) -> str:
    everything = "everything" if key.role == "admin" else "what is shared, and its own"
    reach = everything if key.scopes is None else ", ".join(map(str, key.scopes))
    holder = f"{key.name} ({key.user})" if key.user else key.name
    state = "revoked" if key.revoked_at else "expired" if not key.is_good(now()) else "good"
    return f"{key.id}  {key.role:<8}  {state:<7}  {holder}{', an agent' if key.agent else ''}: {reach}"


keys = typer.Typer(
    cls=QuickGroup,
    help="Keys for others: make, list, revoke.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace serve", "commonplace serve --port 8000 --workers 2", panel=PANEL)(serve)
    command(app, "commonplace token", panel=PANEL)(token)
    example = "commonplace key create ci --role reader --scope workspace:web --expires 90d"
    command(keys, example, panel=PANEL)(create)
    command(keys, "commonplace key list --json", panel=PANEL, name="list")(show)
    command(keys, "commonplace key revoke 01920000-0000-7000-8000-000000000000", panel=PANEL)(revoke)
    app.add_typer(keys, name="key", rich_help_panel=PANEL)
