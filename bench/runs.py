"""
What a run costs: an event kept, early and late in its life, and its journal replayed.

A bare `fsync` is timed after each event, not before or after all of them: how long one takes changes by the second where others use the disk.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.machine import percentile
from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import MOST_AT_ONCE, STATE, RunFolder, these
from commonplace.runs.replay import replay
from commonplace.values.run import PatchDraft, RunDraft, RunEventDraft
from commonplace.values.scope import DEFAULT_TENANT

EVENTS: Final = 10_000
_SAMPLE: Final = 100
_PATCH_EVERY: Final = 20


def measure(folder: Path, events: int = EVENTS) -> list[dict[str, Any]]:
    """One row: a run of so many events, in `folder`."""
    archive, now = RunArchive(folder), datetime.now(UTC)
    run = archive.create(DEFAULT_TENANT, "bench", RunDraft(objective="Be measured"), now).run_id
    journal = archive.folder(DEFAULT_TENANT, run)
    early, early_fsync = _appends(journal, now)
    early_bytes = (journal.path / STATE).stat().st_size
    while (rest := events - _SAMPLE - journal.state().last_event_seq) > 0:
        journal.commit(these([_event(number) for number in range(min(MOST_AT_ONCE, rest))]), now)
    late, late_fsync = _appends(journal, now)
    replays = [_timed(lambda: replay(RunFolder(journal.path), from_checkpoint=False)) for _ in range(5)]
    return [
        {
            "events": journal.state().last_event_seq,
            "replay_ms": round(percentile(replays, 0.5), 1),
            "append_early_ms": round(percentile(early, 0.5), 2),
            "fsync_early_ms": round(percentile(early_fsync, 0.5), 2),
            "append_late_ms": round(percentile(late, 0.5), 2),
            "fsync_late_ms": round(percentile(late_fsync, 0.5), 2),
            "state_bytes_early": early_bytes,
            "state_bytes_late": (journal.path / STATE).stat().st_size,
            "open_ms": round(_timed(lambda: RunFolder(journal.path).state()), 2),
        }
    ]


def _appends(journal: RunFolder, now: datetime) -> tuple[list[float], list[float]]:
    """Milliseconds of each event, and of a bare `fsync` right after it."""
    events: list[float] = []
    syncs: list[float] = []
    with journal.path.with_name("fsync").open("ab", buffering=0) as file:

        def sync() -> None:
            file.write(b"x" * 300)
            os.fsync(file.fileno())

        for number in range(_SAMPLE):
            events.append(_timed(lambda n=number: journal.commit(these([_event(n)]), now)))
            syncs.append(_timed(sync))
    return events, syncs


def _event(number: int) -> RunEventDraft:
    fact = PatchDraft(op="add_fact", payload={"text": f"Finding {number}"}) if number % _PATCH_EVERY == 0 else None
    payload = {"tool": "grep", "call": str(number), "text": "some output of a tool " * 8}
    return RunEventDraft(type="tool_ended", payload=payload, patch=fact)


def _timed(work: Any) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000
