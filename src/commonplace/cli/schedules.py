"""The commands for schedules: what an agent is told by itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli import options as o
from commonplace.cli.complete import session_ids
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, oneline
from commonplace.cli.moments import moment, stamp
from commonplace.cli.opening import nearest
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace import Client
    from commonplace.values.schedule import ScheduleFields, ScheduleProposal, ScheduleView

PANEL = "Agent"

group = typer.Typer(
    cls=QuickGroup,
    help="What an agent does by itself: when, and in which session. A daemon has to be running.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ScheduleId = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="The schedule's id, as `schedule list` shows it, or how it begins.")
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="SESSION", help="The session it is said in.", autocompletion=session_ids),
]
Room = Annotated[
    str | None, typer.Option("--room", metavar="CHANNEL/CHAT", help="The room it is said in, such as web/releases.")
]


def add(
    door: Door,
    sentence: Annotated[
        str,
        typer.Argument(metavar="SENTENCE", help="When, and what is to be done; or only what, with --cron or --at."),
    ],
    session: Session = None,
    room: Room = None,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="FIELDS", help="Five fields: minute, hour, day, month, weekday.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Once, at this time, or in a span: 2h.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="What it is called.")] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", metavar="ZONE", help="Its time zone, for instance Europe/Berlin.")
    ] = None,
    quiet_hours: Annotated[
        str | None, typer.Option("--quiet-hours", metavar="HOURS", help="Such as 22:00-07:00; none: it has none.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Set a schedule, after a look at what its sentence means."""
    fields: ScheduleFields = {"label": label, "zone": zone, "quiet": quiet_hours}
    target = _target(session, room)
    if target is None:
        raise InvalidInput("Say where: --session SESSION or --room CHANNEL/CHAT.")
    with _client(door) as client:
        if cron is not None or at is not None:
            fields |= {"cron": cron, "at": None if at is None else moment(at, ahead=True), "prompt": sentence}
        else:
            proposal = client.schedules.propose(sentence, zone=zone, target=target)
            if not proposal.prompt:
                raise InvalidInput("Say what is to be done then, too: “every weekday at nine post the open questions”.")
            _propose(door, proposal, yes=yes)
            fields |= {
                "cron": proposal.cron,
                "at": proposal.at,
                "prompt": proposal.prompt,
                "zone": proposal.zone,
            }
        view = client.schedules.add(target, **fields)
    door.answer(view, lambda: _show(view))


def list_schedules(
    door: Door,
    session: Session = None,
    room: Room = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
    everyone: o.Everyone = False,
) -> None:
    """List your schedules, newest first; with --session or --room, all of that place."""
    with _client(door) as client:
        page = client.schedules.list(target=_target(session, room), limit=limit, cursor=cursor, everyone=everyone)
        pauses = client.schedules.pauses()

    def lines() -> None:
        for view in page.schedules:
            typer.echo(_line(view))
        for pause in pauses:
            typer.echo(f"paused\t{clean(pause.target) or 'all'}\t{stamp(pause.at)}\t{clean(pause.by)}")

    door.answer({"schedules": page.schedules, "cursor": page.cursor, "pauses": pauses}, lines)
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def show(door: Door, id: ScheduleId) -> None:
    """Show a schedule, its next times, and what became of its last turn."""
    with _client(door) as client:
        view = client.schedules.get(_whole(client, id))
    door.answer(view, lambda: _show(view))


def run(door: Door, id: ScheduleId) -> None:
    """Play a turn of a schedule now, beside its times."""
    with _client(door) as client:
        view = client.schedules.run(_whole(client, id))
    door.answer(view, lambda: _show(view))


def enable(door: Door, id: ScheduleId) -> None:
    """Enable a schedule, from now on."""
    with _client(door) as client:
        view = client.schedules.enable(_whole(client, id))
    door.answer(view, lambda: _show(view))


def disable(door: Door, id: ScheduleId) -> None:
    """Disable a schedule until somebody enables it again."""
    with _client(door) as client:
        view = client.schedules.disable(_whole(client, id))
    door.answer(view, lambda: _show(view))


def cancel(
    door: Door, id: ScheduleId, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Remove a schedule. A turn that is played goes on."""
    with _client(door) as client:
        view = client.schedules.get(_whole(client, id))
        door.confirm(f"Cancel the schedule {oneline(view.label)} ({view.words})?", yes=yes)
        client.schedules.cancel(view.id)
    door.answer({"cancelled": view.id}, lambda: typer.echo(f"cancelled\t{clean(view.id)}"))


def pause(door: Door, session: Session = None, room: Room = None) -> None:
    """Say nothing by itself in a session or a room; without one, anywhere, which is for admins."""
    with _client(door) as client:
        view = client.schedules.pause(_target(session, room))
    door.answer(view, lambda: typer.echo(f"paused\t{clean(view.target) or 'all'}\t{stamp(view.at)}\t{clean(view.by)}"))


def resume(door: Door, session: Session = None, room: Room = None) -> None:
    """End a pause."""
    with _client(door) as client:
        was_paused = client.schedules.resume(_target(session, room))
    door.answer({"resumed": was_paused}, lambda: typer.echo("resumed" if was_paused else "was not paused"))


def _client(door: Door) -> "Client":
    return door.client(door.url or nearest())


def _target(session: str | None, room: str | None) -> str | None:
    """Raises InvalidInput: both are given."""
    if session is not None and room is not None:
        raise InvalidInput("Name a session or a room, not both.")
    if room is not None:
        return f"channel/{room.removeprefix('channel/')}"
    return None if session is None else f"session:{session}"


def _whole(client: "Client", id: str) -> str:
    """The id that begins so, of those that are shown."""
    if len(id) >= 36:
        return id
    ids = [view.id for view in client.schedules.list(limit=200).schedules if view.id.startswith(id)]
    if len(ids) > 1:
        raise InvalidInput(f"{id} is the beginning of several schedules. Give more of it.")
    return ids[0] if ids else id


def _propose(door: Door, proposal: "ScheduleProposal", *, yes: bool) -> None:
    if not yes and not door.json:
        typer.echo(f"{oneline(proposal.prompt)}\n{proposal.words}")
        for due in proposal.next_times:
            typer.echo(f"next\t{_local(due)}")
    door.confirm("Set it?", yes=yes, final=False)


def _show(view: "ScheduleView") -> None:
    typer.echo(_line(view))
    typer.echo(f"prompt\t{oneline(view.prompt)}")
    if view.quiet:
        typer.echo(f"quiet\t{clean(view.quiet)}")
    for due in view.next_times:
        typer.echo(f"next\t{_local(due)}")
    if view.disabled_because:
        typer.echo(f"disabled\t{oneline(view.disabled_because)}")
    if (last := view.last) is not None:
        typer.echo(f"last\t{last.status}\t{_local(last.finished_at)}\t{oneline(last.preview or last.error or '-')}")
        if last.run:
            typer.echo(f"run\t{clean(last.run)}")


def _line(view: "ScheduleView") -> str:
    state = "running" if view.running else "paused" if view.paused else "enabled" if view.enabled else "disabled"
    return "\t".join([clean(view.id), state, oneline(view.label), view.words, clean(view.target)])


def _local(due: "datetime") -> str:
    """By the clock of whoever reads it."""
    return f"{due.astimezone():%a %Y-%m-%d %H:%M %Z}"


def add_to(app: typer.Typer) -> None:
    add_example = "commonplace schedule add 'every weekday at nine post the open questions' --session plan"
    command(group, add_example, panel=PANEL)(add)
    command(group, "commonplace schedule list", panel=PANEL, name="list")(list_schedules)
    command(group, "commonplace schedule show 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(show)
    command(group, "commonplace schedule run 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(run)
    command(group, "commonplace schedule enable 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(enable)
    command(group, "commonplace schedule disable 019b76db-9260-71e6-810b-f0583894b47e", panel=PANEL)(disable)
    command(group, "commonplace schedule cancel 019b76db-9260-71e6-810b-f0583894b47e --yes", panel=PANEL)(cancel)
    command(group, "commonplace schedule pause", panel=PANEL)(pause)
    command(group, "commonplace schedule resume", panel=PANEL)(resume)
    app.add_typer(group, name="schedule", rich_help_panel=PANEL)
