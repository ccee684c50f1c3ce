"""The commands for persons: whose a session or a room is, and with whom it is shared."""

from typing import Annotated

import typer

from commonplace.cli.complete import scopes
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean

PANEL = "Look after"

MemberScope = Annotated[
    str, typer.Argument(metavar="SCOPE", help="session:<id> or channel:<id>.", autocompletion=scopes)
]
Person = Annotated[
    str, typer.Argument(metavar="PERSON", help="The user of a key, a user of the gateway, or key/<key id>.")
]


def members(door: Door, scope: MemberScope) -> None:
    """Show whose a session or a room is, and with whom it is shared."""
    with door.open() as memory:
        rows = memory.members(scope)

    def lines() -> None:
        for member in rows:
            typer.echo(f"{clean(member.subject)}{'  (owner)' if member.owner else ''}")

    door.answer({"members": rows}, lines)


def share(door: Door, scope: MemberScope, person: Person) -> None:
    """Let another person read and write a session or a room of yours."""
    with door.open() as memory:
        member = memory.share(scope, person)
    door.answer(member, lambda: typer.echo(f"{scope} is shared with {clean(person)}."))


def unshare(door: Door, scope: MemberScope, person: Person) -> None:
    """Share a session or a room with a person no longer."""
    with door.open() as memory:
        memory.unshare(scope, person)
    door.answer({"scope": scope, "subject": person}, lambda: typer.echo(f"{scope} is not {clean(person)}'s any more."))


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace members session:standup-7", panel=PANEL)(members)
    command(app, "commonplace share session:standup-7 bo", panel=PANEL)(share)
    command(app, "commonplace unshare session:standup-7 bo", panel=PANEL)(unshare)
