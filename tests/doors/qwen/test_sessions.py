"""The session door: how a session is had, said something, heard and left."""

from __future__ import annotations

import pytest

from commonplace.testing.events import until
from commonplace.testing.sessions import ModelGate, Program, SessionHouse, kinds, of, over, seen
from commonplace.testing.vendor import Vendor, stream

pytestmark = pytest.mark.anyio


async def test_a_prompt_is_echoed_answered_piece_by_piece_and_completed(ana: Program, vendor: Vendor) -> None:
    vendor.replies = [stream("Good ", "morning.", cached=40, thoughts=2)]
    attached = await ana.create()

    ticket = await ana.prompt("Hello?")
    found = await ana.hear(over(ticket["promptId"]))

    assert kinds(found) == [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "turn_complete",
    ]
    assert [frame.id for frame in found] == [1, 2, 3, 4, 5]
    echo, last = found[0].document, found[-1].document
    assert echo["data"]["update"]["content"] == {"type": "text", "text": "Hello?"}
    assert echo["data"]["update"]["_meta"]["source"] == "bridge-echo"
    assert {frame.document["originatorClientId"] for frame in found} == {attached["clientId"]}
    assert {frame.document["promptId"] for frame in found} == {ticket["promptId"]}
    assert last["data"] == {
        "sessionId": attached["sessionId"],
        "stopReason": "end_turn",
        "promptId": ticket["promptId"],
    }
    assert ticket["lastEventId"] == 0
    assert found[-2].data["update"]["_meta"]["usage"] == {
        "inputTokens": 50,
        "outputTokens": 7,
        "totalTokens": 57,
        "thoughtTokens": 2,
        "cachedReadTokens": 40,
    }


async def test_whoever_asks_for_a_session_gets_their_own_that_is_in_use(ana: Program, house: SessionHouse) -> None:
    first = await ana.create()
    again = await (await house.program()).create()
    thread = await (await house.program()).create(sessionScope="thread")

    assert (first["attached"], again["attached"], thread["attached"]) == (False, True, False)
    assert first["sessionId"] == again["sessionId"] != thread["sessionId"]
    assert len({first["clientId"], again["clientId"], thread["clientId"]}) == 3
    assert again["hasActivePrompt"] is False


async def test_a_session_that_was_closed_is_not_there_until_somebody_loads_it(ana: Program, vendor: Vendor) -> None:
    vendor.replies = [stream("Done.")]
    created = await ana.create()
    await ana.turn("Remember the milk.")

    closed = await ana.ask("DELETE", "/session/{}")
    lost = await ana.ask("POST", "/session/{}/prompt", {"prompt": [{"type": "text", "text": "x"}]})
    loaded = await ana.restore(created["sessionId"])
    await ana.turn("And the bread.")

    assert closed.status_code == 204
    assert (lost.status_code, lost.json()["code"]) == (404, "session_not_found")
    assert (loaded["attached"], loaded["hasActivePrompt"], loaded["liveJournal"]) == (False, False, [])
    said = [event["data"]["update"]["content"]["text"] for event in loaded["compactedReplay"]]
    assert said == ["Remember the milk.", "Done."]
    assert loaded["lastEventId"] == 2
    assert loaded["state"]["modes"]["currentModeId"] == "default"


async def test_with_its_last_client_a_session_is_closed(ana: Program, house: SessionHouse) -> None:
    await ana.create()
    other = await house.program()
    await other.create()

    async with ana.listening(last=0) as heard:
        first = await other.ask("POST", "/session/{}/detach")
        alive = await ana.ask("POST", "/session/{}/heartbeat", {})
        last = await ana.ask("POST", "/session/{}/detach")
        found = await heard.wait(seen("session_closed"))
    gone = await ana.ask("DELETE", "/session/{}")

    assert (first.status_code, alive.status_code, last.status_code, gone.status_code) == (204, 200, 204, 404)
    assert of(found, "session_closed")[0]["reason"] == "last_client_detached"


async def test_what_waits_is_told_and_a_sixth_prompt_is_refused(ana: Program, vendor: Vendor, gate: ModelGate) -> None:
    vendor.replies = [gate.reply("One."), stream("Other.")]
    await ana.create()
    tickets = [await ana.prompt(str(number)) for number in range(5)]

    sixth = await ana.ask("POST", "/session/{}/prompt", {"prompt": [{"type": "text", "text": "5"}]})
    waiting = await ana.done("GET", "/session/{}/pending-prompts")
    removed = await ana.done("DELETE", f"/session/{{}}/pending-prompts/{tickets[4]['promptId']}")
    gate.open()
    found = await ana.hear(over(tickets[3]["promptId"]))

    assert (sixth.status_code, sixth.headers["retry-after"]) == (503, "5")
    assert sixth.json() | {"error": ""} == {
        "error": "",
        "code": "prompt_queue_full",
        "sessionId": ana.session,
        "limit": 5,
        "pendingCount": 5,
    }
    assert [prompt["state"] for prompt in waiting["pendingPrompts"]] == ["running", *["queued"] * 4]
    assert removed == {"removed": True}
    assert len(of(found, "pending_prompt_added")) == 4
    assert [one["promptId"] for one in of(found, "pending_prompt_started")] == [one["promptId"] for one in tickets[1:4]]
    assert of(found, "pending_prompt_completed")[0] == {
        "sessionId": ana.session,
        "promptId": tickets[4]["promptId"],
        "state": "removed",
    }


async def test_a_turn_that_is_cancelled_says_so_and_the_next_one_is_played(
    ana: Program, vendor: Vendor, gate: ModelGate
) -> None:
    vendor.replies = [gate.reply("Never."), stream("Here.")]
    await ana.create()
    first, second = await ana.prompt("One?"), await ana.prompt("Two?")
    await until(lambda: len(vendor.requests) == 1)

    cancelled = await ana.ask("POST", "/session/{}/cancel", {})
    found = await ana.hear(over(second["promptId"]))

    assert cancelled.status_code == 204
    ended = of(found, "turn_complete")
    assert [one["stopReason"] for one in ended] == ["cancelled", "end_turn"]
    assert ended[0]["promptId"] == first["promptId"]
    assert set(ended[0]["promptCancelled"]) == {"cancelledAt", "elapsedMs"}
    assert len(of(found, "prompt_cancelled")) == 1


async def test_a_deadline_ends_the_turn_and_not_the_session(ana: Program, vendor: Vendor, gate: ModelGate) -> None:
    vendor.replies = [gate.reply("Never.")]
    await ana.create()

    found = await ana.turn("Quick!", deadlineMs=50)
    vendor.replies = [stream("Here.")]
    after = await ana.turn("And now?")

    [error] = of(found, "turn_error")
    assert (error["errorKind"], of(found, "turn_complete")) == ("prompt_deadline_exceeded", [])
    assert of(after, "turn_complete")[0]["stopReason"] == "end_turn"


async def test_a_permission_is_asked_voted_on_and_resolved_once(ana: Program, vendor: Vendor) -> None:
    vendor.replies = [stream(calls=[("shell", '{"command": "touch made"}')]), stream("Made.")]
    await ana.create()
    ticket = await ana.prompt("Make it.")
    [request] = of(await ana.hear(seen("permission_request")), "permission_request")

    nope = await ana.vote(request["requestId"], "nope")
    yes = await ana.vote(request["requestId"], "proceed_once")
    late = await ana.vote(request["requestId"], "proceed_once")
    found = await ana.hear(over(ticket["promptId"]))

    options = [(option["optionId"], option["kind"]) for option in request["options"]]
    assert options == [
        ("proceed_once", "allow_once"),
        ("proceed_always", "allow_always"),
        ("proceed_always_project", "allow_always"),
        ("cancel", "reject_once"),
    ]
    assert (nope.status_code, nope.json()["code"]) == (400, "invalid_option_id")
    assert (yes.status_code, yes.json()) == (200, {})
    assert (late.status_code, late.json()["requestId"]) == (404, request["requestId"])
    [resolved] = of(found, "permission_resolved")
    assert resolved == {
        "requestId": request["requestId"],
        "outcome": {"outcome": "selected", "optionId": "proceed_once"},
        "voterClientId": ana.client,
    }
    assert len(of(found, "permission_already_resolved")) == 1
    assert of(found, "turn_complete")[0]["stopReason"] == "end_turn"
