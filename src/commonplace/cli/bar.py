"""What moves on stderr while something takes its time: a bar, or a spinner."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def bar(title: str) -> Generator[Callable[[int, int], None], None, None]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def tick(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total or None)

        yield tick


@contextmanager
def spinner(title: str) -> Generator[Callable[[str], None], None, None]:
    """Yields what sets another title."""
    with Console(stderr=True).status(title) as status:
        yield status.update
