"""One request for a permission, seen and voted on through the session door, in an editor and at the native door, which the console speaks."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.doors.acp.editor import EditorPeer, editor_at, selected

from commonplace.agent.live_sessions import LiveSessions
from commonplace.testing.agents import WHO
from commonplace.testing.events import until
from commonplace.testing.sessions import PATIENCE, SessionHouse, of, over, seen, session_house
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

WRITE = ("write_file", '{"path": "a.txt", "content": "x"}')
NATIVE = "/v1/sessions/{}/events"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    return folder


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("I write.", calls=[WRITE]), stream("Written.")]
        yield begun


def shared(workspace: Path, policy: str, **more: Any) -> dict[str, Any]:
    return {"agent_shared_sessions": True, "agent_roots": [workspace], "agent_permission_policy": policy, **more}


async def attended(house: SessionHouse, session: str, *names: str) -> None:
    """Wait until these persons count as present."""
    attendance = await house.running.use_case(LiveSessions).attendance(WHO, session)
    await until(lambda: set(attendance.present) >= set(names), PATIENCE)


async def opened(peer: EditorPeer, session: str, workspace: Path) -> None:
    await peer.call("initialize", protocolVersion=1)
    answer = await peer.call("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
    assert "error" not in answer, answer


async def test_each_of_three_votes_through_another_door_and_together_they_permit_the_call(
    home: Path, workspace: Path, vendor: Vendor
) -> None:
    settings = shared(workspace, "consensus", agent_permission_quorum=3)
    async with session_house(home, workspace, vendor, **settings) as house:
        ana, cleo = await house.person("ana"), await house.person("cleo")
        session = cleo.session = (await ana.create())["sessionId"]
        async with (
            editor_at(house.url, await house.key("bob")) as bob,
            ana.listening() as hers,
            cleo.listening(at=NATIVE) as cleos,
        ):
            # Nobody's vote is in before everybody has seen the request.
            bob.answers = {}
            await opened(bob, session, workspace)
            await attended(house, session, "ana", "bob", "cleo")
            ticket = await ana.prompt("Write it.")
            [request] = of(await hers.wait(seen("permission_request")), "permission_request")
            [asked] = of(await cleos.wait(seen("permission_asked")), "permission_asked")
            await bob.until(lambda: bool(bob.asked))
            id = asked["request"]["id"]
            first = await ana.vote(id, "proceed_once")
            is_written = (workspace / "a.txt").exists()
            second = await cleo.done("POST", f"/v1/sessions/{{}}/permissions/{id}", {"choice": "allow_once"})
            bob.answer(selected("allow_once"))
            heard = await cleos.wait(seen("turn_ended"))
            told = await hers.wait(over(ticket["promptId"]))

    assert request["requestId"] == id
    assert bob.asked[0][1]["toolCall"]["toolCallId"] == request["toolCall"]["toolCallId"]
    assert asked["request"]["terms"]["voters"] == ["ana", "bob", "cleo"]
    assert (first.status_code, is_written, second["outcome"], second["votes_needed"]) == (200, False, "recorded", 1)
    [answered] = of(heard, "permission_answered")
    assert answered["answer"]["votes"] == {"ana": "allow_once", "bob": "allow_once", "cleo": "allow_once"}
    assert [vote["votesReceived"] for vote in of(told, "permission_partial_vote")] == [1, 2]
    assert of(told, "permission_resolved")[0]["outcome"]["optionId"] == "proceed_once"
    assert (workspace / "a.txt").read_text() == "x"


async def test_an_editor_whose_vote_does_not_count_is_told_so_and_the_request_waits_on(
    home: Path, workspace: Path, vendor: Vendor
) -> None:
    async with session_house(home, workspace, vendor, **shared(workspace, "designated")) as house:
        ana = await house.person("ana")
        session = (await ana.create())["sessionId"]
        async with editor_at(house.url, await house.key("bob")) as bob, ana.listening() as hers:
            await opened(bob, session, workspace)
            await attended(house, session, "bob")
            ticket = await ana.prompt("Write it.")
            [request] = of(await hers.wait(seen("permission_forbidden")), "permission_request")
            await bob.until(lambda: any("was not counted" in str(update) for update in bob.updates))
            is_written = (workspace / "a.txt").exists()
            voted = await ana.vote(request["requestId"], "proceed_once")
            await hers.wait(over(ticket["promptId"]))

    assert (is_written, voted.status_code) == (False, 200)
    assert (workspace / "a.txt").read_text() == "x"
