"""The commands for the history: sessions of an agent, and what was said in them."""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast

import typer

from commonplace.cli.complete import session_ids
from commonplace.cli.documents import document
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, clipped, counted, oneline, visible
from commonplace.cli.moments import stamp
from commonplace.cli.opening import nearest
from commonplace.cli.quick import QuickGroup
from commonplace.cli.session_choice import chosen_session
from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.session import SessionPage

if TYPE_CHECKING:
    from commonplace import Client, Memory
    from commonplace.values.session import ArchiveChoice, Session, SessionMessage
    from commonplace.values.session_state import LiveSessionSummary

PANEL = "Organise"
_PAGE = 500
_SHOWN = 2_000
_SOURCES = {
    "acp": "an editor",
    "api": "a program",
    "chat": "a terminal",
    "console": "the console",
    "qwen": "the qwen SDK",
    "run": "a script",
}

group = typer.Typer(
    cls=QuickGroup,
    help="Sessions of an agent, and what was said in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SessionId = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="The session's id, as `sessions list` shows it, or the beginning of it.",
        autocompletion=session_ids,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1, max=100)]
Agent = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only with this agent.")]
Workspace = Annotated[str | None, typer.Option("--workspace", metavar="WORKSPACE", help="Only about this workspace.")]
Everyone = Annotated[bool, typer.Option("--everyone", help="Other people's sessions, too. For admins.")]
Url = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The daemon. Default: COMMONPLACE_URL, else the one of this machine."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def list_sessions(
    door: Door,
    limit: Limit = 50,
    agent: Agent = None,
    workspace: Workspace = None,
    archived: Annotated[bool, typer.Option("--archived", help="Archived ones instead.")] = False,
    everyone: Everyone = False,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Only those that are in use now, at the daemon.")] = False,
    url: Url = None,
) -> None:
    """
    List your sessions and those shared with you. Of a daemon's, those in use come first: whose each is and how it was opened, what it does, what
    waits for a permission, who listens. Then the one used last.
    """
    choice: ArchiveChoice = "yes" if archived else "no"
    place = url or door.url or (nearest() if live else None)
    activities: list[LiveSessionSummary] = []
    with door.client(place) if place else door.open() as memory:
        if place and cursor is None and not archived:
            activities = [
                activity
                for activity in _daemon(memory).live_sessions(everyone=everyone)
                if agent in (None, activity.session.agent) and workspace in (None, activity.session.workspace)
            ]
        page = (
            SessionPage(())
            if live
            else memory.sessions(
                limit=limit, cursor=cursor, agent=agent, workspace=workspace, archived=choice, everyone=everyone
            )
        )
    in_use = {activity.session.id for activity in activities}
    others = [session for session in page.sessions if session.id not in in_use]

    def lines() -> None:
        for activity in activities:
            typer.echo(live_line(activity))
        _lines(others)

    door.answer({"live": activities, "sessions": page.sessions, "cursor": page.cursor}, lines)
    if door.quiet and not door.json:
        for id in [*(activity.session.id for activity in activities), *(session.id for session in others)]:
            typer.echo(id)
    if page.cursor:
        door.say(f"There is more: --cursor '{page.cursor}'")


def _daemon(memory: "Memory | Client") -> "Client":
    return cast("Client", memory)


def live_line(activity: "LiveSessionSummary") -> str:
    """A session in use, in a line: what it does, whose it is, how it was opened, who waits and listens."""
    session = activity.session
    does = "idle"
    if activity.state == "asking":
        does = f"asks: {clipped(activity.permissions[0].title, 60)}" if activity.permissions else "asks"
    elif activity.state == "running":
        running = next((prompt for prompt in activity.prompts if prompt.state == "running"), None)
        does = f"at work: {clipped(activity.tool or (running.text if running else ''), 60)}"
    count = sum(prompt.state == "queued" for prompt in activity.prompts)
    marks = [
        f"{count} waiting" if count else "",
        counted(activity.listeners, "listener"),
        "shared" if session.shared else "",
    ]
    title = clipped(session.title or "-", 60)
    about = [
        clean(session.id),
        f"● {title}",
        visible(does),
        f"{clean(session.owner)}, by {opened_with(session.source)}",
        clean(session.agent),
    ]
    return "\t".join([*about, *(mark for mark in marks if mark)])


def opened_with(source: str) -> str:
    """The way in, as people call it."""
    return _SOURCES.get(source, clean(source))


def show(
    door: Door,
    id: SessionId,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many messages.", min=1, max=1000)] = 50,
    before: Annotated[int | None, typer.Option(metavar="N", help="The messages before this position.", min=1)] = None,
) -> None:
    """Show a session and the last that was said in it."""
    with door.open() as memory:
        session = chosen_session(memory, id)
        page = memory.session_messages(session.id, before=before, limit=limit)

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
        session = memory.change_session(chosen_session(memory, id).id, title=title)
    door.answer(session, lambda: _lines([session]))


def archive(door: Door, id: SessionId) -> None:
    """Archive a session: `sessions list` shows it no longer. `sessions unarchive` brings it back."""
    with door.open() as memory:
        session = memory.change_session(chosen_session(memory, id).id, archived=True)
    door.answer(session, lambda: _lines([session]))


def unarchive(door: Door, id: SessionId) -> None:
    """Bring a session back from the archive."""
    with door.open() as memory:
        session = memory.change_session(chosen_session(memory, id).id, archived=False)
    door.answer(session, lambda: _lines([session]))


def share(door: Door, id: SessionId) -> None:
    """
    Share a session with whoever reaches its workspace: they read it, hear it, speak in it, and answer what it asks as the daemon's policy allows.
    `sessions unshare` takes that back.
    """
    _set_shared(door, id, shared=True)


def unshare(door: Door, id: SessionId) -> None:
    """Keep a session to yourself again. Who still listens hears nothing more."""
    _set_shared(door, id, shared=False)


def _set_shared(door: Door, id: str, *, shared: bool) -> None:
    with door.open() as memory:
        session = memory.change_session(chosen_session(memory, id).id, shared=shared)
    door.answer(session, lambda: _lines([session]))


def attach(
    door: Door,
    id: SessionId,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Only look on: say nothing, answer nothing.")] = False,
    messages: Annotated[
        int,
        typer.Option(
            "--messages", "-n", metavar="N", help="How many of the last messages to show first.", min=0, max=100
        ),
    ] = 10,
    url: Url = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show thoughts, and what tools were given and answered.")
    ] = False,
) -> None:
    """
    Join a session that lives in a daemon, whoever opened it: see what is said and done in it, say something, answer what it asks. Ctrl-C leaves and ends
    nothing; /cancel ends the turn. With --json every event is a line, and what is said comes from stdin.
    """
    # The client's loop and what it shows load slowly.
    from commonplace.cli.agent_line import AgentLine
    from commonplace.cli.attachment import AttachOptions, JoinedSession
    from commonplace.cli.line_paper import LinePaper
    from commonplace.cli.line_reader import LineReader
    from commonplace.cli.partner import open_partner

    place = _place_of(door, url)
    with door.client(place) as memory:
        session = chosen_session(memory, id)
        is_reader = memory.me().role == "reader"
    if is_reader and not watch:
        door.say("Your key only reads: you look on.")
    options = AttachOptions(watch=watch or is_reader, messages=messages, verbose=verbose, json=door.json)
    is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not door.json
    reader = LineReader(interactive=is_typed and not options.watch)
    paper = LinePaper(reader.typing if reader.is_interactive else (str if is_typed else None))
    with AgentLine(lambda: open_partner(door, place)) as line:
        code = JoinedSession(line, session, options, paper, reader).stay()
    raise typer.Exit(code)


def cancel(door: Door, id: SessionId, url: Url = None) -> None:
    """End the turn that a session plays, with its tools. What waits is played next; `sessions attach` shows it."""
    with door.client(_place_of(door, url)) as memory:
        session = chosen_session(memory, id)
        is_cancelled = memory.cancel_turn(session.id)
    words = "Cancelled." if is_cancelled else "No turn is played."
    door.answer({"id": session.id, "cancelled": is_cancelled}, lambda: typer.echo(words))


def _place_of(door: Door, url: str | None) -> str:
    """The daemon in which the session lives. Raises InvalidInput: a store was named."""
    if door.store is not None:
        raise InvalidInput(
            "A session lives in a daemon. Leave --store out, and name the daemon with --url or COMMONPLACE_URL."
        )
    return url or door.url or nearest()


def delete(door: Door, id: SessionId, yes: Yes = False) -> None:
    """Delete a session with all that was said in it, for good. `sessions archive` only puts it away."""
    with door.open() as memory:
        session = chosen_session(memory, id)
        door.confirm(f"Delete {clean(session.title or session.id)}, with all that was said in it?", yes=yes)
        count = memory.delete_session(session.id)
    door.answer(
        {"id": session.id, "messages": count}, lambda: typer.echo(f"Deleted, with {counted(count, 'message')}.")
    )


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
        session = chosen_session(memory, id)
        count = 0
        with _opened(target) as stream:
            stream.write(_json({"session": session}) + "\n")
            for message in _messages(memory, session.id):
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
    examples = ("commonplace sessions list --agent assistant", "commonplace sessions list --live")
    command(group, *examples, panel=PANEL, name="list")(list_sessions)
    command(group, "commonplace sessions show 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(show)
    command(group, "commonplace sessions search 'the slow parser'", panel=PANEL)(search)
    command(group, "commonplace sessions rename 019b76db-9260-71e6-810b-f0583894b47e 'The slow parser'", panel=PANEL)(
        rename
    )
    command(group, "commonplace sessions archive 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(archive)
    command(group, "commonplace sessions unarchive 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(unarchive)
    command(
        group,
        "commonplace sessions attach 019b76db",
        "commonplace sessions attach 019b76db --watch",
        "echo 'Run the tests again' | commonplace sessions attach 019b76db --json",
        panel=PANEL,
    )(attach)
    command(group, "commonplace sessions cancel 019b76db", panel=PANEL)(cancel)
    command(group, "commonplace sessions share 019b76db", panel=PANEL)(share)
    command(group, "commonplace sessions unshare 019b76db", panel=PANEL)(unshare)
    command(group, "commonplace sessions delete 019b76db-9260-71e6-810b-f0583894b47e --yes", panel=PANEL)(delete)
    command(group, "commonplace sessions export 019b76db-9260-71e6-810b-f0583894b47e talk.jsonl", panel=PANEL)(export)
    app.add_typer(group, name="sessions", rich_help_panel=PANEL)
