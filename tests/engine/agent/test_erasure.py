"""With a session go its runs, with a person all of theirs, and nobody else's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commonplace.service.local import LocalMemory
from commonplace.testing.agents import WHO, TurnBench
from commonplace.values.artifact import ArtifactDraft, ArtifactQuery
from commonplace.values.principal import Principal
from commonplace.values.run import RunDraft, RunQuery

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", tenant=WHO.tenant, role="writer")
BOB = Principal(subject="bob", tenant=WHO.tenant, role="writer")
ELSEWHERE = replace(ANA, tenant="acme/web")


async def runs(bench: TurnBench, who: Principal) -> set[str]:
    return {run.objective for run in (await bench.services.runs.list(who, RunQuery())).runs}


async def fill(bench: TurnBench) -> None:
    for who in (ANA, BOB, ELSEWHERE):
        for session in ("talk", "talk-2"):
            draft = RunDraft(objective=f"{who.subject} in {session}", session=session)
            await bench.services.runs.create(who, draft)
        await bench.services.artifacts.add(who, ArtifactDraft(name="a.txt", type="text/plain"), b"mine")


async def test_a_deleted_session_leaves_no_run_in_which_it_could_be_read(bench: TurnBench) -> None:
    await fill(bench)
    memory = LocalMemory(bench.services, ANA)
    await memory.create_session("assistant", id="talk")

    await memory.delete_session("talk")

    assert await runs(bench, ANA) == {"ana in talk-2"}
    # Whoever says of a run that it is of somebody's session keeps it.
    assert await runs(bench, BOB) == {"bob in talk", "bob in talk-2"}
    assert len(await runs(bench, ELSEWHERE)) == 2


async def test_a_person_who_is_purged_leaves_neither_runs_nor_artifacts(bench: TurnBench) -> None:
    await fill(bench)

    await LocalMemory(bench.services, WHO).purge(user="ana")

    for who, count in ((ANA, 0), (BOB, 2), (ELSEWHERE, 2)):
        files = (await bench.services.artifacts.list(who, ArtifactQuery())).artifacts
        assert (len(await runs(bench, who)), len(files)) == (count, count // 2)
