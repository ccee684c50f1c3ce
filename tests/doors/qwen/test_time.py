"""The child before the bridge: how long a task and the agent inside it have, by a clock that runs when everybody waits."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from commonplace.errors import LaneTimeout, ModelTimeout
from commonplace.learning.memory_agent import SECONDS
from commonplace.ports.models import Done, Spent, Task, Tool
from commonplace.service.lanes import OUTSIDE, Lanes, memory_queues
from commonplace.testing.callers import operator
from commonplace.testing.daemon import InProcess, served
from commonplace.testing.lanes import MemoryDesk
from commonplace.values.task import TaskKind

T = TypeVar("T")
FACT = "The project ships on Fridays"
ENTRY = "---\nname: Release day\ndescription: When we ship\ntype: project\n---\nWe ship on Fridays.\n"


class _Waiting(selectors.DefaultSelector):
    def __init__(self, loop: "FakeLoop") -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> Any:
        leaps = bool(timeout) and not self._of.threads
        # The store has a thread of its own, which nobody counts: it is given a moment, or the clock runs on while it works.
        found = super().select(0 if timeout == 0 else 0.02 if leaps else 0.05)
        if not found and leaps and timeout:
            self._of.now += timeout
        return found


class FakeLoop(asyncio.SelectorEventLoop):
    """No second passes but those that all tasks sleep through; a thread at work holds the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.threads = 0
        super().__init__(_Waiting(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        self.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _: object) -> None:
        self.threads -= 1


@pytest.fixture
def loop() -> Generator[FakeLoop]:
    made = FakeLoop()
    yield made
    made.run_until_complete(made.shutdown_default_executor())
    made.close()


class Slow:
    """Writes, and then takes `seconds`. `obeys`: gives up at the limit that it was set, as the port asks for."""

    def __init__(self, seconds: float, *, obeys: bool = True) -> None:
        self._seconds = seconds
        self._obeys = obeys

    async def answer(self, question: Any) -> Any:
        raise NotImplementedError(question)

    async def act(self, task: Task, tools: Sequence[Tool]) -> Done:
        try:
            async with asyncio.timeout(task.limits.seconds if self._obeys else None):
                [write] = [tool for tool in tools if getattr(tool, "__name__", "") == "write_file"]
                await write("project/release-day.md", ENTRY)
                await asyncio.sleep(self._seconds)
        except TimeoutError as error:
            raise ModelTimeout from error
        return Done(text="Saved.", spent=Spent(model="slow"))


async def ran(running: InProcess, kind: TaskKind, model: Slow) -> tuple[str, str] | None:
    """Does one task as a worker would. The code it ended with, and what that came from."""
    services = running.services
    who = operator("default/default")
    lanes = Lanes(replace(services.desk, model=model), services.managed)
    task = await (lanes.remember(who, FACT) if kind == "remember" else lanes.dream(who))
    job = await services.desk.store.jobs.claim_job([kind], "w", timedelta(hours=1))
    assert job is not None
    assert job.id == task.id
    try:
        await memory_queues(lanes)[kind].run(job, lambda _done, _total: None)
    except LaneTimeout as error:
        return error.code, type(error.__cause__).__name__
    return None


def timed(loop: FakeLoop, working: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, float]:
    return loop.run_until_complete(working()), loop.now


@pytest.mark.parametrize(
    ("seconds", "obeys", "ended", "at", "left"),
    [
        (294.0, True, None, 294.0, ["project/release-day.md"]),
        (10_000.0, True, None, SECONDS, ["project/the-project-ships-on-fridays.md"]),
        (10_000.0, False, None, SECONDS + 1, ["project/the-project-ships-on-fridays.md"]),
    ],
)
def test_an_agent_that_is_too_slow_leaves_nothing_half_done_and_rules_file_the_fact_in_time(
    loop: FakeLoop,
    home: Path,
    workspace: Path,
    seconds: float,
    obeys: bool,
    ended: tuple[str, str] | None,
    at: float,
    left: list[str],
) -> None:
    async def work() -> tuple[tuple[str, str] | None, list[str]]:
        async with served(home, workspace=workspace) as running:
            told = await ran(running, "remember", Slow(seconds, obeys=obeys))
            return told, MemoryDesk(running, home, workspace).entries()

    (told, entries), took = timed(loop, work)

    assert (told, entries) == (ended, left)
    assert took == pytest.approx(at, abs=0.01)
    assert (SECONDS, OUTSIDE) == (295.0, 300.0)


@pytest.mark.parametrize(
    ("obeys", "ended", "at"),
    [(True, None, SECONDS + 1), (False, ("dream_timeout", "TimeoutError"), OUTSIDE)],
    ids=["obeys", "does not"],
)
def test_a_dream_of_two_memories_has_the_time_of_one_and_then_rules_have_the_rest(
    loop: FakeLoop, home: Path, workspace: Path, obeys: bool, ended: tuple[str, str] | None, at: float
) -> None:
    async def work() -> tuple[tuple[str, str] | None, list[str]]:
        async with served(home, workspace=workspace) as running:
            for root in running.services.managed.ground.roots:
                for name in ("a", "b"):
                    file = root.path / "user" / f"{name}.md"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(ENTRY.replace("Fridays", f"day {name}"), encoding="utf-8")
            told = await ran(running, "dream", Slow(10_000.0, obeys=obeys))
            return told, MemoryDesk(running, home, workspace).entries()

    (told, entries), took = timed(loop, work)

    assert (told, entries) == (ended, ["user/a.md", "user/a.md", "user/b.md", "user/b.md"])
    assert took == pytest.approx(at, abs=0.01)
