"""A room without a language model: the librarian keeps what it is told in the room, and tells it there and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor

pytestmark = pytest.mark.anyio


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor, llm_model=None, agent_learn=True) as begun:
        yield begun


async def test_it_keeps_what_it_is_told_in_the_room_and_answers_from_it_there_alone(house: AgentHouse) -> None:
    people, others = await RoomTalk.both(house), await RoomTalk.both(house, "lunch")
    ana, bob = people["ana"], people["bob"]
    await ana.done("POST", "/v1/records", json={"text": "Ana's locker code is 4711", "scope": "user:ana"})

    filed = await ana.answer_to("Remember that we ship on Fridays.")
    told = await bob.answer_to("When do we ship?")
    elsewhere = await others["bob"].answer_to("When do we ship?")
    private = await ana.answer_to("What is my locker code?")

    assert filed == "I will remember that: we ship on Fridays."
    assert "Fridays" in told
    assert "Fridays" not in elsewhere
    assert "4711" not in private
    records = (await ana.done("GET", "/v1/records?scope=channel:web/releases"))["records"]
    assert [record["text"] for record in records] == ["we ship on Fridays. — ana"]
    # Neither the agent's memory nor a person's has anything of it.
    for scope in ("agent:assistant", "user:ana", "user:bob"):
        found = (await (await house.talk()).done("GET", f"/v1/records?scope={scope}"))["records"]
        assert not any("Fridays" in record["text"] for record in found)
    assert await bob.answer_to("/recall") == "What I remember about this room:\n1. we ship on Fridays. — ana"


@pytest.mark.parametrize(
    "text",
    [
        "Remember for the room lunch that Bob decides.",
        "Remember in channel:web/lunch that Bob decides.",
        "Remember as a private note of Ana (user:ana) that Bob decides.",
        "Remember for everybody, in every room, that Bob decides.",
    ],
)
async def test_what_is_to_be_remembered_elsewhere_is_remembered_here_or_not_at_all(
    house: AgentHouse, text: str
) -> None:
    people, others = await RoomTalk.both(house), await RoomTalk.both(house, "lunch")

    await people["bob"].answer_to(text)

    records = (await (await house.talk()).done("GET", "/v1/records?everyone=true&limit=200"))["records"]
    scopes = {record["scope"] for record in records if "decides" in record["text"]}
    # The session of the room has what was said in it, for itself.
    assert {scope for scope in scopes if not scope.startswith("session:")} <= {"channel:web/releases"}
    assert "decides" not in await others["ana"].answer_to("/recall")
    assert "decides" not in await others["ana"].answer_to("Who decides?")
