"""The commands for rooms: the channels of a daemon, and a room at the terminal."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, clipped, oneline
from commonplace.cli.moments import stamp
from commonplace.cli.opening import nearest
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput, PathNotFound

if TYPE_CHECKING:
    from commonplace import Client
    from commonplace.values.channel import ChannelStatus
    from commonplace.values.json import Json

PANEL = "Talk"

group = typer.Typer(
    cls=QuickGroup,
    help="Chat rooms that an agent shares with a team: channels, and rooms of the web and the terminal.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's name.")]
RoomId = Annotated[str, typer.Argument(metavar="ROOM", help="The room's id.")]
Channel = Annotated[str, typer.Option("--channel", "-c", metavar="CHANNEL", help="The channel that the room is of.")]


def _client(door: Door) -> "Client":
    """Rooms are a daemon's: the one named, else the one of these settings."""
    return door.client(door.url or nearest())


def list_channels(door: Door) -> None:
    """List the channels, and whether each is at work."""
    with _client(door) as daemon:
        states = daemon.channels.list()
    door.answer({"channels": states}, lambda: _lines(states))


def show(door: Door, name: Name) -> None:
    """Show a channel with its rooms and, for admins, how it is set and who waits to be let in."""
    with _client(door) as daemon:
        state = daemon.channels.get(name)
        rooms = daemon.rooms.list(name) if state.channel.kind in ("web", "terminal") else []

    def lines() -> None:
        _lines([state])
        settings = state.channel.settings
        typer.echo(f"agent\t{clean(settings.agent)}")
        for what, value in (("workspace", settings.workspace), ("folder", settings.folder), ("model", settings.model)):
            if value:
                typer.echo(f"{what}\t{clean(value)}")
        for room in rooms:
            typer.echo(f"room\t{clean(room.chat)}\t{clipped(room.title, 60)}")

    door.answer({"channel": state.channel, "running": state.running, "rooms": rooms}, lines)


def add(
    door: Door,
    name: Name,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="web or terminal.")] = "web",
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Who answers.")] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", metavar="ID", help="Whose memory it has.")] = None,
    folder: Annotated[str | None, typer.Option("--folder", metavar="PATH", help="Where its tools work.")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Which model answers.")] = None,
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="All settings, as a file of JSON.")
    ] = None,
) -> None:
    """Add a channel. It is at work at once. For admins."""
    values: dict[str, Json] = _read(settings) if settings is not None else {}
    values |= {
        key: value
        for key, value in (("agent", agent), ("workspace", workspace), ("folder", folder), ("model", model))
        if value is not None
    }
    with _client(door) as daemon:
        profile = daemon.channels.add(name, kind, values)
    door.answer(profile, lambda: typer.echo(f"The channel {clean(profile.name)} is at work."))


def configure(
    door: Door,
    name: Name,
    settings: Annotated[Path, typer.Argument(metavar="FILE", help="What to set otherwise, as a file of JSON.")],
) -> None:
    """Set a channel otherwise: what the file does not name stays. For admins."""
    with _client(door) as daemon:
        profile = daemon.channels.change(name, _read(settings))
    door.answer(profile, lambda: typer.echo(f"The channel {clean(profile.name)} is set."))


def start(door: Door, name: Name) -> None:
    """Start a channel that was stopped. For admins."""
    with _client(door) as daemon:
        profile = daemon.channels.change(name, enabled=True)
    door.answer(profile, lambda: typer.echo(f"The channel {clean(profile.name)} is at work."))


def stop(door: Door, name: Name) -> None:
    """Stop a channel: what is written in its rooms meanwhile is refused. For admins."""
    with _client(door) as daemon:
        profile = daemon.channels.change(name, enabled=False)
    door.answer(profile, lambda: typer.echo(f"The channel {clean(profile.name)} is stopped."))


def remove(
    door: Door, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Remove a channel with its rooms and what was said in them. For admins."""
    door.confirm(f"Remove the channel {clean(name)} with all its rooms?", yes=yes)
    with _client(door) as daemon:
        daemon.channels.remove(name)
    door.answer({"name": name}, lambda: typer.echo(f"The channel {clean(name)} is gone."))


def test(door: Door, name: Name, room: RoomId) -> None:
    """Write a test message into a room. For admins."""
    with _client(door) as daemon:
        daemon.channels.test(name, room)
    door.answer({"name": name, "room": room}, lambda: typer.echo(f"Written to {clean(room)}."))


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
    forget: Annotated[str | None, typer.Option("--forget", metavar="LINE", help="Drop this line.")] = None,
) -> None:
    """Show what a room remembers; add to it, or drop a line."""
    with _client(door) as daemon:
        if add is not None:
            lines = list(daemon.rooms.remember(room, add, channel=name).lines)
        elif forget is not None:
            lines = list(daemon.rooms.forget(room, forget, channel=name).lines)
        else:
            lines = daemon.rooms.memory(room, channel=name)
    door.answer({"lines": lines}, lambda: typer.echo("\n".join(f"- {clean(line)}" for line in lines) or "Nothing yet."))


def logs(
    door: Door,
    name: Name,
    room: RoomId,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many messages.", min=1, max=500)] = 50,
) -> None:
    """Show the last that was said in a room of the web or the terminal."""
    with _client(door) as daemon:
        page = daemon.rooms.messages(room, limit=limit, channel=name)

    def lines() -> None:
        for message in page.messages:
            who = message.sender_name if message.author == "person" else message.author
            typer.echo(f"{stamp(message.at)}\t{clean(who)}\t{oneline(message.text)}")

    door.answer(page, lines)


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
    people are there; /help says what else there is. An empty input ends it.
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


def _lines(states: "list[ChannelStatus]") -> None:
    for state in states:
        what = "at work" if state.running else "ready" if state.channel.enabled else "stopped"
        typer.echo(f"{clean(state.channel.name)}\t{state.channel.kind}\t{what}")


def add_to(app: typer.Typer) -> None:
    command(group, "commonplace channel list", panel=PANEL, name="list")(list_channels)
    command(group, "commonplace channel show web", panel=PANEL)(show)
    command(group, "commonplace channel add team --agent assistant --workspace web", panel=PANEL)(add)
    command(group, "commonplace channel configure team settings.json", panel=PANEL)(configure)
    command(group, "commonplace channel start team", panel=PANEL)(start)
    command(group, "commonplace channel stop team", panel=PANEL)(stop)
    command(group, "commonplace channel remove team --yes", panel=PANEL)(remove)
    command(group, "commonplace channel test web releases", panel=PANEL)(test)
    command(group, "commonplace channel pair team K7M2QX4B", panel=PANEL)(pair)
    command(group, "commonplace channel link terminal:ana ana", panel=PANEL)(link)
    command(group, "commonplace channel memory web releases", panel=PANEL)(memory)
    command(group, "commonplace channel logs web releases", panel=PANEL)(logs)
    command(group, "commonplace channel chat releases --as ana", panel=PANEL)(chat)
    app.add_typer(group, name="channel", rich_help_panel=PANEL)
