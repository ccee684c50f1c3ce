"""The commands for rooms: the channels of a daemon, how they are set up, and a room at the terminal."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.channel_guide import Language, print_guide, print_statuses, settings_lines
from commonplace.cli.complete import channel_kinds, channel_names, room_ids
from commonplace.cli.door import Door, command
from commonplace.cli.exits import Exit
from commonplace.cli.lines import clean, clipped, oneline
from commonplace.cli.moments import stamp
from commonplace.cli.opening import nearest
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput, PathNotFound

if TYPE_CHECKING:
    from commonplace import Client
    from commonplace.values.json import Json
    from commonplace.values.platform import ConnectionEntry
    from commonplace.wire.channels import ChannelKindAnswer

PANEL = "Talk"
LOCAL_KINDS = ("web", "terminal")
PAIRING = {"group_policy": "pairing", "senders": "pairing"}
"""Who is heard on a platform of others, as the console has it, too."""

group = typer.Typer(
    cls=QuickGroup,
    help="Chat rooms that an agent shares with a team: channels, and rooms of the web and the terminal.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's name.", autocompletion=channel_names)]
NewName = Annotated[str, typer.Argument(metavar="CHANNEL", help="How it is to be called.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="What the platform is given, as its guide says."),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME=PLACE",
        help="Where the daemon finds a secret: the name of a variable of its environment, or file: and a path.",
    ),
]
RoomId = Annotated[
    str, typer.Argument(metavar="ROOM", help="The room's id, as its platform has it.", autocompletion=room_ids)
]
Channel = Annotated[str, typer.Option("--channel", "-c", metavar="CHANNEL", help="The channel that the room is of.")]


def _client(door: Door) -> "Client":
    """Rooms are a daemon's: the one named, else the one of these settings."""
    return door.client(door.url or nearest())


def list_channels(door: Door) -> None:
    """List the channels, and whether each is at work."""
    with _client(door) as daemon:
        states = daemon.channels.list()
    door.answer({"channels": states}, lambda: print_statuses(states))


def show(
    door: Door,
    name: Name,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Other people's rooms, too. For admins; the audit says so.")
    ] = False,
) -> None:
    """Show a channel with your rooms and, for admins, how it is set and who waits to be let in."""
    with _client(door) as daemon:
        state = daemon.channels.get(name)
        rooms = daemon.rooms.list(name, everyone=everyone)
        settings = state.channel.settings
        # Who may not set the channel is shown no settings, and asks for nobody.
        senders = daemon.channels.senders(name) if "pairing" in (settings.senders, settings.group_policy) else []
    waiting = [sender for sender in senders if sender.code]

    def lines() -> None:
        print_statuses([state])
        for what, value in settings_lines(settings):
            typer.echo(f"{what}\t{value}")
        for room in rooms:
            more = "\tpaused" if room.paused else ""
            typer.echo(f"room\t{clean(room.chat)}\t{clipped(room.title, 60)}{more}")
        for sender in waiting:
            typer.echo(f"waits\t{clean(sender.sender)}\t{clean(sender.name)}\t{sender.code}")

    answer = {"channel": state.channel, "running": state.running, "rooms": rooms, "waiting": waiting}
    door.answer(answer, lines)


def guide(
    door: Door,
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="The kind; without it, all kinds.", autocompletion=channel_kinds),
    ] = None,
    language: Annotated[Language, typer.Option("--language", metavar="en|zh", help="In which language.")] = "en",
) -> None:
    """Show how a channel of a kind is set up: what to do there, what to give here, and what errors mean."""
    with _client(door) as daemon:
        kinds = daemon.channels.kinds()
    if kind is None:
        door.answer({"kinds": kinds}, lambda: _list_kinds(kinds, language))
        return
    answer = next((entry for entry in kinds if entry.guide.kind == kind), None)
    if answer is None:
        names = ", ".join(entry.guide.kind for entry in kinds)
        raise InvalidInput(f"There is no kind {kind!r:.40}. It is one of {names}.")
    door.answer(answer, lambda: print_guide(answer, language))


def _list_kinds(kinds: "list[ChannelKindAnswer]", language: Language) -> None:
    for entry in kinds:
        title = entry.guide.title.zh if language == "zh" else entry.guide.title.en
        typer.echo(f"{entry.guide.kind}\t{title}\t{'' if entry.available else 'not in this version'}".rstrip())


def add(
    door: Door,
    name: NewName,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="web, terminal, matrix, dingtalk or feishu: `channel guide`.",
            autocompletion=channel_kinds,
        ),
    ] = "web",
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Who answers.")] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", metavar="ID", help="Whose memory it has.")] = None,
    folder: Annotated[str | None, typer.Option("--folder", metavar="PATH", help="Where its tools work.")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Which model answers.")] = None,
    option: Options = None,
    secret: Secrets = None,
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="All settings, as a file of JSON.")
    ] = None,
) -> None:
    """
    Add a channel. It begins at once. Whoever writes on a platform of others gets a code, and is heard once they are let in, unless the settings say
    otherwise. For admins; with --option or --secret, for the operator.
    """
    values: dict[str, Json] = {} if kind in LOCAL_KINDS else dict(PAIRING)
    values |= _read(settings) if settings is not None else {}
    values |= {
        key: value
        for key, value in (("agent", agent), ("workspace", workspace), ("folder", folder), ("model", model))
        if value is not None
    }
    with _client(door) as daemon:
        daemon.channels.add(name, kind, values | _pairs(option, secret, values))
        status = daemon.channels.get(name)
    door.answer(status, lambda: print_statuses([status]))
    if kind not in LOCAL_KINDS:
        door.say(f"Look how it is connected: commonplace channel show {clean(name)}")


def configure(
    door: Door,
    name: Name,
    settings: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="What to set otherwise, as a file of JSON.")
    ] = None,
    option: Options = None,
    secret: Secrets = None,
) -> None:
    """Set a channel otherwise: what is not named stays. For admins; with --option or --secret, for the operator."""
    values = _read(settings) if settings is not None else {}
    with _client(door) as daemon:
        present = daemon.channels.get(name).channel.settings
        before: dict[str, Json] = {"options": dict(present.options), "secrets": dict(present.secrets)}
        changes = values | _pairs(option, secret, before | values)
        if not changes:
            raise InvalidInput("Say what to set otherwise: a file of JSON, --option or --secret.")
        daemon.channels.change(name, changes)
        status = daemon.channels.get(name)
    door.answer(status, lambda: print_statuses([status]))


def _pairs(option: list[str] | None, secret: list[str] | None, before: "dict[str, Json]") -> "dict[str, Json]":
    """`name=value`, over what there was."""
    values: dict[str, Json] = {}
    for what, texts in (("options", option), ("secrets", secret)):
        if texts:
            earlier = before.get(what)
            values[what] = {**(earlier if isinstance(earlier, dict) else {}), **dict(_pair(text) for text in texts)}
    return values


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{text!r:.80} is no NAME=VALUE.")
    return name, value


def start(door: Door, name: Name) -> None:
    """Start a channel that was stopped; it begins again with the daemon, too. For admins."""
    with _client(door) as daemon:
        daemon.channels.change(name, enabled=True)
        status = daemon.channels.get(name)
    door.answer(status, lambda: print_statuses([status]))


def stop(door: Door, name: Name) -> None:
    """Stop a channel: what is written in its rooms meanwhile is not heard. It stays so when the daemon begins again. For admins."""
    with _client(door) as daemon:
        daemon.channels.change(name, enabled=False)
        status = daemon.channels.get(name)
    door.answer(status, lambda: print_statuses([status]))


def remove(
    door: Door, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Remove a channel with its rooms and what was said in them. For admins."""
    door.confirm(f"Remove the channel {clean(name)} with all its rooms?", yes=yes)
    with _client(door) as daemon:
        daemon.channels.remove(name)
    door.answer({"name": name}, lambda: typer.echo(f"The channel {clean(name)} is gone."))


def test(door: Door, name: Name, room: RoomId) -> None:
    """Write a test message into a room, and say what came of it. For admins."""
    with _client(door) as daemon:
        result = daemon.channels.test(name, room)

    def lines() -> None:
        if result.is_sent:
            typer.echo(f"Written to {clean(room)}.")
            return
        typer.secho(f"Not written: {oneline(result.error or '')}", fg="red")
        if result.meaning is not None:
            typer.echo(result.meaning.en)

    door.answer(result, lines)
    if not result.is_sent:
        raise typer.Exit(Exit.ERROR)


def pair(
    door: Door,
    name: Name,
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="As the sender was told.")] = None,
) -> None:
    """Let a sender in by their code; without one, show who waits. For admins."""
    with _client(door) as daemon:
        if code is not None:
            sender = daemon.channels.pair(name, code)
            door.answer(sender, lambda: typer.echo(f"{clean(sender.name or sender.sender)} is let in."))
            return
        senders = daemon.channels.senders(name)

    def lines() -> None:
        for sender in senders:
            state = "let in" if sender.approved_at else f"waits with {sender.code}"
            typer.echo(f"{clean(sender.sender)}\t{clean(sender.name)}\t{state}")

    door.answer({"senders": senders}, lines)


def link(
    door: Door,
    identity: Annotated[str, typer.Argument(metavar="SENDER", help="<kind>:<id there>, for instance terminal:ana.")],
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Who they are here: the user of a key.")],
) -> None:
    """Say that a sender of a platform is a person here. For admins."""
    with _client(door) as daemon:
        result = daemon.channels.link(identity, person)
    door.answer(result, lambda: typer.echo(f"{clean(identity)} is {clean(person)}."))


def memory(
    door: Door,
    name: Name,
    room: RoomId,
    add: Annotated[str | None, typer.Option("--add", metavar="TEXT", help="A line more.")] = None,
    forget: Annotated[
        str | None, typer.Option("--forget", metavar="LINE", help="Drop this line: its number, or what it says.")
    ] = None,
    edit: Annotated[
        str | None, typer.Option("--edit", metavar="LINE", help="Let this line say what --text says.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="What the line of --edit is to say.")
    ] = None,
) -> None:
    """Show what a room remembers, numbered; add to it, drop a line, or let one say something else."""
    if sum(option is not None for option in (add, forget, edit)) > 1 or (edit is None) != (text is None):
        raise InvalidInput("Give one of --add, --forget, and --edit with --text.")
    with _client(door) as daemon:
        lines = daemon.rooms.memory(room, channel=name)
        if add is not None:
            lines = list(daemon.rooms.remember(room, add, channel=name).lines)
        elif forget is not None:
            lines = list(daemon.rooms.forget(room, _line(lines, forget), channel=name).lines)
        elif edit is not None and text is not None:
            lines = list(daemon.rooms.correct(room, _line(lines, edit), text, channel=name).lines)
    numbered = [f"{number}. {clean(line)}" for number, line in enumerate(lines, 1)]
    door.answer({"lines": lines}, lambda: typer.echo("\n".join(numbered) or "Nothing yet."))


def _line(lines: list[str], wish: str) -> str:
    """The one that is meant: by its number, all of it, or the only one that has it in it. Raises InvalidInput."""
    if wish in lines:
        return wish
    if wish.isdecimal() and 1 <= int(wish[:9]) <= len(lines):
        return lines[int(wish[:9]) - 1]
    matches = [line for line in lines if wish.strip() and wish.strip().casefold() in line.casefold()]
    if len(matches) != 1:
        raise InvalidInput(f"{len(matches)} lines of this room say {wish!r:.80}. Name one by its number.")
    return matches[0]


def logs(
    door: Door,
    name: Name,
    room: Annotated[
        str | None, typer.Argument(metavar="ROOM", help="A room of the web or the terminal: what was said there.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many lines.", min=1, max=500)] = 50,
) -> None:
    """Show what happened to a channel's connection, and what its errors mean; or the last that was said in a room."""
    with _client(door) as daemon:
        if room is None:
            entries = daemon.channels.log(name)[-limit:]
            door.answer({"entries": entries}, lambda: _log_lines(entries))
            return
        page = daemon.rooms.messages(room, limit=limit, channel=name)

    def lines() -> None:
        for message in page.messages:
            who = message.sender_name if message.author == "person" else message.author
            typer.echo(f"{stamp(message.at)}\t{clean(who)}\t{oneline(message.text)}")

    door.answer(page, lines)


def _log_lines(entries: "list[ConnectionEntry]") -> None:
    for entry in entries:
        typer.echo(f"{stamp(entry.at)}\t{entry.event}\t{oneline(entry.detail)}".rstrip())
        if entry.meaning is not None:
            typer.echo(f"  {entry.meaning.en}")
    if not entries:
        typer.echo("Nothing has happened since the daemon began.")


def chat(
    door: Door,
    room: RoomId,
    speaker: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Who speaks: for the operator of a terminal's room.")
    ] = None,
    channel: Channel = "terminal",
) -> None:
    """
    Talk in a room at the terminal. A room that is not there is made; several terminals may be in one. Start a line with @assistant if several
    people are there; /attach and a path brings a file; /help says what else there is. An empty input ends it.
    """
    # A loop of events loads slowly.
    from commonplace.cli.room_chat import talk_in

    talk_in(door, door.url or nearest(), channel, room, speaker)


def _read(path: Path) -> "dict[str, Json]":
    try:
        document: object = json.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise PathNotFound(f"Cannot read {path}: {error.strerror}.", path=str(path)) from error
    except ValueError as error:
        raise InvalidInput(f"{path} is no JSON: {error}.") from error
    if not isinstance(document, dict):
        raise InvalidInput(f"{path} holds no JSON object.")
    return document  # pyright: ignore[reportUnknownVariableType] - whatever JSON has


def add_to(app: typer.Typer) -> None:
    command(group, "commonplace channel list", panel=PANEL, name="list")(list_channels)
    command(group, "commonplace channel show web", panel=PANEL)(show)
    command(group, "commonplace channel guide", "commonplace channel guide feishu --language zh", panel=PANEL)(guide)
    command(
        group,
        "commonplace channel add team --agent assistant --workspace web",
        "commonplace channel add matrix --kind matrix --option homeserver=https://matrix.example.org --secret token=MATRIX_TOKEN",
        panel=PANEL,
    )(add)
    command(
        group,
        "commonplace channel configure team settings.json",
        "commonplace channel configure matrix --secret token=file:/run/secrets/matrix",
        panel=PANEL,
    )(configure)
    command(group, "commonplace channel start team", panel=PANEL)(start)
    command(group, "commonplace channel stop team", panel=PANEL)(stop)
    command(group, "commonplace channel remove team --yes", panel=PANEL)(remove)
    command(group, "commonplace channel test web releases", panel=PANEL)(test)
    command(group, "commonplace channel pair team K7M2QX4B", "commonplace channel pair team", panel=PANEL)(pair)
    command(group, "commonplace channel link terminal:ana ana", panel=PANEL)(link)
    command(
        group,
        "commonplace channel memory web releases",
        'commonplace channel memory web releases --add "We ship on Fridays"',
        'commonplace channel memory web releases --edit 1 --text "We ship on Mondays"',
        panel=PANEL,
    )(memory)
    command(group, "commonplace channel logs matrix", "commonplace channel logs web releases", panel=PANEL)(logs)
    command(group, "commonplace channel chat releases --as ana", panel=PANEL)(chat)
    app.add_typer(group, name="channel", rich_help_panel=PANEL)
