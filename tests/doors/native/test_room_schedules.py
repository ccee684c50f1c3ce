"""Schedules of rooms of the web, at the native door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from commonplace.compose.work import work_on_jobs
from commonplace.server.auth import AppState
from commonplace.service.schedules import FIRE
from commonplace.settings import load_settings
from commonplace.testing.events import until
from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor, stream
from commonplace.values.scope import DEFAULT_TENANT

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


async def test_a_daemon_plays_five_at_once_and_the_others_after_them(home: Path, vendor: Vendor) -> None:
    go_on = Event()
    vendor.replies = [replace(stream("Three are open."), until=go_on)]
    async with room_house(home, vendor) as house:
        operator = await house.talk()
        for number in range(7):
            room = f"room-{number}"
            await operator.done("POST", "/v1/channels/web/rooms", json={"title": room, "id": room})
            body = {"target": f"channel/web/{room}", "cron": "0 0 1 1 *", "prompt": "post the open questions"}
            schedule = await operator.done("POST", "/v1/schedules", json=body)
            await operator.done("POST", f"/v1/schedules/{schedule['id']}/run")
        jobs = house.running.services.desk.store.jobs

        working = asyncio.create_task(work_on_jobs(AppState.of(house.running.app), load_settings(home=home)))
        await until(lambda: len(vendor.requests) == 5, 20.0)
        states = sorted(job.state for job in await jobs.list_jobs(DEFAULT_TENANT, kinds=[FIRE]))
        go_on.set()
        await until(lambda: len(vendor.requests) == 7, 20.0)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working

    assert states == ["queued"] * 2 + ["running"] * 5
