"""The commands that look after a store: stats, reindex, rules, tidy, version."""

import platform
import sys
from typing import Annotated

import typer

from commonplace.cli import options as o
from commonplace.cli.complete import scopes
from commonplace.cli.door import Door, command
from commonplace.cli.lines import counted
from commonplace.cli.moments import optional, span
from commonplace.errors import InvalidInput
from commonplace.values.upkeep import Rule

PANEL = "Look after"


def stats(door: Door, everyone: o.Everyone = False) -> None:
    """Show how much the store holds, by scope: what is shared, and your own."""
    with door.open() as memory:
        stats = memory.stats(everyone=everyone)
    door.answer(stats, lambda: door.screen.stats(stats))


def reindex(door: Door) -> None:
    """Make all words and vectors anew, for instance with another embedder. Searches go on meanwhile."""
    with door.open(reindex=True) as memory, door.progress("Reindexing") as progress:
        count = memory.reindex(progress=progress)
    door.answer({"texts": count}, lambda: typer.echo(f"Reindexed {counted(count, 'text')}."))


def rules(
    door: Door,
    scope: Annotated[
        str | None,
        typer.Argument(metavar="[SCOPE]", help="kind:id, or a kind alone for all of them.", autocompletion=scopes),
    ] = None,
    max_age: Annotated[str | None, typer.Option(metavar="SPAN", help="Forget after this long: 30d, 1y.")] = None,
    max_records: Annotated[int | None, typer.Option(metavar="N", help="Keep at most so many.", min=0)] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the rule of the scope away.")] = False,
) -> None:
    """Show how long records are kept, or set the rule of a scope. Pinned records are always kept."""
    limits = (span(max_age) if max_age else None, max_records)
    changes = remove or limits != (None, None)
    if changes and (scope is None or (remove and limits != (None, None))):
        raise InvalidInput("Name the scope, and either --remove or its limits.")
    with door.open(create=changes) as memory:
        if changes and scope is not None:
            memory.set_rule(Rule(scope=scope, max_age=limits[0], max_records=limits[1]))
        found = [rule for rule in memory.rules() if scope in (None, rule.scope)]
    door.answer({"rules": found}, lambda: door.screen.rules(found))
    if not found:
        door.say("No rules: everything is kept. `commonplace rules session --max-age 90d` makes one.")


def tidy(
    door: Door,
    purge_after: Annotated[
        str | None, typer.Option(metavar="SPAN", help="Also purge what was deleted longer ago than this: 30d.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Do nothing; show what was done before.")] = False,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="With --log: not before, for instance 2d.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="With --log: how many lines.", min=1)] = 100,
) -> None:
    """Apply the rules now: what is expired, too old or too many is deleted. `commonplace undo` brings it back."""
    begin, old = optional(since), span(purge_after) if purge_after else None
    with door.open() as memory:
        lines = memory.upkeep_log(since=begin, limit=limit) if log else memory.tidy(purge_after=old)
    door.answer({"log": lines}, lambda: door.screen.upkeep(lines))
    if not lines:
        door.say("Nothing to show." if log else "Nothing to tidy.")


def version(door: Door) -> None:
    """Show the version of Commonplace."""
    # The package's own version is read from its metadata at first use.
    from commonplace import __version__

    told = {"commonplace": __version__, "python": platform.python_version(), "platform": sys.platform}
    door.answer(told, lambda: typer.echo(f"commonplace {__version__}"))


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace stats --json", panel=PANEL)(stats)
    command(app, "commonplace reindex", panel=PANEL)(reindex)
    command(app, "commonplace rules session --max-age 90d", "commonplace rules", panel=PANEL)(rules)
    command(app, "commonplace tidy", "commonplace tidy --log --since 1w", panel=PANEL)(tidy)
    command(app, "commonplace version", panel=PANEL)(version)
