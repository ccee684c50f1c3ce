"""Two workers of one daemon at the session door: a program that comes to the one finds what the other leads."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.testing.sessions import Program, SessionHouse, of, over, seen, session_house
from commonplace.testing.vendor import Vendor, stream

pytestmark = pytest.mark.anyio


@pytest.fixture
async def houses(home: Path, workspace: Path, vendor: Vendor) -> AsyncGenerator[list[SessionHouse]]:
    # The path of a socket may not be long.
    with tempfile.TemporaryDirectory(prefix="siblings-") as folder:
        async with AsyncExitStack() as stack:
            yield [
                await stack.enter_async_context(
                    session_house(home, workspace, vendor, worker=Path(folder) / f"{name}.sock")
                )
                for name in ("one", "two")
            ]


@pytest.fixture
async def programs(houses: list[SessionHouse]) -> list[Program]:
    return [await house.program() for house in houses]


async def test_a_session_is_had_said_something_and_heard_through_either(
    programs: list[Program], houses: list[SessionHouse]
) -> None:
    one, two = programs

    first, second = await one.create(), await two.create()
    ticket = await two.prompt("Hello?")
    heard = [await program.hear(over(ticket["promptId"])) for program in programs]

    assert (first["attached"], second["attached"]) == (False, True)
    assert first["sessionId"] == second["sessionId"]
    assert [frame.document for frame in heard[0]] == [frame.document for frame in heard[1]]
    assert houses[1].running.use_case(LiveSessions).in_use == ()


async def test_a_vote_that_names_no_session_finds_the_worker_that_asked(
    programs: list[Program], vendor: Vendor, workspace: Path
) -> None:
    one, two = programs
    vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "a"}')]), stream("Written.")]
    await one.create()
    ticket = await one.prompt("Write it.")
    [asked] = of(await one.hear(seen("permission_request")), "permission_request")
    body = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    options = [option["optionId"] for option in asked["options"]]

    none = await two.ask("POST", "/permission/nobody", body)
    body["outcome"]["optionId"] = next(option for option in options if "once" in option and "reject" not in option)
    vote = await two.ask("POST", f"/permission/{asked['requestId']}", body)
    await one.hear(over(ticket["promptId"]))

    assert (none.status_code, none.json()["code"]) == (404, "permission_not_found")
    assert vote.status_code == 200, vote.text
    assert (workspace / "a.txt").read_text() == "a"


async def test_what_tells_of_all_sessions_is_told_by_every_worker(programs: list[Program], workspace: Path) -> None:
    one, two = programs
    here = await one.create()
    there = await two.create(sessionScope="thread")

    lists = [await program.done("GET", f"/workspace/{workspace}/sessions") for program in programs]
    statuses = [await program.done("GET", "/daemon/status") for program in programs]

    ids = {here["sessionId"], there["sessionId"]}
    counts = [{one["sessionId"]: one["clientCount"] for one in page["sessions"]} for page in lists]
    assert counts == [dict.fromkeys(ids, 1)] * 2
    assert [status["runtime"]["sessions"]["active"] for status in statuses] == [2, 2]
