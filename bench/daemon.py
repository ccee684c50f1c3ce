"""
The daemon under load: real processes, asked by wrk over 32 connections while records come in, over both stores; then what an
idle one costs, how soon it answers, and what a thousand idle event streams add.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import subprocess
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from bench import streams
from bench.machine import percentile
from bench.postgres import server
from bench.scale import BATCH, SCOPE, ingest, scratch
from bench.synthetic import Texts
from commonplace import open_memory
from commonplace.testing.daemon import Daemon, running_daemon

CLIENTS: Final = 32
WORKERS: Final = 2
WRITES: Final = 50
QUESTIONS: Final = 400
WARM_UP: Final = 15
STARTS: Final = 5
_LIMIT: Final = 10
_CALM: Final = 0.2
_CALM_WAIT: Final = 120.0

ASK: Final = """local questions = {%s}
local head = {["Authorization"] = "Bearer %s", ["Content-Type"] = "application/json"}
local asked = 0

request = function()
  asked = asked %% #questions + 1
  return wrk.format("POST", "/v1/search", head, questions[asked])
end

done = function(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '{"searches": %%d, "seconds": %%.3f, "mean_ms": %%.3f, "p50_ms": %%.3f, "p90_ms": %%.3f, "p99_ms": %%.3f, "max_ms": %%.3f, "errors": %%d}\\n',
    summary.requests, summary.duration / 1e6, latency.mean / 1e3, latency:percentile(50) / 1e3,
    latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
    failed.status + failed.connect + failed.read + failed.write + failed.timeout))
end
"""


class WrkMissing(Exception):
    """wrk is not installed. On Debian and Ubuntu: `apt-get install wrk`."""

    def __str__(self) -> str:
        return self.__doc__ or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """How much, and how long."""

    records: int
    seconds: int
    warm_up: int = WARM_UP
    clients: int = CLIENTS
    writes: int = WRITES


# ---- asking


def script(folder: Path, texts: Texts, token: str) -> Path:
    """What wrk sends: one question after another."""
    bodies = [json.dumps({"text": question, "limit": _LIMIT}) for question in texts.questions(QUESTIONS)]
    path = folder / "ask.lua"
    path.write_text(ASK % (", ".join(json.dumps(body) for body in bodies), token), encoding="utf-8")
    path.chmod(0o600)
    return path


def wrk(url: str, asked: Path, clients: int, seconds: int) -> dict[str, Any]:
    """Ask for so many seconds. Raises WrkMissing."""
    program = shutil.which("wrk")
    if program is None:
        raise WrkMissing
    command = [program, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "10s", "-s", str(asked), url]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    found["searches_per_s"] = round(found["searches"] / found["seconds"], 1)
    return found


# ---- writing meanwhile


@dataclass(slots=True)
class Written:
    seconds: list[float] = field(default_factory=list[float])
    errors: int = 0
    took: float = 0.0

    def figures(self) -> dict[str, Any]:
        if not self.seconds:
            return {"writes_per_s": 0.0, "write_p50_ms": None, "write_p99_ms": None, "write_errors": self.errors}
        return {
            "writes_per_s": round(len(self.seconds) / self.took, 1),
            "write_p50_ms": round(percentile(self.seconds, 0.5) * 1e3, 1),
            "write_p99_ms": round(percentile(self.seconds, 0.99) * 1e3, 1),
            "write_errors": self.errors,
        }


@contextmanager
def writing(daemon: Daemon, texts: list[str], rate: int) -> Generator[Written]:
    """Puts at an even pace, whether the ones before were answered or not; each is timed from when it was due."""
    written, ended = Written(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_write(daemon, texts, rate, written, ended)))
    began = time.perf_counter()
    thread.start()
    try:
        yield written
    finally:
        ended.set()
        written.took = time.perf_counter() - began
        thread.join()


async def _write(daemon: Daemon, texts: list[str], rate: int, written: Written, ended: threading.Event) -> None:
    async with (
        httpx.AsyncClient(base_url=daemon.url, headers=daemon.headers, timeout=10.0) as client,
        asyncio.TaskGroup() as group,
    ):
        began = time.perf_counter()
        for n, text in enumerate(texts):
            due = began + n / rate
            await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            if ended.is_set():
                break
            group.create_task(_put(client, text, due, written))


async def _put(client: httpx.AsyncClient, text: str, due: float, written: Written) -> None:
    try:
        answer = await client.post("/v1/records", json={"text": text, "scope": SCOPE})
    except httpx.TransportError:
        written.errors += 1
        return
    if answer.is_success:
        written.seconds.append(time.perf_counter() - due)
    else:
        written.errors += 1


# ---- the measurements


def filled(address: str, texts: Texts, records: int) -> None:
    with open_memory(address, embedder="static") as memory:
        ingest(memory, texts.batches(records, BATCH), lambda _: SCOPE)


@contextmanager
def address_of(store: str, folder: Path) -> Generator[str]:
    """An empty store of that kind."""
    if store == "postgres":
        with server(folder / "postgres") as address:
            yield address
    else:
        yield str(folder / "memory.db")


def under_load(store: str, load: Load) -> dict[str, Any]:
    """Searches and writes at the same time, and what the workers then hold."""
    texts = Texts()
    with scratch(f"daemon-{store}") as folder, address_of(store, folder) as address:
        filled(address, texts, load.records)
        quiet = calm()
        home = folder / "home"
        with running_daemon(home, "--workers", str(WORKERS), "--store", address) as daemon:
            asked = script(home, texts, daemon.token)
            # Long enough for every worker to have the scope in memory.
            wrk(daemon.url, asked, load.clients, load.warm_up)
            started = _workers(daemon)
            more = texts.batches(load.writes * (load.seconds + 30), BATCH, start=load.records)
            fresh = [text for batch in more for text in batch]
            busy = _busy()
            with processor_time(started) as spent, writing(daemon, fresh, load.writes) as written:
                found = wrk(daemon.url, asked, load.clients, load.seconds)
            busy = _busy() - busy
            held = [round(streams.resident(pid), 1) for pid in started]
            restarted = _workers(daemon) != started
    return {
        "store": store,
        **found,
        **written.figures(),
        "worker_mb": held,
        "workers_cores": round(spent["seconds"] / found["seconds"], 2),
        "cores_busy_besides": round((busy - spent["seconds"]) / found["seconds"], 2),
        "workers_died": restarted,
        "busy_elsewhere_before": quiet,
    }


def starts(times: int = STARTS) -> dict[str, Any]:
    """From the command to the first request answered with data, in a home of its own; and what the idle process holds."""
    seconds, fresh, used = list[float](), list[float](), list[float]()
    for _ in range(times):
        with scratch("daemon-start") as home:
            began = time.perf_counter()
            with running_daemon(home) as daemon, daemon.client() as client:
                client.get("/v1/stats").raise_for_status()
                seconds.append(time.perf_counter() - began)
                time.sleep(0.5)
                fresh.append(streams.resident(daemon.process.pid))
                client.post("/v1/records", json={"text": "The office moves to Lisbon in May."}).raise_for_status()
                client.post("/v1/search", json={"text": "where is the office?"}).raise_for_status()
                used.append(streams.resident(daemon.process.pid))
    return {
        "times": times,
        "first_answer_s": round(median(seconds), 2),
        "slowest_first_answer_s": round(max(seconds), 2),
        "idle_mb": round(max(fresh), 1),
        "after_a_put_and_a_search_mb": round(max(used), 1),
    }


def idle_streams(count: int = streams.COUNT) -> dict[str, float]:
    """As `bench.streams` measures it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return streams.measure(count)


# ---- the machine meanwhile


def calm(patience: float = _CALM_WAIT) -> float:
    """Wait until others leave the machine alone, but not for ever. How many cores were busy without us."""
    deadline = time.monotonic() + patience
    while True:
        busy = _busy()
        time.sleep(3)
        cores = (_busy() - busy) / 3
        if cores <= _CALM or time.monotonic() > deadline:
            return round(cores, 2)


def _busy() -> float:
    """Seconds all cores have worked since the machine was started; 0 where the system does not say."""
    told = Path("/proc/stat")
    if not told.exists():
        return 0.0
    user, nice, system, _, _, *rest = map(int, told.read_text(encoding="ascii").split("\n", 1)[0].split()[1:])
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def _workers(daemon: Daemon) -> list[int]:
    """The processes that answer, as they say in the log."""
    told: list[Mapping[str, Any]] = [json.loads(line) for line in daemon.lines() if line.startswith("{")]
    return sorted(line["pid"] for line in told if line.get("event") == "started")


@contextmanager
def processor_time(processes: list[int]) -> Generator[dict[str, float]]:
    """The seconds of processor time that these have spent when the block ends."""
    spent: dict[str, float] = {}
    before = sum(map(_spent, processes))
    yield spent
    spent["seconds"] = sum(map(_spent, processes)) - before


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
