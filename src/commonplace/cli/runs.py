"""The commands for runs and artifacts."""

import json
import mimetypes
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from commonplace.cli import options as o
from commonplace.cli.documents import written
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, counted, oneline
from commonplace.cli.moments import stamp
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.moment import from_ms

if TYPE_CHECKING:
    from commonplace import Client, Memory
    from commonplace.values.artifact import Artifact
    from commonplace.values.run import RunEvent, RunReplay, RunState

PANEL = "Agent"
PAGE = 1_000
_LOOK_EVERY = 0.5
_WIDTH = 200

runs = typer.Typer(
    cls=QuickGroup, help="Runs: how work unfolded, event by event.", no_args_is_help=True, rich_markup_mode=None
)
artifacts = typer.Typer(
    cls=QuickGroup, help="Files that runs produced, or you added.", no_args_is_help=True, rich_markup_mode=None
)

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as `runs list` shows it.")]
ArtifactId = Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its id, as `artifacts list` shows it.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1, max=1000)]
Cursor = Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")]
Status = Literal[
    "queued", "planning", "running", "awaiting_approval", "paused", "blocked", "failed", "completed", "cancelled"
]


# ---- runs


def list_runs(
    door: Door,
    session: Annotated[str | None, typer.Option("--session", metavar="SESSION", help="Those of this session.")] = None,
    status: Annotated[Status | None, typer.Option("--status", help="Those that have this status now.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    everyone: o.Everyone = False,
) -> None:
    """List your runs, newest first."""
    with door.open() as memory:
        page = memory.runs.list(session=session, status=status, limit=limit, cursor=cursor, everyone=everyone)

    def lines() -> None:
        for run in page.runs:
            typer.echo(_line(run))

    door.answer(page, lines)
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def show_run(
    door: Door,
    id: RunId,
    blackboard: Annotated[bool, typer.Option("--blackboard", help="Its blackboard instead.")] = False,
) -> None:
    """Show a run: what it is for, its steps and tasks, and what happened in it."""
    with door.open() as memory:
        if blackboard:
            board = memory.runs.blackboard(id)
            door.answer(board, lambda: typer.echo(written(board)))
            return
        run = memory.runs.get(id)
        events = list(_events(memory, id, 0))

    def lines() -> None:
        typer.echo(_line(run))
        if run.why_next_step:
            typer.echo(f"why\t{oneline(run.why_next_step)}")
        if run.last_error:
            typer.echo(f"error\t{oneline(run.last_error)}")
        for step in run.steps:
            typer.echo(f"step\t{clean(step.step_id)}\t{step.status}\t{oneline(step.title)}")
        for task in run.tasks:
            typer.echo(f"task\t{clean(task.id)}\t{task.status}\t{clean(task.task_type)}")
        for event in events:
            typer.echo(_event(event))

    door.answer({"run": run, "events": events}, lines)


def replay_run(
    door: Door,
    id: RunId,
    upto: Annotated[
        int | None, typer.Option("--upto", metavar="SEQ", help="As it was after this event.", min=0)
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="From the beginning, not from the latest checkpoint.")] = False,
) -> None:
    """Make a run again from its journal, and say where that differs from what is kept."""
    with door.open() as memory:
        result = memory.runs.replay(id, upto=upto, from_checkpoint=not whole)
    door.answer(result, lambda: _replayed(result))


def tail_run(
    door: Door,
    id: RunId,
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", help="How many of what is past.", min=0)] = 10,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", "-f", help="Wait for what comes, to its end.")] = True,
) -> None:
    """Print the last events of a run, and what happens next, until the run has ended. With --json, a line each."""
    with door.open() as memory:
        run = memory.runs.get(id)
        after = max(0, run.last_event_seq - lines)
        while True:
            for event in _events(memory, id, after):
                typer.echo(_json_line(event) if door.json else _event(event))
                after = event.seq
            if run.is_over or not follow:
                return
            sys.stdout.flush()
            time.sleep(_LOOK_EVERY)
            run = memory.runs.get(id)


def _events(memory: "Memory | Client", id: str, after: int) -> "Iterator[RunEvent]":
    while page := memory.runs.events(id, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def _line(run: "RunState") -> str:
    created = stamp(from_ms(run.created_at_ms))
    return f"{clean(run.run_id)}\t{run.status}\t{created}\t{run.last_event_seq}\t{oneline(run.objective)[:_WIDTH]}"


def _event(event: "RunEvent") -> str:
    payload = oneline(_json(event.payload))[:_WIDTH] if event.payload else ""
    return f"{event.seq}\t{stamp(from_ms(event.ts_ms))}\t{clean(event.type)}\t{event.status}\t{payload}".rstrip()


def _replayed(result: "RunReplay") -> None:
    begin = f"the checkpoint at {result.checkpoint_seq}" if result.from_checkpoint else "the beginning"
    typer.echo(_line(result.replay))
    typer.echo(f"replayed\t{counted(result.events_applied, 'event')} from {begin}")
    board = result.replay_blackboard
    typer.echo(f"blackboard\t{counted(len(board.facts), 'fact')}, {counted(len(board.decisions), 'decision')}")
    if not result.drift.mismatch:
        typer.echo("drift\tnone")
        return
    drift = result.drift
    names = [name for name in type(drift).__dataclass_fields__ if name != "mismatch" and getattr(drift, name)]
    typer.echo(f"drift\t{', '.join(names)}")


def _json(value: object) -> str:
    return " ".join(written(value).split())


def _json_line(value: object) -> str:
    return json.dumps(json.loads(written(value)), ensure_ascii=False, separators=(",", ":"))


# ---- artifacts


def list_artifacts(
    door: Door,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Those that this run made.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    everyone: o.Everyone = False,
) -> None:
    """List your artifacts, newest first."""
    with door.open() as memory:
        page = memory.artifacts.list(run=run, limit=limit, cursor=cursor, everyone=everyone)

    def lines() -> None:
        for artifact in page.artifacts:
            typer.echo(_artifact(artifact))

    door.answer(page, lines)
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def get_artifact(
    door: Door,
    id: ArtifactId,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the file there; - is standard output.")
    ] = None,
) -> None:
    """Show an artifact, or write its file. A file that is there already is not written over."""
    with door.open() as memory:
        artifact = memory.artifacts.get(id)
        data = memory.artifacts.content(id) if output is not None else b""
    if output is None:
        door.answer(artifact, lambda: typer.echo(_artifact(artifact)))
    elif str(output) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _save(output.expanduser(), data)
        door.answer(artifact, lambda: typer.echo(f"{clean(str(output))}\t{counted(artifact.size, 'byte')}"))


def add_artifact(
    door: Door,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, or - for standard input.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Default: the file's name.")] = None,
    type: Annotated[  # noqa: A002 - as the option is called
        str | None, typer.Option("--type", metavar="TYPE", help="Its media type. Default: guessed from the name.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="The run that made it.")] = None,
) -> None:
    """Keep a file. No search finds it until you promote it."""
    data = _load(file)
    called = name or ("standard-input" if str(file) == "-" else file.name)
    media_type = type or mimetypes.guess_type(called)[0] or "application/octet-stream"
    with door.open(create=True) as memory:
        artifact = memory.artifacts.add(called, data, type=media_type, run=run)
    door.answer(artifact, lambda: typer.echo(_artifact(artifact)))


def promote_artifact(
    door: Door,
    id: ArtifactId,
    scope: Annotated[str, typer.Option("--scope", "-s", metavar="SCOPE", help="Where its text is to be remembered.")],
    key: Annotated[str | None, typer.Option("--key", "-k", metavar="KEY", help="Under which key.")] = None,
) -> None:
    """Make the text of an artifact a memory, which searches find."""
    with door.open() as memory:
        record = memory.artifacts.promote(id, scope, key=key)
    door.done("stored", record)


def delete_artifact(
    door: Door, id: ArtifactId, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete an artifact. What it was promoted to stays."""
    door.confirm(f"Delete the artifact {clean(id)}?", yes=yes)
    with door.open() as memory:
        memory.artifacts.delete(id)
    door.answer({"id": id, "deleted": True}, lambda: typer.echo(f"Deleted: {clean(id)}"))


def _artifact(artifact: "Artifact") -> str:
    ends = stamp(artifact.expires_at) if artifact.expires_at else "-"
    size = counted(artifact.size, "byte")
    return (
        f"{artifact.id}\t{clean(artifact.name)}\t{clean(artifact.type)}\t{size}\t{clean(artifact.run or '-')}\t{ends}"
    )


def _load(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.expanduser().read_bytes()
    except FileNotFoundError as error:
        raise PathNotFound(f"There is no file {file}.", path=str(file)) from error
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def _save(file: Path, data: bytes) -> None:
    try:
        with file.open("xb") as opened:
            opened.write(data)
    except FileExistsError as error:
        raise InvalidInput(f"{file} is there already. Name another.") from error


def add_to(app: typer.Typer) -> None:
    command(runs, "commonplace runs list --status failed", panel=PANEL, name="list")(list_runs)
    command(runs, "commonplace runs show 0198c2f4-… --blackboard", panel=PANEL, name="show")(show_run)
    command(runs, "commonplace runs replay 0198c2f4-… --upto 12", panel=PANEL, name="replay")(replay_run)
    command(runs, "commonplace runs tail 0198c2f4-…", panel=PANEL, name="tail")(tail_run)
    app.add_typer(runs, name="runs", rich_help_panel=PANEL)
    command(artifacts, "commonplace artifacts list --run 0198c2f4-…", panel=PANEL, name="list")(list_artifacts)
    command(artifacts, "commonplace artifacts get 9ed7ef0f… --output report.md", panel=PANEL, name="get")(get_artifact)
    command(artifacts, "commonplace artifacts add report.md", panel=PANEL, name="add")(add_artifact)
    command(artifacts, "commonplace artifacts promote 9ed7ef0f… --scope workspace:web", panel=PANEL, name="promote")(
        promote_artifact
    )
    command(artifacts, "commonplace artifacts delete 9ed7ef0f… --yes", panel=PANEL, name="delete")(delete_artifact)
    app.add_typer(artifacts, name="artifacts", rich_help_panel=PANEL)
