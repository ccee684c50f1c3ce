"""The commands that carry memory in and out: import, export, load, backup, restore."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from commonplace.cli import options as o
from commonplace.cli.door import Door, command
from commonplace.cli.exits import Exit
from commonplace.cli.lines import address, clean, counted
from commonplace.errors import InvalidInput

PANEL = "Files"


def import_(
    door: Door,
    source: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A folder of Markdown and text, one such file, or an export (.jsonl)."),
    ],
    scope: o.NoteScope = None,
    shape: Annotated[
        Literal["directory", "openclaw"], typer.Option("--format", help="What the folder is.")
    ] = "directory",
    sync_deletes: Annotated[
        bool, typer.Option("--sync-deletes", help="Also delete what came from files that are gone.")
    ] = False,
) -> None:
    """Import notes. Unchanged files are skipped; one that cannot be read ends it with 1, after all others."""
    if source.suffix == ".jsonl":
        if scope or sync_deletes:
            raise InvalidInput("An export brings its own scopes and its own deletions: leave the options out.")
        load(door, str(source))
        return
    with door.open(create=True) as memory, door.progress("Importing") as progress:
        report = memory.import_folder(
            source, scope=scope or "global", format=shape, sync_deletes=sync_deletes, progress=progress
        )
    told = f"Imported {counted(report.indexed_files, 'file')}; {report.skipped_files:,} unchanged, {report.deleted_files:,} gone."
    door.answer(report, lambda: typer.echo(told))
    for name, problem in report.problems:
        door.say(f"Not imported: {clean(name)}: {clean(problem)}")
    for name, reason in report.left_out:
        door.say(f"Left out: {clean(name)}: {clean(reason)}")
    if report.errors:
        raise typer.Exit(Exit.ERROR)


def export(
    door: Door,
    target: Annotated[str, typer.Argument(metavar="FILE", help="Where to write; `-` is stdout.")] = "-",
    scope: o.Scopes = None,
) -> None:
    """Write records with all their versions as JSON Lines. `commonplace load` reads them, into either kind of store."""
    with door.open() as memory, door.progress("Exporting") as progress:
        where = sys.stdout if target == "-" else Path(target)
        count = memory.export(where, scopes=scope, progress=progress)
    if target == "-":
        door.say(f"Exported {counted(count, 'record')}.")
    else:
        told = f"Exported {counted(count, 'record')} to {target}."
        door.answer({"records": count, "file": target}, lambda: typer.echo(told))


def load(
    door: Door, source: Annotated[str, typer.Argument(metavar="FILE", help="An export; `-` is stdin.")] = "-"
) -> None:
    """Read an export. Records that are here already, at the same version or a later one, are left alone."""
    where = sys.stdin if source == "-" else Path(source)
    with door.open(create=True) as memory, door.progress("Loading") as progress:
        report = memory.load(where, progress=progress)
    told = f"Loaded {counted(report.records, 'record')}: {report.created:,} new, {report.updated:,} newer, {report.unchanged:,} known."
    door.answer(report, lambda: typer.echo(told))


def backup(
    door: Door, target: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; must not exist.")]
) -> None:
    """Write a copy of the whole store, as it is at one moment, while others go on writing."""
    with door.open() as memory, door.progress("Backing up") as progress:
        memory.backup(target, progress=progress)
    door.answer({"file": target}, lambda: typer.echo(f"The store is saved in {target}."))


def restore(
    door: Door, source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")], yes: o.Yes = False
) -> None:
    """Make an empty or new store what a backup holds. Asks first."""
    # The engine brings numpy and the stores: `--help` and completion do without.
    from commonplace import restore_backup

    if door.url:
        raise InvalidInput("A backup is restored into a store, not into a daemon: name the store with --store.")
    where = address(door.address)
    door.confirm(f"Restore {source} into {where}?", yes=yes)
    with door.progress("Restoring") as progress:
        restore_backup(source, door.address, progress=progress)
    door.answer({"file": source, "store": where}, lambda: typer.echo(f"{where} is what {source} holds."))


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace import notes --scope workspace:web --sync-deletes", panel=PANEL, name="import")(import_)
    command(app, "commonplace export memory.jsonl", "commonplace export - | gzip > memory.jsonl.gz", panel=PANEL)(
        export
    )
    command(app, "commonplace load memory.jsonl --store postgresql://localhost/memory", panel=PANEL)(load)
    command(app, "commonplace backup memory-backup.db", panel=PANEL)(backup)
    command(app, "commonplace restore memory-backup.db --store restored.db", panel=PANEL)(restore)
