"""A channel of Feishu at a daemon, from its set-up to its end, over the long connection and over the webhook's own port."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, chat_message
from commonplace.testing.feishu.server import ENCRYPT_KEY, SECRET, VERIFICATION_TOKEN
from commonplace.testing.feishu.stories import APP, BOT
from commonplace.testing.rooms import room_house
from commonplace.testing.turns import AgentHouse, AgentTalk
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

PATIENCE = 20.0
PLACES = {"app_secret": "A_SECRET", "verification_token": "A_TOKEN", "encrypt_key": "A_KEY"}
MEANT: dict[str, Any] = {"mentions": [(BOT, "Assistant")]}


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("On Fridays.")]
        yield begun


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FeishuServer]:
    values = {"A_SECRET": SECRET, "A_TOKEN": VERIFICATION_TOKEN, "A_KEY": ENCRYPT_KEY}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    async with FeishuServer().open() as server:
        yield server


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor) as begun:
        yield begun


async def add(operator: AgentTalk, server: FeishuServer, **options: str) -> None:
    settings: dict[str, Any] = {
        "group_policy": "open",
        "senders": "open",
        "options": {"app_id": APP, "domain": server.url, **options},
        "secrets": PLACES,
    }
    await operator.done("POST", "/v1/channels", json={"name": "team", "kind": "feishu", "settings": settings})


async def shown(operator: AgentTalk, holds: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
    """The channel, once it is what is waited for."""
    async with asyncio.timeout(PATIENCE):
        # What is waited for is the daemon's to say.
        while not holds(channel := await operator.done("GET", "/v1/channels/team")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return channel


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def texts(server: FeishuServer) -> list[str]:
    return [message.text for message in server.in_chat("oc_room") if not message.buttons]


async def test_a_group_is_answered_over_the_long_connection(house: AgentHouse, server: FeishuServer) -> None:
    operator = await house.talk()
    await add(operator, server)
    await until(lambda: server.connections == 1, PATIENCE)

    event = chat_message("@_user_1 When do we ship?", **MEANT)
    await server.say(event)
    await until(lambda: texts(server) == ["On Fridays."], PATIENCE)
    sent = await operator.done("POST", "/v1/channels/team/test", json={"chat": "oc_other"})
    channel = await shown(operator)

    assert sent["is_sent"]
    assert len(server.in_chat("oc_other")) == 1
    assert (channel["running"], channel["connection"]["status"]) == (True, "connected")
    assert SECRET not in str(channel)


async def test_a_group_and_a_person_are_let_in_by_their_codes_and_then_answered(
    house: AgentHouse, server: FeishuServer
) -> None:
    operator = await house.talk()
    await add(operator, server)
    settings = {"group_policy": "pairing", "senders": "pairing"}
    await operator.done("PATCH", "/v1/channels/team", json={"settings": settings})
    await until(lambda: server.connections == 2, PATIENCE)

    for number in (1, 2):
        await server.say(chat_message("@_user_1 When do we ship?", **MEANT))
        await until(lambda number=number: len(server.in_chat("oc_room")) == number, PATIENCE)
        [code] = re.findall(r"\b[A-Z0-9]{8}\b", server.in_chat("oc_room")[-1].text)
        await operator.done("POST", "/v1/channels/team/pair", json={"code": code})
    await server.say(chat_message("@_user_1 When do we ship?", **MEANT))
    await until(lambda: texts(server)[2:] == ["On Fridays."], PATIENCE)

    senders = (await operator.done("GET", "/v1/channels/team/senders"))["senders"]
    assert sorted(sender["sender"] for sender in senders) == ["group:oc_room", "ou_ana"]


async def test_a_group_is_answered_over_the_webhook_until_the_channel_is_removed(
    house: AgentHouse, server: FeishuServer
) -> None:
    operator, port = await house.talk(), free_port()
    url = f"http://127.0.0.1:{port}/feishu"
    await add(operator, server, mode="webhook", webhook_port=f"{port}")
    await shown(operator, lambda channel: channel["connection"]["status"] == "connected")

    forged = await server.post(
        url, chat_message("@_user_1 Push it", **MEANT), timestamp=int(time.time()), key="another"
    )
    answer = await server.post(url, chat_message("@_user_1 When?", **MEANT), timestamp=int(time.time()))
    await until(lambda: texts(server) == ["On Fridays."], PATIENCE)
    log = await operator.done("GET", "/v1/channels/team/log")
    door = await house.running.client.post("/feishu", content=b"{}")
    await operator.done("DELETE", "/v1/channels/team")

    assert (forged.status_code, answer.status_code, door.status_code) == (403, 200, 404)
    assert [entry["event"] for entry in log["entries"]] == ["connecting", "connected", "forbidden"]
    assert all(log["entries"][-1]["meaning"][language] for language in ("en", "zh"))
    assert not any(secret in str(log) for secret in (SECRET, ENCRYPT_KEY, VERIFICATION_TOKEN))
    assert server.connections == 0
    with pytest.raises(httpx.ConnectError):
        await server.post(url, chat_message("Hello"), timestamp=int(time.time()))


async def test_what_keeps_it_from_connecting_is_shown_with_its_meaning(house: AgentHouse, server: FeishuServer) -> None:
    operator = await house.talk()
    server.fail("endpoint", times=99, code=1000040350, message="too many")
    await add(operator, server)
    await until(lambda: bool(server.requests), PATIENCE)
    failed = await shown(operator, lambda channel: channel["connection"]["error"])

    assert "1000040350" in failed["connection"]["error"]
    assert all(failed["meaning"][language] for language in ("en", "zh"))


async def test_a_webhook_without_its_key_is_not_added_and_says_what_it_needs(
    house: AgentHouse, server: FeishuServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = await house.talk()
    monkeypatch.delenv("A_KEY")
    options = {"app_id": APP, "domain": server.url, "mode": "webhook", "webhook_port": f"{free_port()}"}
    body = {"name": "team", "kind": "feishu", "settings": {"options": options, "secrets": PLACES}}
    answer = await operator.http.post("/v1/channels", json=body)
    channel = await operator.http.get("/v1/channels/team")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
    assert "A_KEY" in answer.json()["error"]["message"]
    assert channel.status_code == 404
