"""The commands of a reviewer: what is in quarantine, and all that one source wrote."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from commonplace.cli.complete import sources
from commonplace.cli.door import Door, command
from commonplace.cli.given import trusts
from commonplace.cli.lines import counted
from commonplace.cli.moments import optional
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput
from commonplace.values.record import Trust
from commonplace.values.review import Origin, RolledBack, Waiting, WaitingFinding

if TYPE_CHECKING:
    pass

PANEL = "Review"
SHOWN = 100
T = TypeVar("T")

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID…]", help="These records, as `review list` names them.")]
Source = Annotated[str | None, typer.Option(metavar="NAME", help="All of a source.", autocompletion=sources)]
Session = Annotated[str | None, typer.Option(metavar="ID", help="All of a session.")]
Finding = Annotated[str | None, typer.Option(metavar="ID", help="A finding of the knowledge registry instead.")]
Reason = Annotated[str, typer.Option("--reason", "-r", metavar="TEXT", help="Why. It is kept in the audit.")]


def show(
    door: Door,
    scope: Annotated[list[str] | None, typer.Option("--scope", "-s", metavar="KIND:ID", help="Only there.")] = None,
    source: Source = None,
    session: Session = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many.", min=1, max=1000)] = 20,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Go on where a page ended.")] = None,
) -> None:
    """List what is in quarantine, newest first: kept, not recalled, until somebody has looked."""

    with door.open(create=True) as memory:
        page = memory.review(scopes=scope, source=source, session=session, limit=limit, cursor=cursor)

    def lines() -> None:
        for one in page.waiting:
            typer.echo(_line(one))
        for finding in page.findings:
            typer.echo(_finding_line(finding))

    told = {"waiting": page.waiting, "cursor": page.cursor, "findings": page.findings}
    door.records([one.record for one in page.waiting], told, lines)
    if not page.waiting and not page.findings:
        door.say("Nothing waits for a review.")
    elif page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def release(
    door: Door,
    reason: Reason,
    ids: Ids = None,
    source: Source = None,
    session: Session = None,
    trust: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Label them: verified, human_approved, … Default: as they are.")
    ] = None,
    finding: Finding = None,
) -> None:
    """
    Let records out of quarantine. They are recalled from now on, as untrusted unless --trust says otherwise. ID@VERSION, as
    the list has it, lets out that version and no other.
    """
    if finding is not None:
        _decided(door, "release", finding, reason, alone=not (ids or source or session or trust))
        return
    label: Trust | None = trusts([trust])[0] if trust else None

    named, seen = _seen(ids)

    with door.open(create=True) as memory:
        released = memory.release(named, source=source, session=session, reason=reason, trust=label, expected=seen)
    door.answer({"records": released}, lambda: typer.echo(f"Released {counted(len(released), 'record')}."))


def purge(
    door: Door,
    reason: Reason,
    ids: Ids = None,
    source: Source = None,
    session: Session = None,
    finding: Finding = None,
) -> None:
    """Remove records in quarantine for good, every version of them."""
    if finding is not None:
        _decided(door, "purge", finding, reason, alone=not (ids or source or session))
        return
    # Every version goes, whichever was seen.
    named, _ = _seen(ids)

    with door.open(create=True) as memory:
        purged = memory.purge_reviewed(named, source=source, session=session, reason=reason)
    count = counted(purged.records, "record")
    door.answer(purged, lambda: typer.echo(f"Purged {count}."))


def rollback(
    door: Door,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="What this source wrote.", autocompletion=sources)
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="What was written in this session.")] = None,
    actor: Annotated[str | None, typer.Option(metavar="NAME", help="What this key, user or program did.")] = None,
    imported: Annotated[
        str | None, typer.Option("--import", metavar="NAMESPACE", help="What this import brought (import-…).")
    ] = None,
    undo: Annotated[str | None, typer.Option(metavar="ID", help="Take an earlier rollback back.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only from then on: 2d, 2026-03-01.")] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", "-r", metavar="TEXT", help="Why. It is kept in the audit.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it. Without this, only show what would be done.")] = False,
) -> None:
    """Take back all that one source wrote: set back to the version before, or deleted. Shows first; `--apply` does it."""
    origin = Origin(
        source=source, session=session, actor=actor, imported=imported, rollback=undo, since=optional(since)
    )
    if apply and not reason:
        raise InvalidInput("Say why with --reason: it is kept in the audit.")
    why = reason or "dry run"

    with door.open(create=True) as memory:
        done = memory.rollback(origin, reason=why, dry_run=not apply)
    door.answer(done, lambda: _tell(done))
    if done.id is None:
        door.say("Nothing was changed. Add --apply --reason '…' to do it.")
    else:
        door.say(f"`commonplace rollback --undo {done.id} --apply --reason '…'` takes it back.")


def _tell(done: RolledBack) -> None:
    for step in done.steps[:SHOWN]:
        what = f"set back to version {step.to}" if step.kind == "set_back" else step.kind
        why = f" ({step.why})" if step.why else ""
        typer.echo(f"{step.id}  {step.scope}  {what}{why}")
    typer.echo(f"{counted(done.deleted, 'record')} deleted, {done.set_back} set back, {done.left} left as they are.")


def _decided(door: Door, step: Literal["release", "purge"], id: str, reason: str, *, alone: bool) -> None:
    if not alone:
        raise InvalidInput("Name a finding, or records: not both.")

    with door.open(create=True) as memory:
        (memory.release_finding if step == "release" else memory.purge_finding)(id, reason=reason)
    door.answer({"finding": id, "done": step}, lambda: typer.echo(f"{step.capitalize()}d 1 finding."))


def _line(one: Waiting) -> str:
    record = one.record
    beside = f" beside {one.beside[:13]}" if one.beside else ""
    seen = f"{record.id}@{record.version}"
    return f"{seen}  {', '.join(one.reasons)}  {record.scope}  {record.source}{beside}: {_shown(record.text)}"


def _finding_line(one: WaitingFinding) -> str:
    told = _shown(f"{one.title} {one.summary}".strip())
    return f"{one.id}  {', '.join(one.reasons)}  {one.scope}  finding: {told}"


def _shown(text: str) -> str:
    """What a stranger wrote is not let loose on the terminal."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= 80 else f"{plain[:79]}…"


def _seen(ids: list[str] | None) -> tuple[list[str], dict[str, int]]:
    """The ids, and the versions written behind some of them: `ID@3`, as the list has it. Raises InvalidInput."""
    named: list[str] = []
    versions: dict[str, int] = {}
    for written in ids or ():
        id, at, version = written.partition("@")
        if at and not (version.isascii() and version.isdigit() and len(version) < 10):
            raise InvalidInput(f"{written!r:.80} names no version: write ID@3, as `commonplace review list` does.")
        named.append(id)
        if at:
            versions[id] = int(version)
    return named, versions


reviews = typer.Typer(
    cls=QuickGroup,
    help="What is in quarantine: list, release, purge.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    command(reviews, "commonplace review list --source web", panel=PANEL, name="list")(show)
    command(reviews, "commonplace review release 0192f3a4-5b6c --reason 'only quotes an attack'", panel=PANEL)(release)
    command(reviews, "commonplace review purge --source web --reason 'a poisoned page'", panel=PANEL)(purge)
    app.add_typer(reviews, name="review", rich_help_panel=PANEL)
    examples = (
        "commonplace rollback --source web --since 2d",
        "commonplace rollback --actor ana --apply --reason 'stolen key'",
    )
    command(app, *examples, panel=PANEL)(rollback)
