"""`commonplace tour`: a first session of less than a minute, in a store that is gone afterwards."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from commonplace.cli.door import ACTOR, Door, ask, command
from commonplace.cli.lines import counted
from commonplace.cli.moments import now
from commonplace.values.record import Record, Turn

if TYPE_CHECKING:
    from commonplace import Memory

WEB = "workspace:web"
PREFERENCE = "Ana prefers short answers with one code example and no apologies"
GOODBYE = """That was a memory of its own, in a temporary file that is gone now. Yours begins with one of these:

  {0} put "…" --key name      remember something
  {0} search "…"              find it again, in your own words
  {0} --help                  everything else
"""


def as_called() -> str:
    """How to call the command from here: by its name, or by the way to it where no search path leads there."""
    called = Path(sys.argv[0])
    if called.name != "commonplace" or shutil.which("commonplace"):
        return "commonplace"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


@dataclass(slots=True)
class StoryClock:
    """The tour tells of three weeks, so it brings its own time."""

    moment: datetime

    def now(self) -> datetime:
        self.moment += timedelta(milliseconds=1)
        return self.moment


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    told: str
    command: str
    value: object
    show: Callable[[], None]


def tour(door: Door) -> None:
    """Take a guided first session: remember, recall, explain, change, look back. Touches no store of yours."""
    # The engine and rich load here, not where the command's help is shown.
    from commonplace import open_memory

    clock = StoryClock(now() - timedelta(days=21))
    with (
        # Windows cannot remove a file that something still holds for a moment.
        tempfile.TemporaryDirectory(prefix="commonplace-tour-", ignore_cleanup_errors=True) as folder,
        open_memory(Path(folder) / "tour.db", actor=ACTOR, clock=clock) as memory,
    ):
        steps = story(memory, clock)
        if door.json:
            told = [{"title": step.title, "command": step.command, "result": step.value} for step in steps]
            door.answer({"steps": told}, lambda: None)
        elif not door.quiet:
            _tell(steps)


def story(memory: "Memory", clock: StoryClock) -> Iterator[Step]:
    # rich loads here, not where the command's help is shown.
    from commonplace.cli import tables

    records = _remembered(memory)
    yield Step(
        "1  Remember",
        "A key makes a fact one thing that can change; a scope says who shares it; turns are kept one by one.",
        f"commonplace put 'Deploy with `make ship` …' --scope {WEB} --key deploy --importance 80",
        records,
        lambda: tables.records(records),
    )

    question = "how do I get a new release out?"
    hits = memory.search(question, scopes=[WEB], limit=2)
    yield Step(
        "2  Recall, and why",
        "No word of the question is in the answer: the meaning finds it. The parts of a score sum to it.",
        f"commonplace search '{question}' --scope {WEB} --explain",
        hits,
        lambda: tables.hits(hits, explain=True),
    )

    last_week = now() - timedelta(days=7)
    clock.moment = now() - timedelta(hours=2)
    changed = memory.put(
        "Deploy with `make release`; `make ship` is gone", scope=WEB, key="deploy", reason="new pipeline"
    )
    versions = memory.history(changed.id)
    yield Step(
        "3  Facts change",
        "The same key again is a new version. Nothing is overwritten: who, when and why stay.",
        f"commonplace history {changed.id[:18]}",
        versions,
        lambda: tables.history(versions),
    )

    clock.moment = now()
    then = memory.search("how do we deploy?", scopes=[WEB], limit=1, as_of=last_week)
    yield Step(
        "4  Look back",
        "The memory as it stood last week still knows the old way.",
        "commonplace search 'how do we deploy?' --as-of 7d",
        then,
        lambda: tables.hits(then, explain=False),
    )
    yield from _ending(memory)


def _ending(memory: "Memory") -> Iterator[Step]:
    # rich loads here, not where the command's help is shown.
    from commonplace.cli import tables

    before = memory.stats().live
    again = memory.put(f"{PREFERENCE} please", scope="user:ana", dedupe="near")
    added = memory.stats().live - before
    yield Step(
        "5  A near miss",
        f"Almost the same sentence once more: {counted(added, 'record')} added, the one we had stays.",
        f"commonplace put '{PREFERENCE} please' --scope user:ana --dedupe near",
        again,
        lambda: tables.records([again]),
    )

    context = memory.context("how do we deploy?", scopes=[WEB, "user:ana"], budget=200)
    yield Step(
        "6  For a model",
        "What fits, within a budget of tokens, fenced: everything recalled is data, never an instruction.",
        "commonplace context 'how do we deploy?' --budget 200",
        context,
        lambda: tables.block(context.text),
    )


def _remembered(memory: "Memory") -> list[Record]:
    start = now() - timedelta(days=21)
    first = [
        memory.put("Deploy with `make ship` from the repo root", scope=WEB, key="deploy", importance=80),
        memory.put("The staging database is rebuilt every Sunday night", scope=WEB, tags=("database",)),
        memory.put(PREFERENCE, scope="user:ana", kind="preference"),
    ]
    turns = [
        Turn(speaker="ana", text="When is the design review?", at=start),
        Turn(speaker="ben", text="On Friday, once the login page is fixed", at=start + timedelta(minutes=1)),
    ]
    return [*first, *memory.add_turns("standup-7", turns, scope=WEB)]


def _tell(steps: Iterator[Step]) -> None:
    # rich loads here, not where the command's help is shown.
    from commonplace.cli import tables

    asks = sys.stdin.isatty() and sys.stdout.isatty()
    for step in steps:
        tables.heading(step.title, step.told, step.command)
        step.show()
        typer.echo()
        if asks:
            ask("Enter goes on … ")
    typer.echo(GOODBYE.format(as_called()))


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace tour", panel="Look after")(tour)
