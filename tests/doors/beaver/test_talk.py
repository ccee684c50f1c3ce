"""What is said, and what is learned of it when an episode is closed."""

import asyncio
from datetime import timedelta
from typing import Any, cast

import httpx
import pytest

from commonplace.jobs.payloads import TALK_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.ports.journal import Entries
from commonplace.service.episodes import LONG
from commonplace.service.extraction import EXTRACT
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess
from commonplace.values.job import ENDED, Job
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

ANA = Scope("user", "ana")
FIRST = 1_780_000_000_000


def message(said: object, at: int = 0, role: str = "user", **more: object) -> dict[str, object]:
    sender = "ana" if role == "user" else "beaver"
    return {"sender_id": sender, "role": role, "timestamp": FIRST + at, "content": said, **more}


TALK = [
    message("I live in Berlin and I prefer tea over coffee."),
    message("Good to know!", 1_000, "assistant"),
]


async def send(
    client: httpx.AsyncClient, shown: dict[str, str], *messages: dict[str, object], chat: str = "chat:1"
) -> httpx.Response:
    body = {**shown, "session_id": chat, "messages": list(messages)}
    return await client.post("/memories/add", json=body)


async def flush(
    client: httpx.AsyncClient, shown: dict[str, str], chat: str = "chat:1", *, wait: bool | None = True
) -> dict[str, Any]:
    response = await client.post("/memories/flush", json={**shown, "session_id": chat, "wait": wait})
    assert response.status_code == 200, response.text
    return response.json()


async def ended(door: InProcess, *jobs: str) -> list[Job]:
    """The jobs, once a worker that only looks when it is told to has done them."""
    services = door.services
    queues = {EXTRACT: Queue(handler=services.extraction.work, payload=TALK_PAYLOAD)}
    worker = Worker(services.desk.store, services.desk.clock, queues, look_every=60.0)
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(5):
            while True:
                found = [await services.desk.store.jobs.job(DEFAULT_TENANT, job) for job in jobs]
                if all(job.state in ENDED for job in found):
                    return found
                await asyncio.sleep(0.01)
    finally:
        working.cancel()
        await asyncio.wait({working})


async def held(door: InProcess, *kinds: str) -> list[Record]:
    page = await door.services.records.list(
        caller("reader", name="ana"), Filter(scopes=(ANA,), kinds=kinds), order="position", limit=1_000
    )
    return list(page.records)


# ---- add


async def test_added_messages_are_turns_in_order(door: InProcess, ana: dict[str, str]) -> None:
    response = await send(door.stranger, ana, *TALK)

    turns = await held(door, "turn")
    assert response.json() == {
        "message_count": 2,
        "unchanged_count": 0,
        "quarantined_count": 0,
        "status": "accumulated",
    }
    assert [(turn.speaker, turn.session, turn.position) for turn in turns] == [
        ("ana", "chat:1", 0),
        ("beaver", "chat:1", 1),
    ]
    assert [turn.metadata["role"] for turn in turns] == ["user", "assistant"]
    assert {turn.trust for turn in turns} == {"external_user_supplied"}


async def test_adding_the_same_again_doubles_nothing(door: InProcess, ana: dict[str, str]) -> None:
    answers = [(await send(door.stranger, ana, *TALK)).json() for _ in range(3)]

    assert len(await held(door, "turn")) == 2
    assert [(answer["message_count"], answer["unchanged_count"]) for answer in answers] == [(2, 0), (0, 2), (0, 2)]


async def test_the_same_words_at_another_time_are_said_again(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, message("Yes"), message("Yes", 1))

    assert len(await held(door, "turn")) == 2


async def test_what_was_added_is_found_at_once(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *TALK)
    body = {**ana, "query": "Berlin", "scope": ["current_chat"], "conversation_id": "1"}
    found = await door.stranger.post("/memories/search", json=body)

    assert found.json()["results"][0]["text"] == TALK[0]["content"]


async def test_a_message_of_items_is_remembered_by_its_text(door: InProcess, ana: dict[str, str]) -> None:
    items = [{"type": "text", "text": "Look at this"}, {"type": "image", "url": "x"}, {"type": "text", "text": "nice"}]
    await send(door.stranger, ana, message(items))

    assert [turn.text for turn in await held(door, "turn")] == ["Look at this\n[image]\nnice"]


async def test_a_message_that_says_nothing_is_neither_stored_nor_counted(door: InProcess, ana: dict[str, str]) -> None:
    response = await send(door.stranger, ana, message("Hi"), message("", 1, "assistant"), message([], 2, "tool"))
    nothing = await send(door.stranger, ana, message(" "))

    assert response.json()["message_count"] == 1
    assert len(await held(door, "turn")) == 1
    assert nothing.status_code == 400


async def test_a_message_out_of_bounds_is_refused_with_all_the_others(door: InProcess, ana: dict[str, str]) -> None:
    bad: list[dict[str, object]] = [
        message("x", role="system"),
        message("x") | {"timestamp": 0},
        message("x") | {"timestamp": -5},
        message("x") | {"timestamp": 10**18},
        message("x") | {"timestamp": "now"},
        message("x") | {"sender_id": ""},
        message(None),
        message({"type": "text"}),
        message("a\0b"),
    ]
    answers = [await send(door.stranger, ana, message("Hi"), one) for one in bad]

    assert [answer.status_code for answer in answers] == [400] * len(bad)
    assert all(set(answer.json()) == {"error", "code"} for answer in answers)
    assert await held(door) == []


@pytest.mark.parametrize("count", [0, 501])
async def test_an_add_has_1_to_500_messages(door: InProcess, ana: dict[str, str], count: int) -> None:
    response = await send(door.stranger, ana, *[message(f"message {n}", n) for n in range(count)])

    assert response.status_code == 400


async def test_500_messages_are_kept(door: InProcess, ana: dict[str, str]) -> None:
    response = await send(door.stranger, ana, *[message(f"message {n}", n) for n in range(500)])

    assert response.json()["message_count"] == 500
    assert [turn.text for turn in await held(door, "turn")] == [f"message {n}" for n in range(500)]


@pytest.mark.parametrize("session", ["", "x" * 129, "a\nb", 5])
async def test_a_session_has_1_to_128_characters(door: InProcess, ana: dict[str, str], session: Any) -> None:
    added = await send(door.stranger, ana, message("Hi"), chat=session)
    flushed = await door.stranger.post("/memories/flush", json={**ana, "session_id": session})

    assert added.status_code == 400
    # Nobody ever spoke in a session of that name.
    assert flushed.status_code == 400 or flushed.json()["status"] == "no_extraction"


# ---- flush


async def test_a_flush_tells_what_was_beyond_the_limit(door: InProcess, ana: dict[str, str]) -> None:
    servers = ("mail", "build", "chat", "game", "print", "proxy", "time")
    await send(door.stranger, ana, *(message(f"Our {name} server runs in Oslo.", n) for n, name in enumerate(servers)))

    answer = await flush(door.stranger, ana)

    assert (len(answer["facts"]), answer["dropped"]) == (5, {"over_limit": 2})


async def test_a_flush_learns_facts_and_closes_an_episode(either: InProcess) -> None:
    ana = (await either.client.post("/users", json={"user_id": "ana"})).json()
    await send(either.stranger, ana, *TALK)
    flushed = await flush(either.stranger, ana)

    turns, facts, [episode] = [await held(either, kind) for kind in ("turn", "fact", "episode")]
    assert (flushed["status"], flushed["message_count"], flushed["method"]) == ("extracted", 2, "rules")
    assert {fact.id for fact in facts} == set(flushed["facts"])
    assert any("Berlin" in fact.text for fact in facts)
    assert all((fact.key or "").startswith("auto:") and fact.source == "auto" for fact in facts)
    assert {(fact.session, fact.provenance.message, fact.trust) for fact in facts} == {
        ("chat:1", turns[0].id, "external_user_supplied")
    }
    assert (episode.id, episode.session) == (flushed["episode"], "chat:1")
    assert (episode.metadata["from"], episode.metadata["to"]) == (0, 1)


async def test_a_second_flush_finds_nothing_to_do(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *TALK)
    first = await flush(door.stranger, ana)
    before = await held(door)
    second = await flush(door.stranger, ana)

    assert (first["status"], second["status"]) == ("extracted", "no_extraction")
    assert (second["facts"], second["episode"]) == ([], None)
    assert await held(door) == before


async def test_an_empty_session_is_no_error(door: InProcess, ana: dict[str, str]) -> None:
    assert (await flush(door.stranger, ana, "chat:nobody"))["status"] == "no_extraction"


async def test_talk_without_a_fact_closes_its_episode_too(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, message("Can you help me with this?"))
    flushed = await flush(door.stranger, ana)

    assert (flushed["status"], flushed["facts"]) == ("extracted", [])
    assert (await flush(door.stranger, ana))["status"] == "no_extraction"


async def test_a_flush_reads_only_what_is_new(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *TALK)
    await flush(door.stranger, ana)
    await send(door.stranger, ana, message("My dog is called Rex, please remember that.", 5_000))
    flushed = await flush(door.stranger, ana)

    assert flushed["message_count"] == 1
    assert not any("Berlin" in fact.text for fact in await held(door, "fact") if fact.id in flushed["facts"])


async def test_a_fact_told_again_is_not_learned_twice(door: InProcess, ana: dict[str, str]) -> None:
    for n, chat in enumerate(("chat:1", "chat:2", "chat:3")):
        await send(door.stranger, ana, message("I live in Berlin.", n), chat=chat)
        await flush(door.stranger, ana, chat)

    [fact] = await held(door, "fact")
    assert (fact.version, "Berlin" in fact.text) == (1, True)


async def test_a_fact_that_changed_takes_the_place_of_the_old_one_and_keeps_its_pin(
    door: InProcess, ana: dict[str, str]
) -> None:
    await send(door.stranger, ana, message("I live in Berlin."))
    await flush(door.stranger, ana)
    [fact] = await held(door, "fact")
    await door.services.records.pin(caller("writer", name="ana"), fact.id, True)
    await send(door.stranger, ana, message("I live in Paris.", 9_000), chat="chat:2")
    flushed = await flush(door.stranger, ana, "chat:2")

    [now] = await held(door, "fact")
    before = await door.services.records.get(caller("reader", name="ana"), fact.id)
    turn = (await held(door, "turn"))[-1]
    assert (now.pinned, "Paris" in now.text, now.key) == (True, True, fact.key)
    assert (before.superseded_by, flushed["superseded"]) == (now.id, [fact.id])
    assert (now.session, now.provenance.message) == ("chat:2", turn.id)


async def test_a_deleted_fact_does_not_come_back(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, message("I live in Berlin."))
    await flush(door.stranger, ana)
    [fact] = await held(door, "fact")
    await door.services.records.delete(caller("writer", name="ana"), fact.id)
    await send(door.stranger, ana, message("I live in Berlin.", 9_000), chat="chat:2")
    again = await flush(door.stranger, ana, "chat:2")

    assert (again["status"], again["facts"]) == ("extracted", [])
    assert await held(door, "fact") == []


async def test_what_was_read_is_not_read_again_because_its_summary_was_deleted(
    door: InProcess, ana: dict[str, str]
) -> None:
    await send(door.stranger, ana, *TALK)
    flushed = await flush(door.stranger, ana)
    await door.services.records.delete(caller("writer", name="ana"), flushed["episode"])

    assert (await flush(door.stranger, ana))["status"] == "no_extraction"


async def test_a_turn_that_was_deleted_teaches_nothing(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *TALK)
    await door.services.records.delete(caller("writer", name="ana"), (await held(door, "turn"))[0].id)
    flushed = await flush(door.stranger, ana)

    assert flushed["facts"] == []
    assert "Berlin" not in (await held(door, "episode"))[0].text


async def test_many_flushes_at_once_close_one_episode(either: InProcess) -> None:
    ana = (await either.client.post("/users", json={"user_id": "ana"})).json()
    await send(either.stranger, ana, *TALK)
    answers = await asyncio.gather(*[flush(either.stranger, ana) for _ in range(6)])

    assert sorted(answer["status"] for answer in answers) == ["extracted"] + ["no_extraction"] * 5
    assert [record.version for record in await held(either, "fact", "episode")] == [1] * len(
        await held(either, "fact", "episode")
    )


async def test_a_chat_flushed_after_every_answer_has_an_episode_for_many_of_them(
    door: InProcess, ana: dict[str, str]
) -> None:
    count = LONG + 6
    for n in range(0, count, 2):
        turns = (message(f"question {n}", n), message(f"answer {n}", n + 1, "assistant"))
        await send(door.stranger, ana, *turns)
        await flush(door.stranger, ana)

    spans = sorted((one.metadata["from"], one.metadata["to"]) for one in await held(door, "episode"))  # pyright: ignore[reportArgumentType]
    assert spans == [(0, LONG - 1), (LONG, count - 1)]


async def test_a_long_session_is_read_from_where_it_was_left(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *[message(f"message {n}", n) for n in range(450)])
    first = await flush(door.stranger, ana)
    await door.services.records.pin(caller("writer", name="ana"), (await held(door, "turn"))[3].id, True)
    await send(door.stranger, ana, *[message(f"message {n}", n) for n in range(450, 900)])
    second = await flush(door.stranger, ana)

    assert (first["message_count"], second["message_count"]) == (450, 450)


async def test_every_part_of_a_long_talk_is_read(door: InProcess, ana: dict[str, str]) -> None:
    filler = "The weather was the weather and so on. " * 280
    await send(door.stranger, ana, message(filler), message(filler, 1), message("I live in Berlin.", 2))
    await flush(door.stranger, ana)

    assert any("Berlin" in fact.text for fact in await held(door, "fact"))


async def test_two_chats_of_one_name_belong_to_two_people(
    door: InProcess, ana: dict[str, str], bo: dict[str, str]
) -> None:
    await send(door.stranger, ana, *TALK)
    of_bo = await flush(door.stranger, bo)

    assert of_bo["status"] == "no_extraction"
    assert (await flush(door.stranger, ana))["status"] == "extracted"


async def test_what_is_learned_is_a_record_at_the_native_door(house: InProcess) -> None:
    ana = (await house.client.post("/users", json={"user_id": "ana"})).json()
    await send(house.stranger, ana, *TALK)
    flushed = await flush(house.stranger, ana)
    record = (await house.client.get(f"/v1/records/{flushed['facts'][0]}")).json()

    assert (record["scope"], record["kind"], record["session"]) == ("user:ana", "fact", "chat:1")


# ---- flush, in the background


async def test_a_flush_is_answered_before_anything_is_read(either: InProcess) -> None:
    ana = (await either.client.post("/users", json={"user_id": "ana"})).json()
    await send(either.stranger, ana, *TALK)
    flushed = await flush(either.stranger, ana, wait=None)
    before = await held(either, "fact", "episode")
    [job] = await ended(either, flushed["job"])

    assert (flushed["status"], flushed["method"], flushed["facts"], flushed["episode"]) == ("queued", "rules", [], None)
    assert before == []
    assert (job.result["status"], job.result["turns"]) == ("extracted", 2)
    assert {record.id for record in await held(either, "fact")} == {*cast("list[str]", job.result["facts"])}


async def test_what_a_flush_learns_is_found_without_waiting_for_the_worker_to_look(
    door: InProcess, ana: dict[str, str]
) -> None:
    services = door.services
    queues = {EXTRACT: Queue(handler=services.extraction.work, payload=TALK_PAYLOAD)}
    worker = Worker(services.desk.store, services.desk.clock, queues, look_every=60.0)
    services.extraction.on_queued(worker.wake)
    working = asyncio.create_task(worker.run())
    await send(door.stranger, ana, *TALK)
    await flush(door.stranger, ana, wait=None)
    body = {**ana, "query": "Where does Ana live?", "scope": ["all_user_memory"], "min_relevance": 0}
    # The turn and the fact learned from it are the same words: one of the two stands for both.
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(5):
        while not any(one["raw"]["evidence"] for one in found):
            found = (await door.stranger.post("/memories/search", json=body)).json()["results"]
    working.cancel()
    await asyncio.wait({working})

    [best] = [one for one in found if one["raw"]["evidence"]]
    assert best["raw"]["kind"] in ("turn", "fact")


async def test_a_flush_asked_for_again_is_the_same_job_until_it_is_done(either: InProcess) -> None:
    ana = (await either.client.post("/users", json={"user_id": "ana"})).json()
    await send(either.stranger, ana, *TALK)
    waiting = await asyncio.gather(*[flush(either.stranger, ana, wait=None) for _ in range(4)])
    await ended(either, waiting[0]["job"])
    after = await flush(either.stranger, ana, wait=None)

    assert len({answer["job"] for answer in waiting}) == 1
    assert (after["status"], after["job"]) == ("no_extraction", None)
    assert len(await either.services.desk.store.jobs.list_jobs(DEFAULT_TENANT, kinds=(EXTRACT,))) == 1


async def test_what_is_said_while_a_flush_is_worked_on_is_read_by_the_next(
    door: InProcess, ana: dict[str, str], clock: FakeClock
) -> None:
    await send(door.stranger, ana, *TALK)
    first = await flush(door.stranger, ana, wait=None)
    await door.services.desk.store.jobs.claim_job([EXTRACT], "another worker", timedelta(seconds=60))
    await send(door.stranger, ana, message("My dog is called Rex.", 5_000))
    second = await flush(door.stranger, ana, wait=None)
    clock.advance(timedelta(seconds=61))
    jobs = await ended(door, first["job"], second["job"])

    assert first["job"] != second["job"]
    assert {job.state for job in jobs} == {"done"}
    assert any("Rex" in fact.text for fact in await held(door, "fact"))


async def test_a_flush_that_failed_is_begun_anew_when_it_is_asked_for_again(
    door: InProcess, ana: dict[str, str]
) -> None:
    store = door.services.desk.store
    await send(door.stranger, ana, *TALK)
    first = await flush(door.stranger, ana, wait=None)
    await store.jobs.claim_job([EXTRACT], "a", timedelta(seconds=60))
    await store.jobs.fail_job(first["job"], "a", "internal_error", "", retry_in=None, entries=Entries())
    second = await flush(door.stranger, ana, wait=None)
    [job] = await ended(door, second["job"])

    assert first["job"] != second["job"]
    assert job.result["status"] == "extracted"


async def test_a_rehearsal_leaves_nothing_behind(door: InProcess, ana: dict[str, str]) -> None:
    await send(door.stranger, ana, *TALK)
    before = await held(door)
    door.services.extraction.rehearse()

    assert await held(door) == before
