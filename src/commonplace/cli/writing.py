"""The commands that say something new: put, edit, supersede."""

from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli import given
from commonplace.cli import options as o
from commonplace.cli.door import Door, command
from commonplace.cli.moments import optional

if TYPE_CHECKING:
    from commonplace.memory.lifecycle import Changes

PANEL = "Write"
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; `-` reads stdin.")]
_PLACE = "Where it comes from"


def put(
    door: Door,
    text: Text,
    scope: o.Scope = "global",
    key: o.Key = None,
    kind: o.Kind = None,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="Who or what said so.", rich_help_panel=_PLACE)
    ] = "manual",
    tag: o.NewTags = None,
    meta: o.Meta = None,
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Keep it in front, and for ever.")] = None,
    importance: o.Importance = None,
    trust: o.NewTrust = None,
    visibility: o.NewVisibility = None,
    at: o.At = None,
    expires: o.Expires = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="The conversation.", rich_help_panel=_PLACE)] = None,
    position: Annotated[int | None, typer.Option(metavar="N", help="Its place there.", rich_help_panel=_PLACE)] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who spoke.", rich_help_panel=_PLACE)] = None,
    run: Annotated[str | None, typer.Option(metavar="ID", help="The run.", rich_help_panel=_PLACE)] = None,
    message: Annotated[str | None, typer.Option(metavar="ID", help="The message.", rich_help_panel=_PLACE)] = None,
    file: Annotated[str | None, typer.Option(metavar="PATH", help="The file.", rich_help_panel=_PLACE)] = None,
    expected: o.Expected = None,
    dedupe: o.Dedupe = None,
    reason: o.Reason = None,
) -> None:
    """Remember a text. Under a key that the scope holds already it becomes the next version."""
    body = given.text(text)
    metadata = given.metadata(meta)
    when, end = optional(at), optional(expires, ahead=True)
    with door.open(create=True) as memory:
        record = memory.put(
            body,
            scope=scope,
            key=key,
            kind=kind,
            source=source,
            tags=tuple(tag or ()),
            metadata=metadata,
            pinned=pin,
            importance=importance,
            trust=trust or "system_generated",
            visibility=visibility or "private",
            at=when,
            expires_at=end,
            session=session,
            position=position,
            speaker=speaker,
            run=run,
            message=message,
            file=file,
            expected=expected,
            dedupe=dedupe,
            reason=reason,
        )
    door.done("stored", record)


def edit(
    door: Door,
    id: o.Id,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="The new text; `-` reads stdin.")] = None,
    key: o.Key = None,
    kind: o.Kind = None,
    tag: o.NewTags = None,
    meta: o.Meta = None,
    importance: o.Importance = None,
    trust: o.NewTrust = None,
    visibility: o.NewVisibility = None,
    at: o.At = None,
    expires: o.Expires = None,
    clear: Annotated[
        list[str] | None,
        typer.Option("--clear", metavar="FIELD", help="Empty it: key, at, expires_at, tags or metadata."),
    ] = None,
    expected: o.Expected = None,
    reason: o.Reason = None,
) -> None:
    """Change a record, as a new version. With nothing to change named, its text opens in $EDITOR."""
    changes: Changes = {
        "text": None if text is None else given.text(text),
        "key": key,
        "kind": kind,
        "tags": tag,
        "metadata": given.metadata(meta),
        "importance": importance,
        "trust": trust,
        "visibility": visibility,
        "at": optional(at),
        "expires_at": optional(expires, ahead=True),
    }
    with door.open() as memory:
        if not clear and all(value is None for value in changes.values()):
            before = memory.get(id)
            changes["text"] = given.edited(before.text)
            # Whoever wrote while the editor was open is not overwritten.
            expected = before.version if expected is None else expected
            if changes["text"] == before.text:
                door.say("Nothing was changed.")
                door.done("unchanged", before)
                return
        record = memory.edit(id, clear=clear or (), expected=expected, reason=reason, **changes)
    door.done("edited", record)


def supersede(
    door: Door,
    id: o.Id,
    text: Text,
    key: o.Key = None,
    kind: o.Kind = None,
    tag: o.NewTags = None,
    importance: o.Importance = None,
    expected: o.Expected = None,
    reason: o.Reason = None,
) -> None:
    """Replace a record by a new one. The old one is kept, marked, and found only in the past."""
    body = given.text(text)
    with door.open() as memory:
        record = memory.supersede(
            id, body, key=key, kind=kind, tags=tag, importance=importance, expected=expected, reason=reason
        )
    door.done("stored", record)


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace put 'Deploy with `make ship`' --scope workspace:web --key deploy --importance 80",
        "git log -5 | commonplace put - --tag log",
        panel=PANEL,
    )(put)
    command(
        app, "commonplace edit 0192f3a4-5b6c --text 'Deploy with `make release`' --reason 'new build'", panel=PANEL
    )(edit)
    command(app, "commonplace supersede 0192f3a4-5b6c 'We ship on Mondays now'", panel=PANEL)(supersede)
