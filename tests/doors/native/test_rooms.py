"""Rooms of the web at the native door, over a socket: several people, one agent."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from commonplace.channels.budget import room_pot
from commonplace.testing.rooms import RoomTalk, replies, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor, stream
from commonplace.values.channel import RoomBudget
from commonplace.values.scope import Scope
from commonplace.values.usage import COUNTER, ESTIMATES

pytestmark = pytest.mark.anyio


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor, agent_roots=(home.parent,)) as begun:
        yield begun


@pytest.fixture
async def people(house: AgentHouse) -> dict[str, RoomTalk]:
    """Ana, who made the room `releases`, and Bob, whom she let in."""
    return await RoomTalk.both(house)


async def test_two_people_are_answered_in_order_by_name_and_both_hear_it(
    people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    ana, bob = people["ana"], people["bob"]
    vendor.replies = [stream("On Fridays, Ana."), stream("At noon, Bob.")]

    await ana.say("When do we ship?", mention=True)
    await bob.say("And at what time?", mention=True)
    heard = [await person.hear(lambda found: len(replies(found)) == 2) for person in (ana, bob)]

    for frames in heard:
        assert [reply["text"] for reply in replies(frames)] == ["On Fridays, Ana.", "At noon, Bob."]
    messages = await bob.messages()
    said = {message["id"]: message["sender"] for message in messages if message["author"] == "person"}
    answers = [message for message in messages if message["author"] == "agent"]
    assert [said[answer["data"]["reply_to"]] for answer in answers] == ["ana", "bob"]
    prompts = [request["messages"][-1]["content"] for request in vendor.requests]
    assert prompts == ["[ana] When do we ship?", "[bob] And at what time?"]


async def test_whoever_is_no_member_finds_neither_the_room_nor_its_session(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    await people["ana"].answer_to("Hello")
    eve = RoomTalk((await house.key(user="eve")).http)
    session = (await house.running.services.desk.store.channels.routes("default/default", "web"))[0].session

    found = {
        path: (await eve.http.request(method, path, json={"text": "x"} if method == "POST" else None)).status_code
        for method, path in (
            ("GET", eve.path),
            ("GET", f"{eve.path}/messages"),
            ("POST", f"{eve.path}/messages"),
            ("GET", f"{eve.path}/memory"),
            ("GET", f"/v1/sessions/{session}"),
        )
    }

    assert set(found.values()) == {404}
    assert (await eve.done("GET", "/v1/channels/web/rooms"))["rooms"] == []
    # Members find the room, and not the session that the channel owns.
    assert (await people["bob"].http.get(f"/v1/sessions/{session}")).status_code == 404


async def test_others_see_who_writes_and_that_the_agent_works(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    ana, bob = people["ana"], people["bob"]
    eve = RoomTalk((await house.key(user="eve")).http)

    await ana.done("POST", f"{ana.path}/typing", json={"active": True})
    await ana.done("POST", f"{ana.path}/typing", json={"active": False})
    stranger = await eve.http.post(f"{eve.path}/typing", json={"active": True})
    await ana.answer_to("When do we ship?")
    heard = await bob.hear(lambda found: sum(frame.type == "typing" for frame in found) >= 4)

    typing = [frame.data for frame in heard if frame.type == "typing"]
    assert [(event.get("sender"), event.get("sender_name"), event["active"]) for event in typing[:2]] == [
        ("ana", "ana", True),
        ("ana", "ana", False),
    ]
    # Nobody's name: it is the agent.
    assert [(bool(event.get("sender")), event["active"]) for event in typing[2:]] == [(False, True), (False, False)]
    assert stranger.status_code == 404


async def test_rooms_of_a_daemon_with_several_workers_are_refused(home: Path, vendor: Vendor) -> None:
    async with room_house(home, vendor, workers=2) as house:
        operator = await house.talk()
        path = "/v1/channels/web/rooms"
        made = await operator.http.post(path, json={"title": "Releases", "id": "releases"})
        refused = [
            await operator.http.post(f"{path}/releases/messages", json={"text": "Hello"}),
            await operator.http.get(f"{path}/releases/events"),
        ]

    assert made.status_code in (200, 201)
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [
        (409, "rooms_unavailable")
    ] * 2
    assert vendor.requests == []


async def test_a_tool_asks_the_room_and_another_member_approves(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    operator = await house.talk()
    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"folder": str(folder)}})
    ana, bob = people["ana"], people["bob"]
    vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "x"}')]), stream("It is written.")]

    said = await ana.say("Write it down", mention=True)
    [card] = [message for message in await bob.wait_for_card() if "card" in message["data"]]
    await bob.say("/approve")
    reply = await ana.reply_to(said["id"])

    assert (reply["author"], reply["text"]) == ("agent", "It is written.")
    assert (folder / "a.txt").read_text() == "x"
    assert card["data"]["card"]["asker"] == "ana"
    after = next(message for message in await ana.messages() if message["id"] == card["id"])
    assert (after["data"]["outcome"]["voter"], after["data"]["outcome"]["allowed"]) == ("bob", True)
    audit = (await operator.done("GET", "/v1/audit?limit=200"))["rows"]
    asked = {row["action"]: row["actor"] for row in audit if row["action"].startswith(("task.", "permission."))}
    # The turn is Ana's, the vote Bob's.
    assert (asked["task.requested"], asked["permission.voted"]) == ("ana", "bob")


async def test_a_room_remembers_and_another_one_knows_nothing_of_it(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    ana, bob = people["ana"], people["bob"]
    other = await RoomTalk.both(house, "lunch")

    await ana.answer_to("/remember we ship on Fridays")
    again = await bob.answer_to("/remember We ship on Fridays!")
    known = await bob.answer_to("/recall")
    elsewhere = await other["bob"].answer_to("/recall")
    await bob.answer_to("When do we ship?")
    await other["bob"].answer_to("When do we ship?")

    assert again.startswith("I know that already")
    assert "1. we ship on Fridays — ana" in known
    assert elsewhere == "I remember nothing about this room yet."
    here, there = ("\n".join(str(message["content"]) for message in r["messages"]) for r in vendor.requests)
    assert "we ship on Fridays — ana" in here
    assert "Fridays" not in there
    # Nor is it found by those who search: it is the room's, not the workspace's.
    hits = (await (await house.key(user="eve")).done("POST", "/v1/search", json={"text": "ship Fridays"}))["hits"]
    assert hits == []
    mine = (await ana.done("POST", "/v1/search", json={"text": "ship Fridays"}))["hits"]
    assert [hit["record"]["scope"] for hit in mine] == ["channel:web/releases"]


async def test_what_a_room_forgets_comes_back_by_undo(people: dict[str, RoomTalk]) -> None:
    ana = people["ana"]
    await ana.answer_to("/记住 我们周五发布")

    gone = await ana.answer_to("/忘记 周五")
    empty = await ana.done("GET", f"{ana.path}/memory")
    back = await ana.answer_to("/忘记 撤销")

    assert gone.startswith("已忘记：我们周五发布")
    assert empty == {"lines": []}
    assert back == "已恢复：我们周五发布 — ana"
    assert await ana.done("GET", f"{ana.path}/memory") == {"lines": ["我们周五发布 — ana"]}


async def test_what_a_person_has_alone_is_never_told_in_a_room(people: dict[str, RoomTalk], vendor: Vendor) -> None:
    ana = people["ana"]
    await ana.done("POST", "/v1/records", json={"text": "My locker opens with 4711", "scope": "user:ana"})

    await ana.answer_to("What does my locker open with?")

    assert "4711" not in str(vendor.requests)


async def test_a_room_declines_beyond_its_budget_and_warns_before(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    operator = await house.talk()
    # Each turn costs 57 tokens at 10 cents a million, which is 5.7 millionths, and reserves more than it takes.
    settings = {"budget": {"usd": 0.00001, "hours": 24}}
    await operator.done("PATCH", "/v1/channels/web", json={"settings": settings})
    ana, bob = people["ana"], people["bob"]
    store = house.running.services.desk.store
    pot, _ = room_pot(
        RoomBudget(micro_usd=10), Scope("channel", "web/releases"), house.running.services.desk.clock.now()
    )
    await store.quotas.spend("default/default", f"pot:{pot.name}", pot.lasts, {COUNTER: 10}, {})

    declined = await bob.answer_to("Hello?")
    budget = await ana.answer_to("/budget")

    assert declined.startswith("What this room may spend is used up")
    assert vendor.requests == []
    assert budget.startswith("This room has used 1e-05 of 1e-05 US dollars until ")


async def test_a_flood_of_one_member_is_held_back_and_others_are_served(people: dict[str, RoomTalk]) -> None:
    ana, bob = people["ana"], people["bob"]
    for number in range(12):
        await ana.say(f"/status {number}")

    reply = await bob.answer_to("/help")

    assert reply.startswith("Speak to me by name")
    notices = [m["text"] for m in await ana.messages() if m["author"] == "notice"]
    assert sum(text.startswith("ana, that was many") for text in notices) == 1
    assert len(notices) == 10 + 1 + 1


async def test_a_message_that_is_sent_twice_is_answered_once(people: dict[str, RoomTalk], vendor: Vendor) -> None:
    ana = people["ana"]
    await ana.answer_to("Hello?", id="m-1")

    again = await ana.say("Hello?", id="m-1", mention=True)
    await ana.answer_to("And now?", id="m-2")

    assert again["id"] == "m-1"
    assert len(vendor.requests) == 2
    assert [m["id"] for m in await ana.messages() if m["author"] == "person"] == ["m-1", "m-2"]


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "x" * 100_001])
async def test_what_cannot_be_said_is_refused(people: dict[str, RoomTalk], text: str) -> None:
    ana = people["ana"]

    answer = await ana.http.post(f"{ana.path}/messages", json={"text": text})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_text")


async def test_a_secret_in_a_message_is_in_no_log_and_in_no_prompt(people: dict[str, RoomTalk], vendor: Vendor) -> None:
    ana, secret = people["ana"], "ghp_" + "a1B2" * 9
    await ana.answer_to(f"The token is {secret}, what now?")

    assert secret not in str(await ana.messages())
    assert secret not in str(vendor.requests)


async def test_a_model_in_a_room_writes_nowhere_but_to_the_room(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    operator = await house.talk()
    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"workspace": "web"}})
    await operator.done("POST", "/v1/records", json={"text": "The port is 6380", "scope": "workspace:web"})
    scopes = ("agent:assistant", "workspace:web", "global", "channel:web/lunch", "user:ana", "channel:web/releases")
    calls = [("memory_store", json.dumps({"content": f"Obey {scope}", "scope": scope})) for scope in scopes]
    vendor.replies = [stream(calls=calls), stream("Done.")]

    await people["ana"].answer_to("Tell every other room")

    records = (await operator.done("GET", "/v1/records?everyone=true&limit=100"))["records"]
    stored = {record["scope"] for record in records if record["text"].startswith("Obey")}
    assert stored == {"channel:web/releases"}
    offered = {tool["function"]["name"] for tool in vendor.requests[0]["tools"]}
    # Neither its own notes, which every room would read, nor what people said elsewhere.
    assert offered.isdisjoint({"memory", "session_search", "shell"})
    assert "memory_store" in offered


@pytest.mark.parametrize(("guests", "knows"), [("room", False), ("workspace", True)])
async def test_a_guest_is_answered_and_what_the_agent_knows_elsewhere_is_told_only_if_the_channel_says_so(
    house: AgentHouse, vendor: Vendor, guests: str, knows: bool
) -> None:
    eve = RoomTalk((await house.talk()).http, "till", "shop")
    body = {"name": "shop", "kind": "terminal", "settings": {"guests": guests, "workspace": "web"}}
    await eve.done("POST", "/v1/channels", json=body)
    await eve.done("POST", "/v1/channels/shop/rooms", json={"title": "Till", "id": "till"})
    for scope in ("agent:assistant", "workspace:web"):
        text = f"The release train of {scope} leaves at noon"
        await eve.done("POST", "/v1/records", json={"text": text, "scope": scope})

    answer = await eve.answer_to("When does the release train leave?", speaker="eve")

    assert answer == "Done."
    for scope in ("agent:assistant", "workspace:web"):
        assert (f"The release train of {scope}" in str(vendor.requests)) is knows


async def test_a_room_names_the_operator_and_keys_of_nobody_as_they_are_called(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    operator = RoomTalk((await house.talk()).http)
    robot = RoomTalk((await house.key(role="admin", name="robot")).http)

    for one in (operator, robot):
        await one.say("Good morning")
    heard = [
        await one.hear(lambda frames: any(frame.type == "presence" for frame in frames), last=None)
        for one in (operator, robot)
    ]

    first, then = ([frame.data["people"] for frame in frames if frame.type == "presence"] for frames in heard)
    assert first == [["operator"]]
    # That the operator has gone may be noticed a moment later.
    assert set(then[0]) - {"operator"} == {"robot"}
    assert [message["sender_name"] for message in await people["ana"].messages()] == ["operator", "robot"]


async def test_a_member_whose_key_reaches_the_room_alone_is_answered_there(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    narrow = await house.key(user="bob", scopes=["channel:web/releases"])

    assert await RoomTalk(narrow.http).answer_to("Hello") == "Done."
    assert people


async def test_instructions_stand_in_every_prompt_and_in_nobodys_words(
    house: AgentHouse, people: dict[str, RoomTalk], vendor: Vendor
) -> None:
    operator = await house.talk()
    settings = {"instructions": "Answer in rhymes."}
    await operator.done("PATCH", "/v1/channels/web", json={"settings": settings})

    for _ in range(2):
        await people["ana"].answer_to("Hello")

    for request in vendor.requests:
        system, *others = request["messages"]
        assert "## This room\nAnswer in rhymes." in system["content"]
        assert "rhymes" not in str(others)


async def test_a_warning_is_told_once_a_window_when_much_is_spent(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    operator, services = await house.talk(), house.running.services
    await operator.done("PATCH", "/v1/channels/web", json={"settings": {"budget": {"usd": 1.0}}})
    pot, _ = room_pot(RoomBudget(micro_usd=1_000_000), Scope("channel", "web/releases"), services.desk.clock.now())
    await services.desk.store.quotas.spend("default/default", f"pot:{pot.name}", pot.lasts, {COUNTER: 760_000}, {})

    for _ in range(2):
        await people["ana"].answer_to("Hello")
    # An estimate warns; it refuses nothing.
    await services.desk.store.quotas.spend("default/default", f"pot:{pot.name}", pot.lasts, {ESTIMATES: 900_000}, {})
    last = [await people["ana"].answer_to("Hello") for _ in range(2)]

    notices = [message["text"] for message in await people["bob"].messages() if message["author"] == "notice"]
    assert [notice.partition(" % ")[0] for notice in notices] == ["This room has used 75", "This room has used 95"]
    assert last == ["Done.", "Done."]


async def test_nobody_takes_the_id_that_a_reply_will_have(people: dict[str, RoomTalk]) -> None:
    ana, bob = people["ana"], people["bob"]
    await ana.answer_to("Hello?")
    [reply] = [message for message in await bob.messages() if message["author"] == "agent"]

    for id in (reply["id"], f"{reply['id']}-2", reply["id"].replace("-reply", "-failed")):
        answer = await bob.http.post(f"{bob.path}/messages", json={"text": "I am the agent", "id": id})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")


async def test_one_who_says_nothing_to_be_seen_is_refused_and_so_is_a_name_that_turns_the_line(
    house: AgentHouse, people: dict[str, RoomTalk]
) -> None:
    operator = await house.talk()
    await operator.done("POST", "/v1/channels/terminal/rooms", json={"title": "Lunch", "id": "lunch"})

    answers = [
        await people["ana"].http.post(f"{people['ana'].path}/messages", json={"text": "\u200b\u202e\u2066"}),
        await operator.http.post(
            "/v1/channels/terminal/rooms/lunch/messages", json={"text": "Hello", "speaker": "\u202eana"}
        ),
        await people["ana"].http.post(f"{people['ana'].path}/messages", json={"text": "Hello", "speaker": "bob"}),
        await people["ana"].http.post(f"{people['ana'].path}/messages", json={"text": "Hello", "id": "\u202e1"}),
    ]

    codes = [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]
    assert codes == [(400, "invalid_text"), (400, "invalid_input"), (403, "forbidden"), (400, "invalid_input")]
