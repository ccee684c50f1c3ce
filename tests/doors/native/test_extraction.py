"""Extraction at the native door, its job, the clients and the command; what a director learned."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.jobs.payloads import TALK_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.service.extraction import EXTRACT
from commonplace.testing.daemon import TOKEN, InProcess
from commonplace.values.record import Turn

pytestmark = pytest.mark.anyio

FILLER = "assistant: " + "Could you tell me a little more about what you want to do next? " * 4
TALK = f"user: I live in Lisbon. Our CI runs on Buildkite.\n\n{FILLER}"
RUN = {"transcript": TALK, "agents": ["ana"], "workspace": "web", "session": "chat-1"}


async def extracted(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await http.post("/v1/extract", params={"wait": "true"}, json={**RUN, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def done(running: InProcess, id: str) -> dict[str, Any]:
    """The job, once a worker has done it."""
    services = running.services
    worker = Worker(
        services.desk.store,
        services.desk.clock,
        {EXTRACT: Queue(handler=services.extraction.work, payload=TALK_PAYLOAD)},
    )
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(5):
            while (job := (await running.client.get(f"/v1/tasks/{id}")).json())["state"] != "done":  # noqa: ASYNC110 - asked as anybody would ask
                await asyncio.sleep(0.01)
    finally:
        working.cancel()
        await asyncio.wait({working})
    return job


# ---- extract


async def test_who_waits_is_told_the_facts(http: httpx.AsyncClient) -> None:
    answer = await extracted(http)

    facts = {fact["scope"]: fact["text"] for fact in answer["facts"]}
    assert (answer["status"], answer["method"], answer["fallback"]) == ("extracted", "rules", None)
    assert facts == {"agent:ana": "The user lives in Lisbon", "workspace:web": "The team's CI runs on Buildkite"}
    assert {fact["session"] for fact in answer["facts"]} == {"chat-1"}


async def test_who_does_not_wait_gets_a_job_that_forgets_what_was_said(running: InProcess) -> None:
    queued = await running.client.post("/v1/extract", json=RUN)
    job = await done(running, queued.json()["job"]["id"])

    kept = await running.services.desk.store.jobs.job("default/default", job["id"])
    assert queued.status_code == 202
    assert queued.headers["Location"] == f"/v1/tasks/{job['id']}"
    assert (job["state"], job["result"]["status"], len(job["result"]["facts"])) == ("done", "extracted", 2)
    assert "Lisbon" not in repr(kept)


async def test_extractions_of_one_scope_come_one_after_another_and_those_of_others_do_not_wait(
    running: InProcess,
) -> None:
    for agent in ("ana", "ana", "bob"):
        await running.client.post("/v1/extract", json={**RUN, "agents": [agent]})

    store = running.services.desk.store
    claimed = [await store.jobs.claim_job([EXTRACT], "w1", timedelta(minutes=1)) for _ in range(3)]

    assert [job and job.payload["scope"] for job in claimed] == ["agent:ana", "agent:bob", None]


async def test_a_secret_is_not_kept_even_while_the_job_waits(running: InProcess) -> None:
    secret = "sk-ant-REDACTED"
    queued = await running.client.post("/v1/extract", json={**RUN, "transcript": f"{TALK}\n\nuser: my key is {secret}"})

    waiting = await running.services.desk.store.jobs.job("default/default", queued.json()["job"]["id"])
    assert secret not in repr(waiting)


async def test_the_same_run_again_teaches_nothing(http: httpx.AsyncClient) -> None:
    await extracted(http)
    again = await extracted(http)

    assert (again["status"], again["facts"], again["dropped"]) == ("no_extraction", [], {"known": 2})


async def test_what_was_recalled_into_the_run_is_not_learned_from_it(http: httpx.AsyncClient) -> None:
    await http.post("/v1/records", json={"text": "Our CI runs on Buildkite", "scope": "global"})
    await http.post("/v1/search", json={"text": "which CI?", "run": "run-1"})
    await http.post("/v1/context", json={"query": "which CI?", "run": "run-2"})
    answers = [await extracted(http, run=run) for run in ("run-1", "run-2")]

    assert [answer["dropped"].get("recalled") for answer in answers] == [1, 1]


async def test_days_count_from_the_time_of_the_talk(http: httpx.AsyncClient) -> None:
    said = f"user: We decided yesterday to move to Kafka.\n\n{FILLER}"
    answer = await extracted(http, transcript=said, at="2026-03-04T09:00:00Z")

    assert [fact["text"] for fact in answer["facts"]] == ["The team decided to move to Kafka [Tuesday 2026-03-03]"]
    assert answer["facts"][0]["at"] == "2026-03-03T00:00:00.000Z"


async def test_turns_may_be_given_one_by_one(http: httpx.AsyncClient) -> None:
    turns = [{"speaker": "Ana", "text": "I live in Lisbon.", "message": "m-1"}, {"speaker": "bot", "text": FILLER}]
    answer = await extracted(http, transcript=None, turns=turns, scope="user:ana")

    assert [(fact["scope"], fact["text"]) for fact in answer["facts"]] == [("user:ana", "Ana lives in Lisbon")]
    assert answer["facts"][0]["provenance"]["message"] == "m-1"


@pytest.mark.parametrize(
    "body",
    [
        {"transcript": TALK},
        {"agents": ["ana"]},
        {"transcript": TALK, "turns": [{"speaker": "a", "text": "b"}], "agents": ["ana"]},
        {"transcript": TALK, "scope": "nowhere:x"},
        {"transcript": TALK, "agents": [""]},
        {"transcript": TALK, "agents": ["ana"], "colour": "red"},
    ],
)
@pytest.mark.parametrize("wait", ["true", "false"])
async def test_what_cannot_be_read_is_refused(http: httpx.AsyncClient, body: dict[str, Any], wait: str) -> None:
    answer = await http.post("/v1/extract", params={"wait": wait}, json=body)

    assert answer.status_code == 400


@pytest.mark.parametrize("wait", ["true", "false"])
async def test_a_reader_and_a_key_for_elsewhere_may_not(
    http: httpx.AsyncClient, keyed: Callable[..., Awaitable[dict[str, str]]], wait: str
) -> None:
    for headers in (await keyed("reader"), await keyed("writer", "workspace:other")):
        answer = await http.post("/v1/extract", params={"wait": wait}, json=RUN, headers=headers)

        assert answer.status_code == 403


async def test_a_flush_may_be_left_to_the_background(running: InProcess) -> None:
    ana = (await running.client.post("/users", json={"user_id": "ana"})).json()
    message = {"sender_id": "ana", "role": "user", "timestamp": 1_780_000_000_000, "content": "I live in Lisbon."}
    await running.stranger.post("/memories/add", json={**ana, "session_id": "chat:1", "messages": [message]})
    body = {**ana, "session_id": "chat:1", "wait": False}
    answers = [(await running.stranger.post("/memories/flush", json=body)).json() for _ in range(2)]
    job = await done(running, answers[0]["job"])

    again = (await running.stranger.post("/memories/flush", json=body)).json()
    assert [answer["status"] for answer in answers] == ["queued", "queued"]
    assert answers[0]["job"] == answers[1]["job"]
    assert (job["result"]["status"], len(job["result"]["facts"]), job["scope"]) == ("extracted", 1, "user:ana")
    assert again["status"] == "no_extraction"


# ---- the director


async def test_learnings_are_kept_with_the_first_agent_and_read_over_all_of_them(http: httpx.AsyncClient) -> None:
    for agents, n in ((["ana", "bo"], 1), (["bo"], 2), (["zoe"], 3)):
        answer = await http.post("/v1/agents/learnings", json={"agents": agents, "learning": f"Lesson number {n}"})
        assert answer.status_code == 201, answer.text
    found = (await http.get("/v1/agents/learnings", params={"agent": ["ana", "bo"]})).json()

    assert [one["text"] for one in found["learnings"]] == ["Lesson number 2", "Lesson number 1"]
    assert [one["scope"] for one in found["learnings"]] == ["agent:bo", "agent:ana"]
    assert all(one["source"] == "director" for one in found["learnings"])
    assert all(int(one["key"].removeprefix("director:learning:")) > 1_600_000_000_000 for one in found["learnings"])


async def test_a_nightly_director_may_write_thirty_different_learnings(http: httpx.AsyncClient) -> None:
    things = ["index", "cache", "queue", "parser", "worker", "schema"]
    ways = ["is slow after noon", "needs a restart", "drops empty rows", "logs too much", "likes small batches"]
    for thing in things:
        for way in ways:
            body = {"agents": ["ana"], "learning": f"The {thing} {way}."}
            assert (await http.post("/v1/agents/learnings", json=body)).is_success

    states = {"scope": "agent:ana", "state": ["live", "demoted"], "limit": 100}
    records = (await http.get("/v1/records", params=states)).json()["records"]
    assert [len(records), sum(record["demoted"] for record in records)] == [30, 0]


async def test_at_most_20_learnings_are_read_back_and_none_takes_anothers_place(http: httpx.AsyncClient) -> None:
    bodies = [{"agents": ["ana"], "learning": f"Lesson number {n}"} for n in range(25)]
    await asyncio.gather(*[http.post("/v1/agents/learnings", json=body) for body in bodies])
    found = (await http.get("/v1/agents/learnings", params={"agent": "ana"})).json()

    # A model's words come in a flood here: what is too much waits for a reviewer, and nothing is lost.
    states = {"scope": "agent:ana", "state": ["live", "demoted"]}
    records = (await http.get("/v1/records", params=states)).json()["records"]
    live = [record for record in records if not record["demoted"]]
    assert len({record["id"] for record in records}) == 25
    assert len({record["key"] for record in live}) == len(live)
    assert found["count"] == len(found["learnings"]) == min(20, len(live))


async def test_a_learning_is_cut_to_2000_characters(http: httpx.AsyncClient) -> None:
    body = {"agents": ["ana"], "learning": "word " * 1_000}

    assert len((await http.post("/v1/agents/learnings", json=body)).json()["text"]) <= 2_000


# ---- clients


async def test_the_client_extracts_and_learns(running: InProcess) -> None:
    transport = httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))
    async with AsyncClient("http://127.0.0.1:4170", TOKEN, transport=transport) as client:
        turns = [Turn(speaker="Ana", text="I moved to Lisbon last month.", at=datetime(2026, 3, 4, tzinfo=UTC))]
        first = await client.extract([*turns, Turn(speaker="bot", text=FILLER)], scope="user:ana", session="chat-1")
        queued = await client.extract(TALK, agents=["ana"], wait=False)
        await client.learn(["ana"], "The schema comes first")

        assert [fact.text for fact in first.facts] == ["Ana moved to Lisbon [2026-02]"]
        assert (queued.status, queued.job is not None) == ("queued", True)
        assert [one.text for one in await client.learnings(["ana", "bo"])] == ["The schema comes first"]


@pytest.mark.parametrize("cli", ["store", "url"], indirect=True)
def test_the_command_reads_a_file_or_stdin(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(TALK, encoding="utf-8")
    first = cli.json("extract", str(file), "--agent", "ana", "--workspace", "web")
    again = cli("extract", "--agent", "ana", "--workspace", "web", stdin=TALK)
    short = cli.json("extract", stdin="user: hi")

    assert {fact["scope"] for fact in first["facts"]} == {"agent:ana", "workspace:web"}
    assert (again.code, "Nothing" in again.out) == (0, True)
    assert short["status"] == "skipped_short_conversation"
