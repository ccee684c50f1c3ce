"""What differs for one room of a channel: its agent, model, tools and servers, and what it may spend."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.channels.budget import room_pot
from commonplace.ports.journal import Entries
from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse, AgentTalk
from commonplace.testing.vendor import Vendor, running_vendor, stream
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.channel import RoomBudget
from commonplace.values.moment import new_id
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER, ESTIMATES, TOKENS

pytestmark = pytest.mark.anyio

T = "default/default"
SERVER = Path(__file__).parents[2] / "engine" / "agent" / "mcp_server.py"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    # No price is said: nobody knows what the model of the tests costs.
    async with room_house(home, vendor, llm_price="5/25", llm_models=["openai:large"]) as begun:
        yield begun


async def rooms_of(house: AgentHouse, **settings: Any) -> tuple[AgentTalk, RoomTalk, RoomTalk]:
    """The operator; Ana in the room `releases`, which has settings of its own, and in `lunch`, which has not."""
    operator = await house.talk()
    await change(operator, {"groups": {"releases": settings}})
    here, there = (await RoomTalk.both(house))["ana"], (await RoomTalk.both(house, "lunch"))["ana"]
    return operator, here, there


async def change(operator: AgentTalk, settings: dict[str, Any]) -> dict[str, Any]:
    return await operator.done("PATCH", "/v1/channels/web", json={"settings": settings})


def offered(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


async def spent(house: AgentHouse, budget: RoomBudget, room: str = "releases") -> dict[str, int]:
    pot, _ = room_pot(budget, Scope("channel", f"web/{room}"), house.running.services.desk.clock.now())
    return await house.running.services.desk.store.quotas.spent(T, f"pot:{pot.name}", pot.lasts)


async def test_a_room_has_its_own_model_and_only_the_tools_that_are_named(house: AgentHouse, vendor: Vendor) -> None:
    operator, here, there = await rooms_of(house, model="openai:large", tools=["memory_search"])

    await here.answer_to("Hello")
    await there.answer_to("Hello")
    # Another rule holds from the next turn on, in the same session.
    await change(operator, {"groups": {"releases": {"tools": ["memory_list"]}}})
    await here.answer_to("Hello again")

    first, other, second = vendor.requests
    assert [request["model"] for request in vendor.requests] == ["large", "small", "small"]
    assert offered(first) == {"memory_search"}
    assert {"memory_search", "memory_list"} < offered(other)
    assert offered(second) == {"memory_list"}
    assert any(message["content"] == "[ana] Hello" for message in second["messages"])


async def test_another_agent_answers_in_one_room_in_a_session_of_its_own(house: AgentHouse, vendor: Vendor) -> None:
    operator = await house.talk()
    await operator.done(
        "POST", "/v1/agents", json={"id": "scout", "name": "Scout", "profile": {"persona": "You are a scout."}}
    )
    operator, here, there = await rooms_of(house)
    await here.answer_to("Hello")
    await change(operator, {"groups": {"releases": {"agent": "scout"}}})

    await here.answer_to("Hello, scout")
    await there.answer_to("Hello")
    named = await here.say("@scout and you?")
    await here.reply_to(named["id"])

    systems = [str(request["messages"][0]["content"]) for request in vendor.requests]
    assert ["You are a scout." in system for system in systems] == [False, True, False, True]
    # What was said to the one before is not the next one's.
    assert "[ana] Hello" not in [message["content"] for message in vendor.requests[1]["messages"]]
    sessions = (await operator.done("GET", "/v1/sessions?everyone=true"))["sessions"]
    assert sorted(session["agent"] for session in sessions) == ["assistant", "assistant", "scout"]


async def test_a_room_has_servers_of_its_own_beside_those_of_the_agent(house: AgentHouse, vendor: Vendor) -> None:
    server = {"name": "deploys", "command": sys.executable, "args": [str(SERVER), "stdio"]}
    _, here, there = await rooms_of(house, mcp_servers=[server])

    await here.answer_to("Hello", seconds=20.0)
    await there.answer_to("Hello")

    first, other = map(offered, vendor.requests)
    assert first - other >= {"deploys_lend"}


@pytest.mark.parametrize(
    ("tools", "library"),
    [
        (["memory_search"], set[str]()),
        (["library_lend"], {"library_lend"}),
        (["library"], {"library_lend", "library_order", "library_hang"}),
    ],
    ids=["no tool of it", "one tool", "the server"],
)
async def test_the_tools_that_are_named_for_a_room_narrow_the_agents_servers_too(
    house: AgentHouse, vendor: Vendor, tools: list[str], library: set[str]
) -> None:
    row = {"name": "library", "command": sys.executable, "args": [str(SERVER), "stdio"]}
    deploys = {"name": "deploys", "command": sys.executable, "args": [str(SERVER), "stdio"]}
    operator, here, there = await rooms_of(house, tools=tools, mcp_servers=[deploys])
    await operator.done("POST", "/v1/agents", json={"id": "scout", "name": "Scout", "profile": {"mcp_servers": [row]}})
    await change(operator, {"agent": "scout"})

    await here.answer_to("Hello", seconds=20.0)
    await there.answer_to("Hello", seconds=20.0)

    first, other = map(offered, vendor.requests)
    named = {name for name in first if name.startswith("library_")}
    assert named >= library
    assert named <= library or tools == ["library"]
    assert "deploys_lend" in first
    assert {name for name in first if not name.startswith(("library_", "deploys_"))} == {*tools} & {"memory_search"}
    assert {"library_lend", "library_order"} <= other


@pytest.mark.parametrize(
    "group",
    [
        {"tools": ["a b"]},
        {"mcp_servers": [{"name": "x"}]},
        {"mcp_servers": [{"name": "x", "command": "a"}, {"name": "x", "command": "b"}]},
        {"agent": "a*"},
        {"budget": {"hours": 24}},
        {"quorum": 0},
        {"permissions": "nobody"},
        {"only_tools": ["plan"]},
    ],
)
async def test_what_a_room_cannot_have_is_refused_and_changes_nothing(house: AgentHouse, group: dict[str, Any]) -> None:
    operator = await house.talk()
    before = (await operator.done("GET", "/v1/channels/web"))["channel"]

    answer = await operator.http.patch("/v1/channels/web", json={"settings": {"groups": {"releases": group}}})

    assert answer.status_code in (400, 422)
    assert (await operator.done("GET", "/v1/channels/web"))["channel"]["settings"] == before["settings"]


async def test_what_differs_for_a_room_is_kept_and_given_back(house: AgentHouse) -> None:
    operator = await house.talk()
    group = {
        "require_mention": False,
        "dispatch": "collect",
        "agent": "scout",
        "model": "openai:large",
        "tools": ["plan"],
        "mcp_servers": [{"name": "deploys", "command": "deploys", "args": ["-v"], "env": ["TOKEN"]}],
        "permissions": "consensus",
        "quorum": 2,
        "budget": {"usd": 0.5, "hours": 12, "tokens": 1_000},
    }

    await change(operator, {"groups": {"releases": group}})
    kept = (await operator.done("GET", "/v1/channels/web"))["channel"]["settings"]["groups"]["releases"]

    assert kept["budget"] == {"micro_usd": 500_000, "hours": 12, "tokens": 1_000}
    assert {name: kept[name] for name in ("agent", "model", "tools", "permissions", "quorum", "dispatch")} == {
        name: group[name] for name in ("agent", "model", "tools", "permissions", "quorum", "dispatch")
    }
    assert kept["mcp_servers"][0]["args"] == ["-v"]


# ---- money


async def test_a_room_is_told_once_that_money_cannot_be_counted_and_is_not_declined_for_a_guess(
    house: AgentHouse, vendor: Vendor
) -> None:
    budget = RoomBudget(micro_usd=100)
    _, here, _ = await rooms_of(house, budget={"usd": 0.0001})

    answers = [await here.answer_to("Hello") for _ in range(3)]
    shown = await here.answer_to("/budget")

    assert answers == ["Done."] * 3
    counted = await spent(house, budget)
    assert counted[TOKENS] == 3 * 57
    assert counted[ESTIMATES] > 100
    assert not counted.get(COUNTER)
    notices = [m["text"] for m in await here.messages() if m["author"] == "notice"]
    assert sum(text.startswith("I do not know what openai:small costs") for text in notices) == 1
    assert "is a guess, which refuses nothing" in shown
    assert len(vendor.requests) == 3


async def test_tokens_decline_where_money_cannot_be_counted(house: AgentHouse, vendor: Vendor) -> None:
    _, here, there = await rooms_of(house, budget={"tokens": 60})

    answers = [await here.answer_to("Hello") for _ in range(3)]
    elsewhere = await there.answer_to("Hello")
    shown = await here.answer_to("/budget")

    assert answers[:2] == ["Done.", "Done."]
    assert answers[2].startswith("What this room may spend is used up")
    assert elsewhere == "Done."
    assert shown.startswith("Tokens: 114 of 60 until ")
    assert len(vendor.requests) == 3
    # Nothing is said of money where nobody asked for it to be counted.
    assert not any("I do not know what" in m["text"] for m in await here.messages())


async def test_a_turn_that_has_begun_is_finished_and_the_next_one_is_declined(
    house: AgentHouse, vendor: Vendor
) -> None:
    _, here, _ = await rooms_of(house, budget={"tokens": 60})
    call = [("memory_store", json.dumps({"content": "We ship on Fridays"}))]
    vendor.replies = [stream(calls=call), stream(calls=call), stream("It is kept.")]

    answer = await here.answer_to("Keep that we ship on Fridays")
    declined = await here.answer_to("And now?")

    assert answer == "It is kept."
    assert declined.startswith("What this room may spend is used up")
    assert len(vendor.requests) == 3
    assert (await spent(house, RoomBudget(tokens=60)))[TOKENS] == 3 * 57


async def test_the_status_of_the_daemon_has_the_budgets_of_rooms_for_admins_alone(
    house: AgentHouse, vendor: Vendor
) -> None:
    operator, here, _ = await rooms_of(house, budget={"usd": 0.5, "tokens": 1_000})
    await here.answer_to("Hello")

    status = await operator.done("GET", "/daemon/status")
    of_others = await here.done("GET", "/daemon/status")

    [budget] = status["budget"]["rooms"]
    assert (budget["channel"], budget["chatId"], budget["limitUsd"], budget["limitTokens"]) == (
        "web",
        "releases",
        0.5,
        1_000,
    )
    assert (budget["tokens"], budget["spentUsd"]) == (57, 0.0)
    assert budget["estimatedUsd"] > 0
    assert "budget" not in of_others


async def test_the_audit_of_the_workspace_has_what_rooms_did_with_who_asked_and_the_turn(
    house: AgentHouse, vendor: Vendor
) -> None:
    operator, here, _ = await rooms_of(house, budget={"tokens": 50})
    await here.answer_to("Hello")
    await here.answer_to("And now?")
    await here.answer_to("/remember we ship on Fridays")

    audit = await operator.done("GET", "/workspace/audit")

    rows = {(row["kind"], row["outcome"], row["sender"]): row for row in audit["rows"]}
    # The warning may come after the next message was declined.
    warned, declined = ("room.budget", "ok", "ana"), ("room.budget", "budget_exhausted", "ana")
    begun = ("task.requested", "ok", "ana")
    assert set(rows) == {("room.remember", "ok", "ana"), declined, warned, begun}
    assert {row["scope"] for row in audit["rows"]} == {"channel:web/releases"}
    # It is of the turn that was played, not of the one that was declined.
    assert rows[warned]["runId"] == rows[begun]["runId"] != rows[declined]["runId"]


async def test_the_audit_of_the_workspace_is_a_ring_that_drops_the_oldest_first(house: AgentHouse) -> None:
    operator = await house.talk()
    journal, now = house.running.services.desk.store.journal, house.running.services.desk.clock.now()
    rows = [
        AuditRow(
            id=new_id(now),
            at=now,
            tenant="default/default",
            actor=f"person-{number}",
            action="room.remember",
            outcome="ok",
        )
        for number in range(600)
    ]
    await journal.note(Entries(audit=tuple(rows)))

    audit = await operator.done("GET", "/workspace/audit")
    pages = await journal.audit("default/default", AuditQuery(actions=("room.remember",)), 1_000, None)

    assert [row["actor"] for row in audit["rows"]] == [f"person-{number}" for number in range(599, 599 - 512, -1)]
    # What left the ring is kept.
    assert len(pages.rows) == 600


async def test_an_admin_who_pauses_a_room_also_stops_what_it_says_by_itself(house: AgentHouse) -> None:
    operator, here, _ = await rooms_of(house)

    await operator.done("POST", "/v1/channels/web/pause", json={"chat": "releases"})
    paused = await operator.done("GET", "/v1/schedules/pauses")
    await here.answer_to("/resume")
    resumed = await operator.done("GET", "/v1/schedules/pauses")

    assert [pause["target"] for pause in paused["pauses"]] == ["channel/web/releases"]
    assert resumed["pauses"] == []
