"""
Feishu's own SDK, as it is published, talks to our server: what our client is tested against is thereby held to the vendor's code.

It cannot be stopped from within, so it runs in a process that is killed. To be imported takes it seconds, so one process serves all tests here.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.channels.feishu.crypto import encrypted
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, card_press, chat_message, room_joined
from commonplace.testing.feishu.server import ENCRYPT_KEY, SECRET, VERIFICATION_TOKEN
from commonplace.testing.feishu.stories import APP, BOT

pytestmark = pytest.mark.anyio

PYTHON = Path(__file__).parents[2] / ".venv-feishu" / "bin" / "python"
ROBOT = Path(__file__).with_name("feishu_robot.py")
IMPORT_PATIENCE = 120.0
PATIENCE = 20.0
EVERY_SECOND = {"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": 1}


class Robot:
    """The process, and what it said. `webhook` is the address where the SDK judges requests."""

    def __init__(self, server: FeishuServer, process: asyncio.subprocess.Process) -> None:
        self.server = server
        self._process = process
        self.webhook = ""
        self.frame = ""
        """Of the last message."""

    async def begun(self) -> None:
        self.webhook = f"http://127.0.0.1:{(await self.line(IMPORT_PATIENCE))['port']}/"
        await until(lambda: self.server.connections > 0, IMPORT_PATIENCE)

    async def line(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next thing that happened to it. The SDK writes its log to the same place."""
        assert self._process.stdout is not None
        async with asyncio.timeout(seconds):
            while not (line := await self._process.stdout.readline()).startswith(b"{"):
                assert line, "The process has ended."
        return json.loads(line)

    async def hears(self, text: str, **more: Any) -> str:
        """The id of a message, which the robot took."""
        event = chat_message(f"@_user_1 {text}", mentions=[(BOT, "Assistant")], **more)
        self.frame = await self.server.say(event)
        heard = await self.line()
        assert heard == {"message": f"@_user_1 {text}", "sender": "ou_ana", "chat": "oc_room", "mentions": [BOT]}
        return event["event"]["message"]["message_id"]

    async def taken(self) -> int:
        """What it said to the frame of the last message."""
        await until(lambda: any(ack.message == self.frame for ack in self.server.acks), PATIENCE)
        return (await self.server.acked(self.frame)).code

    async def tell(self, event: dict[str, Any], **how: Any) -> httpx.Response:
        """By the webhook."""
        return await self.server.post(self.webhook, event, **{"timestamp": int(time.time()), **how})


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[FeishuServer]:
    server = FeishuServer()
    # The SDK heeds it from its first ping on.
    server.ping_seconds, server.pong_config = 1, EVERY_SECOND
    async with server.open():
        yield server


@pytest.fixture(scope="module")
async def robot(server: FeishuServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Robot]:
    assert PYTHON.exists(), "Feishu's SDK is not installed. Run `make acceptance`."
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path_factory.mktemp("home")),
        "FEISHU_SERVER": server.url,
        "ROBOT_ID": APP,
        "ROBOT_SECRET": SECRET,
        "ENCRYPT_KEY": ENCRYPT_KEY,
        "VERIFICATION_TOKEN": VERIFICATION_TOKEN,
    }
    pipe, away = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(PYTHON, ROBOT, stdout=pipe, stderr=away, env=environment)
    try:
        robot = Robot(server, process)
        await robot.begun()
        yield robot
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_connects_hears_a_message_and_answers_it(robot: Robot, server: FeishuServer) -> None:
    message = await robot.hears("reply")
    answer = await robot.line()

    assert (answer["code"], answer["parent"]) == (0, message)
    assert server.messages[answer["id"]].text == "Heard."
    assert await robot.taken() == 200


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
async def test_it_puts_the_parts_of_a_message_together(
    robot: Robot, server: FeishuServer, order: tuple[int, ...]
) -> None:
    await server.say_in_parts(chat_message("长 " * 400), order)
    heard = await robot.line()

    assert heard["message"] == "长 " * 400


async def test_a_card_is_made_and_grows(robot: Robot, server: FeishuServer) -> None:
    await robot.hears("card")
    heard = await robot.line()

    card = server.messages[heard["card"]]
    assert heard["codes"] == [0, 0]
    assert [json.loads(content)["body"]["elements"][0]["content"] for content in card.contents] == [
        "It ",
        "It grows",
        "It grows.",
    ]


async def test_it_hears_of_a_button_and_answers_with_a_toast(robot: Robot, server: FeishuServer) -> None:
    frame = await server.say(card_press({"action": "stop", "key": "k"}, message="om_9", sender="ou_bob"))
    heard = await robot.line()

    assert heard == {"button": {"action": "stop", "key": "k"}, "sender": "ou_bob", "message": "om_9"}
    assert (await server.acked(frame)).data["toast"] == {"type": "info", "content": "Seen."}


async def test_it_hears_of_a_group_that_lets_it_in(robot: Robot, server: FeishuServer) -> None:
    await server.say(room_joined("oc_new", "Release"))

    assert await robot.line() == {"added": "oc_new", "name": "Release"}


async def test_a_message_is_marked_and_the_mark_is_taken_away(robot: Robot, server: FeishuServer) -> None:
    message = await robot.hears("mark")
    marked, taken_away = await robot.line(), await robot.line()

    assert marked["reaction"]
    assert taken_away == {"code": 0}
    assert server.messages[message].reactions == {}


async def test_it_fetches_a_file_and_a_quoted_message(robot: Robot, server: FeishuServer) -> None:
    server.files["img_1"] = b"png"
    quoted = chat_message("The plan", sender="ou_bob")
    server.keep(quoted)

    await robot.hears("file")
    file = await robot.line()
    await robot.hears("quote", parent_id=quoted["event"]["message"]["message_id"])
    heard = await robot.line()

    assert file == {"code": 0, "file": "png"}
    assert heard == {"kind": "text", "sender": "ou_bob", "content": {"text": "The plan"}, "missing": 230011}


async def test_it_writes_to_a_cold_room_and_once_by_the_same_key(robot: Robot, server: FeishuServer) -> None:
    await robot.hears("cold")
    cold = await robot.line()
    await robot.hears("twice")
    twice = await robot.line()

    assert (cold, twice) == ({"code": 0, "chat": "oc_cold"}, {"same": True})
    assert [message.text for message in server.in_chat("oc_cold")] == ["Good morning."]


async def test_it_learns_who_it_is_and_keeps_its_token(robot: Robot, server: FeishuServer) -> None:
    await robot.hears("bot")

    assert await robot.line() == {"code": 0, "bot": BOT}
    assert len(server.tokens) == 1


async def test_it_pings_as_often_as_the_server_asks_for_and_connects_again(robot: Robot, server: FeishuServer) -> None:
    connections = server.connections
    await server.disconnect()
    await until(lambda: server.connections > connections, PATIENCE)
    pings = server.pings

    await until(lambda: server.pings >= pings + 2, PATIENCE)
    await robot.hears("reply")
    await robot.line()

    assert await robot.taken() == 200


async def test_it_connects_again_after_faults_of_the_endpoint(robot: Robot, server: FeishuServer) -> None:
    server.fail("/callback/ws/endpoint", status=503)
    server.fail("/callback/ws/endpoint", code=1000040343)
    connections = server.connections

    await server.disconnect()
    await until(lambda: server.connections > connections, PATIENCE)
    await robot.hears("again")

    assert await robot.taken() == 200


# ---- the webhook


@pytest.mark.parametrize("nonce", ["n-1", "n-2"])
async def test_it_takes_what_our_server_signs_and_encrypts(robot: Robot, nonce: str) -> None:
    answer = await robot.tell(chat_message("早上好"), nonce=nonce)
    heard = await robot.line()

    assert (answer.status_code, answer.json()) == (200, {"msg": "success"})
    assert heard["message"] == "早上好"


async def test_a_button_is_answered_by_the_webhook(robot: Robot) -> None:
    answer = await robot.tell(card_press({"action": "stop", "key": "k"}))
    heard = await robot.line()

    assert heard["button"] == {"action": "stop", "key": "k"}
    assert answer.json()["toast"] == {"type": "info", "content": "Seen."}


@pytest.mark.parametrize(
    "how",
    [{"key": "another-key"}, {"token": "another-token"}, {"X_Lark_Signature": "0" * 64}, {"X_Lark_Request_Nonce": "x"}],
)
async def test_it_refuses_what_our_server_forges(robot: Robot, how: dict[str, Any]) -> None:
    answer = await robot.tell(chat_message("Push it"), **how)
    await robot.tell(chat_message("Still here"))

    assert answer.status_code == 500
    assert (await robot.line())["message"] == "Still here"


async def test_it_answers_the_question_for_the_webhook(robot: Robot) -> None:
    question = {"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "c-1"}
    text = encrypted(json.dumps(question).encode(), ENCRYPT_KEY, os.urandom(16))
    async with httpx.AsyncClient() as client:
        answer = await client.post(robot.webhook, json={"encrypt": text})

    assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})
