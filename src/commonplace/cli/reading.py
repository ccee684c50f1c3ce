"""The commands that recall: search, list, show, history, context."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from commonplace.cli import given
from commonplace.cli import options as o
from commonplace.cli.door import Door, command
from commonplace.cli.exits import Exit
from commonplace.cli.lines import counted
from commonplace.cli.moments import optional
from commonplace.errors import InvalidInput
from commonplace.values.layer import LayerChoice, LayerName
from commonplace.values.query import Hit, Mode, Order

PANEL = "Recall"


def search(
    door: Door,
    text: Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words.")],
    scope: o.Scopes = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")] = 10,
    mode: Annotated[Mode, typer.Option("--mode", "-m", help="By words, by meaning, or both.")] = "hybrid",
    kind: o.Kinds = None,
    source: o.Sources = None,
    tag: o.Tags = None,
    trust: o.Trusts = None,
    session: o.Sessions = None,
    speaker: o.Speaker = None,
    pinned: o.Pinned = None,
    since: o.Since = None,
    until: o.Until = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="As it stood then: old texts, deleted ones too.")
    ] = None,
    diversity: Annotated[float, typer.Option(metavar="0-1", help="How much to avoid hits that say the same.")] = 0.0,
    copies: Annotated[bool, typer.Option("--copies", help="Show each of several records that say the same.")] = False,
    everyone: o.Everyone = False,
    layer: Annotated[
        LayerName | None,
        typer.Option("--layer", "-l", help="Show an abstract (L0), an overview (L1) or all of the text (L2)."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="How many tokens all of that may have.", min=1)
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(metavar="0-1", min=0, max=1, help="Show what is at least so likely to answer, and nothing else."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show what is less likely, too.")] = False,
    explain: Annotated[bool, typer.Option("--explain", "-x", help="Show every part of each score.")] = False,
) -> None:
    """Find what answers a question, most likely first, and say why. Exits with 3 if no memory answers it."""
    with door.open() as memory:
        hits = memory.search(
            text,
            scopes=scope,
            limit=limit,
            mode=mode,
            kinds=tuple(kind or ()),
            sources=tuple(source or ()),
            tags=tuple(tag or ()),
            trust=given.trusts(trust),
            sessions=tuple(session or ()),
            speaker=speaker,
            pinned=pinned,
            since=optional(since),
            until=optional(until),
            as_of=optional(as_of),
            diversity=diversity,
            everyone=everyone,
            layer=layer,
            budget=budget,
            min_relevance=min_relevance or 0.0,
            copies=copies,
        )
    _show_hits(door, text, hits, _Shown(own_line=min_relevance is not None, everything=everything, explain=explain))


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """`own_line`: the person said what is likely enough. `everything`: also what is less likely."""

    own_line: bool
    everything: bool
    explain: bool


def _show_hits(door: Door, text: str, hits: Sequence[Hit], shown: _Shown) -> None:
    answers = [hit for hit in hits if hit.relevant or shown.own_line]
    others = [hit for hit in hits if not (hit.relevant or shown.own_line)]

    def show() -> None:
        if answers:
            door.screen.hits(answers, explain=shown.explain)
        if others and shown.everything:
            door.screen.line("Less likely to answer this")
            door.screen.hits(others, explain=shown.explain)

    records = [hit.record for hit in (hits if shown.everything else answers)]
    door.records(records, {"query": text, "hits": hits}, show)
    if not answers:
        door.say("No memory answers this.")
    if others and not shown.everything:
        door.say(f"--all shows what is less likely: {counted(len(others), 'record')}.")
    if not records:
        raise typer.Exit(Exit.NOTHING_FOUND)


def list_(
    door: Door,
    scope: o.Scopes = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1)] = 50,
    order: Annotated[Order, typer.Option("--order", help="What comes first.")] = "newest",
    kind: o.Kinds = None,
    source: o.Sources = None,
    tag: o.Tags = None,
    trust: o.Trusts = None,
    session: o.Sessions = None,
    speaker: o.Speaker = None,
    pinned: o.Pinned = None,
    since: o.Since = None,
    until: o.Until = None,
    state: o.States = None,
    everyone: o.Everyone = False,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
) -> None:
    """List records, newest first. Exits with 3 where there is none."""
    begin, end = optional(since), optional(until)
    with door.open() as memory:
        page = memory.list(
            scopes=scope,
            kinds=tuple(kind or ()),
            sources=tuple(source or ()),
            tags=tuple(tag or ()),
            trust=given.trusts(trust),
            sessions=tuple(session or ()),
            speaker=speaker,
            pinned=pinned,
            since=begin,
            until=end,
            states=given.states(state),
            everyone=everyone,
            order=order,
            limit=limit,
            cursor=cursor,
        )
    door.records(page.records, page, lambda: door.screen.records(page.records))
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")
    _end_if_empty(door, len(page.records), "Nothing to list here. `commonplace put` remembers something.")


def show(
    door: Door,
    id: o.Id,
    version: Annotated[int | None, typer.Option(metavar="N", help="As it was in this version.")] = None,
) -> None:
    """Show one record, all of it."""
    with door.open() as memory:
        record = memory.get(id, version=version)
    door.records([record], record, lambda: door.screen.record(record))


def history(door: Door, id: o.Id) -> None:
    """Show every version of a record and what each one changed."""
    with door.open() as memory:
        versions = memory.history(id)
    door.answer({"versions": versions}, lambda: door.screen.history(versions))


def context(
    door: Door,
    query: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="What the model is about to answer.")
    ] = None,
    scope: o.Scopes = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="The conversation it is for.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="The agent whose memory to print.")] = None,
    workspace: Annotated[str | None, typer.Option(metavar="ID", help="The workspace whose memory to print.")] = None,
    budget: o.Budget = None,
    copies: Annotated[bool, typer.Option("--copies", help="Show each of several records that say the same.")] = False,
    everyone: o.Everyone = False,
    layer: Annotated[
        LayerChoice | None,
        typer.Option("--layer", "-l", help="Tell each memory by this layer; auto: by the fullest that fits."),
    ] = None,
) -> None:
    """Print memory for a prompt: what fits a question, or the sections of an agent and a workspace."""
    if (query is None) == (agent is None and workspace is None):
        raise InvalidInput("Give a question, or --agent and --workspace for their sections.")
    with door.open() as memory:
        if query is None:
            block = memory.sections(agent=agent, workspace=workspace, budget=budget)
        else:
            block = memory.context(query, scopes=scope, session=session, budget=budget, everyone=everyone, layer=layer)
    if block.text or door.json:
        door = replace(door, quiet=False)  # the block is the answer, not a remark
        door.answer(block, lambda: typer.echo(block.text))


def _end_if_empty(door: Door, count: int, advice: str) -> None:
    if not count:
        door.say(advice)
        raise typer.Exit(Exit.NOTHING_FOUND)


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace search 'how do we deploy?' --scope workspace:web --explain",
        "commonplace search 'release day' --as-of 2d --mode words",
        panel=PANEL,
    )(search)
    command(app, "commonplace list --scope workspace:web --tag decision --since 2w", panel=PANEL, name="list")(list_)
    command(app, "commonplace show 0192f3a4-5b6c --version 1", panel=PANEL)(show)
    command(app, "commonplace history 0192f3a4-5b6c", panel=PANEL)(history)
    command(
        app,
        "commonplace context 'how do we deploy?' --scope workspace:web --budget 500",
        "commonplace context --agent ana --workspace web",
        panel=PANEL,
    )(context)
