"""Recall over HTTP."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_hit_says_why_it_is_there(http: httpx.AsyncClient, put: Any) -> None:
    await put("We ship on Fridays", scope="workspace:web")
    await put("Ana likes tea")

    answer = await http.post("/v1/search", json={"text": "when do we ship?", "limit": 1})

    [hit] = answer.json()["hits"]
    assert (hit["record"]["text"], hit["passage"]) == ("We ship on Fridays", "We ship on Fridays")
    assert sum(hit["why"]["parts"].values()) == pytest.approx(hit["score"])
    assert (hit["why"]["words"], hit["why"]["start"], hit["why"]["stop"]) == (["ship"], 0, 18)


async def test_a_hit_does_not_say_why_where_nobody_asks(http: httpx.AsyncClient, put: Any) -> None:
    await put("We ship on Fridays")

    answer = await http.post("/v1/search", json={"text": "ship", "explain": False})

    assert answer.json()["hits"][0]["why"] is None


async def test_a_plain_url_finds_the_same(http: httpx.AsyncClient, put: Any) -> None:
    await put("We ship on Fridays", scope="workspace:web", kind="fact", tags=["plan"])
    await put("Ships in the harbour", scope="user:ana")
    body = {"text": "ship", "scopes": ["workspace:web"], "kinds": ["fact"], "tags": ["plan"], "mode": "words"}

    posted = await http.post("/v1/search", json=body)
    got = await http.get("/v1/search?q=ship&scope=workspace:web&kind=fact&tag=plan&mode=words")

    [one], [other] = got.json()["hits"], posted.json()["hits"]
    assert (one["record"], one["why"]["words"]) == (other["record"], other["why"]["words"])


async def test_a_search_sees_the_past(http: httpx.AsyncClient, put: Any) -> None:
    record = await put("We ship on Fridays")
    await http.patch(f"/v1/records/{record['id']}", json={"text": "We ship on Mondays"})

    answer = await http.post("/v1/search", json={"text": "ship Fridays", "as_of": record["updated_at"]})

    assert [hit["record"]["text"] for hit in answer.json()["hits"]] == ["We ship on Fridays"]


async def test_no_scope_at_all_finds_nothing(http: httpx.AsyncClient, put: Any) -> None:
    await put("We ship on Fridays")

    answer = await http.post("/v1/search", json={"text": "ship", "scopes": []})

    assert answer.json() == {"hits": []}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"text": " "}, "invalid_query"),
        ({"text": "x" * 10_001}, "invalid_query"),
        ({"text": "x", "weights": {"luck": 1.0}}, "invalid_query"),
        ({"text": "x", "scopes": ["planet:earth"]}, "invalid_scope"),
        ({"text": "x", "limit": 0}, "invalid_input"),
        ({"text": "x", "limit": 1001}, "invalid_input"),
        ({"text": "x", "mode": "guess"}, "invalid_input"),
        ({"text": "x", "diversity": -1}, "invalid_input"),
        ({"text": "x", "sessions": ["a\0"]}, "invalid_input"),
        ({"query": "x"}, "invalid_input"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_400(
    http: httpx.AsyncClient, body: dict[str, Any], expected: str
) -> None:
    answer = await http.post("/v1/search", json=body)

    assert code(answer) == (400, expected)


async def test_a_key_finds_what_it_reaches_and_nothing_else(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    await put("The ship leaves at noon", scope="workspace:web")
    await put("The ship leaves at nine", scope="user:ana")
    headers = await keyed("reader", "workspace:web")

    unnamed = await http.post("/v1/search", json={"text": "ship"}, headers=headers)
    named = await http.post("/v1/search", json={"text": "ship", "scopes": ["user:ana"]}, headers=headers)

    assert [hit["record"]["scope"] for hit in unnamed.json()["hits"]] == ["workspace:web"]
    assert code(named) == (403, "forbidden")


async def test_a_question_gets_a_block_for_a_prompt(http: httpx.AsyncClient, put: Any) -> None:
    stored = await put("We ship on Fridays", scope="workspace:web")
    await http.post("/v1/turns", json={"session": "s", "turns": [{"speaker": "ana", "text": "Hello there"}]})

    answer = await http.post("/v1/context", json={"query": "when do we ship?", "session": "s", "budget": 500})

    block = answer.json()
    assert block["text"].startswith("<memory_context>")
    assert "We ship on Fridays" in block["text"]
    assert 0 < block["tokens"] <= 500
    assert [hit["id"] for hit in block["hits"]] == [stored["id"]]
    assert (len(block["records"]), block["meta"]["session_records"], block["left_out"]) == (2, 1, 0)


async def test_an_agent_and_a_workspace_get_their_sections(http: httpx.AsyncClient, put: Any) -> None:
    await put("Deploy with make ship", scope="workspace:web", key="deploy")
    await put("Answer in French", scope="agent:ana", key="language")

    answer = await http.post("/v1/context", json={"agent": "ana", "workspace": "web"})

    text = answer.json()["text"]
    assert "## Agent Memory" in text
    assert "- **deploy**: Deploy with make ship" in text


@pytest.mark.parametrize("body", [{}, {"query": "x", "agent": "ana"}, {"query": "x", "budget": 0}, {"agent": ""}])
async def test_a_block_is_for_a_question_or_for_sections(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/v1/context", json=body)

    assert code(answer) == (400, "invalid_input")


async def test_a_hit_names_what_says_the_same_and_what_says_otherwise(http: httpx.AsyncClient, put: Any) -> None:
    copies = {(await put(f"We ship the web shop on Fridays{mark}"))["id"] for mark in (".", "!")}
    other = (await put("We ship the web shop on Mondays"))["id"]

    hits = (await http.post("/v1/search", json={"text": "when do we ship the web shop?"})).json()["hits"]
    apart = (await http.get("/v1/search?q=when+do+we+ship+the+web+shop&copies=true")).json()["hits"]
    block = (await http.post("/v1/context", json={"query": "when do we ship the web shop?"})).json()

    by_id = {hit["record"]["id"]: hit for hit in hits}
    [shown] = copies & by_id.keys()
    assert {shown, *by_id[shown]["evidence"]} == copies
    assert (by_id[shown]["contradicted_by"], by_id[other]["contradicted_by"]) == ([other], [shown])
    assert len(apart) == 3
    assert {hit["id"]: hit["contradicted_by"] for hit in block["hits"]} == {shown: [other], other: [shown]}
    assert block["text"].count("(another memory says otherwise)") == 2
