"""The remember door in a test: ask, look, and a worker that works when the test wants it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx

from commonplace.jobs.worker import Worker
from commonplace.ports.models import LanguageModel, Tool
from commonplace.service.lanes import Lanes, memory_queues
from commonplace.values.job import ENDED, Job
from commonplace.values.scope import DEFAULT_TENANT

if TYPE_CHECKING:
    # The workers that tests kill load this module, and no server.
    from commonplace.testing.daemon import InProcess

BASE: Final = "/workspace/memory"
SHIP: Final = "The project ships its releases on Fridays"
LUNCH: Final = "I never deploy during lunch"
BOTH: Final = f"{SHIP}. {LUNCH}."


@dataclass(frozen=True)
class MemoryDesk:
    """`working` lets the tasks be done; without it they wait."""

    running: InProcess
    home: Path
    workspace: Path

    @property
    def client(self) -> httpx.AsyncClient:
        return self.running.client

    async def post(self, kind: str, body: Any = None, client: str | None = None) -> httpx.Response:
        return await self.client.post(f"{BASE}/{kind}", json=body, headers=named(client))

    async def get(self, kind: str, id: str, client: str | None = None) -> httpx.Response:
        return await self.client.get(f"{BASE}/{kind}/{id}", headers=named(client))

    async def queued(self, kind: str, body: Any = None, client: str | None = None) -> str:
        response = await self.post(kind, body, client)
        assert response.status_code == 202, response.text
        return response.json()["taskId"]

    async def over(self, kind: str, id: str, client: str | None = None) -> dict[str, Any]:
        """The task once it has ended."""
        with anyio.fail_after(5):
            while True:
                task = (await self.get(kind, id, client)).json()
                if task["status"] in ("completed", "failed"):
                    return task
                await asyncio.sleep(0.005)

    async def done(self, kind: str, body: Any = None, client: str | None = None) -> dict[str, Any]:
        return await self.over(kind, await self.queued(kind, body, client), client)

    @asynccontextmanager
    async def working(self, model: LanguageModel | None = None) -> AsyncGenerator[None]:
        services = self.running.services
        lanes = Lanes(replace(services.desk, model=model), services.managed)
        worker = Worker(services.desk.store, services.desk.clock, memory_queues(lanes), look_every=0.02)
        doing = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            doing.cancel()
            await asyncio.wait({doing})

    async def job(self, id: str) -> Job:
        return await self.running.services.desk.store.jobs.job(DEFAULT_TENANT, id)

    async def events(self, type: str) -> list[tuple[Mapping[str, Any], str | None]]:  # noqa: A002 - as events call it
        """The data and the client of every event of that type so far."""
        told = await self.running.services.desk.store.events.read_events(0, 1_000)
        return [(event.news.data, event.news.client) for event in told if event.news.type == type]

    async def ended(self, id: str) -> Job:
        """The job of a task once it has ended, whoever asked for it."""
        with anyio.fail_after(5):
            while True:
                if (job := await self.job(id)).state in ENDED:
                    return job
                await asyncio.sleep(0.005)

    @staticmethod
    def text(file: str) -> str:
        return Path(file).read_text(encoding="utf-8")

    def entries(self) -> list[str]:
        """The entries there are, by type and name."""
        return sorted(f"{path.parent.name}/{path.name}" for path in self.home.rglob("*.md") if path.name != "MEMORY.md")


def named(client: str | None) -> dict[str, str]:
    return {} if client is None else {"X-Qwen-Client-Id": client}


# ---- what a scripted agent does


def entry(says: str) -> str:
    return f"---\nname: Releases\ndescription: {says}\ntype: project\n---\n{says}\n"


async def file_it(tools: Mapping[str, Tool]) -> str:
    """As an agent files a fact: in two steps, and something about the person beside it."""
    await tools["write_file"]("project/releases.md", entry("It ships"))
    await tools["edit"]("project/releases.md", "It ships", SHIP, replace_all=True)
    await tools["write_file"]("user/releases.md", entry(LUNCH).replace("project", "user"))
    return "Saved."


async def tidy(tools: Mapping[str, Tool]) -> str:
    """As an agent tidies: two entries become one."""
    await tools["write_file"]("project/ship.md", entry(BOTH))
    await tools["write_file"]("project/lunch.md", "")
    return "Two became one."
