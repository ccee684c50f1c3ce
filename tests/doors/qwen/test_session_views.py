"""What there is to see of sessions at the session door, and what is done with several at once."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from commonplace.testing.sessions import ModelGate, Program, SessionHouse, of, seen
from commonplace.testing.vendor import INPUT_TOKENS, OUTPUT_TOKENS, Vendor, stream

pytestmark = pytest.mark.anyio


async def listed(program: Program, query: str = "") -> list[str]:
    cwd = (await program.done("GET", "/capabilities"))["workspaceCwd"]
    page = await program.done("GET", f"/workspace/{quote(cwd, safe='')}/sessions{query}")
    return [session["sessionId"] for session in page["sessions"]]


async def test_sessions_are_listed_page_by_page_and_without_those_that_are_archived(ana: Program) -> None:
    ids = [(await ana.create(sessionScope="thread"))["sessionId"] for _ in range(3)]
    cwd = quote((await ana.done("GET", "/capabilities"))["workspaceCwd"], safe="")

    first = await ana.done("GET", f"/workspace/{cwd}/sessions?size=2")
    second = await ana.done("GET", f"/workspace/{cwd}/sessions?size=2&cursor={first['nextCursor']}")
    archived = await ana.done("POST", "/sessions/archive", {"sessionIds": [ids[0], "none"]})

    pages = [*first["sessions"], *second["sessions"]]
    assert {session["sessionId"] for session in pages} == set(ids)
    assert "nextCursor" not in second
    assert archived == {"archived": [ids[0]], "alreadyArchived": [], "notFound": ["none"], "errors": []}
    assert set(await listed(ana)) == set(ids[1:])
    assert await listed(ana, "?archiveState=archived") == [ids[0]]


@pytest.mark.parametrize("query", ["?size=0", "?size=101", "?size=x", "?archiveState=some", "?cursor=x"])
async def test_a_list_that_cannot_be_is_refused(ana: Program, query: str) -> None:
    cwd = quote((await ana.done("GET", "/capabilities"))["workspaceCwd"], safe="")

    answer = await ana.ask("GET", f"/workspace/{cwd}/sessions{query}")

    assert answer.status_code == 400


async def test_an_archived_session_is_not_loaded_and_a_deleted_one_is_gone(ana: Program) -> None:
    id = (await ana.create())["sessionId"]
    await ana.done("POST", "/sessions/archive", {"sessionIds": [id]})

    refused = await ana.ask("POST", f"/session/{id}/load", {})
    await ana.done("POST", "/sessions/unarchive", {"sessionIds": [id]})
    await ana.restore(id)
    removed = await ana.done("POST", "/sessions/delete", {"sessionIds": [id, id, "none"]})
    lost = await ana.ask("POST", f"/session/{id}/load", {})

    assert (refused.status_code, refused.json()["code"]) == (409, "session_archived")
    assert removed == {"removed": [id], "notFound": ["none"], "errors": []}
    assert (lost.status_code, lost.json()["code"]) == (404, "session_not_found")


async def test_what_a_session_does_and_took_is_seen(ana: Program, vendor: Vendor, gate: ModelGate) -> None:
    vendor.replies = [stream("Done."), stream(calls=[("shell", '{"command": "touch made"}')]), stream("Made.")]
    await ana.create()
    await ana.turn("Hello?")
    await ana.prompt("Make it.")
    await ana.hear(seen("permission_request"))

    status = await ana.done("GET", "/session/{}/status")
    stats = await ana.done("GET", "/session/{}/stats")
    usage = await ana.done("GET", "/session/{}/context-usage")
    daemon = await ana.done("GET", "/daemon/status")

    assert (status["hasActivePrompt"], status["activeWorkState"], status["clientCount"]) == (True, "active", 1)
    assert status["isWaitingForPermission"] is True
    assert status["pendingInteractions"][0]["action"]["input"]["command"] == "touch made"
    assert status["displayName"] == "Hello?"
    model = stats["models"]["openai:small"]
    assert (stats["promptCount"], model["api"]["totalRequests"]) == (2, 1)
    assert model["tokens"]["total"] == INPUT_TOKENS + OUTPUT_TOKENS
    assert usage["usage"]["totalTokens"] == INPUT_TOKENS + OUTPUT_TOKENS
    assert daemon["runtime"]["sessions"] == {"active": 1}
    assert daemon["runtime"]["permissions"] == {"pending": 1, "policy": "first-responder"}
    assert daemon["budget"]["chatDailyUsd"] == 5.0


async def test_a_transcript_is_read_page_by_page_also_when_nobody_has_loaded_it(ana: Program, vendor: Vendor) -> None:
    vendor.replies = [stream("One."), stream("Two.")]
    id = (await ana.create())["sessionId"]
    for text in ("First?", "Second?"):
        await ana.turn(text)
    await ana.ask("DELETE", "/session/{}")

    first = await ana.done("GET", f"/session/{id}/transcript?limit=3")
    second = await ana.done("GET", f"/session/{id}/transcript?limit=3&cursor={first['nextCursor']}")

    events = [*first["events"], *second["events"]]
    assert [event["data"]["content"]["text"] for event in events] == ["First?", "One.", "Second?", "Two."]
    assert (first["hasMore"], second["hasMore"]) == (True, False)


async def test_a_mode_a_model_and_a_name_are_told_to_everybody(ana: Program, house: SessionHouse) -> None:
    await ana.create()
    other = await house.program()
    await other.create()

    mode = await ana.done("POST", "/session/{}/approval-mode", {"mode": "plan"})
    unknown = await ana.ask("POST", "/session/{}/approval-mode", {"mode": "auto"})
    model = await ana.ask("POST", "/session/{}/model", {"modelId": "openai:another"})
    name = await ana.done("PATCH", "/session/{}/metadata", {"displayName": "My session"})
    context = await other.done("GET", "/session/{}/context")
    found = await other.hear(seen("session_metadata_updated"))

    assert mode == {"sessionId": ana.session, "mode": "plan", "previous": "default", "persisted": False}
    assert (unknown.status_code, unknown.json()["code"]) == (400, "invalid_approval_mode")
    assert model.status_code == 400
    assert name == {"sessionId": ana.session, "displayName": "My session"}
    assert context["state"]["modes"]["currentModeId"] == "plan"
    assert [frame.type for frame in found] == [
        "approval_mode_changed",
        "model_switch_failed",
        "session_metadata_updated",
    ]
    assert of(found, "approval_mode_changed")[0]["next"] == "plan"
    assert {frame.document["originatorClientId"] for frame in found} == {ana.client}


async def test_votes_stand_in_the_audit_for_those_who_review(ana: Program, house: SessionHouse, vendor: Vendor) -> None:
    vendor.replies = [stream(calls=[("shell", '{"command": "touch made"}')]), stream("Made.")]
    await ana.create()
    await ana.prompt("Make it.")
    [request] = of(await ana.hear(seen("permission_request")), "permission_request")
    await ana.vote(request["requestId"], "cancel")

    rows = (await ana.done("GET", "/workspace/audit"))["rows"]
    refused = await (await house.person("bo")).ask("GET", "/workspace/audit")

    assert [row["kind"] for row in rows] == ["permission.resolved", "permission.voted", "permission.requested"]
    assert {(row["requestId"], row["sessionId"]) for row in rows} == {(request["requestId"], ana.session)}
    assert refused.status_code == 403


async def test_the_capabilities_name_sessions_and_their_limits(ana: Program) -> None:
    told = await ana.done("GET", "/capabilities")

    assert {"session_create", "session_events", "session_permission_vote"} <= set(told["features"])
    assert told["policy"] == {"permission": "first-responder"}
    assert (told["limits"]["maxPendingPromptsPerSession"], told["limits"]["maxTotalSessions"]) == (5, 64)
    assert told["workspaces"][0]["cwd"] == told["workspaceCwd"]
