"""Who attaches to a session, sees it, hears it and votes in it: its person, and whoever it is shared with. A client id decides nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.testing.sessions import ModelGate, Program, SessionHouse, of, over, seen, session_house
from commonplace.testing.vendor import Vendor, stream

pytestmark = pytest.mark.anyio

WRITE = ("write_file", '{"path": "a.txt", "content": "x"}')


@pytest.fixture
async def team(home: Path, workspace: Path, vendor: Vendor) -> AsyncGenerator[SessionHouse]:
    """Sessions are shared with whoever reaches the workspace, and only the person whose turn it is permits."""
    async with session_house(
        home,
        workspace,
        vendor,
        agent_shared_sessions=True,
        agent_permission_policy="designated",
        agent_roots=[workspace],
    ) as begun:
        yield begun


async def refusals(program: Program, session: str) -> set[tuple[int, str]]:
    program.session = session
    prompt = {"prompt": [{"type": "text", "text": "x"}]}
    outcome = {"outcome": {"outcome": "cancelled"}}
    answers = [
        await program.ask("POST", "/session/{}/load", {}),
        await program.ask("POST", "/session/{}/prompt", prompt),
        await program.ask("GET", "/session/{}/events"),
        await program.ask("GET", "/session/{}/transcript"),
        await program.ask("POST", "/session/{}/permission/x", outcome),
        await program.ask("POST", "/session/{}/cancel", {}),
        await program.ask("DELETE", "/session/{}"),
    ]
    return {(answer.status_code, answer.json()["code"]) for answer in answers}


async def test_nobody_finds_a_session_of_somebody_else(house: SessionHouse) -> None:
    ana, bo = await house.person("ana"), await house.person("bo")
    session = (await ana.create())["sessionId"]

    own = await bo.create()
    refused = await refusals(bo, session)
    removed = await bo.done("POST", "/sessions/delete", {"sessionIds": [session]})

    assert own["sessionId"] != session
    assert own["attached"] is False
    assert refused == {(404, "session_not_found")}
    assert removed == {"removed": [], "notFound": [session], "errors": []}
    assert (await ana.ask("POST", "/session/{}/heartbeat", {})).status_code == 200


async def test_a_session_that_was_shared_later_is_attached_to_by_its_id_alone(house: SessionHouse) -> None:
    ana, bo = await house.person("ana"), await house.person("bo")
    session = (await ana.create())["sessionId"]
    await ana.done("PATCH", f"/v1/sessions/{session}", {"shared": True})

    begun = await bo.create()
    bo.session = session
    joined = await bo.ask("POST", "/session/{}/load", {})

    # Nobody said at this door that sessions are shared, so bo is given one of his own.
    assert (begun["sessionId"] != session, begun["attached"]) == (True, False)
    assert joined.status_code == 200


async def test_a_client_id_of_somebody_else_is_none(team: SessionHouse) -> None:
    ana, bo = await team.person("ana"), await team.person("bo")
    await ana.create()
    await bo.create()
    bo.client, other = ana.client, bo.client

    answer = await bo.ask("POST", "/session/{}/prompt", {"prompt": [{"type": "text", "text": "x"}]})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_client_id")
    bo.client = other
    assert (await bo.ask("POST", "/session/{}/heartbeat", {})).status_code == 200


async def test_in_a_shared_session_everybody_hears_and_only_whose_turn_it_is_permits(
    team: SessionHouse, vendor: Vendor
) -> None:
    vendor.replies = [stream(calls=[WRITE]), stream("Written.")]
    ana, bo = await team.person("ana"), await team.person("bo")
    first, second = await ana.create(), await bo.create()
    ticket = await ana.prompt("Write it.")
    [request] = of(await bo.hear(seen("permission_request")), "permission_request")

    refused = await bo.vote(request["requestId"], "proceed_once")
    settled = await ana.vote(request["requestId"], "proceed_once")
    found = await bo.hear(over(ticket["promptId"]))
    closed = await bo.ask("DELETE", "/session/{}")

    assert (second["sessionId"], second["attached"]) == (first["sessionId"], True)
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_forbidden")
    assert refused.json()["reason"] == "designated_mismatch"
    assert settled.status_code == 200
    [forbidden] = of(found, "permission_forbidden")
    assert (forbidden["clientId"], forbidden["reason"]) == (bo.client, "designated_mismatch")
    assert of(found, "permission_resolved")[0]["voterClientId"] == ana.client
    # It is ana's to close.
    assert closed.status_code == 403


async def test_a_request_is_voted_on_by_its_id_alone_only_by_those_who_reach_it(
    house: SessionHouse, ana: Program, vendor: Vendor
) -> None:
    vendor.replies = [stream(calls=[("shell", '{"command": "touch made"}')]), stream("Made.")]
    await ana.create()
    ticket = await ana.prompt("Make it.")
    [request] = of(await ana.hear(seen("permission_request")), "permission_request")
    path, body = f"/permission/{request['requestId']}", {"outcome": {"outcome": "selected", "optionId": "proceed_once"}}

    stranger = await (await house.person("bo")).ask("POST", path, body)
    nobody = await ana.ask("POST", "/permission/nope", body)
    own = await ana.ask("POST", path, body)
    await ana.hear(over(ticket["promptId"]))

    assert (stranger.status_code, nobody.status_code, own.status_code) == (404, 404, 200)
    assert stranger.json() == {**nobody.json(), "requestId": request["requestId"]}


async def test_who_only_reads_hears_a_shared_session_and_says_nothing(team: SessionHouse, vendor: Vendor) -> None:
    vendor.replies = [stream("Hello.")]
    ana, reader = await team.person("ana"), await team.person("rex", role="reader")
    session = (await ana.create())["sessionId"]
    await ana.turn("Hello?")

    created = await reader.ask("POST", "/session", {})
    await reader.restore(session)
    found = await reader.hear(seen("turn_complete"))
    refused = await reader.ask("POST", "/session/{}/prompt", {"prompt": [{"type": "text", "text": "x"}]})

    assert created.status_code == 403
    assert of(found, "turn_complete")
    assert refused.status_code == 403


async def test_when_a_session_is_shared_no_longer_the_others_are_let_go(team: SessionHouse) -> None:
    ana, bo = await team.person("ana"), await team.person("bo")
    await ana.create()
    await bo.create()

    async with bo.listening(last=0) as heard:
        await ana.done("PATCH", "/v1/sessions/{}", {"shared": False})
        await heard.wait(lambda _: heard.ended)
    lost = await bo.ask("POST", "/session/{}/heartbeat", {})

    assert [frame.type for frame in heard.frames] == ["replay_complete", "client_evicted"]
    assert (lost.status_code, lost.json()["code"]) == (404, "session_not_found")


async def test_what_happens_in_a_workspace_is_told_to_the_sessions_of_those_who_may_read_it(team: SessionHouse) -> None:
    ana, bo = await team.person("ana"), await team.person("bo")
    await ana.create()
    await bo.create()
    # Of ana alone, since it is her own memory; then of everybody who reaches the workspace.
    own = {"scope": "global", "content": "I drink tea.", "mode": "append"}
    common = {"scope": "workspace", "content": "We ship on Fridays.", "mode": "append"}

    written = [await ana.ask("POST", "/workspace/memory", body) for body in (own, common)]
    hers = await ana.hear(seen("memory_changed", 2))
    his = await bo.hear(seen("memory_changed"))

    assert [answer.status_code for answer in written] == [200, 200]
    assert [one["scope"] for one in of(hers, "memory_changed")] == ["global", "workspace"]
    assert [one["scope"] for one in of(his, "memory_changed")] == ["workspace"]
    assert {frame.document["originatorClientId"] for frame in hers} == {ana.client}


@pytest.mark.parametrize("at", ["/session/{}/events", "/v1/sessions/{}/events"])
async def test_what_is_written_in_a_workspace_is_heard_in_a_session_by_those_only_who_may_read_it(
    team: SessionHouse, at: str
) -> None:
    ana, bo = await team.person("ana"), await team.person("bo")
    await ana.create()
    await bo.create()
    last = seen("record.created")

    async with ana.listening(at=at) as hers, bo.listening(at=at) as his:
        # The log keeps their order: who has heard the last one hears nothing of the first.
        written = [
            await ana.done("POST", "/v1/records", {"text": text, "scope": scope})
            for text, scope in (("I drink tea.", "user:ana"), ("We ship on Fridays.", "workspace:web"))
        ]
        await hers.wait(seen("record.created", 2))
        await his.wait(last)

    ids = [answer["record"]["id"] for answer in written]
    assert [one["id"] for one in of(hers.frames, "record.created")] == ids
    assert [one["id"] for one in of(his.frames, "record.created")] == ids[1:]
    # They are none of the session's own events: nobody resumes after them.
    assert {frame.id for frame in hers.frames if frame.type == "record.created"} == {None}


@pytest.mark.parametrize("at", ["/session/{}/events", "/v1/sessions/{}/events"])
async def test_what_is_shared_with_somebody_who_listens_is_heard_from_then_on_and_until_it_is_taken_back(
    team: SessionHouse, at: str
) -> None:
    ana, bo = await team.person("ana"), await team.person("bo")
    await ana.create()
    await bo.create()
    membership = {"scope": "session:tea", "subject": "bo"}

    async def write(text: str, scope: str = "session:tea") -> str:
        return (await ana.done("POST", "/v1/records", {"text": text, "scope": scope}))["record"]["id"]

    async with bo.listening(at=at) as his:
        await write("Before.")
        await ana.done("POST", "/v1/members", membership)
        shared = await write("Shared.")
        await ana.done("POST", "/v1/members/remove", membership)
        await write("After.")
        last = await write("To all.", "workspace:web")
        await his.wait(lambda frames: any(one["id"] == last for one in of(frames, "record.created")))

    assert [one["id"] for one in of(his.frames, "record.created")] == [shared, last]


async def test_whoever_comes_into_a_turn_is_told_it_so_far_but_for_what_is_not_theirs(
    team: SessionHouse, vendor: Vendor, gate: ModelGate
) -> None:
    vendor.replies = [gate.reply("Done.")]
    ana, bo = await team.person("ana"), await team.person("bo")
    session = (await ana.create())["sessionId"]
    ticket = await ana.prompt("Wait.")
    await ana.hear(seen("session_update"))
    await ana.done("POST", "/workspace/memory", {"scope": "global", "content": "I drink tea.", "mode": "append"})
    await ana.hear(seen("memory_changed"))

    his = await bo.restore(session)
    hers = await (await team.person("ana")).restore(session)
    gate.open()
    found = await bo.hear(over(ticket["promptId"]), last=his["lastEventId"])

    assert (his["hasActivePrompt"], his["compactedReplay"]) == (True, [])
    assert [event["type"] for event in his["liveJournal"]] == ["session_update"]
    assert [event["type"] for event in hers["liveJournal"]] == ["session_update", "memory_changed"]
    assert of(found, "turn_complete")
