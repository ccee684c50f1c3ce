"""What a room forgets or corrects can be undone: after a restart, several times, and never after a purge."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

FRIDAYS, LUNCH = "we ship on Fridays", "lunch is at noon"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor) as begun:
        yield begun


@pytest.fixture
async def ana(house: AgentHouse) -> RoomTalk:
    return (await RoomTalk.both(house))["ana"]


async def lines(person: RoomTalk) -> list[str]:
    return (await person.done("GET", f"{person.path}/memory"))["lines"]


async def said(person: RoomTalk, *commands: str) -> list[str]:
    return [await person.answer_to(command) for command in commands]


async def test_what_was_forgotten_and_corrected_is_undone_after_a_restart_the_last_change_first(
    home: Path, vendor: Vendor
) -> None:
    async with room_house(home, vendor) as before:
        ana = (await RoomTalk.both(before))["ana"]
        await said(ana, f"/remember {FRIDAYS}", f"/remember {LUNCH}")
        await said(ana, "/correct Fridays => we ship on Mondays", "/forget lunch")
    async with room_house(home, vendor) as after:
        operator = RoomTalk((await after.talk()).http)
        changed = await lines(operator)

        undone = await said(operator, "/forget undo", "/correct undo", "/forget undo")

        assert changed == ["we ship on Mondays — ana"]
        assert undone == [
            f"It is back: {LUNCH} — ana",
            f"It is back: {FRIDAYS} — ana",
            "There is nothing to undo.",
        ]
        assert await lines(operator) == [f"{FRIDAYS} — ana", f"{LUNCH} — ana"]


async def test_a_change_of_settings_takes_no_undo_away(house: AgentHouse, ana: RoomTalk) -> None:
    await said(ana, f"/remember {FRIDAYS}", "/forget Fridays")
    operator = await house.talk()

    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"instructions": "Be short."}})
    undone = await said(ana, "Undo that")

    assert undone == [f"It is back: {FRIDAYS} — ana"]


async def test_what_is_forgotten_at_another_door_is_undone_in_the_room(ana: RoomTalk) -> None:
    await said(ana, f"/remember {FRIDAYS}")
    body = {"line": f"{FRIDAYS} — ana"}
    await ana.done("POST", f"{ana.path}/memory/forget", json=body)

    undone = await said(ana, "/forget undo")

    assert undone == [f"It is back: {FRIDAYS} — ana"]


async def test_a_record_that_a_tool_kept_is_forgotten_corrected_and_undone(house: AgentHouse, ana: RoomTalk) -> None:
    record = {"text": "The gateway listens on 6380", "scope": "channel:web/releases"}
    await ana.done("POST", "/v1/records", json=record)

    await said(ana, "/forget gateway")
    gone = await ana.answer_to("/recall")
    await said(ana, "/forget undo")
    await said(ana, "/correct gateway => the gateway listens on 7000")
    corrected = await lines(ana)
    back = await ana.answer_to("/correct undo")

    assert "gateway" not in gone
    assert corrected == ["the gateway listens on 7000 — ana"]
    assert back == "It is back: The gateway listens on 6380"
    assert await lines(ana) == []
    assert "1. The gateway listens on 6380" in await ana.answer_to("/recall")


@pytest.mark.parametrize("by", ["ids", "scope"])
async def test_what_was_purged_does_not_come_back_and_is_nowhere(
    house: AgentHouse, ana: RoomTalk, home: Path, by: str
) -> None:
    await said(ana, f"/remember {FRIDAYS}", f"/remember {LUNCH}")
    # A purge of the room's scope ends who was a member of it.
    operator = RoomTalk((await house.talk()).http)
    records = (await operator.done("GET", "/v1/records?scope=channel:web/releases"))["records"]
    ids = [record["id"] for record in records if "Fridays" in record["text"]]
    await said(ana, "/forget Fridays", "/correct lunch => lunch is at one")
    body: dict[str, Any] = {"ids": ids} if by == "ids" else {"scope": "channel:web/releases"}

    await operator.done("POST", "/v1/purge", json=body)
    undone = await said(operator, "/forget undo", "/forget undo")

    assert undone[-1] == "There is nothing to undo."
    assert undone[0] == (f"It is back: {LUNCH} — ana" if by == "ids" else "There is nothing to undo.")
    kept = [file for file in (home / "channels").rglob("*") if file.is_file() and "Fridays" in file.read_text("utf-8")]
    assert kept == []
