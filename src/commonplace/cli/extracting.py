"""The command that learns from a conversation: `commonplace extract`."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli import given, moments
from commonplace.cli.door import Door, command
from commonplace.cli.plain import clean
from commonplace.errors import InvalidInput, InvalidText
from commonplace.values.extraction import Extracted

PANEL = "Write"
_SKIPPED = "The conversation is shorter than 200 characters: nothing was read."


def extract(
    door: Door,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A transcript; `-` reads stdin.")] = "-",
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="ID", help="An agent of the run; the first one learns.")
    ] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", metavar="ID", help="The workspace it was about.")
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option("--scope", metavar="KIND:ID", help="Where facts go that are for no agent and no workspace."),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", help="The name of the conversation.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="When it was: `yesterday` counts from there.")
    ] = None,
) -> None:
    """
    Learn from a conversation: at most five facts, by the model where one is set, else by rules. Its lines may begin with who speaks
    (`user: …`, `assistant: …`). Without an agent, a workspace or a scope, facts are global.
    """
    transcript = given.text("-") if source == "-" else _file(source)
    when = None if at is None else moments.moment(at)
    place = scope or (None if agent or workspace else "global")
    with door.open(create=True) as memory:
        done = memory.extract(
            transcript, agents=agent or (), workspace=workspace, scope=place, session=session, at=when
        )
    door.records(done.facts, done, lambda: _show(done))
    if done.fallback is not None:
        door.say(f"The model was not used ({done.fallback}); rules read instead.")


def _show(done: Extracted) -> None:
    if done.status == "skipped_short_conversation":
        typer.echo(_SKIPPED)
    elif not done.facts:
        typer.echo("Nothing that was not known.")
    for fact in done.facts:
        typer.echo(f"{fact.id[-8:]}  {fact.scope}  {clean(fact.text)}")


def _file(source: str) -> str:
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidText(f"{source} is not UTF-8 text.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{source} is a folder. Name a transcript.") from None


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace extract chat.txt --agent ana --workspace web",
        "pbpaste | commonplace extract --scope user:ana",
        panel=PANEL,
    )(extract)
