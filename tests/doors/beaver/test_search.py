"""What a user finds: three places to look, one order."""

from typing import Any

import httpx
import pytest

from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess
from commonplace.values.note import Note

pytestmark = pytest.mark.anyio

ALL = ["current_chat", "resources", "all_user_memory"]


@pytest.fixture
async def told(door: InProcess, ana: dict[str, str]) -> dict[str, str]:
    """Two chats and a document, all about tea; a fact of another door."""
    for chat, said in (("1", "I drink green tea"), ("2", "I drink black tea at work")):
        message = {"sender_id": "ana", "role": "user", "timestamp": 1_780_000_000_000, "content": said}
        body = {**ana, "session_id": f"chat:{chat}", "messages": [message]}
        assert (await door.stranger.post("/memories/add", json=body)).status_code == 200
    body = {**ana, "uri": "tea.md", "title": "Tea", "content": "How to brew tea: hot water, three minutes."}
    assert (await door.stranger.post("/resources", json=body)).status_code == 201
    note = Note(text="Ana buys tea in bulk", scope="user:ana", kind="fact")
    await door.services.records.put(caller("writer", name="ana"), [note])
    return ana


async def ask(client: httpx.AsyncClient, shown: dict[str, str], **given: object) -> list[dict[str, Any]]:
    body = {**shown, "query": "tea", "conversation_id": "1", "scope": ALL, **given}
    response = await client.post("/memories/search", json=body)
    assert response.status_code == 200, response.text
    return response.json()["results"]


def texts(results: list[dict[str, Any]]) -> set[str]:
    return {result["text"] for result in results}


CHAT, OTHER = "I drink green tea", "I drink black tea at work"
DOCUMENT, FACT = "How to brew tea: hot water, three minutes.", "Ana buys tea in bulk"


async def test_a_result_has_the_fields_of_the_seed(door: InProcess, told: dict[str, str]) -> None:
    [result] = await ask(door.stranger, told, scope=["current_chat"])

    assert set(result) == {"id", "session_id", "text", "score", "source_scope", "resource_uri", "raw"}
    assert (result["session_id"], result["text"]) == ("chat:1", CHAT)
    assert (result["source_scope"], result["resource_uri"]) == ("current_chat", None)
    assert isinstance(result["score"], float)
    assert (result["raw"]["kind"], result["raw"]["role"], result["raw"]["sender_id"]) == ("turn", "user", "ana")


async def test_a_result_names_what_says_the_same_and_what_says_otherwise(door: InProcess, told: dict[str, str]) -> None:
    texts_told = ("The tea shop closes at 18:00", "The tea shop closes at 18:00.", "The tea shop closes at 20:00")
    notes = [Note(text=text, scope="user:ana", kind="fact") for text in texts_told]
    await door.services.records.put(caller("writer", name="ana"), notes)

    results = await ask(door.stranger, told, query="When does the tea shop close?")

    shop = {result["id"]: result["raw"] for result in results if "shop" in result["text"]}
    assert len(shop) == 2
    assert sorted(len(raw["evidence"]) for raw in shop.values()) == [0, 1]
    assert {id: set(raw["contradicted_by"]) for id, raw in shop.items()} == {id: shop.keys() - {id} for id in shop}


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (["current_chat"], {CHAT}),
        (["resources"], {DOCUMENT}),
        (["all_user_memory"], {CHAT, OTHER, DOCUMENT, FACT}),
        (["current_chat", "resources"], {CHAT, DOCUMENT}),
        (["resources", "all_user_memory"], {CHAT, OTHER, DOCUMENT, FACT}),
        (ALL, {CHAT, OTHER, DOCUMENT, FACT}),
    ],
)
async def test_each_scope_looks_where_it_says(
    door: InProcess, told: dict[str, str], scope: list[str], expected: set[str]
) -> None:
    results = await ask(door.stranger, told, scope=scope)

    assert texts(results) == expected
    assert len(results) == len(expected)


async def test_a_result_is_told_under_the_narrowest_scope_asked_for(door: InProcess, told: dict[str, str]) -> None:
    every = {result["text"]: result["source_scope"] for result in await ask(door.stranger, told)}
    wide = {result["source_scope"] for result in await ask(door.stranger, told, scope=["all_user_memory"])}

    assert every == {
        CHAT: "current_chat",
        OTHER: "all_user_memory",
        DOCUMENT: "resources",
        FACT: "all_user_memory",
    }
    assert wide == {"all_user_memory"}


async def test_the_best_of_all_scopes_come_first_and_no_more_than_asked_for(
    door: InProcess, told: dict[str, str]
) -> None:
    every = await ask(door.stranger, told, query="green tea")
    best = await ask(door.stranger, told, query="green tea", top_k=2)

    scores = [result["score"] for result in every]
    assert scores == sorted(scores, reverse=True)
    assert (every[0]["text"], best) == (CHAT, every[:2])


async def test_eight_results_are_given_unless_said_otherwise(door: InProcess, ana: dict[str, str]) -> None:
    notes = [Note(text=f"tea number {n}", scope="user:ana") for n in range(12)]
    await door.services.records.put(caller("writer", name="ana"), notes)

    assert len(await ask(door.stranger, ana)) == 8
    assert len(await ask(door.stranger, ana, top_k=100)) == 12


async def test_without_a_scope_all_that_is_theirs_is_searched(door: InProcess, told: dict[str, str]) -> None:
    response = await door.stranger.post("/memories/search", json={**told, "query": "tea"})

    assert texts(response.json()["results"]) == {CHAT, OTHER, DOCUMENT, FACT}


@pytest.mark.parametrize("chat", ["3", "", "chat:1", None])
async def test_a_chat_without_a_word_has_nothing(door: InProcess, told: dict[str, str], chat: str | None) -> None:
    response = await door.stranger.post(
        "/memories/search", json={**told, "query": "tea", "scope": ["current_chat"], "conversation_id": chat}
    )

    assert response.json().get("results") == ([] if chat else None)
    assert response.status_code == (200 if chat else 400)


async def test_what_hides_behind_hundreds_of_better_hits_is_found_all_the_same(
    door: InProcess, told: dict[str, str]
) -> None:
    for start in (0, 150):
        notes = [Note(text=f"tea tea tea {n}", scope="user:ana") for n in range(start, start + 150)]
        await door.services.records.put(caller("writer", name="ana"), notes)
    results = await ask(door.stranger, told, scope=["current_chat", "resources"])

    assert texts(results) == {CHAT, DOCUMENT}
    assert {result["source_scope"] for result in results} == {"current_chat", "resources"}


async def test_a_question_may_be_as_long_as_a_prompt(door: InProcess, told: dict[str, str]) -> None:
    results = await ask(door.stranger, told, query="green tea " + "and so on " * 5_000)

    assert results[0]["text"] == CHAT


@pytest.mark.parametrize(
    "given",
    [
        {"query": ""},
        {"query": "   "},
        {"query": None},
        {"scope": []},
        {"scope": ["everything"]},
        {"scope": "resources"},
        {"top_k": 0},
        {"top_k": 101},
        {"top_k": "8"},
        {"app_id": "a/b"},
        {"project_id": ""},
        {"app_id": "x" * 129},
        {"user_id": ""},
        {"user_key": ""},
        {"user_key": 5},
    ],
)
async def test_a_search_out_of_bounds_is_refused(
    door: InProcess, ana: dict[str, str], given: dict[str, object]
) -> None:
    response = await door.stranger.post("/memories/search", json={**ana, "query": "tea", "scope": ALL[1:], **given})

    assert (response.status_code, set(response.json())) == (400, {"error", "code"})


async def test_a_search_at_the_gateway_finds_what_the_native_door_wrote(house: InProcess) -> None:
    ana = (await house.client.post("/users", json={"user_id": "ana"})).json()
    record = (await house.client.post("/v1/records", json={"text": "Ana likes tea", "scope": "user:ana"})).json()
    [result] = await ask(house.stranger, ana, scope=["all_user_memory"])

    assert result["text"] == "Ana likes tea"
    assert result["id"] in str(record)


async def test_a_field_that_might_have_narrowed_is_refused_by_its_name(door: InProcess, ana: dict[str, str]) -> None:
    body = {**ana, "query": "plan", "since": "2026-01-01"}

    response = await door.client.post("/memories/search", json=body)

    assert response.status_code == 400
    assert "since" in response.text
    assert (await door.client.post("/memories/search", json={**ana, "query": "plan", "topK": 3})).status_code == 200
