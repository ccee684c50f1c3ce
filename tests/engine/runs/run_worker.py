"""Commits to the run `r1`, in a process of its own: one that ends itself at a step, or that takes tasks as quickly as it can."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import these
from commonplace.runs.tasks import chosen_task
from commonplace.values.moment import to_ms
from commonplace.values.run import PatchDraft, RunEventDraft, RunState, TaskClaim
from commonplace.values.scope import DEFAULT_TENANT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def end_at(home: Path, step: str) -> None:
    def fault(name: str) -> None:
        if name == step:
            os._exit(9)

    folder = RunArchive(home, fault=fault).folder(DEFAULT_TENANT, "r1")
    draft = RunEventDraft(
        type="session_run_started", payload={"n": 1}, patch=PatchDraft(op="add_fact", payload={"text": "It rains."})
    )
    folder.commit(these([draft]), NOW)


def claim_all(home: Path, name: str) -> None:
    folder = RunArchive(home).folder(DEFAULT_TENANT, "r1")
    while True:
        chosen: list[str | None] = []

        def decide(state: RunState, _: object, chosen: list[str | None] = chosen) -> list[RunEventDraft]:
            choice = chosen_task(state.tasks, TaskClaim(agent_id=name), to_ms(NOW), f"{name}-token")
            chosen.append(choice.task_id)
            return list(choice.drafts)

        folder.commit(decide, NOW)
        if chosen[0] is None:
            return
        sys.stdout.write(f"{chosen[0]}\n")


if __name__ == "__main__":
    {"end_at": end_at, "claim_all": claim_all}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
