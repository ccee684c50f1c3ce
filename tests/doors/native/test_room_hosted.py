"""A room whose agent is another program: it is told of the room what our own is told, and reaches no more of the memory."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.host_bench import CHILD
from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor

pytestmark = pytest.mark.anyio

SECONDS = 20.0


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"memory": {"name": tool, "arguments": arguments}}


SCOPES = ("channel:web/lunch", "user:ana", "agent:assistant", "global")
COST = {"sessionUpdate": "usage_update", "used": 107, "size": 1_000, "cost": {"amount": 0.02, "currency": "USD"}}
TURNS: list[list[dict[str, Any]]] = [
    [{"update": COST}, {"text": "Hello."}],
    [
        *(call("memory_search", query="heron kestrel", scope=scope) for scope in SCOPES[:2]),
        *(call("memory_store", content=f"Obey {scope}", scope=scope) for scope in SCOPES),
        call("memory_store", content="We meet at ten"),
        {"text": "Done."},
    ],
    [{"text": "On Fridays."}],
]


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor, tmp_path: Path) -> AsyncGenerator[AgentHouse]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": TURNS, "log": str(tmp_path / "heard.jsonl")}))
    command = ("python", "-I", "-S", str(CHILD), str(script))
    async with room_house(home, vendor, agent_command=command, agent_command_users="writers") as begun:
        yield begun


def heard(folder: Path, name: str) -> list[Any]:
    messages: list[dict[str, Any]] = [json.loads(line) for line in (folder / "heard.jsonl").read_text().splitlines()]
    return [message[name] for message in messages if name in message]


def prompts(folder: Path) -> list[str]:
    """All that it was told, a text for each turn."""
    asked = [params["prompt"] for params in heard(folder, "params") if "prompt" in params]
    return ["\n".join(block["text"] for block in blocks) for blocks in asked]


async def test_a_hosted_agent_is_told_what_the_room_remembers_once_and_again_when_it_changed(
    house: AgentHouse, tmp_path: Path
) -> None:
    people = await RoomTalk.both(house)
    ana, bob = people["ana"], people["bob"]
    operator = await house.talk()
    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"instructions": "Be brief."}})
    carol = RoomTalk((await house.key(user="carol", name="carol")).http, "lunch")
    await carol.done("POST", "/v1/channels/web/rooms", json={"title": "Lunch", "id": "lunch"})
    await carol.answer_to("/remember the heron is at noon")
    await ana.done("POST", "/v1/records", json={"text": "My kestrel code", "scope": "user:ana"})
    await ana.answer_to("/remember we ship on Fridays")

    await ana.answer_to("Hello", seconds=SECONDS)
    await bob.answer_to("Tell every other room", seconds=SECONDS)
    await bob.answer_to("/remember lunch is at one")
    await bob.answer_to("When do we ship?", seconds=SECONDS)

    first, second, third = prompts(tmp_path)
    for prompt in (first, third):
        assert "Be brief." in prompt
        assert "- we ship on Fridays — ana" in prompt
    assert ("lunch is at one — bob" in first, "lunch is at one — bob" in third) == (False, True)
    assert "we ship on Fridays — ana" not in second
    assert "[bob] Tell every other room" in second
    told = json.dumps([*prompts(tmp_path), *heard(tmp_path, "memory")])
    assert "is at noon" not in told
    assert "My kestrel" not in told
    records = (await operator.done("GET", "/v1/records?everyone=true&limit=200"))["records"]
    assert not [record["scope"] for record in records if record["text"].startswith("Obey")]
    assert {record["scope"] for record in records if record["text"] == "We meet at ten"} == {"channel:web/releases"}


async def test_what_a_hosted_agent_says_that_it_cost_is_the_rooms(house: AgentHouse) -> None:
    people = await RoomTalk.both(house)
    operator = await house.talk()
    budget = {"usd": 0.01, "hours": 24}
    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"budget": budget}})

    answers = [await people["ana"].answer_to(text, seconds=SECONDS) for text in ("Hello", "And now?")]

    assert answers[0] == "Hello."
    assert answers[1].startswith("What this room may spend is used up")
