"""The commands about what earlier runs found out: spaces, findings, and whether a run may build on them."""

from typing import Annotated, get_args

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.lines import clipped, oneline
from commonplace.cli.moments import optional, span
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput
from commonplace.values.knowledge import Item, ItemStatus, Recording, Space

PANEL = "Knowledge"
SHOWN = 100
_STATUSES: tuple[ItemStatus, ...] = get_args(ItemStatus)

Project = Annotated[str | None, typer.Option("--project", "-p", metavar="NAME", help="The project it is about.")]
Namespace = Annotated[str, typer.Option("--namespace", metavar="NAME", help="The part of the project.")]
Family = Annotated[str, typer.Option("--task", metavar="NAME", help="The kind of task: research, deploy, …")]
Reason = Annotated[str | None, typer.Option("--reason", "-r", metavar="TEXT", help="Why. It is kept in the audit.")]
Fresh = Annotated[
    str | None, typer.Option("--fresh", metavar="TIME", help="How long it is good for: 30d, or until 2027-01-01.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The finding, as `knowledge list` names it.")]


def spaces(door: Door) -> None:
    """List the spaces of findings, by namespace."""
    with door.open(create=True) as memory:
        rows = memory.spaces()
    door.answer({"spaces": rows}, lambda: _print([_space_line(space) for space in rows]))
    if not rows:
        door.say("There is no space yet: `commonplace knowledge add` makes one.")


def add(
    door: Door,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What was found out, in one line.")],
    subject: Annotated[str, typer.Option("--subject", "-s", metavar="TEXT", help="What it is about.")],
    summary: Annotated[str, typer.Option(metavar="TEXT", help="The finding at length.")] = "",
    project: Project = None,
    namespace: Namespace = "general",
    task: Family = "",
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="NAME", help="Which finding it is: one with other words under it is its successor."
        ),
    ] = None,
    fresh: Fresh = None,
) -> None:
    """Record a finding. The same one again is refreshed; one that changed waits as the successor of the one before."""
    with door.open(create=True) as memory:
        space = memory.create_space(namespace, project=project)
        recording = memory.record_finding(
            space.id,
            title,
            summary=summary,
            task_family=task,
            subject=subject,
            dedupe_key=key,
            freshness_expires_at=optional(fresh, ahead=True),
        )
    door.answer(recording, lambda: typer.echo(_recording_line(recording)))
    if note := recording.item.quarantine:
        door.say(note.message)


def show_all(
    door: Door,
    project: Project = None,
    namespace: Annotated[str | None, typer.Option("--namespace", metavar="NAME", help="Only this part.")] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help=f"Only these: {', '.join(_STATUSES)}.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many.", min=1, max=1000)] = 20,
) -> None:
    """List findings, newest first, with their status and how long they are fresh."""
    # The engine loads slowly.
    from commonplace.knowledge.findings import segment

    statuses: list[ItemStatus] = [_status(name) for name in status or ()]
    part = segment(namespace) if namespace else None
    with door.open(create=True) as memory:
        space_ids = [
            space.id
            for space in memory.spaces()
            if project in (None, space.project) and part in (None, space.namespace)
        ]
        rows = memory.findings(spaces=space_ids, statuses=statuses, limit=limit) if space_ids else []
    door.answer({"items": rows}, lambda: _print([_item_line(item) for item in rows]))
    if not rows:
        door.say("Nothing was found out yet.")


def show(door: Door, id: Id) -> None:
    """Show one finding."""
    with door.open(create=True) as memory:
        item = memory.finding(id)

    def lines() -> None:
        typer.echo(_item_line(item))
        typer.echo(f"covers {item.coverage_key}; seen last {item.last_seen_at:%Y-%m-%d %H:%M}")
        if item.supersedes:
            typer.echo(f"successor of {item.supersedes}")
        if item.summary:
            typer.echo(f"\n{oneline(item.summary)}")

    door.answer(item, lines)


def check(
    door: Door,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="What a run is about to find out.")],
    project: Project = None,
    namespace: Annotated[str | None, typer.Option("--namespace", metavar="NAME", help="The part of it.")] = None,
    task: Family = "",
    max_age: Annotated[
        str | None, typer.Option("--max-age", metavar="TIME", help="Too old, if it has no date of its own: 30d.")
    ] = None,
) -> None:
    """Say whether something is known already, trusted enough and fresh: reuse it, refresh it, or find it out."""
    age = span(max_age) if max_age else None
    with door.open(create=True) as memory:
        report = memory.preflight(subject, project=project, namespace=namespace, task_family=task, freshness=age)

    def lines() -> None:
        typer.echo(f"{report.decision}: {report.reason}")
        for item in report.items:
            typer.echo(_item_line(item))

    door.answer(report, lines)


def refresh(door: Door, id: Id, fresh: Fresh = None, reason: Reason = None) -> None:
    """Confirm a finding: it keeps its status, and is fresh for as long again as it was. For reviewers."""
    with door.open(create=True) as memory:
        item = memory.refresh_finding(id, freshness_expires_at=optional(fresh, ahead=True), reason=reason)
    door.answer(item, lambda: typer.echo(f"refreshed {_item_line(item)}"))


def promote(
    door: Door,
    id: Id,
    approve: Annotated[
        str | None,
        typer.Option("--approve", metavar="APPROVAL", help="Make it the approved default under this approval."),
    ] = None,
    reviewer: Annotated[str | None, typer.Option(metavar="NAME", help="Who approved it.")] = None,
    reason: Reason = None,
) -> None:
    """Promote a finding, or make a promoted one the approved default (--approve, --reviewer). For reviewers."""
    with door.open(create=True) as memory:
        to = "approved_default" if approve else "promoted"
        memory.promote_finding(id, to=to, reviewer=reviewer, approval=approve, reason=reason)
        item = memory.finding(id)
    door.answer(item, lambda: typer.echo(_item_line(item)))


def deprecate(door: Door, id: Id, reason: Reason = None) -> None:
    """Give a finding up, for good. The same can be recorded again. For reviewers."""
    with door.open(create=True) as memory:
        memory.deprecate_finding(id, reason=reason)
        item = memory.finding(id)
    door.answer(item, lambda: typer.echo(_item_line(item)))


def _print(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)


def _status(name: str) -> ItemStatus:
    for status in _STATUSES:
        if name == status:
            return status
    raise InvalidInput(f"{name!r:.40} is no status. Use one of {', '.join(_STATUSES)}.")


def _space_line(space: Space) -> str:
    place = {"global": "everybody", "project": f"project {space.project}", "run": f"run {space.project}"}[space.scope]
    title = f": {clipped(space.title, 80)}" if space.title else ""
    return f"{space.id}  {space.namespace}  {oneline(place)}{title}"


def _item_line(item: Item) -> str:
    until = f", fresh until {item.freshness_expires_at:%Y-%m-%d}" if item.freshness_expires_at else ""
    return f"{item.id}  {item.status}{until}  {clipped(item.title, SHOWN)}"


def _recording_line(recording: Recording) -> str:
    what = {"successor": "waits as a successor"}.get(recording.outcome, recording.outcome)
    return f"{what} {_item_line(recording.item)}"


group = typer.Typer(
    cls=QuickGroup,
    help="What earlier runs found out: spaces, add, list, check, refresh, promote, deprecate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    command(group, "commonplace knowledge spaces", panel=PANEL)(spaces)
    command(
        group,
        "commonplace knowledge add 'VAT is 23 % in Portugal' --subject 'VAT rates' --project shop --fresh 90d",
        panel=PANEL,
    )(add)
    command(group, "commonplace knowledge list --project shop --status promoted", panel=PANEL, name="list")(show_all)
    command(group, "commonplace knowledge show 0192f3a4-5b6c-7d8e-9f00-112233445566", panel=PANEL)(show)
    command(group, "commonplace knowledge check 'VAT rates' --project shop", panel=PANEL)(check)
    command(group, "commonplace knowledge refresh 0192f3a4-5b6c-7d8e-9f00-112233445566 --fresh 90d", panel=PANEL)(
        refresh
    )
    command(group, "commonplace knowledge promote 0192f3a4-5b6c-7d8e-9f00-112233445566", panel=PANEL)(promote)
    command(group, "commonplace knowledge deprecate 0192f3a4-5b6c-7d8e-9f00-112233445566", panel=PANEL)(deprecate)
    app.add_typer(group, name="knowledge", rich_help_panel=PANEL)
