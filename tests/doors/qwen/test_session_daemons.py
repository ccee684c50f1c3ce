"""Daemons and programs on one store, at the session door: a session is led by one of them, and the others say where it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.sessions import Program, SessionHouse, over, session_house
from commonplace.testing.vendor import Vendor

pytestmark = pytest.mark.anyio

ONE, TWO = "http://one.example:1", "http://two.example:2"
PROMPT = {"prompt": [{"type": "text", "text": "Hello?"}]}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/session/{}/load", {}),
    ("POST", "/session/{}/resume", {}),
    ("POST", "/session/{}/prompt", PROMPT),
    ("POST", "/session/{}/cancel", {}),
    ("POST", "/session/{}/heartbeat", {}),
    ("POST", "/session/{}/detach", None),
    ("GET", "/session/{}/events", None),
    ("GET", "/session/{}/pending-prompts", None),
    ("DELETE", "/session/{}/pending-prompts/run", None),
    ("POST", "/session/{}/permission/request", CANCELLED),
    ("POST", "/session/{}/approval-mode", {"mode": "plan"}),
    ("POST", "/session/{}/model", {"modelId": "small"}),
    ("GET", "/session/{}/context", None),
    ("GET", "/session/{}/stats", None),
    ("DELETE", "/session/{}", None),
]

Begin = Callable[[str | None], AbstractAsyncContextManager[SessionHouse]]


@pytest.fixture
def begin(home: Path, workspace: Path, vendor: Vendor) -> Begin:
    """A daemon at an address; without one, a program that takes no requests of others."""
    return lambda url: session_house(home, workspace, vendor, url=url)


@pytest.fixture
async def pair(begin: Begin) -> AsyncGenerator[tuple[Program, Program]]:
    """The operator's programs at two daemons, and a session that the first one leads."""
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(begin(url)) for url in (ONE, TWO)]
        leader, other = await one.program(), await two.program()
        await leader.create()
        yield leader, other


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_whatever_needs_the_daemon_that_leads_a_session_says_where_it_is(
    pair: tuple[Program, Program], method: str, path: str, body: Any
) -> None:
    leader, other = pair
    other.session = leader.session

    refused = await other.ask(method, path, body)

    assert (refused.status_code, refused.headers["X-Commonplace-Owner"]) == (421, ONE)
    assert refused.json()["code"] == "session_elsewhere"
    assert refused.json()["owner"] == ONE
    assert (await leader.ask("POST", "/session/{}/heartbeat", {})).status_code == 200


@pytest.mark.parametrize("what", ["delete", "archive"])
async def test_of_several_sessions_one_that_is_led_elsewhere_is_named_with_where_it_is(
    pair: tuple[Program, Program], what: str
) -> None:
    leader, other = pair

    answer = await other.done("POST", f"/sessions/{what}", {"sessionIds": [leader.session]})

    [error] = answer["errors"]
    assert error["sessionId"] == leader.session
    assert ONE in error["error"]
    assert (await leader.ask("POST", "/session/{}/heartbeat", {})).status_code == 200


async def test_what_was_said_in_a_session_is_read_at_every_daemon(pair: tuple[Program, Program]) -> None:
    leader, other = pair
    ticket = await leader.prompt("Remember the milk.")
    await leader.hear(over(ticket["promptId"]))
    other.session = leader.session

    page = await other.done("GET", "/session/{}/transcript")

    assert "Remember the milk." in str(page["events"])


async def test_whoever_asks_a_daemon_for_a_session_gets_one_that_it_can_lead(pair: tuple[Program, Program]) -> None:
    leader, other = pair

    own = await other.create()
    again = await leader.create()
    ticket = await other.prompt("Hello?")
    await other.hear(over(ticket["promptId"]))

    assert own["attached"] is False
    assert own["sessionId"] != again["sessionId"]
    assert again["attached"] is True


async def test_whoever_asks_for_a_session_is_not_sent_away_because_another_program_has_theirs_open(
    begin: Begin,
) -> None:
    async with begin(None) as program:
        editor = await program.program()
        theirs = (await editor.create())["sessionId"]
        async with begin(ONE) as daemon:
            ana = await daemon.program()
            named = await ana.ask("POST", f"/session/{theirs}/load", {})
            own = await ana.create()
            ticket = await ana.prompt("Hello?")
            await ana.hear(over(ticket["promptId"]))

    assert (named.status_code, named.json()["code"]) == (409, "session_in_use")
    assert own["attached"] is False
    assert own["sessionId"] != theirs
