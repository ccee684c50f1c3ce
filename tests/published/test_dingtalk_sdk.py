"""
DingTalk's own SDK, as it is published, talks to our server: what our client is tested against is thereby held to the vendor's code.

It cannot be stopped from within, so it runs in a process that is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.dingtalk.pushes import GROUP, direct, pressed, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault, RobotWords, dingtalk_server
from commonplace.testing.events import until

pytestmark = pytest.mark.anyio

PYTHON = Path(__file__).parents[2] / ".venv-dingtalk" / "bin" / "python"
ROBOT = Path(__file__).with_name("dingtalk_robot.py")
PATIENCE = 20.0
OURS = {
    "cardTemplateId", "outTrackId", "cardData", "callbackType", "userIdType", "openSpaceId", "imGroupOpenSpaceModel", "imRobotOpenSpaceModel",
}  # fmt: skip
"""What our client says of a card; `test_dingtalk_cards.py` holds it to that."""


class Robot:
    """The process, and what it said."""

    def __init__(self, server: DingTalkServer, process: asyncio.subprocess.Process) -> None:
        self.server = server
        self._process = process

    async def line(self) -> dict[str, Any]:
        """The next thing that happened to it."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self._process.stdout.readline())

    async def connected(self) -> None:
        await until(lambda: bool(self.server.links), PATIENCE)

    async def hears(self, text: str, *, alone: bool = False) -> dict[str, Any]:
        """The acknowledgement of a message, in a group or in a talk of two."""
        ack = await self.server.push(direct(text) if alone else said(text))
        heard = await self.line()
        assert heard == {"message": text, "sender": "ana", "mention": True}
        return ack


@pytest.fixture
async def server() -> AsyncGenerator[DingTalkServer]:
    async with dingtalk_server() as begun:
        yield begun


@pytest.fixture
async def robot(server: DingTalkServer, home: Path) -> AsyncGenerator[Robot]:
    assert PYTHON.exists(), "DingTalk's SDK is not installed. Run `make acceptance`."
    await asyncio.to_thread(home.mkdir)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DINGTALK_OPENAPI_ENDPOINT": server.url,
        "ROBOT_ID": server.client_id,
        "ROBOT_SECRET": server.client_secret,
    }
    pipe, away = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(PYTHON, ROBOT, stdout=pipe, stderr=away, env=environment)
    try:
        robot = Robot(server, process)
        await robot.line()
        await robot.connected()
        yield robot
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_connects_and_answers_a_group_as_text_and_as_markdown(robot: Robot, server: DingTalkServer) -> None:
    heard = [(await robot.hears(text), await robot.line()) for text in ("text", "markdown")]

    assert [ack["code"] for ack, _ in heard] == [200, 200]
    assert [line for _, line in heard] == [{"answer": {"errcode": 0, "errmsg": "ok"}}] * 2
    assert server.rooms[GROUP] == [
        RobotWords(way="webhook", title="", text="As text."),
        RobotWords(way="webhook", title="Title", text="**As** Markdown."),
    ]


async def test_it_answers_a_ping_and_an_event_with_what_they_brought(robot: Robot, server: DingTalkServer) -> None:
    ping = await server.ping()
    event = await server.let_in("cidNew==", title="New")
    heard = await robot.line()

    assert (ping["code"], json.loads(ping["data"])) == (200, {"opaque": "0aa2e3c2"})
    assert (event["code"], json.loads(event["data"])) == (200, {"openConversationId": "cidNew==", "title": "New"})
    assert heard["event"] == "im_cool_app_install"


async def test_it_hears_of_a_button_and_answers_it(robot: Robot, server: DingTalkServer) -> None:
    answer = await server.press(pressed("card-1", "approve", "bob"))
    heard = await robot.line()

    assert heard == {"button": ["approve"], "card": "card-1", "sender": "bob"}
    assert answer == {"response": {"userPrivateData": {"cardParamMap": {"notice": "Seen."}}}}


async def test_it_fetches_one_token_and_keeps_it(robot: Robot, server: DingTalkServer) -> None:
    await robot.hears("token")
    heard = await robot.line()

    assert heard == {"token": True}
    assert len(server.made("/oauth2/accessToken")) == 1


async def test_a_card_grows_and_is_finished(robot: Robot, server: DingTalkServer) -> None:
    await robot.hears("card")
    key = (await robot.line())["card"]

    card = server.cards[key]
    assert card.contents == ["It ", "It grows", "It grows."]
    assert (card.space, card.is_final) == (f"dtv1.card//IM_GROUP.{GROUP}", True)
    assert card.data["flowStatus"] in ("3", 3)


@pytest.mark.parametrize(("alone", "space"), [(False, f"IM_GROUP.{GROUP}"), (True, "IM_ROBOT.ana")])
async def test_a_card_is_made_and_delivered_at_once_as_ours_are(
    robot: Robot, server: DingTalkServer, alone: bool, space: str
) -> None:
    await robot.hears("question", alone=alone)
    key = (await robot.line())["card"]

    [body] = server.made("/card/instances/createAndDeliver")
    card = server.cards[key]
    assert (card.template, card.space, card.is_delivered) == ("asks.schema", f"dtv1.card//{space}", True)
    assert card.data == {"title": "Push it?"}
    # What our own client says beside it is the kind of the ids.
    assert body.keys() | {"userIdType"} == OURS | {f"im{'Robot' if alone else 'Group'}OpenDeliverModel"}


async def test_it_learns_where_a_file_is(robot: Robot, server: DingTalkServer) -> None:
    server.files["code-1"] = b"png"

    await robot.hears("file")
    heard = await robot.line()

    assert heard == {"address": f"{server.url}/files/code-1"}


async def test_it_connects_again_when_it_is_asked_to_and_after_a_fault(robot: Robot, server: DingTalkServer) -> None:
    server.fail("/connections/open", Fault(status=503))
    first = server.links[-1]

    await server.disconnect()
    await until(lambda: bool(server.links) and server.links[-1] is not first, PATIENCE)
    ack = await robot.hears("again")

    assert ack["code"] == 200
    assert len(server.made("/connections/open")) == 3
