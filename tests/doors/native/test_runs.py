"""Runs and artifacts at the native door and through the client: whose they are, how they end, and what comes out."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.errors import Forbidden, InvalidInput
from commonplace.testing.callers import operator
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import TOKEN, InProcess, served
from commonplace.values.moment import to_iso
from commonplace.values.run import RunDraft, RunEventDraft
from commonplace.values.run_errors import ArtifactNotFound, ArtifactNotText, ArtifactTooLarge, RunNotFound

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:4170"


def entered(daemon: InProcess, secret: str = TOKEN) -> AsyncClient:
    transport = httpx.ASGITransport(app=daemon.app, client=("127.0.0.1", 50_000))
    return AsyncClient(URL, secret, transport=transport, timeout=5.0)


async def person(daemon: InProcess, name: str, role: str = "writer") -> AsyncClient:
    answer = await daemon.client.post("/v1/keys", json={"name": f"{name}-{role}", "role": role, "user": name})
    assert answer.is_success, answer.text
    return entered(daemon, answer.json()["secret"])


async def begun(daemon: InProcess, *types: str, session: str | None = None) -> str:
    runs, who = daemon.services.runs, operator()
    run = (await runs.create(who, RunDraft(objective="Ship it", session=session))).run_id
    for kind in types:
        await runs.append(who, run, RunEventDraft(type=kind))
    return run


async def test_a_client_lists_shows_replays_keeps_and_deletes_a_run(running: InProcess) -> None:
    run = await begun(running, "session_run_started", "note", session="s1")
    other = await begun(running)
    async with entered(running) as client:
        page = await client.runs.list()
        mine = await client.runs.list(session="s1", status="running")
        first = await client.runs.list(limit=1)
        rest = await client.runs.list(limit=1, cursor=first.cursor)
        checkpoint = await client.runs.checkpoint(run, "halfway")
        replay = await client.runs.replay(run)
        past = await client.runs.replay(run, upto=0, from_checkpoint=False)
        events = await client.runs.events(run, after=1)

        assert {state.run_id for state in page.runs} == {run, other}
        assert [state.run_id for state in mine.runs] == [run]
        assert {first.runs[0].run_id, rest.runs[0].run_id} == {run, other}
        assert rest.cursor is None
        assert (await client.runs.get(run)).status == "running"
        assert (checkpoint.seq, await client.runs.checkpoints(run)) == (2, [2])
        assert (replay.drift.mismatch, replay.checkpoint_seq, past.replay.status) == (False, 2, "queued")
        assert [event.seq for event in events] == [2]
        assert (await client.runs.blackboard(run)).facts == ()
        await client.runs.delete(run)
        with pytest.raises(RunNotFound):
            await client.runs.get(run)
        with pytest.raises(InvalidInput):
            await client.runs.list(cursor="nonsense")


async def test_runs_that_nobody_has_written_to_for_long_are_deleted_and_0_days_keep_them(home: Path) -> None:
    clock = FakeClock()
    async with served(home, clock=clock, runs_days=2) as daemon:
        old = await begun(daemon)
        clock.advance(timedelta(days=1))
        kept = await begun(daemon)
        clock.advance(timedelta(days=1, seconds=1))

        assert await daemon.services.runs.expire() == 1

        page = (await daemon.client.get("/v1/runs")).json()
        assert [run["run_id"] for run in page["runs"]] == [kept]
        rows = (await daemon.client.get(f"/v1/audit?action=run.delete&run={old}")).json()["rows"]
        assert [(row["actor"], row["details"]) for row in rows] == [("daemon", {"expired": True})]
    async with served(home, clock=clock, runs_days=0) as daemon:
        clock.advance(timedelta(days=1_000))
        assert await daemon.services.runs.expire() == 0


async def test_everyones_runs_are_for_an_admin(running: InProcess) -> None:
    run = await begun(running)
    async with await person(running, "ada", "admin") as ada, await person(running, "bo") as bo:
        assert (await ada.runs.list()).runs == ()
        assert [state.run_id for state in (await ada.runs.list(everyone=True)).runs] == [run]
        assert (await ada.runs.get(run)).owner == "local"
        with pytest.raises(Forbidden):
            await bo.runs.list(everyone=True)
        with pytest.raises(RunNotFound):
            await bo.runs.get(run)


# ---- artifacts


async def test_a_file_comes_back_as_an_attachment_that_no_browser_runs(
    running: InProcess, http: httpx.AsyncClient
) -> None:
    page = b"<script>alert(1)</script>"
    added = await http.post(
        "/v1/artifacts", params={"name": 'bö "x".html'}, content=page, headers={"Content-Type": "text/html"}
    )
    id = added.json()["id"]

    answer = await http.get(f"/v1/artifacts/{id}/content")

    assert (added.status_code, answer.content) == (201, page)
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''b%C3%B6%20%22x%22.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"].startswith("text/html")
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_no_search_finds_an_artifact_until_somebody_who_may_promotes_it(running: InProcess) -> None:
    run = await begun(running)
    async with entered(running) as client:
        artifact = await client.artifacts.add(
            "report.md", b"The lighthouse blinks twice.", type="text/markdown", run=run
        )
        before = await client.search("lighthouse")

        record = await client.artifacts.promote(artifact.id, "workspace:web", key="report")

        hits = await client.search("lighthouse")
        assert (before, [hit.record.id for hit in hits]) == ([], [record.id])
        assert (record.trust, record.source, record.provenance.file) == ("model_generated", "artifact", artifact.uri)
        assert (await client.artifacts.get(artifact.id)).record == record.id
        await client.artifacts.delete(artifact.id)
        assert (await client.get(record.id)).text == "The lighthouse blinks twice."


async def test_an_artifact_is_its_owners_and_promotion_needs_the_scope(running: InProcess) -> None:
    async with await person(running, "ana") as ana, await person(running, "bo") as bo:
        reader = await person(running, "ana", "reader")
        artifact = await ana.artifacts.add("a.txt", b"Mine.", type="text/plain")

        assert await reader.artifacts.content(artifact.id) == b"Mine."
        for ask in (bo.artifacts.get, bo.artifacts.content, bo.artifacts.delete):
            with pytest.raises(ArtifactNotFound):
                await ask(artifact.id)
        assert (await bo.artifacts.list()).artifacts == ()
        with pytest.raises(Forbidden):
            await ana.artifacts.promote(artifact.id, "user:bo")
        with pytest.raises(Forbidden):
            await reader.artifacts.promote(artifact.id, "workspace:web")
        await reader.aclose()


async def test_a_file_that_is_too_large_or_no_text_or_of_a_run_of_others_is_refused(home: Path) -> None:
    async with served(home, max_artifact_mb=1) as daemon, entered(daemon) as client:
        with pytest.raises(ArtifactTooLarge):
            await client.artifacts.add("big", b"x" * ((1 << 20) + 1))
        picture = await client.artifacts.add("p.png", b"\x89PNG\xff", type="image/png")
        with pytest.raises(ArtifactNotText):
            await client.artifacts.promote(picture.id, "workspace:web")
        with pytest.raises(RunNotFound):
            await client.artifacts.add("x", b"x", run="nobody")
        assert len((await client.artifacts.list()).artifacts) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "a/b"},
        {"name": ".."},
        {"name": "a\nb"},
        {"name": "x" * 256},
        {"name": "x", "type": "nonsense"},
        {"name": "x", "type": "text/html\r\nX-Evil: 1"},
        {"name": "x", "expires_at": "2001-01-01T00:00:00Z"},
    ],
)
async def test_a_name_or_a_type_that_is_none_is_refused(http: httpx.AsyncClient, fields: dict[str, str]) -> None:
    headers = {"Content-Type": "application/octet-stream"}

    answer = await http.post("/v1/artifacts", params=fields, content=b"x", headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")


async def test_an_artifact_goes_when_its_time_is_over_and_is_found_by_nobody_before_it_is_swept(home: Path) -> None:
    clock = FakeClock()
    async with served(home, clock=clock, artifacts_days=2) as daemon, entered(daemon) as client:
        ends = clock.now() + timedelta(days=1)
        early = await client.artifacts.add("early", b"x", expires_at=ends)
        late = await client.artifacts.add("late", b"x")
        clock.advance(timedelta(days=1))

        with pytest.raises(ArtifactNotFound):
            await client.artifacts.get(early.id)
        assert [artifact.id for artifact in (await client.artifacts.list()).artifacts] == [late.id]
        assert await daemon.services.artifacts.expire() == 1
        assert await client.artifacts.content(late.id) == b"x"
        clock.advance(timedelta(days=1))
        assert await daemon.services.artifacts.expire() == 1
        assert to_iso(ends) == to_iso(early.expires_at or ends)


async def test_a_list_of_artifacts_is_paged_and_narrowed_to_a_run(running: InProcess) -> None:
    run = await begun(running)
    async with entered(running) as client:
        of_run = await client.artifacts.add("a", b"1", run=run)
        await client.artifacts.add("b", b"2")
        first = await client.artifacts.list(limit=1)
        rest = await client.artifacts.list(limit=1, cursor=first.cursor)

        assert [artifact.id for artifact in (await client.artifacts.list(run=run)).artifacts] == [of_run.id]
        assert {artifact.name for page in (first, rest) for artifact in page.artifacts} == {"a", "b"}
        assert rest.cursor is None
        with pytest.raises(InvalidInput):
            await client.artifacts.list(cursor="nonsense")
