"""The commands for memory in Markdown: remember, consolidate, move."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commonplace.cli import given
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, counted
from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.pauses import Pauses
from commonplace.values.shelf import ShelfName
from commonplace.values.task import MemoryTask, TargetScope

if TYPE_CHECKING:
    from commonplace import Client, Memory

PANEL = "Write"
_WAIT = 10.0
_REMEMBER = 60.0
_CONSOLIDATE = 300.0

Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Wait at most so long; it goes on without you.")
]
TaskId = Annotated[
    str | None, typer.Option("--task", metavar="ID", help="Look at one that was asked for before, instead.")
]
Look = Callable[[str, float], MemoryTask]


def remember(
    door: Door,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The fact; `-` reads stdin.")] = None,
    clean_: Annotated[bool, typer.Option("--clean", help="Look at no memory that is there already.")] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="project|user", help="File it there and nowhere else.")
    ] = None,
    timeout: Timeout = _REMEMBER,
    task: TaskId = None,
) -> None:
    """
    Hand over a fact, and wait until it is filed in Markdown: with you, or with the workspace. A model does it where one is set,
    else rules.
    """
    if (text is None) == (task is None):
        raise InvalidInput("Give the text to remember, or --task with the id of one that was handed over.")
    fact = None if text is None else given.text(text)
    target = _target(to)

    def start(memory: "Memory | Client") -> MemoryTask:
        if fact is None:
            return memory.get_workspace_memory_remember_task(task or "")
        return memory.remember_workspace_memory(fact, context_mode="clean" if clean_ else "workspace", scope=target)

    until = time.monotonic() + timeout
    with _waiting(door, "Remembering …") as say, door.open(create=True) as memory:
        ended = _over(
            start(memory), lambda id, wait: memory.get_workspace_memory_remember_task(id, wait=wait), until, say
        )
    _answer(door, ended, "commonplace remember --task")


def consolidate(door: Door, timeout: Timeout = _CONSOLIDATE, task: TaskId = None) -> None:
    """
    Tidy the memory in Markdown: entries that say nearly the same become one. A model does it where one is set, else rules.
    `GET /v1/managed/changes` lists what was changed, and each change can be undone.
    """
    until = time.monotonic() + timeout
    with _waiting(door, "Consolidating …") as say, door.open(create=True) as memory:
        asked_for = memory.get_workspace_memory_dream_task(task) if task else memory.dream_workspace_memory()
        ended = _over(asked_for, lambda id, wait: memory.get_workspace_memory_dream_task(id, wait=wait), until, say)
    _answer(door, ended, "commonplace consolidate --task")


def move(
    door: Door,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="As `commonplace remember` names it, or `user/user/tea.md`: whose, and the path."
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="project|user", help="Whose memory it belongs to.")],
) -> None:
    """Move an entry of Markdown memory from the project to your own memory, or back."""
    target = _target(to)
    with door.open() as memory:
        root, path = _place(memory, file)
        result = memory.move_managed_file(root, path, to=target or "user")

    def show() -> None:
        moved = result.file.path if result.file else path
        typer.echo(f"Moved to {to} memory: {clean(moved)}")

    door.answer(
        {"from": root, "to": to, "path": result.file.path if result.file else path, "change": result.change}, show
    )


def _place(memory: "Memory | Client", name: str) -> tuple[ShelfName, str]:
    """Whose file it is, and its path there. Raises PathNotFound."""
    shelves = memory.managed_files()
    places: list[tuple[ShelfName, str]] = [(shelf.root, file.path) for shelf in shelves for file in shelf.files]
    whole = Path(name).as_posix()
    exact = [place for place in places if whole == "/".join(place)]
    ending = [place for place in places if whole == place[1] or whole.endswith(f"/{place[1]}")]
    fitting = exact or ending
    if not fitting:
        raise PathNotFound(f"There is no file {name!r:.200} in memory. Name one as `commonplace remember` does.")
    if len(fitting) > 1 and (own := [place for place in fitting if _lies_in(whole, place)]):
        fitting = own
    if len(fitting) > 1:
        raise InvalidInput(f"Both memories have a file {name!r:.200}. Write user/… or project/… before it.")
    return fitting[0]


def _lies_in(whole: str, place: tuple[ShelfName, str]) -> bool:
    """As the folders lie on the disk: that of a person ends in `memories`, that of a workspace in `memory`."""
    root, path = place
    return whole.endswith(f"/memories/{path}" if root == "user" else f"/memory/{path}")


def _answer(door: Door, task: MemoryTask, again: str) -> None:
    if task.status == "failed" and task.error is not None:
        # httpx loads slowly, and is for errors only.
        from commonplace.sdk.talk import error_of

        raise error_of(task.error.code, task.error.message, {"details": task.error.details})
    result: dict[str, Any] = dict(task.result or {})

    def show() -> None:
        if not task.is_over:
            typer.echo(
                f"Not done yet: task {task.id} is {task.status}. It goes on without you; `{again} {task.id}` looks at it."
            )
            return
        typer.echo(clean(str(result["summary"])))
        for file in result["files_touched"]:
            typer.secho(f"  {clean(file)}", dim=True)
        for line in _notes(result):
            typer.secho(f"  {line}", dim=True)

    more = {} if task.is_over else {"look": f"{again} {task.id}"}
    door.answer({"task": task.id, "status": task.status, **result, **more}, show)
    door.say(f"Task {task.id}")


def _notes(result: dict[str, Any]) -> Generator[str]:
    """What a person should know beside the summary."""
    for taken in result.get("redactions") or ():
        yield f"Taken out: {counted(taken['count'], clean(taken['kind']).replace('_', ' '))}. Memory keeps no secrets."
    if code := result.get("fallback"):
        yield f"Rules filed it in the place of the model: {clean(code)}."
    for file in result.get("unsure") or ():
        yield f"To share it with the project: commonplace move '{clean(file)}' --to project"


def _target(to: str | None) -> TargetScope | None:
    if to not in (None, "project", "user"):
        raise InvalidInput("--to is project or user.")
    return to


def _over(task: MemoryTask, look: Look, until: float, say: Callable[[str], None]) -> MemoryTask:
    """The task when it has ended, or when the time is over. Without a daemon this process does the work meanwhile."""
    pauses = Pauses()
    while not task.is_over and (rest := until - time.monotonic()) > 0:
        say(f"{task.status}, task {task.id}" + (f", tried again after {task.error.details}" if task.error else ""))
        began, wait = time.monotonic(), min(_WAIT, rest)
        task = look(task.id, wait)
        if not task.is_over:
            time.sleep(min(pauses.after(time.monotonic() - began, wait), max(until - time.monotonic(), 0)))
    return task


@contextmanager
def _waiting(door: Door, title: str) -> Generator[Callable[[str], None], None, None]:
    """A spinner on stderr that says how far it is, where somebody looks."""
    if door.quiet or door.json or not sys.stderr.isatty():
        yield lambda _state: None
        return
    # rich loads slowly and is for people only.
    from commonplace.cli.bar import spinner

    with spinner(title) as say:
        yield lambda state: say(f"{title} {state}")


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace remember 'I prefer dark mode in all editors'",
        "commonplace remember 'The release is on Fridays' --to project",
        panel=PANEL,
    )(remember)
    command(app, "commonplace consolidate", panel=PANEL)(consolidate)
    command(app, "commonplace move project/project/tea.md --to user", panel=PANEL)(move)
