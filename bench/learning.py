"""
What learning costs those who wait: a fact handed over until it is filed, and what extraction adds to the request it follows.

One real daemon on SQLite, no model, asked by one client over one connection. Whatever a request leaves to be done is done before
the next one is timed, and a request with extraction takes turns with the same one without, so that both meet the same machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

import httpx

from bench.daemon import processor_time
from bench.extraction import transcripts
from bench.machine import percentile
from bench.scale import scratch
from bench.sets import OWN
from commonplace.testing.daemon import running_daemon

RUNS: Final = 5
FACTS: Final = 40
PAIRS: Final = 60
IDLE: Final = 10.0
_WAIT: Final = {"wait": 10}
_PATIENCE: Final = 30.0
_SETTLED: Final = 1.0
_REFUSED: Final = 400
_ENDED: Final = frozenset({"completed", "failed", "done"})
_FIRST_MOMENT: Final = 1_780_000_000_000

Asked = Callable[[int], tuple[float, str | None]]
"""One request of a pair: the seconds it took, and the task it left to be done."""


def timed(client: httpx.Client, path: str, body: object, *, refused: bool = False) -> tuple[float, dict[str, Any]]:
    """Seconds to the answer, and the answer. Raises where it is not the one that was to be expected."""
    began = time.perf_counter()
    answer = client.post(path, json=body)
    took = time.perf_counter() - began
    if refused != (answer.status_code == _REFUSED):
        raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text}")
    if not refused:
        answer.raise_for_status()
    return took, answer.json()


def ended(client: httpx.Client, path: str) -> dict[str, Any]:
    """Wait for a task to end, as the clients of the package do."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        told = client.get(path, params=_WAIT).raise_for_status().json()
        state = told.get("status", told.get("state"))
        if state == "failed":
            raise RuntimeError(f"{path} failed: {told}")
        if state in _ENDED:
            return told
    raise TimeoutError(f"{path} has not ended.")


# ---- a fact handed over


def remembered(client: httpx.Client, facts: Sequence[str]) -> tuple[list[float], list[float]]:
    """For each fact the seconds until it was filed, and until the request was answered."""
    filed, queued = list[float](), list[float]()
    for fact in facts:
        began = time.perf_counter()
        took, answer = timed(client, "/workspace/memory/remember", {"content": fact})
        ended(client, f"/workspace/memory/remember/{answer['taskId']}")
        filed.append(time.perf_counter() - began)
        queued.append(took)
    return filed, queued


def sentences() -> list[str]:
    """Things that people noted, of the project's own evaluation set."""
    lines = map(json.loads, (OWN / "english.jsonl").read_text(encoding="utf-8").splitlines())
    return [str(line["text"]) for line in lines if line["type"] == "record"]


def remembering(runs: int, facts: int) -> dict[str, Any]:
    """Each run has a daemon and a home of its own: what is only slow the first time is in every first fact."""
    texts = sentences()
    filed, queued, firsts = list[float](), list[float](), list[float]()
    for n in range(runs):
        with (
            scratch("learning-remember") as home,
            running_daemon(home, env={"COMMONPLACE_WORKSPACE": str(home)}) as daemon,
            daemon.client() as client,
        ):
            time.sleep(_SETTLED)
            took, answered = remembered(client, [texts[(n * facts + m) % len(texts)] for m in range(facts)])
        filed, queued = filed + took[1:], queued + answered[1:]
        firsts.append(took[0])
    return {
        "runs": runs,
        "facts": runs * facts,
        "median_ms": _ms(median(filed)),
        "p95_ms": _ms(percentile(filed, 0.95)),
        "first_ms": _ms(median(firsts)),
        "slowest_first_ms": _ms(max(firsts)),
        "queued_ms": _ms(median(queued)),
    }


# ---- what extraction adds


def paired(client: httpx.Client, what: str, pairs: int, on: Asked, off: Asked) -> dict[str, Any]:
    """The same request with extraction and without, in turns; the one before is done with before the next is sent."""
    on_s, off_s, learned = list[float](), list[float](), list[float]()
    for n in range(pairs + 1):
        found: dict[bool, float] = {}
        for extracts in (True, False) if n % 2 else (False, True):
            found[extracts], task = (on if extracts else off)(n)
            answered = time.perf_counter()
            if task is not None:
                ended(client, f"/v1/tasks/{task}")
                learned.append(found[extracts] + time.perf_counter() - answered)
        # The first of each warms the way.
        if n:
            on_s.append(found[True])
            off_s.append(found[False])
    added = [a - b for a, b in zip(on_s, off_s, strict=True)]
    return {
        "request": what,
        "pairs": pairs,
        "with_ms": _ms(median(on_s)),
        "without_ms": _ms(median(off_s)),
        "added_ms": _ms(median(added)),
        "added_p95_ms": _ms(percentile(added, 0.95)),
        "learned_after_ms": _ms(median(learned)) if learned else None,
    }


def flushing(client: httpx.Client, pairs: int) -> dict[str, Any]:
    """With: a chat in which something was said. Without: one in which nothing was."""
    told = transcripts()
    shown = client.post("/users", json={"user_id": "bench"}).raise_for_status().json()

    def on(n: int) -> tuple[float, str | None]:
        turns = told[n % len(told)]["turns"]
        messages = [_message(turn, n * 1_000 + place) for place, turn in enumerate(turns)]
        body = {**shown, "session_id": f"chat:{n}"}
        client.post("/memories/add", json={**body, "messages": messages}).raise_for_status()
        took, answer = timed(client, "/memories/flush", body)
        return took, answer["job"]

    def off(n: int) -> tuple[float, str | None]:
        return timed(client, "/memories/flush", {**shown, "session_id": f"chat:silent-{n}"})[0], None

    return paired(client, "POST /memories/flush", pairs, on, off)


def extracting(client: httpx.Client, pairs: int) -> dict[str, Any]:
    """With: a conversation. Without: the same, turned down because it names nobody who is to learn from it."""
    told = transcripts()

    def turns(n: int) -> list[dict[str, str]]:
        return told[n % len(told)]["turns"]

    def on(n: int) -> tuple[float, str | None]:
        took, answer = timed(client, "/v1/extract", {"turns": turns(n), "scope": f"agent:bench-{n}"})
        return took, answer["job"]["id"]

    def off(n: int) -> tuple[float, str | None]:
        return timed(client, "/v1/extract", {"turns": turns(n)}, refused=True)[0], None

    return paired(client, "POST /v1/extract", pairs, on, off)


def _message(turn: dict[str, str], at: int) -> dict[str, Any]:
    role = "assistant" if turn["speaker"] == "assistant" else "user"
    return {"sender_id": turn["speaker"], "role": role, "timestamp": _FIRST_MOMENT + at, "content": turn["text"]}


# ---- all of it


def measure(runs: int = RUNS, facts: int = FACTS, pairs: int = PAIRS, idle: float = IDLE) -> dict[str, Any]:
    """Facts first; then extraction, and what a daemon spends that has learned all that and has nothing to do."""
    filed = remembering(runs, facts)
    with scratch("learning-extraction") as home, running_daemon(home) as daemon, daemon.client() as client:
        added = [flushing(client, pairs), extracting(client, pairs)]
        with processor_time([daemon.process.pid]) as spent:
            time.sleep(idle)
    at_rest = {"seconds": idle, "idle_cores": round(spent["seconds"] / idle, 4)}
    return {"remember": filed, "extraction": added, "idle": at_rest}


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 2)
