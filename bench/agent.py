"""
Our own time in a turn of the agent, with the librarian, which calls nobody: in this process and over HTTP, beside a search alone, a bare FastAPI
echo and one `fsync`, all in the same run. How long an `fsync` takes changes by the second where others use the disk, so each is timed next to its turn.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from bench.machine import percentile
from bench.scale import BATCH, LOADED_PER_S, SCOPE, ingest
from bench.synthetic import Texts
from commonplace import AsyncClient, open_memory
from commonplace.compose.open_agent import open_agent
from commonplace.ports.agent_client import AgentClient
from commonplace.ports.memory_client import MemoryClient
from commonplace.settings import load_settings
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.values.turn_event import MemoryLearned, TurnEnded, TurnFailed

RECORDS: Final = 10_000
TURNS: Final = 60
_WARM_UP: Final = 10
_TURNS_A_SESSION: Final = 10
_LIMIT: Final = 10
_PATIENCE: Final = 30.0
_WORKSPACE: Final = SCOPE.partition(":")[2]
_ECHO: Final = """
import sys, uvicorn
from fastapi import FastAPI, Request
app = FastAPI()

@app.post("/echo")
async def echo(request: Request) -> dict:
    return {"heard": (await request.json())["text"]}

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


@dataclass(slots=True)
class Times:
    """Milliseconds. `turns`: from the question to the reply that is kept; `tails`: from there to what was learned."""

    turns: list[float] = field(default_factory=list[float])
    tails: list[float] = field(default_factory=list[float])
    searches: list[float] = field(default_factory=list[float])
    echoes: list[float] = field(default_factory=list[float])
    fsyncs: list[float] = field(default_factory=list[float])
    own: list[float] = field(default_factory=list[float])
    """What the processor did for this process in a turn, its learning included: the same on a busy machine."""

    def row(self, way: str, records: int) -> dict[str, Any]:
        return {
            "way": way,
            "records": records,
            "turns": len(self.turns),
            **_figures("turn", self.turns),
            **_figures("search", self.searches),
            **_figures("learning", self.tails),
            **_figures("echo", self.echoes),
            **_figures("fsync", self.fsyncs),
            **_figures("processor", self.own),
        }


def _figures(name: str, values: list[float]) -> dict[str, Any]:
    if not values:
        return {}
    return {f"{name}_{word}_ms": round(percentile(values, share), 2) for word, share in (("p50", 0.5), ("p95", 0.95))}


def measure(folder: Path, records: int, turns: int) -> list[dict[str, Any]]:
    """A row for each way to talk to it."""
    texts = Texts()
    home = folder / "home"
    home.mkdir(mode=0o700)
    with open_memory(home / "memory.db", embedder="static") as memory:
        ingest(memory, texts.batches(records, BATCH), lambda _: SCOPE)
    questions = texts.questions(turns + _WARM_UP)
    rows: list[dict[str, Any]] = []
    for way, opened in (("embedded", _embedded), ("http", _over_http)):
        times = asyncio.run(_talked(opened, home, questions, records))
        rows.append(times.row(way, records))
    return rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Partner:
    agent: AgentClient
    memory: MemoryClient
    echo: Callable[[str], Any] | None = None


Way = Callable[[Path], AbstractAsyncContextManager[Partner]]


async def _talked(opened: Way, home: Path, questions: list[str], records: int) -> Times:
    times = Times()
    async with opened(home) as partner:
        session = ""
        for number, question in enumerate(questions):
            if number == _WARM_UP:
                # The index of the scope is brought into memory meanwhile, as in a daemon that has been up for a while.
                await asyncio.sleep(records / LOADED_PER_S)
                times = Times()
            if number % _TURNS_A_SESSION == 0:
                session = (await partner.memory.create_session("assistant", workspace=_WORKSPACE)).id
            await _one(partner, session, question, times, home)
    return times


async def _one(partner: Partner, session: str, question: str, times: Times, home: Path) -> None:
    begin, used = time.perf_counter(), time.process_time()
    ticket = await partner.agent.say(session, question)
    ended = begin
    async with asyncio.timeout(_PATIENCE):
        async for heard in partner.agent.hear(session, after=ticket.last_event):
            if isinstance(heard.event, TurnFailed):
                raise RuntimeError(heard.event.message)
            if isinstance(heard.event, TurnEnded):
                ended = time.perf_counter()
                times.turns.append((ended - begin) * 1e3)
            if isinstance(heard.event, MemoryLearned):
                break
    times.tails.append((time.perf_counter() - ended) * 1e3)
    if partner.echo is None:
        times.own.append((time.process_time() - used) * 1e3)
    begin = time.perf_counter()
    await partner.memory.search(question, scopes=[SCOPE], limit=_LIMIT)
    times.searches.append((time.perf_counter() - begin) * 1e3)
    if partner.echo is not None:
        begin = time.perf_counter()
        await partner.echo(question)
        times.echoes.append((time.perf_counter() - begin) * 1e3)
    times.fsyncs.append(_fsync(home / "fsync"))


def _fsync(path: Path) -> float:
    with path.open("ab", buffering=0) as file:
        file.write(b"x" * 300)
        begin = time.perf_counter()
        os.fsync(file.fileno())
        return (time.perf_counter() - begin) * 1e3


# ---- the ways


@asynccontextmanager
async def _embedded(home: Path) -> AsyncGenerator[Partner]:
    async with open_agent(load_settings(home=home, workspace=home)) as opened:
        yield Partner(agent=opened.agent, memory=opened.memory)


@asynccontextmanager
async def _over_http(home: Path) -> AsyncGenerator[Partner]:
    with running_daemon(home, "--workspace", str(home)) as daemon, _bare_echo(daemon) as address:
        async with AsyncClient(daemon.url, daemon.token) as client, httpx.AsyncClient(base_url=address) as bare:

            async def echo(text: str) -> None:
                (await bare.post("/echo", json={"text": text})).raise_for_status()

            yield Partner(agent=client, memory=client, echo=echo)


@contextmanager
def _bare_echo(daemon: Daemon) -> Generator[str]:
    """FastAPI alone, on the port beside the daemon's."""
    port = httpx.URL(daemon.url).port or 0
    port = port + 1 if port < 65_535 else port - 1
    process = subprocess.Popen([sys.executable, "-c", _ECHO, str(port)])
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _PATIENCE
    try:
        while True:
            with suppress(httpx.TransportError):
                httpx.post(f"{address}/echo", json={"text": "up"}).raise_for_status()
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("The echo does not answer.")
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=5)
