"""Schedules of rooms of the web, at the native door."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor

pytestmark = pytest.mark.anyio
TARGET = "channel/web/releases"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor, llm_model=None, schedule_zone="Europe/Berlin") as begun:
        yield begun


async def test_what_is_said_in_a_room_becomes_a_schedule_of_the_room_after_its_members_saw_it(
    house: AgentHouse,
) -> None:
    people = await RoomTalk.both(house)
    ana, bob = people["ana"], people["bob"]

    asked = await ana.say("Every weekday at nine post the open questions", mention=True)
    messages = await ana.wait_for_card()
    before = (await ana.done("GET", f"/v1/schedules?target={TARGET}"))["schedules"]
    await bob.say("/approve", mention=True)
    await ana.reply_to(asked["id"])

    [card] = [message for message in messages if "card" in message["data"]]
    assert "09:00" in card["data"]["card"]["diff"]
    assert before == []
    [schedule] = (await bob.done("GET", f"/v1/schedules?target={TARGET}"))["schedules"]
    assert (schedule["cron"], schedule["target"], schedule["created_by"]) == ("0 9 * * 1-5", TARGET, "ana")
    assert "post the open questions" in (await bob.answer_to("/schedule list")).lower()


async def test_members_set_and_see_the_schedules_of_their_room_and_strangers_find_none(house: AgentHouse) -> None:
    people = await RoomTalk.both(house)
    eve = RoomTalk((await house.key(user="eve", name="eve")).http)
    body = {"target": TARGET, "cron": "0 9 * * 1-5", "prompt": "Post the open questions."}

    schedule = await people["bob"].done("POST", "/v1/schedules", json=body)
    refused = await eve.http.post("/v1/schedules", json=body)
    hidden = await eve.http.get(f"/v1/schedules/{schedule['id']}")
    own = (await eve.done("GET", f"/v1/schedules?target={TARGET}"))["schedules"]

    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "room_not_found")
    assert hidden.status_code == 404
    assert own == []
    assert (await people["ana"].done("GET", f"/v1/schedules/{schedule['id']}"))["created_by"] == "bob"
    await people["ana"].done("DELETE", f"/v1/schedules/{schedule['id']}")
