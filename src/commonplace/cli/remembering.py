"""The command that hands over a fact: `commonplace remember`."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commonplace.cli import given
from commonplace.cli.door import Door, command
from commonplace.errors import InvalidInput
from commonplace.values.pauses import Pauses
from commonplace.values.task import MemoryTask, TargetScope

if TYPE_CHECKING:
    from commonplace import Client, Memory

PANEL = "Write"
_WAIT = 10.0


def remember(
    door: Door,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact; `-` reads stdin.")],
    clean: Annotated[bool, typer.Option("--clean", help="Look at no memory that is there already.")] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="project|user", help="File it there and nowhere else.")
    ] = None,
) -> None:
    """
    Hand over a fact, and wait until it is filed in Markdown: with you, or with the workspace. A model does it where one is set,
    else rules.
    """
    fact = given.text(text)
    target = _target(to)
    with _waiting(door, "Remembering …"), door.open(create=True) as memory:
        task = _remembered(memory, fact, clean, target)
    if task.error is not None:
        # httpx loads slowly, and is for errors only.
        from commonplace.sdk.talk import error_of

        raise error_of(task.error.code, task.error.message, {"details": task.error.details})
    result: dict[str, Any] = dict(task.result or {})

    def show() -> None:
        typer.echo(str(result["summary"]))
        for file in result["files_touched"]:
            typer.secho(f"  {file}", dim=True)

    door.answer({"task": task.id, "status": task.status, **result}, show)


def _target(to: str | None) -> TargetScope | None:
    if to not in (None, "project", "user"):
        raise InvalidInput("--to is project or user.")
    return to


def _remembered(memory: "Memory | Client", fact: str, clean: bool, target: TargetScope | None) -> MemoryTask:
    """Without a daemon this process does the work, or waits for one that has the same store."""
    task = memory.remember_workspace_memory(fact, context_mode="clean" if clean else "workspace", scope=target)
    pauses = Pauses()
    while not task.is_over:
        began = time.monotonic()
        task = memory.get_workspace_memory_remember_task(task.id, wait=_WAIT)
        if not task.is_over:
            time.sleep(pauses.after(time.monotonic() - began, _WAIT))
    return task


@contextmanager
def _waiting(door: Door, title: str) -> Generator[None, None, None]:
    """A spinner on stderr, where somebody looks."""
    if door.quiet or door.json or not sys.stderr.isatty():
        yield
        return
    # rich loads slowly and is for people only.
    from commonplace.cli.bar import spinner

    with spinner(title):
        yield


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace remember 'I prefer dark mode in all editors'",
        "commonplace remember 'The release is on Fridays' --to project",
        panel=PANEL,
    )(remember)
