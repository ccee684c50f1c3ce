"""The commands for the history: sessions of an agent, and what was said in them."""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from commonplace.cli.complete import session_ids
from commonplace.cli.documents import document
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, clipped, counted, oneline
from commonplace.cli.moments import stamp
from commonplace.cli.quick import QuickGroup
from commonplace.errors import PathNotFound

if TYPE_CHECKING:
    from commonplace import Client, Memory
    from commonplace.values.session import ArchiveChoice, Session, SessionMessage

PANEL = "Organise"
_PAGE = 500
_SHOWN = 2_000

group = typer.Typer(
    cls=QuickGroup,
    help="Sessions of an agent, and what was said in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SessionId = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help="The session's id, as `sessions list` shows it.", autocompletion=session_ids
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1, max=100)]
Agent = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only with this agent.")]
Workspace = Annotated[str | None, typer.Option("--workspace", metavar="WORKSPACE", help="Only about this workspace.")]
Everyone = Annotated[bool, typer.Option("--everyone", help="Other people's sessions, too. For admins.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def list_sessions(
    door: Door,
    limit: Limit = 50,
    agent: Agent = None,
    workspace: Workspace = None,
    archived: Annotated[bool, typer.Option("--archived", help="Archived ones instead.")] = False,
    everyone: Everyone = False,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
) -> None:
    """List your sessions and those shared with you, the one used last first."""
    choice: ArchiveChoice = "yes" if archived else "no"
    with door.open() as memory:
        page = memory.sessions(
            limit=limit, cursor=cursor, agent=agent, workspace=workspace, archived=choice, everyone=everyone
        )
    door.answer(page, lambda: _lines(page.sessions))
    if door.quiet and not door.json:
        for session in page.sessions:
            typer.echo(session.id)
    if page.cursor:
        door.say(f"There is more: --cursor '{page.cursor}'")


def show(
    door: Door,
    id: SessionId,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many messages.", min=1, max=1000)] = 50,
    before: Annotated[int | None, typer.Option(metavar="N", help="The messages before this position.", min=1)] = None,
) -> None:
    """Show a session and the last that was said in it."""
    with door.open() as memory:
        session = memory.session(id)
        page = memory.session_messages(id, before=before, limit=limit)

    def lines() -> None:
        _lines([session])
        for message in page.messages:
            typer.echo(_line(message))

    door.answer({"session": session, "messages": page.messages, "before": page.before, "after": page.after}, lines)
    if page.before and page.messages:
        door.say(f"There is more: --before {page.messages[0].position}")


def search(
    door: Door,
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="Words that were said.")],
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="SESSION", help="Only in this session.", autocompletion=session_ids),
    ] = None,
    limit: Limit = 10,
    agent: Agent = None,
    workspace: Workspace = None,
    everyone: Everyone = False,
) -> None:
    """Find what was said, by its words. Archived sessions are searched, too."""
    with door.open() as memory:
        hits = memory.search_sessions(
            query, session=session, limit=limit, agent=agent, workspace=workspace, everyone=everyone
        )

    def lines() -> None:
        for hit in hits:
            title = clipped(hit.session.title or "-", 60)
            typer.echo(f"{clean(hit.session.id)}\t#{hit.message.position}\t{title}\t{oneline(hit.snippet)}")

    door.answer({"hits": hits}, lines)


def rename(
    door: Door, id: SessionId, title: Annotated[str, typer.Argument(metavar="TITLE", help="What people call it.")]
) -> None:
    """Give a session another title."""
    with door.open() as memory:
        session = memory.change_session(id, title=title)
    door.answer(session, lambda: _lines([session]))


def archive(door: Door, id: SessionId) -> None:
    """Archive a session: `sessions list` shows it no longer. `sessions unarchive` brings it back."""
    with door.open() as memory:
        session = memory.change_session(id, archived=True)
    door.answer(session, lambda: _lines([session]))


def unarchive(door: Door, id: SessionId) -> None:
    """Bring a session back from the archive."""
    with door.open() as memory:
        session = memory.change_session(id, archived=False)
    door.answer(session, lambda: _lines([session]))


def delete(door: Door, id: SessionId, yes: Yes = False) -> None:
    """Delete a session with all that was said in it, for good. `sessions archive` only puts it away."""
    with door.open() as memory:
        session = memory.session(id)
        door.confirm(f"Delete {clean(session.title or session.id)}, with all that was said in it?", yes=yes)
        count = memory.delete_session(id)
    door.answer({"id": id, "messages": count}, lambda: typer.echo(f"Deleted, with {counted(count, 'message')}."))


def export(
    door: Door,
    id: SessionId,
    target: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to; - is standard output.")] = Path("-"),
) -> None:
    """
    Write a session as a file of JSON lines: the session first, then each message. `commonplace export` writes all sessions with the memory, to be
    loaded elsewhere.
    """
    with door.open() as memory:
        session = memory.session(id)
        count = 0
        with _opened(target) as stream:
            stream.write(_json({"session": session}) + "\n")
            for message in _messages(memory, id):
                stream.write(_json(message) + "\n")
                count += 1
    if str(target) != "-":
        door.answer(
            {"file": str(target), "messages": count}, lambda: typer.echo(f"Written: {counted(count, 'message')}.")
        )


def _json(value: object) -> str:
    return json.dumps(document(value), ensure_ascii=False)


def _messages(memory: "Memory | Client", id: str) -> "Iterator[SessionMessage]":
    after = 0
    while True:
        page = memory.session_messages(id, after=after, limit=_PAGE)
        yield from page.messages
        if not page.after or not page.messages:
            return
        after = page.messages[-1].position


def _opened(target: Path) -> "nullcontext[TextIO] | TextIO":
    if str(target) == "-":
        return nullcontext(sys.stdout)
    try:
        return target.expanduser().open("w", encoding="utf-8")
    except OSError as error:
        raise PathNotFound(f"Cannot write {target}: {error.strerror}.", path=str(target)) from error


def _lines(sessions: "tuple[Session, ...] | list[Session]") -> None:
    for session in sessions:
        marks = [name for name, is_so in (("shared", session.shared), ("archived", session.archived_at)) if is_so]
        title = clipped(session.title or "-", 60)
        about = f"{stamp(session.updated_at)}\t{counted(session.messages, 'message')}\t{clean(session.agent)}"
        typer.echo("\t".join([clean(session.id), title, about, *marks]))


def _line(message: "SessionMessage") -> str:
    who = message.speaker if message.role == "user" and message.speaker else message.role
    kind = "" if message.kind == "text" else f" ({message.kind})"
    name = message.data.get("name")
    tool = f" {name}" if isinstance(name, str) else ""
    return f"#{message.position} {clean(who)}{kind}{clean(tool)}: {clean(message.text[:_SHOWN])}"


def add_to(app: typer.Typer) -> None:
    command(group, "commonplace sessions list --agent assistant", panel=PANEL, name="list")(list_sessions)
    command(group, "commonplace sessions show 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(show)
    command(group, "commonplace sessions search 'the slow parser'", panel=PANEL)(search)
    command(group, "commonplace sessions rename 019b76db-9260-71e6-810b-f0583894b47e 'The slow parser'", panel=PANEL)(
        rename
    )
    command(group, "commonplace sessions archive 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(archive)
    command(group, "commonplace sessions unarchive 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(unarchive)
    command(group, "commonplace sessions delete 019b76db-9260-71e6-810b-f0583894b47e --yes", panel=PANEL)(delete)
    command(group, "commonplace sessions export 019b76db-9260-71e6-810b-f0583894b47e talk.jsonl", panel=PANEL)(export)
    app.add_typer(group, name="sessions", rich_help_panel=PANEL)
