"""Speed and size by the number of records, each size in a process of its own, so that memory is counted cleanly."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from bench.machine import SCRATCH, forget_peak, latency, peak, resident, size_of
from bench.synthetic import Texts
from commonplace import Memory, Note, open_memory

T = TypeVar("T")

BATCH = 1_000
QUERIES = 200
COLD_QUERIES = 20
SCOPE = "workspace:bench"
SMALL = 1_000
_SCOPES_BESIDE = 1_000
_DIMENSION = 256
_PATIENCE = 90.0
_EARLY = 10
_LONG = 1_400
_LONGEST = 10_000
LOADED_PER_S = 20_000


def apart(work: Callable[..., T], *given: object) -> T:
    """Run `work` in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


@contextmanager
def scratch(name: str) -> Generator[Path]:
    """An empty folder, gone afterwards."""
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ingest(memory: Memory, batches: Iterator[list[str]], scope: Callable[[int], str]) -> tuple[int, int, float]:
    """Records, bytes of text, and the seconds the memory took; making the texts is not counted."""
    records, size, seconds = 0, 0, 0.0
    for texts in batches:
        notes = [Note(text=text, scope=scope(records + n)) for n, text in enumerate(texts)]
        start = time.perf_counter()
        memory.put_many(notes)
        seconds += time.perf_counter() - start
        records += len(texts)
        size += sum(len(text.encode()) for text in texts)
    return records, size, seconds


def timed_searches(memory: Memory, questions: Sequence[str], scope: str) -> list[float]:
    """Seconds of each search; fewer than were asked for where they take too long together."""
    seconds: list[float] = []
    for question in questions:
        if sum(seconds) > _PATIENCE:
            break
        start = time.perf_counter()
        memory.search(question, scopes=[scope], limit=10)
        seconds.append(time.perf_counter() - start)
    return seconds


def one_scope(records: int, queries: int, folder: Path) -> dict[str, Any]:
    """All records in one scope."""
    texts = Texts()
    questions = texts.questions(queries + _EARLY)
    file = folder / "one.db"
    before = resident()
    forget_peak()
    with open_memory(file, embedder="static") as memory:
        _, size, seconds = ingest(memory, texts.batches(records, BATCH), lambda _: SCOPE)
        ingest_peak = peak()
    stored = size_of(folder)
    forget_peak()
    with open_memory(file) as memory:
        # The store answers the first. The second begins to bring a large scope into memory, and the store answers on
        # until it is there.
        early = timed_searches(memory, questions[:_EARLY], SCOPE)
        time.sleep(records / LOADED_PER_S)
        taken = timed_searches(memory, questions[_EARLY:], SCOPE)
        after = resident()
        search_peak = peak()
    return {
        "records": records,
        "ingest_per_s": round(records / seconds),
        "ingest_s": round(seconds, 2),
        "first_search_ms": round(early[0] * 1e3, 1),
        "second_search_ms": round(early[1] * 1e3, 1),
        "slowest_of_first_ten_ms": round(max(early) * 1e3, 1),
        **latency(taken),
        "resident_before_mib": _mib(before),
        "ingest_peak_mib": _mib(ingest_peak),
        "after_search_mib": _mib(after),
        "search_peak_mib": _mib(search_peak),
        "text_mb": round(size / 1e6, 2),
        "file_mb": round(stored / 1e6, 2),
        "file_over_text_and_vectors": round(stored / (size + records * _DIMENSION), 3),
    }


def scope_in_store(records: int, queries: int, folder: Path) -> dict[str, Any]:
    """The same small scope alone, and in a store of so many records that the others spread over many scopes."""
    texts = Texts()
    stores = {"alone": 0, "inside": max(records - SMALL, 0)}
    for name, beside in stores.items():
        with open_memory(folder / f"{name}.db", embedder="static") as memory:
            several = min(_SCOPES_BESIDE, max(beside // SMALL, 1))
            ingest(memory, texts.batches(beside, BATCH, start=SMALL), partial(_one_of, several))
            ingest(memory, texts.batches(SMALL, BATCH), lambda _: SCOPE)
    taken: dict[str, list[float]] = {name: [] for name in stores}
    with ExitStack() as opened:
        memories = {name: opened.enter_context(open_memory(folder / f"{name}.db")) for name in stores}
        # In turns, so that whatever else the machine does meets both alike.
        for question in texts.questions(queries + 3):
            for name, memory in memories.items():
                taken[name] += timed_searches(memory, [question], SCOPE)
    figures: dict[str, Any] = {"records": SMALL, "store": records}
    for name, seconds in taken.items():
        figures[name] = {"first_search_ms": round(seconds[0] * 1e3, 2), **latency(seconds[3:])}
    for figure in ("p50_ms", "p95_ms", "first_search_ms"):
        figures[f"ratio_{figure.removesuffix('_ms')}"] = round(figures["inside"][figure] / figures["alone"][figure], 2)
    return figures


def many_scopes(scopes: int, each: int, queries: int, folder: Path) -> dict[str, Any]:
    """A question as long as one may be against a short one, over many scopes of which nothing is in memory."""
    texts, file = Texts(), folder / "many.db"
    with open_memory(file, embedder="static") as memory:
        ingest(memory, texts.batches(scopes * each, BATCH), partial(_one_of, scopes))
    questions = texts.questions(_LONG)
    words = list(dict.fromkeys(word for question in questions for word in question.split()))
    taken: dict[str, list[float]] = {"short": [], "long": []}
    for question in questions[:queries]:
        for name, text in {"short": question, "long": f"{question} {' '.join(words)}"[:_LONGEST]}.items():
            # Opened anew: nothing is in memory, and whatever else the machine does meets both alike.
            with open_memory(file) as memory:
                start = time.perf_counter()
                memory.search(text, limit=10)
                taken[name].append(time.perf_counter() - start)
    figures: dict[str, Any] = {"scopes": scopes, "records": scopes * each, "words": len(words)}
    figures |= {name: latency(seconds) for name, seconds in taken.items()}
    figures["ratio_p50"] = round(figures["long"]["p50_ms"] / figures["short"]["p50_ms"], 2)
    return figures


def _one_of(several: int, n: int) -> str:
    return f"workspace:other-{n % several}"


def _mib(size: int) -> float:
    return round(size / 2**20, 1)
