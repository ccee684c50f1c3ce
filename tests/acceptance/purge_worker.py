"""
Purges a record that follows a file, and dies when it is told to. Run as `purge_worker.py HOME WORKSPACE MOMENT ID`.

MOMENT is a number (before the so-many-th change of a file) or `rows` (when the files are gone, before the first row is).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import load_settings
from commonplace.stores.sqlite.records import SqlRecords
from commonplace.testing.callers import operator


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def counted(call: Callable[..., Any], moments: list[int]) -> Callable[..., Any]:
    def around(*args: Any, **kwargs: Any) -> Any:
        moments[0] -= 1
        if moments[0] == 0:
            die()
        return call(*args, **kwargs)

    return around


async def main(home: Path, workspace: Path, moment: str, id: str) -> None:
    settings = load_settings(home=home, workspace=workspace, embedder="none")
    async with composed(settings, ComposeOptions()) as services:
        if moment == "rows":
            setattr(SqlRecords, "purge", die)  # noqa: B010 - no method of ours looks like this
        else:
            moments = [int(moment)]
            for name in ("fsync", "rename", "unlink"):
                setattr(os, name, counted(getattr(os, name), moments))
        await services.records.purge(operator(settings.tenant), ids=[id])


if __name__ == "__main__":
    folder, work, moment, id = sys.argv[1:]
    asyncio.run(main(Path(folder), Path(work), moment, id))
