"""A user's documents."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess
from commonplace.values.note import Note

pytestmark = pytest.mark.anyio


def headers(shown: dict[str, str]) -> dict[str, str]:
    return {"X-User-Id": shown["user_id"], "X-User-Key": shown["user_key"]}


async def put(client: httpx.AsyncClient, shown: dict[str, str], content: str, **more: object) -> dict[str, Any]:
    response = await client.post("/resources", json={**shown, "content": content, **more})
    assert response.status_code == 201, response.text
    return response.json()


async def listed(client: httpx.AsyncClient, shown: dict[str, str], **query: Any) -> dict[str, Any]:
    response = await client.get("/resources", headers=headers(shown), params=query)
    assert response.status_code == 200, response.text
    return response.json()


async def found(client: httpx.AsyncClient, shown: dict[str, str], query: str) -> list[dict[str, Any]]:
    body = {**shown, "query": query, "scope": ["resources"]}
    return (await client.post("/memories/search", json=body)).json()["results"]


async def test_a_document_is_kept_under_its_address_and_found(door: InProcess, ana: dict[str, str]) -> None:
    kept = await put(door.stranger, ana, "Deploys happen on Tuesdays.", uri="docs/handbook.md", title="Handbook")
    [result] = await found(door.stranger, ana, "deploys")

    assert kept == {"resource_uri": "docs/handbook.md", "chunks": 1, "outcome": "created"}
    assert (result["text"], result["resource_uri"]) == ("Deploys happen on Tuesdays.", "docs/handbook.md")
    assert (result["source_scope"], result["raw"]["title"]) == ("resources", "Handbook")


async def test_a_document_without_an_address_is_given_one(door: InProcess, ana: dict[str, str]) -> None:
    one, two = await put(door.stranger, ana, "One"), await put(door.stranger, ana, "Two")

    assert one["resource_uri"] != two["resource_uri"]
    assert {row["resource_uri"] for row in (await listed(door.stranger, ana))["resources"]} == {
        one["resource_uri"],
        two["resource_uri"],
    }


async def test_a_long_document_has_chunks_and_is_found_by_one_of_them(door: InProcess, ana: dict[str, str]) -> None:
    parts = [f"Chapter {n}. " + f"Word{n} stands here and goes on for a while. " * 40 for n in range(10)]
    kept = await put(door.stranger, ana, "\n\n".join(parts), uri="book")
    [result] = await found(door.stranger, ana, "word7")

    assert kept["chunks"] > 3
    assert "Word7" in result["text"]
    assert len(result["text"]) < len("".join(parts)) / 2


async def test_the_same_address_again_gets_the_new_content(door: InProcess, ana: dict[str, str]) -> None:
    await put(door.stranger, ana, "Deploys happen on Tuesdays.", uri="handbook")
    await put(door.stranger, ana, "Releases happen on Fridays.", uri="handbook")

    assert [one["text"] for one in await found(door.stranger, ana, "happen")] == ["Releases happen on Fridays."]
    assert len((await listed(door.stranger, ana))["resources"]) == 1


async def test_an_address_is_not_a_key_of_something_else(door: InProcess, ana: dict[str, str]) -> None:
    [fact] = await door.services.records.put(
        caller("writer", name="ana"), [Note(text="Ana likes tea", scope="user:ana", key="auto:tea", kind="fact")]
    )
    await put(door.stranger, ana, "A document", uri="auto:tea")
    await door.stranger.delete("/resources/auto:tea", headers=headers(ana))

    assert (await door.services.records.get(caller("reader", name="ana"), fact.record.id)).text == "Ana likes tea"


async def test_documents_are_listed_newest_first_page_by_page(door: InProcess, ana: dict[str, str]) -> None:
    for n in range(5):
        await put(door.stranger, ana, f"Document {n}", uri=f"d{n}", title=f"Title {n}")
    rows: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await listed(door.stranger, ana, limit=2, **({"cursor": cursor} if cursor else {}))
        rows += page["resources"]
        if (cursor := page["cursor"]) is None:
            break

    assert {row["resource_uri"] for row in rows} == {f"d{n}" for n in range(5)}
    assert set(rows[0]) == {"resource_uri", "title", "characters", "created_at", "updated_at"}
    assert len(rows) == 5


async def test_a_list_refuses_a_condition_that_it_does_not_know(door: InProcess, ana: dict[str, str]) -> None:
    headers = {"X-User-Id": ana["user_id"], "X-User-Key": ana["user_key"]}

    known = await door.stranger.get("/resources", headers=headers, params={"app_id": "default", "limit": 5})
    unknown = await door.stranger.get("/resources", headers=headers, params={"title": "Roses"})

    assert (known.status_code, unknown.status_code, unknown.json()["code"]) == (200, 400, "invalid_input")


@pytest.mark.parametrize("uri", ["plain", "docs/a b.md", "https://example.org/x?y=1#z", "文档/一", "a//b"])
async def test_a_document_is_removed_by_its_address(door: InProcess, ana: dict[str, str], uri: str) -> None:
    await put(door.stranger, ana, "Deploys happen on Tuesdays.", uri=uri)
    path = f"/resources/{quote(uri, safe='')}"
    removed = await door.stranger.delete(path, headers=headers(ana))
    again = await door.stranger.delete(path, headers=headers(ana))

    assert removed.json() == {"resource_uri": uri, "deleted": True}
    assert again.status_code == 404
    assert await found(door.stranger, ana, "deploys") == []


async def test_a_document_is_its_users_alone(door: InProcess, ana: dict[str, str], bo: dict[str, str]) -> None:
    await put(door.stranger, ana, "Deploys happen on Tuesdays.", uri="handbook")
    removed = await door.stranger.delete("/resources/handbook", headers=headers(bo))

    assert removed.status_code == 404
    assert (await listed(door.stranger, bo))["resources"] == []
    assert await found(door.stranger, bo, "deploys") == []
    assert len(await found(door.stranger, ana, "deploys")) == 1


async def test_a_document_of_another_door_is_listed_and_removed_by_its_key_or_its_id(
    door: InProcess, ana: dict[str, str]
) -> None:
    notes = [Note(text=text, scope="user:ana", kind="resource", key=key) for text, key in (("A", "k"), ("B", None))]
    _, unkeyed = await door.services.records.put(caller("writer", name="ana"), notes)
    uris = {row["resource_uri"] for row in (await listed(door.stranger, ana))["resources"]}
    removed = [await door.stranger.delete(f"/resources/{uri}", headers=headers(ana)) for uri in sorted(uris)]

    assert uris == {"k", f"record:{unkeyed.record.id}"}
    assert [one.status_code for one in removed] == [200, 200]


@pytest.mark.parametrize("uri", ["record:nobody", "record:", "nobody", "a%00b"])
async def test_an_address_nobody_knows_is_not_found(door: InProcess, ana: dict[str, str], uri: str) -> None:
    response = await door.stranger.delete(f"/resources/{uri}", headers=headers(ana))

    assert (response.status_code, set(response.json())) == (404, {"error", "code"})


@pytest.mark.parametrize(
    "given", [{"content": ""}, {"content": "  "}, {"content": 5}, {"uri": ""}, {"uri": "x" * 241}, {"title": "x" * 256}]
)
async def test_a_document_out_of_bounds_is_refused(
    door: InProcess, ana: dict[str, str], given: dict[str, object]
) -> None:
    response = await door.stranger.post("/resources", json={**ana, "content": "x", **given})

    assert (response.status_code, set(response.json())) == (400, {"error", "code"})
