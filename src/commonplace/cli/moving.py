"""The commands that carry memory in and out: import, export, load, backup, restore."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from commonplace.cli import options as o
from commonplace.cli.door import Door, command
from commonplace.cli.exits import Exit
from commonplace.cli.lines import address, clean, counted
from commonplace.errors import InvalidInput, RemovalRefused, StoreError
from commonplace.values.quarantine import Withheld
from commonplace.values.transfer import FileKind, ImportReport

if TYPE_CHECKING:
    from commonplace import Client, Memory

PANEL = "Files"
_KINDS: tuple[FileKind, ...] = get_args(FileKind)


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
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Delete more than half of what was imported, and overwrite edits, without asking."
        ),
    ] = False,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Import these as well: code, json.")
    ] = None,
) -> None:
    """Import notes. Unchanged files are skipped; one that cannot be read ends it with 1, after all others."""
    kinds: list[FileKind] = [_kind(name) for name in kind or ()]
    if source.suffix == ".jsonl" and "json" not in kinds:
        if scope or sync_deletes:
            raise InvalidInput("An export brings its own scopes and its own deletions: leave the options out.")
        load(door, str(source))
        return

    def run(*, forced: bool) -> ImportReport:
        with door.open(create=True) as memory, door.progress("Importing") as progress:
            return memory.import_folder(
                source,
                scope=scope or "global",
                format=shape,
                sync_deletes=sync_deletes,
                force=forced,
                kinds=kinds,
                progress=progress,
            )

    try:
        report = run(forced=force)
    except RemovalRefused as refused:
        # Whoever sits at a terminal is asked; nobody else can say that the folder is really as it should be.
        if not door.is_interactive:
            raise
        counts = refused.details
        question = f"Delete {counts.get('removals')} of the {counts.get('records')} records that came from {source}?"
        door.confirm(question, yes=False, final=False)
        report = run(forced=True)
    _report_import(door, report, hint=not kinds)
    if report.errors:
        raise typer.Exit(Exit.ERROR)


def _report_import(door: Door, report: ImportReport, *, hint: bool) -> None:
    told = f"Imported {counted(report.indexed_files, 'file')}; {report.skipped_files:,} unchanged, {report.deleted_files:,} gone."
    door.answer(report, lambda: typer.echo(told))
    for name, problem in report.problems:
        door.say(f"Not imported: {clean(name)}: {clean(problem)}")
    for name, reason in report.left_out:
        door.say(f"Left out: {clean(name)}: {clean(reason)}")
    _tell_withheld(door, report.quarantined, report.withheld)
    for name, reason in report.warned:
        door.warn(f"Imported, with marks of a prompt or hidden characters: {clean(name)}: {clean(reason)}")
    for name, reason in report.kept_edits:
        door.say(f"Kept: {clean(name)}: {clean(reason)}")
    if report.skipped_kinds:
        count = sum(count for _, count in report.skipped_kinds)
        suffixes = ", ".join(f"{clean(suffix)} ({count:,})" for suffix, count in report.skipped_kinds[:10])
        more = " --kind code and --kind json import code and JSON." if hint else ""
        door.say(f"Skipped {counted(count, 'file')} of other kinds: {suffixes}.{more}")


def _kind(name: str) -> FileKind:
    for kind in _KINDS:
        if name == kind:
            return kind
    raise InvalidInput(f"{name!r:.40} is no kind of files. Use {' or '.join(_KINDS)}.")


def _tell_withheld(door: Door, count: int, withheld: Sequence[Withheld]) -> None:
    """What is in quarantine of what came in: said, also where only ids were to be printed."""
    for record in withheld:
        because = f"“{clean(record.sentence)}”" if record.sentence else ", ".join(record.reasons)
        door.warn(f"In quarantine: {clean(record.file or record.id)}: {because}")
    if count:
        door.warn(
            f"{counted(count, 'record')} in quarantine: kept, not recalled. `commonplace review list` shows what waits."
        )


def export(
    door: Door,
    target: Annotated[str, typer.Argument(metavar="FILE", help="Where to write; `-` is stdout.")] = "-",
    scope: o.Scopes = None,
    everyone: o.Everyone = False,
) -> None:
    """Write records with all their versions as JSON Lines. `commonplace load` reads them, into either kind of store. If a damaged store cannot hand out
    everything, the rest is written, what is missing is named, and it ends with 1."""
    with door.open() as memory, door.progress("Exporting") as progress:
        where = sys.stdout if target == "-" else Path(target)
        count = memory.export(where, scopes=scope, everyone=everyone, progress=progress)
        others = 0 if scope or everyone or memory.me().role != "admin" else _others(memory)
    if others:
        door.say(f"Left out: {counted(others, 'scope')} of other people. --everyone exports them, too.")
    for item in count.unreadable:
        door.say(f"Not exported: {clean(item.id)}: {clean(item.reason)}")
    if target == "-":
        door.say(f"Exported {counted(count, 'record')}.")
    else:
        told = f"Exported {counted(count, 'record')} to {target}."
        answer = {"records": count, "file": target, **({"unreadable": count.unreadable} if count.unreadable else {})}
        door.answer(answer, lambda: typer.echo(told))
    if count.unreadable:
        door.say(
            f"The store is damaged: {counted(len(count.unreadable), 'thing')} could not be read. The rest is exported."
        )
        raise typer.Exit(Exit.ERROR)


def _others(memory: "Client | Memory") -> int:
    """How many scopes an export without --everyone passes over."""
    try:
        return len(memory.stats(everyone=True).scopes) - len(memory.stats().scopes)
    except StoreError:
        # The export is written, and a damaged store cannot count.
        return 0


def load(
    door: Door, source: Annotated[str, typer.Argument(metavar="FILE", help="An export; `-` is stdin.")] = "-"
) -> None:
    """Read an export. Records that are here already, at the same version or a later one, are left alone."""
    where = sys.stdin if source == "-" else Path(source)
    with door.open(create=True) as memory, door.progress("Loading") as progress:
        report = memory.load(where, progress=progress)
    told = f"Loaded {counted(report.records, 'record')}: {report.created:,} new, {report.updated:,} newer, {report.unchanged:,} known."
    door.answer(report, lambda: typer.echo(told))
    _tell_withheld(door, report.quarantined, report.withheld)


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
