"""A channel whose settings are changed, that is stopped and started, or whose conversation is cleared, while its agent works."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest

from commonplace.testing.events import until
from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import PATIENCE, AgentHouse, AgentTalk
from commonplace.testing.vendor import Reply, Vendor, completion, running_vendor, stream

pytestmark = pytest.mark.anyio

LINE = "The team deploys the gateway on Fridays"
LEARNED = json.dumps({"facts": [{"key": "deploys", "value": LINE, "turn": 1, "confidence": 0.9}]})


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor, agent_roots=(home.parent / "work",)) as begun:
        yield begun


@pytest.fixture
async def people(house: AgentHouse) -> dict[str, RoomTalk]:
    return await RoomTalk.both(house)


async def settings(house: AgentHouse, **changes: Any) -> None:
    operator = await house.talk()
    await operator.done("PATCH", "/v1/channels/web", json={"settings": changes})


async def enabled(house: AgentHouse, is_enabled: bool) -> None:
    operator = await house.talk()
    await operator.done("PATCH", "/v1/channels/web", json={"enabled": is_enabled})


async def answers(person: RoomTalk, *questions: dict[str, Any]) -> list[str]:
    """What was said to each of the questions, in the order in which it was, once all of it is whole."""
    ids = [question["id"] for question in questions]
    async with asyncio.timeout(PATIENCE):
        while True:
            said = [message for message in await person.messages() if message["data"].get("reply_to") in ids]
            said = [message for message in said if "card" not in message["data"]]
            if len(said) >= len(ids) and not any(message["text"].endswith("…") for message in said):
                return [message["text"] for message in said]
            await asyncio.sleep(0.02)


async def test_a_change_of_settings_in_the_middle_of_turns_plays_each_of_them_once(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    gate = Semaphore(0)
    vendor.replies = [stream("On Fri", "days.", gate=gate), stream("At noon.")]
    first = await people["ana"].say("When do we ship?", mention=True)
    await until(lambda: len(vendor.requests) == 1, PATIENCE)
    second = await people["bob"].say("And at what time?", mention=True)

    await settings(house, instructions="Be short.")
    for _ in range(10):
        gate.release()
    told = await answers(people["ana"], first, second)

    assert told == ["On Fridays.", "At noon."]
    assert len(vendor.requests) == 2


async def test_a_channel_that_is_stopped_and_started_tells_what_was_answered_meanwhile(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    gate = Semaphore(0)
    vendor.replies = [stream("On Fri", "days.", gate=gate), stream("At noon.")]
    first = await people["ana"].say("When do we ship?", mention=True)
    await until(lambda: len(vendor.requests) == 1, PATIENCE)
    second = await people["bob"].say("And at what time?", mention=True)

    await enabled(house, False)
    for _ in range(10):
        gate.release()
    await until(lambda: len(vendor.requests) == 2, PATIENCE)
    await enabled(house, True)
    told = await answers(people["ana"], first, second)

    assert told == ["On Fridays.", "At noon."]
    assert len(vendor.requests) == 2


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_question_to_the_room_is_answered_after_a_change_of_settings(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor, home: Path, is_stopped: bool
) -> None:
    folder = home.parent / "work"
    folder.mkdir()
    await settings(house, folder=str(folder))
    vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "x"}')]), stream("It is written.")]
    said = await people["ana"].say("Write it down", mention=True)
    await people["bob"].wait_for_card()

    if is_stopped:
        await enabled(house, False)
        await enabled(house, True)
    else:
        await settings(house, instructions="Be short.")
    await people["bob"].say("/approve")
    [told] = await answers(people["ana"], said)

    assert told == "It is written."
    assert (folder / "a.txt").read_text() == "x"
    cards = [message for message in await people["ana"].messages() if "card" in message["data"]]
    assert [card["data"]["outcome"]["voter"] for card in cards] == ["bob"]


# ---- a conversation that is cleared


async def test_a_conversation_is_cleared_however_slow_the_model_is_that_reads_the_one_before(
    home: Path, vendor: Vendor
) -> None:
    slow = Event()
    learned: Reply = completion(text=LEARNED)
    vendor.replies = [
        stream("Noted."),
        Reply(body=learned.body, headers=learned.headers, until=slow),
        stream("Hello."),
    ]
    async with room_house(home, vendor, agent_learn=True) as house:
        ana = (await RoomTalk.both(house))["ana"]
        await ana.answer_to("We deploy the gateway on Fridays.")

        cleared = await ana.answer_to("/clear confirm")
        greeting = await ana.answer_to("Hi")
        before = await ana.done("GET", f"{ana.path}/memory")
        slow.set()
        await _until_remembered(ana)

    assert cleared.startswith("A new conversation begins here.")
    assert (greeting, before) == ("Hello.", {"lines": []})
    # The new conversation has nothing of the one before.
    assert "deploy the gateway" not in json.dumps(vendor.requests[2]["messages"])


async def _until_remembered(person: RoomTalk) -> None:
    async with asyncio.timeout(PATIENCE):
        # What is waited for is in a file.
        while LINE not in str(await person.done("GET", f"{person.path}/memory")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


# ---- the folder in which its tools work


async def test_a_folder_that_is_closed_to_the_channel_is_refused_when_it_is_set(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    operator: AgentTalk = await house.talk()

    refused = await operator.http.patch("/v1/channels/web", json={"settings": {"folder": "/etc"}})
    nonsense = await operator.http.patch("/v1/channels/web", json={"settings": {"folder": "work"}})
    new = await operator.http.post(
        "/v1/channels", json={"name": "ops", "kind": "terminal", "settings": {"folder": "/etc"}}
    )

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "folder_forbidden")
    assert nonsense.status_code == 400
    assert (new.status_code, new.json()["error"]["code"]) == (403, "folder_forbidden")
    assert (await people["ana"].answer_to("/clear confirm")).startswith("A new conversation begins here.")


async def test_a_channel_with_another_folder_works_there_from_the_next_message_on(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor, home: Path
) -> None:
    old, new = home.parent / "work" / "old", home.parent / "work" / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "name.txt").write_text(f"I am {folder.name}.")
    read = stream(calls=[("read_file", '{"path": "name.txt"}')])
    vendor.replies = [read, stream("Old."), read, stream("New.")]

    for folder in (old, new):
        await settings(house, folder=str(folder))
        await people["ana"].answer_to("Who are you?")

    results = [str(request["messages"][-1]["content"]) for request in vendor.requests[1::2]]
    assert ["I am old." in results[0], "I am new." in results[1]] == [True, True]
