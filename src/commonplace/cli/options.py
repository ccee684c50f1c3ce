"""The arguments and options that several commands share, each described once."""

from typing import Annotated, Literal

import typer

from commonplace.cli import given
from commonplace.cli.complete import ids, kinds, scopes, sources, tags
from commonplace.values.record import Trust, Visibility

_FILTERS = "Filters"
_FIELDS = "What is said about it"
_TIME = "An ISO date or time, `yesterday`, or a span such as 2d or 3h"

Id = Annotated[str, typer.Argument(metavar="ID", help="The record, or the beginning of its id.", autocompletion=ids)]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID…", help="The records, or the beginnings of their ids.", autocompletion=ids)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the history.")]
Expected = Annotated[
    int | None,
    typer.Option("--expected", metavar="N", help="The version you saw; refused (exit 4) if it is another one now."),
]

# What a search and a list take to narrow what counts.
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", "-s", metavar="KIND:ID", help="Only this scope; may be repeated.", autocompletion=scopes,
        rich_help_panel=_FILTERS,
    ),
]  # fmt: skip
Everyone = Annotated[
    bool,
    typer.Option(
        "--everyone", help="Other people's memory, too, if no scope is named. For admins.", rich_help_panel=_FILTERS
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Only this kind.", autocompletion=kinds, rich_help_panel=_FILTERS),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="NAME", help="Only this source.", autocompletion=sources, rich_help_panel=_FILTERS
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", "-t", metavar="TAG", help="With all of these.", autocompletion=tags, rich_help_panel=_FILTERS
    ),
]
Trusts = Annotated[
    list[str] | None,
    typer.Option(
        "--trust", metavar="LABEL", help=f"Only with this label: {', '.join(given.TRUSTS)}.", rich_help_panel=_FILTERS
    ),
]
Sessions = Annotated[
    list[str] | None, typer.Option("--session", metavar="ID", help="Only of this session.", rich_help_panel=_FILTERS)
]
Speaker = Annotated[
    str | None, typer.Option("--speaker", metavar="NAME", help="Only what this one said.", rich_help_panel=_FILTERS)
]
Pinned = Annotated[
    bool | None,
    typer.Option("--pinned/--not-pinned", help="Only pinned ones, or none of them.", rich_help_panel=_FILTERS),
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help=f"Not before. {_TIME} ago.", rich_help_panel=_FILTERS)
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Before this time.", rich_help_panel=_FILTERS)
]
States = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help=f"In this state: {', '.join(given.STATES)}.",
        rich_help_panel=_FILTERS,
    ),
]

# What a new record, or an edited one, is given.
_SCOPE = typer.Option(
    "--scope", "-s", metavar="KIND:ID", help="Who shares it, for instance workspace:web.", autocompletion=scopes
)
Scope = Annotated[str, _SCOPE]
NoteScope = Annotated[str | None, _SCOPE]
Key = Annotated[
    str | None,
    typer.Option(
        "--key", "-k", metavar="KEY", help="A name within the scope; a second put under it makes a new version."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", metavar="KIND", help="note, fact, …", autocompletion=kinds, rich_help_panel=_FIELDS),
]
NewTags = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", metavar="TAG", help="May be repeated.", autocompletion=tags, rich_help_panel=_FIELDS),
]
Meta = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="NAME=VALUE", help="Metadata; a value may be JSON.", rich_help_panel=_FIELDS),
]
Importance = Annotated[
    int | None, typer.Option("--importance", metavar="0-100", help="How much it weighs.", rich_help_panel=_FIELDS)
]
NewTrust = Annotated[Trust | None, typer.Option("--trust", help="How far to trust it.", rich_help_panel=_FIELDS)]
NewVisibility = Annotated[
    Visibility | None, typer.Option("--visibility", help="Who may see it.", rich_help_panel=_FIELDS)
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help=f"When what it tells happened. {_TIME} ago.", rich_help_panel=_FIELDS),
]
Expires = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="When to forget it: an ISO date or time, or a span from now such as 30d.",
        rich_help_panel=_FIELDS,
    ),
]
Dedupe = Annotated[
    Literal["near"] | None, typer.Option("--dedupe", help="`near`: store nothing that is nearly there already.")
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", "-b", metavar="TOKENS", help="How long it may be; 2000 if not set otherwise.", min=1),
]
