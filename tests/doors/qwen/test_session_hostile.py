"""What nobody should send to the session door: it is refused with the recorded codes, the session is usable afterwards, and nothing is left running."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.doors.qwen.session_bridge import Reader
from commonplace.doors.qwen.session_bridges import Bridges
from commonplace.doors.qwen.session_events import WireEvent
from commonplace.doors.qwen.session_refusals import UNSUPPORTED
from commonplace.events.ring import SIZE
from commonplace.testing.events import until
from commonplace.testing.sessions import ModelGate, Program, SessionHouse, of, over, seen, session_house
from commonplace.testing.vendor import Vendor, stream

pytestmark = pytest.mark.anyio

TEXT = {"type": "text", "text": "x"}
SOAK = bool(os.environ.get("COMMONPLACE_SOAK"))
PROMPTS = 10_000 if SOAK else 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"cwd": 1}, "invalid_input"),
        ({"cwd": "/" + "x" * 4_096}, "invalid_input"),
        ({"cwd": "/elsewhere"}, "workspace_mismatch"),
        ({"cwd": "a\0b"}, "workspace_mismatch"),
        ({"sessionScope": "user"}, "invalid_session_scope"),
        ({"sessionScope": ["single"]}, "invalid_session_scope"),
        ({"approvalMode": 1}, "invalid_approval_mode"),
        ({"approvalMode": "auto"}, "invalid_approval_mode"),
    ],
)
async def test_a_session_that_cannot_be_is_refused_and_none_is_left(ana: Program, body: Any, code: str) -> None:
    answer = await ana.ask("POST", "/session", body)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert (await ana.http.get("/v1/sessions")).json()["sessions"] == []


async def test_another_workspace_is_named_beside_ours(ana: Program, workspace: Path) -> None:
    told = (await ana.ask("POST", "/session", {"cwd": "/elsewhere"})).json()

    assert (told["boundWorkspace"], told["requestedWorkspace"]) == (str(workspace), "/elsewhere")


async def test_a_mode_that_only_the_operator_opens_is_refused_and_no_session_is_left(ana: Program) -> None:
    answer = await ana.ask("POST", "/session", {"approvalMode": "yolo"})

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert (await ana.http.get("/v1/sessions")).json()["sessions"] == []


async def test_a_model_that_is_not_there_leaves_the_session_with_its_own(ana: Program) -> None:
    created = await ana.create(modelServiceId="openai:another")

    found = await ana.hear(seen("model_switch_failed"))

    assert created["modelApplied"] is False
    assert of(found, "model_switch_failed")[0]["requestedModelId"] == "openai:another"


async def test_prompts_that_nobody_can_say_are_refused_and_the_session_is_as_it_was(ana: Program) -> None:
    await ana.create()
    bodies: list[tuple[Any, str]] = [
        ({}, "invalid_prompt"),
        ([], "invalid_prompt"),
        ("x", "invalid_prompt"),
        ({"prompt": []}, "invalid_prompt"),
        ({"prompt": "x"}, "invalid_prompt"),
        ({"prompt": [{"type": "text"}]}, "invalid_prompt"),
        ({"prompt": [{"type": "image", "data": "x", "mimeType": "image/png"}]}, "invalid_prompt"),
        ({"prompt": [1]}, "invalid_prompt"),
        ({"prompt": [{"type": "text", "text": " "}]}, "invalid_text"),
        ({"prompt": [{"type": "text", "text": "a\0b"}]}, "invalid_text"),
        ({"prompt": [{"type": "text", "text": "x" * 1_000_001}]}, "invalid_text"),
        ({"prompt": [TEXT], "deadlineMs": -5}, "invalid_deadline_ms"),
        ({"prompt": [TEXT], "deadlineMs": 0}, "invalid_deadline_ms"),
        ({"prompt": [TEXT], "deadlineMs": 1.5}, "invalid_deadline_ms"),
        ({"prompt": [TEXT], "deadlineMs": True}, "invalid_deadline_ms"),
        ({"prompt": [TEXT], "deadlineMs": 1e20}, "invalid_deadline_ms"),
    ]

    answers = [await ana.ask("POST", "/session/{}/prompt", body) for body, _ in bodies]
    found = await ana.turn("Hello?")

    assert [answer.status_code for answer in answers] == [400] * len(bodies)
    assert [answer.json()["code"] for answer in answers] == [code for _, code in bodies]
    assert of(found, "turn_complete")


async def test_links_and_embedded_texts_are_said_and_a_megabyte_is_answered(ana: Program, vendor: Vendor) -> None:
    await ana.create()
    blocks = [
        {"type": "text", "text": "Read this."},
        {"type": "resource_link", "name": "a page", "uri": "https://example.com/a"},
        {"type": "resource", "resource": {"uri": "file:///a.md", "text": "# A"}},
    ]

    ticket = await ana.done("POST", "/session/{}/prompt", {"prompt": blocks})
    await ana.hear(over(ticket["promptId"]))
    long = await ana.turn("word " * 200_000)

    said = vendor.requests[0]["messages"][-1]["content"]
    assert said == "Read this.\n\n[a page](https://example.com/a)\n\nfile:///a.md:\n# A"
    assert of(long, "turn_complete")


@pytest.mark.soak
@pytest.mark.timeout(600 if SOAK else 60)
async def test_however_many_prompts_come_all_but_five_are_refused(
    home: Path, workspace: Path, vendor: Vendor, gate: ModelGate
) -> None:
    vendor.replies = [gate.reply("One."), stream("Next.")]
    # The first turn is played for as long as prompts come, and nothing else refuses them.
    unlimited = {"llm_timeout": 600, "rate_limit_prompt": PROMPTS * 2, "rate_limit_mutation": PROMPTS * 2}
    async with session_house(home, workspace, vendor, **unlimited) as house:
        ana = await house.program()
        await ana.create()

        answers = [
            answer
            for _ in range(PROMPTS // 20)
            for answer in await asyncio.gather(
                *(ana.ask("POST", "/session/{}/prompt", {"prompt": [TEXT]}) for _ in range(20))
            )
        ]
        gate.open()
        found = await ana.hear(seen("turn_complete", 5))
        again = await ana.turn("Again?")

    assert sorted(answer.status_code for answer in answers) == [202] * 5 + [503] * (PROMPTS - 5)
    assert len(of(found, "pending_prompt_added")) == 4
    assert of(again, "turn_complete")


async def test_votes_that_mean_nothing_are_refused_and_the_request_waits_on(ana: Program, vendor: Vendor) -> None:
    vendor.replies = [stream(calls=[("shell", '{"command": "touch made"}')]), stream("Made.")]
    await ana.create()
    ticket = await ana.prompt("Make it.")
    [request] = of(await ana.hear(seen("permission_request")), "permission_request")
    path = f"/session/{{}}/permission/{request['requestId']}"
    bodies: list[Any] = [
        {},
        [],
        {"outcome": "cancelled"},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "selected", "optionId": 1}},
        {"outcome": {"outcome": "maybe"}},
    ]

    codes = [(await ana.ask("POST", path, body)).json()["code"] for body in bodies]
    options = [
        (await ana.vote(request["requestId"], option)).json()["code"] for option in ("", "allow_once", "x" * 5_000)
    ]
    unknown = await ana.vote("00000000-0000-4000-8000-000000000000", "proceed_once")
    cancelled = await ana.vote(request["requestId"], None)
    found = await ana.hear(over(ticket["promptId"]))

    assert codes == ["invalid_outcome"] * len(bodies)
    assert options == ["invalid_option_id"] * 3
    assert unknown.status_code == 404
    assert cancelled.status_code == 200
    assert of(found, "permission_resolved")[0]["outcome"] == {"outcome": "cancelled"}
    assert of(found, "turn_complete")[0]["stopReason"] == "end_turn"


async def test_what_another_daemon_does_with_a_session_is_refused_by_its_name(ana: Program) -> None:
    await ana.create()
    asked = [route.replace("{message}", "m1").split(" ") for route in UNSUPPORTED]

    told = [await ana.ask(method, path.replace("{id}", "{}"), {}) for method, path in asked]
    lost = [await ana.ask(method, path.replace("{id}", "nobody"), {}) for method, path in asked]
    found = await ana.turn("Hello?")

    assert {(answer.status_code, answer.json()["code"]) for answer in told} == {(501, "not_supported")}
    assert [answer.json()["operation"] for answer in told] == [path.split("/")[3] for _, path in asked]
    assert {(answer.status_code, answer.json()["code"]) for answer in lost} == {(404, "session_not_found")}
    assert of(found, "turn_complete")


@pytest.mark.parametrize("query", ["?maxQueued=15", "?maxQueued=2049", "?maxQueued=x", "?maxQueued=-1", "?maxQueued="])
async def test_a_queue_that_cannot_be_is_refused(ana: Program, query: str) -> None:
    await ana.create()

    answer = await ana.ask("GET", f"/session/{{}}/events{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_max_queued")


async def test_one_listener_too_many_is_refused_and_may_come_back(ana: Program, house: SessionHouse) -> None:
    await ana.create()
    [bridge] = house.running.use_case(Bridges).of_tenant("default/default")
    [client] = bridge.clients.values()

    with ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(bridge.ring.seat(Reader.of(client.who)))
        full = await ana.ask("GET", "/session/{}/events")
    found = await ana.turn("Hello?")

    assert (full.status_code, full.headers["retry-after"]) == (429, "5")
    assert full.json()["code"] == "subscriber_limit_exceeded"
    assert of(found, "turn_complete")


async def test_a_listener_that_never_reads_is_let_go_and_holds_nobody_up(
    ana: Program, house: SessionHouse, vendor: Vendor
) -> None:
    vendor.replies = [stream(*("x" * 40_000 for _ in range(25)))]
    await ana.create()
    base, loop = ana.http.base_url, asyncio.get_running_loop()
    with socket.create_connection((base.host, base.port or 80)) as deaf:
        deaf.setblocking(False)
        head = f"GET /session/{ana.session}/events?maxQueued=16 HTTP/1.1\r\nHost: {base.netloc.decode()}\r\n"
        key = ana.http.headers["authorization"]
        await loop.sock_sendall(deaf, f"{head}Authorization: {key}\r\nLast-Event-ID: 0\r\n\r\n".encode())
        [bridge] = house.running.use_case(Bridges).of_tenant("default/default")
        await until(lambda: bridge.ring.listeners == 1)

        # More than both ends of a connection hold for it.
        for _ in range(6):
            assert of(await ana.turn("Say much."), "turn_complete")
        text = b""
        while part := await asyncio.wait_for(loop.sock_recv(deaf, 1 << 20), 10):
            text += part

    assert b"event: client_evicted" in text
    assert b"queue_overflow" in text


async def test_whoever_comes_back_with_an_id_of_another_epoch_begins_anew(ana: Program) -> None:
    await ana.create()
    await ana.turn("Hello?")

    async with ana.listening(last=2, X_Qwen_Event_Epoch="another") as stale:
        told = await stale.wait(seen("replay_complete"))
    async with ana.listening(last=2, X_Qwen_Event_Epoch=stale.headers["x-qwen-event-epoch"]) as fresh:
        same = await fresh.wait(seen("replay_complete"))

    assert (told[0].type, told[0].data["reason"], told[1].id) == ("state_resync_required", "epoch_reset", 1)
    assert same[0].id == 3


async def test_whoever_comes_back_after_the_ring_has_moved_on_is_told_what_there_still_is(
    ana: Program, house: SessionHouse
) -> None:
    await ana.create()
    await ana.turn("Hello?")
    [bridge] = house.running.use_case(Bridges).of_tenant("default/default")
    bridge.tell(*(WireEvent(type="session_update", data={"number": number}) for number in range(SIZE)))

    async with ana.listening(last=2) as heard:
        told = await heard.wait(lambda frames: len(frames) > 1)
    found = await ana.turn("Still there?")

    earliest = bridge.ring.position - SIZE + 1 - len(found)
    assert (told[0].type, told[0].id) == ("state_resync_required", None)
    assert told[0].data == {"reason": "ring_evicted", "lastDeliveredId": 2, "earliestAvailableId": earliest}
    assert told[1].id == earliest
    assert of(found, "turn_complete")


async def test_one_session_too_many_is_refused_until_another_ends(home: Path, workspace: Path, vendor: Vendor) -> None:
    async with session_house(home, workspace, vendor, agent_sessions=2) as house:
        programs = [await house.program() for _ in range(3)]
        for program in programs[:2]:
            await program.create(sessionScope="thread")

        full = await programs[2].ask("POST", "/session", {"sessionScope": "thread"})
        listed = (await programs[2].http.get("/v1/sessions")).json()["sessions"]
        await programs[0].ask("DELETE", "/session/{}")
        created = await programs[2].create(sessionScope="thread")

    assert (full.status_code, full.headers["retry-after"]) == (503, "5")
    assert (full.json()["code"], full.json()["limit"]) == ("session_limit_exceeded", 2)
    assert len(listed) == 2
    assert created["attached"] is False


async def test_fifty_sessions_at_once_hear_all_of_their_own(house: SessionHouse, vendor: Vendor) -> None:
    vendor.replies = [stream("One ", "two ", "three.")]
    programs = [await house.program() for _ in range(50)]
    await asyncio.gather(*(program.create(sessionScope="thread") for program in programs))

    async def talk(program: Program, number: int) -> list[str]:
        async with program.listening(last=0) as heard:
            ticket = await program.prompt(f"Number {number}")
            found = await heard.wait(over(ticket["promptId"]))
        assert [frame.id for frame in found if frame.id is not None] == list(range(1, 7))
        return [one["update"]["content"]["text"] for one in of(found, "session_update")]

    texts = await asyncio.gather(*(talk(program, number) for number, program in enumerate(programs)))
    await asyncio.gather(*(program.ask("DELETE", "/session/{}") for program in programs))

    assert texts == [[f"Number {number}", "One ", "two ", "three.", ""] for number in range(50)]
    assert house.running.use_case(LiveSessions).in_use == ()


async def test_nothing_is_left_running_when_everybody_has_gone(
    ana: Program, house: SessionHouse, vendor: Vendor
) -> None:
    vendor.replies = [stream("Long ", hang=True)]
    before = asyncio.all_tasks()
    await ana.create()
    await ana.prompt("Take your time.", deadlineMs=60_000)
    await ana.prompt("And then?", deadlineMs=60_000)
    async with ana.listening(last=0) as heard:
        await heard.wait(seen("session_update"))
        closed = await ana.ask("DELETE", "/session/{}")
        found = await heard.wait(seen("session_closed"))

    assert closed.status_code == 204
    assert [frame.type for frame in found if frame.type.startswith(("turn", "session_c", "prompt"))] == [
        "prompt_cancelled",
        "turn_complete",
        "prompt_cancelled",
        "turn_error",
        "session_closed",
    ]
    assert of(found, "turn_error")[0]["code"] == "-32602"
    bridges = house.running.use_case(Bridges)
    await until(lambda: not [*bridges.of_tenant("default/default")])
    await until(lambda: not [task for task in asyncio.all_tasks() - before if "Bridge" in repr(task)])
