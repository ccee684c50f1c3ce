"""A channel of DingTalk at a daemon, from its set-up to its end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.dingtalk.pushes import GROUP, OTHER_GROUP, direct, pressed, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault, RobotWords, dingtalk_server
from commonplace.testing.events import until
from commonplace.testing.rooms import room_house
from commonplace.testing.turns import AgentHouse, AgentTalk
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

PATIENCE = 20.0
SECRET = "A_CLIENT_SECRET"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("On Fridays.")]
        yield begun


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[DingTalkServer]:
    async with dingtalk_server() as begun:
        monkeypatch.setenv(SECRET, begun.client_secret)
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor) as begun:
        yield begun


async def add(operator: AgentTalk, server: DingTalkServer, **options: str) -> None:
    settings: dict[str, Any] = {
        "group_policy": "open",
        "senders": "open",
        "options": {"client_id": server.client_id, "endpoint": server.url, **options},
        "secrets": {"client_secret": SECRET},
    }
    await operator.done("POST", "/v1/channels", json={"name": "ding", "kind": "dingtalk", "settings": settings})


async def shown(operator: AgentTalk, holds: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
    """The channel, once it is what is waited for."""
    async with asyncio.timeout(PATIENCE):
        # What is waited for is the daemon's to say.
        while not holds(channel := await operator.done("GET", "/v1/channels/ding")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return channel


async def connected(server: DingTalkServer) -> None:
    await until(lambda: bool(server.links), PATIENCE)


async def words(server: DingTalkServer, count: int, chat: str = GROUP) -> list[str]:
    """What the robot wrote, once there is so much of it."""
    await until(lambda: len(server.rooms[chat]) >= count, PATIENCE)
    return [written.text for written in server.rooms[chat]]


async def test_a_group_is_answered_and_a_cold_one_gets_a_test_message(
    house: AgentHouse, server: DingTalkServer
) -> None:
    operator = await house.talk()
    await add(operator, server)
    await connected(server)

    ack = await server.push(said("When do we ship?"))
    answers = await words(server, 1)
    sent = await operator.done("POST", "/v1/channels/ding/test", json={"chat": OTHER_GROUP})
    channel = await shown(operator)
    log = await operator.done("GET", "/v1/channels/ding/log")

    assert (ack["code"], answers, sent["is_sent"]) == (200, ["On Fridays."], True)
    assert [written.way for written in server.rooms[OTHER_GROUP]] == ["group"]
    assert (channel["running"], channel["connection"]["status"]) == (True, "connected")
    assert server.client_secret not in f"{channel} {log}"


async def test_a_group_and_a_person_are_let_in_by_their_codes_and_the_third_mention_is_answered(
    house: AgentHouse, server: DingTalkServer
) -> None:
    operator = await house.talk()
    await add(operator, server)
    await connected(server)
    first = server.links[-1]
    settings = {"group_policy": "pairing", "senders": "pairing"}
    await operator.done("PATCH", "/v1/channels/ding", json={"settings": settings})
    await until(lambda: bool(server.links) and server.links[-1] is not first, PATIENCE)

    for number in (1, 2):
        await server.push(said("When do we ship?"))
        [code] = re.findall(r"\b[A-Z0-9]{8}\b", (await words(server, number))[-1])
        await operator.done("POST", "/v1/channels/ding/pair", json={"code": code})
    await server.push(said("When do we ship?"))
    answers = await words(server, 3)

    senders = (await operator.done("GET", "/v1/channels/ding/senders"))["senders"]
    assert answers[2:] == ["On Fridays."]
    assert sorted(sender["sender"] for sender in senders) == ["ana", f"group:{GROUP}"]


async def test_an_answer_grows_in_a_card_and_an_old_button_says_that_it_is_old(
    house: AgentHouse, server: DingTalkServer
) -> None:
    operator = await house.talk()
    await add(operator, server, answer_template="answers.schema", card_template="asks.schema")
    await connected(server)

    await server.push(direct("When do we ship?"))
    await until(lambda: any(card.is_final for card in server.cards.values()), PATIENCE)
    [card] = server.cards.values()
    answer = await server.press(pressed("a-question-of-long-ago", "approve"))

    assert (card.contents[-1], card.is_delivered, card.space) == ("On Fridays.", True, "dtv1.card//IM_ROBOT.ana")
    assert answer["response"]["userPrivateData"]["cardParamMap"]["notice"]


async def test_what_is_changed_begins_at_once_and_what_is_removed_hears_nothing_more(
    house: AgentHouse, server: DingTalkServer
) -> None:
    operator = await house.talk()
    await add(operator, server)
    await connected(server)
    first = server.links[-1]

    options = {"client_id": server.client_id, "endpoint": server.url, "proactive": "no"}
    await operator.done("PATCH", "/v1/channels/ding", json={"settings": {"options": options}})
    await until(lambda: bool(server.links) and server.links[-1] is not first, PATIENCE)
    test = await operator.done("POST", "/v1/channels/ding/test", json={"chat": OTHER_GROUP})
    await operator.done("DELETE", "/v1/channels/ding")
    await until(lambda: not server.links, PATIENCE)
    gone = await operator.http.get("/v1/channels/ding")

    assert not test["is_sent"]
    assert all(test["meaning"][language] for language in ("en", "zh"))
    assert gone.status_code == 404
    assert server.rooms[OTHER_GROUP] == list[RobotWords]()


async def test_what_keeps_it_from_connecting_is_shown_with_its_meaning(
    house: AgentHouse, server: DingTalkServer
) -> None:
    operator = await house.talk()
    server.fail("/connections/open", *[Fault(status=503, body={"code": "ServiceUnavailable"})] * 99)
    await add(operator, server)
    failed = await shown(operator, lambda channel: channel["connection"]["error"])

    assert "HTTP 503" in failed["connection"]["error"]
    assert all(failed["meaning"][language] for language in ("en", "zh"))


async def test_credentials_that_are_not_taken_are_refused_and_said(house: AgentHouse, server: DingTalkServer) -> None:
    operator = await house.talk()
    await add(operator, server, client_id="another")
    refused = await shown(operator, lambda channel: channel["connection"]["status"] == "refused")

    assert "credentials" in refused["meaning"]["en"]
    assert server.client_secret not in str(refused)
