"""The console in a browser: `commonplace open`."""

import ipaddress
import webbrowser
from typing import Annotated

import typer

from commonplace.cli.documents import written
from commonplace.cli.door import Door, command

PANEL = "Serve"


def open_console(
    door: Door,
    url: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where the daemon is. Default: COMMONPLACE_URL, else this machine."),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the address instead; it is good once, for a minute.")
    ] = False,
) -> None:
    """Open the console in a browser, signed in. A daemon has to be running: `commonplace serve`."""
    with door.client(url or door.url or nearest()) as client:
        address, ends_at = client.sign_in_url()
    if door.json:
        typer.echo(written({"url": address, "expires_at": ends_at}))
    elif only_print or not webbrowser.open(address):
        if not only_print:
            door.say("No browser was found here. Within a minute, open this in one:")
        typer.echo(address)
    else:
        door.say(f"Opened {address.partition('#')[0]}")


def nearest() -> str:
    """The daemon that these settings would start, as this machine reaches it."""
    # pydantic and its settings load slowly.
    from commonplace.settings import load_settings

    settings = load_settings()
    host = settings.host
    try:
        if ipaddress.ip_address(host).is_unspecified:
            host = "::1" if ":" in host else "127.0.0.1"
    except ValueError:
        pass
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace open", "commonplace open --print", panel=PANEL, name="open")(open_console)
