"""What an agent finds and keeps: the memory of who speaks, and nobody else's."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.turns import AgentHouse, AgentTalk, agent_house, of, text_of
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

ANAS, BOBS = "heliotrope", "obsidian"
"""A word that stands in nothing but the notes of one of them."""


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with agent_house(home, vendor, agent_learn=True) as begun:
        yield begun


@pytest.fixture
async def people(house: AgentHouse) -> tuple[AgentTalk, AgentTalk]:
    """Ana and bob, each with a note of their own."""
    ana, bob = await house.key("writer", "ana"), await house.key("writer", "bob")
    for who, name, word in ((ana, "ana", ANAS), (bob, "bob", BOBS)):
        for visibility in ("shared", "private"):
            note = {"text": f"The code of the vault is {word} ({visibility}).", "scope": f"user:{name}"}
            await who.done("POST", "/v1/records", json={**note, "visibility": visibility})
    return ana, bob


def call(tool: str, **arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments)


REQUESTS = (
    call("memory_search", query=f"code of the vault {BOBS}"),
    call("memory_search", query="code of the vault", scope="user:bob"),
    call("memory_search", query="code of the vault", scope="all"),
    call("memory_list", scope="user:bob"),
    call("memory_list"),
    call("memory_context", query="code of the vault"),
    call("session_search", query=BOBS),
    call("session_search"),
)


@pytest.mark.parametrize("request_", REQUESTS, ids=" ".join)
async def test_the_agent_of_one_person_never_finds_what_is_anothers(
    people: tuple[AgentTalk, AgentTalk], vendor: Vendor, request_: tuple[str, str]
) -> None:
    ana, bob = people
    await bob.turn(await bob.begin(), f"My word is {BOBS}.")
    vendor.requests.clear()
    vendor.replies = [stream(calls=[request_]), stream("So it is.")]

    session = await ana.begin()
    found = await ana.turn(session, "What is the code of the vault?")

    seen = json.dumps([frame.document for frame in found]) + json.dumps(vendor.requests[1:])
    assert text_of(found) == "So it is."
    assert f"is {BOBS}" not in seen
    # What was asked for stands in the call itself, and nowhere else.
    assert seen.replace(request_[1], "").replace(json.dumps(request_[1])[1:-1], "").count(f"vault is {BOBS}") == 0
    # Her own is recalled.
    assert ANAS in of(found, "memory_recalled")[0]["block"]


async def test_the_librarian_answers_out_of_the_memory_of_who_asks(people: tuple[AgentTalk, AgentTalk]) -> None:
    ana, bob = people
    for who, own, other in ((ana, ANAS, BOBS), (bob, BOBS, ANAS)):
        session = await who.begin(model="librarian")

        reply = text_of(await who.turn(session, "What is the code of the vault?"))

        assert own in reply
        assert other not in reply


async def records(who: AgentTalk, scope: str) -> list[dict[str, Any]]:
    return (await who.done("GET", f"/v1/records?scope={scope}&limit=100"))["records"]


async def test_what_a_model_stores_is_its_word_and_what_the_librarian_files_is_the_persons(
    people: tuple[AgentTalk, AgentTalk], vendor: Vendor
) -> None:
    ana, _ = people
    vendor.replies = [stream(calls=[call("memory_store", content="The harbour opens at nine.")]), stream("Kept.")]

    await ana.turn(await ana.begin(), "Note what you found out.")
    await ana.turn(await ana.begin(model="librarian"), "Remember that the ferry leaves at ten.")

    trust = {record["text"]: record["trust"] for record in await records(ana, "user:ana")}
    [harbour] = [label for text, label in trust.items() if "harbour" in text]
    [ferry] = [label for text, label in trust.items() if "ferry" in text]
    assert harbour == "model_generated"
    assert ferry not in ("model_generated", "untrusted")


async def test_what_a_session_keeps_of_itself_is_no_memory_that_is_found(
    people: tuple[AgentTalk, AgentTalk], vendor: Vendor
) -> None:
    ana, _ = people
    session = await ana.begin()
    vendor.replies = [stream("I see: a wisteria.")]
    await ana.turn(session, "A wisteria grows at the gate, or does it not?")
    kept = await records(ana, f"session:{session}")
    vendor.requests.clear()
    vendor.replies = [stream(calls=[call("memory_search", query="wisteria gate")]), stream("Nothing.")]

    await ana.turn(session, "Look.")
    other = await ana.begin()
    vendor.replies = [stream(calls=[call("memory_search", query="wisteria gate")]), stream("Nothing.")]
    await ana.turn(other, "Look.")

    assert kept
    results = [one["content"] for request in vendor.requests for one in request["messages"] if one["role"] == "tool"]
    assert len(results) >= 2
    assert not any("grows at the gate" in result for result in results)


async def test_the_curated_memory_of_one_person_is_in_nobody_elses_prompt(
    people: tuple[AgentTalk, AgentTalk], vendor: Vendor
) -> None:
    ana, bob = people
    vendor.replies = [
        stream(calls=[call("memory", action="add", target="user", content=f"Bob likes {BOBS}.")]),
        stream("Kept."),
    ]
    kept = await bob.turn(await bob.begin(), "I like it.")
    vendor.requests.clear()
    vendor.replies = [stream("Hello.")]
    await ana.turn(await ana.begin(), "Hello?")
    anas = json.dumps(vendor.requests[0])
    vendor.requests.clear()
    await bob.turn(await bob.begin(), "Hello?")

    assert not of(kept, "tool_ended")[0]["failed"]
    assert BOBS not in anas
    assert f"likes {BOBS}" in json.dumps(vendor.requests[0])


@pytest.fixture
async def alone(people: tuple[AgentTalk, AgentTalk], vendor: Vendor) -> tuple[AgentTalk, AgentTalk, str]:
    """Ana, who said something in a session of hers about the workspace that she shares with nobody; bob; a session that they share."""
    ana, bob = people
    own = await ana.begin(workspace="web", title=f"About {ANAS}")
    await ana.turn(own, f"My salary is {ANAS}.")
    await bob.turn(await bob.begin(workspace="web", shared=True), "The salary round is in May.")
    vendor.requests.clear()
    return ana, bob, await ana.begin(workspace="web", shared=True)


@pytest.mark.parametrize("query", ["salary", None], ids=["discover", "browse"])
async def test_in_a_shared_session_nobodys_unshared_sessions_are_found(
    alone: tuple[AgentTalk, AgentTalk, str], vendor: Vendor, query: str | None
) -> None:
    ana, bob, together = alone
    vendor.replies = [stream(calls=[call("session_search", query=query)]), stream("So it is.")]

    await ana.turn(together, "What was said of the salary?")

    told = json.dumps(await bob.messages(together))
    assert "The salary round is in May." in told
    assert ANAS not in told
    assert ANAS not in json.dumps(vendor.requests)


async def test_in_a_shared_session_an_unshared_one_is_not_read_by_its_id(
    alone: tuple[AgentTalk, AgentTalk, str], vendor: Vendor
) -> None:
    ana, bob, together = alone
    own = (await ana.done("GET", "/v1/sessions/search", params={"q": "salary", "workspace": "web"}))["hits"]
    [id] = [hit["session"]["id"] for hit in own if ANAS in hit["message"]["text"]]
    vendor.replies = [
        stream(calls=[call("session_search", session=id)]),
        stream(calls=[call("session_search", session=id, message=1)]),
        stream(calls=[call("session_search", session=id, query="salary")]),
        stream("No."),
    ]

    found = await ana.turn(together, "What was said of the salary?")

    assert [ended["failed"] for ended in of(found, "tool_ended")] == [True, True, True]
    assert ANAS not in json.dumps(await bob.messages(together))


@pytest.mark.parametrize("user", ["ana", None], ids=["a person's key", "a key of its own"])
async def test_the_librarian_of_a_shared_session_tells_of_no_unshared_one(
    house: AgentHouse, people: tuple[AgentTalk, AgentTalk], user: str | None
) -> None:
    _, bob = people
    speaker = await house.key("writer", user)
    await speaker.turn(await speaker.begin(workspace="web", model="librarian"), f"My salary is {ANAS}, as I say here.")
    apart = await speaker.begin(workspace="web", model="librarian")
    together = await speaker.begin(workspace="web", model="librarian", shared=True)

    own = text_of(await speaker.turn(apart, "What did we say about the salary?"))
    await speaker.turn(together, "What did we say about the salary?")

    assert ANAS in own
    assert ANAS not in json.dumps(await bob.messages(together))


async def test_in_a_shared_session_the_curated_memory_about_its_speaker_is_neither_shown_nor_told(
    people: tuple[AgentTalk, AgentTalk], vendor: Vendor
) -> None:
    ana, bob = people
    vendor.replies = [
        stream(calls=[call("memory", action="add", target="user", content=f"Ana likes {ANAS}.")]),
        stream(calls=[call("memory", action="add", target="memory", content="We ship on Fridays.")]),
        stream("Kept."),
    ]
    await ana.turn(await ana.begin(workspace="web"), "I like it.")
    together = await ana.begin(workspace="web", shared=True)
    vendor.requests.clear()
    vendor.replies = [
        stream(calls=[call("memory", action="add", target="user", content="Ana has a cat.")]),
        stream(calls=[call("memory", action="add", target="memory", content="We test on Thursdays.")]),
        stream("Hello."),
    ]

    heard = await ana.turn(together, "Hello?")

    assert [ended["failed"] for ended in of(heard, "tool_ended")] == [True, False]
    assert f"likes {ANAS}" not in json.dumps(vendor.requests) + json.dumps(await bob.messages(together))
    # The agent's own notes are there: they are for everybody who speaks with it.
    assert "We ship on Fridays." in json.dumps(vendor.requests[0])


async def test_a_key_of_one_workspace_is_refused_another_and_its_agent_reaches_none_but_its_own(
    house: AgentHouse, people: tuple[AgentTalk, AgentTalk], vendor: Vendor
) -> None:
    ana, _ = people
    await ana.done("POST", "/v1/records", json={"text": "The kiln is in payroll.", "scope": "workspace:payroll"})
    dan = await house.key("writer", "dan", scopes=["workspace:web"])
    vendor.replies = [
        stream(calls=[call("memory_search", query="kiln", scope="workspace:payroll")]),
        stream(calls=[call("memory_store", content="A kiln.", scope="workspace:payroll")]),
        stream("No."),
    ]

    refused = await dan.http.post("/v1/sessions", json={"workspace": "payroll"})
    session = await dan.begin(workspace="web")
    found = await dan.turn(session, "Where is the kiln?")

    assert refused.status_code == 403
    assert "in payroll" not in json.dumps([frame.document for frame in found])
    assert [record["text"] for record in await records(ana, "workspace:payroll")] == ["The kiln is in payroll."]
