"""Talking to the agent at the native door, over a socket: what is heard, who may, and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from commonplace.agent.live_sessions import LiveSessions
from commonplace.testing.events import Frame, until
from commonplace.testing.turns import AgentHouse, AgentTalk, agent_house, of, text_of
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

WRITE = ("write_file", '{"path": "a.txt", "content": "x"}')


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with agent_house(home, vendor) as begun:
        yield begun


@pytest.fixture
async def talk(house: AgentHouse) -> AgentTalk:
    """The operator."""
    return await house.talk()


def types(found: list[Frame]) -> list[str]:
    return [frame.type for frame in found if frame.type != "replay_complete"]


async def refusal(talk: AgentTalk, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await talk.http.request(method, path, **({} if body is None else {"json": body}))
    return answer.status_code, answer.json()["error"]["code"]


# ---- say, and hear


async def test_what_is_said_is_answered_by_events_and_kept(talk: AgentTalk, vendor: Vendor) -> None:
    vendor.replies = [stream("Good ", "morning.")]
    session = await talk.begin()

    found = await talk.turn(session, "Hello?")

    assert types(found) == [
        "turn_started",
        "memory_recalled",
        "text",
        "text",
        "usage",
        "turn_ended",
        "memory_learned",
    ]
    assert [frame.id for frame in found if frame.id is not None] == [1, 2, 3, 4, 5, 6, 7]
    [ended] = of(found, "turn_ended")
    assert (ended["reply"], ended["stop_reason"], ended["usage"]["requests"]) == ("Good morning.", "end_turn", 1)
    said = [(message["role"], message["text"]) for message in await talk.messages(session)]
    assert said == [("user", "Hello?"), ("assistant", "Good morning.")]


async def test_the_ticket_names_a_run_that_tells_how_it_unfolded(talk: AgentTalk) -> None:
    session = await talk.begin()
    ticket = await talk.say(session, "Hello?")
    await talk.hear(session, "memory_learned")

    events = (await talk.done("GET", f"/v1/runs/{ticket['run']}/events"))["events"]

    told = [event["type"] for event in events]
    assert (ticket["before"], ticket["last_event"]) == (0, 0)
    for type in ("session_run_started", "memory_recalled", "session_run_finished", "memory_learned"):  # noqa: A001 - as events call it
        assert type in told


async def test_whoever_comes_back_hears_what_they_missed_and_that_they_have_it_all(talk: AgentTalk) -> None:
    session = await talk.begin()
    await talk.turn(session, "One?")

    found = await talk.hear(session, "replay_complete", last=5)
    nothing = await talk.hear(session, "replay_complete", last=6)

    assert [(frame.id, frame.type) for frame in found] == [(6, "memory_learned"), (None, "replay_complete")]
    assert of(found, "replay_complete")[0]["replayedCount"] == 1
    assert types(nothing) == []


async def test_after_a_restart_a_listener_is_told_to_read_again_and_the_session_goes_on(
    home: Path, vendor: Vendor
) -> None:
    async with agent_house(home, vendor) as house:
        before = await house.talk()
        session = await before.begin()
        await before.turn(session, "One?")
        await before.turn(session, "Two?")
        epoch = before.told["x-commonplace-epoch"]

    async with agent_house(home, vendor) as house:
        talk = await house.talk()
        # A larger id than there is, and one that there is again: only its epoch says that it means another event.
        larger = await talk.hear(session, "replay_complete", last=9)
        await talk.turn(session, "Three?")
        same = await talk.hear(session, "replay_complete", last=2, epoch=epoch)
        said = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]

    for found in (larger, same):
        assert of(found, "state_resync_required")[0]["reason"] == "epoch_reset"
    assert types(same)[:2] == ["state_resync_required", "turn_started"]
    assert said == ["One?", "Two?", "Three?"]
    assert [message["content"] for message in vendor.requests[-1]["messages"] if message["role"] == "user"] == said


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 20, "９"])
async def test_what_is_no_id_of_an_event_is_refused(talk: AgentTalk, last: str) -> None:
    session = await talk.begin()

    answer = await talk.http.get(f"/v1/sessions/{session}/events", params={"last_event_id": last})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")


# ---- what nobody can say


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"text": "  \n"},
        {"text": "a\0b"},
        {"text": "x" * 1_000_001},
        {"text": 1},
        {"text": "x", "model": "openai:another"},
        {"text": "x", "model": "x" * 300},
        {"text": "x", "speaker": "somebody else"},
        [],
        "x",
    ],
)
async def test_what_nobody_can_say_is_refused_and_the_session_is_as_it_was(talk: AgentTalk, body: Any) -> None:
    session = await talk.begin()

    answer = await talk.http.post(f"/v1/sessions/{session}/turns", json=body)
    if answer.status_code == 202:
        # A model that may not be used is refused when the turn begins, and told there.
        [failed] = of(await talk.hear(session, "turn_failed"), "turn_failed")
        assert failed["code"] == "invalid_input"
    else:
        assert answer.status_code == 400
        assert await talk.messages(session) == []

    assert of(await talk.turn(session, "Hello?"), "turn_ended")


async def test_a_prompt_of_a_megabyte_is_answered(talk: AgentTalk) -> None:
    session = await talk.begin()

    found = await talk.turn(session, "word " * 200_000)

    assert text_of(found) == "Done."
    assert len((await talk.messages(session))[0]["text"]) == 1_000_000


async def test_names_that_nobody_sees_are_refused_or_kept_as_they_are(talk: AgentTalk) -> None:
    refused = [
        await refusal(talk, "POST", "/v1/sessions", {"agent": name}) for name in ("a\u200bb", "a\u202eb", "a\0b", "")
    ]

    assert {status for status, _ in refused} == {400}
    # In what is said they are letters like others.
    session = await talk.begin()
    await talk.turn(session, "a\u200bb\u202e")
    assert (await talk.messages(session))[0]["text"] == "a\u200bb\u202e"


# ---- the queue, and cancel


async def test_turns_wait_for_each_other_until_too_many_do(talk: AgentTalk, vendor: Vendor) -> None:
    gate = Event()
    vendor.replies = [replace(stream("Done."), until=gate)]
    session = await talk.begin()

    tickets = [await talk.say(session, str(number)) for number in range(6)]
    full = await talk.http.post(f"/v1/sessions/{session}/turns", json={"text": "6"})
    gate.set()
    last = tickets[-1]["run"]
    await until(lambda: len(vendor.requests) == 6)
    await talk.hear(session, "memory_learned", last=0)

    assert [ticket["before"] for ticket in tickets] == [0, 1, 2, 3, 4, 5]
    assert (full.status_code, full.json()["error"]["code"]) == (503, "turn_queue_full")
    assert int(full.headers["retry-after"]) > 0
    await _ended(talk, session, last)
    said = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]
    assert said == [str(number) for number in range(6)]


async def _ended(talk: AgentTalk, session: str, run: str) -> None:
    """Wait until this turn is over."""
    last = 0
    while True:
        found = await talk.hear(session, "turn_ended", last=last)
        if any(data["run"] == run for data in of(found, "turn_ended")):
            return
        last = max(frame.id for frame in found if frame.id is not None)


async def test_what_waits_can_be_taken_back_and_is_never_said(home: Path, vendor: Vendor) -> None:
    gate = Event()
    vendor.replies = [replace(stream("Done."), until=gate)]
    async with agent_house(home, vendor) as house:
        talk = await house.talk()
        session = await talk.begin()
        first = (await talk.say(session, "first"))["run"]
        second = (await talk.say(session, "second"))["run"]

        back = await talk.done("DELETE", f"/v1/sessions/{session}/turns/{second}")
        again = await talk.done("DELETE", f"/v1/sessions/{session}/turns/{second}")
        playing = await talk.done("DELETE", f"/v1/sessions/{session}/turns/{first}")
        gate.set()
        await talk.hear(session, "memory_learned")

    async with agent_house(home, vendor) as house:
        talk = await house.talk()
        await talk.turn(session, "third")
        said = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]

    assert [answer["cancelled"] for answer in (back, again, playing)] == [True, False, False]
    assert said == ["first", "third"]


async def test_a_turn_is_cancelled_while_the_model_speaks_and_the_next_is_played(
    talk: AgentTalk, vendor: Vendor
) -> None:
    vendor.replies = [stream("Once upon ", hang=True), stream("Here.")]
    session = await talk.begin()
    ticket = await talk.say(session, "A story!")
    await talk.hear(session, "text")

    cancelled = await talk.done("POST", f"/v1/sessions/{session}/cancel", json={})
    [ended] = of(await talk.hear(session, "turn_ended"), "turn_ended")
    later = await talk.turn(session, "Are you there?")
    nothing = await talk.done("POST", f"/v1/sessions/{session}/cancel", json={})
    run = await talk.done("GET", f"/v1/runs/{ticket['run']}")

    assert (cancelled, nothing) == ({"cancelled": True}, {"cancelled": False})
    assert (ended["stop_reason"], ended["reply"]) == ("cancelled", "Once upon ")
    assert text_of(later) == "Here."
    assert run["status"] == "cancelled"


# ---- permissions


async def asking(talk: AgentTalk, vendor: Vendor, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """A session whose turn waits for a person, and what it asks."""
    vendor.replies = [stream(calls=(WRITE,)), stream("Written.")]
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    session = await talk.begin(folder=str(folder))
    await talk.say(session, "Write it!")
    [asked] = of(await talk.hear(session, "permission_asked"), "permission_asked")
    return session, asked["request"]


async def test_a_person_is_asked_once_and_the_first_answer_counts(
    talk: AgentTalk, vendor: Vendor, tmp_path: Path
) -> None:
    session, request = await asking(talk, vendor, tmp_path)
    path = f"/v1/sessions/{session}/permissions"

    waiting = await talk.done("GET", path)
    answer = await talk.done("POST", f"{path}/{request['id']}", json={"choice": "allow_once"})
    second = await refusal(talk, "POST", f"{path}/{request['id']}", {"choice": "reject_once"})
    unknown = await refusal(talk, "POST", f"{path}/nothing", {"choice": "allow_once"})
    found = await talk.hear(session, "memory_learned")
    over = await talk.done("GET", path)

    assert [one["id"] for one in waiting["permissions"]] == [request["id"]]
    assert (answer["outcome"], answer["answer"]["choice"], answer["answer"]["voter"]) == (
        "resolved",
        "allow_once",
        "local",
    )
    assert second == (409, "permission_resolved")
    assert unknown == (404, "permission_not_found")
    assert over == {"permissions": []}
    assert text_of(found) == "Written."
    assert (tmp_path / "folder" / "a.txt").read_text() == "x"


async def test_a_refused_call_leaves_no_trace_and_the_turn_goes_on(
    talk: AgentTalk, vendor: Vendor, tmp_path: Path
) -> None:
    session, request = await asking(talk, vendor, tmp_path)

    await talk.done("POST", f"/v1/sessions/{session}/permissions/{request['id']}", json={"choice": "reject_once"})
    found = await talk.hear(session, "memory_learned")

    assert of(found, "tool_ended")[0]["failed"]
    assert not (tmp_path / "folder" / "a.txt").exists()


@pytest.mark.parametrize("body", [{}, {"choice": "perhaps"}, {"choice": "allow_once", "voter": "ana"}])
async def test_an_answer_that_is_none_is_refused_and_the_question_stays(
    talk: AgentTalk, vendor: Vendor, tmp_path: Path, body: dict[str, str]
) -> None:
    session, request = await asking(talk, vendor, tmp_path)
    path = f"/v1/sessions/{session}/permissions"

    assert (await refusal(talk, "POST", f"{path}/{request['id']}", body))[0] == 400
    assert len((await talk.done("GET", path))["permissions"]) == 1


async def test_an_answer_where_nothing_ever_waited_is_not_found(talk: AgentTalk) -> None:
    session = await talk.begin()

    refused = await refusal(talk, "POST", f"/v1/sessions/{session}/permissions/x", {"choice": "allow_once"})

    assert refused == (404, "permission_not_found")


async def in_company(
    house: AgentHouse, vendor: Vendor, *others: AgentTalk
) -> tuple[AgentTalk, str, dict[str, Any], list[asyncio.Task[list[Frame]]]]:
    """Ana's shared session with a question, while others listen to it."""
    vendor.replies = [stream(calls=(("memory_delete", '{"id": "none"}'),)), stream("Done.")]
    ana = await house.key("writer", "ana")
    session = await ana.begin(workspace="web", shared=True)
    joined = [asyncio.create_task(other.hear(session, "permission_answered", last=None)) for other in others]
    async with asyncio.timeout(5):
        while (await ana.done("GET", f"/v1/sessions/{session}/state"))["listeners"] < len(others):
            pass
    await ana.say(session, "Delete it.")
    [asked] = of(await ana.hear(session, "permission_asked"), "permission_asked")
    return ana, session, asked["request"], joined


async def rows(talk: AgentTalk, request: str) -> list[dict[str, Any]]:
    """What the audit says of a request, the first row first."""
    page = await talk.done("GET", "/v1/audit", params={"limit": 100})
    return [row for row in reversed(page["rows"]) if row["details"].get("permission") == request]


async def test_those_who_listen_decide_together_and_the_audit_knows_who(home: Path, vendor: Vendor) -> None:
    async with agent_house(home, vendor, agent_permission_policy="consensus") as house:
        operator, bob, cy = await house.talk(), await house.key("writer", "bob"), await house.key("writer", "cy")
        ana, session, request, [listener] = await in_company(house, vendor, bob)
        path = f"/v1/sessions/{session}/permissions/{request['id']}"

        stranger = await refusal(cy, "POST", path, {"choice": "allow_once"})
        first = await ana.done("POST", path, json={"choice": "allow_once"}, headers={"X-Client-Id": "laptop"})
        again = await ana.done("POST", path, json={"choice": "reject_once"})
        state = await ana.done("GET", f"/v1/sessions/{session}/state")
        second = await bob.done("POST", path, json={"choice": "allow_once"})
        late = await refusal(bob, "POST", path, {"choice": "cancel"})
        heard = await listener
        audit = await rows(operator, request["id"])

    assert (request["terms"]["policy"], request["terms"]["voters"], request["terms"]["quorum"]) == (
        "consensus",
        ["ana", "bob"],
        2,
    )
    assert stranger == (403, "permission_forbidden")
    assert (first["outcome"], first["votes_needed"], again) == ("recorded", 1, first)
    assert (state["policy"], [one["id"] for one in state["permissions"]]) == ("consensus", [request["id"]])
    assert (second["outcome"], second["answer"]["decided_by"]) == ("resolved", "consensus")
    assert late == (409, "permission_resolved")
    [voted], [refused] = of(heard, "permission_voted"), of(heard, "permission_vote_refused")
    assert (voted["voter"], voted["client"], voted["tallies"]) == ("ana", "laptop", {"allow_once": 1})
    assert (refused["voter"], refused["reason"]) == ("cy", "designated_mismatch")
    assert [(row["action"], row["outcome"], row["details"].get("outcome")) for row in audit] == [
        ("permission.requested", "ok", None),
        ("permission.forbidden", "denied", None),
        ("permission.voted", "ok", "recorded"),
        ("permission.voted", "ok", "resolved"),
        ("permission.resolved", "ok", None),
        ("permission.voted", "ok", "already_resolved"),
    ]
    assert audit[0]["details"]["voters_at_issue"] == ["ana", "bob"]
    assert audit[2]["client"] == "laptop"
    assert "arguments" not in audit[0]["details"]


async def test_only_the_speaker_permits_and_whoever_may_write_cancels(house: AgentHouse, vendor: Vendor) -> None:
    bob, rex = await house.key("writer", "bob"), await house.key("reader", "rex")
    ana, session, request, _ = await in_company(house, vendor)
    path = f"/v1/sessions/{session}/permissions/{request['id']}"

    reader = await refusal(rex, "POST", path, {"choice": "cancel"})
    answer = await bob.http.post(path, json={"choice": "allow_once"})
    cancelled = await bob.done("POST", path, json={"choice": "cancel"})
    heard = await ana.hear(session, "memory_learned")

    assert reader == (403, "forbidden")
    assert answer.json()["error"]["details"]["reason"] == "designated_mismatch"
    assert (cancelled["answer"]["choice"], cancelled["answer"]["decided_by"]) == ("reject_once", "cancelled")
    assert of(heard, "tool_ended")[0]["failed"]


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For"])
async def test_local_only_takes_no_vote_that_a_proxy_passed_on(home: Path, vendor: Vendor, header: str) -> None:
    async with agent_house(home, vendor, agent_permission_policy="local-only") as house:
        ana, session, request, _ = await in_company(house, vendor)
        path = f"/v1/sessions/{session}/permissions/{request['id']}"

        remote = await ana.http.post(path, json={"choice": "allow_once"}, headers={header: "for=127.0.0.1"})
        here = await ana.done("POST", path, json={"choice": "allow_once"})

    assert (remote.status_code, remote.json()["error"]["details"]["reason"]) == (403, "remote_not_allowed")
    assert here["outcome"] == "resolved"


# ---- who may


async def test_somebody_elses_session_is_nowhere(house: AgentHouse, talk: AgentTalk) -> None:
    session = await talk.begin()
    await talk.turn(session, "A secret.")
    bob = await house.key("writer", "bob")
    ways: list[tuple[str, str, Any]] = [
        ("POST", "turns", {"text": "x"}),
        ("DELETE", "turns/x", None),
        ("GET", "events", None),
        ("POST", "cancel", {}),
        ("GET", "permissions", None),
        ("POST", "permissions/x", {"choice": "allow_once"}),
    ]

    told = [await refusal(bob, method, f"/v1/sessions/{session}/{path}", body) for method, path, body in ways]
    nobody = [await refusal(bob, method, f"/v1/sessions/none/{path}", body) for method, path, body in ways]

    assert told == nobody
    assert {status for status, _ in told} == {404}


async def test_whoever_reaches_its_workspace_speaks_in_a_shared_session_and_readers_only_listen(
    house: AgentHouse, vendor: Vendor
) -> None:
    ana, bob = await house.key("writer", "ana"), await house.key("writer", "bob")
    cy, dan = await house.key("reader", "cy"), await house.key("writer", "dan", scopes=["workspace:other"])
    session = await ana.begin(workspace="web", shared=True)

    await ana.turn(session, "I am Ana.")
    await bob.turn(session, "I am Bob.")
    heard = await cy.hear(session, "replay_complete")
    refused = await refusal(cy, "POST", f"/v1/sessions/{session}/turns", {"text": "I am Cy."})
    speakers = [message["speaker"] for message in await cy.messages(session) if message["role"] == "user"]

    assert speakers == ["ana", "bob"]
    assert [data["speaker"] for data in of(heard, "turn_started")] == ["ana", "bob"]
    assert refused == (403, "forbidden")
    assert (await refusal(cy, "POST", f"/v1/sessions/{session}/cancel", {}))[0] == 403
    assert (await refusal(dan, "GET", f"/v1/sessions/{session}/events"))[0] == 404
    users = [message["content"] for message in vendor.requests[-1]["messages"] if message["role"] == "user"]
    assert users == ["I am Ana.", "I am Bob."]


async def test_only_the_operators_turn_has_tools_of_the_machine_and_nobody_else_permits_them(
    house: AgentHouse, talk: AgentTalk, vendor: Vendor, tmp_path: Path
) -> None:
    vendor.replies = [stream(calls=(("shell", '{"command": "id"}'),)), stream("Done.")]
    bob = await house.key("writer", "bob")
    begun = await refusal(bob, "POST", "/v1/sessions", {"folder": "/"})
    shared = await talk.begin(folder=str(tmp_path), workspace="web", shared=True)

    await bob.turn(shared, "Read /etc/passwd.")
    offered = {tool["function"]["name"] for tool in vendor.requests[0]["tools"]}
    vendor.replies = [stream(calls=(("shell", '{"command": "id"}'),)), stream("Done.")]
    await talk.say(shared, "Who are you?")
    [asked] = of(await talk.hear(shared, "permission_asked"), "permission_asked")
    path = f"/v1/sessions/{shared}/permissions/{asked['request']['id']}"
    refused = await refusal(bob, "POST", path, {"choice": "allow_once"})

    assert begun == (403, "folder_forbidden")
    assert "memory_search" in offered
    assert not offered & {"read_file", "list_folder", "glob", "grep", "write_file", "edit_file", "shell"}
    assert refused[0] in (403, 404)
    await talk.done("POST", path, json={"choice": "reject_once"})


async def test_a_workspace_that_a_key_does_not_reach_is_refused_when_the_session_begins(house: AgentHouse) -> None:
    dan = await house.key("writer", "dan", scopes=["workspace:other"])

    assert (await refusal(dan, "POST", "/v1/sessions", {"workspace": "web"}))[0] == 403
    assert (await refusal(dan, "POST", "/v1/sessions", {}))[0] == 403


# ---- how many, and how long


async def test_more_sessions_than_there_may_be_are_refused_until_one_is_free(home: Path, vendor: Vendor) -> None:
    gate = Event()
    vendor.replies = [replace(stream("Done."), until=gate)]
    async with agent_house(home, vendor, agent_sessions=2) as house:
        talk = await house.talk()
        one, two, three = [await talk.begin() for _ in range(3)]
        await talk.say(one, "x")
        await talk.say(two, "x")

        full = await talk.http.post(f"/v1/sessions/{three}/turns", json={"text": "x"})
        unheard = await talk.http.get(f"/v1/sessions/{three}/events")
        gate.set()
        await talk.hear(one, "memory_learned")
        await talk.hear(two, "memory_learned")
        later = await talk.turn(three, "x")

    assert (full.status_code, full.json()["error"]["code"]) == (503, "too_many_sessions")
    assert unheard.status_code == 503
    assert text_of(later) == "Done."


@pytest.mark.parametrize("ending", ["delete", "archive"])
async def test_a_session_that_is_deleted_or_archived_stops(
    house: AgentHouse, talk: AgentTalk, vendor: Vendor, ending: str
) -> None:
    vendor.replies = [stream("Once upon ", hang=True), stream("Never.")]
    session = await talk.begin()
    await talk.say(session, "A story!")
    await talk.say(session, "Another!")
    await talk.hear(session, "text")

    if ending == "delete":
        await talk.done("DELETE", f"/v1/sessions/{session}")
    else:
        await talk.done("PATCH", f"/v1/sessions/{session}", json={"archived": True})

    live = house.running.use_case(LiveSessions)
    assert live.in_use == ()
    assert len(vendor.requests) == 1
    if ending == "delete":
        assert (await refusal(talk, "GET", f"/v1/sessions/{session}/events"))[0] == 404
        found = await talk.done("GET", f"/v1/records?scope=session:{session}")
        assert found["records"] == []
    else:
        said = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]
        assert said == ["A story!"]
        assert text_of(await talk.turn(session, "Are you there?")) == "Never."
        again = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]
        assert again == ["A story!", "Another!", "Are you there?"]


async def test_only_whose_it_is_stops_a_shared_session_by_deleting_it(house: AgentHouse, vendor: Vendor) -> None:
    gate = Event()
    vendor.replies = [replace(stream("Done."), until=gate)]
    ana, bob = await house.key("writer", "ana"), await house.key("writer", "bob")
    session = await ana.begin(workspace="web", shared=True)
    await ana.say(session, "Hello?")

    refused = await refusal(bob, "DELETE", f"/v1/sessions/{session}")
    gate.set()

    assert refused == (403, "forbidden")
    assert text_of(await ana.hear(session, "memory_learned")) == "Done."


# ---- approval modes of an agent


async def test_an_agent_that_may_only_plan_changes_nothing_and_asks_nobody(
    talk: AgentTalk, vendor: Vendor, tmp_path: Path
) -> None:
    vendor.replies = [stream(calls=(WRITE,)), stream("I cannot.")]
    await talk.done("POST", "/v1/agents", json={"id": "planner", "name": "Planner", "profile": {"approval": "plan"}})
    session = await talk.begin(agent="planner", folder=str(tmp_path))

    found = await talk.turn(session, "Write it!")

    assert not of(found, "permission_asked")
    assert of(found, "tool_ended")[0]["failed"]
    assert not (tmp_path / "a.txt").exists()
