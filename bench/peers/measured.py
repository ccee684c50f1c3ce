"""What happens inside a peer's environment: texts and vectors are given, so each pays for its own work alone.

Needs numpy and the standard library, nothing of ours. A peer is a class with `add` and `search`; `run` puts records in
until all are there or the time is up, asks the questions, and writes what it saw as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
SETTLED = 5
"""Searches before the clock counts: the first ones open, load and plan."""


class Peer(Protocol):
    """Ids are numbers written out, unique in the store."""

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None: ...

    def search(self, text: str, vector: NDArray[np.float32], limit: int) -> Sequence[str]: ...


class Given:
    """The work laid out in a folder by `bench.peers.run`."""

    def __init__(self, folder: Path, size: int) -> None:
        told = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        self.texts: list[str] = told["records"][:size]
        self.questions: list[str] = told["questions"]
        self.vectors: Vectors = np.load(folder / "records.npy", mmap_mode="r")[:size]
        self.asked: Vectors = np.load(folder / "questions.npy")


def run(open_peer: Callable[[Path], Peer], packages: Sequence[str], batch: int, note: str) -> None:
    """Called by each peer's module, as a program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--given", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--ingest-cap", type=float, default=120.0)
    parser.add_argument("--search-cap", type=float, default=60.0)
    asked = parser.parse_args()
    given = Given(asked.given, asked.size)
    peer = open_peer(asked.store)
    seen = _ingest(peer, given, batch, asked.ingest_cap) | _search(peer, given, asked.search_cap)
    told = {"versions": _versions(packages), "batch": batch, "note": note, **seen}
    asked.out.write_text(json.dumps(told), encoding="utf-8")
    # A peer's background threads shall not hold up the run.
    os._exit(0)


def _versions(packages: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "from source"
    return found


def _ingest(peer: Peer, given: Given, batch: int, cap: float) -> dict[str, Any]:
    start, cpu, stored = time.perf_counter(), time.process_time(), 0
    for at in range(0, len(given.texts), batch):
        stop = min(at + batch, len(given.texts))
        peer.add([str(n) for n in range(at, stop)], given.texts[at:stop], np.array(given.vectors[at:stop]))
        stored = stop
        if time.perf_counter() - start > cap:
            break
    seconds = time.perf_counter() - start
    return {
        "stored": stored,
        "whole": stored == len(given.texts),
        "ingest_s": round(seconds, 3),
        "ingest_cpu_s": round(time.process_time() - cpu, 3),
        "ingest_per_s": round(stored / seconds, 1),
    }


def _search(peer: Peer, given: Given, cap: float) -> dict[str, Any]:
    for text, vector in zip(given.questions[:SETTLED], given.asked[:SETTLED], strict=True):
        peer.search(text, vector, 10)
    taken: list[float] = []
    start, cpu = time.perf_counter(), time.process_time()
    for text, vector in zip(given.questions[SETTLED:], given.asked[SETTLED:], strict=True):
        before = time.perf_counter()
        peer.search(text, vector, 10)
        taken.append(time.perf_counter() - before)
        if time.perf_counter() - start > cap:
            break
    spent = time.process_time() - cpu
    ordered = sorted(taken)
    return {
        "queries": len(taken),
        "p50_ms": round(ordered[len(ordered) // 2] * 1e3, 3),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)] * 1e3, 3),
        "cpu_ms_per_query": round(spent / len(taken) * 1e3, 3),
    }
