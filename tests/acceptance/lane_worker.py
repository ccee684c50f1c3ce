"""
A worker of managed memory that dies when it is told to. Run as `lane_worker.py HOME WORKSPACE MOMENT HOW [KIND TEXT]`.

MOMENT is `queued` (once the task is in the queue), a number (before the so-many-th change of a file), `written` (after the last one,
before anybody is told) or `never`. HOW is `rules` or `model`: a scripted one. With a KIND such a task is queued first. Prints
its id. Without arguments it is a nursery: for each line, such arguments as JSON, it forks a worker and tells how that ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from commonplace.compose.services import ComposeOptions, composed
from commonplace.jobs.payloads import TaskPayload
from commonplace.jobs.worker import Worker
from commonplace.service.lanes import Lanes, memory_queues
from commonplace.service.services import Services
from commonplace.settings import load_settings
from commonplace.testing.callers import operator
from commonplace.testing.lanes import file_it, tidy
from commonplace.testing.models import ScriptedModel, Working
from commonplace.values.job import Job
from commonplace.values.record import Json
from commonplace.values.task import MemoryTask

LEASE = timedelta(minutes=5)
"""Longer than any pause of a busy machine. Whoever comes after has a later clock."""


class Later:
    """The clock of one who finds a task that another worker died of."""

    def now(self) -> datetime:
        return datetime.now(UTC) + 2 * LEASE


SCRIPTS: Final[Mapping[str, Working]] = {"remember": file_it, "dream": tidy}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Counting:
    """Counts what is done to files, and ends the process before one of them."""

    def __init__(self, last: int) -> None:
        self._left = last

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                die()
            return call(*args, **kwargs)

        return counted

    def begin(self) -> None:
        for name in ("fsync", "rename", "unlink"):
            setattr(os, name, self.around(getattr(os, name)))


async def asked(services: Services, kind: str, text: str) -> MemoryTask:
    who, lanes = operator(services.managed.ground.tenant), services.lanes
    if kind == "remember":
        return await lanes.remember(who, text)
    return await (lanes.forget(who, text) if kind == "forget" else lanes.dream(who))


async def main(home: Path, workspace: Path, moment: str, how: str, task: tuple[str, str] | None) -> None:
    settings = load_settings(home=home, workspace=workspace, embedder="none")
    async with composed(settings, ComposeOptions(clock=None if task else Later())) as services:
        if task is not None:
            sys.stdout.write(f"{(await asked(services, *task)).id}\n")
            sys.stdout.flush()
        if moment == "queued":
            die()

        async def run(job: Job, payload: TaskPayload, progress: Callable[[int, int], None]) -> Mapping[str, Json]:
            if moment.isdecimal():
                Counting(int(moment)).begin()
            model = ScriptedModel(SCRIPTS[job.kind]) if how == "model" else None
            lanes = Lanes(replace(services.desk, model=model), services.managed)
            done = await lanes.run(job, payload, progress)
            if moment == "written":
                die()
            return done

        queues = {kind: replace(queue, handler=run) for kind, queue in memory_queues(services.lanes).items()}
        worker = Worker(services.desk.store, services.desk.clock, queues, lease=LEASE, look_every=0.05)
        await worker.run()


def work(folder: str, workspace: str, moment: str, how: str, *task: str) -> None:
    asyncio.run(main(Path(folder), Path(workspace), moment, how, (task[0], task[1]) if task else None))


def nursery() -> None:
    """Everything is loaded before the first fork, which takes longer than a worker lives."""
    for line in sys.stdin:
        arguments: list[str] = json.loads(line)
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(theirs, 1)
            try:
                work(*arguments)
            finally:
                os._exit(1)
        os.close(theirs)
        with os.fdopen(ours, encoding="utf-8") as output:
            printed = output.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(json.dumps({"code": code, "printed": printed}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        work(*arguments)
    else:
        nursery()
