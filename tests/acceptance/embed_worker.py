"""
A process that changes the embedder of a store, and dies after so many texts. Run as `embed_worker.py STORE AFTER`; AFTER is `never` for one that
lives. Prints how many texts it embedded.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np

from commonplace.compose.stores import SystemClock
from commonplace.jobs.payloads import EMBED_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.ports.embedder import Embedder, Floats
from commonplace.service.desk import Desk
from commonplace.service.embedders import EMBED, EmbedderSwitch
from commonplace.service.engines import EngineRoom
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import operator
from commonplace.text.tokens import estimate


class Mortal:
    """An embedder that ends its process after so many texts."""

    name = "mortal"
    dimension = 4

    def __init__(self, after: int | None) -> None:
        self.after = after
        self.count = 0

    async def embed(self, texts: Sequence[str]) -> Floats:
        if self.after is not None and self.count >= self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += len(texts)
        return np.full((len(texts), self.dimension), 0.5, dtype=np.float32)

    async def aclose(self) -> None:
        pass


async def main(path: Path, after: int | None) -> None:
    clock, mortal = SystemClock(), Mortal(after)
    store = await SqliteStore.open(path, clock)
    room = EngineRoom(store=store, clock=clock, embedders=(), count=estimate)

    def make(_names: Sequence[str]) -> Sequence[Embedder]:
        return [mortal]

    switch = EmbedderSwitch(Desk(store=store, clock=clock, room=room), make, patience=timedelta())
    queue = Queue(handler=switch.run, payload=EMBED_PAYLOAD, wakes=(EMBED,))
    worker = Worker(store, clock, {EMBED: queue}, look_every=0.02)
    await switch.use(operator(), mortal.name)
    working = asyncio.create_task(worker.run())
    for _ in range(1000):
        if (await switch.status(operator())).state == "settled":
            break
        await asyncio.sleep(0.02)
    working.cancel()
    await asyncio.wait({working})
    await store.aclose()
    sys.stdout.write(f"{mortal.count}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), None if sys.argv[2] == "never" else int(sys.argv[2])))
