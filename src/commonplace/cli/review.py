"""The commands of a reviewer: what is in quarantine, and all that one source wrote."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast, get_args

import typer

from commonplace.cli.complete import sources
from commonplace.cli.door import Door, command
from commonplace.cli.given import trusts
from commonplace.cli.lines import counted
from commonplace.cli.moments import optional
from commonplace.cli.options import Yes
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput
from commonplace.values.approval import ApprovalEntry, ApprovalState
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
    rejected: Annotated[bool, typer.Option("--rejected", help="What was rejected, and can be restored.")] = False,
) -> None:
    """List what is in quarantine, newest first: kept, not recalled, until somebody has looked."""

    with door.open(create=True) as memory:
        page = memory.review(
            scopes=scope, source=source, session=session, rejected=rejected, limit=limit, cursor=cursor
        )

    def lines() -> None:
        for one in page.waiting:
            typer.echo(_line(one))
        for finding in page.findings:
            typer.echo(_finding_line(finding))

    told = {"waiting": page.waiting, "cursor": page.cursor, "findings": page.findings}
    door.records([one.record for one in page.waiting], told, lines)
    if not page.waiting and not page.findings:
        door.say("Nothing was rejected." if rejected else "Nothing waits for a review.")
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


def reject(
    door: Door,
    reason: Reason,
    ids: Ids = None,
    source: Source = None,
    session: Session = None,
) -> None:
    """Reject records in quarantine: they are deleted, and `review restore` brings them back. `review purge` is for good."""
    # It can be undone: whichever version was seen, the record goes.
    records, _ = _seen(ids)

    with door.open(create=True) as memory:
        rejected = memory.reject(records, source=source, session=session, reason=reason)
    door.records(rejected, {"records": rejected}, lambda: typer.echo(f"Rejected {counted(len(rejected), 'record')}."))
    if len(rejected) == 1:
        door.say(f"`commonplace review restore {rejected[0].id} --reason '…'` brings it back.")
    elif rejected:
        door.say(
            "`commonplace review list --rejected` shows them; `commonplace review restore ID --reason '…'` brings one back."
        )


def restore(
    door: Door,
    reason: Reason,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="As `review list --rejected` names them.")],
) -> None:
    """Bring back records that were rejected. They are in quarantine again."""
    records, _ = _seen(ids)

    with door.open(create=True) as memory:
        restored = memory.restore_rejected(records, reason=reason)
    count = counted(len(restored), "record")
    door.records(restored, {"records": restored}, lambda: typer.echo(f"{count} in quarantine again."))


def purge(
    door: Door,
    reason: Reason,
    ids: Ids = None,
    source: Source = None,
    session: Session = None,
    finding: Finding = None,
    yes: Yes = False,
) -> None:
    """Remove records in quarantine, or rejected ones, for good: every version of them. `review reject` can be undone."""
    if finding is not None:
        door.confirm(f"Purge the finding {finding}, without a trace?", yes=yes)
        _decided(door, "purge", finding, reason, alone=not (ids or source or session))
        return
    # Every version goes, whichever was seen.
    named, _ = _seen(ids)
    what = f"all of {source or session}" if source or session else counted(len(named), "record")
    door.confirm(f"Purge {what} in quarantine, without a trace?", yes=yes)

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


def approve(
    door: Door,
    text: Annotated[str, typer.Argument(metavar="ID@VERSION", help="A record, as `approvals` names it.")] = "",
    finding: Finding = None,
    reason: Annotated[
        str | None, typer.Option("--reason", "-r", metavar="TEXT", help="Why. It is kept in the audit.")
    ] = None,
) -> None:
    """Approve a version of a record that others wrote, so that it can be promoted. For reviewers."""
    if bool(text) == (finding is not None):
        raise InvalidInput("Name a record, ID@VERSION, or a --finding.")
    ids, versions = _seen([text]) if text else ([finding or ""], {})

    with door.open(create=True) as memory:
        approval = memory.approve(ids[0], versions.get(ids[0]), kind="finding" if finding else "record", reason=reason)
    own = " You wrote it yourself: it becomes verified, not human_approved." if approval.self_approved else ""
    door.answer(approval, lambda: typer.echo(f"Approved {approval.target}@{approval.version}.{own}"))


def approvals(
    door: Door,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="Only these: requested, approved. Default: requested.")
    ] = "requested",
    withdraw: Annotated[
        str | None, typer.Option(metavar="ID", help="Withdraw this approval, or decline this request.")
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why it is withdrawn or declined.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many.", min=1, max=1000)] = 20,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Go on where a page ended.")] = None,
) -> None:
    """List what waits for a reviewer's approval, newest first, or withdraw an approval or decline a request."""
    if withdraw is not None:
        with door.open(create=True) as memory:
            gone = memory.withdraw_approval(withdraw, reason=reason)
        door.answer(gone, lambda: typer.echo(f"Withdrawn: {gone.target}@{gone.version}."))
        return
    if state not in get_args(ApprovalState):
        raise InvalidInput(f"{state!r:.40} is no state. Use {' or '.join(get_args(ApprovalState))}.")

    with door.open(create=True) as memory:
        page = memory.approvals(state=cast("ApprovalState", state), limit=limit, cursor=cursor)

    def lines() -> None:
        for entry in page.approvals:
            typer.echo(_approval_line(entry))

    door.answer(page, lines)
    if not page.approvals:
        door.say("Nothing waits for an approval." if state == "requested" else "Nothing was approved.")
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def _approval_line(entry: ApprovalEntry) -> str:
    approval = entry.approval
    place = f" for {approval.scope}" if approval.scope else ""
    what = "" if approval.kind == "record" else "finding "
    text = "changed since" if entry.text is None else _shown(entry.text)
    text = f"approved by {entry.approved_by}, promote it now" if entry.approved_by else text
    return f"{approval.target}@{approval.version}  {what}{approval.state} by {approval.actor}{place}  ({approval.id}): {text}"


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
    return f"{seen}  {', '.join(one.reasons)}  {record.scope}  {record.source}{beside}: {_shown(one.sentence or record.text)}"


def _finding_line(one: WaitingFinding) -> str:
    told = _shown(one.sentence or f"{one.title} {one.summary}".strip())
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
    help="What is in quarantine: list, release, reject, restore, purge.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    command(reviews, "commonplace review list --source web", panel=PANEL, name="list")(show)
    command(reviews, "commonplace review release 0192f3a4-5b6c --reason 'only quotes an attack'", panel=PANEL)(release)
    command(reviews, "commonplace review reject --source web --reason 'a poisoned page'", panel=PANEL)(reject)
    command(reviews, "commonplace review restore 0192f3a4-5b6c --reason 'a false alarm'", panel=PANEL)(restore)
    command(reviews, "commonplace review purge --source web --yes --reason 'a poisoned page'", panel=PANEL)(purge)
    app.add_typer(reviews, name="review", rich_help_panel=PANEL)
    command(app, "commonplace approve 0192f3a4-5b6c-7d8e-9f00-112233445566@2 --reason 'checked'", panel=PANEL)(approve)
    command(app, "commonplace approvals", "commonplace approvals --state approved", panel=PANEL)(approvals)
    examples = (
        "commonplace rollback --source web --since 2d",
        "commonplace rollback --actor ana --apply --reason 'stolen key'",
    )
    command(app, *examples, panel=PANEL)(rollback)
