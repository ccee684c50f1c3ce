"""The command `commonplace`: every subcommand a few lines over the embedded memory.

Building the app must stay cheap, since each call pays for it: the modules here import typer, the values and the errors.
The engine and rich load inside the commands that need them.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any, cast

import typer

from commonplace.cli import (
    acp,
    budgets,
    capability,
    catalog,
    channels,
    doctor,
    embedders,
    extracting,
    knowledge,
    lifecycle,
    mcp,
    members,
    moving,
    opening,
    reading,
    remembering,
    review,
    runs,
    schedules,
    serve,
    sessions,
    talk,
    tour,
    trust,
    upkeep,
    writing,
)
from commonplace.cli.door import (
    DebugOption,
    EmbedderOption,
    JsonOption,
    QuietOption,
    StoreOption,
    TenantOption,
    complain,
    hush,
    remember,
)
from commonplace.cli.exits import Exit, table
from commonplace.cli.lines import clean
from commonplace.cli.quick import QuickGroup

# Of its errors of usage typer exports one; the parent of all of them stands next to it.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


class Commands(QuickGroup):
    """As typer's, but wrong use is told in JSON where JSON was asked."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, standalone_mode: bool = True, **more: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        if not (standalone_mode and "--json" in given):
            return super().main(given, *rest, standalone_mode=standalone_mode, **more)
        try:
            ended = super().main(given, *rest, standalone_mode=False, **more)
        except UsageError as error:
            complain(error.format_message(), "usage", as_json=True)
            ended = Exit.USAGE
        except typer.Abort:
            ended = Exit.ERROR
        sys.exit(ended if isinstance(ended, int) else Exit.OK)


app = typer.Typer(
    name="commonplace",
    cls=Commands,
    help="A memory for agents and the teams they work with: remember, recall, explain, forget.",
    epilog=f"Exit codes: {table()}.\n\nStart with `commonplace tour`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def show_version(wanted: bool) -> None:
    if wanted:
        # The package's own version is read from its metadata at first use.
        from commonplace import __version__

        typer.echo(f"commonplace {__version__}")
        raise typer.Exit


@app.callback()
def before(
    ctx: typer.Context,
    store: StoreOption = None,
    tenant: TenantOption = None,
    embedder: EmbedderOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
    debug: DebugOption = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    remember(ctx, store=store, tenant=tenant, embedder=embedder, json=json, quiet=quiet, debug=debug)


for group in (
    writing,
    remembering,
    extracting,
    reading,
    lifecycle,
    review,
    knowledge,
    moving,
    catalog,
    sessions,
    runs,
    schedules,
    upkeep,
    budgets,
    embedders,
    doctor,
    trust,
    serve,
    capability,
    members,
    opening,
    mcp,
    acp,
    talk,
    channels,
    tour,
):
    group.add_to(app)


def warn(message: Warning | str, *_: object, **more: object) -> None:
    """A warning as people read it, without the place in our code."""
    _warn_once(clean(str(message)))


@cache
def _warn_once(text: str) -> None:
    # Python forgets what it has shown whenever a library changes what is to be shown.
    typer.secho("Warning: ", fg="yellow", bold=True, err=True, nl=False)
    typer.echo(text, err=True)


def main() -> None:
    """The entry point of the command."""
    warnings.showwarning = warn
    # Numpy's threads wait by spinning: for sums as small as ours that costs a core and gains nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        # A file name or an argument that is not UTF-8 must not end a message half-way.
        cast(TextIOWrapper, stream).reconfigure(errors="backslashreplace")
    try:
        try:
            app(prog_name="commonplace")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        hush()
        sys.exit(Exit.OK)
