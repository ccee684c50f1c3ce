"""The commands that change what becomes of a record: pin, delete, undo, promote, demote, purge."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli import options as o
from commonplace.cli.complete import ids as known_ids
from commonplace.cli.complete import scopes, sources
from commonplace.cli.door import Door, command
from commonplace.cli.lines import counted
from commonplace.errors import InvalidInput
from commonplace.memory.asking import is_whole
from commonplace.values.record import Record

if TYPE_CHECKING:
    from commonplace import Client, Memory

PANEL = "Change"


def _whole(memory: "Memory | Client", id: str) -> str:
    """The id that a person wrote the beginning of."""
    return id if is_whole(id) else memory.get(id).id


def pin(door: Door, ids: o.Ids, expected: o.Expected = None, reason: o.Reason = None) -> None:
    """Pin records: they weigh more in a search, come first in a prompt, and no rule removes them."""
    _each(door, "pinned", ids, lambda memory, id: memory.pin(id, True, expected=expected, reason=reason))


def unpin(door: Door, ids: o.Ids, expected: o.Expected = None, reason: o.Reason = None) -> None:
    """Take the pin off records."""
    _each(door, "unpinned", ids, lambda memory, id: memory.pin(id, False, expected=expected, reason=reason))


def delete(door: Door, ids: o.Ids, expected: o.Expected = None, reason: o.Reason = None) -> None:
    """Delete records. They are no longer found, and `commonplace undo` brings them back."""
    _each(door, "deleted", ids, lambda memory, id: memory.delete(_whole(memory, id), expected=expected, reason=reason))


def undo(door: Door, id: o.Id, expected: o.Expected = None, reason: o.Reason = None) -> None:
    """Take back the last change of a record, deletion included. Again takes back the one before."""
    _each(door, "restored", [id], lambda memory, id: memory.undo(id, expected=expected, reason=reason))


def promote(
    door: Door,
    id: o.Id,
    scope: Annotated[
        str | None,
        typer.Option("--scope", "-s", metavar="KIND:ID", help="The wider scope it moves to.", autocompletion=scopes),
    ] = None,
    expected: o.Expected = None,
    reason: o.Reason = None,
) -> None:
    """Share a record, in its own scope or in a wider one. A text with secrets is refused (exit 6)."""
    _each(door, "promoted", [id], lambda memory, id: memory.promote(id, scope=scope, expected=expected, reason=reason))


def demote(door: Door, ids: o.Ids, expected: o.Expected = None, reason: o.Reason = None) -> None:
    """Keep records, but take them out of every search."""
    _each(door, "demoted", ids, lambda memory, id: memory.demote(_whole(memory, id), expected=expected, reason=reason))


def purge(
    door: Door,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID…]", help="These records.", autocompletion=known_ids)
    ] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", "-s", metavar="KIND:ID", help="All of a scope.", autocompletion=scopes)
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="All of a user, and all that user said or did.")
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="All of a source.", autocompletion=sources)] = None,
    leave_files: Annotated[
        bool,
        typer.Option("--leave-files", help="Purge even if a file that the records follow cannot be removed. It stays."),
    ] = False,
    yes: o.Yes = False,
) -> None:
    """
    Remove records for good: every version, word and vector. Cannot be undone; asks first. Files of managed memory that they follow
    are removed, too; if one cannot be, nothing is purged (exit 4).
    """
    what = [
        counted(len(ids), "record") if ids else "",
        f"all of the scope {scope}" if scope else "",
        f"everything of the user {user}" if user else "",
        f"everything of the source {source}" if source else "",
    ]
    named = [words for words in what if words]
    if len(named) != 1:
        raise InvalidInput("Say what to purge with exactly one of: ids, --scope, --user, --source.")
    with door.open() as memory:
        door.confirm(f"Purge {named[0]}, without a trace?", yes=yes)
        purged = memory.purge(ids=ids or (), scope=scope, user=user, source=source, leave_files=leave_files)
    files = f", and {counted(purged.files, 'file')} of managed memory" if purged.files else ""
    sessions = f", and {counted(purged.sessions, 'session')} of the history" if purged.sessions else ""
    summary = f"Purged {counted(purged.records, 'record')} in {counted(purged.versions, 'version')}{files}{sessions}."
    answer = {name: value for name, value in asdict(purged).items() if value or name in ("records", "versions")}
    door.answer(answer, lambda: typer.echo(summary))
    for file in purged.files_left:
        door.say(f"A file was left: {file}")


def _each(door: Door, verb: str, ids: list[str], change: Callable[["Memory | Client", str], Record]) -> None:
    """Change records one after another; all must exist before the first is touched."""
    with door.open() as memory:
        found = [memory.get(id).id for id in ids]
        changed = [change(memory, id) for id in found]
    door.done(verb, *changed)


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace pin 0192f3a4-5b6c", panel=PANEL)(pin)
    command(app, "commonplace unpin 0192f3a4-5b6c", panel=PANEL)(unpin)
    command(app, "commonplace delete 0192f3a4-5b6c --reason 'no longer true'", panel=PANEL)(delete)
    command(app, "commonplace undo 0192f3a4-5b6c", panel=PANEL)(undo)
    command(app, "commonplace promote 0192f3a4-5b6c --scope workspace:web", panel=PANEL)(promote)
    command(app, "commonplace demote 0192f3a4-5b6c --reason 'only a draft'", panel=PANEL)(demote)
    command(app, "commonplace purge --user ana", "commonplace purge --scope session:old --yes", panel=PANEL)(purge)
