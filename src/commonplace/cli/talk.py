"""The commands that talk to an agent: chat, run."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli import given
from commonplace.cli.door import Door, command
from commonplace.cli.screen import is_for_people
from commonplace.errors import InvalidInput

if TYPE_CHECKING:
    from commonplace.cli.agent_line import AgentLine
    from commonplace.cli.talk_sessions import TalkPlace
    from commonplace.cli.turn_view import Paper
    from commonplace.values.session import Session

PANEL = "Talk"
_SESSION = "Which session"

Continue = Annotated[
    bool,
    typer.Option("--continue", "-c", help="Go on in the last session of this folder.", rich_help_panel=_SESSION),
]
SessionId = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Go on in this session.", rich_help_panel=_SESSION)
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="Whom to talk to. Default: assistant.", rich_help_panel=_SESSION),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="PATH", help="Where the agent works. Default: the current folder.", rich_help_panel=_SESSION
    ),
]
Workspace = Annotated[
    str | None,
    typer.Option("--workspace", metavar="ID", help="The workspace it is about.", rich_help_panel=_SESSION),
]
ModelName = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Who answers, among the models of the settings.")
]
Url = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The daemon to talk through. Default: COMMONPLACE_URL, else none."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show thoughts, and what tools were given and answered.")
]


def chat(
    door: Door,
    continue_: Continue = False,
    session: SessionId = None,
    agent: Agent = None,
    folder: Folder = None,
    workspace: Workspace = None,
    model: ModelName = None,
    plan: Annotated[bool, typer.Option("--plan", help="Refuse whatever would need your permission.")] = False,
    auto_edit: Annotated[
        bool, typer.Option("--auto-edit", help="Let plain files be changed without being asked.")
    ] = False,
    url: Url = None,
    verbose: Verbose = False,
) -> None:
    """Talk to an agent that remembers. Without a model the librarian answers, from memory."""
    if door.json:
        raise InvalidInput("A chat is for people. `commonplace run --json` is for programs.")
    if plan and auto_edit:
        raise InvalidInput("Choose one of --plan and --auto-edit.")
    # The loop, the client and rich load slowly.
    from commonplace.cli.agent_line import AgentLine
    from commonplace.cli.chat import Chat, ChatOptions
    from commonplace.cli.line_reader import LineReader
    from commonplace.cli.partner import open_partner
    from commonplace.cli.permission_policy import PermissionPolicy

    with AgentLine(lambda: open_partner(door, url)) as line:
        place = _place(line, "chat", agent=agent, folder=folder, workspace=workspace, model=model)
        policy = PermissionPolicy(edits=auto_edit, refuse_others=plan)
        reader = LineReader(interactive=sys.stdin.isatty() and sys.stdout.isatty())
        talk = Chat(line, ChatOptions(place=place, policy=policy, verbose=verbose), _paper(), reader)
        earlier = _session(line, place, session, is_continued=continue_)
        if not door.quiet:
            talk.greet()
        if earlier is not None:
            talk.enter(earlier)
        code = talk.take_turns()
        talk.farewell()
    raise typer.Exit(code)


def run(
    door: Door,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; `-` reads stdin.")],
    continue_: Continue = False,
    session: SessionId = None,
    agent: Agent = None,
    folder: Folder = None,
    workspace: Workspace = None,
    model: ModelName = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="TOOL:WHAT", help="Permit this, `shell:make test` or `shell:*`; may be repeated."
        ),
    ] = None,
    allow_edits: Annotated[bool, typer.Option("--allow-edits", help="Permit changes of files.")] = False,
    deny: Annotated[
        bool, typer.Option("--deny", help="Refuse everything else that needs a permission, and call that a success.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0, help="Stop the agent after so long (exit 124)."),
    ] = None,
    url: Url = None,
    verbose: Verbose = False,
) -> None:
    """
    Say one thing to an agent and print its reply: for scripts. With --json every event is a line of JSON. What needs a permission is
    refused unless you allow it, and the exit code is then 7.
    """
    words = given.text(text)
    # As above.
    from commonplace.cli.agent_line import AgentLine
    from commonplace.cli.one_turn import OneTurn
    from commonplace.cli.partner import open_partner
    from commonplace.cli.permission_policy import PermissionPolicy

    policy = PermissionPolicy.of(allow or (), edits=allow_edits, refuse_others=True)
    with AgentLine(lambda: open_partner(door, url)) as line:
        place = _place(line, "run", agent=agent, folder=folder, workspace=workspace, model=model)
        earlier = _session(line, place, session, is_continued=continue_)
        turn = OneTurn(door, line, policy, is_denied_silently=deny, verbose=verbose)
        code = turn.play(earlier or line.ask(place.begin(line.partner.memory)), words, model=model, seconds=timeout)
    raise typer.Exit(code)


def _place(
    line: "AgentLine", source: str, *, agent: str | None, folder: Path | None, workspace: str | None, model: str | None
) -> "TalkPlace":
    # As above.
    from commonplace.cli.talk_sessions import TalkPlace

    partner = line.partner
    if folder is not None and partner.here and not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}.")
    # A folder of this machine means nothing to a daemon elsewhere, unless somebody names it; nor has a daemon here to let everybody
    # work where they happen to be.
    if folder is None and partner.here and line.ask(partner.memory.me()).operator:
        folder = Path.cwd()
    place = folder.resolve() if folder and partner.here else folder
    return TalkPlace(source=source, agent=agent, folder=str(place) if place else None, workspace=workspace, model=model)


def _session(line: "AgentLine", place: "TalkPlace", id: str | None, *, is_continued: bool) -> "Session | None":
    """The session to go on in; None: a new one. Raises NotFound."""
    if id is not None and is_continued:
        raise InvalidInput("Choose one of --session and --continue.")
    memory = line.partner.memory
    if id is not None:
        return line.ask(memory.session(id))
    return line.ask(place.last(memory)) if is_continued else None


def _paper() -> "Paper":
    if not is_for_people() or "NO_COLOR" in os.environ:
        # As above.
        from commonplace.cli.turn_view import PlainPaper

        return PlainPaper()
    # As above.
    from commonplace.cli.live_paper import LivePaper

    return LivePaper()


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace chat", "commonplace chat --continue --auto-edit", panel=PANEL)(chat)
    command(
        app,
        "commonplace run 'What did we decide about the release?'",
        "git diff | commonplace run - --json --timeout 60",
        "commonplace run 'Fix the failing test' --allow-edits --allow 'shell:make test'",
        panel=PANEL,
    )(run)
