"""The commands for capabilities: let another key do a part of what yours may, for a while."""

from typing import Annotated, cast

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.moments import now, span
from commonplace.cli.quick import QuickGroup
from commonplace.values.principal import Tier

PANEL = "Serve"


def create(
    door: Door,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key that is to present it: its name or its id.")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run it is for.")],
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose memory it is about. Default: your own.")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project. Default: default.")] = None,
    read_tier: Annotated[
        list[str] | None,
        typer.Option(
            "--read", metavar="TIER", help="session, project, global; again for more. Default: session and project."
        ),
    ] = None,
    write_tier: Annotated[
        list[str] | None,
        typer.Option("--write", metavar="TIER", help="As --read. Default: session, if your key writes."),
    ] = None,
    promote_target: Annotated[
        list[str] | None,
        typer.Option("--promote", metavar="TIER", help="project, global; again for more. Default: none."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="SPAN", help="For how long it is good: 30m, 2d. Default: 1h; 7d at most.")
    ] = None,
) -> None:
    """Issue a capability for another key, and print it. It never reaches further than your own key."""
    until = now() + span(expires) if expires else None

    with door.open(create=True) as memory:
        new_capability = memory.create_capability(
            key,
            run,
            subject=subject,
            project=project,
            read_tiers=_tiers(read_tier),
            write_tiers=_tiers(write_tier),
            promote_targets=_tiers(promote_target),
            expires_at=until,
        )
    if not door.json:
        door.say(
            f"Capability {new_capability.id} for key {new_capability.key}, until {new_capability.expires_at:%Y-%m-%d %H:%M} UTC:"
        )
    door.answer(new_capability, lambda: typer.echo(new_capability.capability))


def _tiers(tiers: list[str] | None) -> list[Tier] | None:
    # What is none is refused, with the list of those there are.
    return cast(list[Tier], tiers) or None


capabilities = typer.Typer(
    cls=QuickGroup,
    help="Capabilities: let another key do a part of what yours may, for a while.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    example = "commonplace capability create 'nightly bot' --run r-7 --project shop --read project --expires 2h"
    command(capabilities, example, panel=PANEL)(create)
    app.add_typer(capabilities, name="capability", rich_help_panel=PANEL)
