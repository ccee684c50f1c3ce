"""What every command shares: the global options, the open memory, and errors that end in an exit code.

A command is a function whose first parameter is a `Door`. `command` registers it with the global options added to its
own, so that they may stand before or after the command's name; what stands nearer to the command wins.
"""

import inspect
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from commonplace.cli.documents import written
from commonplace.cli.exits import Exit, exit_of
from commonplace.cli.quick import QuickCommand
from commonplace.cli.screen import Screen, screen
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT

if TYPE_CHECKING:
    from commonplace import AsyncClient, Client, Memory

P = ParamSpec("P")
ACTOR = "cli"
_PANEL = "Global options"


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PATH|postgresql://…",
        help="The store: a file, or a PostgreSQL address. Default: COMMONPLACE_STORE, else memory.db in the home folder.",
        rich_help_panel=_PANEL,
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", metavar="ORG/PROJECT", help="Whose memory it is.", rich_help_panel=_PANEL),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="How meaning is found: static, none, openai:MODEL@URL, …; several between commas. "
        "Default: COMMONPLACE_EMBEDDER, else what the store has.",
        rich_help_panel=_PANEL,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.", rich_help_panel=_PANEL)]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print ids or nothing, and no progress.", rich_help_panel=_PANEL)
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_PANEL)]
_SHARED = {
    "store": StoreOption,
    "tenant": TenantOption,
    "embedder": EmbedderOption,
    "json": JsonOption,
    "quiet": QuietOption,
    "debug": DebugOption,
}
_FLAGS = ("json", "quiet", "debug")


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """Where a command finds its memory, and how it answers."""

    store: str | None = None
    tenant: str | None = None
    embedder: str | None = None
    json: bool = False
    quiet: bool = False
    debug: bool = False

    def open(self, *, create: bool = False, reindex: bool = False) -> "Memory | Client":
        """
        The memory: a daemon's where COMMONPLACE_URL names one and no --store was given, else the store itself. A command that
        only reads does not `create` a store where a path was mistyped.
        """
        if self.url is not None:
            return self.client(self.url)
        # The engine brings numpy and the stores: `--help` does without.
        from commonplace import open_memory
        from commonplace.compose.configuration import configuration

        return open_memory(
            self.store,
            tenant=self.tenant,
            embedder=self.embedder,
            create=create,
            actor=configuration().actor,
            reindex=reindex,
        )

    def client(self, url: str) -> "Client":
        # httpx and pydantic load slowly.
        from commonplace import Client

        return Client(url, *self._credentials(), ACTOR)

    def async_client(self, url: str) -> "AsyncClient":
        """As `client`, for a command that listens while it does other things."""
        # As above.
        from commonplace import AsyncClient

        return AsyncClient(url, *self._credentials(), ACTOR)

    def _credentials(self) -> tuple[str | None, str | None]:
        """The token and the tenant to show to a daemon."""
        if self.embedder is not None:
            raise InvalidInput(
                "The daemon has chosen its embedder. Leave --embedder out, or name a store with --store."
            )
        # As above.
        from commonplace.compose.configuration import configuration

        told = configuration()
        tenant = told.tenant if told.tenant != DEFAULT_TENANT else None
        return told.token, self.tenant or tenant

    @property
    def url(self) -> str | None:
        """The daemon to ask; None where the command opens the store itself."""
        # As above.
        from commonplace.compose.configuration import configuration

        return None if self.store else configuration().url

    @property
    def address(self) -> str:
        """Where the memory is, as the options, the environment and the settings' files say."""
        # As above.
        from commonplace.compose.configuration import configuration

        return self.store or self.url or str(configuration().address)

    @property
    def screen(self) -> Screen:
        return screen()

    def answer(self, value: object, show: Callable[[], None]) -> None:
        """`value` as JSON, or what `show` draws for people; nothing where quiet was asked."""
        if self.json:
            typer.echo(written(value))
        elif not self.quiet:
            show()

    def records(self, found: Sequence[Record], value: object, show: Callable[[], None]) -> None:
        """As `answer`, but quiet prints the ids."""
        if self.quiet and not self.json:
            for record in found:
                typer.echo(record.id)
        else:
            self.answer(value, show)

    def done(self, verb: str, *changed: Record) -> None:
        """Say what became of one record or several."""

        def show() -> None:
            for record in changed:
                self.screen.done("unchanged" if record.outcome == "unchanged" else verb, record)

        self.records(changed, changed[0] if len(changed) == 1 else {"records": changed}, show)
        for record in changed:
            if record.metadata.get("redactions") and verb in ("stored", "edited"):
                self.say("What looked like a secret was not stored: `commonplace show` tells what is left.")
            if record.quarantine is not None and verb in ("stored", "edited", "unchanged"):
                self.warn(record.quarantine.message)

    def say(self, text: str) -> None:
        """A remark for people, beside the answer."""
        if not (self.quiet or self.json):
            typer.echo(text, err=True)

    def warn(self, text: str) -> None:
        """What a person must hear, also if only ids are to be printed. A JSON answer says it itself."""
        if not self.json:
            typer.echo(text, err=True)

    def confirm(self, question: str, *, yes: bool, final: bool = True) -> None:
        """Ask before what cannot be undone (`final`) or must be meant. Where nobody can answer, `--yes` is required."""
        if yes:
            return
        if not self.is_interactive:
            why = "This cannot be undone and nobody" if final else "Nobody"
            raise InvalidInput(f"{why} is here to ask: add --yes.")
        if ask(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
            self.say("Nothing was changed.")
            raise typer.Exit(Exit.ERROR)

    @property
    def is_interactive(self) -> bool:
        """Whether somebody can be asked."""
        return not self.json and sys.stdin.isatty()

    @contextmanager
    def progress(self, title: str) -> Generator[Callable[[int, int], None] | None, None, None]:
        """A progress bar on stderr while the work lasts; None where nobody would see it."""
        if self.quiet or self.json or not sys.stderr.isatty():
            yield None
            return
        # rich loads slowly and is for people only.
        from commonplace.cli.bar import bar

        with bar(title) as tick:
            yield tick


def ask(question: str) -> str:
    """A line from the person at the terminal. Unlike typer's own prompt, Ctrl-C here is an interruption (exit 130)."""
    typer.echo(question, nl=False, err=True)
    return sys.stdin.readline()


def remember(ctx: typer.Context, **given: object) -> None:
    """Keep the global options that stood before the command."""
    ctx.obj = _with(Door(), given)


def half_typed(ctx: typer.Context) -> Door:
    """The door of a command that is still being typed, for the shell to complete."""
    before = ctx.parent.params if ctx.parent else {}
    return _with(Door(), {name: ctx.params.get(name) or before.get(name) for name in _SHARED})


def command(
    app: typer.Typer, *examples: str, panel: str, name: str | None = None
) -> Callable[[Callable[Concatenate[Door, P], None]], Callable[Concatenate[Door, P], None]]:
    """Register a function as a command, with the global options beside its own and `examples` below its help."""

    def register(function: Callable[Concatenate[Door, P], None]) -> Callable[Concatenate[Door, P], None]:
        def run(ctx: typer.Context, *args: P.args, **kwargs: P.kwargs) -> None:
            with errors_end(_door(ctx, kwargs)) as door:
                function(door, *args, **kwargs)

        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__annotations__ = {}
        run.__signature__ = _signature(function)  # pyright: ignore[reportFunctionMemberAccess] - what typer reads
        epilog = "\n\n".join(f"Example: {example}" for example in examples)
        first, _, _ = inspect.cleandoc(function.__doc__ or "").partition(". ")
        short = first.rstrip(".") + "."
        app.command(
            name or function.__name__, cls=QuickCommand, rich_help_panel=panel, epilog=epilog, short_help=short
        )(run)
        return function

    return register


def _signature(function: Callable[..., None]) -> inspect.Signature:
    _, *own = inspect.signature(function).parameters.values()
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=False if name in _FLAGS else None,
        )
        for name, annotation in _SHARED.items()
    ]
    return inspect.Signature([context, *own, *shared])


def _door(ctx: typer.Context, given: dict[str, object]) -> Door:
    """Take the global options out of `given`; those before the command stand where none was given after it."""
    before = ctx.obj if isinstance(ctx.obj, Door) else Door()
    return _with(before, {name: given.pop(name) for name in _SHARED})


def _with(door: Door, given: Mapping[str, object]) -> Door:
    named: dict[str, Any] = {name: value for name, value in given.items() if value}
    return replace(door, **named)


@contextmanager
def errors_end(door: Door) -> Generator[Door, None, None]:
    """Turn our errors, and those of files, into a message and an exit code. Only `--debug` shows a traceback."""
    try:
        yield door
    except BrokenPipeError:
        hush()
        raise typer.Exit(Exit.OK) from None
    except (CommonplaceError, OSError) as error:
        if door.debug:
            raise
        report(error, as_json=door.json)
        raise typer.Exit(exit_of(error) if isinstance(error, CommonplaceError) else Exit.ERROR) from None


def report(error: CommonplaceError | OSError, *, as_json: bool) -> None:
    ours = isinstance(error, CommonplaceError)
    message, code = (error.message, error.code) if ours else (_message(error), "file_error")
    complain(message, code, as_json=as_json)


def complain(message: str, code: str, *, as_json: bool) -> None:
    """An error on stderr, for people or for programs."""
    if as_json:
        typer.echo(written({"error": {"code": code, "message": message}}), err=True)
    else:
        typer.secho("Error: ", fg="red", bold=True, err=True, nl=False)
        typer.echo(f"{message} [{code}]", err=True)


def _message(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def hush() -> None:
    """The reader of our output has gone (`| head`): what is left to print goes nowhere, without a complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
