"""
A worker of managed memory that dies when it is told to. Run as `lane_worker.py HOME WORKSPACE MOMENT [FACT]`.

MOMENT is `queued` (once the fact is in the queue), a number (before the so-many-th change of a file), `written` (after the last one,
before anybody is told) or `never`. With a FACT it is queued first. Prints the task's id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from commonplace.daemon.composition import Wanted, composed, operator
from commonplace.service.lanes import memory_lanes
from commonplace.service.worker import Worker
from commonplace.settings import load_settings
from commonplace.values.job import Job
from commonplace.values.record import Json

LEASE = timedelta(milliseconds=200)


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


async def main(home: Path, workspace: Path, moment: str, fact: str | None) -> None:
    settings = load_settings(home=home, workspace=workspace, embedder="none")
    async with composed(settings, Wanted()) as services:
        if fact is not None:
            task = await services.lanes.remember(operator(settings.tenant), fact)
            sys.stdout.write(f"{task.id}\n")
            sys.stdout.flush()
        if moment == "queued":
            die()

        async def run(job: Job, progress: Callable[[int, int], None]) -> Mapping[str, Json]:
            if moment.isdecimal():
                Counting(int(moment)).begin()
            done = await services.lanes.run(job, progress)
            if moment == "written":
                die()
            return done

        lanes = {kind: replace(lane, handler=run) for kind, lane in memory_lanes(services.lanes).items()}
        worker = Worker(services.desk.store, services.desk.clock, lanes, lease=LEASE, look_every=0.05)
        await worker.run()


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(Path(given[0]), Path(given[1]), given[2], given[3] if len(given) > 3 else None))
